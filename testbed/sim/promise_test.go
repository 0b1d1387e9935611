package sim

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// The places of gangs are held at the sites while the daemon dies at any of its steps and calls get lost: every job runs once, and no reservation is left.
func TestPromisesSurviveCrashes(t *testing.T) {
	reserved := 0
	for _, crash := range []time.Duration{0, 5 * time.Second} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(crash, seed), func(t *testing.T) {
				all := sites(2, slurmAt(t))
				for i := range all {
					all[i].Config.Version = "26.05.5"
				}
				r := play(t, Config{Seed: seed + 70, Jobs: 120, Sites: all, Promises: true, MaxTasks: 4, MeanGap: 200 * time.Millisecond, Crash: crash, Limit: 2 * time.Hour,
					Loss: Loss{Request: .02, Refused: .02, Reply: .05}})
				reserved += r.Reserved
				if crash > 0 && r.Crashes == 0 {
					t.Error("the daemon never died")
				}
			})
		}
	}
	if reserved < 10 {
		t.Errorf("%d reservations were made: the histories are dull", reserved)
	}
}

// The same for one death at each step of a short history, before the step has had its effect and after it.
func TestPromisesSurviveACrashAtEachStep(t *testing.T) {
	first, stride, driver := 18, 41, slurmAt(t) // that step once had two gangs wait for each other
	full := os.Getenv("FSUB_FULL") != ""
	if full {
		first, stride = 1, 1
	} else {
		t.Logf("SKIPPED: all but each %dth step (FSUB_FULL=1)", stride)
	}
	reserved, died := 0, 0
	dies := func(at int, after bool) bool {
		all := sites(2, driver)[:2]
		for i := range all {
			all[i].Config.Version = "26.05.5"
		}
		r := play(t, Config{Seed: 70, Jobs: 16, MaxTasks: 3, Sites: all, Promises: true, MeanGap: 100 * time.Millisecond, DieAt: at, DieAfter: after, Limit: time.Hour})
		reserved += r.Reserved
		died += r.Crashes
		return r.Crashes > 0
	}
	for at := first; dies(at, at%2 == 0) && (!full || dies(at, at%2 != 0)); at += stride {
	}
	if reserved < died {
		t.Errorf("%d reservations were made in %d histories: they are dull", reserved, died)
	}
}
