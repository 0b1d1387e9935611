package sim

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// Running jobs leave before maintenances, while the daemon dies at any of its steps: each is moved within its bounds, runs on elsewhere, and never twice at once.
func TestDeparturesSurviveCrashes(t *testing.T) {
	seeds := uint64(1)
	if os.Getenv("FSUB_FULL") != "" {
		seeds = 5
	}
	for _, crash := range []time.Duration{0, 5 * time.Second} {
		left, room := 0, 0
		for seed := range seeds {
			t.Run(fmt.Sprint(crash, seed), func(t *testing.T) {
				r := play(t, Config{Seed: seed + 1, Jobs: 40, Sites: sites(3, slurmAt(t)), Moves: true, MeanGap: 40 * time.Second, Crash: crash, Limit: 6 * time.Hour,
					Loss: Loss{Request: .01, Reply: .01}})
				left, room = left+r.Departed, room+r.MadeRoom
				if crash > 0 && r.Crashes == 0 {
					t.Error("the daemon never died")
				}
			})
		}
		if left == room || room == 0 {
			t.Errorf("with a crash each %v %d jobs left, %d of them for gangs", crash, left, room)
		}
	}
}
