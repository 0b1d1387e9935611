package controller

import (
	"iter"
	"maps"
	"slices"

	"fsub/federation"
	"fsub/federation/action"
)

// A request may name a hundred thousand tasks of an array. What is done to each of them is written in the round's commit, for which other writers
// wait: so a round does some, and the request stays open until all are done. After a restart it begins again, and finds the first ones done.

// Bounds of the tasks that requests about single tasks change in a round: of one request, and of all. Half of the latter is kept for requests
// that name fewTasks at most.
const (
	tasksAtOnce = 256
	tasksARound = 1024
	fewTasks    = 16
)

// unfinished are the requests of which some tasks are left. An array has one at a time: those after it wait, so that the last one counts.
type unfinished struct {
	of   map[federation.JobID]*progress // by array
	room int                            // how many tasks may still change in this round
	more bool                           // the next round is to follow at once
}

// progress is how far a request has come.
type progress struct {
	seq  int64
	rest bool // what waits was done as one; only the jobs of tasks are left
	from int  // the first index that it has not come to
}

// begin begins a round.
func (u *unfinished) begin() { u.room, u.more = tasksARound, false }

// mayGoOn reports whether it is r's turn, and there is room for it in this round.
func (u *unfinished) mayGoOn(r *action.Request) bool {
	p := u.of[r.Job]
	if p != nil && p.seq != r.Seq {
		return false
	}
	needs := tasksARound / 2
	if n := r.Tasks.Len(); p == nil && n <= fewTasks {
		needs = n
	}
	if u.room < needs {
		u.more = true
		return false
	}
	return true
}

// meansRest reports whether r is about all tasks of an array that wait, by name or not. They stay one record then, as they do in slurmctld.
func (j *job) meansRest(r *action.Request) bool {
	return r.Tasks.Len() == 0 || j.rest.Len() > 1 && r.Tasks.Covers(&j.rest)
}

// each does something with the tasks of an array that r means: rest with those that wait, if all of them are meant, and one with the job of each other one. Some
// of the tasks that wait are cancelled as one; for anything else each becomes a job. It reports whether all is done.
func (aq *arrayRequests) each(j *job, r *action.Request, rest func(), one func(*job)) (done bool) {
	p := aq.unfinished.of[j.ID]
	if p == nil {
		p = &progress{seq: r.Seq, rest: j.meansRest(r)}
		switch {
		case p.rest:
			rest()
		case r.Kind == action.Cancel:
			aq.life.cancelRest(j, &r.Tasks, &r.UID)
			p.rest = true
		}
	}
	n := 0
	done = true
	for index := range aq.meant(j, r, p) {
		if n == tasksAtOnce {
			p.from, done, aq.unfinished.more = index, false, true
			break
		}
		part := j.taskJobs[index]
		switch {
		case part != nil:
		case !j.rest.Has(index):
			continue
		case splits(r.Kind):
			if part = aq.arrays.splitOff(j, index); part == nil { // there is no ID for it
				aq.arrays.ids.lack()
				p.from, done = index, false
			}
		default:
			continue
		}
		if !done {
			break
		}
		n++
		if part != nil {
			one(part)
		}
	}
	aq.unfinished.room -= n
	if delete(aq.unfinished.of, j.ID); !done {
		aq.unfinished.of[j.ID] = p
	}
	return done
}

// meant are the indices that r has not come to.
func (aq *arrayRequests) meant(j *job, r *action.Request, p *progress) iter.Seq[int] {
	if !p.rest {
		return r.Tasks.From(p.from)
	}
	return func(yield func(int) bool) {
		for _, index := range slices.Sorted(maps.Keys(j.taskJobs)) {
			if index >= p.from && (r.Tasks.Len() == 0 || r.Tasks.Has(index)) && !yield(index) {
				return
			}
		}
	}
}
