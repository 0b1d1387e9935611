package federation

import (
	"time"

	"fsub/accounting"
	"fsub/federation/codes"
	"fsub/federation/demand"
	"fsub/federation/ident"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// JobID is the number that fsub prints and that the job has at its site, in SLURM_JOB_ID and in slurm-%j.out.
// IDs come from a range that no site's own counter reaches.
type JobID = ident.JobID

// The default range of federated job IDs. Slurm's REST API refuses IDs from 2^26-1 upward.
const (
	FirstJobID JobID = 30_000_000
	LastJobID  JobID = 67_108_862
)

// SiteName names one member of the federation: "alpha".
type SiteName = ident.SiteName

// Job is what a user asked for, with all that is known of it so far. The script and its environment are apart, in
// the store ([JobStore]). Times are UTC; the zero time means "not yet".
type Job struct {
	ID       JobID
	UID, GID uint32
	CancelBy uint32 // uid of who asked for the cancellation
	User     string // the caller's name on this machine
	// Spec is what the user asked for. Jobs that ask for the same may share it: it is not changed in place, but replaced by
	// SetSpec or EditSpec. It is never nil in a job that was submitted or read from the store.
	Spec *sbatch.Spec
	// Demand is what Spec asks for, Spec.Array aside. It is made when the job is submitted and whenever its Spec is changed in anything
	// else. See [Job.Needs].
	Demand *demand.Demand

	State  State
	Reason reasons.Reason // why it is PENDING, or why it ended badly
	// Priority is what an operator has set it to; 0: nothing. Where the job stands is never stored: see place.Priority.
	Priority uint32
	Top      uint32 // what scontrol top has added to it
	Held     Hold
	Holder   *Holder // of a job that is held; nil: not known

	// Cancel is set once a cancellation was accepted; the job ends as CANCELLED when no attempt of it is left alive.
	Cancel bool
	// ExitStatus is as wait(2) gives it: exit code << 8 | signal.
	ExitStatus int32

	Submit time.Time
	Start  time.Time // of the newest attempt
	End    time.Time
	// Pause is the suspension of the newest attempt's last run; nil: there was none, as for nearly all jobs. It is not changed in place: see SetSuspension.
	Pause *Suspension

	// Where the newest attempt is or was. Empty while the job waits in the federation's queue.
	Attempt   int // number of the newest attempt, from 1; 0: none yet
	Site      SiteName
	Partition string
	Nodes     string // hostlist
	Account   string // that pays for it, once it was bound: see [Held]

	// TreeAccount is the account of the federation's tree that the job was submitted under, or changed to by somebody who may act on it: see
	// accounts.Tree.JobAccount. "" without a tree. Coordinators' rights over the job follow from it alone, so that no edit of the tree gives them any.
	TreeAccount string

	Restarts int // how often it was requeued, over all sites
	Cost     Money

	// Part is set for a job that is one task of an array: each has a record from when it is bound, with a number of its own, as a started
	// task has in Slurm. Its Spec has no Array.
	Part *ArrayPart
	// Component is set for a further component of a heterogeneous job. The first one, its leader, has the others in Spec.Het and is
	// what is placed and submitted; the components follow it.
	Component *HetComponent
	// Whole is set for an array: what it was when it was submitted. Spec.Array is what is left of it.
	Whole *ArrayWhole

	SubmitHost string
	Rev        int64 // set by the store, greater with every write of the job
}

// SetSpec makes spec what the job asks for.
func (j *Job) SetSpec(spec sbatch.Spec) { j.Spec, j.Demand = &spec, demand.Of(&spec) }

// Suspension is that of the newest attempt's last run.
func (j *Job) Suspension() Suspension {
	if j.Pause == nil {
		return Suspension{}
	}
	return *j.Pause
}

// SetSuspension notes that of the newest attempt's last run.
func (j *Job) SetSuspension(s Suspension) {
	if j.Pause = nil; s != (Suspension{}) {
		j.Pause = &s
	}
}

// EditSpec changes a copy of the job's Spec and makes that the job's. Of what its Demand says f changes nothing.
func (j *Job) EditSpec(f func(*sbatch.Spec)) {
	var spec sbatch.Spec
	if j.Spec != nil {
		spec = *j.Spec
	}
	f(&spec)
	j.Spec = &spec
}

// Needs is the job's Demand, made anew for a job that was read from somewhere without one.
func (j *Job) Needs() *demand.Demand {
	if j.Demand != nil {
		return j.Demand
	}
	return demand.Of(j.Spec)
}

// ArrayPart says which task of which array a job is.
type ArrayPart struct {
	Array JobID // the number that fsub printed: SLURM_ARRAY_JOB_ID
	Index int
	// Of the whole array as it was submitted: SLURM_ARRAY_TASK_COUNT, _MIN, _MAX and _STEP.
	Count, Min, Max, Step int
	Limit                 int // tasks that may run at once, 0: all
	// Last: when it became a job, none of the array waited any more. Slurm gives such a task the array's own number: see [Job.Number].
	Last bool
}

// HetComponent says which component of which heterogeneous job a job is. Its ID is the leader's plus Offset.
type HetComponent struct {
	Leader JobID
	Offset int // from 1
}

// Number is what Slurm's commands, slurmrestd and SLURM_JOB_ID call the job, and what a pinned site runs it under: its ID, but for the last task of an array to
// be bound. There programs look for the array's own number among the running jobs (Open OnDemand, snakemake).
func (j *Job) Number() JobID {
	if j.Part != nil && j.Part.Last {
		return j.Part.Array
	}
	return j.ID
}

// Ref is what the driver of the attempt's site is asked about.
func (j *Job) Ref(a *Attempt) JobRef {
	return JobRef{ID: j.ID, User: j.User, Number: j.Number(), Key: a.Key, SiteJobID: a.SiteJobID, SiteSubmit: a.SiteSubmit, Submitted: a.Created}
}

// Task is a part as a task of its array.
func (j *Job) Task() Task {
	return Task{Job: j.Part.Array, Index: j.Part.Index, ID: j.ID, SiteJobID: uint32(j.Number()), State: j.State, Reason: j.Reason, Nodes: j.Nodes,
		Start: j.Start, End: j.End, ExitStatus: j.ExitStatus, Restarts: j.Restarts, Cost: j.Cost, Cancel: j.Cancel, CancelBy: j.CancelBy}
}

// Group is the array or heterogeneous job that the job is a part of; 0: none.
func (j *Job) Group() JobID {
	switch {
	case j.Part != nil:
		return j.Part.Array
	case j.Component != nil:
		return j.Component.Leader
	}
	return 0
}

// PayloadOf is the job that the script and environment of j are stored with: its array, if it is a part of one.
func (j *Job) PayloadOf() JobID {
	if j.Part != nil {
		return j.Part.Array
	}
	return j.ID
}

// ArrayWhole is an array as it was submitted.
type ArrayWhole struct {
	Count, Min, Max, Step int
	Limit                 int // tasks that may run at once, over all sites together; 0: all
	// Spread: its tasks are bound to sites one by one. Each that is becomes a job with a [ArrayPart]; Spec.Array
	// names those that still wait, and is empty when there are none. Unset: an earlier version has handed the array over to a site as a
	// whole, or nobody has taken it up yet.
	Spread bool
	// Cancelled are the tasks that were cancelled by name while they waited, those that were cancelled first before others. Spec.Array does not name
	// them, and they have no [Task]. What waits when all of an array is cancelled is not among them: it stays in Spec.Array.
	Cancelled []CancelledTasks
}

// Waiting are the tasks of an array that are no jobs of their own yet and may still become such; none of what is no array.
func (j *Job) Waiting() TaskSet {
	if j.Spec == nil || j.Spec.Array == "" || j.Cancel || j.State.Ended() {
		return TaskSet{}
	}
	array, err := ReadArray(j.Spec.Array)
	if err != nil { // checked when it was submitted
		return TaskSet{}
	}
	return array.Set()
}

// Money is what is recorded, billed or budgeted, exact to a millionth of a US dollar.
type Money = accounting.Money

// Dollar is one dollar as Money.
const Dollar = accounting.Dollar

// Hold says who holds a pending job. Slurm's reasons are JobHeldUser and JobHeldAdmin.
type Hold string

const (
	NotHeld   Hold = ""
	HeldUser  Hold = "user"
	HeldAdmin Hold = "admin" // only an operator releases it
	// HeldSpecial is HeldUser of a job that was requeued to wait in state SPECIAL_EXIT.
	HeldSpecial Hold = "special"
)

// Holder says who holds a job.
type Holder struct {
	By  string // a user's name; "": the daemon
	At  time.Time
	Why *codes.Why // why the daemon does
}

// Task is one task of a job array that has started or ended. Tasks that merely wait have no record of their own: they are what Spec.Array names and no
// Task does; nor have those that were cancelled meanwhile: see [CancelledTasks].
type Task struct {
	Job        JobID
	Index      int
	ID         JobID  // of the job that it has become, which is not stored with it; 0: none
	SiteJobID  uint32 // the site's own number of this task, not unique over sites
	State      State
	Reason     reasons.Reason
	Nodes      string
	Start, End time.Time
	ExitStatus int32
	Restarts   int
	Cost       Money
	Cancel     bool   // it was cancelled while it waited
	CancelBy   uint32 // uid of who asked for that
}

// Event is one line of a job's history: why it moved, what was lost, who cancelled it. People read it in
// "fed job show".
type Event struct {
	Job     JobID
	Attempt int // 0: about the job as a whole
	At      time.Time
	Text    string
}
