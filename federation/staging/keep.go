package staging

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"time"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/sbatch"
)

// keepEvery is how often what a job keeps is copied: half as long as it takes to its next checkpoint, so that each one is copied soon after it was written.
func (s *Stager) keepEvery(spec *sbatch.Spec) time.Duration {
	if spec.Fed != nil && spec.Fed.Checkpoint > 0 {
		return spec.Fed.Checkpoint / 2
	}
	return cmp.Or(s.cfg.Every, spec.Fed.KeptEvery())
}

// mark names the copy that counts of a task's run under one try: the wrapper writes it when that copy is whole.
type mark struct {
	key   string // that of the archive's pieces begins so
	bytes int64
	piece int64     // bytes of each piece but the last
	at    time.Time // by the node's clock
	sum   string    // SHA-256 of the archive, in hex
}

// pieces is how many the archive has.
func (m *mark) pieces() int { return int((m.bytes + m.piece - 1) / m.piece) }

// mostPieces bounds what a node says.
const mostPieces = 1 << 16

// sizeOfPiece is how copies of at most that many bytes are cut: none larger than what S3 and Azure take in one request, and few, since each piece needs addresses.
func sizeOfPiece(most int64) int64 {
	const mib, gib = 1 << 20, 1 << 30
	return min(max(gib, (most/16/mib+1)*mib), 4*gib)
}

// maxMarkAhead bounds how far a node's clock is believed.
const maxMarkAhead = time.Hour

// parseMarks reads the marks that lie at key: of the newest copy, and of the one before, which may have been written over since. None: nothing was saved yet.
func parseMarks(key, text string) (all []*mark, err error) {
	if strings.TrimSpace(text) == noMark {
		return nil, nil
	}
	for line := range strings.Lines(text) {
		m, err := parseMark(key, line)
		if err != nil && len(all) == 0 {
			return nil, err
		}
		if err != nil || len(all) == mostCopies || len(all) > 0 && all[0].key == m.key {
			break
		}
		all = append(all, m)
	}
	return all, nil
}

func parseMark(key, text string) (*mark, error) {
	var slot, run int
	var m mark
	var at int64
	_, err := fmt.Sscanf(text, "slot %d bytes %d at %d run %d sum %64s piece %d", &slot, &m.bytes, &at, &run, &m.sum, &m.piece)
	if err != nil || slot < 0 || slot > 1 || m.bytes < 0 || at < 0 || at > 1<<40 || len(m.sum) != 64 || m.piece < 1 || m.bytes/m.piece >= mostPieces {
		return nil, fmt.Errorf("what a node said of the copy %s cannot be read: %.80q", key, text)
	}
	m.key, m.at = archiveOfSlot(key, slot), time.Unix(at, 0)
	return &m, nil
}

// noMark is what a try's mark says before anything was saved.
const noMark = "none"

func markOf(prefix, try string, task int) string { return prefix + taskName(task) + "/keep." + try }

func archiveOfSlot(markKey string, slot int) string { return fmt.Sprintf("%s.%d", markKey, slot) }

func pieceOf(archive string, n int) string { return fmt.Sprintf("%s.%d", archive, n) }

// Outlives reports whether an object must be there after a crash of the machine that has the store: what jobs keep, and what names it.
func Outlives(key string) bool { return strings.Contains(key, "/keep.") }

// signKept writes the addresses that one task needs to save and to fetch what it keeps, and the mark of a try that has saved nothing.
func (s *Stager) signKept(ctx context.Context, w io.Writer, prefix, try string, task int, old []*mark) error {
	key := markOf(prefix, try, task)
	if err := s.cfg.Objects.Put(ctx, key, text(noMark+"\n")); err != nil {
		return err
	}
	type line struct{ name, method, key string }
	lines := []line{{"mark.put", "PUT", key}, {"mark.get", "GET", key}}
	for slot := range 2 {
		for n := range (s.cfg.Max + s.cfg.Piece - 1) / s.cfg.Piece {
			name, piece := fmt.Sprintf("copy%d.%d.", slot, n), pieceOf(archiveOfSlot(key, slot), int(n))
			lines = append(lines, line{name + "put", "PUT", piece}, line{name + "get", "GET", piece})
		}
	}
	for i, m := range old {
		name := [mostCopies]string{"old", "older"}[i]
		for n := range m.pieces() {
			lines = append(lines, line{fmt.Sprintf("%s.%d.get", name, n), "GET", pieceOf(m.key, n)})
		}
		fmt.Fprintf(w, "%[1]s %[5]s.sum %[2]s\n%[1]s %[5]s.bytes %[3]d\n%[1]s %[5]s.piece %[4]d\n", taskName(task), m.sum, m.bytes, m.piece, name)
	}
	for _, l := range lines {
		url, err := s.cfg.Objects.Sign(ctx, l.method, l.key, s.cfg.Life)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s %s %s\n", taskName(task), l.name, url)
	}
	return nil
}

// keptCopies are, by task, the copies that its next run starts with: the newest, and if that is damaged the one before. Of a task without one, what lies in the
// working directory counts.
type keptCopies map[int][]*mark

const mostCopies = 2

// add takes in copies that are older than those that are there.
func (k keptCopies) add(older keptCopies) {
	for task, marks := range older {
		all := append(k[task], marks...)
		k[task] = all[:min(len(all), mostCopies)]
	}
}

// enough reports whether nothing older is needed.
func (k keptCopies) enough() bool {
	for _, marks := range k {
		if len(marks) < mostCopies {
			return false
		}
	}
	return len(k) > 0
}

// with is the plan that also takes along from the working directory what is kept, where that is newest.
func (k keptCopies) with(p Plan) Plan {
	if len(k) > 0 {
		return p
	}
	p.In = slices.Clone(p.In)
	for _, name := range p.Keep {
		p.In = append(p.In, Item{From: name, Optional: true})
	}
	return p
}

// keptBefore finds what the attempts before have saved. Copies that are older than what was found are removed.
func (s *Stager) keptBefore(ctx context.Context, j *federation.Job, plan Plan) (keptCopies, error) {
	if len(plan.Keep) == 0 || s.cfg.Attempts == nil || s.cfg.Objects == nil {
		return nil, nil
	}
	attempts, err := s.cfg.Attempts(ctx, j.ID)
	if err != nil {
		return nil, fmt.Errorf("attempts of job %d: %w", j.ID, err)
	}
	found, all := keptCopies{}, false
	for i := len(attempts) - 1; i >= 0; i-- {
		a := &attempts[i]
		if all = all || found.enough(); all {
			if err := s.dropKept(ctx, a.Key); err != nil {
				s.cfg.Logger.Warn("remove an old copy of what a job keeps", "job", j.ID, "err", err)
			}
			continue
		}
		more, err := s.marks(ctx, a.Key)
		if err != nil {
			return nil, err
		}
		found.add(more)
		_, err = s.cfg.Objects.Size(ctx, lostOf(prefixOf(a.Key)))
		if err != nil && !notThere(err) {
			return nil, err
		}
		worked := !a.Started.IsZero() && s.cfg.Sees != nil && s.cfg.Sees(a.Site, j.Spec.WorkDir) // that run has worked in the directory itself
		if all = err == nil || worked; all && len(found) == 0 {
			return nil, nil
		}
	}
	return found, nil
}

// lostOf lies in the store if no copy was whole when an attempt began.
func lostOf(prefix string) string { return prefix + "lost" }

// loseCopies notes that.
func (s *Stager) loseCopies(ctx context.Context, prefix string) error {
	return s.cfg.Objects.Put(ctx, lostOf(prefix), text("lost\n"))
}

// marks reads what was saved under an attempt's key.
func (s *Stager) marks(ctx context.Context, key string) (keptCopies, error) {
	found := keptCopies{}
	prefix := prefixOf(key)
	var keys []string
	err := s.cfg.Objects.List(ctx, prefix, func(name string, _ time.Time) error {
		if _, rest, ok := strings.Cut(strings.TrimPrefix(name, prefix), "/keep."); ok && !strings.Contains(rest, ".") {
			keys = append(keys, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for what was saved: %w", err)
	}
	for _, name := range keys {
		said, err := s.read(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read what was saved: %w", err)
		}
		marks, err := parseMarks(name, said)
		if err != nil {
			s.cfg.Logger.Warn("a copy that cannot be used", "err", err)
			continue
		}
		task, err := taskOf(strings.TrimPrefix(name, prefix))
		if err == nil && len(marks) > 0 {
			found[task] = append(found[task], marks...)
		}
	}
	for task, marks := range found { // each try has a mark
		slices.SortStableFunc(marks, func(a, b *mark) int { return b.at.Compare(a.at) })
		found[task] = marks[:min(len(marks), mostCopies)]
	}
	return found, nil
}

// dropKept removes the copies of an attempt.
func (s *Stager) dropKept(ctx context.Context, key string) error {
	var keys []string
	err := s.cfg.Objects.List(ctx, prefixOf(key), func(name string, _ time.Time) error {
		if strings.Contains(name, "/keep.") {
			keys = append(keys, name)
		}
		return nil
	})
	slices.Sort(keys) // a mark before its archives
	for _, name := range keys {
		if err != nil {
			return err
		}
		if err = s.cfg.Objects.Delete(ctx, name); notThere(err) {
			err = nil
		}
	}
	return err
}

// Kept implements federation.Stager.
func (s *Stager) Kept(ctx context.Context, a *federation.Attempt) (*egress.Kept, error) {
	if s.cfg.Objects == nil {
		return nil, nil
	}
	found, err := s.marks(ctx, a.Key)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	k := &egress.Kept{Place: s.cfg.Place}
	for _, marks := range found {
		m := marks[0]
		k.Bytes += m.bytes
		if m.at.After(k.At) && time.Until(m.at) < maxMarkAhead {
			k.At = m.at.UTC()
		}
	}
	return k, nil
}

// bringBack puts the newest copy into the working directory, for a site that sees that.
func (s *Stager) bringBack(ctx context.Context, sub *federation.Submission, plan Plan) error {
	kept, err := s.keptBefore(ctx, sub.Job, plan)
	if err != nil || len(kept) == 0 {
		return err
	}
	free, err := s.slots.Take(ctx, sub.Job.UID)
	if err != nil {
		return err
	}
	defer free()
	for _, marks := range kept {
		m, err := s.whole(ctx, marks)
		if errors.Is(err, egress.ErrDamaged) {
			err = cmp.Or(s.loseCopies(ctx, prefixOf(sub.Key)), err)
		}
		if err == nil {
			err = s.unpackKept(ctx, sub, m)
		}
		if err != nil {
			return fmt.Errorf("bring back what was saved: %w", err)
		}
	}
	return nil
}

// whole is the first of the copies that is what was saved. It is read for that: nothing of another is to be in the working directory.
func (s *Stager) whole(ctx context.Context, marks []*mark) (*mark, error) {
	for _, m := range marks {
		r := &kept{ctx: ctx, from: s.cfg.Objects, mark: m, sum: sha256.New()}
		_, err := io.Copy(io.Discard, r)
		r.Close()
		if err != nil && !notThere(err) {
			return nil, err
		}
		if err == nil && r.is(m.sum) {
			return m, nil
		}
		s.cfg.Logger.Warn("a copy of what a job keeps is damaged", "copy", m.key, "err", err)
	}
	return nil, egress.ErrDamaged
}

func (s *Stager) unpackKept(ctx context.Context, sub *federation.Submission, m *mark) error {
	r := &kept{ctx: ctx, from: s.cfg.Objects, mark: m, sum: sha256.New()}
	defer r.Close()
	_, err := s.cfg.Files.Unpack(ctx, userOf(sub.Job, sub.Payload.Environment), sub.Job.Spec.WorkDir, Item{From: ".", To: "."}, s.cfg.Max, r)
	if err == nil && !r.is(m.sum) {
		err = errors.New("the copy in the store is not the one that was saved")
	}
	return err
}

func (k *kept) is(sum string) bool { return hex.EncodeToString(k.sum.Sum(nil)) == sum }

// kept reads the archive of a copy, piece by piece.
type kept struct {
	ctx  context.Context
	from Objects
	mark *mark
	sum  hash.Hash
	next int // the number of the next piece
	io.ReadCloser
}

func (k *kept) Read(p []byte) (n int, err error) {
	for {
		if k.ReadCloser == nil {
			if k.next == k.mark.pieces() {
				return 0, io.EOF
			}
			if k.ReadCloser, err = k.from.Get(k.ctx, pieceOf(k.mark.key, k.next), 0, -1); err != nil {
				return 0, fmt.Errorf("fetch what was saved: %w", err)
			}
			k.next++
		}
		n, err = k.ReadCloser.Read(p)
		k.sum.Write(p[:n])
		if err != io.EOF {
			return n, err
		}
		k.Close()
		if n > 0 {
			return n, nil
		}
	}
}

func (k *kept) Close() error {
	if k.ReadCloser == nil {
		return nil
	}
	r := k.ReadCloser
	k.ReadCloser = nil
	return r.Close()
}
