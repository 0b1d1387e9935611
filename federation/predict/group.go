package predict

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	kept       = 128         // ended runs that a group remembers
	keptLive   = 48          // runs that go on which it knows of, the newest
	keptApart  = 64          // ended runs that it remembers beside those, which ended at different times
	apart      = 3 * 60 * 60 // seconds between the ends of two of them at least
	apartShare = 0.2         // what such a run counts for the p90, where one of the latest counts one
	medianMass = 2           // half of the weight goes to a group with so many runs; for the p50
	medianHalf = 10          // runs after which one counts half
	highMass   = 30          // for the p90
	highHalf   = 30
	// high is the level that the p90 is read at: what runs now is like what ended lately, but not quite.
	high = 0.925
	// strange is the share of the weight of the p50 that must be left for the time limit, for that to have a say in the p90: up to three runs are known.
	strange = 0.35
	// top is the share of all runs within the longest that are reckoned with where nothing else bounds a run.
	top = 0.95
)

// group is what jobs that are alike did lately.
type group struct {
	ended []past // a ring
	next  int    // where the next one goes
	// apart are runs that ended at different times, oldest first. A batch of jobs that all fail in their first seconds takes the whole of the ring;
	// these still know how long such jobs ran before.
	apart []past
	live  []past // that go on: how long they have lasted so far, newest first
	used  uint64 // when it was last written, in runs
}

// past is when a run began, in seconds since 1970, and how many it lasted: less than 0 of one that was cut short.
type past struct {
	start   uint32
	seconds float32
}

// end is when it ended, were it on a node of speed 1.
func (r past) end() int64 { return int64(r.start) + int64(r.lasted()) }

func (r past) lasted() float64 { return math.Abs(float64(r.seconds)) }

func (r past) cut() bool { return r.seconds < 0 }

// count is how many runs that came to their end are known.
func (g *group) count() (n int) {
	for _, r := range g.ended {
		if !r.cut() {
			n++
		}
	}
	return n
}

func (g *group) add(r past) {
	if n := len(g.apart); n == 0 || max(r.end()-g.apart[n-1].end(), g.apart[n-1].end()-r.end()) >= apart {
		if n == keptApart {
			g.apart = slices.Delete(g.apart, 0, 1)
		}
		g.apart = append(g.apart, r)
	}
	if len(g.ended) < kept {
		g.ended = append(g.ended, r)
		return
	}
	g.ended[g.next] = r
	g.next = (g.next + 1) % kept
}

// sample is a run, or one that goes on and will last longer than that.
type sample struct {
	seconds, weight float64
	longer          bool
}

var (
	medianWeights = weights(medianHalf)
	highWeights   = weights(highHalf)
)

func weights(half float64) (w [kept]float64) {
	for i := range w {
		w[i] = math.Exp2(-float64(i) / half)
	}
	return w
}

// gather appends the runs of a group to those of narrower ones, which have left it some of the weight, and returns what it leaves. With far, those that go on and
// those that ended at different times count as well.
func (g *group) gather(all []sample, left, mass float64, w *[kept]float64, far bool) ([]sample, float64) {
	from, n := len(all), 0.0
	add := func(weight float64, r past, longer bool) {
		all = append(all, sample{r.lasted(), weight, longer || r.cut()})
		n += weight
	}
	for i := range g.ended {
		add(w[i], g.ended[(g.next+2*len(g.ended)-1-i)%len(g.ended)], false)
	}
	if far {
		for i, r := range g.live {
			newer := 0 // runs that have begun since
			for _, e := range g.ended {
				if e.start > r.start {
					newer++
				}
			}
			add(w[min(max(i, newer), kept-1)], r, true)
		}
		for i, r := range slices.Backward(g.apart) {
			add(apartShare*w[len(g.apart)-1-i], r, false)
		}
	}
	if n == 0 {
		return all, left
	}
	mine := left * n / (n + mass)
	for i := from; i < len(all); i++ {
		all[i].weight *= mine / n
	}
	return all, left - mine
}

// quantile is the time that a share of the runs does not pass. found is false if it is longer than any run that has ended.
func quantile(all []sample, share float64) (seconds float64, found bool) {
	slices.SortFunc(all, func(a, b sample) int {
		if c := cmp.Compare(a.seconds, b.seconds); c != 0 || a.longer == b.longer {
			return c
		}
		if a.longer {
			return 1
		}
		return -1
	})
	risk := 0.0
	for _, s := range all {
		risk += s.weight
	}
	alive := 1.0
	for _, s := range all {
		if !s.longer && risk > 0 {
			alive *= max(0, 1-s.weight/risk)
			if alive <= 1-share+1e-9 {
				return s.seconds, true
			}
		}
		risk -= s.weight
	}
	if len(all) == 0 {
		return 0, false
	}
	return all[len(all)-1].seconds, false
}

func span(seconds float64) time.Duration {
	return time.Duration(min(seconds, math.MaxInt64/float64(2*time.Second)) * float64(time.Second))
}
