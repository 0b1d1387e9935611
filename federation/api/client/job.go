package client

import (
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/federation/heartbeat"
	"fsub/federation/idle"
	"fsub/federation/spending"
)

// JobRecord is all that the daemon has written down of one job.
type JobRecord struct {
	Job      federation.Job
	Tasks    []federation.Task
	Attempts []federation.Attempt
	Events   []federation.Event
	Spending *spending.Spending // nil: it does not run
}

// Explanation is why a job is where it is.
type Explanation struct {
	Job federation.Job
	decision.Explained
	Chosen *decision.Offer // what the newest attempt was bound for; nil while the job waits
	Start  *decision.Start // when and where a waiting job is expected to start; nil: not known
	Now    time.Time

	Spending *spending.Spending // nil: it does not run
	Moved    *decision.Moved    // the newest move of the running job that the planner has decided; nil: none
	Stays    string             // why the running job is not moved from a node that is drained with move; "": nothing keeps it
	Idle     *idle.Record       // of the newest attempt; nil: it has not left idle what it holds
	// Heartbeat is what the heartbeats of its newest attempt have shown.
	Heartbeat *heartbeat.Record
}

// Wire is r as /fed/v1 has it.
func (r *JobRecord) Wire() *v1.JobRecord {
	w := v1.RecordOf(&r.Job, r.Tasks, r.Attempts, r.Events)
	w.Spending = r.Spending
	return w
}

func recordOf(w *v1.JobRecord) *JobRecord {
	r := &JobRecord{Job: w.Job.Domain(), Spending: w.Spending}
	for _, t := range w.Tasks {
		r.Tasks = append(r.Tasks, federation.Task(t))
	}
	for i := range w.Attempts {
		r.Attempts = append(r.Attempts, w.Attempts[i].Domain())
	}
	for _, e := range w.Events {
		r.Events = append(r.Events, federation.Event(e))
	}
	return r
}

// Wire is e as /fed/v1 has it.
func (e *Explanation) Wire() *v1.Explanation {
	w := &v1.Explanation{Job: v1.JobOf(&e.Job), Decision: e.Decision.Worded(), Chosen: e.Chosen, Start: e.Start, Waits: e.Waits, Holdbacks: e.Holdbacks, KeptOff: e.KeptOff, Sooner: e.Sooner, Priority: e.Priority, PathSeconds: int64(e.Path.Seconds()), Now: e.Now, Spending: e.Spending, Idle: e.Idle, Heartbeat: e.Heartbeat, Moved: e.Moved, Stays: e.Stays}
	for _, d := range e.Components {
		w.Components = append(w.Components, d.Worded())
	}
	return w
}

func explanationOf(w *v1.Explanation) *Explanation {
	why := decision.Explained{Decision: w.Decision, Components: w.Components, Waits: w.Waits, Holdbacks: w.Holdbacks, KeptOff: w.KeptOff, Sooner: w.Sooner, Priority: w.Priority, Path: time.Duration(w.PathSeconds) * time.Second}
	return &Explanation{Job: w.Job.Domain(), Explained: why, Chosen: w.Chosen, Start: w.Start, Now: w.Now, Spending: w.Spending, Idle: w.Idle, Heartbeat: w.Heartbeat, Moved: w.Moved, Stays: w.Stays}
}
