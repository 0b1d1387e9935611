package federation_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
)

// TestSuspension: whatever a job's life is like, what it has run and what it was suspended make up the time since its start.
func TestSuspension(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := time.Unix(1_800_000_000, 0)
		now, ran, suspended := start, time.Duration(0), false
		var s federation.Suspension
		for _, d := range rapid.SliceOf(rapid.IntRange(0, 10_000)).Draw(t, "seconds until it is suspended, resumed, suspended ...") {
			step := time.Duration(d) * time.Second
			if now = now.Add(step); suspended {
				s = s.Resume(now)
			} else {
				ran += step
				s = s.Suspend(start, now)
			}
			suspended = !suspended
		}
		more := time.Duration(rapid.IntRange(0, 10_000).Draw(t, "and until now")) * time.Second
		if now = now.Add(more); !suspended {
			ran += more
		}
		if got := s.Elapsed(start, now, suspended); got != ran {
			t.Fatalf("it has run %s, not %s: %+v", got, ran, s)
		}
		if got, want := s.Suspended(start, now, suspended), now.Sub(start)-ran; got != want {
			t.Fatalf("it was suspended for %s, not %s: %+v", got, want, s)
		}
	})
}
