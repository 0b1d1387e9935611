package sim

import (
	"os"
	"testing"
	"time"
)

// Many jobs that are submitted at once pass no hard limit together, by what ran at the nodes, while the daemon dies at any of its steps, sites do not answer though
// their jobs go on, and requests and replies are lost. Without the limit each job then runs exactly once.
func TestCapsSurviveCrashes(t *testing.T) {
	seeds := uint64(1)
	if os.Getenv("FSUB_FULL") != "" {
		seeds = 10
	} else {
		t.Log("only one history of ten for each limit: set FSUB_FULL=1 for all of them")
	}
	for name, c := range map[string]struct {
		set map[string]string
		at  int // percent of the limit that is to be reached, or the test shows nothing
	}{
		"GPU minutes": {map[string]string{"BudgetTRESMins": "gres/gpu=60/day"}, 80},
		"money":       {map[string]string{"Budget": "1.2/month"}, 80},
		"jobs":        {map[string]string{"GrpJobs": "9"}, 100},
		"GPUs":        {map[string]string{"GrpTRES": "gres/gpu=20"}, 90},
	} {
		t.Run(name, func(t *testing.T) {
			crashes, outages, lost, waited := 0, 0, 0, 0
			for seed := range seeds {
				r := play(t, Config{Seed: 5000 + seed, Jobs: 150, Sites: sites(4, slurmAt(t)), Caps: c.set, MeanGap: 20 * time.Millisecond, Limit: 12 * time.Hour,
					Crash: 5 * time.Second, Away: 30 * time.Second, Accounting: time.Minute, Loss: Loss{Request: 0.02, Refused: 0.02, Reply: 0.05}})
				if r.Completed != r.Submitted || r.Runs != r.Submitted {
					t.Errorf("not every job ran exactly once and to its end: %+v", r)
				}
				if r.AtLimit < c.at {
					t.Errorf("only %d %% of the limit were reached", r.AtLimit)
				}
				crashes, outages, lost, waited = crashes+r.Crashes, outages+r.Outages, lost+r.Lost, waited+r.Waited
			}
			if crashes == 0 || outages == 0 || lost == 0 || waited == 0 && c.at == 80 {
				t.Errorf("%d crashes, %d outages, %d losses; %d jobs waited for the limit", crashes, outages, lost, waited)
			}
		})
	}
}
