package staging

import (
	"cmp"
	"context"
	"fmt"
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
	return cmp.Or(s.cfg.Every, 30*time.Minute)
}

// mark names the copy that counts of a task's run under one try: the wrapper writes it when that copy is whole.
type mark struct {
	key   string // of the archive
	bytes int64
	at    time.Time // by the node's clock
	sum   string    // SHA-256 of the archive, in hex
}

// maxMarkAhead bounds how far a node's clock is believed.
const maxMarkAhead = time.Hour

// parseMark reads the mark that lies at key; nil: nothing was saved yet.
func parseMark(key, text string) (*mark, error) {
	if strings.TrimSpace(text) == noMark {
		return nil, nil
	}
	var slot, run int
	var m mark
	var at int64
	_, err := fmt.Sscanf(text, "slot %d bytes %d at %d run %d sum %64s", &slot, &m.bytes, &at, &run, &m.sum)
	if err != nil || slot < 0 || slot > 1 || m.bytes < 0 || at < 0 || at > 1<<40 || len(m.sum) != 64 {
		return nil, fmt.Errorf("what a node said of the copy %s cannot be read: %.80q", key, text)
	}
	m.key, m.at = archiveOfSlot(key, slot), time.Unix(at, 0)
	return &m, nil
}

// noMark is what a try's mark says before anything was saved.
const noMark = "none"

func markOf(prefix, try string, task int) string { return prefix + taskName(task) + "/keep." + try }

func archiveOfSlot(markKey string, slot int) string { return fmt.Sprintf("%s.%d", markKey, slot) }

// signKept writes the addresses that one task needs to save and to fetch what it keeps, and the mark of a try that has saved nothing.
func (s *Stager) signKept(ctx context.Context, w io.Writer, prefix, try string, task int, old *mark) error {
	key := markOf(prefix, try, task)
	if err := s.cfg.Objects.Put(ctx, key, text(noMark+"\n")); err != nil {
		return err
	}
	lines := []struct{ name, method, key string }{{"mark.put", "PUT", key}, {"mark.get", "GET", key}}
	for slot := range 2 {
		a := archiveOfSlot(key, slot)
		name := fmt.Sprintf("copy%d.", slot)
		lines = append(lines, struct{ name, method, key string }{name + "put", "PUT", a}, struct{ name, method, key string }{name + "get", "GET", a})
	}
	if old != nil {
		lines = append(lines, struct{ name, method, key string }{"old.get", "GET", old.key})
		fmt.Fprintf(w, "%s old.sum %s\n", taskName(task), old.sum)
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

// keptCopies are, by task, the copies that its next run starts with. Of a task without one, what lies in the working directory counts.
type keptCopies map[int]*mark

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
	found := keptCopies{}
	for i := len(attempts) - 1; i >= 0; i-- {
		a := &attempts[i]
		if len(found) > 0 {
			if err := s.dropKept(ctx, a.Key); err != nil {
				s.cfg.Logger.Warn("remove an old copy of what a job keeps", "job", j.ID, "err", err)
			}
			continue
		}
		if !a.Started.IsZero() && s.cfg.Sees != nil && s.cfg.Sees(a.Site, j.Spec.WorkDir) {
			return nil, nil // that run has worked in the directory itself
		}
		if found, err = s.marks(ctx, a.Key); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// marks reads what was saved under an attempt's key: of each task the newest copy.
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
		m, err := parseMark(name, said)
		if err != nil {
			s.cfg.Logger.Warn("a copy that cannot be used", "err", err)
			continue
		}
		task, err := taskOf(strings.TrimPrefix(name, prefix))
		if m != nil && err == nil && (found[task] == nil || found[task].at.Before(m.at)) {
			found[task] = m
		}
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
	for _, m := range found {
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
	for _, m := range kept {
		if err := s.unpackKept(ctx, sub, m); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stager) unpackKept(ctx context.Context, sub *federation.Submission, m *mark) error {
	r, err := s.cfg.Objects.Get(ctx, m.key, 0, -1)
	if err != nil {
		return fmt.Errorf("fetch what was saved: %w", err)
	}
	defer r.Close()
	if _, err := s.cfg.Files.Unpack(ctx, userOf(sub.Job, sub.Payload.Environment), sub.Job.Spec.WorkDir, Item{From: ".", To: "."}, s.cfg.Max, r); err != nil {
		return fmt.Errorf("bring back what was saved: %w", err)
	}
	return nil
}
