package place

import (
	"cmp"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/move"
)

// A gang that waits may find enough free nodes, but in pieces: jobs that can go on elsewhere stand in its way. Its victims are found as in preempt.go, by what their moves cost, and each has
// to find a place that is free now beside the gang and what those before it in the queue are to get. It is looked for beside the plans, for few gangs, now and then.

// RoomAsk is for which gangs it is looked for, and who may move.
type RoomAsk struct {
	Rule *move.Rule
	Look int // how many jobs of the queue are looked at, the first ones
	Most int // moves
	// May says what a job that runs at a site would lose by a move, and what is left of its run; nil: it stays.
	May func(site federation.SiteName, j *federation.Job) (*move.Run, *decision.Expected)
}

// Room is how a gang can start. The decision binds it, with the jobs that make room.
type Room struct {
	Decision     decision.Decision
	Saves, Costs decision.Dollars
}

// mostRoomWait bounds the wait that a gang is spared by moves: nothing is known for longer.
const mostRoomWait = 12 * time.Hour

// MakeRoom returns the first gang of the queue that can start if others move, where that costs less than its wait; nil if there is none. Where no gang can be helped, or nothing has changed since that
// was found out, the plan goes on; else the next one starts over.
func MakeRoom(w *World, ask RoomAsk) *Room {
	s := newRoomSearch(w, &ask)
	gangs := w.rooms.gangs(w, s)
	if len(gangs) == 0 {
		return nil
	}
	return s.search(w, gangs)
}

func newRoomSearch(w *World, ask *RoomAsk) *roomSearch {
	return &roomSearch{plan: &w.plan, ask: ask, stay: map[*siteState]*preemptibles{}, at: map[*siteState]*preemptibles{}, enough: map[*candidate]bool{}}
}

// search looks for room for some jobs of the queue, and notes which it has tried.
func (s *roomSearch) search(w *World, gangs map[*queued]*triedRoom) *Room {
	w.begin()
	pr := &w.progress
	pr.looked, pr.behind, pr.bound = 0, 0, 0
	pr.press(pr.queue)
	pr.guarantees.look(pr, int32(pr.run))
	pr.stale = true
	defer func() { w.at = looking{} }()
	for q := range w.queue.all() {
		if w.know(q); gangs[q] != nil {
			w.rooms.tried[q.job.ID] = gangs[q]
			if r, void := s.room(q); void {
				return r
			}
			if delete(gangs, q); len(gangs) == 0 {
				return nil
			}
		}
		w.lookAt(q)
	}
	return nil
}

// roomSearch is the search for room in one plan.
type roomSearch struct {
	*plan
	ask    *RoomAsk
	stay   map[*siteState]*preemptibles // jobs that may move, wherever to
	at     map[*siteState]*preemptibles // those of them that could start elsewhere now
	enough map[*candidate]bool          // if all of them moved
}

// room moves jobs for one gang, if that is worth it. The plan is void where it has tried to: it goes no further then.
func (s *roomSearch) room(q *queued) (r *Room, void bool) {
	if sh := q.shape; sh.run != s.run {
		sh.run, sh.rests, sh.offers, sh.made, sh.last = s.run, nil, nil, made{}, nil
	}
	best, at := s.best(q.shape)
	if best == nil || at.now() || best.parts != nil || !best.gang() {
		return nil, false
	}
	wait := at.wait
	if best.queue.foreseen() == nil { // it is by time limits, and most jobs end long before
		wait = time.Duration(float64(wait) * s.policy.RunFraction)
	}
	saves := best.waitCost(min(wait, mostRoomWait), &s.policy)
	if !s.ask.Rule.Worth(move.Gang, saves, 0) {
		return nil, false
	}
	var win *takeover
	for _, c := range q.shape.candidates {
		if !c.clears() || c.fixed > at.total {
			continue
		}
		there := s.movables(c.site)
		if len(there.jobs) == 0 {
			continue
		}
		for i := range c.fits {
			if !c.fits[i].movesFor() {
				continue
			}
			h := victimSearch{preemptibles: there, c: c.site.capacity(), f: &c.fits[i], over: anybody}
			victims, nodes, loss := h.find(c.cells)
			if victims == nil || len(victims) > s.ask.Most || win != nil && loss >= win.loss || !s.ask.Rule.Worth(move.Gang, saves, decision.Dollars(loss)) {
				continue
			}
			win = &takeover{c: c, fit: i, there: there, victims: victims, nodes: nodes, loss: loss}
		}
	}
	if win == nil {
		return nil, false
	}
	return s.settle(q, win, saves), true
}

// anybody is the QOS of all movable jobs.
var anybody = map[string]bool{"": true}

// gang reports whether a job takes several nodes, or all GPUs of one.
func (c *candidate) gang() bool {
	if c.fits[0].nodes > 1 || c.fits[0].whole {
		return true
	}
	cell := &c.site.model.cells[c.cells[0]]
	return c.gpus > 0 && c.gpus >= gpusAt(c.site.model, cell.nodes[0])
}

// gpusAt is how many GPUs a node has.
func gpusAt(m *model, n int32) (gpus int) {
	for i, slot := range m.slots {
		if slot.name == "gpu" {
			gpus += int(m.totalGRES[int(n)*len(m.slots)+i])
		}
	}
	return gpus
}

// movable is what is known of a job that may move.
type movable struct {
	run  *move.Run
	left *decision.Expected
}

// from is the run, of which an hour costs what it does at a place where it could go, if nothing else is known of that.
func (m *movable) from(to *candidate, p *Policy) move.Run {
	run := *m.run
	run.WaitHour, run.Hour = to.waitHour(p), cmp.Or(run.Hour, to.hour())
	return run
}

// keepers are the jobs at a site that may move, wherever to.
func (s *roomSearch) keepers(st *siteState) *preemptibles {
	if h := s.stay[st]; h != nil {
		return h
	}
	h := &preemptibles{}
	s.stay[st] = h
	ours, m := st.ourJob(), st.model
	for i := range m.obs.Running {
		r := &m.obs.Running[i]
		j := ours(r.Job)
		if j == nil || j.State != federation.Running || j.Spec == nil || len(j.Spec.Keeps()) == 0 {
			continue
		}
		run, left := s.ask.May(st.site.Name, j)
		if run == nil {
			continue
		}
		p := preemptible{job: j, mode: decision.PreemptMove, grace: run.Grace, move: &movable{run, left}}
		for _, name := range r.Nodes {
			if n, ok := m.nodeAt[name]; ok {
				p.nodes = append(p.nodes, n)
			}
		}
		if len(p.nodes) > 0 {
			p.held = m.heldBy(p.nodes[0], r)
			h.jobs = append(h.jobs, p)
		}
	}
	if len(h.jobs) > 0 {
		h.index(len(m.up))
	}
	return h
}

// movables are those of them that could start elsewhere now. Their loss is what the move costs, in dollars; what of it falls on a GPU orders them, as hours.
func (s *roomSearch) movables(st *siteState) *preemptibles {
	if h := s.at[st]; h != nil {
		return h
	}
	h := &preemptibles{run: s.run}
	s.at[st] = h
	for _, p := range s.keepers(st).jobs {
		if st.capacity().vacated.at[p.job.ID] != 0 {
			continue
		}
		to, _, _ := s.free(p.job, p.move.left)
		if to == nil {
			continue
		}
		run := p.move.from(to, &s.policy)
		p.loss = float64(decision.Sum(run.Costs(&move.Elsewhere{Wait: relocation, Hour: run.Hour})))
		p.lost = time.Duration(p.loss / float64(max(to.gpus, 1)) * float64(time.Hour))
		h.jobs = append(h.jobs, p)
	}
	if len(h.jobs) > 0 {
		h.index(len(st.model.up))
	}
	return h
}

// free is the cheapest place where a running job could start now; nil if there is none.
func (s *roomSearch) free(j *federation.Job, left *decision.Expected) (best *candidate, at moment, sh *shape) {
	sh = s.shapeOfJob(j, left, nil)
	for _, c := range sh.candidates {
		if c.parts != nil || c.shared() || !c.borne() || best != nil && c.fixed > at.total {
			continue
		}
		if m := c.moment(s.plan); m.free && (best == nil || m.total < at.total) {
			best, at = c, m
		}
	}
	return best, at, sh
}

// settle has the victims go where there is room for them beside the gang, which gets their nodes; nil if there is none, or it costs too much after all.
func (s *roomSearch) settle(q *queued, p *takeover, saves decision.Dollars) *Room {
	st, free := p.c.site, p.c.site.capacity()
	end := s.now
	for _, v := range p.victims {
		end = max(end, s.now+int64(p.there.jobs[v].grace/time.Second))
	}
	p.at = moment{start: end + overdue, fit: p.fit, span: p.c.ideal[p.fit]}
	p.c.weigh(&p.at, s.plan)
	free.claim(p.nodes, &p.c.fits[p.fit], p.at.start, endAt(p.at.start, p.c.limit))
	for _, n := range p.nodes { // nobody else begins there meanwhile
		free.stock.touch(n)
	}
	s.changes++
	st.claimed = s.changes
	made := &decision.Preemption{At: s.clock.UTC(), By: decision.PreemptByUs, QOS: s.qosNamed(q.job)}
	room := &Room{Saves: saves}
	slices.SortFunc(p.victims, func(a, b int32) int { return cmp.Compare(p.there.jobs[a].job.ID, p.there.jobs[b].job.ID) })
	for _, at := range p.victims {
		v := &p.there.jobs[at]
		s.look(v.job)
		to, then, _ := s.free(v.job, v.move.left)
		if to == nil {
			return nil
		}
		run := v.move.from(to, &s.policy)
		costs := run.Costs(&move.Elsewhere{Site: string(to.site.site.Name), Wait: relocation + then.boot.span(), Hour: to.hour(), Restore: to.data.dollars + to.data.copying})
		costs = append(costs, move.Dearer(run.Hour*decision.Dollars(to.run.Hours()), to.rest()+then.boot.price)...)
		room.Costs += decision.Sum(costs)
		made.Victims = append(made.Victims, decision.Victim{Job: v.job.ID, Restarts: v.job.Restarts, QOS: v.job.Spec.QOS, Mode: decision.PreemptMove, Grace: v.grace, Lost: run.Lost(),
			Moved: &decision.Moved{At: s.clock.UTC(), From: st.site.Name, Kind: move.Gang, For: q.job.ID, Stay: true, Costs: costs}})
		to.commit(&then, s.plan)
	}
	if !s.ask.Rule.Worth(move.Gang, saves, room.Costs) {
		return nil
	}
	share := func(of decision.Dollars) decision.Dollars { return saves * of / max(room.Costs, 1e-9) }
	for i := range made.Victims {
		m := made.Victims[i].Moved
		m.Why = "job " + q.job.ID.String() + ", which takes " + gangText(p.c) + ", can start there then"
		m.Saves = []decision.Term{{Name: "wait", Amount: share(decision.Sum(m.Costs)), Detail: "its share of the wait that the gang is spared, " + dollarsText(saves)}}
	}
	s.look(q.job)
	room.Decision = decision.Decision{Job: q.job.ID, Bind: true, Offers: s.offersOf(q.shape, p.c, &p.at).all(s.plan), Rejections: q.shape.rejections, Expected: q.expected, Preempt: made}
	s.started(&spot{p.c, p.fit, p.nodes})
	return room
}

func (pl *plan) qosNamed(j *federation.Job) string {
	if pl.preempting == nil {
		return j.Spec.QOS
	}
	return pl.qosOf(j)
}

// gangText is "4 nodes" or "8 GPUs".
func gangText(c *candidate) string {
	if n := c.fits[0].nodes; n > 1 || c.gpus == 0 {
		return nodesText(n)
	}
	return sizeText(c, c.tres)
}
