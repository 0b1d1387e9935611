package wire

// JobDesc is what is asked for in a submission or an update. A field that is not set is left out. Pointers are
// for values whose zero means something else than "not given".
type JobDesc struct {
	JobID   int64  `json:"job_id,omitempty"`   // only SlurmUser and root may choose it
	UserID  Text   `json:"user_id,omitempty"`  // a number
	GroupID Text   `json:"group_id,omitempty"` // a number: a name kills slurmrestd 24.11
	Name    string `json:"name,omitempty"`

	Account      string `json:"account,omitempty"`
	Partition    string `json:"partition,omitempty"`
	QOS          string `json:"qos,omitempty"`
	Reservation  string `json:"reservation,omitempty"`
	Comment      string `json:"comment,omitempty"`
	AdminComment string `json:"admin_comment,omitempty"` // only SlurmUser and root
	Extra        string `json:"extra,omitempty"`
	WCKey        string `json:"wckey,omitempty"`

	Script      string      `json:"script,omitempty"`
	Argv        []string    `json:"argv,omitempty"` // the first is replaced by the path of the spooled script
	Environment Environment `json:"environment,omitempty"`
	WorkDir     string      `json:"current_working_directory,omitempty"`
	StdIn       string      `json:"standard_input,omitempty"`
	StdOut      string      `json:"standard_output,omitempty"`
	StdErr      string      `json:"standard_error,omitempty"`
	OpenMode    Strings     `json:"open_mode,omitempty"` // APPEND, TRUNCATE
	Array       string      `json:"array,omitempty"`
	Dependency  string      `json:"dependency,omitempty"`

	Nodes            string  `json:"nodes,omitempty"` // "2", "2-4", "1,5,9"
	MinNodes         int     `json:"minimum_nodes,omitempty"`
	MaxNodes         int     `json:"maximum_nodes,omitempty"`
	Tasks            int     `json:"tasks,omitempty"`
	TasksPerNode     int     `json:"tasks_per_node,omitempty"`
	CPUsPerTask      int     `json:"cpus_per_task,omitempty"`
	MinCPUs          int     `json:"minimum_cpus,omitempty"`
	MaxCPUs          int     `json:"maximum_cpus,omitempty"`
	MinCPUsPerNode   int     `json:"minimum_cpus_per_node,omitempty"`
	MemoryPerNode    Number  `json:"memory_per_node,omitzero"` // MiB; 0: all
	MemoryPerCPU     Number  `json:"memory_per_cpu,omitzero"`  // MiB
	MemoryPerTRES    string  `json:"memory_per_tres,omitempty"`
	TmpDiskPerNode   int     `json:"temporary_disk_per_node,omitempty"`
	TRESPerJob       string  `json:"tres_per_job,omitempty"`
	TRESPerNode      string  `json:"tres_per_node,omitempty"`
	TRESPerSocket    string  `json:"tres_per_socket,omitempty"`
	TRESPerTask      string  `json:"tres_per_task,omitempty"`
	TRESBind         string  `json:"tres_bind,omitempty"`
	CPUsPerTRES      string  `json:"cpus_per_tres,omitempty"`
	NTasksPerTRES    int     `json:"ntasks_per_tres,omitempty"`
	Constraints      string  `json:"constraints,omitempty"`
	Licenses         string  `json:"licenses,omitempty"`
	RequiredNodes    Strings `json:"required_nodes,omitempty"` // names, not hostlists
	ExcludedNodes    Strings `json:"excluded_nodes,omitempty"`
	Contiguous       *bool   `json:"contiguous,omitempty"`
	Overcommit       *bool   `json:"overcommit,omitempty"`
	Shared           Strings `json:"shared,omitempty"` // none (exclusive), oversubscribe, user, mcs, topo
	RequiredSwitches Number  `json:"required_switches,omitzero"`
	WaitForSwitch    int     `json:"wait_for_switch,omitempty"` // seconds
	Distribution     string  `json:"distribution,omitempty"`
	SegmentSize      Number  `json:"segment_size,omitzero"`

	TimeLimit   Number  `json:"time_limit,omitzero"`   // minutes
	TimeMinimum Number  `json:"time_minimum,omitzero"` // minutes
	BeginTime   Number  `json:"begin_time,omitzero"`   // Unix time
	Deadline    int64   `json:"deadline,omitempty"`    // Unix time
	Hold        *bool   `json:"hold,omitempty"`
	Priority    Number  `json:"priority,omitzero"`
	Nice        *int    `json:"nice,omitempty"`
	Requeue     *bool   `json:"requeue,omitempty"`
	MailType    Strings `json:"mail_type,omitempty"`
	MailUser    string  `json:"mail_user,omitempty"`
	Flags       Strings `json:"flags,omitempty"`

	SocketsPerNode int     `json:"sockets_per_node,omitempty"`
	CoresPerSocket int     `json:"cores_per_socket,omitempty"` // from v0.0.45
	ThreadsPerCore int     `json:"threads_per_core,omitempty"`
	TasksPerCore   int     `json:"tasks_per_core,omitempty"`
	TasksPerSocket int     `json:"tasks_per_socket,omitempty"`
	CoreSpec       int     `json:"core_specification,omitempty"`
	ThreadSpec     int     `json:"thread_specification,omitempty"`
	PlaneSize      int     `json:"distribution_plane_size,omitempty"`
	Prefer         string  `json:"prefer,omitempty"`
	BatchFeatures  string  `json:"batch_features,omitempty"`
	BurstBuffer    string  `json:"burst_buffer,omitempty"`
	Network        string  `json:"network,omitempty"`
	TRESFreq       string  `json:"tres_freq,omitempty"`
	DelayBoot      int     `json:"delay_boot,omitempty"` // seconds
	MCSLabel       string  `json:"mcs_label,omitempty"`
	SELinuxContext string  `json:"selinux_context,omitempty"`
	Profile        Strings `json:"profile,omitempty"` // NONE ENERGY LUSTRE NETWORK TASK
	AcctGatherFreq string  `json:"account_gather_frequency,omitempty"`
	Container      string  `json:"container,omitempty"`
	ContainerID    string  `json:"container_id,omitempty"`
	WaitAllNodes   *bool   `json:"wait_all_nodes,omitempty"`

	CPUFrequency      string  `json:"cpu_frequency,omitempty"`
	ClusterConstraint string  `json:"cluster_constraint,omitempty"`
	MemBind           string  `json:"memory_binding,omitempty"`      // the list of MAP and MASK
	MemBindType       Strings `json:"memory_binding_type,omitempty"` // NONE RANK MAP MASK LOCAL VERBOSE SORT PREFER
	Reboot            *bool   `json:"reboot,omitempty"`              // for administrators

	KillWarningSignal string  `json:"kill_warning_signal,omitempty"`
	KillWarningDelay  Number  `json:"kill_warning_delay,omitzero"` // seconds
	KillWarningFlags  Strings `json:"kill_warning_flags,omitempty"`

	KillOnNodeFail *bool  `json:"kill_on_node_fail,omitempty"`
	OOMKillStep    int    `json:"oom_kill_step,omitempty"`
	Clusters       string `json:"clusters,omitempty"`
}

// JobSubmitRequest is the body of POST /job/submit. Script may be here or in the job; here it wins.
type JobSubmitRequest struct {
	Script string    `json:"script,omitempty"`
	Job    *JobDesc  `json:"job,omitempty"`
	Jobs   []JobDesc `json:"jobs,omitempty"` // components of a heterogeneous job
}

// JobSubmitResponse is its answer. A JobID that is not 0 means that the job was submitted, whatever Errors say.
type JobSubmitResponse struct {
	JobID   int64  `json:"job_id,omitempty"`
	StepID  string `json:"step_id,omitempty"`
	Message string `json:"job_submit_user_msg"`
	Reply
}

// JobUpdateResponse answers POST /job/{id}, whose body is a bare [JobDesc].
type JobUpdateResponse struct {
	Results List[JobUpdateResult] `json:"results"`
	Reply
}

type JobUpdateResult struct {
	JobID  int64  `json:"job_id"`
	StepID string `json:"step_id"`
	Error  string `json:"error"`
	Code   int    `json:"error_code"`
	Why    string `json:"why"`
}
