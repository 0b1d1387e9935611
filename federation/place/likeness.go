package place

import (
	"fsub/federation"

	"fsub/federation/decision"
)

// likeness tells which jobs are alike: jobs of one shape ask for the same and have the same rights, so that what the sites judge of one holds for all. Persons with the same rights everywhere are
// of one class, and a user group is the jobs of a person that are of one shape. It holds that of two jobs of a user group, or of two user groups of a shape, no site could tell one from the other; what
// persons may do changes by relimit, which moves whole user groups, and after any other change of rights, all of it is outdated and is forgotten. See shape.go and class.go.
type likeness struct {
	in *members

	shapes     map[shapeKey]*shape
	needs      map[string]*need // by a likeness without time limits
	userGroups map[userGroupKey]*userGroup
	recent     []recentUserGroup
	persons    map[who]*person
	named      map[string]int // class by what tells it from the others
	beside     map[string]int // see classApart
	known      []*person      // a small table in front of persons
	grants     int            // of members, when all was forgotten last
	limited    []limitChange  // since the last plan
	limits     int            // how often what persons may do has changed
	grouping   int            // see group
}

// outdated reports whether jobs may be alike that were not, or the other way round.
func (l *likeness) outdated() bool { return l.grants != l.in.grants }

// forget starts over with small tables of that size.
func (l *likeness) forget(table int) {
	l.shapes, l.needs, l.userGroups, l.persons = map[shapeKey]*shape{}, map[string]*need{}, map[userGroupKey]*userGroup{}, map[who]*person{}
	l.named, l.beside = map[string]int{}, map[string]int{}
	l.recent, l.known = make([]recentUserGroup, table), make([]*person, table)
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

// userGroup is shared by all jobs of a person that are of one shape: which shape that is changes with what the person may do.
type userGroup struct {
	shape *shape
	of    *person

	chunk *chunk // in the plan run it was met there last; see chunk.hush
	run   int
	at    int
}

// stranger is the user group of a job of which it is not known yet.
var stranger = new(userGroup)

// userGroupKey is equal for jobs of one user group.
type userGroupKey struct {
	of *person
	shapeKey
}

func (l *likeness) keyOf(job *federation.Job, e *decision.Expected, dropSwitches bool) userGroupKey {
	k := userGroupKey{l.personOf(job), shapeKey{demand: job.Needs().ID(), apart: l.classApart(job), drop: dropSwitches, likely: -1}}
	if k.class = k.of.class; e != nil {
		k.likely = steps(e)
	}
	return k
}

// shapeOfJob returns the shape of a job, judged by the sites as they are. A job that some site has refused shares its shape with no other.
func (l *likeness) shapeOfJob(job *federation.Job, e *decision.Expected, refused map[federation.SiteName]decision.Rejection) *shape {
	sh := l.userGroupOf(job, e, refused).shape
	l.in.judge(sh)
	return sh
}

func (l *likeness) userGroupOf(job *federation.Job, e *decision.Expected, refused map[federation.SiteName]decision.Rejection) *userGroup {
	drop := l.in.dropsSwitches(job)
	if len(refused) > 0 {
		p := l.personOf(job)
		return &userGroup{of: p, shape: l.newShape(job, p, e, drop, refused)}
	}
	key := l.keyOf(job, e, drop)
	near := &l.recent[key.hint()%uint(len(l.recent))]
	if near.userGroup != nil && near.key == key {
		return near.userGroup
	}
	k, ok := l.userGroups[key]
	if !ok {
		k = &userGroup{of: key.of, shape: l.shapes[key.shapeKey]}
		if k.shape == nil {
			k.shape = l.newShape(job, key.of, e, drop, nil)
			l.shapes[key.shapeKey] = k.shape
		}
		l.userGroups[key] = k
	}
	near.key, near.userGroup = key, k
	return k
}

// recentUserGroup is one entry of a small table in front of the map of user groups.
type recentUserGroup struct {
	key       userGroupKey
	userGroup *userGroup
}

// hint is a cheap number that tells most shapes apart.
func (k *userGroupKey) hint() uint {
	return uint(k.demand)*2654435761>>7 + uint(k.of.number)*29 + uint(k.apart)*53 + uint(k.likely)*101
}

func (l *likeness) newShape(job *federation.Job, p *person, e *decision.Expected, drop bool, refused map[federation.SiteName]decision.Rejection) *shape {
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
