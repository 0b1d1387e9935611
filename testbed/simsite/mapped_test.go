package simsite

import (
	"errors"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm"
	"fsub/slurm/wire"
)

func mappedSite(t *testing.T, user string) (*Site, *slurm.Driver) {
	s := newSite(t, withKey, func(c *Config) { c.Clock, c.TokenClock = NewVirtualClock(time.Now()), RealClock{} })
	return s, restDriverWith(t, s, func(c *slurm.Config) { c.Mode, c.User, c.Settle = federation.Mapped, user, time.Nanosecond })
}

// TestNumbersAreGivenTwice: a controller that is killed forgets a job and gives its number to another. What was meant for the first must
// not befall the second.
func TestNumbersAreGivenTwice(t *testing.T) {
	for _, user := range []string{"slurm", "alice"} {
		t.Run(user, func(t *testing.T) {
			s, d := mappedSite(t, user)
			ctx := t.Context()
			lost, other := submission(federation.FirstJobID+1, script("#SIM run=1h")), submission(federation.FirstJobID+2, script("#SIM run=1h"))
			first, err := d.Submit(ctx, lost)
			if err != nil {
				t.Fatal(err)
			}
			before, err := d.Jobs(ctx, nil)
			if err != nil || !before.Knows(lost.Job.ID, lost.Key) {
				t.Fatalf("before: %+v, %v", before, err)
			}
			s.KillController(CrashOptions{})
			s.Advance(time.Second)
			s.StartController()
			second, err := d.Submit(ctx, other)
			if err != nil || second.SiteJobID != first.SiteJobID {
				t.Fatalf("the number is not given again: %+v after %+v, %v", second, first, err)
			}
			after, err := d.Jobs(ctx, before.Mark)
			if err != nil || after.Knows(lost.Job.ID, lost.Key) || !after.Knows(other.Job.ID, other.Key) || len(after.Changed) != 1 || after.Changed[0].Key != other.Key {
				t.Errorf("after: %+v, %v", after, err)
			}
			ref := federation.JobRef{ID: lost.Job.ID, Key: lost.Key, SiteJobID: first.SiteJobID, Submitted: s.Now().Add(-time.Minute)}
			if j, err := d.Lookup(ctx, ref); !errors.Is(err, federation.ErrNotFound) && !(err == nil && j.FromAccounting && !j.State.Ended()) {
				t.Errorf("Lookup of the lost one: %+v, %v", j, err)
			}
			if err := d.Cancel(ctx, ref, nil); err != nil {
				t.Errorf("Cancel of the lost one: %v", err)
			}
			if err := d.Hold(ctx, ref); !errors.Is(err, federation.ErrNotFound) {
				t.Errorf("Hold of the lost one: %v", err)
			}
			if err := d.Signal(ctx, ref, nil, federation.Signal{Name: "USR1"}); !errors.Is(err, federation.ErrNotFound) {
				t.Errorf("Signal to the lost one: %v", err)
			}
			if j, err := d.Lookup(ctx, federation.JobRef{ID: other.Job.ID, Key: other.Key}); err != nil || j.State != federation.Running {
				t.Errorf("the other one: %+v, %v", j, err)
			}
			again, err := d.Submit(ctx, lost)
			if err != nil || again.Adopted || again.SiteJobID == second.SiteJobID {
				t.Errorf("the lost one again: %+v, %v", again, err)
			}
		})
	}
}

// TestLateCopies: an attempt that was submitted twice, since the first was not heard of, runs once, also if the second copy has started.
func TestLateCopies(t *testing.T) {
	for _, held := range []bool{true, false} {
		s, d := mappedSite(t, "slurm")
		ctx := t.Context()
		sub := submission(federation.FirstJobID+1, script("#SIM run=1h"))
		r, err := d.Submit(ctx, sub)
		if err != nil {
			t.Fatal(err)
		}
		late, _, err := s.Submit(Caller{Name: "alice"}, &wire.JobDesc{Name: "late", WCKey: sub.Key, Hold: &held, Script: "#!/bin/sh\n#SIM run=1h\n", WorkDir: "/", Environment: wire.Environment{"A=b"}})
		if err != nil {
			t.Fatal(err)
		}
		if now := s.jobs[late].state; now.Started() == held {
			t.Fatalf("the late copy is %s", now)
		}
		report, err := d.Jobs(ctx, nil)
		if err != nil || len(report.Changed) != 1 || report.Changed[0].SiteJobID != r.SiteJobID {
			t.Errorf("%+v, %v", report.Changed, err)
		}
		if l := report.Late; len(l) != 1 || l[0].SiteJobID != late || l[0].ID != sub.Job.ID || l[0].State.Started() == held {
			t.Errorf("late are %+v", l)
		}
		if got := s.jobs[late].state; got != federation.Cancelled {
			t.Errorf("the late copy is %s", got)
		}
		if got := s.jobs[r.SiteJobID].state; got != federation.Running {
			t.Errorf("the first is %s", got)
		}
		if report, err = d.Jobs(ctx, report.Mark); err != nil || len(report.Late) > 0 {
			t.Errorf("cancelled again: %+v, %v", report.Late, err)
		}
	}
}

// TestNothingIsGivenUpTooSoon: as long as a submission of which nothing was heard may take effect, it is not said to be unknown.
func TestNothingIsGivenUpTooSoon(t *testing.T) {
	s, _ := mappedSite(t, "slurm")
	d := restDriverWith(t, s, func(c *slurm.Config) { c.Mode, c.Settle = federation.Mapped, time.Hour })
	sub := submission(federation.FirstJobID + 1)
	if _, err := d.Lookup(t.Context(), federation.JobRef{ID: sub.Job.ID, Key: sub.Key}); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("Lookup: %v", err)
	}
}

// TestOthersAreRefused: the token of one user is not used for another.
func TestOthersAreRefused(t *testing.T) {
	s, d := mappedSite(t, "alice")
	o, err := d.Observe(t.Context())
	if err != nil || o.Mode != federation.Mapped || o.OnlyUser != "alice" {
		t.Fatalf("%+v, %v", o, err)
	}
	sub := submission(federation.FirstJobID + 1)
	sub.User = federation.SiteUser{Name: "bob", UID: 7002, GID: 7002}
	if _, err := d.Submit(t.Context(), sub); !errors.Is(err, federation.ErrDenied) || len(s.jobs) != 0 {
		t.Errorf("%v, and the site has %d jobs", err, len(s.jobs))
	}
}

// TestCommentsStayTheUsers: the key has a field of its own; only where the user has taken that too it is added to the comment.
func TestCommentsStayTheUsers(t *testing.T) {
	s, d := mappedSite(t, "alice")
	for i, c := range []struct{ wckey, comment, wantWCKey, wantComment string }{
		{"", "mine", "KEY", "mine"},
		{"w", "mine", "w", "mine KEY"},
		{"w", "", "w", "KEY"},
	} {
		sub := submission(federation.FirstJobID+federation.JobID(i+1), script("#SIM run=1s"))
		sub.Job.Spec.Comment, sub.Job.Spec.More = c.comment, &sbatch.More{WCKey: c.wckey}
		r, err := d.Submit(t.Context(), sub)
		if err != nil {
			t.Fatal(err)
		}
		put := func(text string) string {
			if text == "KEY" {
				return sub.Key
			}
			if text == "mine KEY" {
				return "mine " + sub.Key
			}
			return text
		}
		if got := s.jobs[r.SiteJobID].desc; got.WCKey != put(c.wantWCKey) || got.Comment != put(c.wantComment) {
			t.Errorf("%+v: wckey %q, comment %q", c, got.WCKey, got.Comment)
		}
		if j, err := d.Lookup(t.Context(), federation.JobRef{ID: sub.Job.ID, Key: sub.Key}); err != nil || j.SiteJobID != r.SiteJobID {
			t.Errorf("%+v: %+v, %v", c, j, err)
		}
		s.Advance(10 * time.Second)
		s.RestartController(CrashOptions{ForgetEnded: true})
		j, err := d.Lookup(t.Context(), federation.JobRef{ID: sub.Job.ID, Key: sub.Key, SiteJobID: r.SiteJobID, Submitted: s.Now().Add(-time.Minute)})
		if err != nil || !j.FromAccounting || j.State != federation.Completed || j.Key != sub.Key {
			t.Errorf("%+v, in accounting only: %+v, %v", c, j, err)
		}
	}
}
