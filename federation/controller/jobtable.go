package controller

import (
	"fsub/federation"
	"fsub/federation/jobmap"
)

// jobTable holds every job that has not ended, and those that have whose end the store does not know yet.
type jobTable struct {
	jobmap.Map[*job]
	ended map[federation.JobID]*job
	packs map[federation.JobID]*job // the jobs at sites that several tasks share, which are no jobs of the federation: All leaves them out
}

func newJobTable() *jobTable {
	return &jobTable{ended: map[federation.JobID]*job{}, packs: map[federation.JobID]*job{}}
}

// Of is the job of a number, or of a pack's; nil: there is none.
func (t *jobTable) Of(id federation.JobID) *job {
	if j := t.Map.Of(id); j != nil {
		return j
	}
	return t.packs[id]
}

// known reports whether the controller has a job, or had it until its end, which is not written yet.
func (t *jobTable) known(id federation.JobID) bool { return t.Of(id) != nil || t.ended[id] != nil }

// rootOf is the job that one is written with: its array, or the first of its components.
func (t *jobTable) rootOf(id federation.JobID) federation.JobID {
	j := t.Of(id)
	if j == nil {
		j = t.ended[id]
	}
	switch {
	case j == nil:
		return id
	case j.Part != nil:
		return j.Part.Array
	case j.Component != nil:
		return j.Component.Leader
	}
	return id
}

// owner is whose a job is; 0: there is no such job.
func (t *jobTable) owner(id federation.JobID) (uid uint32) {
	if j := t.Of(id); j != nil {
		uid = j.UID
	}
	return uid
}
