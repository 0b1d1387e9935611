package place

import (
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
func (w *World) noteLimits(st *siteState, a, b []federation.Limited) {
	if slices.Equal(a, b) {
		return
	}
	note := func(a, b []federation.Limited) {
		for _, l := range a {
			if !slices.Contains(b, l) {
				w.limited = append(w.limited, limitChange{st, l})
			}
		}
	}
	note(a, b)
	note(b, a)
}

// relimit has the jobs of those be of another shape whom sites do not take now, or take again. Others' stay what they are.
func (w *World) relimit() {
	changes := w.limited
	if w.limited = nil; len(changes) == 0 {
		return
	}
	apart := func(sh *shape) { // components have accounts of their own
		if len(sh.like.Spec.Het) > 0 && slices.ContainsFunc(changes, func(l limitChange) bool { return l.User == sh.like.User }) {
			sh.judged, sh.version, w.stale = nil, 0, true
		}
	}
	for _, sh := range w.shapes {
		apart(sh)
	}
	w.index()
	for id := range w.refused { // they have shapes of their own
		if q := w.byID.Of(id); q != nil && q.shape != nil {
			apart(q.shape)
		}
	}
	moved := map[*person]bool{}
	for _, p := range w.persons {
		if !slices.ContainsFunc(changes, func(l limitChange) bool { return l.User == p.user && l.Account == p.account && l.QOS == p.qos }) {
			continue
		}
		bare := federation.Job{Spec: new(sbatch.Spec)}
		p.put(&bare)
		if class := w.classOf(&bare); class != p.class {
			p.class, p.moved, moved[p] = class, w.limits+1, true
		}
	}
	if len(moved) == 0 {
		return
	}
	w.limits++
	w.stale = true
	clear(w.recent)
	var again []kinKey
	for key := range w.kins {
		if moved[key.of] {
			again = append(again, key)
		}
	}
	for _, key := range again {
		k := w.kins[key]
		delete(w.kins, key)
		key.class = key.of.class
		sh := w.shapes[key.shapeKey]
		if sh == nil {
			sh = k.shape.but(key.of, w, changes)
			w.shapes[key.shapeKey] = sh
		}
		k.shape, w.kins[key] = sh, k
	}
	for _, k := range w.kins { // a shape stands for others than those who have left it
		if sh := k.shape; sh.of.class != sh.class {
			sh.of = k.of
			k.of.put(&sh.like)
		}
	}
	for key, sh := range w.shapes {
		if sh.of.class != sh.class {
			delete(w.shapes, key)
		}
	}
	for id := range w.refused {
		if q := w.byID.Of(id); q != nil {
			q.kin = stranger
		}
	}
}

// but is a shape for somebody who may do something else at some sites. What the others said of the shape holds.
func (sh *shape) but(p *person, w *World, changes []limitChange) *shape {
	one := &shape{like: sh.like, of: p, class: p.class, expected: sh.expected, drop: sh.drop, switches: sh.switches, need: sh.need}
	p.put(&one.like)
	if sh.judged == nil || len(sh.like.Spec.Het) > 0 {
		return one
	}
	one.judged, one.found, one.rejections = slices.Clone(sh.judged), sh.found, sh.rejections
	one.candidates, one.quoted, one.single, one.least, one.bests = slices.Clone(sh.candidates), slices.Clone(sh.quoted), sh.single, sh.least, sh.bests
	one.lent, sh.lent = true, true
	for i, st := range w.sites {
		if slices.ContainsFunc(changes, func(l limitChange) bool { return l.st == st }) {
			one.judged[i].version = 0
		}
	}
	return one
}

// own has a shape whose candidates are another one's too have some of its own, where they depend on which others there are: see cut.go and others.go. It reports whether
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
