package place

import (
	"slices"

	"fsub/federation"
	"fsub/federation/decision"
)

// Plan returns the plan: a decision for each job of the queue that was looked at, in order.
func (w *World) Plan() federation.Plan {
	w.settle()
	p := federation.Plan{Decisions: make([]decision.Decision, 0, w.looked)}
	for chunk, jobs := range w.progress.planned() {
		w.spread(chunk)
		for _, q := range jobs {
			p.Decisions = append(p.Decisions, w.decision(q))
		}
	}
	return p
}

// Decide returns the decisions of the plan that somebody must act on, in order: the jobs that are to be bound or spread, and those that wait for
// another reason than Decide said last. A job that is still there is to be bound still. Of one that some site has refused a new plan tells again in any case.
func (w *World) Decide() []decision.Decision {
	w.settle()
	return w.progress.decide()
}

// settle brings the plan up to date.
func (w *World) settle() {
	w.read()
	if !w.progress.stale && !w.progress.insert() {
		w.progress.stale = true
	}
	if w.progress.stale {
		w.begin()
		w.progress.restart()
	}
	w.at = looking{}
}

// begin starts a new plan of what the sites say by now.
func (w *World) begin() {
	w.read()
	w.plan.begin()
}

// refusedBy are the sites that have refused a job, nil if none has.
func (pl *plan) refusedBy(q *queued) map[federation.SiteName]decision.Rejection {
	if !q.refused {
		return nil
	}
	return pl.refused[q.job.ID]
}

// tells reports whether Decide has something to say of a job that the plan is about.
func (q *queued) tells() bool {
	return q.acts() || q.fate.word != q.told || q.fate.word == 0 || q.refused
}

// acts reports whether something is to be done with a job.
func (q *queued) acts() bool { return q.fate.kind != waits }

// idle decides about the first of some jobs, as long as each would find what the last one of its shape has found. It returns how many those are.
func (pl *plan) idle(jobs []*queued) int {
	if pl.watch != nil {
		return 0
	}
	for n, q := range jobs {
		sh := q.shape
		if sh == nil || q.refused || sh.switches || pl.full() {
			return n
		}
		f := sh.idle(pl)
		if f == nil {
			return n
		}
		q.fate, q.run = f, int32(pl.run)
		pl.worked(1)
		pl.looked++
	}
	return len(jobs)
}

// ahead is the jobs of a subqueue that a plan has decided about though some of other subqueues stand among them. That will do until one of those takes nodes, or is the last one.
type ahead struct {
	*join
	plan  *plan
	there []spotted
}

// spotted is jobs of a chunk, from one to before another.
type spotted struct {
	*chunk
	subqueue int32
	at       int // of the chunk
	from, to int
	whole    bool // they were decided about by the chunk
}

func (a *ahead) add(s spotted) { a.there = append(a.there, s) }

// undo takes those that stand behind a turn out of the plan: they are to be looked at yet. It reports whether there were any.
func (a *ahead) undo(t turn) (any bool) {
	for _, s := range a.there {
		if a.turn(s.jobs[s.to-1]).compare(t) < 0 {
			continue
		}
		any = true
		i := max(s.find(a.within(t, int(s.subqueue))), s.from)
		a.plan.looked -= s.to - i
		if to := (position{s.at, i}); to.before(a.join.at[s.subqueue]) {
			a.join.at[s.subqueue] = to
		}
		if !s.whole {
			for _, q := range s.jobs[i:s.to] {
				q.run = 0
			}
		} else if s.upto = i; i == 0 {
			s.run = 0
		}
	}
	a.there = a.there[:0]
	if any {
		a.heap()
	}
	return any
}

// skip decides about a quiet chunk as a whole, where each of its jobs would find what the last one of its shape has found.
func (pl *plan) skip(p *chunk) bool {
	if !p.quiet || pl.watch != nil || pl.policy.Behind == 0 && pl.looked+len(p.jobs) > pl.policy.MaxLook || pl.full() {
		return false
	}
	if slices.ContainsFunc(p.of, func(o *person) bool { return o.moved > p.limits }) && !pl.group(p) {
		p.quiet = false
		return false
	}
	p.limits = pl.limits
	pl.worked(len(p.kinds))
	for i := range p.kinds {
		k := &p.kinds[i]
		if k.fate = k.shape.idle(pl); k.fate == nil || k.fate.word != k.told {
			return false
		}
	}
	p.run, p.upto = pl.run, len(p.jobs)
	pl.looked += len(p.jobs)
	return true
}

// hush notes whether a chunk is quiet, once Decide has told of all its jobs.
func (pl *plan) hush(p *chunk) {
	p.quiet, p.userGroups = false, p.userGroups[:0]
	for _, q := range p.jobs {
		if q.run != int32(pl.run) || q.acts() || q.refused || q.shape.switches {
			return
		}
		if k := q.userGroup; k.chunk != p || k.run != pl.run {
			k.chunk, k.run, k.at = p, pl.run, len(p.userGroups)
			p.userGroups = append(p.userGroups, waited{k, q.fate.word})
		} else if p.userGroups[k.at].told != q.fate.word {
			return
		}
	}
	p.quiet = pl.group(p)
}

// group works out the kinds of a chunk's user groups, and whose those are: it is done again only when one
// of them may do something else. It is false if something else has been said of some jobs of a shape than of others.
func (l *likeness) group(p *chunk) bool {
	l.grouping++
	p.kinds, p.of, p.limits = p.kinds[:0], p.of[:0], l.limits
	for _, k := range p.userGroups {
		if of := k.userGroup.of; of.grouping != l.grouping {
			of.grouping, p.of = l.grouping, append(p.of, of)
		}
		if sh := k.userGroup.shape; sh.grouping != l.grouping {
			sh.grouping, sh.kind = l.grouping, len(p.kinds)
			p.kinds = append(p.kinds, kind{shape: sh, told: k.told})
		} else if p.kinds[sh.kind].told != k.told {
			return false
		}
	}
	return true
}

// spread gives each job of a chunk its fate, if the plan has decided about the chunk as a whole.
func (pl *plan) spread(p *chunk) {
	if p == nil || p.run != pl.run {
		return
	}
	p.run = 0
	if p.limits != pl.limits { // the plan is void
		return
	}
	for i := range p.kinds {
		p.kinds[i].shape.kind = i
	}
	for _, q := range p.jobs[:p.upto] {
		if q.run >= 0 && q.run != int32(pl.run) {
			q.fate, q.run = p.kinds[q.shape.kind].fate, int32(pl.run)
		}
	}
}

// lookAt decides about a job and reports whether it took anything.
func (pl *plan) lookAt(q *queued) (took bool) {
	if q.shape != nil { // a stranger is known from now on
		pl.worked(1)
	}
	pl.know(q)
	pl.chosen = nil
	if q.shape.run != pl.run {
		pl.worked(firstOfKind)
	}
	q.fate, took = pl.decide(q)
	q.run = int32(pl.run)
	pl.looked++
	if q.fate.kind.bound() {
		pl.bound++
		pl.guarantees.hold(q, pl.chosen)
	}
	return took
}

// know finds out where a job can run at all.
func (pl *plan) know(q *queued) {
	pl.look(q.job)
	if q.shape == nil || q.shape.switches && q.shape.drop != pl.dropsSwitches(q.job) {
		q.userGroup = pl.userGroupOf(q.job, q.expected, pl.refusedBy(q))
	}
	if q.shape.version != pl.version || q.shape.clock != pl.now {
		pl.judge(q.shape)
	}
}
