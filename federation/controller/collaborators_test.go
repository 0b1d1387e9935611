package controller

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/share"
	"fsub/sbatch"
)

// idStore gives IDs, or fails.
type idStore struct {
	Store
	next federation.JobID
	err  error
	asks int
}

func (s *idStore) ReserveIDs(_ context.Context, n int) (ids []federation.JobID, err error) {
	s.asks++
	for range n {
		s.next++
		ids = append(ids, s.next)
	}
	return ids, s.err
}

// TestJobIDs: what was taken and not used is taken again; a store that gives none is left alone for a while.
func TestJobIDs(t *testing.T) {
	st, now := &idStore{err: federation.ErrUnavailable}, time.Unix(1000, 0)
	x := jobIDs{store: st, log: slog.New(slog.DiscardHandler), now: func() time.Time { return now }, agenda: new(agenda), pause: time.Second}
	x.reserve(t.Context(), 3)
	x.reserve(t.Context(), 3)
	if st.asks != 1 || len(x.free) != 0 {
		t.Fatalf("asked %d times, %d IDs", st.asks, len(x.free))
	}
	now, st.err = now.Add(x.pause), nil
	x.reserve(t.Context(), 3)
	if len(x.free) != 64 {
		t.Fatalf("%d IDs, want as many as are reserved at once", len(x.free))
	}
	first, _ := x.take()
	second, _ := x.take()
	x.giveBack(first)
	if again, ok := x.take(); !ok || again != first || second == first || len(x.free) != 62 {
		t.Errorf("then %d was taken, want %d again, and %d are left", again, first, len(x.free))
	}
	x.agenda.lastRead, x.agenda.plan = now, false
	x.lack()
	x.lack()
	if !x.agenda.plan || !x.agenda.lastRead.IsZero() {
		t.Error("the store is not read for more")
	}
	x.agenda.plan = false
	x.lack()
	if x.agenda.plan {
		t.Error("it is planned again and again for IDs that may not be had")
	}
}

// TestCalls: each call has a result, also one whose driver panics or that was never made, and all come back for the next round.
func TestCalls(t *testing.T) {
	for _, inline := range []bool{true, false} {
		c := newCalls(inline, time.Second, slog.New(slog.DiscardHandler), newMetrics(nil), nil, ownedBy(0))
		s := &site{slots: make(chan struct{}, submitSlots), acts: share.New(actSlots, actsOfUser)}
		c.add(s, acted{job: 1}, func(context.Context) any { return acted{job: 1} })
		c.decided = append(c.decided, call{site: s, kind: submitted{job: 2}, before: func(context.Context) error { return errors.New("no script") },
			run: func(context.Context) any { panic("it was sent all the same") }})
		if !inline {
			c.add(s, lookedUp{job: 3}, func(context.Context) any { panic("defect") })
		}
		c.make(t.Context())
		got := map[federation.JobID]error{}
		for want := 2; len(got) < want; time.Sleep(time.Millisecond) {
			if !inline {
				want = 3
			}
			for _, r := range c.take() {
				switch v := r.value.(type) {
				case acted:
					got[v.job] = v.err
				case submitted:
					got[v.job] = v.err
				case lookedUp:
					got[v.job] = v.err
				}
			}
		}
		if got[1] != nil || got[2] == nil || !inline && !errors.Is(got[3], federation.ErrUnavailable) {
			t.Errorf("inline %v: %v", inline, got)
		}
		if len(c.take())+len(c.decided) != 0 {
			t.Error("something is there twice")
		}
	}
}

// ownedBy is who owns every job.
func ownedBy(uid uint32) func(federation.JobID) uint32 {
	return func(federation.JobID) uint32 { return uid }
}

// TestCallsOfOneUser: however many of one user's jobs a site is asked about, it is asked about another's. Those beyond what may wait fail at once, and not by
// the site's fault.
func TestCallsOfOneUser(t *testing.T) {
	c := newCalls(false, time.Minute, slog.New(slog.DiscardHandler), newMetrics(nil), nil, func(id federation.JobID) uint32 { return uint32(id / 100_000) })
	s := &site{slots: make(chan struct{}, submitSlots), acts: share.New(actSlots, actsOfUser).Bound(actsWait)}
	stuck := make(chan struct{})
	defer close(stuck)
	const many = 100
	for i := range federation.JobID(actsOfUser + actsWait + many) {
		c.add(s, acted{job: i}, func(ctx context.Context) any {
			select {
			case <-stuck:
			case <-ctx.Done():
			}
			return acted{job: i}
		})
	}
	c.make(t.Context())
	failed := 0
	for range many {
		r := (<-c.results).value.(acted)
		if !errors.Is(r.err, federation.ErrThrottled) {
			t.Fatalf("%+v", r)
		}
		failed++
		if (&breaker{fails: breakAfter}).note(r.err, false) {
			t.Fatal("it counts against the site")
		}
	}
	for _, kind := range []any{acted{job: 100_000}, answered{job: 100_000}} {
		c.add(s, kind, func(context.Context) any { return kind })
		c.make(t.Context())
		if r := <-c.results; jobOf(r.value) != 100_000 {
			t.Errorf("the other's call: %+v", r.value)
		}
	}
	c.abandon()
}

// TestStagedOutIsRetried: results that fail to come are asked for again after a while, and given up in the end; only then does the job end.
func TestStagedOutIsRetried(t *testing.T) {
	now := time.Unix(1000, 0)
	stager := &failingStager{err: federation.ErrUnavailable}
	s := &site{Site: federation.Site{Name: "a", FileSystems: []string{}}, jobs: map[federation.JobID]*job{}}
	log, clock := slog.New(slog.DiscardHandler), func() time.Time { return now }
	x := &stageOut{now: clock, moved: func(*site, *job, *federation.SiteJob, int64) {}, t: Timing{}.withDefaults(), log: log, stager: stager, sites: newRoster(), jobs: newJobTable(), batch: newPendingBatch(nil, clock, log),
		calls: newCalls(true, time.Second, log, newMetrics(nil), nil, ownedBy(0)), byKey: map[string]*results{}}
	x.sites.add(s)
	j := newJob(federation.Job{ID: 1, Spec: new(sbatch.Spec)})
	j.try().att = &federation.Attempt{Job: 1, Number: 1, Key: "k", State: federation.AttemptStarted}
	j.Spec.WorkDir = "/work"
	x.jobs.Set(1, j)
	s.jobs[1] = j
	if waits, _ := x.begin(s, j, federation.SiteJob{ID: 1, State: federation.Completed, Start: now, End: now}); !waits {
		t.Fatal("its results are not on the way")
	}
	var ended *federation.SiteJob
	for n := 0; ended == nil; n++ {
		if n > 10_000 || now.After(time.Unix(1000, 0).Add(2*homeFor)) {
			t.Fatal("they are never given up")
		}
		x.calls.make(t.Context())
		for _, r := range x.calls.take() {
			_, ended = x.take(r.site, r.value.(collected))
		}
		now = now.Add(time.Second)
		x.again()
	}
	if now.Before(time.Unix(1000, 0).Add(homeFor)) || stager.tries < 10 {
		t.Errorf("given up at %s after %d tries", now, stager.tries)
	}
	if waits, _ := x.begin(s, j, *x.byKey["k"].ended); waits || len(x.byKey) != 0 {
		t.Error("the job cannot end")
	}
}

type failingStager struct {
	federation.Stager
	err   error
	tries int
}

func (f *failingStager) Collect(context.Context, *federation.Job, *federation.Attempt, federation.SiteJob) ([]string, int64, error) {
	f.tries++
	return nil, 0, f.err
}
