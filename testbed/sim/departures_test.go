package sim

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// Running jobs leave before maintenances and from nodes that an operator empties, while the daemon dies at any of its steps: each is moved within its bounds, runs on elsewhere, and never twice at once.
func TestDeparturesSurviveCrashes(t *testing.T) {
	seeds := uint64(1)
	if os.Getenv("FSUB_FULL") != "" {
		seeds = 5
	}
	left, room, emptied := 0, 0, 0
	for _, crash := range []time.Duration{0, 5 * time.Second} {
		for seed := range seeds {
			t.Run(fmt.Sprint(crash, seed), func(t *testing.T) {
				r := play(t, Config{Seed: seed + 1, Jobs: 40, Sites: sites(3, slurmAt(t)), Moves: true, MeanGap: 40 * time.Second, Crash: crash, Limit: 6 * time.Hour,
					Loss: Loss{Request: .01, Reply: .01}})
				left, room, emptied = left+r.Departed, room+r.MadeRoom, emptied+r.Emptied
				if crash > 0 && r.Crashes == 0 {
					t.Error("the daemon never died")
				}
			})
		}
	}
	if left == room+emptied || room == 0 || emptied == 0 {
		t.Errorf("%d jobs left, %d of them for gangs and %d from drained nodes", left, room, emptied)
	}
}
