package wire

// Job is a job as slurmctld holds it. Every field is always written.
type Job struct {
	Account               string         `json:"account"`
	AccrueTime            Number         `json:"accrue_time"`
	AdminComment          string         `json:"admin_comment"`
	AllocatingNode        string         `json:"allocating_node"`
	ArrayJobID            Number         `json:"array_job_id"`  // 0: no array
	ArrayTaskID           Number         `json:"array_task_id"` // unset: no task of its own
	ArrayMaxTasks         Number         `json:"array_max_tasks"`
	ArrayTaskString       string         `json:"array_task_string"` // tasks that have not started: "2-5,7%2"
	AssociationID         int64          `json:"association_id"`
	BatchFeatures         string         `json:"batch_features"`
	BatchFlag             bool           `json:"batch_flag"`
	BatchHost             string         `json:"batch_host"`
	Flags                 Strings        `json:"flags"`
	BurstBuffer           string         `json:"burst_buffer"`
	BurstBufferState      string         `json:"burst_buffer_state"`
	Cluster               string         `json:"cluster"`
	ClusterFeatures       string         `json:"cluster_features"`
	Command               string         `json:"command"`
	Comment               string         `json:"comment"`
	Container             string         `json:"container"`
	ContainerID           string         `json:"container_id"`
	Contiguous            bool           `json:"contiguous"`
	CoreSpec              int64          `json:"core_spec"`
	ThreadSpec            int64          `json:"thread_spec"`
	CoresPerSocket        Number         `json:"cores_per_socket"`
	BillableTRES          Float          `json:"billable_tres"`
	CPUsPerTask           Number         `json:"cpus_per_task"`
	CPUFreqMin            Number         `json:"cpu_frequency_minimum"`
	CPUFreqMax            Number         `json:"cpu_frequency_maximum"`
	CPUFreqGovernor       Number         `json:"cpu_frequency_governor"`
	CPUsPerTRES           string         `json:"cpus_per_tres"`
	Cron                  string         `json:"cron"`
	Deadline              Number         `json:"deadline"` // Unix time; 0: none
	DelayBoot             Number         `json:"delay_boot"`
	Dependency            string         `json:"dependency"`
	DerivedExitCode       ExitCode       `json:"derived_exit_code"`
	EligibleTime          Number         `json:"eligible_time"`
	EndTime               Number         `json:"end_time"` // of a running job: when its limit ends
	ExcludedNodes         string         `json:"excluded_nodes"`
	ExitCode              ExitCode       `json:"exit_code"`
	Extra                 string         `json:"extra"`
	FailedNode            string         `json:"failed_node"`
	Features              string         `json:"features"`
	FederationOrigin      string         `json:"federation_origin"`
	SiblingsActive        string         `json:"federation_siblings_active"`
	SiblingsViable        string         `json:"federation_siblings_viable"`
	GRESDetail            Strings        `json:"gres_detail"` // one for each node: "gpu:h100:1(IDX:0)"
	GroupID               Int            `json:"group_id"`
	GroupName             string         `json:"group_name"`
	HetJobID              Number         `json:"het_job_id"`
	HetJobIDSet           string         `json:"het_job_id_set"`
	HetJobOffset          Number         `json:"het_job_offset"`
	JobID                 int64          `json:"job_id"`
	JobResources          *JobResources  `json:"job_resources"` // null: holds no nodes
	JobSize               Strings        `json:"job_size_str"`
	State                 Strings        `json:"job_state"` // base state, then flags; see [BaseState]
	LastSchedEvaluation   Number         `json:"last_sched_evaluation"`
	Licenses              string         `json:"licenses"`
	LicensesAllocated     string         `json:"licenses_allocated,omitempty"` // from v0.0.43
	MailType              Strings        `json:"mail_type"`
	MailUser              string         `json:"mail_user"`
	MaxCPUs               Number         `json:"max_cpus"`
	MaxNodes              Number         `json:"max_nodes"`
	MCSLabel              string         `json:"mcs_label"`
	MemoryPerTRES         string         `json:"memory_per_tres"`
	Name                  string         `json:"name"`
	Network               string         `json:"network"`
	Nodes                 string         `json:"nodes"` // hostlist
	Nice                  int64          `json:"nice"`
	TasksPerCore          Number         `json:"tasks_per_core"`
	TasksPerTRES          Number         `json:"tasks_per_tres"`
	TasksPerNode          Number         `json:"tasks_per_node"`
	TasksPerSocket        Number         `json:"tasks_per_socket"`
	TasksPerBoard         Number         `json:"tasks_per_board"`
	CPUs                  Number         `json:"cpus"`
	NodeCount             Number         `json:"node_count"`
	Tasks                 Number         `json:"tasks"`
	Partition             string         `json:"partition"`
	Prefer                string         `json:"prefer"`
	MemoryPerCPU          Number         `json:"memory_per_cpu"`  // MiB
	MemoryPerNode         Number         `json:"memory_per_node"` // MiB
	MinCPUsPerNode        Number         `json:"minimum_cpus_per_node"`
	MinTmpDiskPerNode     Number         `json:"minimum_tmp_disk_per_node"`
	Power                 Power          `json:"power"` // until v0.0.44
	PreemptTime           Number         `json:"preempt_time"`
	PreemptableTime       Number         `json:"preemptable_time"`
	PreSusTime            Number         `json:"pre_sus_time"`
	Hold                  bool           `json:"hold"`
	Priority              Number         `json:"priority"`
	PriorityByPartition   List[PartPrio] `json:"priority_by_partition"`
	Profile               Strings        `json:"profile"`
	QOS                   string         `json:"qos"`
	Reboot                bool           `json:"reboot"`
	RequiredNodes         string         `json:"required_nodes"`
	RequiredSwitches      Int            `json:"required_switches"`
	Requeue               bool           `json:"requeue"`
	ResizeTime            Number         `json:"resize_time"`
	RestartCnt            int64          `json:"restart_cnt"`
	ReservationName       string         `json:"resv_name"`
	ScheduledNodes        string         `json:"scheduled_nodes"`
	SegmentSize           int64          `json:"segment_size,omitempty"` // from v0.0.43
	SELinuxContext        string         `json:"selinux_context"`
	Shared                Strings        `json:"shared"`
	SocketsPerBoard       int64          `json:"sockets_per_board"`
	SocketsPerNode        Number         `json:"sockets_per_node"`
	StartTime             Number         `json:"start_time"` // of a pending job: an estimate, or 0
	StateDescription      string         `json:"state_description"`
	StateReason           string         `json:"state_reason"`
	StdErr                string         `json:"standard_error"`
	StdIn                 string         `json:"standard_input"`
	StdOut                string         `json:"standard_output"` // expanded up to v0.0.42, as written from v0.0.43
	StdErrExpanded        string         `json:"stderr_expanded,omitempty"`
	StdInExpanded         string         `json:"stdin_expanded,omitempty"`
	StdOutExpanded        string         `json:"stdout_expanded,omitempty"`
	StepID                *StepID        `json:"step_id,omitempty"` // from v0.0.44
	SubmitLine            string         `json:"submit_line,omitempty"`
	SubmitTime            Number         `json:"submit_time"`
	SuspendTime           Number         `json:"suspend_time"`
	SystemComment         string         `json:"system_comment"`
	TimeLimit             Number         `json:"time_limit"` // minutes
	TimeMinimum           Number         `json:"time_minimum"`
	ThreadsPerCore        Number         `json:"threads_per_core"`
	TRESBind              string         `json:"tres_bind"`
	TRESFreq              string         `json:"tres_freq"`
	TRESPerJob            string         `json:"tres_per_job"`
	TRESPerNode           string         `json:"tres_per_node"`
	TRESPerSocket         string         `json:"tres_per_socket"`
	TRESPerTask           string         `json:"tres_per_task"`
	TRESReq               string         `json:"tres_req_str"`
	TRESAlloc             string         `json:"tres_alloc_str"`
	UserID                Int            `json:"user_id"`
	UserName              string         `json:"user_name"`
	MaximumSwitchWaitTime int64          `json:"maximum_switch_wait_time"`
	WCKey                 string         `json:"wckey"`
	WorkDir               string         `json:"current_working_directory"`
}

type Power struct {
	Flags Strings `json:"flags"`
}

type PartPrio struct {
	Partition string `json:"partition"`
	Priority  int64  `json:"priority"`
}

// StepID tells one run of a job from another: each requeue has a new SLUID.
type StepID struct {
	SLUID     string `json:"sluid"`
	JobID     Number `json:"job_id"`
	Component Number `json:"step_het_component"`
	StepID    string `json:"step_id"`
}

// ExitCode is how a job or step ended. Status is SUCCESS, ERROR, SIGNALED, CORE_DUMPED, PENDING or INVALID.
type ExitCode struct {
	Status     Strings    `json:"status"`
	ReturnCode Number     `json:"return_code"`
	Signal     ExitSignal `json:"signal"`
}

type ExitSignal struct {
	ID   Number `json:"id"`
	Name string `json:"name"`
}

// JobResources is what a job holds, node by node.
type JobResources struct {
	SelectType     Strings          `json:"select_type"`
	Nodes          JobResourceNodes `json:"nodes"`
	CPUs           int64            `json:"cpus"`
	ThreadsPerCore Number           `json:"threads_per_core"`
}

type JobResourceNodes struct {
	Count      int64         `json:"count"`
	SelectType Strings       `json:"select_type"`
	List       string        `json:"list"`
	Whole      bool          `json:"whole"`
	Allocation List[JobNode] `json:"allocation"`
}

// JobNode is a job's share of one node. Memory is in MiB.
type JobNode struct {
	Index int64  `json:"index"`
	Name  string `json:"name"`
	CPUs  struct {
		Count int64 `json:"count"`
		Used  int64 `json:"used"`
	} `json:"cpus"`
	Memory struct {
		Used      int64 `json:"used"`
		Allocated int64 `json:"allocated"`
	} `json:"memory"`
	Sockets List[JobSocket] `json:"sockets"`
}

type JobSocket struct {
	Index int64 `json:"index"`
	Cores List[struct {
		Index  int64   `json:"index"`
		Status Strings `json:"status"`
	}] `json:"cores"`
}

// JobsResponse answers GET /jobs/ and /job/{id}. For an unknown job Errors hold 2017.
type JobsResponse struct {
	Jobs         List[Job] `json:"jobs"`
	LastBackfill Number    `json:"last_backfill"`
	LastUpdate   Number    `json:"last_update"`
	Reply
}
