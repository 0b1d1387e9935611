package place

import "fsub/federation"

// likeness tells which jobs are alike: jobs of one shape ask for the same and have the same rights, so that what the sites judge of one holds for all. Persons with the same rights everywhere are
// of one class, and a kin is the jobs of a person that are of one shape. It holds that of two jobs of a kin, or of two kins of a shape, no site could tell one from the other; what
// persons may do changes by relimit, which moves whole kins, and after any other change of rights, all of it is outdated and is forgotten. See shape.go and class.go.
type likeness struct {
	in *members

	shapes   map[shapeKey]*shape
	needs    map[string]*need // by a likeness without time limits
	kins     map[kinKey]*kin
	recent   []recentKin
	persons  map[who]*person
	named    map[string]int // class by what tells it from the others
	beside   map[string]int // see classApart
	known    []*person      // a small table in front of persons
	grants   int            // of members, when all was forgotten last
	limited  []limitChange  // since the last plan
	limits   int            // how often what persons may do has changed
	grouping int            // see group
}

// outdated reports whether jobs may be alike that were not, or the other way round.
func (l *likeness) outdated() bool { return l.grants != l.in.grants }

// forget begins anew, with small tables of that size.
func (l *likeness) forget(table int) {
	l.shapes, l.needs, l.kins, l.persons = map[shapeKey]*shape{}, map[string]*need{}, map[kinKey]*kin{}, map[who]*person{}
	l.named, l.beside = map[string]int{}, map[string]int{}
	l.recent, l.known = make([]recentKin, table), make([]*person, table)
	l.grants, l.limited = l.in.grants, nil
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
