package place

import (
	"hash/fnv"
	"io"
	"time"

	"fsub/federation"
	"fsub/federation/move"
)

// To look for room the plan is made again, down to the last gang that may be helped, and the next one from the start. So it is asked before which gangs those are, by what runs at the sites alone:
// enough nodes would be free if every job moved that may. Of a gang that could not be helped it is remembered what was so then.

// roomAgain is after how long a gang is tried again though nothing has changed: its wait may have become longer by the forecasts of what runs.
const roomAgain = 5 * time.Minute

// rooms remembers gangs that could not be helped. All is forgotten with every change at a site.
type rooms struct {
	rule          move.Rule
	news, version int // of members
	tried         map[federation.JobID]*triedRoom
}

// triedRoom is what was so when a gang could not be helped.
type triedRoom struct {
	at     time.Time
	shape  *shape
	before uint64 // tells the jobs apart that stood before it
	most   int
	lost   map[federation.JobID]time.Duration // work of each that may move: less is lost after its next checkpoint
}

// gangs are those of the first jobs in the queue for which room is to be looked for.
func (rs *rooms) gangs(w *World, s *roomSearch) map[*queued]*triedRoom {
	w.settle()
	defer func() { w.at = looking{} }()
	if rs.tried == nil || rs.news != w.news || rs.version != w.version || rs.rule != *s.ask.Rule {
		*rs = rooms{rule: *s.ask.Rule, news: w.news, version: w.version, tried: map[federation.JobID]*triedRoom{}}
	}
	var found map[*queued]*triedRoom
	lost := map[federation.JobID]time.Duration{}
	before, n := fnv.New64a(), 0
	for q := range w.queue.all() {
		if n++; n > s.ask.Look || !w.progress.lookedAt(q) {
			break
		}
		if f := w.progress.decided(q).fate; f != nil && f.kind == waits && q.job.Part == nil && q.job.Component == nil && !q.spent && len(q.job.Spec.Het) == 0 {
			w.know(q)
			now := &triedRoom{at: w.clock, shape: q.shape, before: before.Sum64(), most: s.ask.Most, lost: lost}
			if s.mayHelp(q) && rs.tried[q.job.ID].differs(s, now) {
				if found == nil {
					found = map[*queued]*triedRoom{}
				}
				found[q] = now
			}
		}
		io.WriteString(before, q.job.ID.String()+",")
	}
	for _, there := range s.stay {
		for i := range there.jobs {
			lost[there.jobs[i].job.ID] = there.jobs[i].move.run.Lost()
		}
	}
	return found
}

// differs reports whether what a gang depends on has changed since it was tried.
func (was *triedRoom) differs(s *roomSearch, now *triedRoom) bool {
	if was == nil || was.shape != now.shape || was.before != now.before || was.most < now.most || now.at.Sub(was.at) >= roomAgain {
		return true
	}
	for _, c := range now.shape.candidates {
		if !c.clears() {
			continue
		}
		for _, k := range s.keepers(c.site).jobs {
			if lost, known := was.lost[k.job.ID]; !known || k.move.run.Lost() < lost {
				return true
			}
		}
	}
	return false
}

// mayHelp reports whether a job is a gang, and would have enough nodes somewhere if all jobs moved that may.
func (s *roomSearch) mayHelp(q *queued) bool {
	gang, may := false, false
	for _, c := range q.shape.candidates {
		gang = gang || c.parts == nil && c.gang()
		if c.clears() && len(s.keepers(c.site).jobs) > 0 {
			may = s.hasEnough(c) || may
		}
	}
	return gang && may
}

func (s *roomSearch) hasEnough(c *candidate) bool {
	enough, known := s.enough[c]
	if !known {
		for i := range c.fits {
			h := victimSearch{preemptibles: s.keepers(c.site), c: c.site.capacity(), f: &c.fits[i]}
			enough = enough || h.f.movesFor() && h.enoughWithout(c.cells)
		}
		s.enough[c] = enough
	}
	return enough
}

// clears reports whether jobs may move for one that would start there.
func (c *candidate) clears() bool {
	return c.parts == nil && !c.shared() && c.rented() == nil && c.borne()
}

// movesFor reports whether jobs may move for one that takes this.
func (f *fit) movesFor() bool { return !f.alone && f.reservation == "" }

// enoughWithout reports whether the job would fit on enough nodes without all of those who may make room, as the site shows it: whatever the plan does, it is on no more.
func (h *victimSearch) enoughWithout(cells []int32) bool {
	m, n := h.c.m, 0
	var gres []int32
	for _, cell := range cells {
		for _, on := range m.cells[cell].nodes {
			if !m.up[on] || h.f.exclude[on] {
				continue
			}
			gres = append(gres[:0], m.gres[int(on)*len(m.slots):(int(on)+1)*len(m.slots)]...)
			free := freeOn{m.cpu[on], m.mem[on], gres}
			for r := h.head[on]; r > 0; r = h.refs[r-1].next {
				free.give(h.jobs[h.refs[r-1].job].held, 1)
			}
			if h.fits(on, &free) {
				if n++; n >= h.f.nodes {
					return true
				}
			}
		}
	}
	return false
}
