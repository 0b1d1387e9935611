package move

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation/decision"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestBoundsOverRandomHistories: jobs run at places whose prices change at random, some of them before windows. No move costs more than it saves, none comes too soon after another of
// its job, none is one too many of its job or of an hour, and what a job saves by all its moves is more than what they cost.
func TestBoundsOverRandomHistories(t *testing.T) {
	moved := 0
	rapid.Check(t, func(t *rapid.T) {
		r := Default()
		r.Prices = On
		r.PerJob, r.PerHour = rapid.IntRange(1, 4).Draw(t, "per job"), rapid.IntRange(1, 5).Draw(t, "per hour")
		r.Between = time.Duration(rapid.IntRange(1, 180).Draw(t, "between")) * time.Minute
		r.Margin = decision.Dollars(rapid.IntRange(0, 3).Draw(t, "margin"))
		type job struct {
			at    int
			began time.Time
			past  *decision.Moved
			all   []time.Time
			was   map[int]time.Time // when it left a place
		}
		jobs := make([]job, rapid.IntRange(1, 6).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i] = job{began: start, was: map[int]time.Time{}}
		}
		places := []decision.Dollars{1, 1, 1}
		checkpoint := time.Duration(rapid.IntRange(0, 90).Draw(t, "checkpoint")) * time.Minute
		var bounds Bounds
		var all []time.Time
		now := start
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "minutes")) * time.Minute)
			if rapid.Bool().Draw(t, "a price changes") {
				places[rapid.IntRange(0, 2).Draw(t, "place")] = decision.Dollars(rapid.IntRange(1, 40).Draw(t, "price"))
			}
			for i := range jobs {
				j := &jobs[i]
				to := rapid.IntRange(0, 2).Draw(t, "to")
				if to == j.at {
					continue
				}
				run := Run{Ran: now.Sub(j.began), Checkpoint: checkpoint, Copied: -1, Hour: places[j.at], WaitHour: 2}
				rest := decision.Dollars(rapid.IntRange(1, 20).Draw(t, "hours left"))
				there := Elsewhere{Site: fmt.Sprint(to), Wait: time.Minute, Hour: places[to], Rest: rest * places[to]}
				m := &decision.Moved{At: now, Kind: Price, Saves: Cheaper(rest*places[j.at], there.Rest), Costs: run.Costs(&there), Count: 1}
				if rapid.IntRange(0, 4).Draw(t, "a window") == 0 {
					m.Kind, m.Saves = Window, run.Ended(10*time.Minute, time.Hour, 1, &there)
				}
				if !r.Allows(m, j.past, &bounds, now) {
					continue
				}
				if j.past != nil {
					m.Count += j.past.Count
				}
				saves, costs := decision.Sum(m.Saves), decision.Sum(m.Costs)
				if saves <= costs || m.Kind == Price && saves-costs < r.Margin {
					t.Fatalf("it saves %v and costs %v", saves, costs)
				}
				if left, before := j.was[to]; before && now.Sub(left) < r.Between {
					t.Fatalf("it is back at place %d after %s", to, now.Sub(left))
				}
				if n := len(j.all); n >= r.PerJob || n > 0 && now.Sub(j.all[n-1]) < r.Between {
					t.Fatalf("moves at %v, and at %v", j.all, now)
				}
				lately := 0
				for _, at := range all {
					if now.Sub(at) < time.Hour {
						lately++
					}
				}
				if lately >= r.PerHour {
					t.Fatalf("%d moves within an hour", lately+1)
				}
				bounds.Note(now)
				j.was[j.at] = now
				j.all, all = append(j.all, now), append(all, now)
				j.past, j.at, j.began = m, to, now
				moved++
			}
		}
	})
	if moved == 0 {
		t.Error("no job has moved")
	}
}

func TestLost(t *testing.T) {
	for _, c := range []struct {
		name         string
		run          Run
		lost, killed time.Duration
	}{
		{"nothing is known", Run{Ran: 5 * time.Hour, Copied: -1}, 5 * time.Hour, 5*time.Hour + 10*time.Minute},
		{"a checkpoint each hour", Run{Ran: 200 * time.Minute, Checkpoint: time.Hour, Copied: -1}, 20 * time.Minute, 30 * time.Minute},
		{"a signal", Run{Ran: 5 * time.Hour, Grace: time.Minute, Copied: -1}, 0, 5*time.Hour + 10*time.Minute},
		{"a copy", Run{Ran: 5 * time.Hour, Copied: 7 * time.Minute}, 7 * time.Minute, 15 * time.Minute},
		{"a copy that takes too long", Run{Ran: 5 * time.Hour, Grace: time.Minute, Copied: 20 * time.Minute, Save: time.Hour}, 20 * time.Minute, 15 * time.Minute},
		{"it has just begun", Run{Ran: time.Minute, Checkpoint: time.Hour, Copied: -1}, time.Minute, 11 * time.Minute},
	} {
		if got, killed := c.run.Lost(), c.run.LostBy(10*time.Minute); got != c.lost || killed != c.killed {
			t.Errorf("%s: %s and %s are lost, want %s and %s", c.name, got, killed, c.lost, c.killed)
		}
	}
}

func TestOutlives(t *testing.T) {
	e := &decision.Expected{P50: time.Hour, P90: 3 * time.Hour}
	last := 1.
	for ahead := time.Duration(0); ahead < 4*time.Hour; ahead += time.Minute {
		p := Outlives(e, ahead)
		if p > last || p < 0 {
			t.Fatalf("after %s: %v, before that %v", ahead, p, last)
		}
		last = p
	}
	if last != 0 || Outlives(e, time.Hour) != .5 {
		t.Errorf("at last %v, at the p50 %v", last, Outlives(e, time.Hour))
	}
}
