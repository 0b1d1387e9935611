package place

import (
	"math"
	"strconv"

	"fsub/federation/decision"
)

// Who runs on owned nodes keeps others waiting. That counts where a job could run on rented nodes instead: of N nodes that a queue waits for, an hour on one delays each job
// behind by 1/N hours. So it costs what the waiting of all those jobs is worth by the hour, divided by N: the shadow price of a node-hour, which capacity has in a queue that
// flows. A long queue makes it worth while to rent for short jobs first, and it never pays to rent where nobody else waits but for the job itself.

// mostPressing bounds the jobs that are counted; those behind them do not matter.
const mostPressing = 5000

// In a long queue a job more or less hardly changes the prices: they hold until a twentieth of it has come or gone, or the plan is made again for another reason.
const (
	fewPressing = 250
	pressAgain  = 20
)

// pressure is what the shadow prices were worked out of.
type pressure struct {
	counts bool // nodes are rented, and so waiting for others has a price
	jobs   int  // in the queue
	since  int  // jobs that have come or gone
}

// shifted counts a job that comes or goes, after which the queue has that number of jobs, and reports whether the prices must be worked out again.
func (p *pressure) shifted(jobs int) bool {
	p.since++
	return p.counts && (min(jobs, p.jobs) <= fewPressing || p.since*pressAgain > p.jobs)
}

// press works out the shadow prices of all owned pools from a queue as it stands. It does nothing where nothing is rented.
func (pl *plan) press(queue *jobQueue) {
	pl.pressed = pressure{counts: pl.rents(), jobs: queue.n}
	if !pl.pressed.counts {
		return
	}
	var shapes []*shape
	left := mostPressing
	for q := range queue.all() {
		if left--; left < 0 {
			break
		}
		pl.know(q)
		sh := q.shape
		if sh.pressed != pl.run {
			sh.pressed, sh.press = pl.run, 0
			shapes = append(shapes, sh)
		}
		sh.press++
	}
	for _, st := range pl.sites {
		if st.model != nil {
			st.press = make([]float64, len(st.model.pools))
		}
	}
	for _, sh := range shapes {
		nodes := 0
		for _, c := range sh.candidates {
			nodes += c.ownedNodes()
		}
		if nodes == 0 {
			continue
		}
		for _, c := range sh.candidates {
			if c.ownedNodes() == 0 {
				continue
			}
			for _, p := range c.pools {
				c.site.press[p] += float64(sh.press) * float64(c.waitHour(&pl.policy)) / float64(nodes)
			}
		}
	}
}

// rents reports whether some pool has nodes that are paid for by the hour.
func (ms *members) rents() bool {
	for _, st := range ms.sites {
		if st.model == nil {
			continue
		}
		for p := range st.model.pools {
			if r := st.model.pools[p].Shape.Rented; r != nil && r.PricePerHour > 0 {
				return true
			}
		}
	}
	return false
}

// ownedNodes is how many nodes a candidate may use, 0 if they are rented.
func (c *runPrice) ownedNodes() (n int) {
	if c.parts != nil || c.rented() != nil {
		return 0
	}
	for _, cell := range c.cells {
		n += len(c.site.model.cells[cell].nodes)
	}
	return n
}

// choose notes of a shape's owned candidates whether there are rented ones beside them. What they cost then differs from one job of the shape to the next.
func (sh *shape) choose() {
	rented, owned := false, false
	for _, c := range sh.candidates {
		if c.parts == nil {
			r := c.rented()
			rented = rented || r != nil && r.PricePerHour > 0
		}
	}
	for _, c := range sh.candidates {
		c.choice = rented && c.parts == nil && c.rented() == nil
		owned = owned || c.choice
	}
	sh.choice = owned
}

// othersWait is what the jobs behind lose if a job waits for a candidate's nodes and then runs there; at.nodeHour is what a node-hour costs.
func (c *candidate) othersWait(at *moment, pl *plan) decision.Dollars {
	if at.free || !c.choice || c.site.press == nil {
		return 0
	}
	behind := max(0, 1-float64(pl.looked+1)/float64(pl.pressed.jobs))
	at.nodeHour = decision.Dollars(c.site.press[c.pool] * behind)
	return at.nodeHour * decision.Dollars(c.nodeHours())
}

// nodeHours is for how long a job is expected to hold how much of its nodes.
func (c *runPrice) nodeHours() float64 {
	f := &c.fits[0]
	return float64(f.nodes) * shareOf(&c.site.model.pools[c.pool].Shape, f) * c.run.Hours()
}

// othersDetail is "jobs behind it would wait longer: 0.31 node-hours at $4.20".
func (w wording) othersDetail() string {
	return "jobs behind it would wait longer: " + strconv.FormatFloat(math.Max(w.nodeHours(), 0), 'f', 2, 64) + " node-hours at $" + rateText(float64(w.at.nodeHour))
}
