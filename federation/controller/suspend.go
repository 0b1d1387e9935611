package controller

import (
	"context"
	"errors"
	"fmt"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/driver"
	"fsub/slurm/wire"
)

// suspends reports whether r is to suspend or to resume a job.
func suspends(r action.Request) bool {
	return r.Kind == action.Suspend || r.Kind == action.Resume
}

// suspendAsked is scontrol suspend and resume. One that meets another run of the job than the one that was meant
// is done.
func (rq *requests) suspendAsked(j *job, r action.Request) {
	a := &asked{Request: r}
	if !j.live() || j.att.State != federation.AttemptStarted || j.Restarts > r.Restarts {
		rq.asks.refuse(j, a, slurmError(wire.ErrJobPending))
		return
	}
	rq.asks.open[j.ID] = a
	rq.batch.eventf(j, "%s asked for by %s", r.Kind, r.Who())
}

func suspendAt(p driver.Suspender, ref federation.JobRef, kind action.Kind) func(context.Context) error {
	return func(ctx context.Context) error {
		switch {
		case p == nil:
			return fmt.Errorf("%w: its driver cannot suspend jobs", federation.ErrInvalid)
		case kind == action.Suspend:
			return p.Suspend(ctx, ref)
		}
		return p.Resume(ctx, ref)
	}
}

// suspendedThere takes in what the site said to it.
func (rq *requests) suspendedThere(s *site, j *job, a *asked, err error) {
	switch {
	case err == nil:
		rq.follow(s, j, a)
		rq.asks.answer(a)
		s.pollSoon(rq.now().Add(rq.t.Poll))
	case errors.Is(err, federation.ErrConflict), errors.Is(err, federation.ErrNotFound): // it has ended, or is ending
		no := slurmError(wire.ErrAlreadyDone)
		no.Detail = err.Error()
		rq.asks.refuse(j, a, no)
	default:
		rq.asks.refuse(j, a, err)
	}
}

// follow brings a job, with its components, in line with what its site has done. The next poll tells it too, by
// the site's clock; but a resume that follows at once has to find the job suspended.
func (rq *requests) follow(s *site, j *job, a *asked) {
	if !j.live() || j.att.Site != s.Name || j.att.State != federation.AttemptStarted || j.Restarts > a.Restarts {
		return // it is another run now
	}
	now := rq.now().UTC()
	for _, k := range append([]*job{j}, j.others...) {
		is := federation.SiteJob{PricePerHour: k.rent}
		switch {
		case a.Kind == action.Suspend && k.State == federation.Running:
			is.State, is.Suspension = federation.Suspended, k.Suspension().Suspend(k.Start, now)
		case a.Kind == action.Resume && k.State == federation.Suspended:
			is.State, is.Suspension = federation.Running, k.Suspension().Resume(now)
		default: // it has been told already, or is ending
			continue
		}
		if k == j {
			rq.life.takeSuspension(s, k, &is)
		}
		k.State = is.State
		k.SetSuspension(is.Suspension)
		rq.batch.job(k)
	}
}

// takeSuspension takes in whether a job that has started is suspended, and says what that costs.
func (l *life) takeSuspension(s *site, j *job, sj *federation.SiteJob) {
	j.SetSuspension(sj.Suspension)
	j.try().rent = sj.PricePerHour
	is, was := sj.State == federation.Suspended, j.State == federation.Suspended
	switch {
	case is && !was && sj.PricePerHour > 0:
		l.batch.eventf(j, "suspended at %s; its nodes stay its own, and go on costing %s an hour", s.Name, sj.PricePerHour.Rate())
	case is && !was:
		l.batch.eventf(j, "suspended at %s", s.Name)
	case was && sj.State == federation.Running:
		l.batch.eventf(j, "resumed at %s", s.Name)
	}
}

func slurmError(number int) *federation.SlurmError {
	return &federation.SlurmError{Kind: federation.ErrConflict, Number: number, Text: wire.Strerror(number)}
}
