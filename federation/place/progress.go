package place

import (
	"iter"
	"slices"
)

// planned goes through the jobs that the plan is about.
func (w *World) planned() iter.Seq2[*chunk, []*queued] {
	return func(yield func(*chunk, []*queued) bool) {
		left := w.looked
		for p, jobs := range w.queue.runs() {
			n := min(left, len(jobs))
			if n == 0 || !yield(p, jobs[:n]) {
				return
			}
			left -= n
		}
	}
}

// tellOf adds the jobs of a subqueue of which Decide has something to say.
func (w *World) tellOf(l *subqueue, all []*queued) []*queued {
	for _, p := range l.chunks {
		if p.run == w.run && p.upto == len(p.jobs) { // all of them have been told
			continue
		}
		w.spread(p)
		for _, q := range p.jobs {
			if q.run != int32(w.run) {
				return all // the plan is about none behind it
			}
			if q.tells() {
				all = append(all, q)
			}
		}
		w.hush(p)
	}
	return all
}

// insert decides about the new jobs alone. That will do as long as no job that was looked at before them would find something else now: false if
// one may.
func (w *World) insert() bool {
	fresh := w.fresh
	slices.SortFunc(fresh, w.queue.compare)
	for _, q := range fresh {
		if w.full() || w.took != nil && w.queue.compare(q, w.took) < 0 || w.lookAt(q) {
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
	w.press(&w.queue)
	w.guarantees.look(w, int32(w.run))
	w.goOn(false)
	w.anew = true
}

// goOn looks at the jobs behind those that the plan is about, as far as it may. tell has Decide tell of them.
func (w *World) goOn(tell bool) {
	if !w.more() {
		return
	}
	m := w.walk.begin(&w.queue, w.edge)
	past := ahead{join: m, w: w, there: w.spotted[:0]}
	defer func() {
		w.spotted = past.there[:0]
		clear(w.spotted[:cap(w.spotted)]) // the chunks may go
	}()
	strict := tell || w.pressed.counts // what a job finds there depends on how many were looked at before it
	for m.more() {
		if w.full() {
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
			whole := n == len(p.jobs) && w.skip(p)
			if !whole {
				n = w.idle(p.jobs[i : i+n])
			}
			if n > 0 {
				past.add(spotted{p, m.heads[0].subqueue, m.at[m.heads[0].subqueue].chunk, i, i + n, whole})
				m.pass(n)
				continue
			}
		}
		q, changes := p.jobs[i], w.changes
		w.lookNext(q)
		if tell {
			w.news = append(w.news, q)
		}
		if m.pass(1); w.changes != changes {
			past.undo(m.turn(q))
		}
	}
	w.edge = m.passed()
}

// decided is a job with its fate, which the plan may have given to its whole chunk.
func (w *World) decided(q *queued) *queued {
	if q.run != int32(w.run) {
		w.spread(w.queue.chunkOf(q))
	}
	return q
}

// lookNext decides about the job behind those that the plan is about.
func (w *World) lookNext(q *queued) {
	if w.lookAt(q) {
		w.took = q
	}
	w.edge = q
}

// lookedAt reports whether the plan is about a job.
func (w *World) lookedAt(q *queued) bool {
	if q.run < 0 || q.run == int32(w.run) {
		return q.run > 0
	}
	p, i := w.queue.place(q)
	return p != nil && p.run == w.run && i < p.upto
}

// within reports whether a job stands before another one that the plan is about.
func (w *World) within(q *queued) bool { return w.edge != nil && w.queue.compare(q, w.edge) < 0 }

// more reports whether the plan is to be about more jobs than it is.
func (w *World) more() bool { return !w.full() && w.looked+len(w.fresh) < w.queue.n }
