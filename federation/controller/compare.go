package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"fsub/federation"
)

// A store that was restored from a copy does not know what its jobs have done since. The keys of their next attempts are known, for a key follows from the
// job and the number of the attempt: every site is asked for them before the job is bound, and what is found is adopted as it would be after a crash between
// intent and submission.

// comparing looks for the live jobs of a restored store at the sites.
type comparing struct {
	federation string
	copied     time.Time // see Config.Restored; zero: there is nothing to compare
	done       func(context.Context) error
	now        func() time.Time
	t          Timing
	log        *slog.Logger
	sites      *roster
	jobs       *jobTable
	batch      *pendingBatch
	agenda     *agenda
	calls      *calls
	queue      *queue
	open       map[federation.JobID]*compared // jobs that are not to be bound yet
	asked      int                            // calls that are under way
}

// compared is how far the sites have been asked for a job.
type compared struct {
	waits map[federation.SiteName]bool // asked, and not answered
	clear map[federation.SiteName]bool // those that do not know it
	retry time.Time
}

// Bounds: how many calls are made at once, and how many numbers after the last known attempt are looked for. An attempt that never reached its site leaves a gap.
const (
	compareAtOnce = 16
	compareAhead  = 3
)

// found is what a site knows of a job's later attempts.
type found struct {
	job    federation.JobID
	number int // of the newest that it knows; 0: none
	err    error
}

// begin has all live jobs compared. Of an array that waits nobody can say which of its tasks have run: their jobs have IDs that the copy does not know. It is held.
func (cg *comparing) begin(hold func(*job)) {
	if cg.copied.IsZero() {
		return
	}
	for _, id := range slices.Sorted(cg.jobs.IDs()) {
		switch j := cg.jobs.Of(id); {
		case j.Component != nil:
		case j.spreads():
			if j.rest.Len() > 0 && j.Held != federation.HeldAdmin {
				hold(j)
				cg.batch.eventf(j, "held: the store was restored from a copy of %s, and tasks may have run since; look with sacct at the sites, then: scontrol release %d",
					cg.copied.Format(time.RFC3339), j.ID)
			}
		default:
			cg.open[id] = &compared{waits: map[federation.SiteName]bool{}, clear: map[federation.SiteName]bool{}}
		}
	}
	cg.log.Warn("the store was restored: jobs are looked for at all sites before they start", "copied", cg.copied, "jobs", len(cg.open))
}

// holds reports whether a job is not to be bound yet.
func (cg *comparing) holds(j *job) bool { return cg.open[j.ID] != nil }

// reconcile asks the sites for those that wait, and ends the comparison with the last of them.
func (cg *comparing) reconcile(ctx context.Context) {
	if cg.copied.IsZero() {
		return
	}
	now := cg.now()
	for _, id := range slices.Sorted(maps.Keys(cg.open)) {
		j, k := cg.jobs.Of(id), cg.open[id]
		if j == nil { // it has ended
			delete(cg.open, id)
			continue
		}
		if j.live() || len(k.waits) > 0 || now.Before(k.retry) {
			continue
		}
		if !slices.ContainsFunc(cg.sites.all, func(s *site) bool { return !k.clear[s.Name] }) {
			delete(cg.open, id)
			cg.queue.look(j)
			cg.agenda.plan = true
			continue
		}
		for _, s := range cg.sites.all {
			if !k.clear[s.Name] && cg.asked < compareAtOnce && !s.breaker.open {
				cg.ask(j, k, s)
			}
		}
	}
	if len(cg.open) == 0 {
		if err := cg.done(ctx); err != nil {
			cg.log.Error("note that the restored store was compared with the sites", "err", err)
			return
		}
		cg.copied = time.Time{}
		cg.log.Info("the restored store was compared with the sites")
	}
}

func (cg *comparing) ask(j *job, k *compared, s *site) {
	k.waits[s.Name] = true
	cg.asked++
	kind, known, submitted, d := found{job: j.ID}, j.Job, j.Submit, s.driver
	cg.calls.add(s, kind, func(ctx context.Context) any {
		r := kind
		for n := known.Attempt + compareAhead; n > known.Attempt; n-- {
			key := federation.AttemptKey(cg.federation, &known, n)
			at, err := d.Lookup(ctx, federation.JobRef{ID: known.ID, User: known.User, Number: known.Number(), Key: key, Submitted: submitted})
			switch {
			case err == nil && at.Key == key:
				r.number = n
				return r
			case err != nil && !errors.Is(err, federation.ErrNotFound):
				r.err = err
				return r
			}
		}
		return r
	})
}

// take takes in what a site knows. What it has of the job becomes its attempt, of unknown fate.
func (cg *comparing) take(s *site, r found, attach func(*federation.Attempt)) {
	cg.asked--
	j, k := cg.jobs.Of(r.job), cg.open[r.job]
	if j == nil || k == nil {
		return
	}
	delete(k.waits, s.Name)
	switch {
	case r.err != nil:
		k.retry = cg.now().Add(cg.t.RetryMax)
		cg.log.Warn("look for a job after a restore", "job", r.job, "site", s.Name, "err", r.err)
	case r.number == 0:
		k.clear[s.Name] = true
	case j.live(): // another site was faster, and has a later attempt or an earlier one: what is over is known from its answer
	default:
		clear(k.clear) // later ones are looked for when this one is over
		cg.batch.eventf(j, "found at %s, where it was started after the copy of %s", s.Name, cg.copied.Format(time.RFC3339))
		a := &federation.Attempt{Job: j.ID, Number: r.number, Key: federation.AttemptKey(cg.federation, &j.Job, r.number), Site: s.Name, State: federation.AttemptIntended,
			Created: j.Submit, Note: fmt.Sprintf("adopted after a restore of %s", cg.copied.Format(time.RFC3339))}
		j.Attempt, j.Site = r.number, s.Name
		cg.queue.drop(j)
		attach(a)
		cg.batch.job(j)
		cg.batch.attempt(a)
	}
}
