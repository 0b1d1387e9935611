package place

import (
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// Plan decides where each pending job of s should run. It reads nothing but its arguments, so the same input gives the same
// Plan. Use a [World] to plan repeatedly.
func Plan(s federation.Snapshot, p Policy) federation.Plan {
	return newWorldOf(&s, p).Plan()
}

// plan decides about one job after another, and keeps what those have taken. Its number is run, and whatever bears another number is void: begin starts a new one, which gives back all that
// the last one took. It holds that no node is given twice, and that less is free after each decision; only preemption frees something, and counts as a change.
type plan struct {
	members
	likeness

	at      looking
	watch   func(*federation.Job)
	onStart func(*federation.Job, federation.SiteName, federation.RunningJob)

	preempting *federation.Preempting // nil: nobody is preempted
	guarantees guarantees
	refused    map[federation.JobID]map[federation.SiteName]decision.Rejection // of jobs in the queue
	words      map[string]word

	run     int        // its number
	changes int        // counts claims at all sites
	pressed pressure   // of those who wait for owned nodes; see shadowprice.go
	looked  int        // jobs that it has decided about
	behind  int        // see Policy.Behind
	bound   int        // of them, those that are bound
	seen    seen       // what best has found
	chosen  *candidate // where the job that was decided about last starts, or waits
	places  []heldPlace
}

// fate is a plan's decision about a job. Jobs that are decided alike share one.
type fate struct {
	kind       fateKind
	reason     reasons.Reason
	word       word    // of the reason
	offers     *offers // nil: there are none
	rejections []decision.Rejection
	preempt    *decision.Preemption
}

type fateKind uint8

const (
	waits fateKind = iota
	binds
	queues // is bound only to wait at its site
)

func (k fateKind) bound() bool { return k == binds || k == queues }

// decision puts a job's fate into words.
func (pl *plan) decision(q *queued) decision.Decision {
	f := q.fate
	pl.at.job = q.job
	d := decision.Decision{Job: q.job.ID, Bind: f.kind.bound(), Early: f.kind == queues, Reason: f.reason, Offers: f.offers.all(pl), Rejections: f.rejections, Expected: q.expected, Preempt: f.preempt}
	pl.at.job = nil
	return d
}

// look begins to look at a job.
func (pl *plan) look(job *federation.Job) {
	pl.at.job = job
	if pl.watch != nil {
		pl.watch(job)
	}
}

// begin starts a new plan: it gives back all that the last one took, then lets the jobs that the sites already have hold nodes.
func (pl *plan) begin() {
	pl.run++
	pl.changes, pl.places = 0, pl.places[:0]
	for _, st := range pl.sites {
		st.backlog, st.among, st.claimed, st.spent, st.waiting, st.returns, st.starts, st.press = 0, 0, 0, nil, st.waiting[:0], st.returns[:0], st.starts[:0], nil
		st.deep = pl.depth(st)
		clear(st.holders)
		st.now, st.run = pl.now, pl.run
		if st.kept != nil {
			st.kept.release(pl.now, pl.run)
		}
	}
	for _, st := range pl.sites {
		pl.holdBound(st)
	}
	pl.at = looking{}
}

// holdBound gives nodes to the jobs that were bound to a site and have not been seen to run. They come first.
func (pl *plan) holdBound(st *siteState) {
	if st.model == nil {
		return
	}
	for _, b := range st.held() {
		pl.look(b.Job)
		if b.Preempt != nil {
			st.vacateFor(b.Preempt)
			pl.awaits(st, b.Preempt)
		}
		sh := pl.shapeOfJob(b.Job, nil, nil)
		var best *candidate
		var at moment
		for _, c := range sh.candidates {
			if c.site != st || b.Partition != "" && c.parts == nil && st.model.pools[c.pool].Partition != b.Partition {
				continue
			}
			m := c.moment(pl)
			if best == nil || m.now() && !at.now() || m.now() == at.now() && m.start < at.start {
				best, at = c, m
			}
		}
		if best == nil {
			st.queueUp(b.Job)
			continue
		}
		if at.now() {
			best.commit(&at, pl)
			continue
		}
		if at.start != never {
			st.starts = append(st.starts, heldStart{b.Job.ID, at.start})
		}
		if st.backlog < maxHeld {
			pl.reserve(best)
		}
		best.queueUp(b.Job)
		if best.wide() {
			st.waiting.add(best)
		}
	}
}

// maxHeld bounds the bound jobs that reserve nodes at a site: each costs a look at all nodes of its pool.
const maxHeld = 64

// decide decides about a job and takes what it gets. It reports whether anything was taken.
func (pl *plan) decide(q *queued) (f *fate, took bool) {
	sh := q.shape
	if sh.run != pl.run {
		sh.run, sh.rests, sh.offers, sh.made, sh.last = pl.run, nil, nil, made{}, nil
	}
	if sh.rests != nil && sh.lasts(pl) && !(sh.early != nil && sh.early.mayQueueUp(q.job)) {
		// Less is free than when the job before it was looked at, and nothing else has changed where it would start first.
		return sh.rests, false
	}
	if q.refused {
		pl.comesBack(q)
	}
	best, at := pl.best(sh)
	if best == nil {
		return pl.rest(sh, nil, waitReason(sh.rejections), nil), false
	}
	pl.chosen = best
	offers := pl.offersOf(sh, best, &at)
	if at.now() {
		best.commit(&at, pl)
		return pl.fate(sh, binds, "", offers), true
	}
	if f := pl.preempt(q, best, &at); f != nil {
		return f, true
	}
	free, shared := best.site.capacity(), best.shared()
	busy := !shared && pl.keepsBusy(best)
	early := (shared || busy || pl.soon(at.start) && !best.site.returns.has(best)) && best.mayQueueUp(q.job)
	if full := free.reserve[best.pool] >= pl.policy.Reservations; !early && (full || at.start == never) { // who is not known to start holds no nodes
		reason := pl.waitsFor(best, at.start)
		if full {
			reason = reasons.Priority
		}
		f := pl.rest(sh, best, reason, offers)
		if shared || len(best.site.site.AccountBacklog) > 0 { // another account may
			sh.early = best
		}
		return f, false
	}
	start, nodes := pl.reserve(best)
	if near := busy || pl.soon(start); early && (near || shared) {
		best.queueUp(q.job)
		kind := binds
		if !near {
			kind = queues
		}
		return pl.fate(sh, kind, "", offers), true
	}
	free.reserve[best.pool]++
	best.site.waiting.add(best)
	if best.wide() && len(nodes) > 1 && start != never {
		pl.places = append(pl.places, heldPlace{q, best, start, slices.Sorted(slices.Values(nodes))})
	}
	return pl.fate(sh, waits, pl.waitsFor(best, start), offers), true
}

// waitsFor says what a job waits for that is to start on a candidate's nodes then: a maintenance that it would run into now, or nodes.
func (pl *plan) waitsFor(c *candidate, start int64) reasons.Reason {
	m := c.site.model
	if c.parts != nil || !m.reserved {
		return reasons.Resources
	}
	end := endAt(pl.now, c.limit)
	for i := range m.obs.Reservations {
		r := &m.obs.Reservations[i]
		over := !r.End.IsZero() && unix(r.End) <= start // it starts when this is over
		if r.Maint && unix(r.Start) < end && unix(r.End) > pl.now && over && r.Name != c.fits[0].reservation && m.touches(c.pool, r.Name) {
			return reasons.Maintenance
		}
	}
	return reasons.Resources
}

// rest is what becomes of a job that gets nothing, and of those of its shape behind it. If it waits for a candidate alone, as most do, that holds until somebody claims nodes of
// the candidate's site: claims elsewhere only make everything else more expensive. Otherwise it holds until anybody claims anything.
func (pl *plan) rest(sh *shape, best *candidate, reason reasons.Reason, offers *offers) *fate {
	sh.changes, sh.early, sh.restsAt = pl.changes, nil, nil
	if best != nil && best.parts == nil && best.queue == nil && !sh.choice && pl.preempting == nil {
		sh.restsAt = best.site
	}
	sh.rests = pl.fate(sh, waits, reason, offers)
	return sh.rests
}

// lasts reports whether rests holds still.
func (sh *shape) lasts(pl *plan) bool {
	if sh.changes == pl.changes {
		return true
	}
	if sh.restsAt == nil || sh.restsAt.claimed > sh.changes {
		return false
	}
	sh.changes = pl.changes
	return true
}

// idle is what becomes of any job of the shape now; nil if that is to be worked out.
func (sh *shape) idle(pl *plan) *fate {
	if sh.run != pl.run || !sh.lasts(pl) || sh.early != nil && sh.early.left() > 0 {
		return nil
	}
	return sh.rests
}

// fate is what becomes of one of the shape's jobs: the last one's if it is the same.
func (pl *plan) fate(sh *shape, kind fateKind, reason reasons.Reason, offers *offers) *fate {
	l := sh.last
	if l == nil || l.kind != kind || l.reason != reason || l.offers != offers {
		l = &fate{kind: kind, reason: reason, word: pl.number(string(reason)), offers: offers, rejections: sh.rejections}
		sh.last = l
	}
	return l
}

// sameSlice reports whether two slices are one.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// keepsBusy reports whether a small job should wait at the site because enough of what runs there is about to end: limits say
// when at the latest, most jobs end long before, and how many do the site has shown. It must not run in front of a job that holds such nodes in time.
func (pl *plan) keepsBusy(c *candidate) bool {
	if c.left() <= 0 || c.wide() || c.site.waiting.has(c) || c.site.returns.has(c) {
		return false
	}
	if c.site.alone() < c.site.site.Ahead {
		return true
	}
	ahead := int64(pl.policy.BindAhead / time.Second)
	return float64(c.site.alone()+1) <= c.site.capacity().turnover(&c.curs[0], &c.fits[0], ahead)
}

// best finds the cheapest candidate. They are sorted by what running costs, and waiting costs nothing or more: so the search
// ends at the first one that costs more to run than the best so far does in all. It begins behind the candidates that are known to be full.
func (pl *plan) best(sh *shape) (*candidate, moment) {
	f := &sh.full
	if f.run != pl.run || f.changes != pl.changes {
		*f = full{run: pl.run, changes: pl.changes}
	}
	best, bestAt, first := f.best, f.at, f.n
	pl.seen.begin(sh, first)
	deadline := sh.deadline()
	for i := first; i < len(sh.candidates); i++ {
		q, c := &sh.quoted[i], sh.candidates[i]
		if best != nil && (q.fixed > bestAt.total || q.fixed == bestAt.total && bestAt.span.Left == 0 && best.inUse() == 0) && best.inTime(&bestAt, pl, deadline) {
			break
		}
		total, _, waits := q.total(c, pl)
		if waits && best != nil && (q.vain == best.cut.vain && total >= bestAt.total || q.vain && !best.cut.vain) {
			pl.seen.quote(total)
		} else {
			at := pl.seen.add(pl.momentOf(sh, i))
			if len(at.nodes) == 1 && sh.rivals(i) {
				at.span.Left = c.site.capacity().breaks(at.nodes[0], &c.fits[at.fit])
			}
			if c.beats(at, best, &bestAt, pl, deadline) {
				best, bestAt = c, *at
			}
			waits = !at.now() && c.parts == nil && c.most == nil && !c.choice
		}
		if f.n == i && waits {
			if f.n++; f.best != best { // a moment is large, and there are many candidates
				f.best, f.at = best, bestAt
			}
		}
	}
	return best, bestAt
}

// rivals reports whether one of a shape's candidates costs as much to run as the one before it or behind it.
func (sh *shape) rivals(i int) bool {
	all := sh.quoted
	return i > 0 && all[i-1].fixed == all[i].fixed || i+1 < len(all) && all[i+1].fixed == all[i].fixed
}

// tidier reports whether a gang leaves fewer nodes over on its leaves than where it costs the same, or a job on one node breaks into none that is free: that keeps larger
// holes for others.
func (at *moment) tidier(than *moment) bool {
	return at.free && than.free && at.span.Left < than.span.Left
}

// full says how many of a shape's first candidates can start nothing more in this plan, and which of those is best. It holds until nodes are claimed.
type full struct {
	run, changes int
	n            int
	best         *candidate
	at           moment
}

// reserve claims the nodes on which a waiting job will start and returns them, and when that is; never, and no claim, if nothing says when. They are not to be changed.
func (pl *plan) reserve(c *candidate) (start int64, nodes []int32) {
	free := c.site.capacity()
	pl.changes++
	c.site.claimed = pl.changes
	if c.parts != nil {
		return c.reserveParts()
	}
	best := -1
	start = never
	for i := range c.fits {
		if t, on := free.earliest(&c.curs[i], &c.fits[i], c.key(free, i), c.limit); t < start {
			start, nodes, best = t, on, i
		}
	}
	if best >= 0 {
		free.claim(nodes, &c.fits[best], start, endAt(start, c.limit))
	}
	return start, nodes
}

func endAt(start int64, limit time.Duration) int64 {
	if limit == sbatch.Unlimited || start == never {
		return never
	}
	return start + int64(limit/time.Second)
}
