package sim

import (
	"fmt"
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
				r := play(t, Config{Seed: seed + 70, Jobs: 120, Sites: all, Promises: true, MeanGap: 200 * time.Millisecond, Crash: crash, Limit: 2 * time.Hour,
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
