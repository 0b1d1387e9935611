package place

import (
	"math"
	"testing"
	"time"

	"fsub/federation/decision"
	"fsub/sbatch"
)

// Slow nodes are cheap, and some jobs would be ended there by their limits.
func TestLimitOnSlowNodes(t *testing.T) {
	const slowAndFast = "site slow\nprice gres/gpu:t4=0.10\nspeed t4=0.25\npartition main default nodes=s1\nnodes s1 cpus=16 mem=64000 gpu=t4:4\n" +
		"site fast\nprice gres/gpu:h100=4\nspeed h100=2\npartition main default nodes=f1\nnodes f1 cpus=16 mem=64000 gpu=h100:4\n"
	for name, c := range map[string]struct {
		more     string // of the world
		options  string
		p50, p90 time.Duration
		want     string
		timeout  string // detail of the slow offer's term, "": it has none
		amount   float64
	}{
		"time enough":          {"", "-t12h", time.Hour, 90 * time.Minute, "slow", "", 0},
		"it would be ended":    {"", "-t2h", 2 * time.Hour, 3 * time.Hour, "fast", "its limit of 2.0 h ends it 100 % of the time, 1 % at best", 3.74},
		"even if others wait":  {"running f1 cpus=16 gpu=h100:4 end=30h\n", "-t2h", 2 * time.Hour, 3 * time.Hour, "fast", "its limit of 2.0 h ends it 100 % of the time, 1 % at best", 3.74},
		"it saves its work":    {"", "-t2h --checkpoint=10m", 2 * time.Hour, 3 * time.Hour, "slow", "its limit of 2.0 h ends it 100 % of the time, 1 % at best", 0.16},
		"sometimes":            {"", "-t8h", time.Hour, 4 * time.Hour, "fast", "its limit of 8.0 h ends it 26 % of the time, 1 % at best", 3.89},
		"it takes what is":     {"", "-t2h --time-min=1h", 2 * time.Hour, 3 * time.Hour, "slow", "", 0},
		"nothing known":        {"", "-t2h", 0, 0, "slow", "", 0},
		"it ends everywhere":   {"", "-t10m", 100 * time.Hour, 110 * time.Hour, "slow", "", 0},
		"no limit, but theirs": {"site short\nprice gres/gpu:v100=0.01\npartition main default nodes=v1 max=1h\nnodes v1 cpus=16 mem=64000 gpu=v100:4\n", "--sites=short,fast", 2 * time.Hour, 3 * time.Hour, "fast", "", 0},
	} {
		w := newWorld()
		w.read(t, slowAndFast+c.more)
		j := w.job(t, split("1 --gres=gpu:1 "+c.options))
		s := w.snapshot()
		world := newWorldOf(&s, Policy{})
		waiting := Waiting{Job: j}
		if c.p50 > 0 {
			waiting.Expected = &decision.Expected{P50: c.p50, P90: c.p90}
		}
		world.SetJob(waiting)
		d := world.Plan().Decisions[0]
		if got := string(d.Offers[0].Site); got != c.want {
			t.Errorf("%s: it goes to %s: %s", name, got, Explain(j, d))
		}
		timeout := decision.Term{}
		for _, o := range d.Offers {
			for _, term := range o.Terms {
				if o.Site == "slow" && term.Name == "timeout" {
					timeout = term
				}
			}
		}
		if timeout.Detail != c.timeout || math.Abs(float64(timeout.Amount)-c.amount) > 0.01 {
			t.Errorf("%s: timeout %.2f (%s), want %.2f (%s)", name, float64(timeout.Amount), timeout.Detail, c.amount, c.timeout)
		}
	}
}

// The chance falls with the limit and the speed, is a half at the p50 and a tenth at the p90.
func TestChanceOfCut(t *testing.T) {
	e := &decision.Expected{P50: time.Hour, P90: 5 * time.Hour}
	for _, c := range []struct {
		speed float64
		limit time.Duration
		want  float64
	}{{1, time.Hour, .5}, {1, 5 * time.Hour, .1}, {0, 5 * time.Hour, .1}, {2, 150 * time.Minute, .1}, {.5, 2 * time.Hour, .5}, {1, sbatch.Unlimited, 0}, {1, time.Second, 1}} {
		if got := chanceOfCut(e, c.speed, c.limit); math.Abs(got-c.want) > 1e-3 {
			t.Errorf("speed %v, limit %v: %v, want %v", c.speed, c.limit, got, c.want)
		}
	}
	if got := chanceOfCut(&decision.Expected{P50: time.Hour, P90: time.Hour}, 1, 2*time.Hour); got > 1e-9 {
		t.Errorf("of a job that always runs for an hour: %v", got)
	}
}

// What a job loses when a spot machine is taken back is what it has done since its last checkpoint, half an interval, if it says how often it writes one.
func TestRiskByCheckpoint(t *testing.T) {
	risk := func(options string) float64 {
		w := newWorld()
		w.read(t, "site tau\npartition main default nodes=t1\nnodes t1 cpus=16 mem=64000 gpu=h100:4 rent=p5/z1/spot@8 interrupts=0.1 boot=1m")
		j := w.job(t, split("1 -N1 --gres=gpu:4 -t20h "+options))
		s := w.snapshot()
		world := newWorldOf(&s, Policy{})
		world.SetJob(Waiting{Job: j})
		for _, term := range world.Plan().Decisions[0].Offers[0].Terms {
			if term.Name == "risk" {
				return float64(term.Amount)
			}
		}
		return 0
	}
	half, plain, long := risk("--checkpoint=30m"), risk(""), risk("--checkpoint=4h")
	if plain <= 0 || math.Abs(half-plain/2) > 1e-9 || math.Abs(long-plain*4) > 1e-9 {
		t.Errorf("risk %v, with a checkpoint each half hour %v, each four hours %v", plain, half, long)
	}
}

// What a limit does to a job is compared with the best place, which may become better or worse, or another one.
func TestCutWhereSpeedsChange(t *testing.T) {
	w := newWorld()
	for _, name := range []string{"a", "b", "c"} {
		w.read(t, "site "+name+"\nprice gres/gpu:h100=1\npartition main default nodes="+name+"1\nnodes "+name+"1 cpus=16 mem=64000 gpu=h100:4\n")
	}
	waiting := Waiting{Job: w.job(t, split("1 --gres=gpu:1 -t2h")), Expected: &decision.Expected{P50: 100 * time.Minute, P90: 3 * time.Hour}}
	s := w.snapshot()
	world := newWorldOf(&s, Policy{})
	world.SetJob(waiting)
	for i, speed := range []float64{0.5, 0.5, 0.5, 2, 4, 1, 4, 0.5, 8} {
		site := *w.sites[i%3]
		site.Speed = map[string]float64{"h100": speed}
		w.sites[i%3] = &site
		world.SetSite(&site)
		s := w.snapshot()
		anew := newWorldOf(&s, Policy{})
		anew.SetJob(waiting)
		if got, want := Explain(waiting.Job, world.Plan().Decisions[0]), Explain(waiting.Job, anew.Plan().Decisions[0]); got != want {
			t.Fatalf("step %d: the plan is\n%s\na new World says\n%s", i, got, want)
		}
	}
}
