package place

import (
	"slices"

	"fsub/federation"
)

// What an account is guaranteed is its own as soon as it asks for it: its jobs are looked at before those that would borrow, as long as what the account holds
// and the job together stay within the guarantee, and what others have borrowed is given back. An account that is over its guarantee may be within that of an
// account above it: it borrows from its siblings then, but not from others. So jobs within the guarantee of their own account come first, then those within that
// of the next one above, then all others.

// SetGuarantees tells what accounts are guaranteed, and what they hold; nil: nothing.
func (w *World) SetGuarantees(g *federation.Guarantees) {
	if w.guarantees.of != g {
		w.guarantees.set(g)
		w.progress.stale = true
	}
}

// guarantees judge which jobs of a queue are within what their accounts are guaranteed, and count what a plan gives them of it.
type guarantees struct {
	of    *federation.Guarantees // nil: there are none
	queue *jobQueue

	waiting jobQueue  // the jobs of the queue whose accounts have guarantees
	first   []*queued // of them, those that the plan has put before all others

	taken []map[string]int64 // by account: what the plan itself has given it, with those below it
	none  map[claimant]bool  // there is nothing for them within a guarantee now
	vain  map[claimant]bool  // nobody's end would help them
}

// planner is what they need of the progress of a plan.
type planner interface {
	full() bool       // the plan is about as many jobs as it may be
	know(*queued)     // finds out where a job can run at all
	lookNext(*queued) // decides about a job behind those that the plan is about
}

func (g *guarantees) set(of *federation.Guarantees) {
	old := g.of
	g.of = of
	if old != nil && of != nil && old.GuaranteeRules == of.GuaranteeRules {
		return
	}
	g.takeBack()
	var all []*queued
	for q := range g.queue.some() {
		if q.claim = g.claimOf(q.job); q.claim != 0 {
			all = append(all, q)
		}
	}
	g.waiting.fill(all)
}

// accountOf is the index of the nearest account with a guarantee, at or above the job's own; -1: there is none.
func (g *guarantees) accountOf(j *federation.Job) int {
	if g.of == nil {
		return -1
	}
	return g.of.Of(j)
}

// claimOf is one more than that, as the queue has it.
func (g *guarantees) claimOf(j *federation.Job) int16 { return int16(g.accountOf(j) + 1) }

// add and remove keep the jobs of the queue whose accounts have guarantees.
func (g *guarantees) add(q *queued) {
	if q.claim != 0 {
		g.waiting.add(q)
	}
}

func (g *guarantees) remove(q *queued) {
	if q.claim != 0 {
		g.waiting.remove(q)
	}
}

// reorder takes in that the turns of all jobs of the queue have changed.
func (g *guarantees) reorder() {
	g.waiting.sort()
	g.first = nil
}

// claimant stands for jobs that ask for the same on one account.
type claimant struct {
	shape *shape
	claim int16
	above int // how many accounts above the nearest one
}

// maxAbove bounds how many accounts above each other are told apart.
const maxAbove = 64

// look has a plan, of that number, look at the jobs that are within their guarantees before all others.
func (g *guarantees) look(w planner, run int32) {
	if g.of == nil {
		return
	}
	g.takeBack()
	g.taken, g.none, g.vain = make([]map[string]int64, len(g.of.Accounts)), map[claimant]bool{}, map[claimant]bool{}
	type firstJob struct {
		q     *queued
		above int
	}
	var first []firstJob
	for above, more := 0, true; more; above++ {
		more = false
		for q := range g.waiting.all() {
			account := g.of.Up(int(q.claim)-1, above)
			if account < 0 || w.full() {
				continue
			}
			if more = true; q.run == run {
				continue
			}
			w.know(q)
			k := claimant{q.shape, q.claim, above}
			if g.none[k] {
				continue
			}
			if !g.within(q, account) {
				g.none[k] = true
				continue
			}
			first = append(first, firstJob{q, above})
			w.lookNext(q)
			if !q.fate.kind.bound() {
				g.none[k] = true // another one would wait, too, but perhaps at a site where it would have to end others' jobs
			}
		}
	}
	for _, p := range first {
		g.first = append(g.first, p.q)
		g.move(p.q, int32(maxAbove-min(p.above, maxAbove-1)))
	}
}

// takeBack puts all jobs back where they stand by their priorities.
func (g *guarantees) takeBack() {
	for _, q := range g.first {
		if q.turn != q.turn.own() && g.queue.chunkOf(q) != nil {
			g.move(q, 0)
		}
	}
	g.first = nil
}

// move puts a job of the queue before all that stand less far before the others; 0: where it stands by its priority.
func (g *guarantees) move(q *queued, first int32) {
	g.queue.remove(q)
	g.waiting.remove(q)
	q.turn = q.turn.own()
	q.turn.index |= first << indexBits
	g.queue.add(q)
	g.waiting.add(q)
}

// within reports whether there is a place for the job within the guarantee of an account.
func (g *guarantees) within(q *queued, account int) bool {
	return slices.ContainsFunc(q.shape.candidates, func(c *candidate) bool { return c.parts == nil && g.covers(account, c) })
}

// takes is how much of a TRES a job takes there.
func (s *placement) takes(name string) int64 {
	if name == "gres/gpu" {
		return int64(s.gpus)
	}
	return s.tres[name]
}

// covers reports whether an account is guaranteed what it has and the candidate together. What the account is not guaranteed at all does not count.
func (g *guarantees) covers(account int, c *candidate) bool {
	any := false
	for name, most := range g.of.Accounts[account].TRES {
		n := c.takes(name)
		if n == 0 {
			continue
		}
		if any = true; g.of.Held[account][name]+g.taken[account][name]+n > most {
			return false
		}
	}
	return any
}

// hold counts what the plan gives to a job.
func (g *guarantees) hold(q *queued, c *candidate) {
	if q.claim == 0 || c == nil || c.parts != nil {
		return
	}
	for i := int(q.claim) - 1; i >= 0; i = g.of.Accounts[i].Above {
		if g.taken[i] == nil {
			g.taken[i] = map[string]int64{}
		}
		for name := range g.of.Accounts[i].TRES {
			g.taken[i][name] += c.takes(name)
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
func (g *guarantees) rightTo(q *queued, c *candidate) *right {
	for i := int(q.claim) - 1; i >= 0; i = g.of.Accounts[i].Above {
		if g.covers(i, c) {
			return &right{g.of, c, int(q.claim) - 1, i}
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
