package place

import (
	"iter"
	"slices"

	"fsub/federation"
)

// Plan returns the plan: a decision for each job of the queue that was looked at, in order.
func (w *World) Plan() federation.Plan {
	w.settle()
	p := federation.Plan{Decisions: make([]federation.Decision, 0, w.looked)}
	for q := range w.planned() {
		p.Decisions = append(p.Decisions, q.fate.of(q))
	}
	return p
}

// planned goes through the jobs that the plan is about.
func (w *World) planned() iter.Seq[*queued] {
	return func(yield func(*queued) bool) {
		left := w.looked
		for q := range w.queue.all() {
			if left--; left < 0 || !yield(q) {
				return
			}
		}
	}
}

// Decide returns the decisions of the plan that somebody must act on, in order: the jobs that are to be bound or spread, and those that wait for
// another reason than Decide said last. A job that is still there is to be bound still. Of one that some site has refused a new plan tells again in any case.
func (w *World) Decide() []federation.Decision {
	w.settle()
	all := append(w.news, w.acts...)
	if w.anew {
		all = nil
		for q := range w.planned() {
			if q.tells() {
				all = append(all, q)
			}
		}
	}
	all = slices.DeleteFunc(all, func(q *queued) bool { return !w.lookedAt(q) || !q.tells() })
	compare := func(a, b *queued) int { return a.turn.compare(b.turn) }
	if !slices.IsSortedFunc(all, compare) {
		slices.SortFunc(all, compare)
	}
	all = slices.Compact(all)
	w.news, w.acts, w.anew = nil, nil, false
	out := make([]federation.Decision, len(all))
	for i, q := range all {
		out[i] = q.fate.of(q)
		if q.told = q.fate.word; q.acts() {
			w.acts = append(w.acts, q)
		}
	}
	return out
}

// refusedBy are the sites that have refused a job, nil if none has.
func (w *World) refusedBy(q *queued) map[federation.SiteName]federation.Rejection {
	if !q.refused {
		return nil
	}
	return w.refused[q.job.ID]
}

// tells reports whether Decide has something to say of a job that the plan is about.
func (q *queued) tells() bool {
	return q.acts() || q.fate.word != q.told || q.fate.word == 0 || q.refused
}

// acts reports whether something is to be done with a job.
func (q *queued) acts() bool { return q.fate.kind != waits }

// settle brings the plan up to date.
func (w *World) settle() {
	w.read()
	if !w.stale && !w.insert() {
		w.stale = true
	}
	if w.stale {
		w.planAnew()
	}
	w.at = looking{}
}

// insert decides about the new jobs alone. That will do as long as no job that was looked at before them would find something else now: false if
// one may.
func (w *World) insert() bool {
	fresh := w.fresh
	slices.SortFunc(fresh, func(a, b *queued) int { return a.turn.compare(b.turn) })
	for _, q := range fresh {
		if w.full() || w.took != nil && q.turn.compare(w.took.turn) < 0 || w.lookAt(q) {
			return false
		}
	}
	w.news, w.fresh = append(w.news, fresh...), nil
	w.goOn(true)
	return true
}

// planAnew looks at all jobs.
func (w *World) planAnew() {
	w.begin()
	w.stale, w.looked, w.bound, w.took, w.edge = false, 0, 0, nil, nil
	w.acts, w.news, w.fresh = nil, nil, nil
	w.goOn(false)
	w.anew = true
}

// goOn looks at the jobs behind those that the plan is about, as far as it may. tell has Decide tell of them.
func (w *World) goOn(tell bool) {
	if !w.more() {
		return
	}
	behind := w.queue.all()
	if w.edge != nil {
		behind = w.queue.since(w.edge.turn)
	}
	for q := range behind {
		if w.full() {
			break
		}
		if w.lookedAt(q) { // the last of them
			continue
		}
		if w.lookAt(q) {
			w.took = q
		}
		w.edge = q
		if tell {
			w.news = append(w.news, q)
		}
	}
}

// lookAt decides about a job and reports whether it took anything.
func (w *World) lookAt(q *queued) (took bool) {
	w.look(q.job)
	if q.shape == nil || q.shape.switches && q.shape.drop != w.dropsSwitches(q.job) {
		q.shape, q.account = w.likeness(q.job, q.expected, w.refusedBy(q)), w.number(q.job.Spec.Account)
	}
	if q.shape.version != w.version || q.shape.clock != w.now {
		w.judge(q.shape)
	}
	q.fate, took = w.decide(q)
	q.run = int32(w.run)
	w.looked++
	if q.fate.kind.bound() {
		w.bound++
	}
	return took
}
