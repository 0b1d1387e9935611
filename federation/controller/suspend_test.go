package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/driver"
	"fsub/sbatch"
)

// pauser is a site that can suspend jobs.
type pauser struct {
	*fakeSite
	err   error // what comes of it, after it was done if that is ErrUnavailable
	asked []string
	mute  bool                 // looks show no change
	stale []federation.SiteJob // what the next look shows
}

func (p *pauser) Abilities() driver.Abilities { return driver.Abilities{Suspend: p} }

func (p *pauser) Jobs(ctx context.Context, m federation.Mark) (federation.JobsReport, error) {
	r, err := p.fakeSite.Jobs(ctx, m)
	if p.mute || p.stale != nil {
		r.Changed, p.stale = p.stale, nil
	}
	return r, err
}

func (p *pauser) Suspend(_ context.Context, ref federation.JobRef) error {
	return p.set(ref, "suspend", federation.Suspended)
}

func (p *pauser) Resume(_ context.Context, ref federation.JobRef) error {
	return p.set(ref, "resume", federation.Running)
}

func (p *pauser) set(ref federation.JobRef, what string, state federation.State) error {
	p.asked = append(p.asked, what)
	j := p.jobs[ref.ID]
	if p.err != nil && p.err != federation.ErrUnavailable {
		return p.err
	}
	switch {
	case j.State == state:
	case state == federation.Suspended:
		j.Suspension = j.Suspension.Suspend(j.Start, p.now())
	default:
		j.Suspension = j.Suspension.Resume(p.now())
	}
	j.State = state
	return p.err
}

func (b *bench) pauses(id federation.JobID, kind action.Kind) {
	b.t.Helper()
	b.request(action.Request{Job: id, Kind: kind, Operator: true, Restarts: b.job(id).Restarts})
}

func TestSuspendAndResume(t *testing.T) {
	b := newBench(t)
	p := &pauser{fakeSite: b.cheap}
	b.drive(p)
	id := b.running()
	b.cheap.jobs[id].PricePerHour = 2 * federation.Dollar
	b.wait(10 * time.Second)
	b.pauses(id, action.Suspend)
	b.wait(time.Second)
	b.want(id, federation.Suspended, "", "cheap")
	b.wait(time.Hour)
	j := b.job(id)
	if ran := j.Suspension().Elapsed(j.Start, b.now(), true); ran < 10*time.Second || ran > 15*time.Second {
		t.Errorf("it has run %s: %+v", ran, j)
	}
	b.pauses(id, action.Resume)
	b.wait(time.Second)
	b.want(id, federation.Running, "", "cheap")
	b.cheap.end(id, federation.Completed)
	b.wait(time.Second)
	b.want(id, federation.Completed, "", "cheap")
	if j := b.job(id); j.Cost < 2*federation.Dollar || j.Suspension().Suspended(j.Start, j.End, false) < 59*time.Minute {
		t.Errorf("it cost $%s, was suspended for %s", j.Cost, j.Suspension().Suspended(j.Start, j.End, false))
	}
	if h := b.history(id); !strings.Contains(h, "suspended at cheap; its nodes stay its own, and go on costing $2.00 an hour") || !strings.Contains(h, "resumed at cheap") {
		t.Errorf("its history:\n%s", h)
	}
	b.noRequests()
}

// TestSuspendSurvives: a request is carried out by the daemon that comes after one which ended before its site had answered, and in its order.
func TestSuspendSurvives(t *testing.T) {
	b := newBench(t)
	p := &pauser{fakeSite: b.cheap, err: federation.ErrUnavailable}
	b.drive(p)
	id := b.running()
	b.pauses(id, action.Suspend)
	b.pauses(id, action.Resume)
	b.wait(time.Second)
	b.restart()
	p.err, p.asked = nil, nil
	b.drive(p)
	b.wait(10 * time.Second)
	b.want(id, federation.Running, "", "cheap")
	if got := fmt.Sprint(p.asked); got != "[suspend resume]" {
		t.Errorf("the site was asked %s", got)
	}
	b.noRequests()
}

// TestSuspendRefused: what a site refuses is told, and changes nothing; of another run of the job, and of one that has ended, nothing is asked.
func TestSuspendRefused(t *testing.T) {
	b := newBench(t)
	p := &pauser{fakeSite: b.cheap, err: fmt.Errorf("an old agent: %w", federation.ErrInvalid)}
	b.drive(p)
	id := b.running()
	b.pauses(id, action.Suspend)
	b.wait(time.Second)
	b.want(id, federation.Running, "", "cheap")
	if h := b.history(id); !strings.Contains(h, "suspend refused: an old agent") {
		t.Errorf("its history:\n%s", h)
	}
	p.asked = nil
	b.request(action.Request{Job: id, Kind: action.Suspend, Operator: true, Restarts: -1})
	b.cheap.end(id, federation.Completed)
	b.wait(time.Second)
	b.pauses(id, action.Resume)
	b.wait(time.Second)
	b.want(id, federation.Completed, "", "cheap")
	if len(p.asked) > 0 {
		t.Errorf("the site was asked %q", p.asked)
	}
	b.noRequests()
}

// TestCancelWhileSuspending: a job that is cancelled before its site has answered is not put back.
func TestCancelWhileSuspending(t *testing.T) {
	b := newBench(t)
	p := &pauser{fakeSite: b.cheap, err: federation.ErrUnavailable}
	b.drive(p)
	id := b.running()
	b.pauses(id, action.Suspend)
	b.wait(time.Second)
	b.cheap.end(id, federation.Cancelled) // at the site, not by us
	b.wait(5 * time.Second)
	b.want(id, federation.Cancelled, "", "cheap")
	b.noRequests()
}

// TestSuspendedAtOnce: a job and its components are suspended, and run again, as soon as their site has said so. A look that comes late changes that for a moment only.
func TestSuspendedAtOnce(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Het = []sbatch.Spec{{Name: "y", TimeLimit: time.Hour, WorkDir: "/"}} })
	b.wait(time.Second)
	b.cheap.startAll(id)
	b.cheap.jobs[id].PricePerHour = 2 * federation.Dollar
	b.wait(10 * time.Second)
	p := &pauser{fakeSite: b.cheap, mute: true}
	b.drive(p)
	before := *b.cheap.jobs[id]
	for _, c := range []struct {
		kind action.Kind
		want federation.State
	}{{action.Suspend, federation.Suspended}, {action.Resume, federation.Running}, {action.Suspend, federation.Suspended}} {
		b.pauses(id, c.kind)
		b.rounds(3)
		b.want(id, c.want, "", "cheap")
		b.want(id+1, c.want, "", "cheap")
		if j, second := b.job(id), b.job(id+1); j.Suspension().At.IsZero() || j.Suspension().Ran < 8*time.Second || second.Suspension() != j.Suspension() {
			t.Errorf("after %s: %+v, its component %+v", c.kind, j.Suspension(), second.Suspension())
		}
	}
	if h := b.history(id); strings.Count(h, "suspended at cheap; its nodes stay its own, and go on costing $2.00 an hour") != 2 || strings.Count(h, "resumed at cheap") != 1 {
		t.Errorf("its history:\n%s", h)
	}
	p.mute, p.stale = false, []federation.SiteJob{before}
	b.cheap.jobs[id].Components[0].State, b.cheap.jobs[id].Components[0].Suspension = federation.Suspended, b.cheap.jobs[id].Suspension
	b.wait(2 * time.Second)
	b.want(id, federation.Suspended, "", "cheap")
	b.want(id+1, federation.Suspended, "", "cheap")
	b.noRequests()
}
