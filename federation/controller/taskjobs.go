package controller

import (
	"maps"
	"slices"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// makeTaskJob is the job that one task of an array becomes.
func (j *job) makeTaskJob(id federation.JobID, index int) federation.Job {
	p := federation.Job{
		ID: id, User: j.User, UID: j.UID, GID: j.GID, Spec: j.specOfTasks(), Demand: j.Demand, State: federation.Pending, Reason: reasons.Priority,
		Priority: j.Priority, Top: j.Top, Submit: j.Submit, SubmitHost: j.SubmitHost, TreeAccount: j.TreeAccount,
	}
	if t := j.tasks[index]; t != nil { // of an array that an earlier version had handed over: it may have run there
		p.Restarts = t.Restarts
	}
	w := j.Whole
	p.Part = &federation.ArrayPart{Array: j.ID, Index: index, Count: w.Count, Min: w.Min, Max: w.Max, Step: w.Step, Limit: w.Limit}
	return p
}

// specOfTasks is the Spec that the array's tasks share.
func (j *job) specOfTasks() *sbatch.Spec {
	if j.taskSpec == nil {
		spec := *j.Spec
		spec.Array, spec.Dependency = "", ""
		j.join().taskSpec = &spec
	}
	return j.taskSpec
}

// addPart makes a task of an array a job. It is in the queue only after queue.add.
func (ar *arrays) addPart(array *job, part *federation.Job) *job {
	p := newJob(*part)
	p.join().array = array
	ar.accept(array, p.Part.Index)
	ar.queue.look(array)
	ar.jobs.Set(p.ID, p)
	array.taskJobs[p.Part.Index] = p
	array.rest.Remove(p.Part.Index)
	p.Part.Last = array.rest.Len() == 0 && array.Attempt == 0 // one that an earlier version had handed over has used its number
	ar.shrunk[array] = true
	ar.batch.create(p)
	array.mirror(p)
	return p
}

// lastTask is the job of the array's last task while that has not ended, nil if there is none: see [federation.Job.Number].
func (j *job) lastTask() *job {
	for _, p := range j.taskJobs {
		if p.Part.Last {
			return p
		}
	}
	return nil
}

// splitOff makes one waiting task of an array a job, in the queue, so that something can be done with it
// alone. It returns nil if the task does not wait, or no ID is at hand.
func (ar *arrays) splitOff(array *job, index int) *job {
	if !array.rest.Has(index) {
		return nil
	}
	var id federation.JobID
	var ok bool
	if o := ar.accept(array, index); o != nil {
		id = o.task.ID
	} else if id, ok = ar.ids.take(); !ok {
		return nil
	}
	task := array.makeTaskJob(id, index)
	task.Held, task.Reason = array.Held, array.Reason
	p := ar.addPart(array, &task)
	ar.queue.add(p)
	return p
}

// link joins the job of a task that the store has with its array.
func (ar *arrays) link(p *job) {
	array := ar.jobs.Of(p.Part.Array)
	if array == nil || !array.spreads() {
		ar.log.Error("task of an array that is not there", "job", p.ID, "array", p.Part.Array)
		return
	}
	p.join().array = array
	array.taskJobs[p.Part.Index] = p
	array.mirror(p)
}

// again joins the job of a task that had ended with its array, which has it among its live ones from now on. What it has cost so far the array
// counts once more when it ends.
func (ar *arrays) again(p *job) {
	ar.link(p)
	p.array.Cost -= p.Cost
	ar.batch.job(p.array)
}

// mirror keeps in the array what its listings and the jobs that depend on it see of the job of a task.
func (j *job) mirror(p *job) {
	t := p.Task()
	j.tasks[t.Index] = &t
}

// endReason is why an array has ended as it has: for what its waiting tasks were given up, else as the first
// of its tasks that has ended so. That it waited for something counts no more.
func (j *job) endReason(state federation.State) reasons.Reason {
	switch {
	case j.Cancel:
		return j.Reason
	case state == federation.Completed:
		return reasons.None
	}
	for _, i := range slices.Sorted(maps.Keys(j.tasks)) {
		if t := j.tasks[i]; t.State == state && t.Reason != "" {
			return t.Reason
		}
	}
	return reasons.None
}

// summary is the state and exit status of an array whose tasks have all ended: COMPLETED if each did so.
func (j *job) summary() (federation.State, int32) {
	state, status := federation.Completed, int32(0)
	if len(j.Whole.Cancelled) > 0 {
		state = federation.Cancelled
	}
	rank := map[federation.State]int{federation.Completed: 0, federation.Cancelled: 1, federation.Failed: 3}
	for _, t := range j.tasks {
		status = max(status, t.ExitStatus)
		r, known := rank[t.State]
		if !known {
			r = 2
		}
		if r > rankOf(rank, state) {
			state = t.State
		}
	}
	if j.Cancel {
		state = federation.Cancelled
	}
	return state, status
}

func rankOf(rank map[federation.State]int, s federation.State) int {
	if r, ok := rank[s]; ok {
		return r
	}
	return 2
}
