package controller

import (
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/federation/reasons"
)

// offered is a task of an array, as the job that it would become, that placement knows of: a plan may bind it.
type offered struct {
	array  *job
	task   *federation.Job
	reason reasons.Reason // why it waits; "": no plan has said so yet
}

// offer has placement know of those tasks of an array that may be bound now, and of no other ones. It returns why the array waits, "" if that is for
// the next plan to say, and the tasks that can never start.
func (ar *arrays) offer(j *job, now time.Time) (reason reasons.Reason, never []int) {
	size, side := j.packSize()
	room := ar.ahead(j)
	if limit := j.Whole.Limit; limit > 0 {
		if limit -= j.running(); limit <= 0 {
			ar.withdraw(j)
			return reasonTaskLimit, nil
		}
		room = min(room, nth(limit, side))
	}
	if size > 1 {
		room = min(room*size, packedAhead)
	}
	var next []int
	reason = reasons.Priority
	for index := range j.rest.All() {
		if len(next) == room {
			break
		}
		switch r := j.depends.taskReason(index, now); r {
		case "":
			next = append(next, index)
		case reasons.DependencyNever:
			never = append(never, index)
		default:
			reason = r
		}
	}
	ar.offerOnly(j, everyNth(next, size))
	if len(never) > 0 && len(next) == 0 && reason == reasons.Priority {
		reason = reasons.DependencyNever // all that is left
	}
	if len(j.offers) > 0 {
		reason = j.offersReason()
	}
	return reason, never
}

// everyNth are the first of each n tasks, which share a job.
func everyNth(tasks []int, n int) []int {
	if n <= 1 {
		return tasks
	}
	var first []int
	for some := range slices.Chunk(tasks, n) {
		first = append(first, some[0])
	}
	return first
}

// offerOnly offers some tasks, as many as there are numbers for.
func (ar *arrays) offerOnly(j *job, tasks []int) {
	kept := j.offers[:0:0]
	for _, o := range j.offers {
		if _, still := slices.BinarySearch(tasks, o.task.Part.Index); still {
			kept = append(kept, o)
		} else {
			ar.giveUp(o)
		}
	}
	j.join().offers = make([]*offered, 0, len(tasks))
	delete(ar.short, j)
	for _, index := range tasks {
		if len(kept) > 0 && kept[0].task.Part.Index == index {
			j.join().offers, kept = append(j.offers, kept[0]), kept[1:]
			continue
		}
		id, ok := ar.ids.take()
		if !ok {
			ar.short[j] = true
			continue
		}
		task := j.makeTaskJob(id, index)
		if size, side := j.packSize(); size > 1 {
			size = min(size, j.rest.Len())
			task.SetSpec(j.specOfTasks().OfPack(size, min(side, size)))
		}
		o := &offered{array: j, task: &task}
		j.join().offers, ar.offered[id] = append(j.offers, o), o
		ar.queue.tell(place.Waiting{Job: &task, Refused: j.refused, Place: j.ID, Expected: ar.runs.expected(&task)})
	}
	if len(j.offers) == 0 && len(tasks) > 0 {
		ar.ids.lack()
	}
}

// withdraw has placement know of no task of an array.
func (ar *arrays) withdraw(j *job) {
	for _, o := range j.offers {
		ar.giveUp(o)
	}
	if len(j.offers) > 0 {
		j.join().offers = nil
	}
	delete(ar.short, j)
}

func (ar *arrays) giveUp(o *offered) {
	ar.queue.world.DropJob(o.task.ID)
	ar.queue.left(o.task.ID)
	delete(ar.offered, o.task.ID)
	ar.ids.giveBack(o.task.ID)
}

// accept ends the offer of a task that becomes a job. It returns nil if it was not offered.
func (ar *arrays) accept(j *job, index int) *offered {
	i, ok := slices.BinarySearchFunc(j.offers, index, func(o *offered, index int) int { return o.task.Part.Index - index })
	if !ok {
		return nil
	}
	o := j.offers[i]
	j.join().offers = slices.Delete(j.offers, i, i+1)
	delete(ar.offered, o.task.ID)
	return o
}

// offerAnew has a job considered again of which something has changed that its tasks have, too, if it is an array.
func (ar *arrays) offerAnew(j *job) {
	ar.withdraw(j)
	ar.queue.look(j)
}

// moved has the tasks of an array that wait considered again after others have been bound or have ended: its limit may allow more now, or less.
func (ar *arrays) moved(array *job) {
	if array.Whole.Limit > 0 {
		ar.lookAll(array)
	}
}

// lookAll has all tasks of an array that wait considered again.
func (ar *arrays) lookAll(array *job) {
	ar.queue.look(array)
	for _, p := range array.taskJobs {
		if p.queued {
			ar.queue.look(p)
		}
	}
}

// waits notes why an offered task waits.
func (ar *arrays) waits(o *offered, reason reasons.Reason) {
	o.reason = reason
	if n := len(ar.decided); n == 0 || ar.decided[n-1] != o.array {
		ar.decided = append(ar.decided, o.array)
	}
}

// planned gives the arrays the reasons of their tasks, when a plan has been carried out.
func (ar *arrays) planned(setReason func(*job, reasons.Reason)) {
	for _, j := range ar.decided {
		if reason := j.offersReason(); reason != "" {
			setReason(j, reason)
		}
	}
	ar.decided = nil
}

// jobOf is the job that a decision is about: of a task that waits in an array, the array.
func (ar *arrays) jobOf(id federation.JobID) federation.JobID {
	if o := ar.offered[id]; o != nil {
		return o.array.ID
	}
	return id
}

// offersReason is why an array waits: as the last of its tasks does that a plan has looked at.
func (j *job) offersReason() reasons.Reason {
	for _, o := range slices.Backward(j.offers) {
		if o.reason != "" {
			return o.reason
		}
	}
	return ""
}
