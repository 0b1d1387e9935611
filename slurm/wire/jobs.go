package wire

// JobStateRow is one row of GET /jobs/state/: a job, or one task of an array. JobID is text there: "17", "2414_0",
// "2414_[3-9]".
type JobStateRow struct {
	JobID Text    `json:"job_id"`
	State Strings `json:"state"`
}

// JobsStateResponse answers GET /jobs/state/[?job_id=1,2_3].
type JobsStateResponse struct {
	Jobs List[JobStateRow] `json:"jobs"`
	Reply
}

// KillJobs is the body of DELETE /jobs/: the jobs named, or those that match every other field.
type KillJobs struct {
	Jobs        []string `json:"jobs,omitempty"` // "17", "2414_0", "2414_[3-9]"
	Signal      string   `json:"signal,omitempty"`
	Flags       []string `json:"flags,omitempty"` // KillBatch, ...
	Account     string   `json:"account,omitempty"`
	JobName     string   `json:"job_name,omitempty"`
	Partition   string   `json:"partition,omitempty"`
	QOS         string   `json:"qos,omitempty"`
	Reservation string   `json:"reservation,omitempty"`
	JobState    Strings  `json:"job_state,omitempty"`
	UserID      Text     `json:"user_id,omitempty"`
	UserName    string   `json:"user_name,omitempty"`
	WCKey       string   `json:"wckey,omitempty"`
	Nodes       Strings  `json:"nodes,omitempty"`
}

// Flags of [KillJobs] and of the query of DELETE /job/{id}.
const (
	KillBatch = "BATCH_JOB" // the batch shell only
	KillFull  = "FULL_JOB"  // batch shell and steps
)

// KillJobsResponse answers DELETE /jobs/ and /job/{id}. A job that was signalled has no Status: each Status with a Code is
// a refusal, whatever the HTTP status says.
type KillJobsResponse struct {
	Status List[KillStatus] `json:"status"`
	Reply
}

type KillStatus struct {
	Error      KillError `json:"error"`
	StepID     string    `json:"step_id"` // the job as it was named
	JobID      Number    `json:"job_id"`
	Federation struct {
		Sibling string `json:"sibling"`
	} `json:"federation"`
}

type KillError struct {
	Text    string `json:"string"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}
