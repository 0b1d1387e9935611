package controller

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/sbatch"
)

const (
	copiesEvery = 30 * time.Second
	// mostCopies bounds the jobs that are asked about at the store at one time.
	mostCopies = 50
	// copiesAfter is how often it is looked for runs that are due: that is a walk over all that run.
	copiesAfter = 5 * time.Second
)

// copies notes in the attempts what their runs have saved of what the jobs keep (#FSUB --keep).
type copies struct {
	now    func() time.Time
	log    *slog.Logger
	stager federation.Stager // nil: there is none
	sites  *roster
	jobs   *jobTable
	batch  *pendingBatch
	calls  *calls
	looked map[federation.JobID]time.Time // when, of jobs that run and keep something
	under  int
	next   time.Time // no walk before
}

func (cp *copies) reconcile() {
	if cp.stager == nil {
		return
	}
	now := cp.now()
	if now.Before(cp.next) {
		return
	}
	cp.next = now.Add(copiesAfter)
	for id := range cp.looked {
		if j := cp.jobs.Of(id); j == nil || !j.live() {
			delete(cp.looked, id)
		}
	}
	for _, s := range cp.sites.all {
		for id, j := range s.jobs {
			if cp.under >= mostCopies {
				return
			}
			if len(j.Spec.Keeps()) == 0 || j.att.State != federation.AttemptStarted || !carries(cp.stager, s, &j.Job) || now.Before(cp.looked[id].Add(copiesEvery)) {
				continue
			}
			cp.looked[id] = now
			cp.look(s, j)
		}
	}
}

// look asks what a job that runs has saved.
func (cp *copies) look(s *site, j *job) {
	cp.under++
	attempt, kind := *j.att, saved{job: j.ID, attempt: j.att.Number}
	cp.calls.decided = append(cp.calls.decided, call{site: s, kind: kind, run: func(ctx context.Context) any {
		r := kind
		r.kept, r.err = cp.stager.Kept(ctx, &attempt)
		return r
	}})
}

func (cp *copies) take(r saved) {
	cp.under--
	j := cp.jobs.Of(r.job)
	switch {
	case r.err != nil:
		cp.log.Warn("ask what a job has saved", "job", r.job, "err", r.err)
	case j != nil && j.att != nil && j.att.Number == r.attempt:
		cp.note(j, r.kept)
	}
}

// withKept is the job as placement sees it: it reads what its earlier runs have saved, from where that lies.
func withKept(j *job) *federation.Job {
	k := j.kept
	if k == nil || j.Spec.Keeps() == nil {
		return &j.Job
	}
	var at []string // a store in no cloud asks nothing for what it gives
	if k.Place != "" {
		at = []string{k.Place}
	}
	copied := j.Job
	copied.EditSpec(func(s *sbatch.Spec) {
		fed := *s.Fed
		fed.Inputs = append(slices.Clip(fed.Inputs), sbatch.Dataset{Bytes: k.Bytes, Kept: true, At: at})
		s.Fed = &fed
	})
	return &copied
}

// note writes down a copy that is newer than the one that is known.
func (cp *copies) note(j *job, k *egress.Kept) {
	if k == nil || j.att.Kept != nil && *j.att.Kept == *k {
		return
	}
	j.att.Kept, j.try().kept = k, k
	cp.batch.attempt(j.att)
}
