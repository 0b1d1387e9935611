package place

import (
	"slices"

	"fsub/federation"
)

// What an account is guaranteed is its own as soon as it asks for it: its jobs are looked at before those that would borrow, as long as what the account holds
// and the job together stay within the guarantee, and what others have borrowed is given back. Whoever is over his own guarantee may stand within that of an
// account above it: he borrows from his siblings then, but not from others. So jobs within the guarantee of their own account come first, then those within that
// of the next one above, then all others.

// SetGuarantees tells what accounts are guaranteed, and what they hold; nil: nothing.
func (w *World) SetGuarantees(g *federation.Guarantees) {
	old := w.guarantees
	if old == g {
		return
	}
	w.guarantees, w.stale = g, true
	if old != nil && g != nil && old.GuaranteeRules == g.GuaranteeRules {
		return
	}
	w.takeBack()
	var all []*queued
	for q := range w.queue.all() {
		if q.claim = w.claimOf(q.job); q.claim != 0 {
			all = append(all, q)
		}
	}
	w.given.waiting.fill(all)
}

// claimOf is one more than the index of the nearest account with a guarantee, at or above the job's own; 0: there is none.
func (w *World) claimOf(j *federation.Job) int16 {
	if w.guarantees == nil {
		return 0
	}
	return int16(w.guarantees.Of(j) + 1)
}

// guaranteeing is what a World knows of guarantees.
type guaranteeing struct {
	waiting line      // the jobs of the queue whose accounts have guarantees
	first   []*queued // of them, those that the plan has put before all others

	taken []map[string]int64 // by account: what the plan itself has given it, with those below it
	none  map[claimant]bool  // there is nothing for them within a guarantee now
	vain  map[claimant]bool  // nobody's end would help them
}

// claimant stands for jobs that ask for the same on one account.
type claimant struct {
	shape *shape
	claim int16
	above int // how many accounts above the nearest one
}

// maxAbove bounds how many accounts above each other are told apart.
const maxAbove = 64

// lookGuaranteed puts the jobs that are within their guarantees before all others, and looks at them.
func (w *World) lookGuaranteed() {
	if w.guarantees == nil {
		return
	}
	w.takeBack()
	w.given.taken, w.given.none, w.given.vain = make([]map[string]int64, len(w.guarantees.Accounts)), map[claimant]bool{}, map[claimant]bool{}
	type firstJob struct {
		q     *queued
		above int
	}
	var first []firstJob
	for above, more := 0, true; more; above++ {
		more = false
		for q := range w.given.waiting.all() {
			account := w.guarantees.Up(int(q.claim)-1, above)
			if account < 0 || w.full() {
				continue
			}
			if more = true; q.run == int32(w.run) {
				continue
			}
			w.know(q)
			k := claimant{q.shape, q.claim, above}
			if w.given.none[k] {
				continue
			}
			if !w.guaranteed(q, account) {
				w.given.none[k] = true
				continue
			}
			first = append(first, firstJob{q, above})
			if w.lookAt(q) {
				w.took = q
			}
			w.edge = q
			if !q.fate.kind.bound() {
				w.given.none[k] = true // another one would wait, too, but perhaps at a site where it would have to end others' jobs
			}
		}
	}
	for _, p := range first {
		w.given.first = append(w.given.first, p.q)
		w.move(p.q, int32(maxAbove-min(p.above, maxAbove-1)))
	}
}

// takeBack has all jobs stand where they stand by their priorities.
func (w *World) takeBack() {
	for _, q := range w.given.first {
		if q.turn != q.turn.own() && w.queue.pieceOf(q) != nil {
			w.move(q, 0)
		}
	}
	w.given.first = nil
}

// move has a job of the queue stand before all that stand less far before the others; 0: where it stands by its priority.
func (w *World) move(q *queued, first int32) {
	w.queue.remove(q)
	w.given.waiting.remove(q)
	q.turn = q.turn.own()
	q.turn.index |= first << indexBits
	w.queue.add(q)
	w.given.waiting.add(q)
}

// guaranteed reports whether there is a place for the job within the guarantee of an account.
func (w *World) guaranteed(q *queued, account int) bool {
	return slices.ContainsFunc(q.shape.candidates, func(c *candidate) bool { return c.parts == nil && w.covers(account, c) })
}

// takes is how much of a TRES a candidate takes.
func (c *candidate) takes(name string) int64 {
	if name == "gres/gpu" {
		return int64(c.gpus)
	}
	return c.tres[name]
}

// covers reports whether an account is guaranteed what it has and the candidate together. What the account is not guaranteed at all does not count.
func (w *World) covers(account int, c *candidate) bool {
	any := false
	for name, most := range w.guarantees.Accounts[account].TRES {
		n := c.takes(name)
		if n == 0 {
			continue
		}
		if any = true; w.guarantees.Held[account][name]+w.given.taken[account][name]+n > most {
			return false
		}
	}
	return any
}

// hold counts what the plan gives to a job.
func (w *World) hold(q *queued, c *candidate) {
	if q.claim == 0 || c == nil || c.parts != nil {
		return
	}
	for i := int(q.claim) - 1; i >= 0; i = w.guarantees.Accounts[i].Above {
		if w.given.taken[i] == nil {
			w.given.taken[i] = map[string]int64{}
		}
		for name := range w.guarantees.Accounts[i].TRES {
			w.given.taken[i][name] += c.takes(name)
		}
	}
}

// right is what a job may have back of what others have borrowed.
type right struct {
	rules *federation.Guarantees
	c     *candidate
	of    int // the nearest account with a guarantee
	in    int // the account within whose guarantee it is
}

// rightTo returns what a job may have back at a candidate; nil: nothing.
func (w *World) rightTo(q *queued, c *candidate) *right {
	for i := int(q.claim) - 1; i >= 0; i = w.guarantees.Accounts[i].Above {
		if w.covers(i, c) {
			return &right{w.guarantees, c, int(q.claim) - 1, i}
		}
	}
	return nil
}

// back reports whether a running job holds what it has borrowed from the account, and may be ended for that: seen from the account that both stand below, its own
// side is over its guarantees and the other within them.
func (r *right) back(p *preemptible) bool {
	if r == nil || !p.returns || r.rules.Below(p.account, r.in) {
		return false
	}
	for i := p.account; i >= 0 && !r.rules.Below(r.of, i); i = r.rules.Accounts[i].Above {
		kept, lent := false, false
		for name := range r.rules.Accounts[i].TRES {
			if r.c.takes(name) == 0 {
				continue
			}
			kept = true
			lent = lent || r.rules.Lent[i][name][p.job.ID]
		}
		if kept && !lent {
			return false
		}
	}
	return true
}
