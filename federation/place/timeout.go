package place

import (
	"fmt"
	"math"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/sbatch"
)

// A job that its time limit ends has run for nothing, or for what it has done until its last checkpoint. On slow nodes that happens more often than on fast ones, and the run
// looks cheap there because it is cut short. So where a job is more likely to be ended by its limit than at the best place for it, that is counted:
//
//	timeout = (chance there - chance at the best place) x (price of the work lost + what waiting for it again is worth)
//
// Chances are those of a log-normal distribution with the p50 and p90 that are expected of the job, at the speed of the nodes. A place where the limit is expected to end the
// job, and would not elsewhere, is passed over as long as there is another one. Who says --time-min takes what there is, and is not looked at.

// cut is what the time limit of a job does to it in a pool.
type cut struct {
	chance, best float64 // that it is ended by it; best: at the best place
	loss         decision.Dollars
	vain         bool // it is expected to be ended by its limit here, and not elsewhere
}

// leastCut is a difference that is not looked at.
const leastCut = 0.01

// chanceOfCut is how likely a limit ends a job of which e is expected, on nodes of some speed (0: not said, 1).
func chanceOfCut(e *decision.Expected, speed float64, limit time.Duration) float64 {
	if e == nil || e.P50 <= 0 || limit == sbatch.Unlimited || limit <= 0 {
		return 0
	}
	if speed <= 0 {
		speed = 1
	}
	const p90 = 1.2816 // standard deviations above the median
	spread := max(math.Log(float64(e.P90)/float64(e.P50))/p90, 0.05)
	return math.Erfc(math.Log(limit.Seconds()*speed/e.P50.Seconds())/spread/math.Sqrt2) / 2
}

// mayCut reports whether it matters how likely the time limit ends the jobs of a shape.
func (sh *shape) mayCut() bool {
	return sh.expected != nil && len(sh.like.Spec.Het) == 0 && sh.like.Spec.TimeMin <= 0
}

// cuts fills in what the time limit does at all candidates.
func (sh *shape) cuts(p *Policy) {
	if !sh.mayCut() {
		return
	}
	sh.least, sh.bests = 1, 0
	for _, c := range sh.candidates {
		c.chanceOfCut(sh)
		sh.least = min(sh.least, c.cut.chance)
	}
	for _, c := range sh.candidates {
		if c.loseByCut(sh, p); c.cut.chance == sh.least {
			sh.bests++
		}
	}
}

// chanceOfCut fills in how likely the time limit ends a job there.
func (c *runPrice) chanceOfCut(sh *shape) {
	c.cut = cut{chance: chanceOfCut(sh.expected, c.site.site.Speed[c.gpu], c.limit)}
}

// loseByCut fills in what that costs, beside the best place.
func (c *runPrice) loseByCut(sh *shape, p *Policy) {
	more := c.cut.chance - sh.least
	if c.cut.best = sh.least; more < leastCut || c.run <= 0 {
		return
	}
	lost := c.limit
	if saved := checkpointOf(&sh.like); saved > 0 && saved/2 < lost {
		lost = saved / 2
	} else {
		c.cut.vain = c.cut.chance >= 0.5 && sh.least < 0.5
	}
	c.cut.loss = decision.Dollars(more) * (c.cost*decision.Dollars(lost.Hours()/c.run.Hours()) + c.waitCost(lost, p))
}

// checkpointOf is how often a job says that it writes a checkpoint; 0: it does not say.
func checkpointOf(j *federation.Job) time.Duration {
	if f := j.Spec.Fed; f != nil {
		return f.Checkpoint
	}
	return 0
}

// cutDetail is "its limit of 2.0 h ends it 97 % of the time, 3 % at best".
func (w wording) cutDetail() string {
	return fmt.Sprintf("its limit of %s ends it %.0f %% of the time, %.0f %% at best", spanText(w.limit), 100*w.cut.chance, 100*w.cut.best)
}
