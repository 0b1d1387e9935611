package place

import (
	"cmp"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

// A job whose QOS may preempt others need not wait for their end: where the nodes that it needs would be free without some jobs of ours of those QOS, these
// are its victims, and it is bound to that one site. Those that lose the least work are taken first, by GPU that falls free; who turns out not to be needed is
// spared. Nodes that a job before it in the queue holds in time are left alone. Heterogeneous jobs neither preempt nor are preempted, nor does anybody for
// nodes that jobs of others wait for. A job within the guarantee of its account takes the place of those who have borrowed from it in the same way.

// SetPreempting tells who may take whose place; nil: nobody may.
func (w *World) SetPreempting(p *federation.Preempting) {
	if w.preempting != p {
		w.preempting, w.progress.stale = p, true
	}
}

// takeover is the best way to start a job by preemption.
type takeover struct {
	c       *candidate
	fit     int
	there   *preemptibles
	victims []int32
	nodes   []int32
	loss    float64
	at      moment
	back    *right // nil: the job is within no guarantee
}

// preempt ends other jobs for a job that has to wait, where that is worth it: it reports what becomes of the job then, nil if it waits. at is how it waits
// at the best candidate.
func (pl *plan) preempt(q *queued, best *candidate, at *moment) *fate {
	if pl.preempting == nil || q.spent || pl.soon(at.start) && !best.shared() {
		return nil
	}
	qos := pl.qosOf(q.job)
	over := pl.preempting.QOS[qos].Over
	vain := claimant{q.shape, q.claim, 0}
	if len(over) == 0 && q.claim == 0 || q.shape.futile == pl.run && q.claim == 0 || pl.guarantees.vain[vain] {
		return nil
	}
	var win *takeover
	for _, c := range q.shape.candidates {
		by := c.site.site.Preempt
		if c.parts != nil || by == decision.PreemptByNone || by != decision.PreemptBySite && c.shared() || c.fixed > at.total || !c.borne() {
			continue
		}
		var back *right
		if q.claim != 0 && by != decision.PreemptBySite { // which knows of no guarantees
			back = pl.guarantees.rightTo(q, c)
		}
		if len(over) == 0 && back == nil {
			continue
		}
		there := pl.preemptibles(c.site)
		if len(there.jobs) == 0 {
			continue
		}
		for i := range c.fits {
			if c.fits[i].alone || c.fits[i].reservation != "" {
				continue
			}
			h := victimSearch{preemptibles: there, c: c.site.capacity(), f: &c.fits[i], over: over, back: back}
			victims, nodes, loss := h.find(c.cells)
			if victims == nil {
				continue
			}
			p := &takeover{c: c, fit: i, there: there, victims: victims, nodes: nodes, loss: loss, back: back}
			p.at = moment{start: p.ends(pl), fit: i, span: c.ideal[i]}
			c.weigh(&p.at, pl)
			if p.at.total > at.total || p.at.start >= at.start || win != nil && cmp.Or(cmp.Compare(p.loss, win.loss), cmp.Compare(p.at.total, win.at.total)) >= 0 {
				continue
			}
			win = p
		}
	}
	if win == nil {
		if q.claim == 0 {
			q.shape.futile = pl.run
		} else {
			pl.guarantees.vain[vain] = true
		}
		return nil
	}
	return pl.seize(q, qos, win)
}

// ends is when the victims of a takeover are gone.
func (p *takeover) ends(pl *plan) int64 {
	end := pl.now
	for _, v := range p.victims {
		end = max(end, pl.now+int64(p.there.jobs[v].grace/time.Second))
	}
	return end + overdue
}

// seize preempts the victims and reserves their nodes for the job.
func (pl *plan) seize(q *queued, qos string, p *takeover) *fate {
	st, free := p.c.site, p.c.site.capacity()
	made := &decision.Preemption{At: pl.clock.UTC(), By: st.site.Preempt, QOS: qos}
	pl.chosen = p.c
	for _, at := range p.victims {
		v := &p.there.jobs[at]
		v.taken = true
		if p.back != nil && !pl.preempting.QOS[qos].Over[v.qos] {
			made.Guarantee = pl.guarantees.of.Accounts[p.back.in].Account
		}
		made.Victims = append(made.Victims, decision.Victim{Job: v.job.ID, Restarts: v.job.Restarts, QOS: v.qos, Mode: v.mode, Grace: v.grace, Lost: v.lost})
		if made.By != decision.PreemptBySite && v.mode != decision.PreemptCancel {
			st.holdBack(pl.shapeOfJob(v.job, nil, nil))
		}
		free.vacate(v.job.ID, v.nodes, p.at.start)
	}
	slices.SortFunc(made.Victims, func(a, b decision.Victim) int { return cmp.Compare(a.Job, b.Job) })
	free.claim(p.nodes, &p.c.fits[p.fit], p.at.start, endAt(p.at.start, p.c.limit))
	p.c.pay(pl.clock)
	pl.changes++
	pl.seen.sh = nil
	p.c.queueUp(q.job)
	if p.c.wide() {
		st.waiting.add(p.c)
	}
	kind := binds
	if st.site.Preempt == decision.PreemptBySite {
		kind = queues
	}
	return &fate{kind: kind, offers: pl.offersOf(q.shape, p.c, &p.at), rejections: q.shape.rejections, preempt: made}
}

// vacated are the running jobs that make room for others in a plan.
type vacated struct {
	at    map[federation.JobID]int64 // when they have
	on    []bool                     // by node: such jobs run there; nil: nowhere
	nodes []int32                    // where that is
}

// add notes that a job makes room on some nodes at a time. of is the number of nodes of the site.
func (v *vacated) add(id federation.JobID, nodes []int32, of int, at int64) {
	if v.at == nil {
		v.at = map[federation.JobID]int64{}
	}
	if v.on == nil {
		v.on = make([]bool, of)
	}
	v.at[id] = at
	for _, n := range nodes {
		if !v.on[n] {
			v.on[n], v.nodes = true, append(v.nodes, n)
		}
	}
}

// has reports whether jobs on a node make room for others.
func (v *vacated) has(n int32) bool { return v.on != nil && v.on[n] }

func (v *vacated) clear() {
	clear(v.at)
	v.on, v.nodes = nil, nil
}

// vacate counts with the end of a running job at a time, if that is sooner than its limit.
func (c *capacity) vacate(id federation.JobID, nodes []int32, at int64) {
	c.vacated.add(id, nodes, len(c.first), at)
	c.estimates.claimed(step{nodes: uint64(id), from: at})
	for _, n := range nodes {
		c.stock.touch(n)
		c.first[n] = min(c.first[n], at)
	}
}

// ends is when what a running job holds falls free, seen from now.
func (c *capacity) ends(r *release) int64 {
	at := c.at(r.at)
	if len(c.vacated.at) > 0 && r.job != 0 {
		if sooner, ok := c.vacated.at[r.job]; ok {
			at = min(at, c.at(sooner))
		}
	}
	return at
}

// vacateFor counts with the end of those who make room for a job that was bound, as far as they run still.
func (st *siteState) vacateFor(p *decision.Preemption) {
	if st.model == nil || len(p.Victims) == 0 {
		return
	}
	free := st.capacity()
	ends := p.Ends().Unix() + overdue
	for i := range p.Victims {
		v := &p.Victims[i]
		if j := st.claims[v.Job].Job; j != nil && j.Restarts > v.Restarts {
			continue // that run is over
		}
		var nodes []int32
		for k := range st.model.obs.Running {
			if r := &st.model.obs.Running[k]; r.Job == v.Job {
				for _, name := range r.Nodes {
					if n, ok := st.model.nodeAt[name]; ok {
						nodes = append(nodes, n)
					}
				}
			}
		}
		if nodes != nil {
			free.vacate(v.Job, nodes, ends)
		}
	}
}
