package place

import (
	"iter"
	"slices"

	"fsub/federation"
	"fsub/sbatch"
)

// limitChange is a limit of a user that a site has reached, or has not any more.
type limitChange struct {
	st *siteState
	federation.Limited
}

// noteLimits notes in what two states of a site's limits differ.
func (l *likeness) noteLimits(st *siteState, a, b []federation.Limited) {
	if slices.Equal(a, b) {
		return
	}
	note := func(a, b []federation.Limited) {
		for _, one := range a {
			if !slices.Contains(b, one) {
				l.limited = append(l.limited, limitChange{st, one})
			}
		}
	}
	note(a, b)
	note(b, a)
}

// relimit moves the jobs of users whose limits at sites have changed to other shapes. The jobs of other users keep theirs. alone are the jobs that share their shapes with no other. It reports
// whether anything has changed.
func (l *likeness) relimit(alone iter.Seq[*queued]) (changed bool) {
	changes := l.limited
	if l.limited = nil; len(changes) == 0 {
		return false
	}
	apart := func(sh *shape) { // components have separate accounts
		if len(sh.like.Spec.Het) > 0 && slices.ContainsFunc(changes, func(l limitChange) bool { return l.User == sh.like.User }) {
			sh.judged, sh.version, changed = nil, 0, true
		}
	}
	for _, sh := range l.shapes {
		apart(sh)
	}
	for q := range alone {
		if q.shape != nil {
			apart(q.shape)
		}
	}
	moved := map[*person]bool{}
	for _, p := range l.persons {
		if !slices.ContainsFunc(changes, func(l limitChange) bool { return l.User == p.user && l.Account == p.account && l.QOS == p.qos }) {
			continue
		}
		bare := federation.Job{Spec: new(sbatch.Spec)}
		p.put(&bare)
		if class := l.classOf(&bare); class != p.class {
			p.class, p.moved, moved[p] = class, l.limits+1, true
		}
	}
	if len(moved) == 0 {
		return
	}
	l.limits++
	clear(l.recent)
	var again []userGroupKey
	for key := range l.userGroups {
		if moved[key.of] {
			again = append(again, key)
		}
	}
	for _, key := range again {
		k := l.userGroups[key]
		delete(l.userGroups, key)
		key.class = key.of.class
		sh := l.shapes[key.shapeKey]
		if sh == nil {
			sh = k.shape.but(key.of, l.in, changes)
			l.shapes[key.shapeKey] = sh
		}
		k.shape, l.userGroups[key] = sh, k
	}
	for _, k := range l.userGroups { // a shape stands for others than those who have left it
		if sh := k.shape; sh.of.class != sh.class {
			sh.of = k.of
			k.of.put(&sh.like)
		}
	}
	for key, sh := range l.shapes {
		if sh.of.class != sh.class {
			delete(l.shapes, key)
		}
	}
	for q := range alone {
		q.userGroup = stranger
	}
	return true
}

// but is a shape for somebody who may do something else at some sites. What the others said of the shape holds.
func (sh *shape) but(p *person, ms *members, changes []limitChange) *shape {
	one := &shape{like: sh.like, of: p, class: p.class, expected: sh.expected, drop: sh.drop, switches: sh.switches, need: sh.need}
	p.put(&one.like)
	if sh.judged == nil || len(sh.like.Spec.Het) > 0 {
		return one
	}
	one.judged, one.found, one.rejections = slices.Clone(sh.judged), sh.found, sh.rejections
	one.candidates, one.quoted, one.single, one.least, one.bests = slices.Clone(sh.candidates), slices.Clone(sh.quoted), sh.single, sh.least, sh.bests
	one.lent, sh.lent = true, true
	for i, st := range ms.sites {
		if slices.ContainsFunc(changes, func(l limitChange) bool { return l.st == st }) {
			one.judged[i].version = 0
		}
	}
	return one
}

// own gives a shape whose candidates are another one's too separate ones, where they depend on which others there are: see timeout.go and shadowprice.go. It reports whether
// it has others now.
func (sh *shape) own() bool {
	if !sh.lent || sh.expected == nil && !slices.ContainsFunc(sh.found, func(c *candidate) bool { return c.choice || c.rented() != nil }) {
		return false
	}
	sh.lent = false
	for i, c := range sh.found {
		one := *c
		one.curs = make([]cursor, len(c.curs))
		for k := range one.curs {
			one.curs[k].cells = c.cells
		}
		sh.found[i] = &one
	}
	return true
}
