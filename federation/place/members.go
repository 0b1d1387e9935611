package place

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"fsub/federation"
)

// members are the sites, as they are known, and the terms by which they judge who can run where. Whatever changes a verdict of a site gives it, and all of them, a new version: a shape
// that was judged at the same version need not be judged again. Whatever changes what users may do there, but for limits, counts as grants: see likeness. members know of no
// queue and no plan; what they are told is reported to have changed if a plan may come out otherwise.
type members struct {
	policy Policy
	seed   uint64
	clock  time.Time
	now    int64 // clock in Unix seconds

	sites   []*siteState // by name
	version int          // counts changes of sites that matter to who can run where
	grants  int          // counts changes of what users may do at sites
	news    int          // counts changes of what runs and waits at sites
	apart   bool         // some site does not share the submit hosts' file systems
}

// changed notes that a site judges in another way.
func (ms *members) changed(st *siteState) {
	ms.version++
	st.version = ms.version
}

// setTime tells the time.
func (ms *members) setTime(now time.Time) (changed bool) {
	if ms.clock.Equal(now) {
		return false
	}
	ms.clock, ms.now = now, now.Unix()
	for _, st := range ms.sites {
		if st.timely {
			ms.changed(st)
		}
	}
	return true
}

// put takes in what a site says of itself, and returns it with what it said before: nil if it is new. It reports whether it judges alike.
func (ms *members) put(s *federation.Site) (st *siteState, was *federation.Site, alike bool) {
	i, ok := slices.BinarySearchFunc(ms.sites, s.Name, func(st *siteState, name federation.SiteName) int { return cmp.Compare(st.site.Name, name) })
	if !ok {
		ms.sites = slices.Insert(ms.sites, i, new(siteState))
	}
	st = ms.sites[i]
	was, st.site, st.shown = st.site, s, nil
	st.limit = cmp.Or(max(s.Backlog, 0), max(ms.policy.Backlog, s.Ahead))
	if was == nil || !sameRights(was, s) {
		ms.grants++
		ms.setApart()
	}
	if alike = was != nil && judgedAlike(was, s); !alike {
		ms.changed(st)
	}
	return st, was, alike
}

// keep drops all sites but those.
func (ms *members) keep(those func(federation.SiteName) bool) (changed bool) {
	n := len(ms.sites)
	ms.sites = slices.DeleteFunc(ms.sites, func(st *siteState) bool { return !those(st.site.Name) })
	if len(ms.sites) == n {
		return false
	}
	ms.version++
	ms.grants++
	ms.setApart()
	return true
}

func (ms *members) setApart() {
	ms.apart = slices.ContainsFunc(ms.sites, func(st *siteState) bool { return st.site.FileSystems != nil })
}

// takeUp reads a site's newest observation. What is free there is as before the plan of that number, if anything has changed.
func (ms *members) takeUp(st *siteState, run int) (changed bool) {
	seen, old, held := st.site.Seen, st.read, st.bound
	next, f := st.model.follow(seen)
	if next == nil && seen != nil {
		next, f, st.kept = newModel(st.site), followed{judged: true}, nil
	}
	switch {
	case st.kept == nil || next == nil:
		st.kept = nil
	case len(f.nodes) == 0: // the plan goes on
		st.kept.adopt(next)
	default:
		st.kept.release(ms.now, run)
		st.kept.follow(next, f.nodes)
	}
	if shared := sharedPools(next); !slices.Equal(shared, st.shared) {
		st.shared, changed = shared, true
	}
	var first map[string][]turned
	st.expected = nil
	if st.shared != nil {
		first, st.expected = turnedOf(next), expectedOf(next)
	}
	if !maps.EqualFunc(first, st.first, slices.Equal) {
		st.first, changed = first, true
	}
	deep := ms.depth(st)
	st.crowd = waitersOf(next)
	changed = changed || st.shared != nil && ms.depth(st) != deep
	if f.judged || next == nil {
		ms.changed(st)
		st.ties, st.timely, changed = nil, next.timely(), true
	}
	if old == nil || seen == nil || !sameRightsSeen(old, seen) {
		ms.grants++
	}
	st.model, st.read, st.bound, st.inUse = next, seen, nil, nil
	if changed = changed || len(f.nodes) > 0 || !slices.Equal(held, st.held()); changed {
		ms.news++
	}
	return changed
}

// unlearn forgets what was made of all observations: they are read again.
func (ms *members) unlearn() {
	for _, st := range ms.sites {
		st.model, st.read, st.kept = nil, nil, nil
		ms.changed(st)
	}
}

func (ms *members) site(name federation.SiteName) *siteState {
	i, ok := slices.BinarySearchFunc(ms.sites, name, func(st *siteState, name federation.SiteName) int { return cmp.Compare(st.site.Name, name) })
	if !ok {
		return nil
	}
	return ms.sites[i]
}

// waitUntil is how long a job waits that starts then.
func (ms *members) waitUntil(start int64) time.Duration {
	if start == never {
		return ms.policy.FarWait
	}
	return time.Duration(start-ms.now) * time.Second
}

// soon reports whether a job with that start may wait at the site. Late binding keeps no more there than is needed to keep it busy.
func (ms *members) soon(start int64) bool {
	return start != never && time.Duration(start-ms.now)*time.Second <= ms.policy.BindAhead
}

// dropsSwitches reports whether a job has waited long enough for its --switches.
func (ms *members) dropsSwitches(job *federation.Job) bool {
	if job.Spec.Switches == 0 || job.Submit.IsZero() {
		return false
	}
	patience := job.Spec.SwitchesWait
	if patience <= 0 {
		patience = ms.policy.SwitchesWait
	}
	return ms.clock.Sub(job.Submit) >= patience
}
