package v1

import (
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
)

// Event is one thing that happened: a step of a job's life, a request of a user, or what an operator said of a site.
// GET /fed/v1/events answers with one in each line, in the order of the store's commits. Of the query, after is the Mark to go
// on from; without it since (seconds since 1970) is the time to begin at, and without either only what comes is told. With follow=1 the
// answer does not end. Between the events are [EventsMark]s. A mark that the log no longer has is refused with status 410: what came
// after it is not all known.
type Event struct {
	Time time.Time `json:"time"` // when it was written
	// Event is submit, bind, start, suspend, resume, requeue, invalid-depend (what it depends on can never be met) or end of a job; request; active, inactive, drain, drain+remove, removed, lost,
	// maintenance or maintenance-removed of a site; group-invalid-depend (jobs of a group can never start, told once beside the invalid-depend of each: Detail says how many, User whose) of a group; site, a condition of it that has begun or ended; node-drain or node-resume, an operator's
	// word about a node; node, another state that its site shows; or health, what a rule of health says.
	Event   string              `json:"event"`
	Job     federation.JobID    `json:"job_id,omitempty"`
	Array   federation.JobID    `json:"array_job_id,omitempty"`  // of a job or task that is of an array
	Task    *int                `json:"array_task_id,omitempty"` // its index in that
	Tasks   string              `json:"array_tasks,omitempty"`   // or of several of its tasks: "3-9,12"
	User    string              `json:"user,omitempty"`          // the job's owner; "" where the job has been deleted since. Of a node: who did it
	Name    string              `json:"name,omitempty"`          // of the job
	Group   string              `json:"group,omitempty"`         // of the job; "": it is in none
	Site    federation.SiteName `json:"site,omitempty"`          // where the job is or was; the site itself
	State   federation.State    `json:"state,omitempty"`         // of the job, task, node or site, after this
	From    federation.State    `json:"from,omitempty"`          // before this, where it is known
	Who     string              `json:"who,omitempty"`           // asked for it, or said it; of a node, whom its site names
	Reason  reasons.Reason      `json:"reason,omitempty"`        // why it waits, or has ended so
	Exit    *int32              `json:"exit_status,omitempty"`   // of end, as wait(2) gives it
	Node    string              `json:"node,omitempty"`          // of the site
	Detail  string              `json:"detail,omitempty"`        // why a node or a site is in that state
	Request string              `json:"request,omitempty"`       // cancel, hold, release ...: see the paths below /fed/v1/jobs
}

// EventsMark says that all up to a mark has been told: go on from there. One stands at the end of an answer, and one at the beginning of
// an answer that does not end.
type EventsMark struct {
	Mark int64 `json:"mark"`
}
