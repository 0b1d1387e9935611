package place

import (
	"iter"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// Next goes through the jobs of the queue of which the plan knows when they start: those that hold nodes in time, and those that are to wait at a site
// which others use too. Of a job that stands behind them the plan says nothing but that it is not its turn.
func (w *World) Next() iter.Seq2[*federation.Job, *decision.Offer] {
	return func(yield func(*federation.Job, *decision.Offer) bool) {
		w.settle()
		for chunk, jobs := range w.progress.planned() {
			w.spread(chunk)
			for _, q := range jobs {
				if q.fate == nil || !w.progress.lookedAt(q) || q.fate.kind != waits {
					continue
				}
				o := q.fate.offers.first(&w.plan)
				if o != nil && (q.fate.reason != reasons.Priority || o.Foreseen != nil) && o.Wait < w.policy.FarWait && !yield(q.job, o) {
					return
				}
			}
		}
	}
}

// heldPlace is where a gang holds nodes in time.
type heldPlace struct {
	q     *queued
	at    *candidate
	start int64
	nodes []int32
}

// Place is what the plan keeps for a gang that waits in the federation's queue: nodes of one site, from when they are free by the time limits of what holds them.
type Place struct {
	Job   federation.JobID
	Site  federation.SiteName
	Nodes []string
	Start time.Time
	Limit time.Duration // that the job has there, or its longest component; or sbatch.Unlimited
	// Shared: jobs of others wait for such nodes there.
	Shared bool
}

// Places goes through what the plan of a World keeps for gangs, the first ones of the queue first: jobs of several nodes, heterogeneous ones with those of all components.
func Places(w *World) iter.Seq[Place] {
	return func(yield func(Place) bool) {
		w.settle()
		for _, h := range w.places {
			m := h.at.site.model
			if h.q.fate == nil || h.q.fate.kind != waits || !w.progress.lookedAt(h.q) || m == nil || h.at.version != h.at.site.version {
				continue
			}
			p := Place{Job: h.q.job.ID, Site: h.at.site.site.Name, Start: time.Unix(h.start, 0).UTC(), Limit: h.at.longest(), Shared: h.at.shared()}
			for _, n := range h.nodes {
				p.Nodes = append(p.Nodes, m.obs.Nodes[n].Name)
			}
			if !yield(p) {
				return
			}
		}
	}
}

// Quote is what a job would be offered that comes to the end of the queue; nil: no pool can run it now.
func (w *World) Quote(j Waiting) *decision.Offer {
	w.settle()
	w.look(j.Job)
	best, at := w.best(w.shapeOfJob(j.Job, j.Expected, j.Refused))
	w.at = looking{}
	if best == nil || at.start == never && best.queue.foreseen() == nil {
		return nil
	}
	return best.offer(&at, &w.plan)
}

// heldStart is when a job that waits at a site can start.
type heldStart struct {
	job federation.JobID
	at  int64
}

// Held goes through the jobs that wait at a site, and the times before which their nodes are not free, by the time limits of what holds them. A job of which nothing
// says when is not among them, nor one whose nodes seem to be free.
func (w *World) Held(site federation.SiteName) iter.Seq2[federation.JobID, time.Time] {
	return func(yield func(federation.JobID, time.Time) bool) {
		w.settle()
		if st := w.site(site); st != nil {
			for _, s := range st.starts {
				if !yield(s.job, time.Unix(s.at, 0).UTC()) {
					return
				}
			}
		}
	}
}
