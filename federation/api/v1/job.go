package v1

import (
	"time"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/heartbeat"
	"fsub/federation/idle"
	"fsub/federation/reasons"
	"fsub/federation/stored"
	"fsub/sbatch"
)

// The shapes of a job and of what belongs to it. They are not the domain's types, which may change from release to release: these keep
// their names and meanings for as long as the path says v1. Times are UTC, and missing where there is none yet; durations are
// nanoseconds; money is dollars, to the millionth. What is missing has its zero value.

// Job is what a user asked for, and what became of it.
type Job struct {
	ID   federation.JobID `json:"job_id"`
	User string           `json:"user"` // its owner's name on the daemon's machine
	UID  uint32           `json:"user_id"`
	GID  uint32           `json:"group_id"`
	Spec sbatch.Spec      `json:"spec"`

	State    federation.State `json:"state"`
	Reason   reasons.Reason   `json:"reason,omitempty"` // why it is PENDING, or why it ended badly
	Priority uint32           `json:"priority"`         // set by an operator; 0: none was, and minus the spec's nice counts
	Top      uint32           `json:"top,omitempty"`    // what scontrol top has added to that. Higher ones come first; ties go to the lower ID
	Held     federation.Hold  `json:"held,omitempty"`   // by whom: user, admin or special
	Holder   *Holder          `json:"holder,omitempty"` // of a job that is held, if that is known
	Cancel   bool             `json:"cancel,omitempty"` // a cancellation was accepted
	CancelBy uint32           `json:"cancel_user_id,omitempty"`

	Submit     time.Time         `json:"submit_time"`
	Start      time.Time         `json:"start_time,omitzero"` // of the newest attempt
	End        time.Time         `json:"end_time,omitzero"`
	Suspension stored.Suspension `json:"suspension,omitzero"` // of the newest attempt's last run

	Attempt   int                 `json:"attempt,omitempty"` // number of the newest attempt, from 1
	Site      federation.SiteName `json:"site,omitempty"`    // where that is or was
	Partition string              `json:"partition,omitempty"`
	Nodes     string              `json:"nodes,omitempty"`   // hostlist
	Account   string              `json:"account,omitempty"` // at its site
	Shown

	ExitStatus int32            `json:"exit_status"` // as wait(2) gives it: exit code << 8 | signal
	Restarts   int              `json:"restarts,omitempty"`
	Cost       federation.Money `json:"cost_usd"`

	Part       *ArrayPart    `json:"array_part,omitempty"` // of a task that is a separate job
	Component  *HetComponent `json:"component,omitempty"`
	Whole      *ArrayWhole   `json:"array,omitempty"`
	SubmitHost string        `json:"submit_host,omitempty"`
}

// Shown is what squeue shows of a job beyond Slurm's columns. The tags of a field say what number it has in a row (see [AppendRow]), and what -O and its header call it.
type Shown struct {
	// The account of the federation's tree that it was submitted under, whose coordinators may act on it.
	TreeAccount string `json:"tree_account,omitempty" row:"1029" column:"TreeAccount,TREE_ACCOUNT"`
	// The group that the job was put into; see --group.
	JobGroup string `json:"group,omitempty" row:"1030" column:"JobGroup,JOB_GROUP"`
}

// ShownOf is what squeue shows of a job.
func ShownOf(j *federation.Job) Shown {
	return Shown{TreeAccount: j.TreeAccount, JobGroup: j.Spec.GroupName()}
}

// ArrayPart says which task of which array a job is, and what that was when it was submitted.
type ArrayPart struct {
	Array federation.JobID `json:"array_job_id"`
	Index int              `json:"array_task_id"`
	Count int              `json:"count"`
	Min   int              `json:"min"`
	Max   int              `json:"max"`
	Step  int              `json:"step"`
	Limit int              `json:"limit,omitempty"` // tasks that may run at once
	Last  bool             `json:"last,omitempty"`  // Slurm's commands call it by the array's own number
}

// ArrayWhole is an array as it was submitted. What is left of it is in the spec.
type ArrayWhole struct {
	Count  int  `json:"count"`
	Min    int  `json:"min"`
	Max    int  `json:"max"`
	Step   int  `json:"step"`
	Limit  int  `json:"limit,omitempty"`  // tasks that may run at once, over all sites together
	Spread bool `json:"spread,omitempty"` // its tasks are bound to sites one by one
	// Cancelled are tasks that were cancelled by name while they waited. They have no record among the job's tasks.
	Cancelled []CancelledTasks `json:"cancelled,omitempty"`
}

// CancelledTasks are tasks of an array that were cancelled while they waited, by the same user.
type CancelledTasks struct {
	Tasks    string    `json:"tasks"`               // as an array is written: "0-99,200"
	End      time.Time `json:"end"`                 // of the last of them
	Cancel   bool      `json:"cancel,omitempty"`    // somebody asked for it; else they could never have started
	CancelBy uint32    `json:"cancel_by,omitempty"` // who
}

func wholeOf(a *federation.ArrayWhole) *ArrayWhole {
	w := &ArrayWhole{Count: a.Count, Min: a.Min, Max: a.Max, Step: a.Step, Limit: a.Limit, Spread: a.Spread}
	for _, c := range a.Cancelled {
		w.Cancelled = append(w.Cancelled, CancelledTasks{c.Tasks.Format(0), c.End, c.Cancel, c.CancelBy})
	}
	return w
}

func (w *ArrayWhole) domain() *federation.ArrayWhole {
	a := &federation.ArrayWhole{Count: w.Count, Min: w.Min, Max: w.Max, Step: w.Step, Limit: w.Limit, Spread: w.Spread}
	for _, c := range w.Cancelled {
		tasks, _ := federation.ReadTasks(c.Tasks) // it was written by the daemon
		a.Cancelled = append(a.Cancelled, federation.CancelledTasks{Tasks: tasks, End: c.End, Cancel: c.Cancel, CancelBy: c.CancelBy})
	}
	return a
}

// Holder says who holds a job.
type Holder struct {
	By  string     `json:"by,omitempty"` // a user's name; missing: the daemon
	At  time.Time  `json:"time"`
	Why *codes.Why `json:"why,omitempty"` // why the daemon does
}

// HetComponent says which component of which heterogeneous job a job is.
type HetComponent struct {
	Leader federation.JobID `json:"leader_job_id"`
	Offset int              `json:"offset"` // from 1
}

// Task is one task of an array that has started or ended, or that was cancelled before it started.
type Task struct {
	Job        federation.JobID `json:"job_id"` // the array's
	Index      int              `json:"array_task_id"`
	ID         federation.JobID `json:"task_job_id,omitempty"` // of the job that it has become
	SiteJobID  uint32           `json:"site_job_id,omitempty"` // the site's own number of it
	State      federation.State `json:"state"`
	Reason     reasons.Reason   `json:"reason,omitempty"`
	Nodes      string           `json:"nodes,omitempty"`
	Start      time.Time        `json:"start_time,omitzero"`
	End        time.Time        `json:"end_time,omitzero"`
	ExitStatus int32            `json:"exit_status"`
	Restarts   int              `json:"restarts,omitempty"`
	Cost       federation.Money `json:"cost_usd"`
	Cancel     bool             `json:"cancel,omitempty"`         // while it waited
	CancelBy   uint32           `json:"cancel_user_id,omitempty"` // of who asked for that
}

// Attempt is one submission of a job to one site.
type Attempt struct {
	Job         federation.JobID        `json:"job_id"`
	Number      int                     `json:"number"` // from 1
	Key         string                  `json:"key"`    // what names it at the site
	Site        federation.SiteName     `json:"site"`
	Partition   string                  `json:"partition"`
	State       federation.AttemptState `json:"state"`
	Created     time.Time               `json:"created_time"`               // the intent was written
	Acked       time.Time               `json:"acknowledged_time,omitzero"` // the site's acknowledgement reached the daemon
	Started     time.Time               `json:"start_time,omitzero"`        // by the site's clock, as all below
	Ended       time.Time               `json:"end_time,omitzero"`
	SiteJobID   uint32                  `json:"site_job_id,omitempty"`
	SiteSubmit  time.Time               `json:"site_submit_time,omitzero"`
	Tries       int                     `json:"tries"`              // how often it was sent to the site
	Restarts    int                     `json:"restarts,omitempty"` // requeues by the site itself
	Nodes       string                  `json:"nodes,omitempty"`
	Account     string                  `json:"account,omitempty"`      // that pays for it
	SiteAccount string                  `json:"site_account,omitempty"` // that the site runs it under, if that is another one
	Final       federation.State        `json:"final_state,omitempty"`  // how the job ended at the site
	ExitStatus  int32                   `json:"exit_status"`
	Class       federation.FailureClass `json:"failure_class,omitempty"` // user, node, site, capacity or preemption
	Code        federation.FailureCode  `json:"failure_code,omitempty"`  // what of that class: see docs/health.md
	Note        string                  `json:"note,omitempty"`          // why it was refused, withdrawn or forgotten
	Decision    decision.Decision       `json:"decision"`                // why it went there
	Cost        federation.Money        `json:"cost_usd"`                // of all its runs
	Kept        *stored.Kept            `json:"kept,omitempty"`          // the newest whole copy that it has made of what the job keeps (--keep)
	Heartbeat   *heartbeat.Record       `json:"heartbeat,omitempty"`     // what its run's heartbeats have shown: nodes that are slower than others, times without any
	Idle        *idle.Record            `json:"idle,omitempty"`          // its run has left idle what it holds, and who was told
	Moved       *decision.Moved         `json:"moved,omitempty"`         // the newest move of the running job that the planner has decided, in this attempt or an earlier one
	Stays       string                  `json:"stays,omitempty"`         // why its run is not moved from a node that is drained with move
	Runs        []stored.Run            `json:"runs,omitempty"`          // those before the last one, which the site has ended to queue the job again
	Losses      []stored.NodeLoss       `json:"losses,omitempty"`        // nodes that it has lost without its end (--on-node-loss)
}

// HistoryEntry is one line of a job's history.
type HistoryEntry struct {
	Job     federation.JobID `json:"job_id"`
	Attempt int              `json:"attempt,omitempty"` // 0: about the job as a whole
	At      time.Time        `json:"time"`
	Text    string           `json:"text"`
}

// JobOf is the shape of a job.
func JobOf(j *federation.Job) Job {
	w := Job{
		ID: j.ID, User: j.User, UID: j.UID, GID: j.GID, Spec: *j.Spec, State: j.State, Reason: j.Reason, Priority: j.Priority, Top: j.Top, Held: j.Held,
		Cancel: j.Cancel, CancelBy: j.CancelBy, Submit: j.Submit, Start: j.Start, End: j.End, Suspension: stored.Suspension(j.Suspension()),
		Attempt: j.Attempt, Site: j.Site, Partition: j.Partition, Nodes: j.Nodes, Account: j.Account, Shown: ShownOf(j),
		ExitStatus: j.ExitStatus, Restarts: j.Restarts, Cost: j.Cost, SubmitHost: j.SubmitHost,
	}
	if j.Part != nil {
		w.Part = new(ArrayPart(*j.Part))
	}
	if j.Component != nil {
		w.Component = new(HetComponent(*j.Component))
	}
	if j.Holder != nil {
		w.Holder = new(Holder(*j.Holder))
	}
	if j.Whole != nil {
		w.Whole = wholeOf(j.Whole)
	}
	return w
}

// Domain is the job as the domain has it. Its Rev is the store's and is not told.
func (w *Job) Domain() federation.Job {
	j := federation.Job{
		ID: w.ID, User: w.User, UID: w.UID, GID: w.GID, Spec: &w.Spec, State: w.State, Reason: w.Reason, Priority: w.Priority, Top: w.Top, Held: w.Held,
		Cancel: w.Cancel, CancelBy: w.CancelBy, Submit: w.Submit, Start: w.Start, End: w.End,
		Attempt: w.Attempt, Site: w.Site, Partition: w.Partition, Nodes: w.Nodes, Account: w.Account, TreeAccount: w.TreeAccount,
		ExitStatus: w.ExitStatus, Restarts: w.Restarts, Cost: w.Cost, SubmitHost: w.SubmitHost,
	}
	j.SetSuspension(federation.Suspension(w.Suspension))
	if w.Part != nil {
		j.Part = new(federation.ArrayPart(*w.Part))
	}
	if w.Component != nil {
		j.Component = new(federation.HetComponent(*w.Component))
	}
	if w.Holder != nil {
		j.Holder = new(federation.Holder(*w.Holder))
	}
	if w.Whole != nil {
		j.Whole = w.Whole.domain()
	}
	return j
}

// AttemptOf is the shape of an attempt.
func AttemptOf(a *federation.Attempt) Attempt {
	return Attempt{
		Job: a.Job, Number: a.Number, Key: a.Key, Site: a.Site, Partition: a.Partition, State: a.State, Created: a.Created, Acked: a.Acked,
		Started: a.Started, Ended: a.Ended, SiteJobID: a.SiteJobID, SiteSubmit: a.SiteSubmit, Tries: a.Tries, Restarts: a.Restarts,
		Nodes: a.Nodes, Account: a.Held.Account, SiteAccount: a.Held.SiteAccount, Final: a.Final, ExitStatus: a.ExitStatus, Class: a.Class, Code: a.Code, Note: a.Note, Decision: a.Decision.Worded(), Cost: a.Cost, Runs: stored.RunsOf(a.Runs),
		Kept: (*stored.Kept)(a.Kept), Losses: stored.LossesOf(a.Losses), Idle: a.Idle, Heartbeat: a.Heartbeat, Moved: a.Moved, Stays: a.Stays,
	}
}

// Domain is the attempt as the domain has it, but for what the controller keeps of its newest run.
func (w *Attempt) Domain() federation.Attempt {
	return federation.Attempt{
		Job: w.Job, Number: w.Number, Key: w.Key, Site: w.Site, Partition: w.Partition, State: w.State, Created: w.Created, Acked: w.Acked,
		Started: w.Started, Ended: w.Ended, SiteJobID: w.SiteJobID, SiteSubmit: w.SiteSubmit, Tries: w.Tries, Restarts: w.Restarts,
		Nodes: w.Nodes, Final: w.Final, ExitStatus: w.ExitStatus, Class: w.Class, Code: w.Code, Note: w.Note, Decision: w.Decision, Cost: w.Cost, Runs: stored.Runs(w.Runs),
		Held: federation.Held{Account: w.Account, SiteAccount: w.SiteAccount}, Kept: (*egress.Kept)(w.Kept), Losses: stored.Losses(w.Losses), Idle: w.Idle, Heartbeat: w.Heartbeat, Moved: w.Moved, Stays: w.Stays,
	}
}

// RecordOf is the shape of a job with what belongs to it.
func RecordOf(j *federation.Job, tasks []federation.Task, attempts []federation.Attempt, events []federation.Event) *JobRecord {
	r := &JobRecord{Job: JobOf(j)}
	for _, t := range tasks {
		r.Tasks = append(r.Tasks, Task(t))
	}
	for i := range attempts {
		r.Attempts = append(r.Attempts, AttemptOf(&attempts[i]))
	}
	for _, e := range events {
		r.Events = append(r.Events, HistoryEntry(e))
	}
	return r
}
