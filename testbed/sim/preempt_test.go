package sim

import (
	"fmt"
	"testing"
	"time"
)

// Jobs make room for others while the daemon dies at any of its steps: whoever could not finish runs again, nobody runs twice, nobody is ended for nothing.
func TestPreemptionSurvivesCrashes(t *testing.T) {
	for _, crash := range []time.Duration{0, 5 * time.Second} {
		seized := 0
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(crash, seed), func(t *testing.T) {
				all := sites(4, slurmAt(t))
				for i := range all {
					all[i].Config.Users[0].QOS = []string{"low", "high"}
				}
				r := play(t, Config{Seed: seed + 1, Jobs: 120, Sites: all, Preempt: true, MeanGap: 100 * time.Millisecond, Crash: crash, Limit: 20 * time.Minute,
					Loss: Loss{Request: .01, Reply: .01}})
				seized += r.Seized
				if crash > 0 && r.Crashes == 0 {
					t.Error("the daemon never died")
				}
			})
		}
		if seized == 0 {
			t.Errorf("with a crash each %v nobody made room for anybody", crash)
		}
	}
}
