package restd

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/federation/spending"
	"fsub/slurm/wire"
)

// Part is what a listing shows as one job: a job, one started task of an array, or the tasks of it that have not started.
type Part struct {
	Job     *federation.Job
	array   federation.JobID // 0: no array
	task    *federation.Task // nil: not a task of its own
	pending string           // tasks that have not started: "2-5,7%2"
	earlier bool             // a run before the last
	limit   int              // of tasks at once

	cancelled *federation.CancelledTasks // that p shows, or has its task of; nil: none

	id         uint32 // Slurm's raw number
	State      federation.State
	reason     reasons.Reason
	nodes      string
	start, End time.Time
	suspension federation.Suspension
	exit       int32
	restarts   int
	cost       federation.Money // of its runs that have ended
}

// Parts splits a job as Slurm lists it: an array has a record for each task that has started, then one for the rest.
func Parts(j *federation.Job, tasks []federation.Task) []Part {
	return slices.Collect(eachPart(j, tasks))
}

// eachPart is Parts, one after the other.
func eachPart(j *federation.Job, tasks []federation.Task) iter.Seq[Part] {
	return func(yield func(Part) bool) { splitParts(j, tasks, yield) }
}

func splitParts(j *federation.Job, tasks []federation.Task, yield func(Part) bool) {
	whole := Part{Job: j, id: uint32(j.Number()), State: j.State, reason: j.Reason, nodes: j.Nodes,
		start: j.Start, End: j.End, suspension: j.Suspension(), exit: j.ExitStatus, restarts: j.Restarts, cost: j.Cost}
	if j.Part != nil { // a task that is a job of its own
		whole.array, whole.limit, whole.task = j.Part.Array, j.Part.Limit, &federation.Task{Job: j.Part.Array, Index: j.Part.Index}
		yield(whole)
		return
	}
	spread := j.Whole != nil && j.Whole.Spread
	if j.Spec.Array == "" && !spread {
		yield(whole)
		return
	}
	whole.array = j.ID
	var rest federation.TaskSet
	if j.Spec.Array != "" {
		array, err := federation.ReadArray(j.Spec.Array)
		if err != nil {
			yield(whole)
			return
		}
		rest = array.Set()
	}
	limit := federation.ArrayLimit(j.Spec.Array)
	for i := range tasks {
		t := &tasks[i]
		if spread && !t.State.Ended() {
			continue // what it was in an earlier attempt of the whole array
		}
		rest.Remove(t.Index)
		id := t.SiteJobID
		if id == 0 {
			id = uint32(j.ID)
		}
		if !yield(Part{Job: j, array: j.ID, task: t, id: id, limit: limit, State: t.State, reason: t.Reason, nodes: t.Nodes,
			start: t.Start, End: t.End, exit: t.ExitStatus, restarts: t.Restarts, cost: t.Cost}) {
			return
		}
	}
	if !cancelledParts(j, limit, yield) || rest.Len() == 0 {
		return
	}
	whole.pending, whole.limit, whole.cost = rest.Format(limit), limit, 0
	if spread {
		whole.State, whole.nodes, whole.start, whole.exit = federation.Pending, "", time.Time{}, 0
		if j.Cancel || j.State.Ended() {
			whole.State = federation.Cancelled
		} else {
			whole.End = time.Time{}
		}
		yield(whole)
		return
	}
	if whole.State.Started() || whole.State.Ended() && len(tasks) > 0 {
		// The job as a whole runs or has ended; these tasks of it have not started.
		whole.State, whole.nodes, whole.start, whole.exit = federation.Pending, "", time.Time{}, 0
		if j.State.Ended() {
			whole.State = federation.Cancelled
		} else if limit > 0 {
			whole.reason = "JobArrayTaskLimit"
		} else {
			whole.reason, whole.End = reasons.Resources, time.Time{}
		}
	}
	yield(whole)
}

// Cost is what p has come to, with what its job has come to so far while it runs.
func (p *Part) Cost(spent spending.Spendings) federation.Money {
	is := spent[p.Job.ID]
	if is == nil || p.earlier || p.pending != "" || p.task != nil && p.Job.Part == nil || !p.State.Started() || p.State.Ended() {
		return p.cost
	}
	return p.cost + is.SoFar - p.Job.Cost
}

// cancelledParts are the tasks that were cancelled by name while they waited: few of them one by one, and many as what waits is listed. It reports whether more is wanted.
func cancelledParts(j *federation.Job, limit int, yield func(Part) bool) bool {
	if j.Whole == nil {
		return true
	}
	for i := range j.Whole.Cancelled {
		c := &j.Whole.Cancelled[i]
		p := Part{Job: j, array: j.ID, id: uint32(j.ID), limit: limit, State: federation.Cancelled, End: c.End, cancelled: c}
		few := c.Few(j.ID)
		for k := range few {
			p.task = &few[k]
			if !yield(p) {
				return false
			}
		}
		if len(few) > 0 {
			continue
		}
		if p.pending = c.Tasks.Format(limit); !yield(p) {
			return false
		}
	}
	return true
}

// Tasks is how many tasks of an array p stands for; 1 if it is no array.
func (p *Part) Tasks() int {
	if p.pending == "" {
		return 1
	}
	a, err := federation.ReadArray(p.pending)
	if err != nil {
		return 1
	}
	return a.Len()
}

// States are p's state as slurmrestd lists it.
func (p *Part) States() wire.Strings {
	if p.State == federation.Pending && p.Job.Held == federation.HeldSpecial {
		return wire.Strings{string(federation.Pending), wire.FlagSpecialExit}
	}
	return jobState(p.State)
}

// Name is p as squeue calls it, without the limit of an array: "17", "17_3", "17_[4-9]".
func (p *Part) Name() string {
	id := cmp.Or(p.array, p.Job.ID).String()
	switch {
	case len(p.Job.Spec.Het) > 0:
		return id + "+0"
	case p.Job.Component != nil:
		return p.Job.Component.Leader.String() + "+" + strconv.Itoa(p.Job.Component.Offset)
	case p.task != nil:
		return id + "_" + strconv.Itoa(p.task.Index)
	case p.pending != "":
		list, _, _ := strings.Cut(p.pending, "%")
		return id + "_[" + list + "]"
	}
	return id
}
