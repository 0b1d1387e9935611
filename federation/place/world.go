package place

import (
	"iter"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

// World is [Plan] with a memory. It is told what has changed (the Set methods, Drop, Claim, Release) and plans only what that touches; whatever
// the order in which it was told, its plan is that of a new World of the same content. It must not be used by two goroutines at a time.
//
// By itself it keeps the queue, in order. All else is kept by what it is made of: the sites ([members]), which jobs are alike ([likeness]), what the plan has
// decided ([plan]), and how far down the queue it has come ([progress]).
type World struct {
	plan
	progress progress
	rooms    rooms

	queue     jobQueue // in the order in which jobs are looked at
	index     index
	groups    groups                      // of the jobs
	predicted map[*decision.Expected]bool // see Predict
}

// NewWorld returns a World without sites and jobs.
func NewWorld(p Policy, seed uint64) *World { return newEmptyWorld(p, seed, 512) }

// newEmptyWorld is NewWorld with tables for that number of kinds of jobs.
func newEmptyWorld(p Policy, seed uint64, table int) *World {
	w := &World{groups: groups{order: priorities(ofJob)}}
	w.policy, w.seed, w.version = p.withDefaults(), seed, 1
	w.words, w.refused = map[string]word{}, map[federation.JobID]map[federation.SiteName]decision.Rejection{}
	w.in, w.index.queue = &w.members, &w.queue
	w.progress = progress{plan: &w.plan, queue: &w.queue, stale: true}
	w.guarantees.queue, w.queue.groups, w.guarantees.waiting.groups = &w.queue, &w.groups, &w.groups
	w.likeness.forget(table)
	return w
}

func newWorldOf(s *federation.Snapshot, p Policy) *World {
	w := newEmptyWorld(p, s.Seed, min(len(s.Jobs)+1, 512))
	w.groups.counts = make([]int64, 1)
	w.SetTime(s.Now)
	w.preempting = s.Preempting
	for _, site := range s.Sites {
		w.SetSite(site)
	}
	all := make([]queued, len(s.Jobs))
	queue := make([]*queued, len(s.Jobs))
	for i, job := range s.Jobs {
		queue[i] = &all[i]
		all[i].job, all[i].userGroup, all[i].turn = job, stranger, turn{priority: -int64(i), place: job.ID} // the order is theirs
		if r := s.Refused[job.ID]; len(r) > 0 {
			all[i].refused, w.refused[job.ID] = true, r
		}
	}
	w.queue.fill(queue)
	if s.Guarantees != nil {
		w.SetGuarantees(s.Guarantees)
	}
	return w
}

// SetTime tells the time.
func (w *World) SetTime(now time.Time) {
	w.progress.stale = w.setTime(now) || w.progress.stale
}

// SetSite tells of a site that is new or has changed: what it says of itself, whether it answers, its prices. Jobs in its Bound are held there beside those
// that were claimed. The value is not changed afterwards.
func (w *World) SetSite(s *federation.Site) {
	st, was, alike := w.put(s)
	if was == nil {
		w.progress.stale = true
		return
	}
	w.noteLimits(st, was.Limited, s.Limited)
	w.progress.stale = w.progress.stale || was.Outlook != s.Outlook
	if !alike || was.Backlog != s.Backlog || !maps.Equal(was.AccountBacklog, s.AccountBacklog) || was.Ahead != s.Ahead || !slices.Equal(was.Bound, s.Bound) {
		w.progress.stale, st.bound = true, nil
		w.news++
	}
}

// KeepSites tells which sites are members still: all others are dropped, and what they hold.
func (w *World) KeepSites(keep func(federation.SiteName) bool) {
	w.progress.stale = w.keep(keep) || w.progress.stale
}

// Claim tells that a job was given to a site, or that the number of an array's tasks that may still start there has changed. The units that the site's observation
// does not show as running wait there.
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

// rebound notes that a site holds a job, of which at most that number of units may wait there, in another way: nothing has changed if all of them are seen to run.
func (w *World) rebound(st *siteState, id federation.JobID, units int) {
	if w.progress.stale || units > st.running(id) {
		w.progress.stale, st.bound = true, nil
		w.news++
	}
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
	s := federation.Snapshot{Now: w.clock, Seed: w.seed, Preempting: w.preempting, Guarantees: w.guarantees.of}
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
	return w.progress.stale
}

// Watch calls f with each job before it is looked at. Tests let it panic: whatever is half done then, the next plan is right.
func (w *World) Watch(f func(*federation.Job)) { w.watch = f }

// forgetLikeness makes the next plan look at every job as if it were the first.
func (w *World) forgetLikeness() {
	w.likeness.forget(len(w.recent))
	for p := range w.queue.chunks() {
		p.quiet, p.run = false, 0
		for _, q := range p.jobs {
			q.userGroup = stranger
		}
	}
	w.progress.stale = true
}

// read takes up what the sites say of themselves.
func (w *World) read() {
	for _, st := range w.sites {
		w.readSite(st)
	}
	// Kinds of jobs are forgotten too when many more are known than there are jobs to be of them.
	if n := len(w.userGroups); w.outdated() || n > 4096 && n > 2*w.queue.n {
		w.forgetLikeness()
	}
	w.progress.stale = w.relimit(w.withRefusals()) || w.progress.stale
	w.at = looking{}
}

// withRefusals are the jobs of the queue that some site has refused.
func (w *World) withRefusals() iter.Seq[*queued] {
	return func(yield func(*queued) bool) {
		for id := range w.refused {
			if q := w.index.of(id); q != nil && !yield(q) {
				return
			}
		}
	}
}

func (w *World) readSite(st *siteState) {
	if st.site.Seen == st.read {
		return
	}
	w.at = looking{site: st.site.Name}
	w.progress.stale = w.takeUp(st, w.run) || w.progress.stale
	w.at = looking{}
}
