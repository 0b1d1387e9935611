package controller

import (
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
)

// destination is where a job is to go that was moved to some sites.
type destination struct {
	to    []federation.SiteName
	from  federation.SiteName
	until time.Time // the move counts no longer
	look  time.Time // when to ask again whether one of the sites could run it
}

const (
	lookAtMoved = 10 * time.Second // between two looks at one moved job
	movedAtOnce = 256              // moved jobs that one round looks at
)

// freeMoved lets jobs go anywhere that were moved to sites of which none could take them after all.
func (mv *moves) freeMoved() {
	now := mv.now()
	looks := 0
	for _, id := range slices.Sorted(maps.Keys(mv.to)) {
		m, j := mv.to[id], mv.jobs.Of(id)
		switch {
		case j == nil || !now.Before(m.until):
			delete(mv.to, id)
		case j.live() || now.Before(m.look) || looks == movedAtOnce:
		case mv.mayRunAt(j, m.to):
			looks++
			m.look = now.Add(lookAtMoved)
		default:
			looks++
			delete(mv.to, id)
			mv.free(j, m)
		}
	}
}

// free forgets where a waiting job was moved to. The site that it came from may remember its ID for a while, and refuse it.
func (mv *moves) free(j *job, m *destination) {
	mv.batch.eventf(j, "none of %s can take it: it may go anywhere", joinSites(m.to))
	h := j.hinder()
	h.leaves = slices.DeleteFunc(slices.Clone(h.leaves), func(l leaving) bool { return l.no.Is(codes.MovedTo) || l.no.Is(codes.MovedFrom) })
	j.hinder().tellLeaves()
	if j.att != nil && j.att.Site == m.from {
		j.avoid(j.att, m.until.Add(mv.t.MinJobAge-max(movedFor, mv.t.MinJobAge)), mv.now())
	}
	mv.queue.look(j)
	mv.agenda.plan = true
}

// mayRunAt reports whether one of the sites could run a job that waits here, as far as is known now.
func (mv *moves) mayRunAt(j *job, sites []federation.SiteName) bool {
	var d decision.Decision
	if f := mv.queue.world.Guard(func() { d = mv.queue.world.Judge(asTask(&j.Job)) }); f != nil {
		mv.log.Error("placement failed", "job", j.ID, "err", f)
		return true
	}
	return slices.ContainsFunc(d.Offers, func(o *decision.Offer) bool {
		return slices.Contains(sites, o.Site) && !j.leavesSite(o.Site, mv.now())
	})
}
