package queue

import (
	"context"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/restd"
	"fsub/federation/api/submission"
	"fsub/federation/quota"
)

// submits are the jobs that have not ended, counted for the account tree's limits of submission. The queue counts those that it holds, as it follows the
// store; those that are being submitted are counted when they are let in, until the queue holds them. The queue's lock guards it.
type submits struct {
	*quota.Submits
	open map[*admitted]bool             // not known yet to be in the store
	ids  map[federation.JobID]*admitted // in the store, and not in the queue yet
	done *sync.Cond                     // one of open has been decided; with the queue's lock
	read time.Time                      // when the queue last took up what was written
}

// admitted is a job with its components that was let in.
type admitted struct{ parts []submission.Part }

// submitsAgain is after how long a submission has the store's log read again: what others have submitted by another daemon is counted by then.
const submitsAgain = time.Second

func newSubmits(q *Queue, counts *quota.Submits) *submits {
	return &submits{Submits: counts, open: map[*admitted]bool{}, ids: map[federation.JobID]*admitted{}, done: sync.NewCond(&q.mu)}
}

// Admit implements [submission.Limits].
func (q *Queue) Admit(ctx context.Context, parts []submission.Part) (func(federation.JobID), *quota.Refusal, error) {
	if q.submits.Free() {
		return func(federation.JobID) {}, nil, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.submits
	fresh := false
	for {
		limited, changed := s.Limited()
		if !limited {
			return func(federation.JobID) {}, nil, nil
		}
		if !fresh && (changed || q.mark.get() == 0 || q.cfg().Now().Sub(s.read) > submitsAgain) {
			if err := q.refreshed(ctx); err != nil {
				return nil, nil, err
			}
			fresh = true
		}
		no := s.let(parts)
		if no == nil {
			a := &admitted{parts}
			s.open[a] = true
			return func(id federation.JobID) { q.settle(a, id) }, nil, nil
		}
		switch {
		case !fresh: // some may have ended
			if err := q.refreshed(ctx); err != nil {
				return nil, nil, err
			}
			fresh = true
		case len(s.open) > 0: // they may be counted twice, or not be stored after all
			s.done.Wait()
			fresh = false
		default:
			return nil, no, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, answer.OfStore(err, answer.TimedOut)
		}
	}
}

// refreshed is refresh for who holds the lock. It is not held meanwhile.
func (q *Queue) refreshed(ctx context.Context) error {
	q.mu.Unlock()
	defer q.mu.Lock()
	return q.refresh(ctx)
}

// Change implements [submission.Admission].
func (q *Queue) Change(ctx context.Context, from, to []submission.Part) (*quota.Refusal, error) {
	if q.submits.Free() {
		return nil, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.submits
	if limited, _ := s.Limited(); !limited {
		return nil, nil
	}
	if err := q.refreshed(ctx); err != nil {
		return nil, err
	}
	s.count(from, -1)
	defer s.count(from, 1)
	no := s.let(to)
	if no == nil {
		s.count(to, -1)
	}
	return no, nil
}

// let counts the parts of a job, all or none.
func (s *submits) let(parts []submission.Part) *quota.Refusal {
	for i, p := range parts {
		x := s.Of(p.Submitter)
		if no := s.Check(x, p.Tasks); no != nil {
			s.count(parts[:i], -1)
			return no
		}
		s.Add(x, p.Tasks)
	}
	return nil
}

func (s *submits) count(parts []submission.Part, sign int64) {
	for _, p := range parts {
		s.Add(s.Of(p.Submitter), sign*p.Tasks)
	}
}

// settle says what became of a job that was let in; id is 0 if it was not stored.
func (q *Queue) settle(a *admitted, id federation.JobID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.submits
	if !s.open[a] {
		return // another server of this daemon counts now
	}
	delete(s.open, a)
	if id == 0 || q.jobs[id] != nil {
		s.count(a.parts, -1)
	} else {
		s.ids[id] = a
	}
	s.done.Broadcast()
}

// clear counts what is being submitted, and nothing else.
func (s *submits) clear() {
	if s == nil {
		return
	}
	s.Submits.Clear()
	clear(s.ids)
	for a := range s.open {
		s.count(a.parts, 1)
	}
}

// takes counts a job that the queue holds from now on.
func (s *submits) takes(id federation.JobID, k *queuedJob) {
	if s == nil {
		return
	}
	if who, n := k.counted(); who != nil {
		s.Add(who, n)
	}
	if a := s.ids[id]; a != nil {
		delete(s.ids, id)
		s.count(a.parts, -1)
	}
}

// drops counts a job no more.
func (s *submits) drops(k *queuedJob) {
	if s == nil {
		return
	}
	if who, n := k.counted(); who != nil {
		s.Add(who, -n)
	}
}

// of is on whose behalf a job counts; nil: nobody counts.
func (s *submits) of(j *federation.Job) *quota.Submitted {
	if s == nil {
		return nil
	}
	return s.Of(submission.SubmitterOf(j.User, j.Spec))
}

// counted is on whose behalf a job counts, and for how many.
func (k *queuedJob) counted() (who *quota.Submitted, n int64) {
	if k.rest == nil {
		return k.row.kind.who, 1
	}
	return k.rest.who, k.rest.live
}

// liveTasks is how many of a part's tasks have not ended.
func liveTasks(p *restd.Part) int64 {
	if p.State.Ended() {
		return 0
	}
	return int64(p.Tasks())
}
