package v1

import (
	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/sbatch/bounded"
)

// BatchEntry is one job of a batch: a line of the body of POST /fed/v1/jobs/submit. Its jobs are stored all or none.
type BatchEntry struct {
	// Name is by what other entries name this one: @NAME in place of the number of a job in spec.dependency, and in payload_of. Each is there once: 1 to 128 letters, digits and . _ = / -.
	// An entry without a name is named by none.
	Name    string         `json:"name,omitempty"`
	Spec    sbatch.Spec    `json:"spec"` // without components
	Payload sbatch.Payload `json:"payload"`
	// PayloadOf is the name of an earlier entry whose script, arguments and environment this one has, too, where its own payload has none.
	PayloadOf  string `json:"payload_of,omitempty"`
	SubmitHost string `json:"submit_host,omitempty"`
	// Call is as of a SubmitRequest. The script and the environment are this entry's own, or those of PayloadOf.
	Call *Call `json:"call,omitempty"`
}

// BatchJob is a line of the answer to a batch: one for each entry, in the order of the entries, and then a last one with Jobs. An answer without the last one was cut: ask again
// with the same Idempotency-Key.
type BatchJob struct {
	Name  string           `json:"name,omitempty"`
	JobID federation.JobID `json:"job_id,omitempty"`
	// Cluster, Warnings and Note are those of a SubmitResponse.
	Cluster  string   `json:"cluster,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Note     string   `json:"note,omitempty"`

	Jobs  int   `json:"jobs,omitempty"`  // of the last line alone: how many there are
	Mark  int64 `json:"mark,omitempty"`  // of the last line alone: as of a SubmitResponse
	Again bool  `json:"again,omitempty"` // of the last line alone: the batch had been submitted before, under the same key
}

// LineError is why one line of a batch is refused.
type LineError struct {
	Line   int    `json:"line"`             // from 1
	Name   string `json:"name,omitempty"`   // of the entry
	Number int    `json:"number,omitempty"` // as of an Error, as Text and Detail are
	Text   string `json:"text"`
	Detail string `json:"detail,omitempty"`
}

// StatesRequest asks for the states of many jobs at once.
type StatesRequest struct {
	Jobs  bounded.Slice[federation.JobID, bounded.Named] `json:"jobs"`            // at most 100,000
	Tasks bool                                           `json:"tasks,omitempty"` // tell what has become of the tasks of arrays, too
}

// StatesResponse has the states of those jobs that there are.
type StatesResponse struct {
	States  []JobState         `json:"states"`            // in the order of the request
	Unknown []federation.JobID `json:"unknown,omitempty"` // numbers that no job has, or has any more
	// Mark is a mark of the log of changes from before the states were read: GET /fed/v1/events?after=MARK tells all that comes after them.
	Mark int64 `json:"mark"`
}

// JobState is the state of a job.
type JobState struct {
	JobID  federation.JobID    `json:"job_id"`
	Name   string              `json:"name,omitempty"`
	State  federation.State    `json:"state"` // of an array: that of the whole; it ends with the last of its tasks
	Reason reasons.Reason      `json:"reason,omitempty"`
	Site   federation.SiteName `json:"site,omitempty"`
	Exit   *int32              `json:"exit_status,omitempty"` // as wait(2) gives it, of a job that has ended
	Tasks  []TasksState        `json:"tasks,omitempty"`       // of an array, if they were asked for
}

// TasksState is what has become of some tasks of an array.
type TasksState struct {
	Tasks string           `json:"tasks"` // their indices: "0-6,8"
	State federation.State `json:"state"`
	Exit  *int32           `json:"exit_status,omitempty"` // of tasks that have ended
}
