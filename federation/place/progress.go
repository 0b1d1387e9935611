package place

import (
	"iter"
	"slices"

	"fsub/federation/decision"
)

// progress is how far a plan has come down the queue, and what Decide has yet to say of it. The plan is about the first jobs of the queue, as many as
// plan.looked says.
type progress struct {
	*plan
	queue *jobQueue

	stale bool      // the plan must be made again
	edge  *queued   // the last job that it is about, which may be gone; nil: none
	took  *queued   // the last of them that took anything; those behind it change nothing
	fresh []*queued // jobs that are new since, and stand before others that it is about

	untold bool      // Decide has not been asked since it was made
	acts   []*queued // jobs to be bound or spread, of which Decide has told
	news   []*queued // jobs that may have another fate than Decide has told

	walk    join      // room for goOn to work in
	spotted []spotted // and for ahead
}

// restart makes the plan again: it looks at all jobs.
func (pr *progress) restart() {
	pr.stale, pr.looked, pr.behind, pr.bound, pr.took, pr.edge = false, 0, 0, 0, nil, nil
	pr.acts, pr.news, pr.fresh = nil, nil, nil
	pr.press(pr.queue)
	pr.guarantees.look(pr, int32(pr.run))
	pr.goOn(false)
	pr.untold = true
}

// insert decides about the new jobs alone. That will do as long as no job that was looked at before them would find something else now: false if
// one may.
func (pr *progress) insert() bool {
	fresh := pr.fresh
	slices.SortFunc(fresh, pr.queue.compare)
	for _, q := range fresh {
		if pr.full() || pr.took != nil && pr.queue.compare(q, pr.took) < 0 || pr.lookAt(q) {
			return false
		}
	}
	pr.news, pr.fresh = append(pr.news, fresh...), nil
	pr.goOn(true)
	return true
}

// goOn looks at the jobs behind those that the plan is about, as far as it may. If tell is set, Decide tells of them.
func (pr *progress) goOn(tell bool) {
	if !pr.more() {
		return
	}
	m := pr.walk.begin(pr.queue, pr.edge)
	past := ahead{join: m, plan: pr.plan, there: pr.spotted[:0]}
	defer func() {
		pr.spotted = past.there[:0]
		clear(pr.spotted[:cap(pr.spotted)]) // the chunks may go
	}()
	strict := tell || pr.pressed.counts // what a job finds there depends on how many were looked at before it
	for m.more() {
		if pr.full() {
			if at := m.heads[0].turn; !past.undo(at) {
				break
			}
			strict = true
			continue
		}
		p, i := m.next()
		if !tell {
			n := len(p.jobs) - i
			if strict {
				n = m.follow(p, i)
			}
			whole := n == len(p.jobs) && pr.skip(p)
			if !whole {
				n = pr.idle(p.jobs[i : i+n])
			}
			if n > 0 {
				past.add(spotted{p, m.heads[0].subqueue, m.at[m.heads[0].subqueue].chunk, i, i + n, whole})
				m.pass(n)
				continue
			}
		}
		q, changes := p.jobs[i], pr.changes
		pr.lookNext(q)
		if tell {
			pr.news = append(pr.news, q)
		}
		if m.pass(1); pr.changes != changes {
			past.undo(m.turn(q))
		}
	}
	pr.edge = m.passed()
}

// lookNext decides about the job behind those that the plan is about.
func (pr *progress) lookNext(q *queued) {
	if pr.lookAt(q) {
		pr.took = q
	}
	pr.edge = q
}

// more reports whether the plan is to be about more jobs than it is.
func (pr *progress) more() bool { return !pr.full() && pr.looked+len(pr.fresh) < pr.queue.n }

// planned goes through the jobs that the plan is about.
func (pr *progress) planned() iter.Seq2[*chunk, []*queued] {
	return func(yield func(*chunk, []*queued) bool) {
		left := pr.looked
		for p, jobs := range pr.queue.runs() {
			n := min(left, len(jobs))
			if n == 0 || !yield(p, jobs[:n]) {
				return
			}
			left -= n
		}
	}
}

// lookedAt reports whether the plan is about a job.
func (pr *progress) lookedAt(q *queued) bool {
	if q.run < 0 || q.run == int32(pr.run) {
		return q.run > 0
	}
	p, i := pr.queue.place(q)
	return p != nil && p.run == pr.run && i < p.upto
}

// decided is a job with its fate, which the plan may have given to its whole chunk.
func (pr *progress) decided(q *queued) *queued {
	if q.run != int32(pr.run) {
		pr.spread(pr.queue.chunkOf(q))
	}
	return q
}

// add notes that a job was added to the queue. The plan holds for the others.
func (pr *progress) add(q *queued) {
	if !pr.stale && pr.edge != nil && pr.queue.compare(q, pr.edge) < 0 {
		pr.fresh = append(pr.fresh, q)
	}
}

// remove notes that a job has left the queue, and whether the plan was about it. In news and acts it stays.
func (pr *progress) remove(q *queued, looked bool) {
	switch {
	case pr.stale:
	case !looked:
		pr.fresh = slices.DeleteFunc(pr.fresh, func(f *queued) bool { return f == q })
	case pr.took != nil && pr.queue.compare(q, pr.took) <= 0:
		pr.stale = true // those behind it may find something else
	default:
		pr.looked--
	}
	q.run = -1
}

// reorder notes that the order of the queue has changed.
func (pr *progress) reorder() { pr.stale, pr.fresh = true, nil }

// tellAgain makes Decide tell of a job, to which nothing has happened that the plan depends on.
func (pr *progress) tellAgain(q *queued) {
	q.told = 0
	pr.news = append(pr.news, q)
	if !pr.stale {
		pr.decided(q)
	}
	pr.queue.chunkOf(q).quiet = false
}

// decide is [World.Decide] of a plan that is up to date.
func (pr *progress) decide() []decision.Decision {
	all := append(pr.news, pr.acts...)
	if pr.untold {
		all = nil
		for i := range pr.queue.subqueues {
			all = pr.tellOf(&pr.queue.subqueues[i], all)
		}
	}
	all = slices.DeleteFunc(all, func(q *queued) bool { return !pr.lookedAt(q) || !pr.decided(q).tells() })
	if !slices.IsSortedFunc(all, pr.queue.compare) {
		slices.SortFunc(all, pr.queue.compare)
	}
	all = slices.Compact(all)
	pr.news, pr.acts, pr.untold = nil, nil, false
	out := make([]decision.Decision, len(all))
	for i, q := range all {
		out[i] = pr.decision(q)
		if q.told = q.fate.word; q.acts() {
			pr.acts = append(pr.acts, q)
		}
	}
	return out
}

// tellOf adds the jobs of a subqueue of which Decide has something to say.
func (pr *progress) tellOf(l *subqueue, all []*queued) []*queued {
	for _, p := range l.chunks {
		if p.run == pr.run && p.upto == len(p.jobs) { // all of them have been told
			continue
		}
		pr.spread(p)
		for _, q := range p.jobs {
			if q.run != int32(pr.run) {
				return all // the plan is about none behind it
			}
			if q.tells() {
				all = append(all, q)
			}
		}
		pr.hush(p)
	}
	return all
}
