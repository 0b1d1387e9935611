package sbatch

import (
	"strings"
	"time"
)

// More is what a job asks for beyond the usual: how its tasks lie within a node, what binds to
// what, and options that few jobs need. It is part of a [Spec] only if one of them was given, and
// is not changed afterwards. Two are equal if they ask for the same.
type More struct {
	// Hint is --hint as written, "" also if it was ignored; [More.Layout] says what it means.
	Hint            string `json:"hint,omitempty"`
	SocketsPerNode  int    `json:"sockets_per_node,omitempty"`
	CoresPerSocket  int    `json:"cores_per_socket,omitempty"`
	ThreadsPerCore  int    `json:"threads_per_core,omitempty"`
	NTasksPerCore   int    `json:"ntasks_per_core,omitempty"`
	NTasksPerSocket int    `json:"ntasks_per_socket,omitempty"`
	NTasksPerGPU    int    `json:"ntasks_per_gpu,omitempty"`
	NTasksPerTRES   int    `json:"ntasks_per_tres,omitempty"`
	CPUsPerGPU      int    `json:"cpus_per_gpu,omitempty"`
	MinCPUs         int    `json:"mincpus,omitempty"`     // of each node
	CoreSpec        int    `json:"core_spec,omitempty"`   // cores of each node kept for the system
	ThreadSpec      int    `json:"thread_spec,omitempty"` // threads of each node kept for the system
	TmpDisk         MemMiB `json:"tmp,omitempty"`         // of each node
	Segment         int    `json:"segment,omitempty"`     // nodes of one block

	NodeSizes    string `json:"node_sizes,omitempty" opt:"nodes"` // numbers of nodes with gaps between: "1,2,4", "1-9:2"
	Distribution string `json:"distribution,omitempty"`           // sbatch's form: "block:cyclic,pack", "plane=4"
	Overcommit   bool   `json:"overcommit,omitempty"`
	Contiguous   bool   `json:"contiguous,omitempty"`
	SpreadJob    bool   `json:"spread_job,omitempty"`
	UseMinNodes  bool   `json:"use_min_nodes,omitempty"`

	// TRESPerTask is the part of --tres-per-task that is neither CPUs nor GPUs: those are
	// CPUsPerTask and GPUsPerTask.
	TRESPerTask   string `json:"tres_per_task,omitempty"`
	GPUsPerSocket string `json:"gpus_per_socket,omitempty"`
	GPUBind       string `json:"gpu_bind,omitempty"`
	GPUFreq       string `json:"gpu_freq,omitempty"`
	TRESBind      string `json:"tres_bind,omitempty"`
	GRESFlags     string `json:"gres_flags,omitempty"` // enforce-binding or disable-binding
	Licenses      string `json:"licenses,omitempty"`
	Prefer        string `json:"prefer,omitempty"` // feature expression
	Batch         string `json:"batch,omitempty"`  // features of the node that the script runs on
	BurstBuffer   string `json:"burst_buffer,omitempty" opt:"bb"`
	Network       string `json:"network,omitempty"`

	NoKill           bool   `json:"no_kill,omitempty"`
	KillOnInvalidDep YesNo  `json:"kill_on_invalid_dep,omitempty"`
	WaitAllNodes     YesNo  `json:"wait_all_nodes,omitempty"`
	OOMKillStep      YesNo  `json:"oom_kill_step,omitempty"`
	StepManager      bool   `json:"stepmgr,omitempty"`
	Priority         string `json:"priority,omitempty"` // a number or "TOP"; counts for operators only, so sites never see it

	DelayBoot   time.Duration `json:"delay_boot,omitempty"` // whole seconds
	WCKey       string        `json:"wckey,omitempty"`
	Extra       string        `json:"extra,omitempty"`
	MCSLabel    string        `json:"mcs_label,omitempty"`
	Context     string        `json:"context,omitempty"`    // of SELinux
	Profile     string        `json:"profile,omitempty"`    // "all", "none", or words with commas
	AcctgFreq   string        `json:"acctg_freq,omitempty"` // "task=30,energy=60" or seconds
	Container   string        `json:"container,omitempty"`
	ContainerID string        `json:"container_id,omitempty"`

	CPUFreq           string `json:"cpu_freq,omitempty"` // sbatch's form: "Low-High:Performance", "2000000"
	MemBind           string `json:"mem_bind,omitempty"` // sbatch's form: "verbose,local"
	Reboot            bool   `json:"reboot,omitempty"`   // for operators only
	ResvPorts         string `json:"resv_ports,omitempty"`
	ClusterConstraint string `json:"cluster_constraint,omitempty"` // features of a cluster; counts in Slurm's own federations
	NoCoreSpec        bool   `json:"no_core_spec,omitempty"`       // --core-spec=0: asked for explicitly
}

// YesNo is a choice that need not have been made: then it is "".
type YesNo string

const (
	Yes YesNo = "yes"
	No  YesNo = "no"
)

// anyNumber is what --hint=multithread asks for as tasks of a core: as many as it has threads.
const anyNumber = 65535

// Layout is what the options ask of the sockets, cores and threads of a node, those that --hint
// stands for included; 0 is not asked for.
func (m *More) Layout() (sockets, cores, threads, tasksPerCore int) {
	if m == nil {
		return 0, 0, 0, 0
	}
	sockets, cores, threads, tasksPerCore = m.SocketsPerNode, m.CoresPerSocket, m.ThreadsPerCore, m.NTasksPerCore
	switch strings.ToLower(m.Hint) { // a hint overrides options for sockets and cores
	case "compute_bound", "nomultithread":
		return 0, 0, 1, tasksPerCore
	case "memory_bound":
		return 0, 1, 1, tasksPerCore
	case "multithread":
		return 0, 0, threads, anyNumber
	}
	return sockets, cores, threads, tasksPerCore
}
