package simsite

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"fsub/federation"
)

func TestCompleting(t *testing.T) {
	s := newSite(t, withKey, func(c *Config) {
		c.Clock, c.TokenClock, c.Completing = NewVirtualClock(time.Now()), RealClock{}, 3*time.Second
	})
	ctx := context.Background()
	d := restDriver(t, s)
	const id = federation.FirstJobID
	if _, err := d.Submit(ctx, submission(id, script("#SIM run=5s"))); err != nil {
		t.Fatal(err)
	}
	s.Advance(5 * time.Second)
	for _, want := range []federation.State{federation.Completing, federation.Completed} {
		if j, err := d.Lookup(ctx, federation.JobRef{ID: id}); err != nil || j.State != want {
			t.Errorf("%s %v, want %s", j.State, err, want)
		}
		if used := s.nodes[0].usedCPUs; (used > 0) != (want == federation.Completing) {
			t.Errorf("%s: %d CPUs in use", want, used)
		}
		s.Advance(3 * time.Second)
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	s := newSite(t, withKey)
	s.Inject(Fault{Kind: LoseReply, Prob: 0.1})
	s.Inject(Fault{Kind: Slow, Prob: 0.5, Delay: time.Millisecond})
	ctx := context.Background()
	drivers := []federation.Driver{restDriver(t, s), restDriver(t, s)}
	var wg sync.WaitGroup
	for i, d := range drivers {
		wg.Go(func() {
			for n := range federation.JobID(12) {
				_, err := d.Submit(ctx, submission(federation.FirstJobID+federation.JobID(i*100)+n, script("#SIM run=10ms")))
				if err != nil && !errors.Is(err, federation.ErrUnavailable) {
					t.Error(err)
				}
				_, _ = d.Jobs(ctx, nil)
				_ = d.Cancel(ctx, federation.JobRef{ID: federation.FirstJobID + n}, nil)
			}
		})
	}
	for range 20 {
		s.RestartController(CrashOptions{KeepChanges: true})
		_ = s.Jobs()
		_ = s.Active()
		time.Sleep(5 * time.Millisecond)
	}
	wg.Wait()
}

func TestReleaseHung(t *testing.T) {
	s := newSite(t, withKey)
	d := restDriver(t, s)
	s.Inject(Fault{Kind: Hang, Ops: []Op{OpSubmit}})
	done := make(chan error)
	go func() {
		_, err := d.Submit(context.Background(), submission(federation.FirstJobID))
		done <- err
	}()
	for s.Stats().Faults == 0 {
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-done:
		t.Fatalf("it did not hang: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	s.ClearFaults()
	if err := <-done; !errors.Is(err, federation.ErrUnavailable) {
		t.Error(err)
	}
}
