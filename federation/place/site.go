package place

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"fsub/federation"
)

// siteState is a site in a [World].
type siteState struct {
	site         *federation.Site
	model        *model                  // nil: never seen
	read         *federation.Observation // that model was made of
	version      int                     // of the World's sites when this one last changed for those who judge it
	timely       bool                    // what it can run depends on the time
	ties         []uint64                // by pool: settles which comes first of two that cost the same
	inUse        []float64               // by pool, see candidate.inUse; nil: to be worked out
	claims       map[federation.JobID]federation.Bound
	bound        []federation.Bound       // what holdBound goes through; nil: to be made
	runs         map[federation.JobID]int // see heldIn; of the observation that bound is made of
	shown        []federation.Bound       // see World.Bound; nil: to be made
	kept         *capacity                // between plans; see capacity
	press        []float64                // by pool: what a node-hour costs those who wait, in dollars; see shadowprice.go
	preemptibles *preemptibles            // see plan.preemptibles
	shared       []bool                   // by pool: others wait for its nodes; nil: for none
	crowd        waiters                  // see behind
	first        map[string][]turned      // see turnedAway
	expected     map[string][]expected    // see saidFirst

	// What follows is about one plan.
	run     int
	now     int64
	limit   int                                          // jobs of ours that may wait there for nodes that nobody else waits for
	deep    int                                          // ... and those that may where others wait, see depth
	backlog int                                          // jobs of ours that do
	among   int                                          // those of them that do where others wait
	claimed int                                          // how many claims there were at all sites when nodes were claimed here last
	holders holders                                      // whose those are, where others wait too
	waiting cellSet                                      // where jobs of our queue hold nodes in time
	returns cellSet                                      // where jobs may run that are about to come back to the queue, or here, and come before its others
	starts  []heldStart                                  // of the jobs that wait there, those that are known
	spent   map[*federation.Partition][]federation.Money // of their allowances, by jobs of this plan
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
	if st.kept == nil {
		st.kept = newCapacity(st.model, st.now, st.run)
	}
	return st.kept
}

// held are the jobs that the site has been given and that the observation which the plan is made of does not show as running, in the order in which they were given.
func (st *siteState) held() []federation.Bound {
	if st.bound == nil {
		st.bound, st.runs = st.heldIn(st.read)
	}
	return st.bound
}

// heldIn is held by an observation, and how often that shows each job that was claimed as running.
func (st *siteState) heldIn(obs *federation.Observation) (held []federation.Bound, runs map[federation.JobID]int) {
	held = append([]federation.Bound{}, st.site.Bound...)
	runs = make(map[federation.JobID]int, len(st.claims))
	for id := range st.claims {
		runs[id] = 0
	}
	if obs != nil && len(runs) > 0 {
		for i := range obs.Running {
			if n, ours := runs[obs.Running[i].Job]; ours {
				runs[obs.Running[i].Job] = n + 1
			}
		}
	}
	for id, b := range st.claims {
		if b.Units -= runs[id]; b.Units > 0 {
			held = append(held, b)
		}
	}
	slices.SortFunc(held, func(a, b federation.Bound) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Job.ID, b.Job.ID))
	})
	return held, runs
}

// running is how often the observation that the plan is made of shows a job as running.
func (st *siteState) running(id federation.JobID) int {
	n, known := st.runs[id]
	if !known && st.read != nil {
		for i := range st.read.Running {
			if st.read.Running[i].Job == id {
				n++
			}
		}
	}
	return n
}

// judgedAlike reports whether jobs are judged alike by two states of a site, its observation apart.
func judgedAlike(a, b *federation.Site) bool {
	return a.State == b.State && a.Answering == b.Answering && a.Denied == b.Denied && a.Error == b.Error && (a.Seen == nil) == (b.Seen == nil) &&
		maps.Equal(a.Prices, b.Prices) && maps.Equal(a.Speed, b.Speed) && a.Power.Equal(b.Power)
}

// sameRights reports whether two states of a site make the same of users and of the options that jobs ask for.
func sameRights(a, b *federation.Site) bool {
	return maps.Equal(a.Users, b.Users) && a.Payers == b.Payers && maps.Equal(a.Accounts, b.Accounts) && slices.Equal(a.FileSystems, b.FileSystems) && (a.FileSystems == nil) == (b.FileSystems == nil) &&
		slices.Equal(a.Options, b.Options) && (a.Outlook == nil) == (b.Outlook == nil)
}

// ours are the jobs that were claimed and that the observation which the plan is made of shows as running, and those that the site was told with.
func (st *siteState) ours() []*federation.Job {
	st.held()
	out := slices.Clone(st.site.Ours)
	for id, n := range st.runs {
		if j := st.claims[id].Job; n > 0 && j != nil {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *federation.Job) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
