package place

import (
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

// relocation is how long it takes to prove that a job has not started at one site, and to have it at another.
const relocation = 30 * time.Second

// Better is a place where a job that waits at a site would start sooner.
type Better struct {
	Site  federation.SiteName
	P90   time.Duration    // until it would start there, in nine of ten cases
	Saves decision.Dollars // what it would cost less there, if it took so long
}

// Better returns the place that saves most for a job which waits in a partition of a site, where it is predicted to wait for left; nil if there is none. A
// place is better if the p90 of the start there comes before the p50 here: moving costs the job its age, so it moves only where that is sure. Nodes that the plan
// gives to others are not free, nor are those promised to jobs that were asked about before.
func (w *World) Better(j Waiting, at federation.SiteName, partition string, left *decision.Foreseen) *Better {
	w.settle()
	w.look(j.Job)
	sh := w.shapeOfJob(j.Job, j.Expected, j.Refused)
	w.at = looking{}
	here := sh.cheapestIn(at, partition)
	if here == nil || here.parts != nil {
		return nil
	}
	stays := here.fixed + here.waitCost(left.P50, &w.policy)
	var best *Better
	var to *candidate
	var then moment
	for _, c := range sh.candidates {
		if c.site == here.site {
			continue
		}
		m := c.moment(&w.plan)
		p90 := relocation + m.boot.span()
		switch f := c.queue.foreseen(); {
		case m.free:
		case f != nil:
			p90 += max(c.site.behind(f.P90), c.queue.foreseenAt(&m, w.now).P90)
		case m.start == never:
			continue
		default: // by the limits of what runs there
			p90 += m.wait
		}
		saves := stays - (m.total - m.others - c.waitCost(m.wait, &w.policy) + c.waitCost(p90, &w.policy))
		if p90 < left.P50 && saves > w.policy.MoveMargin && (best == nil || saves > best.Saves) {
			best, to, then = &Better{c.site.site.Name, p90, saves}, c, m
		}
	}
	if best != nil {
		w.progress.stale = true
		w.take(to, &then, j.Job)
	}
	return best
}

// take holds for a job that moves what it is to get, so that the next one does not count with it. The next plan starts over.
func (pl *plan) take(c *candidate, at *moment, job *federation.Job) {
	if at.free {
		c.commit(at, pl)
		return
	}
	pl.reserve(c)
	if c.shared() {
		c.queueUp(job)
	}
}

// cheapestIn is the first candidate in a partition of a site, nil if there is none.
func (sh *shape) cheapestIn(site federation.SiteName, partition string) *candidate {
	for _, c := range sh.candidates {
		if c.site.site.Name == site && (partition == "" || c.parts != nil || c.site.model.pools[c.pool].Partition == partition) {
			return c
		}
	}
	return nil
}
