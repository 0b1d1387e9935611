package place

import (
	"math"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/sbatch"
)

// At a site that others use too, a job in the federation's queue gains neither age nor a reservation, and nodes that become free go to jobs in
// the site's own queue. So a job whose turn it is joins that queue early, within the site's backlog. No user or account may take more of
// the backlog than it leaves free.

// sharedPools reports for each pool of a model whether jobs of others wait for its nodes; nil if there are no such jobs.
func sharedPools(m *model) []bool {
	if m == nil {
		return nil
	}
	var asked []string
	any := false // a job waits, and the site does not say in which partition
	for i := range m.obs.Waiting {
		j := &m.obs.Waiting[i]
		switch {
		case j.Ours || j.Idle:
		case j.Partition == "":
			any = true
		case len(asked) == 0 || asked[len(asked)-1] != j.Partition:
			asked = append(asked, j.Partition)
		}
	}
	if !any && asked == nil {
		return nil
	}
	slices.Sort(asked)
	var names []string
	for _, list := range slices.Compact(asked) {
		names = append(names, strings.Split(list, ",")...)
	}
	cells := make([]bool, len(m.cells))
	for p := range m.pools {
		if any || slices.Contains(names, m.pools[p].Partition) {
			for _, c := range m.cellsOf[p] {
				cells[c] = true
			}
		}
	}
	shared := make([]bool, len(m.pools))
	for p := range shared {
		shared[p] = slices.ContainsFunc(m.cellsOf[p], func(c int32) bool { return cells[c] })
	}
	return shared
}

// holders counts jobs of ours that wait at a site, by user and by account.
type holders map[holder]int

type holder struct {
	account bool
	name    string
}

// holdersOf are the user of a job and the account that it is charged to, if that is known.
func holdersOf(st *siteState, job *federation.Job) []holder {
	who := []holder{{name: job.User}, {account: true, name: accessOf(st.site, job).account}}
	if who[1].name == "" {
		who = who[:1]
	}
	return who
}

const (
	// amongFactor is how many jobs of ours may wait at a site for each one of others that does.
	amongFactor = 8
	// mostAmong bounds that: slurmctld's backfill looks at no more of its queue by default (bf_max_job_test), and holds 10,000 jobs in all (MaxJobCount).
	mostAmong = 500
)

// depth is how many jobs of ours may wait at the site among those of others, where no backlog is set for it. Each one that waits with us instead is overtaken by all that
// users submit at the site later. Where hardly anybody else waits, that costs little, and late binding is worth more.
func (ms *members) depth(st *siteState) int {
	if st.site.Backlog > 0 || ms.policy.Backlog == 0 {
		return st.limit
	}
	return max(st.limit, min(amongFactor*(st.crowd.all-st.crowd.ours), mostAmong))
}

// left is how many more jobs of ours may wait for the candidate's nodes. At the same site those for whose nodes others wait and those for nodes that are ours alone are
// counted apart.
func (c *candidate) left() int {
	if c.shared() {
		return c.site.deep - c.site.backlog
	}
	return c.site.limit - c.site.alone()
}

// alone is how many of our jobs wait at the site for nodes that nobody else waits for.
func (st *siteState) alone() int { return st.backlog - st.among }

// queueUp notes that a job of ours waits for the candidate's nodes.
func (c *candidate) queueUp(job *federation.Job) {
	if c.shared() {
		c.site.among++
	}
	c.site.queueUp(job)
}

// queueUp notes that a job of ours waits at the site.
func (st *siteState) queueUp(job *federation.Job) {
	st.backlog++
	if st.shared == nil && len(st.site.AccountBacklog) == 0 {
		return
	}
	if st.holders == nil {
		st.holders = holders{}
	}
	for _, h := range holdersOf(st, job) {
		st.holders[h]++
	}
}

// mayQueueUp reports whether a job may wait at a candidate's site.
func (c *candidate) mayQueueUp(job *federation.Job) bool {
	st := c.site
	left, shared := c.left(), c.shared()
	if left <= 0 || !shared && len(st.site.AccountBacklog) == 0 {
		return left > 0
	}
	for _, h := range holdersOf(st, job) {
		most, set := left, false
		if h.account {
			if of, is := st.site.AccountBacklog[h.name]; is {
				most, set = of, true
			}
		}
		if (set || shared) && st.holders[h] >= most {
			return false
		}
	}
	return true
}

// shared reports whether others wait for the candidate's nodes.
func (c *candidate) shared() bool {
	for _, part := range c.parts {
		if slices.ContainsFunc(part, (*candidate).shared) {
			return true
		}
	}
	return c.placement.shared()
}

// shared reports whether others wait for nodes of the group.
func (s *placement) shared() bool {
	return s.site.shared != nil && slices.ContainsFunc(s.pools, func(p int) bool { return s.site.shared[p] })
}

// inUse is the share of a candidate's GPUs that run jobs, or of its CPUs if it has none, where others use the site too; else 0. Where several such sites could start a job
// at once at the same cost, it goes where most is free: local jobs cannot go elsewhere.
func (c *candidate) inUse() float64 {
	st := c.site
	if st.site.Outlook == nil || c.parts != nil {
		return 0
	}
	if st.inUse == nil {
		st.inUse = make([]float64, len(st.model.pools))
		for p := range st.inUse {
			st.inUse[p] = st.model.inUse(p)
		}
	}
	return st.inUse[c.pool]
}

// inUse is that of a pool.
func (m *model) inUse(pool int) float64 {
	var gpus, cpus struct{ used, all int }
	for _, n := range m.pools[pool].Nodes {
		nd := &m.obs.Nodes[n]
		cpus.used, cpus.all = cpus.used+nd.CPUsUsed, cpus.all+nd.CPUs
		for _, g := range nd.GRES {
			if g.Name == "gpu" {
				gpus.used, gpus.all = gpus.used+g.Used, gpus.all+g.Total
			}
		}
	}
	if gpus.all > 0 {
		cpus = gpus
	}
	return float64(cpus.used) / float64(max(cpus.all, 1))
}

// roomier reports whether both candidates can start a job now, and more is free at the first one.
func (c *candidate) roomier(at *moment, than *candidate, thanAt *moment) bool {
	return at.free && thanAt.free && at.span.Left == thanAt.span.Left && c.inUse() < than.inUse()
}

// queueThere is the queue of a site that others use too, as a job of a candidate finds it. nil: no waits are predicted there.
type queueThere struct {
	at    *placement
	limit time.Duration
	ask   decision.QueueAsk // what the queue sees of the job
	from  decision.Outlook  // what said is from
	said  *decision.Foreseen
}

// queueAt returns the queue where s is, nil if nothing is known of it.
func queueAt(s *placement, limit time.Duration, job *federation.Job) *queueThere {
	st := s.site
	if st.site.Outlook == nil || len(s.fits) == 0 {
		return nil
	}
	return &queueThere{at: s, limit: limit, ask: decision.QueueAsk{User: st.site.UserName(job.User), Account: accessOf(st.site, job).account, Partition: st.model.pools[s.pool].Partition,
		Nodes: s.fits[0].nodes, CPUs: int(s.tres["cpu"]), GPUs: s.gpus, Limit: limit}}
}

// foreseen is how long a job waits that cannot start now; nil: others do not wait there, or nothing is known.
func (q *queueThere) foreseen() *decision.Foreseen {
	if q == nil || !q.at.shared() {
		return nil
	}
	if o := q.at.site.site.Outlook; q.from != o {
		q.from, q.said = o, nil
		if o != nil {
			q.said = o.Wait(q.ask)
		}
	}
	return q.said
}

// bounds are how long a job waits at least, where foreseen says how long: until its nodes can be free by the time limits of what holds them and of what
// the plan gives them to, and until the site expects to start the first of those that wait there for no more. Past waits do not know who holds nodes now.
func (q *queueThere) bounds(at *moment, now int64) (p50, p90 time.Duration) {
	start := at.start
	if start == never { // nothing but past waits says when
		start = now
	}
	if said := q.saidFirst(at.fit); said > start {
		start = said
	}
	if start <= now {
		return 0, 0
	}
	return q.at.site.site.Outlook.Bounds(time.Duration(start-now) * time.Second)
}

// foreseenAt is foreseen within bounds.
func (q *queueThere) foreseenAt(at *moment, now int64) *decision.Foreseen {
	f := q.foreseen()
	if f == nil {
		return nil
	}
	return f.NotBefore(q.bounds(at, now))
}

// foreseenWait is how long a job is expected to wait where foreseen says something.
func (q *queueThere) foreseenWait(at *moment, now int64) time.Duration {
	f := *q.foreseen()
	wait := q.at.site.behind(f.Likely())
	p50, p90 := q.bounds(at, now)
	f.P50, f.P90 = max(f.P50, p50), max(f.P90, p90)
	return max(wait, f.Likely())
}

// waiters are how many jobs an observation shows to wait for nodes.
type waiters struct{ all, ours int }

func waitersOf(m *model) (n waiters) {
	if m == nil {
		return n
	}
	for i := range m.obs.Waiting {
		if j := &m.obs.Waiting[i]; !j.Idle {
			n.all++
			if j.Ours {
				n.ours++
			}
		}
	}
	return n
}

// behind is a predicted wait, behind those jobs of ours as well that the site does not show yet. Where as many of ours wait as may, the next one waits here
// for the start of one of them before.
func (st *siteState) behind(wait time.Duration) time.Duration {
	more := float64(max(st.backlog-st.crowd.ours, 0)) / float64(st.crowd.all+1)
	if st.backlog >= st.deep {
		more++
	}
	return time.Duration(min(float64(wait)*(1+more), float64(365*24*time.Hour)))
}

// turned is what a job of others asks for that waits for nodes and has not got any.
type turned struct {
	nodes, cpus, gpus int
	limit             time.Duration
	whole             bool
}

// covers reports whether a job that asks for u finds nodes no sooner than t does, which came before it.
func (t *turned) covers(u *turned) bool {
	return t.nodes <= u.nodes && t.cpus <= u.cpus && t.gpus <= u.gpus && t.limit <= u.limit && (u.whole || !t.whole)
}

// expected is a job that waits at a site, and when the site expects to start it.
type expected struct {
	turned
	start int64
}

// expectedOf are jobs that wait, by partition, of which the site says when they are to start.
func expectedOf(m *model) map[string][]expected {
	out := map[string][]expected{}
	for i := range m.obs.Waiting {
		w := &m.obs.Waiting[i]
		if w.Ours || w.Idle || w.Nodes == 0 || w.Start.IsZero() {
			continue
		}
		e := expected{turnedBy(w), w.Start.Unix()}
		for _, part := range strings.Split(w.Partition, ",") {
			all := out[part]
			if slices.ContainsFunc(all, func(o expected) bool { return o.covers(&e.turned) && o.start <= e.start }) {
				continue
			}
			all = slices.DeleteFunc(all, func(o expected) bool { return e.covers(&o.turned) && e.start <= o.start })
			if len(all) < mostTurned {
				all = append(all, e)
			}
			out[part] = all
		}
	}
	return out
}

// saidFirst is when the site expects to start the first of those that wait there and ask for no more than a job does; 0: it does not say. None of ours starts before all of them.
func (q *queueThere) saidFirst(fit int) (first int64) {
	if len(q.at.site.expected) == 0 {
		return 0
	}
	mine := q.turnedAs(fit)
	for _, part := range []string{q.at.site.model.pools[q.at.pool].Partition, ""} {
		for i := range q.at.site.expected[part] {
			if e := &q.at.site.expected[part][i]; e.covers(&mine) && (first == 0 || e.start < first) {
				first = e.start
			}
		}
	}
	return first
}

// mostTurned bounds what is kept of each partition.
const mostTurned = 16

// turnedOf are the least that jobs of others ask for, by partition.
func turnedOf(m *model) map[string][]turned {
	out := map[string][]turned{}
	for i := range m.obs.Waiting {
		w := &m.obs.Waiting[i]
		if w.Ours || w.Idle || w.Nodes == 0 {
			continue
		}
		t := turnedBy(w)
		for _, part := range strings.Split(w.Partition, ",") {
			all := out[part]
			if slices.ContainsFunc(all, func(o turned) bool { return o.covers(&t) }) {
				continue
			}
			all = slices.DeleteFunc(all, func(o turned) bool { return t.covers(&o) })
			if len(all) < mostTurned {
				all = append(all, t)
			}
			out[part] = all
		}
	}
	return out
}

// turnedBy is what a job that waits asks for.
func turnedBy(w *federation.WaitingJob) turned {
	t := turned{nodes: w.Nodes, cpus: w.CPUs, limit: w.Limit, whole: w.Whole}
	if t.limit <= 0 || t.limit == sbatch.Unlimited {
		t.limit = math.MaxInt64
	}
	for _, g := range w.GRES {
		if g.Name == "gpu" {
			t.gpus += g.Total
		}
	}
	return t
}

// turnedAs is what the job asks for.
func (q *queueThere) turnedAs(fit int) turned {
	f := &q.at.fits[fit]
	mine := turned{nodes: f.nodes, cpus: int(q.at.tres["cpu"]), gpus: q.at.gpus, limit: q.limit, whole: f.whole}
	if mine.limit == sbatch.Unlimited {
		mine.limit = math.MaxInt64
	}
	return mine
}

// turnedAway reports whether a job of others waits for the nodes that asks for no more: what seems to be free is about to be that job's, or is
// kept for one that stands before it. Where nothing is known of how long jobs wait there, free is free.
func (q *queueThere) turnedAway(fit int) bool {
	if q.foreseen() == nil {
		return false
	}
	mine := q.turnedAs(fit)
	for _, part := range []string{q.at.site.model.pools[q.at.pool].Partition, ""} {
		if slices.ContainsFunc(q.at.site.first[part], func(t turned) bool { return t.covers(&mine) }) {
			return true
		}
	}
	return false
}
