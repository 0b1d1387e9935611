package idle

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// phase is a part of a job's life: how busy its GPUs are, and for how long.
type phase struct {
	lasts    time.Duration
	from, to float64 // percent
}

// trace makes the phases of one job.
type trace func(r *rand.Rand) []phase

func minutes(r *rand.Rand, from, to int) time.Duration {
	return time.Duration(float64(from)*60+r.Float64()*float64(to-from)*60) * time.Second
}

// repeat has phases come again for about so many hours.
func repeat(r *rand.Rand, hours int, one func() []phase) (all []phase) {
	for left := minutes(r, hours*30, hours*90); left > 0; {
		for _, p := range one() {
			all = append(all, p)
			left -= p.lasts
		}
	}
	return all
}

// ordinary are jobs that do their work, with the phases in which GPUs have nothing to do: environments that are unpacked and compiled, data that is loaded,
// evaluation on CPUs, checkpoints, a queue that is empty for a while, people who think.
var ordinary = map[string]trace{
	"training": func(r *rand.Rand) []phase {
		start := []phase{{minutes(r, 1, 15), 0, 0}, {minutes(r, 0, 35), 0, 3}} // the container, torch.compile and kernels
		return append(start, repeat(r, 10, func() []phase {
			return []phase{{minutes(r, 20, 180), 55, 99}, {minutes(r, 1, 12), 0, 2}, {minutes(r, 0, 20), 0, 30}} // an epoch, a checkpoint, an evaluation
		})...)
	},
	"data loading": func(r *rand.Rand) []phase {
		return append([]phase{{minutes(r, 5, 50), 0, 1}}, repeat(r, 6, func() []phase {
			return []phase{{minutes(r, 1, 6), 2, 40}, {minutes(r, 0, 4), 0, 0}}
		})...)
	},
	"evaluation on CPUs": func(r *rand.Rand) []phase {
		return repeat(r, 8, func() []phase { return []phase{{minutes(r, 10, 40), 60, 95}, {minutes(r, 10, 45), 0, 1}} })
	},
	"compile, then run": func(r *rand.Rand) []phase {
		return []phase{{minutes(r, 15, 55), 0, 0}, {minutes(r, 30, 300), 40, 99}}
	},
	"inference": func(r *rand.Rand) []phase {
		return repeat(r, 12, func() []phase { return []phase{{minutes(r, 1, 5), 3, 60}, {minutes(r, 0, 25), 0, 4}} })
	},
	"notebook in use": func(r *rand.Rand) []phase {
		return repeat(r, 5, func() []phase { return []phase{{minutes(r, 0, 3) + time.Minute, 10, 90}, {minutes(r, 1, 40), 0, 0}} })
	},
	"simulation": func(r *rand.Rand) []phase { return []phase{{minutes(r, 60, 900), 20, 99}} },
	"short":      func(r *rand.Rand) []phase { return []phase{{minutes(r, 1, 50), 0, 99}} },
}

// idlers are jobs that hold GPUs and leave them idle for two hours or more.
var idlers = map[string]trace{
	"sleep": func(r *rand.Rand) []phase { return []phase{{minutes(r, 150, 900), 0, 0}} },
	"notebook left open": func(r *rand.Rand) []phase {
		return []phase{{minutes(r, 20, 90), 0, 80}, {minutes(r, 130, 600), 0, 0}}
	},
	"crashed, script waits": func(r *rand.Rand) []phase {
		return []phase{{minutes(r, 5, 200), 50, 99}, {minutes(r, 130, 700), 0, 0}}
	},
	"on the CPUs only": func(r *rand.Rand) []phase { return []phase{{minutes(r, 150, 600), 0, 0.5}} },
}

// watchTrace plays a job as its agent measures it: a look at each ten seconds, an average a minute. Now and then readings are lost.
func watchTrace(r *rand.Rand, lasts time.Duration, phases []phase, lost float64) *follow {
	f := &follow{rule: Default()}
	f.rule.For = lasts
	at, sum, n := day0, 0.0, 0
	level := 0.0
	for _, p := range phases {
		for left := p.lasts; left > 0; left -= 10 * time.Second {
			if n%3 == 0 { // it changes every half minute
				level = p.from + r.Float64()*(p.to-p.from)
			}
			at = at.Add(10 * time.Second)
			sum, n = sum+level, n+1
			if n < 6 {
				continue
			}
			if r.Float64() >= lost {
				f.see(gpus(at, sum/float64(n)))
			} else if r.IntN(4) == 0 { // the daemon was away
				at = at.Add(minutes(r, 1, 20))
			}
			sum, n = 0, 0
		}
	}
	return f
}

// play has so many jobs of each kind followed by the rule with some time of its own, and counts those that somebody was told of.
func play(kinds map[string]trace, each int, lasts time.Duration, lost float64) (jobs, told int) {
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		r := rand.New(rand.NewPCG(31, uint64(len(name))))
		for range each {
			jobs++
			if f := watchTrace(r, lasts, kinds[name](r), lost); len(f.told) > 0 {
				told++
			}
		}
	}
	return jobs, told
}

// On a day of 10,000 ordinary jobs nobody is told, and those who leave GPUs idle for two hours are found; also where one reading in a hundred is lost, and the
// daemon is away now and then. With a shorter time there would be false alarms.
func TestDay(t *testing.T) {
	for _, lost := range []float64{0, 0.01} {
		jobs, falsely := play(ordinary, 1250, time.Hour, lost)
		idle, found := play(idlers, 500, time.Hour, lost)
		t.Logf("%g %% of the readings lost: %d ordinary jobs, %d false alarms; %d idle jobs, %d found", 100*lost, jobs, falsely, idle, found)
		if falsely > 0 {
			t.Errorf("%d false alarms", falsely)
		}
		if found < idle*99/100 || lost == 0 && found < idle {
			t.Errorf("%d of %d idle jobs were found", found, idle)
		}
	}
	few := 0
	for _, lasts := range []time.Duration{15 * time.Minute, 30 * time.Minute, 45 * time.Minute} {
		jobs, falsely := play(ordinary, 100, lasts, 0)
		t.Logf("after %s: %d of %d ordinary jobs would be false alarms", lasts, falsely, jobs)
		few += falsely
	}
	if few == 0 {
		t.Error("the ordinary jobs have no phases that could be mistaken: this shows nothing")
	}
}
