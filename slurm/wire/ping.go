package wire

// Ping is what one controller answered. It says nothing about the caller's token: with a bad one Responding is false
// and the HTTP status still 200. Use /diag/ to check a token.
type Ping struct {
	Hostname   string `json:"hostname"`
	Pinged     string `json:"pinged,omitempty"` // "UP" or "DOWN", until v0.0.44
	Responding bool   `json:"responding"`
	Latency    int64  `json:"latency"`        // microseconds
	Mode       string `json:"mode,omitempty"` // "primary", until v0.0.44
	Primary    bool   `json:"primary"`
	Status     string `json:"status,omitempty"` // from v0.0.45
}

// PingResponse answers GET /ping/ and, for slurmdbd, /slurmdb/<version>/ping/.
type PingResponse struct {
	Pings List[Ping] `json:"pings"`
	Reply
}

// Diag are slurmctld's counters, those that we read or serve.
type Diag struct {
	PartsPacked       int64  `json:"parts_packed"`
	ReqTime           Number `json:"req_time"`
	ReqTimeStart      Number `json:"req_time_start"`
	ServerThreadCount int64  `json:"server_thread_count"`
	AgentQueueSize    int64  `json:"agent_queue_size"`
	AgentCount        int64  `json:"agent_count"`
	AgentThreadCount  int64  `json:"agent_thread_count"`
	DBDAgentQueueSize int64  `json:"dbd_agent_queue_size"`
	ScheduleCycleLast int64  `json:"schedule_cycle_last"` // microseconds
	ScheduleCycleMax  int64  `json:"schedule_cycle_max"`
	ScheduleCycleMean int64  `json:"schedule_cycle_mean"`
	ScheduleQueueLen  int64  `json:"schedule_queue_length"`
	JobsSubmitted     int64  `json:"jobs_submitted"`
	JobsStarted       int64  `json:"jobs_started"`
	JobsCompleted     int64  `json:"jobs_completed"`
	JobsCanceled      int64  `json:"jobs_canceled"`
	JobsFailed        int64  `json:"jobs_failed"`
	JobsPending       int64  `json:"jobs_pending"`
	JobsRunning       int64  `json:"jobs_running"`
	JobStatesTS       Number `json:"job_states_ts"`
}

// DiagResponse answers GET /diag/.
type DiagResponse struct {
	Statistics Diag `json:"statistics"`
	Reply
}
