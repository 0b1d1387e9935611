package wire

// Job is a job as slurmctld holds it. Every field is always written.
type Job struct {
	Account               string         `json:"account" row:"0"`
	AccrueTime            Number         `json:"accrue_time" row:"1,own"`
	AdminComment          string         `json:"admin_comment" row:"2"`
	AllocatingNode        string         `json:"allocating_node" row:"3,own"`
	ArrayJobID            Number         `json:"array_job_id" row:"4,own"`  // 0: no array
	ArrayTaskID           Number         `json:"array_task_id" row:"5,own"` // unset: no separate task
	ArrayMaxTasks         Number         `json:"array_max_tasks" row:"6"`
	ArrayTaskString       string         `json:"array_task_string" row:"7,own"` // tasks that have not started: "2-5,7%2"
	AssociationID         int64          `json:"association_id" row:"8"`
	BatchFeatures         string         `json:"batch_features" row:"9"`
	BatchFlag             bool           `json:"batch_flag" row:"10"`
	BatchHost             string         `json:"batch_host" row:"11,own"`
	Flags                 Strings        `json:"flags" row:"12"`
	BurstBuffer           string         `json:"burst_buffer" row:"13"`
	BurstBufferState      string         `json:"burst_buffer_state" row:"14"`
	Cluster               string         `json:"cluster" row:"15"`
	ClusterFeatures       string         `json:"cluster_features" row:"16"`
	Command               string         `json:"command" row:"17"`
	Comment               string         `json:"comment" row:"18"`
	Container             string         `json:"container" row:"19"`
	ContainerID           string         `json:"container_id" row:"20"`
	Contiguous            bool           `json:"contiguous" row:"21"`
	CoreSpec              int64          `json:"core_spec" row:"22"`
	ThreadSpec            int64          `json:"thread_spec" row:"23"`
	CoresPerSocket        Number         `json:"cores_per_socket" row:"24"`
	BillableTRES          Float          `json:"billable_tres"`
	CPUsPerTask           Number         `json:"cpus_per_task" row:"25"`
	CPUFreqMin            Number         `json:"cpu_frequency_minimum" row:"26"`
	CPUFreqMax            Number         `json:"cpu_frequency_maximum" row:"27"`
	CPUFreqGovernor       Number         `json:"cpu_frequency_governor" row:"28"`
	CPUsPerTRES           string         `json:"cpus_per_tres" row:"29"`
	Cron                  string         `json:"cron" row:"30"`
	Deadline              Number         `json:"deadline" row:"31"` // Unix time; 0: none
	DelayBoot             Number         `json:"delay_boot" row:"32"`
	Dependency            string         `json:"dependency" row:"33"`
	DerivedExitCode       ExitCode       `json:"derived_exit_code" row:"34,own"`
	EligibleTime          Number         `json:"eligible_time" row:"35,own"`
	EndTime               Number         `json:"end_time" row:"36,own"` // of a running job: when its limit ends
	ExcludedNodes         string         `json:"excluded_nodes" row:"37"`
	ExitCode              ExitCode       `json:"exit_code" row:"38,own"`
	Extra                 string         `json:"extra" row:"39"`
	FailedNode            string         `json:"failed_node" row:"40,own"`
	Features              string         `json:"features" row:"41"`
	FederationOrigin      string         `json:"federation_origin" row:"42"`
	SiblingsActive        string         `json:"federation_siblings_active" row:"43"`
	SiblingsViable        string         `json:"federation_siblings_viable" row:"44"`
	GRESDetail            Strings        `json:"gres_detail" row:"45,own"` // one for each node: "gpu:h100:1(IDX:0)"
	GroupID               Int            `json:"group_id" row:"46"`
	GroupName             string         `json:"group_name" row:"47"`
	HetJobID              Number         `json:"het_job_id" row:"48,own"`
	HetJobIDSet           string         `json:"het_job_id_set" row:"49,own"`
	HetJobOffset          Number         `json:"het_job_offset" row:"50,own"`
	JobID                 int64          `json:"job_id" row:"51,own"`
	JobResources          *JobResources  `json:"job_resources"` // null: holds no nodes
	JobSize               Strings        `json:"job_size_str" row:"52,own"`
	State                 Strings        `json:"job_state" row:"53"` // base state, then flags; see [BaseState]
	LastSchedEvaluation   Number         `json:"last_sched_evaluation" row:"54,own"`
	Licenses              string         `json:"licenses" row:"55"`
	LicensesAllocated     string         `json:"licenses_allocated,omitempty" row:"56"` // from v0.0.43
	MailType              Strings        `json:"mail_type" row:"57"`
	MailUser              string         `json:"mail_user" row:"58"`
	MaxCPUs               Number         `json:"max_cpus" row:"59"`
	MaxNodes              Number         `json:"max_nodes" row:"60"`
	MCSLabel              string         `json:"mcs_label" row:"61"`
	MemoryPerTRES         string         `json:"memory_per_tres" row:"62"`
	Name                  string         `json:"name" row:"63,own"`
	Network               string         `json:"network" row:"64"`
	Nodes                 string         `json:"nodes" row:"65,own"` // hostlist
	Nice                  int64          `json:"nice" row:"66"`
	TasksPerCore          Number         `json:"tasks_per_core" row:"67"`
	TasksPerTRES          Number         `json:"tasks_per_tres" row:"68"`
	TasksPerNode          Number         `json:"tasks_per_node" row:"69"`
	TasksPerSocket        Number         `json:"tasks_per_socket" row:"70"`
	TasksPerBoard         Number         `json:"tasks_per_board" row:"71"`
	CPUs                  Number         `json:"cpus" row:"72"`
	NodeCount             Number         `json:"node_count" row:"73,own"`
	Tasks                 Number         `json:"tasks" row:"74"`
	Partition             string         `json:"partition" row:"75"`
	Prefer                string         `json:"prefer" row:"76"`
	MemoryPerCPU          Number         `json:"memory_per_cpu" row:"77"`  // MiB
	MemoryPerNode         Number         `json:"memory_per_node" row:"78"` // MiB
	MinCPUsPerNode        Number         `json:"minimum_cpus_per_node" row:"79"`
	MinTmpDiskPerNode     Number         `json:"minimum_tmp_disk_per_node" row:"80"`
	Power                 Power          `json:"power"` // until v0.0.44
	PreemptTime           Number         `json:"preempt_time" row:"81"`
	PreemptableTime       Number         `json:"preemptable_time" row:"82"`
	PreSusTime            Number         `json:"pre_sus_time" row:"83,own"`
	Hold                  bool           `json:"hold" row:"84"`
	Priority              Number         `json:"priority" row:"85,own"`
	PriorityByPartition   List[PartPrio] `json:"priority_by_partition"`
	Profile               Strings        `json:"profile" row:"86"`
	QOS                   string         `json:"qos" row:"87"`
	Reboot                bool           `json:"reboot" row:"88"`
	RequiredNodes         string         `json:"required_nodes" row:"89"`
	RequiredSwitches      Int            `json:"required_switches" row:"90"`
	Requeue               bool           `json:"requeue" row:"91"`
	ResizeTime            Number         `json:"resize_time" row:"92"`
	RestartCnt            int64          `json:"restart_cnt" row:"93,own"`
	ReservationName       string         `json:"resv_name" row:"94"`
	ScheduledNodes        string         `json:"scheduled_nodes" row:"95,own"`
	SegmentSize           int64          `json:"segment_size,omitempty" row:"96"` // from v0.0.43
	SELinuxContext        string         `json:"selinux_context" row:"97"`
	Shared                Strings        `json:"shared" row:"98"`
	SocketsPerBoard       int64          `json:"sockets_per_board" row:"99"`
	SocketsPerNode        Number         `json:"sockets_per_node" row:"100"`
	StartTime             Number         `json:"start_time" row:"101,own"` // of a pending job: an estimate, or 0
	StateDescription      string         `json:"state_description" row:"102"`
	StateReason           string         `json:"state_reason" row:"103"`
	StdErr                string         `json:"standard_error" row:"104,own"`
	StdIn                 string         `json:"standard_input" row:"105,own"`
	StdOut                string         `json:"standard_output" row:"106,own"` // expanded up to v0.0.42, as written from v0.0.43
	StdErrExpanded        string         `json:"stderr_expanded,omitempty"`
	StdInExpanded         string         `json:"stdin_expanded,omitempty"`
	StdOutExpanded        string         `json:"stdout_expanded,omitempty"`
	StepID                *StepID        `json:"step_id,omitempty"` // from v0.0.44
	SubmitLine            string         `json:"submit_line,omitempty" row:"107,own"`
	SubmitTime            Number         `json:"submit_time" row:"108,own"`
	SuspendTime           Number         `json:"suspend_time" row:"109,own"`
	SystemComment         string         `json:"system_comment" row:"110"`
	TimeLimit             Number         `json:"time_limit" row:"111"` // minutes
	TimeMinimum           Number         `json:"time_minimum" row:"112"`
	ThreadsPerCore        Number         `json:"threads_per_core" row:"113"`
	TRESBind              string         `json:"tres_bind" row:"114"`
	TRESFreq              string         `json:"tres_freq" row:"115"`
	TRESPerJob            string         `json:"tres_per_job" row:"116"`
	TRESPerNode           string         `json:"tres_per_node" row:"117"`
	TRESPerSocket         string         `json:"tres_per_socket" row:"118"`
	TRESPerTask           string         `json:"tres_per_task" row:"119"`
	TRESReq               string         `json:"tres_req_str" row:"120"`
	TRESAlloc             string         `json:"tres_alloc_str" row:"121"`
	UserID                Int            `json:"user_id" row:"122"`
	UserName              string         `json:"user_name" row:"123"`
	MaximumSwitchWaitTime int64          `json:"maximum_switch_wait_time" row:"124"`
	WCKey                 string         `json:"wckey" row:"125"`
	WorkDir               string         `json:"current_working_directory" row:"126"`
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
