package submission

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/share"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// Entry is one job of a batch.
type Entry struct {
	Line    int    // of the request, from 1
	Name    string // by which other entries name it; "": they do not
	Job     *federation.Job
	Payload *sbatch.Payload
	Clusters
}

// AcceptAll makes durable jobs of all entries of a batch, or says why of none. If the user has submitted a batch under the key already, the jobs become that one's, and again
// is true. An empty key is none.
func (s *Gate) AcceptAll(ctx context.Context, c identity.Caller, all []*Entry, key string) (again bool, err error) {
	if key, err = keyOf(c, key); err != nil {
		return false, err
	}
	if key != "" {
		if ids, err := s.Store.JobsOfKey(ctx, all[0].Job.UID, key); err == nil {
			return true, becomes(all, ids)
		}
	}
	if err := cmp.Or(s.Limits.BeginMany(c, len(all)), s.Limits.room()); err != nil {
		return false, err
	}
	b := &batch{all: all, at: make(map[string]int, len(all))}
	if err := cmp.Or(b.take(), b.arrange()); err != nil {
		return false, err
	}
	if err := s.prepareAll(ctx, c, b); err != nil {
		return false, err
	}
	if err := s.knownJobs(ctx, b); err != nil {
		return false, err
	}
	if err := s.Limits.hold(ctx, c, all[0].Job.UID, b.size); err != nil {
		return false, err
	}
	return s.storeAll(ctx, b, key)
}

// keyOf is the key that a submission of c's is kept under.
func keyOf(c identity.Caller, key string) (string, error) {
	if key != "" && !sbatch.ValidKey(key) {
		return "", answer.BadBody(fmt.Sprintf("%s: want at most %d printable characters without blanks", HeaderKey, sbatch.MaxKey))
	}
	if c.Claim != nil {
		key = federation.KeyInside(federation.JobID(c.Claim.Job)) + cmp.Or(key, rand.Text())
	}
	return key, nil
}

// becomes has the entries stand for the jobs of a batch that was submitted before.
func becomes(all []*Entry, ids []federation.JobID) error {
	if len(ids) != len(all) {
		return answer.BadBody(fmt.Sprintf("%s: a batch of %d jobs was submitted under this key, and this one has %d: give each batch a key of its own", HeaderKey, len(ids), len(all)))
	}
	for i, e := range all {
		e.Job.ID = ids[i]
	}
	return nil
}

// turnEvery is how many entries are worked on before others have their turn.
const turnEvery = 256

// each calls do with each entry until ten are wrong, and returns what is wrong with them.
func (b *batch) each(ctx context.Context, do func(i int, e *Entry) error) error {
	var wrong faults
	for i, e := range b.all {
		if i%turnEvery == turnEvery-1 {
			share.Idle(ctx)()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := do(i, e); err != nil {
			if errors.Is(err, federation.ErrUnavailable) {
				return err // which is no fault of the line
			}
			if wrong.add(e, err); wrong.full() {
				break
			}
		}
	}
	return wrong.err()
}

// placeholder stands for the number of a job that has none yet, while an entry is checked.
const placeholder = "99999999"

// prepareAll checks all entries, and adds up what they take up. What they depend on stands in them again once they have numbers.
func (s *Gate) prepareAll(ctx context.Context, c identity.Caller, b *batch) error {
	return b.each(ctx, func(i int, e *Entry) (err error) {
		sp := e.Job.Spec
		if len(sp.Het) > 0 {
			return answer.BadBody("a job with components is submitted by itself, not in a batch")
		}
		sp.Dependency = b.dependency(i, func(int) string { return placeholder })
		if err := b.needs(i); err != nil {
			return err
		}
		err = b.share(e, func() error {
			e.Clusters, err = s.prepare(c, e.Job, e.Payload)
			return err
		})
		if err != nil {
			return err
		}
		own, err := sizeOf(sp, e.Payload)
		if err != nil {
			return err
		}
		sp.Dependency = "" // whose jobs are looked for together
		if err := s.Allow(e.Job); err != nil {
			return err
		}
		b.size.Jobs, b.size.Payload, b.size.Spec = b.size.Jobs+own.Jobs, b.size.Payload+own.Payload, b.size.Spec+own.Spec
		if s.Submits != nil {
			of, err := componentsOf(e.Job)
			if err != nil {
				return err
			}
			b.parts = append(b.parts, of...)
		}
		return s.Limits.fits(c, own)
	})
}

// knownJobs refuses entries that depend on jobs which there are not, as slurmctld does.
func (s *Gate) knownJobs(ctx context.Context, b *batch) error {
	if len(b.others) == 0 {
		return nil
	}
	ids := make([]federation.JobID, 0, len(b.others))
	for id := range b.others {
		ids = append(ids, id)
	}
	listed, err := s.Store.ListJobs(ctx, federation.JobQuery{IDs: ids, Alone: true})
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	for _, l := range listed {
		delete(b.others, l.ID)
	}
	var wrong faults
	for id, i := range b.others {
		wrong.add(b.all[i], dependencyProblem(fmt.Sprintf("job %d is not known; look with squeue or sacct", id)))
	}
	return wrong.err()
}

// tryIDs is how often numbers are reserved anew, since a job has one of them.
const tryIDs = 3

// storeAll gives the entries numbers, and stores them.
func (s *Gate) storeAll(ctx context.Context, b *batch, key string) (again bool, err error) {
	settled := func(federation.JobID) {}
	if s.Submits != nil {
		of, no, err := s.Submits.Admit(ctx, b.parts)
		if err := refused(no, err); err != nil {
			return false, err
		}
		settled = of
	}
	stored := federation.JobID(0)
	defer func() { settled(stored) }()
	jobs := make([]*federation.Job, len(b.all))
	err = b.each(ctx, func(i int, e *Entry) error {
		s.pin(e.Job)
		s.settleAccount(e.Job)
		e.Answer = cmp.Or(e.Answer, e.Job.Spec.Clusters)
		jobs[i] = e.Job
		return nil
	})
	if err != nil {
		return false, err
	}
	share.Idle(ctx) // little is left to do after it, and others who wait for settled may hold all turns
	var known []federation.JobID
	for range tryIDs {
		if err = s.number(ctx, b); err != nil {
			break
		}
		if known, err = s.Store.CreateJobs(ctx, jobs, b.payload, key); !errors.Is(err, federation.ErrConflict) {
			break
		}
	}
	switch {
	case errors.Is(err, federation.ErrConflict), errors.Is(err, federation.ErrUnavailable) && key != "": // as of a single job
		return false, answer.Outage(answer.NotNow, err)
	case err != nil:
		return false, answer.OfStore(err, answer.TimedOut)
	case len(known) > 0: // it was submitted meanwhile
		return true, becomes(b.all, known)
	}
	stored = jobs[0].ID
	s.Controller.Wake()
	return false, nil
}

// number gives each entry the number of its job, in an order in which a job comes after those that it depends on, and writes these numbers for the names in dependencies.
func (s *Gate) number(ctx context.Context, b *batch) error {
	ids, err := s.Store.ReserveIDs(ctx, len(b.all))
	if err != nil {
		return err
	}
	slices.Sort(ids)
	now := s.Now().UTC()
	for n, i := range b.order {
		b.all[i].Job.ID = ids[n]
	}
	for i, e := range b.all {
		if b.given[i] != "" {
			e.Job.Spec.Dependency = b.dependency(i, func(k int) string { return strconv.FormatUint(uint64(b.all[k].Job.ID), 10) })
		}
		begins(e.Job, now)
	}
	return nil
}

// faults are what is wrong with entries of a batch.
type faults struct{ lines []v1.LineError }

// mostFaults is how many faults of a batch are told.
const mostFaults = 10

func (f *faults) full() bool { return len(f.lines) >= mostFaults }

func (f *faults) add(e *Entry, err error) {
	if !f.full() {
		on := answer.OnWire(err)
		f.lines = append(f.lines, v1.LineError{Line: e.Line, Name: e.Name, Number: on.Number, Text: on.Text, Detail: on.Detail})
	}
}

// err is what is wrong, as one error; nil: nothing.
func (f *faults) err() error {
	if len(f.lines) == 0 {
		return nil
	}
	slices.SortStableFunc(f.lines, func(a, b v1.LineError) int { return cmp.Compare(a.Line, b.Line) })
	return RefuseLines(f.lines)
}

// RefuseLines refuses a batch for what is wrong with some of its lines.
func RefuseLines(lines []v1.LineError) error {
	first := &lines[0]
	where := "line " + strconv.Itoa(first.Line)
	if first.Name != "" {
		where += " (" + first.Name + ")"
	}
	detail := where + ": " + cmp.Or(first.Detail, first.Text) + "; nothing of the batch is submitted"
	return answer.LinesError{SlurmError: &federation.SlurmError{Kind: federation.ErrInvalid, Number: first.Number, Text: first.Text, Detail: detail}, Lines: lines}
}

func dependencyProblem(detail string) error {
	return answer.Invalid(wire.ErrDependency, detail)
}
