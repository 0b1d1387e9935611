package place

import (
	"fsub/federation"

	"fsub/federation/decision"
)

// shape is shared by all jobs with the same demand and the same rights: which pools can run them, and which cannot.
type shape struct {
	like     federation.Job     // any of them ...
	of       *person            // ... whose it is
	class    int                // of all of them
	expected *decision.Expected // how long they run; nil: a share of their limit counts
	drop     bool               // they have waited long enough for their --switches
	// switches: they ask for --switches, so that how long they have waited matters.
	switches bool
	refused  map[federation.SiteName]decision.Rejection
	*need

	judged     []judged     // by site
	found      []*candidate // in the order of the sites
	lent       bool         // they are another shape's too; see own
	version    int          // of the World's sites then
	clock      int64        // and its time
	candidates []*candidate // of all sites, cheapest to run first
	quoted     []quote      // of each of them
	single     bool         // each of them is; see candidate.single
	least      float64      // the chance that the time limit ends a job at the best of them, see timeout.go ...
	bests      int          // ... and how many are as good
	rejections []decision.Rejection

	// What follows is about one plan.
	run int

	// The last decision, its offers, and what they were made for: jobs that are decided alike share them.
	last   *fate
	rests  *fate // what becomes of a job that finds no more than the last one; nil: that is not known
	offers *offers
	made   made

	// rests holds for that number of claims, and for those of nodes of other sites than restsAt. Where others wait another user's may still queue up: early is that candidate.
	changes int
	restsAt *siteState // nil: no more claims may come
	early   *candidate
	full    full // see best
	choice  bool // some candidate is one; see candidate.choice
	pressed int  // the plan in which press was counted: the jobs of the shape in the queue
	press   int
	futile  int // the plan in which nobody's end would help; see preempt.go

	grouping, kind int // which of a chunk's kinds it was in that grouping; see likeness.group
}

// need is shared by all shapes that differ only in time limits and rights.
type need struct {
	ask      *ask      // of the first variant: for all that does not depend on the kind of GPU
	variants []variant // what may be asked for; in a pool the cheapest counts
	at       map[*siteState]*standing
}

// standing is what a need takes in each pool of a site, at one version of the site.
type standing struct {
	version int
	stands  []stood // by pool, then by variant
}

type stood struct {
	*placement
	no   *refusal
	done bool
}

// placementIn is what a variant of a shape takes in a pool, or why it cannot run there.
func (ms *members) placementIn(sh *shape, variant int, st *siteState, pool int) (*placement, *refusal) {
	at := sh.at[st]
	if at == nil || at.version != st.version {
		at = &standing{st.version, make([]stood, len(st.model.pools)*len(sh.variants))}
		sh.at[st] = at
	}
	s := &at.stands[pool*len(sh.variants)+variant]
	if !s.done {
		v := sh.variants[variant]
		g, no := st.model.poolFits(v.ask, pool, v.ask.Reservation)
		if s.done, s.no = true, no; no == nil {
			s.placement = ms.newPlacement(v, st, g)
		}
	}
	return s.placement, s.no
}

// made tells whether offers are still right for the next job of a shape.
type made struct {
	chosen *candidate
	start  int64
	free   bool
	boot   boot
}

func newNeed(job *federation.Job, drop bool) *need {
	n := &need{variants: variants(job.Needs(), drop), at: map[*siteState]*standing{}}
	n.ask = n.variants[0].ask
	return n
}
