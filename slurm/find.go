package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"fsub/federation"
	"fsub/slurm/wire"
)

// find returns the number of a job, and the records that the controller has of it.
func (q *queue) find(ctx context.Context, st standing, ref federation.JobRef) (number, []wire.Job, error) {
	if !st.mapped {
		n := number(ref.Pinned())
		records, err := q.job(ctx, int64(n))
		return n, records, err
	}
	found, err := q.findAll(ctx, ref)
	if err != nil {
		return 0, nil, err
	}
	return found[0].n, found[0].records, nil
}

// found is one copy of a job at a mapped site.
type found struct {
	n       number
	records []wire.Job
}

// findAll returns every copy of a job that the controller of a mapped site holds, what has started first. There is one, but for what
// [Driver.endTwins] is there for.
func (q *queue) findAll(ctx context.Context, ref federation.JobRef) ([]found, error) {
	if ref.SiteJobID != 0 {
		records, err := q.job(ctx, int64(ref.SiteJobID))
		if err == nil && q.isOf(records, ref) {
			return []found{{number(ref.SiteJobID), records}}, nil
		}
		if err != nil && !errors.Is(err, federation.ErrNotFound) {
			return nil, err
		}
	}
	all, err := q.allJobs(ctx)
	if err != nil {
		return nil, err
	}
	byNumber := map[number][]wire.Job{}
	for _, r := range all {
		if n, ours := q.nameIn(&r); ours && n.job == ref.ID && (ref.Key == "" || ref.Key == n.key) {
			head := number(cmp.Or(r.ArrayJobID.Value(), r.JobID))
			byNumber[head] = append(byNumber[head], r)
		}
	}
	var out []found
	for n, records := range byNumber {
		out = append(out, found{n, records})
	}
	slices.SortFunc(out, func(a, b found) int {
		return cmp.Or(cmp.Compare(standsFor(b.records), standsFor(a.records)), cmp.Compare(attemptOf(q.site, b), attemptOf(q.site, a)), cmp.Compare(a.n, b.n))
	})
	if len(out) == 0 {
		return nil, fmt.Errorf("site %s: job %d: %w", q.cfg.Name, ref.ID, federation.ErrNotFound)
	}
	return out, nil
}

// standsFor orders copies of a job: one that lives, and has started, stands for it.
func standsFor(records []wire.Job) int {
	best := 0
	for i := range records {
		switch s := state(records[i].State); {
		case s.Started():
			best = max(best, 2)
		case !s.Ended():
			best = max(best, 1)
		}
	}
	return best
}

func attemptOf(at *site, f found) int {
	n, _ := at.nameIn(&f.records[0])
	_, number, _ := cutKey(n.key)
	return number
}

// isOf reports whether records are those of the job that is meant.
func (at *site) isOf(records []wire.Job, ref federation.JobRef) bool {
	for i := range records {
		if n, ours := at.nameIn(&records[i]); ours {
			return n.job == ref.ID && (ref.Key == "" || n.key == ref.Key)
		}
	}
	return false
}

// numbers are those of the job at the site, one but for second copies. ErrNotFound: a mapped site does not know it.
func (q *queue) numbers(ctx context.Context, ref federation.JobRef) ([]number, error) {
	st, err := q.rights.standing(ctx)
	if err != nil || !st.of(ref).mapped {
		return []number{number(ref.Pinned())}, err
	}
	all, err := q.findAll(ctx, ref)
	if err != nil {
		return nil, err
	}
	var out []number
	for _, f := range all {
		out = append(out, f.n)
	}
	return out, nil
}
