package place

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// Plan decides where each pending job of s should run. It reads nothing but its arguments, so the same input gives the same
// Plan. Whoever plans again and again over the same observations is faster with a [Planner].
func Plan(s federation.Snapshot, p Policy) federation.Plan {
	return new(Planner).Plan(s, p)
}

// Planner is [Plan] with a memory of what the observations mean: it reads each one once. It must not be used by two
// goroutines at a time. The zero Planner is ready for use.
type Planner struct {
	models map[*federation.Observation]*model
	at     looking
}

// Plan is the function [Plan]; the memory changes nothing but the time it takes.
func (k *Planner) Plan(s federation.Snapshot, p Policy) federation.Plan {
	return k.start(&s, p.withDefaults()).run()
}

// run makes the plan: first what the sites hold already, then job after job.
func (pl *planner) run() federation.Plan {
	s := pl.s
	for _, st := range pl.sites {
		pl.holdBound(st)
	}
	plan := federation.Plan{Decisions: make([]federation.Decision, 0, min(len(s.Jobs), pl.policy.MaxLook))}
	bound := 0
	for _, job := range s.Jobs {
		if len(plan.Decisions) == pl.policy.MaxLook || bound == pl.policy.MaxBind {
			break
		}
		pl.at.job = job.ID
		d := pl.decide(job)
		if d.Bind {
			bound++
		}
		plan.Decisions = append(plan.Decisions, d)
	}
	return plan
}

// planner is the work on one plan.
type planner struct {
	s       *federation.Snapshot
	at      *looking
	policy  Policy
	now     int64 // s.Now in Unix seconds
	sites   []*siteState
	shapes  map[shapeKey]*shape
	recent  []recentShape
	classes map[who]int
	mores   map[sbatch.More]int
	named   map[string]int // class by what tells it from the others
	demands map[string]int // see classOfDemand
	apart   bool           // some site does not share the submit hosts' file systems
	known   []recentClass
	changes int // counts claims at all sites
}

// siteState is a site while a plan is being made.
type siteState struct {
	site    *federation.Site
	model   *model    // nil: never seen
	books   *capacity // see capacity
	now     int64
	limit   int // jobs of ours that may wait there
	backlog int // jobs of ours that do
	waiting int // jobs of our queue that hold nodes there in time

	bound map[*federation.Partition][]federation.Money // of their allowances, by jobs of this plan

	ties []uint64 // by pool: settles which comes first of two that cost the same
}

// tie returns a pool's number among equals, which the seed decides.
func (st *siteState) tie(pool int, seed uint64) uint64 {
	if st.ties == nil {
		st.ties = make([]uint64, len(st.model.pools))
		for p := range st.ties {
			h := fnv.New64a()
			fmt.Fprint(h, seed, "\x00", st.site.Name, "\x00", st.model.pools[p].Name)
			st.ties[p] = h.Sum64()
		}
	}
	return st.ties[pool]
}

// capacity returns what is free at the site; a site that no job looks at costs nothing.
func (st *siteState) capacity() *capacity {
	if st.books == nil {
		st.books = newCapacity(st.model, st.now)
	}
	return st.books
}

func (k *Planner) start(s *federation.Snapshot, p Policy) *planner {
	pl := &planner{s: s, at: &k.at, policy: p, now: s.Now.Unix(), shapes: map[shapeKey]*shape{}, classes: map[who]int{}, mores: map[sbatch.More]int{}, named: map[string]int{},
		demands: map[string]int{}}
	table := min(len(s.Jobs)+1, 512)
	pl.recent, pl.known = make([]recentShape, table), make([]recentClass, table)
	models := make(map[*federation.Observation]*model, len(s.Sites))
	for _, site := range s.Sites {
		st := &siteState{site: site, now: pl.now, limit: p.Backlog}
		if site.Backlog > 0 {
			st.limit = site.Backlog
		}
		if site.Seen != nil {
			k.at = looking{site: site.Name}
			m := k.models[site.Seen]
			if m == nil {
				m = newModel(site)
			}
			models[site.Seen] = m
			st.model = m
		}
		pl.apart = pl.apart || site.FileSystems != nil
		pl.sites = append(pl.sites, st)
	}
	k.models, k.at = models, looking{}
	return pl
}

// holdBound gives nodes to the jobs that a site has been given already and that have not been seen to run: they come first.
func (pl *planner) holdBound(st *siteState) {
	if st.model == nil || len(st.site.Bound) == 0 {
		return
	}
	bound := slices.Clone(st.site.Bound)
	slices.SortStableFunc(bound, func(a, b federation.Bound) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Job.ID, b.Job.ID))
	})
	for _, b := range bound {
		pl.at.job = b.Job.ID
		sh := pl.shapeOfJob(b.Job)
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
			st.backlog++
			continue
		}
		units, started := min(max(b.Units, 1), sh.ask.width), 0
		if at.now() {
			started = best.commit(&at, units, pl)
		}
		if started < units {
			if st.backlog < maxHeld {
				pl.reserve(best)
			}
			st.backlog++
			if best.wide() {
				st.waiting++
			}
		}
	}
}

// maxHeld bounds the jobs that hold nodes in time for waiting at a site already: each costs a look at all nodes of its pool.
const maxHeld = 64

// decide settles one job and takes what it gets.
func (pl *planner) decide(job *federation.Job) federation.Decision {
	sh := pl.shapeOfJob(job)
	if sh.waits && sh.changes == pl.changes {
		// Less is free than when the job before it was looked at, and nothing else has changed.
		return federation.Decision{Job: job.ID, Reason: federation.ReasonPriority, Offers: sh.offers, Rejections: sh.rejections}
	}
	d := federation.Decision{Job: job.ID, Rejections: sh.rejections}
	best, at := pl.best(sh)
	if best == nil {
		d.Reason = waitReason(sh.rejections)
		return d
	}
	d.Offers = pl.offersOf(sh, best, &at)
	if best.site.model.obs.TasksOnly && job.Spec.Array != "" && job.Part == nil {
		d.Spread, d.Reason = true, federation.ReasonPriority
		return d
	}
	if sh.ask.width > 1 && (!at.now() || at.units < sh.ask.width) && sh.manySites() {
		d.Spread, d.Reason = true, federation.ReasonPriority
		return d
	}
	if at.now() {
		best.commit(&at, sh.ask.width, pl)
		d.Bind = true
		return d
	}
	free := best.site.capacity()
	busy := pl.keepsBusy(best)
	early := best.site.backlog < best.site.limit && (busy || pl.soon(at.start))
	if !early && free.reserve[best.pool] >= pl.policy.Reservations {
		sh.waits, sh.changes = true, pl.changes
		d.Reason = federation.ReasonPriority
		return d
	}
	if start := pl.reserve(best); early && (busy || pl.soon(start)) {
		best.site.backlog++
		d.Bind = true
		return d
	}
	free.reserve[best.pool]++
	best.site.waiting++
	d.Reason = federation.ReasonResources
	return d
}

// manySites reports whether more than one site can run the job.
func (sh *shape) manySites() bool {
	return slices.ContainsFunc(sh.candidates, func(c *candidate) bool { return c.site != sh.candidates[0].site })
}

// soon reports whether a job that starts then may wait at the site: late binding wants no more there than keeps it busy.
func (pl *planner) soon(start int64) bool {
	return start != never && time.Duration(start-pl.now)*time.Second <= pl.policy.BindAhead
}

// keepsBusy reports whether a small job should wait at the site because enough of what runs there is about to end: limits say
// when at the latest, most jobs end long before. It must not run in front of a job that holds nodes in time there.
func (pl *planner) keepsBusy(c *candidate) bool {
	if c.site.waiting > 0 || c.site.backlog >= c.site.limit || c.ask.units > 1 || c.wide() {
		return false
	}
	ahead := int64(pl.policy.BindAhead / time.Second)
	return float64(c.site.backlog+1) <= c.site.capacity().turnover(&c.curs[0], &c.fits[0], ahead)
}

// best finds the cheapest candidate. They are sorted by what running costs, and waiting costs nothing or more: so the search
// ends at the first one that costs more to run than the best so far does in all.
func (pl *planner) best(sh *shape) (*candidate, moment) {
	var best *candidate
	var bestAt moment
	for _, c := range sh.candidates {
		if best != nil && c.fixed >= bestAt.total {
			break
		}
		at := c.moment(pl)
		if best == nil || at.total < bestAt.total {
			best, bestAt = c, at
		}
	}
	return best, bestAt
}

// reserve claims the nodes on which a waiting job will start and returns when that is; never, and no claim, if nothing says when.
func (pl *planner) reserve(c *candidate) int64 {
	free := c.site.capacity()
	pl.changes++
	if c.parts != nil {
		return c.reserveParts()
	}
	start, best := never, -1
	var nodes []int32
	for i := range c.fits {
		if t, on := free.earliest(&c.curs[i], &c.fits[i], c.limit); t < start {
			start, nodes, best = t, on, i
		}
	}
	if best >= 0 {
		free.claim(nodes, &c.fits[best], start, endAt(start, c.limit))
	}
	return start
}

func endAt(start int64, limit time.Duration) int64 {
	if limit == sbatch.Unlimited || start == never {
		return never
	}
	return start + int64(limit/time.Second)
}

// offersOf returns the offers for a job of a shape, the chosen one first. Jobs that are decided alike share them.
func (pl *planner) offersOf(sh *shape, best *candidate, at *moment) []federation.Offer {
	made := made{best, at.start, at.units, at.boot}
	if sh.offers != nil && sh.made == made && best.parts == nil {
		return sh.offers
	}
	offers := []federation.Offer{best.offer(at, pl)}
	for _, c := range sh.candidates {
		if c != best {
			other := c.moment(pl)
			offers = append(offers, c.offer(&other, pl))
		}
	}
	slices.SortStableFunc(offers[1:], func(a, b federation.Offer) int { return cmp.Compare(a.Total, b.Total) })
	sh.offers, sh.made = offers, made
	return offers
}

// Judge tells which pools could run a job, one day, and why the others never will: what [Refusal] needs, and cheap, for it
// does not look at what is free. The offers say nothing of when, and cost nothing for waiting.
func (k *Planner) Judge(s federation.Snapshot, p Policy, job *federation.Job) federation.Decision {
	pl := k.start(&s, p.withDefaults())
	pl.at.job = job.ID
	sh := pl.shapeOfJob(job)
	d := federation.Decision{Job: job.ID, Reason: federation.ReasonNone, Rejections: sh.rejections}
	for _, c := range sh.candidates {
		at := moment{start: pl.now, units: sh.ask.width}
		c.weigh(&at, pl)
		d.Offers = append(d.Offers, c.offer(&at, pl))
	}
	if len(d.Offers) == 0 {
		d.Reason = waitReason(sh.rejections)
	}
	return d
}
