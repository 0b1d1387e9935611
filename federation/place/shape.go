package place

import "fsub/federation"

// shape is shared by all jobs with the same demand and the same rights: which pools can run them, and which cannot.
type shape struct {
	like     federation.Job       // any of them ...
	of       *person              // ... whose it is
	class    int                  // of all of them
	expected *federation.Expected // how long they run; nil: a share of their limit is reckoned with
	drop     bool                 // they have waited long enough for their --switches
	// switches: they ask for --switches, so that how long they have waited matters.
	switches bool
	refused  map[federation.SiteName]federation.Rejection
	*need

	judged     []judged     // by site
	found      []*candidate // in the order of the sites
	lent       bool         // they are another shape's too; see own
	version    int          // of the World's sites then
	clock      int64        // and its time
	candidates []*candidate // of all sites, cheapest to run first
	quoted     []quote      // of each of them
	single     bool         // each of them is; see candidate.single
	least      float64      // the chance that the time limit ends a job at the best of them, see cut.go ...
	bests      int          // ... and how many are as good
	rejections []federation.Rejection

	// What follows is about one plan.
	run int

	// The last decision, its offers, and what they were made for: jobs that are decided alike share them.
	last   *fate
	rests  *fate // what becomes of a job that finds no more than the last one; nil: that is not known
	offers *offers
	made   made

	// rests holds for so many claims, and for those of nodes of other sites than restsAt. Where others wait another user's may still queue up: early is that candidate.
	changes int
	restsAt *siteState // nil: no more claims may come
	early   *candidate
	full    full // see best
	choice  bool // some candidate is one; see candidate.choice
	pressed int  // the plan in which press was counted: the jobs of the shape in the queue
	press   int
	futile  int // the plan in which nobody's end would help; see preempt.go

	grouping, kind int // which of a piece's kinds it was in that grouping; see World.group
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
	*stand
	no   *refusal
	done bool
}

// standIn is what a variant of a shape takes in a pool, or why it cannot run there.
func (ms *members) standIn(sh *shape, variant int, st *siteState, pool int) (*stand, *refusal) {
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
			s.stand = ms.newStand(v, st, g)
		}
	}
	return s.stand, s.no
}

// made tells whether offers are still right for the next job of a shape.
type made struct {
	chosen *candidate
	start  int64
	free   bool
	boot   boot
}

// shapeKey is equal for jobs of one shape.
type shapeKey struct {
	demand uint64 // see demand.Demand.ID
	class  int    // see class.go
	apart  int    // see classApart
	drop   bool   // of the switches
	likely int8   // how long they are expected to run: see steps; -1: that is not known
}

// kin is shared by all jobs of a person that are of one shape: which shape that is changes with what the person may do.
type kin struct {
	shape *shape
	of    *person

	piece *piece // in the plan run it was met there last; see piece.hush
	run   int
	at    int
}

// stranger is the kin of a job of which it is not known yet.
var stranger = new(kin)

// kinKey is equal for jobs of one kin.
type kinKey struct {
	of *person
	shapeKey
}

func (l *likeness) keyOf(job *federation.Job, e *federation.Expected, dropSwitches bool) kinKey {
	k := kinKey{l.personOf(job), shapeKey{demand: job.Needs().ID(), apart: l.classApart(job), drop: dropSwitches, likely: -1}}
	if k.class = k.of.class; e != nil {
		k.likely = steps(e)
	}
	return k
}

// shapeOfJob returns the shape of a job, judged by the sites as they are. A job that some site has refused has one of its own.
func (l *likeness) shapeOfJob(job *federation.Job, e *federation.Expected, refused map[federation.SiteName]federation.Rejection) *shape {
	sh := l.kinOf(job, e, refused).shape
	l.in.judge(sh)
	return sh
}

func (l *likeness) kinOf(job *federation.Job, e *federation.Expected, refused map[federation.SiteName]federation.Rejection) *kin {
	drop := l.in.dropsSwitches(job)
	if len(refused) > 0 {
		p := l.personOf(job)
		return &kin{of: p, shape: l.newShape(job, p, e, drop, refused)}
	}
	key := l.keyOf(job, e, drop)
	near := &l.recent[key.hint()%uint(len(l.recent))]
	if near.kin != nil && near.key == key {
		return near.kin
	}
	k, ok := l.kins[key]
	if !ok {
		k = &kin{of: key.of, shape: l.shapes[key.shapeKey]}
		if k.shape == nil {
			k.shape = l.newShape(job, key.of, e, drop, nil)
			l.shapes[key.shapeKey] = k.shape
		}
		l.kins[key] = k
	}
	near.key, near.kin = key, k
	return k
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

// recentKin is one entry of a small table in front of the map of kins.
type recentKin struct {
	key kinKey
	kin *kin
}

// hint is a cheap number that tells most shapes apart.
func (k *kinKey) hint() uint {
	return uint(k.demand)*2654435761>>7 + uint(k.of.number)*29 + uint(k.apart)*53 + uint(k.likely)*101
}

func (l *likeness) newShape(job *federation.Job, p *person, e *federation.Expected, drop bool, refused map[federation.SiteName]federation.Rejection) *shape {
	unlimited := *job.Spec
	unlimited.TimeLimit, unlimited.TimeMin = 0, 0
	if drop {
		unlimited.Switches = 0
	}
	key := string(unlimited.Likeness(make([]byte, 0, 256)))
	n := l.needs[key]
	if n == nil {
		n = newNeed(job, drop)
		l.needs[key] = n
	}
	sh := &shape{like: *job, of: p, class: p.class, expected: e, drop: drop, switches: job.Spec.Switches > 0, refused: refused, need: n}
	sh.like.Demand = job.Needs() // while somebody holds it, jobs that ask for the same get the same ID
	return sh
}

func newNeed(job *federation.Job, drop bool) *need {
	n := &need{variants: variants(job.Needs(), drop), at: map[*siteState]*standing{}}
	n.ask = n.variants[0].ask
	return n
}
