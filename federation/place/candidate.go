package place

import (
	"strings"
	"time"

	"fsub/accounting"
	"fsub/accounting/power"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/topology"
)

// placement is what a job takes in a pool and costs there by the hour: all that does not depend on its time limit. Candidates of several
// shapes share it.
type placement struct {
	site *siteState
	ask  *ask
	as   string // see variant
	group
	pool     int        // the first of the group: for what all of them share
	name     string     // "main/h100", "main/h100+a100"
	cells    []int32    // of the group
	numbers  []numbered // one for each of fits
	gpus     int
	gpu      string // type of the GPUs
	tie      uint64
	tres     accounting.TRES
	rate     accounting.Rate
	traffic  topology.Traffic
	ideal    []topology.Span // of each of fits: see model.ideal
	wasteful bool            // nodes with GPUs for a job without: last among equals
}

// runPrice is what a run of a shape's jobs costs in a pool, whenever it starts.
type runPrice struct {
	*placement
	// Of a heterogeneous job; fits is empty then, see het.go.
	parts   components
	urgency float64 // how many times the usual price its waiting has

	limit time.Duration    // sbatch.Unlimited or what the job may run here
	run   time.Duration    // expected
	cost  decision.Dollars // of that
	risk  decision.Dollars // see rented.go
	power power.Use        // see power.go
	data  data             // see data.go
	fixed decision.Dollars // all four together: what it costs whenever it starts
	tries decision.Dollars // see availability.go
	saved time.Duration    // how often the job says that it writes a checkpoint; 0: it does not say
	cut   cut              // see timeout.go
}

// candidate is a pool that can run the jobs of a shape, with the part of its price that does not depend on when. It is right for one version of its site, and is made again with the next. What
// depends on the shape's other candidates (cut, choice) is filled in when all are known; what a plan finds out (curs, and what later says) holds for that plan.
type candidate struct {
	runPrice
	version int      // of the site when it judged
	curs    []cursor // one for each of fits

	choice bool // the nodes are owned, and the job could run on rented ones; see shadowprice.go
	due    due

	most []federation.Money // what it may cost of each of the partition's allowances; nil: there are none

	// What later found out, and when: it holds until another job claims nodes of the site.
	asked    int // epoch of the site's estimates; 0: nothing yet
	claims   int // theirs
	start    int64
	startFit int
	spots    []spot // where, for a heterogeneous job

	queue *queueThere // see shared.go; nil: no waits are predicted there

	offered *decision.Offer // the last one, and what it was made for
	made    offerKey
}

// offerKey holds what an offer depends on in a moment.
type offerKey struct {
	run, fit, booting int32
	free              bool
	start, longest    int64
	span              topology.Span
	total             decision.Dollars
}

func (ms *members) newPlacement(v variant, st *siteState, g group) *placement {
	s := &placement{site: st, ask: v.ask, as: v.as, group: g, pool: g.pools[0], numbers: make([]numbered, len(g.fits))}
	for i, p := range g.pools {
		s.cells = append(s.cells, st.model.cellsOf[p]...)
		name := st.model.pools[p].Name
		if i > 0 {
			_, name, _ = strings.Cut(name, "/")
			name = "+" + name
		}
		s.name += name
	}
	s.tie = st.tie(s.pool, ms.seed)
	s.count(st)
	s.traffic = s.ask.traffic(s.gpus)
	s.ideal = make([]topology.Span, len(g.fits))
	for i := range g.fits {
		s.ideal[i] = st.model.ideal(&g, &g.fits[i])
	}
	s.wasteful = s.gpus == 0 && len(st.model.cells[s.cells[0]].gpus) > 0
	return s
}

func (ms *members) newCandidate(s *placement, st *siteState, sh *shape) *candidate {
	c := &candidate{runPrice: runPrice{placement: s, urgency: ms.policy.urgency(sh.like.Needs().QOS)}, version: st.version,
		curs: make([]cursor, len(s.fits)), due: dueOf(&sh.like)}
	for i := range s.fits {
		c.curs[i].cells = s.cells
	}
	c.price(sh, &ms.policy)
	c.queue, c.saved = queueAt(s, c.limit, &sh.like), checkpointOf(&sh.like)
	c.priceRisk(&ms.policy)
	c.pricePower(ms.clock)
	c.priceData(ms, sh)
	c.priceResults(ms, sh)
	c.priceSaves(ms, sh)
	c.priceTries(&ms.policy)
	return c
}

// moment is when a candidate could run a job, as the plan stands.
type moment struct {
	start int64 // Unix seconds; never if nothing says when
	fit   int   // which of the candidate's fits
	nodes []int32
	free  bool // the job can start now
	wait  time.Duration
	boot  boot
	span  topology.Span    // of the nodes
	slow  decision.Dollars // what that costs
	late  decision.Dollars // see due
	// others is what jobs behind lose, and nodeHour what they do by an hour of a node; see shadowprice.go.
	others, nodeHour decision.Dollars
	total            decision.Dollars
	spots            []spot // of the components, for a heterogeneous job
}

// now reports whether the job can start at once.
func (at *moment) now() bool { return at.free }

// moment works out when a candidate could run a job, and what that costs.
func (c *candidate) moment(pl *plan) moment {
	if c.parts != nil {
		return c.together(pl)
	}
	free := c.site.capacity()
	at := moment{start: never}
	if !c.borne() {
		c.weigh(&at, pl)
		return at
	}
	for i := range c.fits {
		key := c.key(free, i)
		if free.estimates.full(free.estimates.of(key)) || c.queue.turnedAway(i) {
			continue
		}
		nodes := free.startNow(&c.curs[i], &c.fits[i], endAt(pl.now, c.limit))
		if nodes == nil {
			free.estimates.fill(key)
			continue
		}
		if at.now() {
			if other := c.startsAt(pl, i, nodes); other.total < at.total {
				at = other
			}
			continue
		}
		at = c.startsAt(pl, i, nodes)
		if at.slow == 0 {
			break
		}
	}
	if !at.now() {
		at.start, at.fit = c.later(free)
		at.span = c.ideal[at.fit]
		c.weigh(&at, pl)
	}
	return at
}

// startsAt is a moment that is now, on some nodes.
func (c *candidate) startsAt(pl *plan, fit int, nodes []int32) (at moment) {
	at.start, at.fit, at.nodes, at.free, at.boot = pl.now, fit, nodes, true, c.bootOn(nodes)
	if c.fits[fit].nodes > 1 {
		at.span = c.curs[fit].span
	}
	c.weigh(&at, pl)
	return at
}

// numbered is the number of a need where it was numbered last.
type numbered struct {
	in   *fitNumbers
	need int32
}

// key tells one of the candidate's fits apart from other needs at its site.
func (s *placement) key(free *capacity, i int) needKey {
	n := &s.numbers[i]
	if in := free.estimates.numbers; n.in != in {
		n.in, n.need = in, in.of(keyOf(s.pool, len(s.pools), &s.fits[i]))
	}
	return needKey{need: n.need}
}

// later is when a candidate that is full now could run a job, and with which of its fits.
func (c *candidate) later(free *capacity) (start int64, fit int) {
	if c.asked == free.estimates.epoch && c.claims == free.estimates.claims {
		return c.start, c.startFit
	}
	start = never
	for i := range c.fits {
		if t := free.estimate(&c.curs[i], &c.fits[i], c.key(free, i), c.limit); t < start {
			start, fit = t, i
		}
	}
	c.asked, c.claims, c.start, c.startFit = free.estimates.epoch, free.estimates.claims, start, fit
	return start, fit
}

// commit starts a job at a candidate.
func (c *candidate) commit(at *moment, pl *plan) {
	if c.parts != nil {
		c.commitParts(at, pl)
		return
	}
	free, f, end := c.site.capacity(), &c.fits[at.fit], endAt(pl.now, c.limit)
	for _, n := range at.nodes {
		free.place(n, f, end)
	}
	if f.alone && free.m.wiring.on(f).tree {
		free.fillLeaves(at.nodes, f, end)
	}
	pl.started(&spot{c, at.fit, at.nodes})
	c.pay(pl.clock)
}
