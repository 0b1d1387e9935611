package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/predict"
	"fsub/federation/replay"
)

// What --test-only says of 12,000 jobs of Philly's trace when each comes, by the queue as it is then, against when it starts: the p90 holds for .85 to .95 of those that are told a wait. The
// others start at once, and of these it holds anyway. The table is in docs/planner.md.
func TestTriedStarts(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes minutes: with FSUB_FULL=1")
	}
	file, err := tracesFile("philly_2017_sia.csv.gz")
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	for _, c := range []struct {
		name  string
		order replay.Order
	}{{"fair-share", replay.FairShare}, {"short first", replay.Short}} {
		t.Run(c.name, func(t *testing.T) {
			jobs, err := readTrace(file)
			if err != nil {
				t.Fatal(err)
			}
			whole := os.Getenv("FSUB_FULL") == "whole"
			if jobs = jobs[2_000:]; !whole {
				jobs = jobs[28_000:40_000]
			}
			askLimits(jobs)
			sites, err := phillySites(600)
			if err != nil {
				t.Fatal(err)
			}
			said, at := make([]decision.Trial, len(jobs)), make([]time.Time, len(jobs))
			r, err := replay.Run(replay.Config{Sites: sites, Jobs: jobs, Policy: place.DefaultPolicy(), Order: c.order, Gap: 5 * time.Second, Told: &predict.Told{},
				Tried: func(i int, now time.Time, tried decision.Trial) { said[i], at[i] = tried, now }})
			if err != nil {
				t.Fatal(err)
			}
			const gap = 10 * time.Second // the replay plans each 5 s
			all, told, long, unknown := share{}, share{}, share{}, 0
			for i := range said {
				o, by := &r.Jobs[i], said[i].Within
				if by.IsZero() {
					by = said[i].Start
				}
				if by.IsZero() {
					unknown++
					continue
				}
				holds := !o.Start.After(by.Add(gap))
				all.add(holds)
				if by.Sub(at[i]) > time.Minute {
					told.add(holds)
				}
				if o.Start.Sub(at[i]) > 10*time.Minute {
					long.add(holds)
				}
			}
			t.Logf("| %s | %d | %d | %s | %s of %d | %s of %d |", c.name, len(said), unknown, all, told, told.n, long, long.n)
			if p := all.part(); p < .85 {
				t.Errorf("the p90 holds for %.3f", p)
			}
			if p := told.part(); p < .85 || p > .95 {
				t.Errorf("the p90 holds for %.3f of those that are told a wait", p)
			}
		})
	}
}

// share is how many of n are so.
type share struct{ n, are int }

func (s *share) add(is bool) {
	if s.n++; is {
		s.are++
	}
}

func (s share) part() float64  { return float64(s.are) / float64(max(s.n, 1)) }
func (s share) String() string { return fmt.Sprintf("%.3f", s.part()) }
