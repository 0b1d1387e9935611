package place

import (
	"iter"

	"fsub/federation"
)

// Next goes through the jobs of the queue of which the last plan knows when they start: those that hold nodes in time, and those that are to wait at a site
// which others use too. Of a job that stands behind them the plan says nothing but that it is not its turn.
func (w *World) Next() iter.Seq2[*federation.Job, *federation.Offer] {
	return func(yield func(*federation.Job, *federation.Offer) bool) {
		for piece, jobs := range w.planned() {
			w.spread(piece)
			for _, q := range jobs {
				if q.fate == nil || !w.lookedAt(q) || q.fate.kind != waits {
					continue
				}
				o := q.fate.offers.first(&w.plan)
				if o != nil && (q.fate.reason == federation.ReasonResources || o.Foreseen != nil) && o.Wait < w.policy.FarWait && !yield(q.job, o) {
					return
				}
			}
		}
	}
}
