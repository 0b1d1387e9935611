package wire

// Partition is a partition. From v0.0.43 on the flag DEFAULT marks the default one.
type Partition struct {
	Nodes struct {
		AllowedAllocation string `json:"allowed_allocation"`
		Configured        string `json:"configured"` // hostlist
		Total             int64  `json:"total"`
	} `json:"nodes"`
	Accounts Allowed `json:"accounts"`
	Groups   struct {
		Allowed string `json:"allowed"`
	} `json:"groups"`
	QOS struct {
		Allowed  string `json:"allowed"`
		Deny     string `json:"deny"`
		Assigned string `json:"assigned"`
	} `json:"qos"`
	Alternate string `json:"alternate"`
	TRES      struct {
		BillingWeights string `json:"billing_weights"`
		Configured     string `json:"configured"`
	} `json:"tres"`
	Cluster    string  `json:"cluster"`
	SelectType Strings `json:"select_type"`
	CPUs       struct {
		TaskBinding Int   `json:"task_binding"`
		Total       int64 `json:"total"`
	} `json:"cpus"`
	Defaults  PartitionDefaults `json:"defaults"`
	Flags     Strings           `json:"flags,omitempty"` // from v0.0.43: DEFAULT, HIDDEN, ...
	GraceTime int64             `json:"grace_time"`
	Maximums  PartitionMaximums `json:"maximums"`
	Minimums  struct {
		Nodes int64 `json:"nodes"`
	} `json:"minimums"`
	Name     string `json:"name"`
	NodeSets string `json:"node_sets"`
	Priority struct {
		JobFactor int64 `json:"job_factor"`
		Tier      int64 `json:"tier"`
	} `json:"priority"`
	Timeouts struct {
		Resume  Number `json:"resume"`
		Suspend Number `json:"suspend"`
	} `json:"timeouts"`
	Partition struct {
		State Strings `json:"state"` // UP, DOWN, DRAIN, INACTIVE
	} `json:"partition"`
	SuspendTime Number `json:"suspend_time"`
	Topology    string `json:"topology,omitempty"` // from v0.0.43
}

// Allowed returns the names that may use a partition and those that may not, separated by commas;
// "" means no rule.
type Allowed struct {
	Allowed string `json:"allowed"`
	Deny    string `json:"deny"`
}

// PartitionDefaults hold the default time limit in minutes and memory in MiB (0: none).
type PartitionDefaults struct {
	MemoryPerCPU           int64  `json:"memory_per_cpu"`
	PartitionMemoryPerCPU  Number `json:"partition_memory_per_cpu"`
	PartitionMemoryPerNode Number `json:"partition_memory_per_node"`
	Time                   Number `json:"time"`
	Job                    string `json:"job"`
}

// PartitionMaximums hold limits: time in minutes, memory in MiB (0: none).
type PartitionMaximums struct {
	CPUsPerNode            Number `json:"cpus_per_node"`
	CPUsPerSocket          Number `json:"cpus_per_socket"`
	MemoryPerCPU           int64  `json:"memory_per_cpu"`
	PartitionMemoryPerCPU  Number `json:"partition_memory_per_cpu"`
	PartitionMemoryPerNode Number `json:"partition_memory_per_node"`
	Nodes                  Number `json:"nodes"`
	Shares                 int64  `json:"shares"`
	OverSubscribe          struct {
		Jobs  int64   `json:"jobs"`
		Flags Strings `json:"flags"`
	} `json:"oversubscribe"`
	Time          Number `json:"time"`
	OverTimeLimit Number `json:"over_time_limit"`
}

// PartitionsResponse answers GET /partitions/ and /partition/{name}.
type PartitionsResponse struct {
	Partitions List[Partition] `json:"partitions"`
	LastUpdate Number          `json:"last_update"`
	Reply
}

// Reservation is a reservation of nodes for some users or accounts.
type Reservation struct {
	Accounts            string         `json:"accounts"`
	BurstBuffer         string         `json:"burst_buffer"`
	CoreCount           int64          `json:"core_count"`
	CoreSpecializations List[CoreSpec] `json:"core_specializations"`
	EndTime             Number         `json:"end_time"`
	Features            string         `json:"features"`
	Flags               Strings        `json:"flags"` // MAINT, ...
	Groups              string         `json:"groups"`
	Licenses            string         `json:"licenses"`
	MaxStartDelay       int64          `json:"max_start_delay"`
	Name                string         `json:"name"`
	NodeCount           int64          `json:"node_count"`
	NodeList            string         `json:"node_list"` // hostlist
	Partition           string         `json:"partition"`
	PurgeCompleted      struct {
		Time Number `json:"time"`
	} `json:"purge_completed"`
	StartTime Number   `json:"start_time"`
	Watts     struct{} `json:"watts"` // until v0.0.42
	TRES      string   `json:"tres"`
	Users     string   `json:"users"`
}

// ReservationDesc is what POST /reservation asks for: one that is there is changed. From v0.0.43 on.
type ReservationDesc struct {
	Name           string  `json:"name"`
	Users          Strings `json:"users,omitempty"`
	NodeList       Strings `json:"node_list,omitempty"` // names, not hostlists
	StartTime      Number  `json:"start_time,omitzero"`
	EndTime        Number  `json:"end_time,omitzero"`
	Flags          Strings `json:"flags,omitempty"`
	PurgeCompleted struct {
		Time Number `json:"time"` // seconds
	} `json:"purge_completed"`
}

// ReservationChanged answers POST /reservation and DELETE /reservation/{name}. The former says what was asked for once more.
type ReservationChanged struct{ Reply }

type CoreSpec struct {
	Node string `json:"node"`
	Core string `json:"core"`
}

// ReservationsResponse answers GET /reservations/.
type ReservationsResponse struct {
	Reservations List[Reservation] `json:"reservations"`
	LastUpdate   Number            `json:"last_update"`
	Reply
}
