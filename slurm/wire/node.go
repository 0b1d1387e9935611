package wire

// Node is a compute node. Memory is in MiB.
type Node struct {
	Architecture         string   `json:"architecture"`
	BurstBufferAddress   string   `json:"burstbuffer_network_address"`
	Boards               int64    `json:"boards"`
	BootTime             Number   `json:"boot_time"`
	ClusterName          string   `json:"cluster_name"`
	Cores                int64    `json:"cores"` // per socket
	SpecializedCores     int64    `json:"specialized_cores"`
	CPUBinding           Int      `json:"cpu_binding"`
	CPULoad              Int      `json:"cpu_load"` // times 100
	FreeMem              Number   `json:"free_mem"`
	CPUs                 int64    `json:"cpus"`
	EffectiveCPUs        int64    `json:"effective_cpus"`
	SpecializedCPUs      string   `json:"specialized_cpus"`
	Energy               Energy   `json:"energy"`
	ExternalSensors      struct{} `json:"external_sensors"` // until v0.0.42
	Extra                string   `json:"extra"`
	Power                struct{} `json:"power"` // until v0.0.42
	Features             Strings  `json:"features"`
	ActiveFeatures       Strings  `json:"active_features"`
	GPUSpec              string   `json:"gpu_spec"`
	GRES                 string   `json:"gres"` // "gpu:h100:4(S:0)"
	GRESDrained          string   `json:"gres_drained"`
	GRESUsed             string   `json:"gres_used"` // "gpu:h100:1(IDX:0)"
	InstanceID           string   `json:"instance_id"`
	InstanceType         string   `json:"instance_type"`
	LastBusy             Number   `json:"last_busy"`
	MCSLabel             string   `json:"mcs_label"`
	SpecializedMemory    int64    `json:"specialized_memory"`
	Name                 string   `json:"name"`
	NextStateAfterReboot Strings  `json:"next_state_after_reboot"`
	Address              string   `json:"address"`
	Hostname             string   `json:"hostname"`
	State                Strings  `json:"state"` // base state, then flags: ["IDLE","DRAIN"]
	OperatingSystem      string   `json:"operating_system"`
	Owner                string   `json:"owner"`
	Partitions           Strings  `json:"partitions"`
	Port                 int64    `json:"port"`
	RealMemory           int64    `json:"real_memory"`
	ResCoresPerGPU       int64    `json:"res_cores_per_gpu"`
	Comment              string   `json:"comment"`
	Reason               string   `json:"reason"`
	ReasonChangedAt      Number   `json:"reason_changed_at"`
	ReasonSetByUser      string   `json:"reason_set_by_user"`
	ResumeAfter          Number   `json:"resume_after"`
	Reservation          string   `json:"reservation"`
	AllocMemory          int64    `json:"alloc_memory"`
	AllocCPUs            int64    `json:"alloc_cpus"`
	AllocIdleCPUs        int64    `json:"alloc_idle_cpus"`
	TRESUsed             string   `json:"tres_used"`
	TRESWeighted         float64  `json:"tres_weighted"`
	SlurmdStartTime      Number   `json:"slurmd_start_time"`
	Sockets              int64    `json:"sockets"`
	Threads              int64    `json:"threads"` // per core
	TemporaryDisk        int64    `json:"temporary_disk"`
	Weight               int64    `json:"weight"`
	TRES                 string   `json:"tres"`
	Topology             string   `json:"topology,omitempty"` // from v0.0.43: where the node is, not the tree
	Version              string   `json:"version"`
}

type Energy struct {
	AverageWatts           Int    `json:"average_watts"`
	BaseConsumedEnergy     Int    `json:"base_consumed_energy"`
	ConsumedEnergy         Int    `json:"consumed_energy"`
	CurrentWatts           Number `json:"current_watts"`
	PreviousConsumedEnergy Int    `json:"previous_consumed_energy"`
	LastCollected          Int    `json:"last_collected"`
}

// NodesResponse answers GET /nodes/ and /node/{name}.
type NodesResponse struct {
	Nodes      List[Node] `json:"nodes"`
	LastUpdate Number     `json:"last_update"`
	Reply
}
