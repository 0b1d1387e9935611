package place

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"fsub/federation"
)

// World is [Plan] with a memory. It is told what has changed (the Set methods, Drop, Claim, Release) and plans only what that touches; whatever
// the order in which it was told, its plan is that of a new World of the same content. It must not be used by two goroutines at a time.
//
// What it remembers between plans: of each site the model of its newest observation and what is free there; which sites can run jobs of
// each kind (a [shape]), and why the others cannot; the queue, in order.
type World struct {
	policy   Policy
	seed     uint64
	priority func(*federation.Job) int64 // see Priority
	clock    time.Time
	now      int64 // clock in Unix seconds
	at       looking
	watch    func(*federation.Job)
	onStart  func(*federation.Job, federation.SiteName, federation.RunningJob)

	preempting *federation.Preempting // nil: nobody is preempted

	sites   []*siteState // by name
	version int          // counts changes of sites that matter to who can run where
	apart   bool         // some site does not share the submit hosts' file systems

	queue   line                                                              // in the order in which jobs are looked at
	byID    map[federation.JobID]*queued                                      // nil until it is asked for
	refused map[federation.JobID]map[federation.SiteName]federation.Rejection // of jobs in the queue
	words   map[string]word
	fresh   []*queued // of these, those that are new since the last plan, and stand before others that it is about

	// Jobs that are alike; see shape.go and class.go.
	shapes  map[shapeKey]*shape
	needs   map[string]*need // by a likeness without time limits
	recent  []recentShape
	classes map[who]int
	named   map[string]int // class by what tells it from the others
	beside  map[string]int // see classApart
	known   []recentClass
	others  bool // jobs may be alike that were not, or the other way round

	// The plan.
	stale   bool      // it must be made anew
	run     int       // its number
	changes int       // counts claims at all sites
	looked  int       // jobs of the queue that it is about: the first ones ...
	edge    *queued   // ... up to this one, which may be gone; nil: none
	bound   int       // of them, those that are bound
	took    *queued   // the last of them that took anything; those behind it change nothing
	anew    bool      // Decide has not been asked since it was made
	acts    []*queued // those to be bound or spread, of which Decide has told
	news    []*queued // those that may have another fate than Decide has told
}

// NewWorld returns a World without sites and jobs.
func NewWorld(p Policy, seed uint64) *World {
	w := &World{policy: p.withDefaults(), seed: seed, priority: Priority, stale: true, version: 1, words: map[string]word{}, refused: map[federation.JobID]map[federation.SiteName]federation.Rejection{}}
	w.forget(512)
	return w
}

func newWorldOf(s *federation.Snapshot, p Policy) *World {
	w := &World{policy: p.withDefaults(), seed: s.Seed, priority: Priority, stale: true, version: 1, words: map[string]word{}, refused: map[federation.JobID]map[federation.SiteName]federation.Rejection{}}
	w.forget(min(len(s.Jobs)+1, 512))
	w.SetTime(s.Now)
	w.preempting = s.Preempting
	for _, site := range s.Sites {
		w.SetSite(site)
	}
	all := make([]queued, len(s.Jobs))
	queue := make([]*queued, len(s.Jobs))
	for i, job := range s.Jobs {
		queue[i] = &all[i]
		all[i].job, all[i].turn = job, turn{place: job.ID}
		if r := s.Refused[job.ID]; len(r) > 0 {
			all[i].refused, w.refused[job.ID] = true, r
		}
	}
	w.queue = lineOf(queue)
	return w
}

// SetTime tells the time.
func (w *World) SetTime(now time.Time) {
	if w.clock.Equal(now) {
		return
	}
	w.clock, w.now, w.stale = now, now.Unix(), true
	for _, st := range w.sites {
		if st.timely {
			w.version++
			st.version = w.version
		}
	}
}

// SetSite tells of a site that is new or has changed: what it says of itself, whether it answers, its prices. Jobs in its Bound are held there beside those
// that were claimed. The value is not changed afterwards.
func (w *World) SetSite(s *federation.Site) {
	i, ok := slices.BinarySearchFunc(w.sites, s.Name, func(st *siteState, name federation.SiteName) int { return cmp.Compare(st.site.Name, name) })
	if !ok {
		w.version++
		w.sites = slices.Insert(w.sites, i, &siteState{version: w.version})
		w.others = true
	}
	st := w.sites[i]
	old := st.site
	st.site, st.shown = s, nil
	st.limit = cmp.Or(max(s.Backlog, 0), max(w.policy.Backlog, s.Ahead))
	w.apart = w.apart || s.FileSystems != nil
	if old == nil {
		w.stale = true
		return
	}
	alike := judgedAlike(old, s)
	if !alike {
		w.version++
		st.version = w.version
	}
	if !sameRights(old, s) {
		w.apart = slices.ContainsFunc(w.sites, func(st *siteState) bool { return st.site.FileSystems != nil })
		w.others = true
	}
	w.stale = w.stale || old.Outlook != s.Outlook
	if !alike || old.Backlog != s.Backlog || old.Ahead != s.Ahead || !slices.Equal(old.Bound, s.Bound) {
		w.stale, st.bound = true, nil
	}
}

// KeepSites tells which sites are members still: all others are dropped, and what they hold.
func (w *World) KeepSites(keep func(federation.SiteName) bool) {
	n := len(w.sites)
	w.sites = slices.DeleteFunc(w.sites, func(st *siteState) bool { return !keep(st.site.Name) })
	if len(w.sites) < n {
		w.version++
		w.apart = slices.ContainsFunc(w.sites, func(st *siteState) bool { return st.site.FileSystems != nil })
		w.stale, w.others = true, true
	}
}

// Claim tells that a job was given to a site, or that of an array another number of tasks may run there still: whatever of it the site's observation does not show as
// running waits there.
func (w *World) Claim(site federation.SiteName, b federation.Bound) {
	st := w.site(site)
	if st == nil || st.claims[b.Job.ID] == b {
		return
	}
	if st.claims == nil {
		st.claims = map[federation.JobID]federation.Bound{}
	}
	old := st.claims[b.Job.ID]
	st.claims[b.Job.ID], st.shown = b, nil
	w.rebound(st, b.Job.ID, max(old.Units, b.Units))
}

// Release tells that a site does not have a job any more.
func (w *World) Release(site federation.SiteName, id federation.JobID) {
	st := w.site(site)
	if st == nil || st.claims[id].Job == nil {
		return
	}
	units := st.claims[id].Units
	delete(st.claims, id)
	st.shown = nil
	w.rebound(st, id, units)
}

// rebound notes that a site holds a job, of which so many units at most may wait there, in another way: nothing has changed if all of them are seen to run.
func (w *World) rebound(st *siteState, id federation.JobID, units int) {
	if w.stale || units > st.running(id) {
		w.stale, st.bound = true, nil
	}
}

func (w *World) site(name federation.SiteName) *siteState {
	i, ok := slices.BinarySearchFunc(w.sites, name, func(st *siteState, name federation.SiteName) int { return cmp.Compare(st.site.Name, name) })
	if !ok {
		return nil
	}
	return w.sites[i]
}

// Bound are the jobs that a site has and that its newest observation does not show as running, in the order in which they were given. The
// slice is not to be changed.
func (w *World) Bound(site federation.SiteName) []federation.Bound {
	st := w.site(site)
	if st == nil {
		return nil
	}
	if st.shown == nil {
		st.shown, _ = st.heldIn(st.site.Seen)
	}
	return st.shown
}

// Len is how many jobs are in the queue.
func (w *World) Len() int { return w.queue.n }

// Snapshot is what the World holds: Plan of it is its plan.
func (w *World) Snapshot() federation.Snapshot {
	s := federation.Snapshot{Now: w.clock, Seed: w.seed, Preempting: w.preempting}
	for _, st := range w.sites {
		w.readSite(st)
		site := *st.site
		site.Bound, site.Ours = st.held(), st.ours()
		s.Sites = append(s.Sites, &site)
	}
	for q := range w.queue.all() {
		s.Jobs = append(s.Jobs, q.job)
	}
	s.Refused = maps.Clone(w.refused)
	return s
}

// Whole reports whether the next plan looks at all jobs again, and not only at those that are new: then the time may be set at no cost.
func (w *World) Whole() bool {
	w.read()
	return w.stale
}

// Watch has f called with each job before it is looked at. Tests have it panic: whatever is half done then, the next plan is right.
func (w *World) Watch(f func(*federation.Job)) { w.watch = f }

// look begins to look at a job.
func (w *World) look(job *federation.Job) {
	w.at.job = job
	if w.watch != nil {
		w.watch(job)
	}
}

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

// forgetLikeness has every job looked at as if it were the first.
func (w *World) forgetLikeness() { w.forget(len(w.recent)) }

func (w *World) forget(table int) {
	w.shapes, w.needs, w.classes, w.named, w.beside = map[shapeKey]*shape{}, map[string]*need{}, map[who]int{}, map[string]int{}, map[string]int{}
	w.recent, w.known = make([]recentShape, table), make([]recentClass, table)
	w.others = false
	for q := range w.queue.all() {
		q.shape = nil
	}
	w.stale = true
}

// read takes up what the sites say of themselves.
func (w *World) read() {
	for _, st := range w.sites {
		w.readSite(st)
	}
	// Kinds of jobs are forgotten too when many more are known than there are jobs to be of them.
	if n := len(w.shapes); w.others || n > 4096 && n > 2*w.queue.n {
		w.forgetLikeness()
	}
	w.at = looking{}
}

func (w *World) readSite(st *siteState) {
	seen := st.site.Seen
	if seen == st.read {
		return
	}
	w.at = looking{site: st.site.Name}
	old, held := st.read, st.bound
	next, f := st.model.follow(seen)
	if next == nil && seen != nil {
		next, f = newModel(st.site), followed{judged: true}
	}
	switch {
	case st.books == nil:
	case f.free && len(f.nodes) == 0: // the plan goes on
		st.books.m = next
	case f.free:
		st.books.release(w.now, w.run)
		st.books.follow(next, f.nodes)
	default:
		st.books = nil
	}
	if shared := sharedPools(next); !slices.Equal(shared, st.shared) {
		st.shared, w.stale = shared, true
	}
	st.crowd = waitersOf(next)
	if f.judged || next == nil {
		w.version++
		st.version, st.ties, st.timely, w.stale = w.version, nil, next.timely(), true
	}
	w.others = w.others || old == nil || seen == nil || !sameRightsSeen(old, seen)
	st.model, st.read, st.bound = next, seen, nil
	w.stale = w.stale || len(f.nodes) > 0 || !slices.Equal(held, st.held())
	w.at = looking{}
}
