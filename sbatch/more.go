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
	NTasksPerSocket int    `json:"ntasks_per_socket,omitempty" slurm:"tasks_per_socket"`
	NTasksPerGPU    int    `json:"ntasks_per_gpu,omitempty" slurm:"-,-,ntasks_per_gpu"`
	NTasksPerTRES   int    `json:"ntasks_per_tres,omitempty" slurm:"-,tasks_per_tres,ntasks_per_tres"`
	CPUsPerGPU      int    `json:"cpus_per_gpu,omitempty" slurm:"cpus_per_tres=gres/gpu:*,,cpus_per_gpu"`
	MinCPUs         int    `json:"mincpus,omitempty" slurm:"-,minimum_cpus_per_node,minimum_cpus_per_node"` // of each node
	CoreSpec        int    `json:"core_spec,omitempty" slurm:"core_specification,core_spec"`                // cores of each node kept for the system
	ThreadSpec      int    `json:"thread_spec,omitempty" slurm:"thread_specification,thread_spec"`          // threads of each node kept for the system
	TmpDisk         MemMiB `json:"tmp,omitempty" slurm:"temporary_disk_per_node,minimum_tmp_disk_per_node"` // of each node
	Segment         int    `json:"segment,omitempty" slurm:"segment_size,,-"`                               // nodes of one block

	NodeSizes    string `json:"node_sizes,omitempty" opt:"nodes"` // numbers of nodes with gaps between: "1,2,4", "1-9:2"
	Distribution string `json:"distribution,omitempty"`           // sbatch's form: "block:cyclic,pack", "plane=4"
	Overcommit   bool   `json:"overcommit,omitempty" slurm:"overcommit,-,-"`
	Contiguous   bool   `json:"contiguous,omitempty" slurm:"contiguous,,-"`
	SpreadJob    bool   `json:"spread_job,omitempty" slurm:"+SPREAD_JOB,-,spread_job"`
	UseMinNodes  bool   `json:"use_min_nodes,omitempty" slurm:"+PREFER_MINIMUM_NODE_COUNT,-,minimum_nodes"`

	// TRESPerTask is the part of --tres-per-task that is neither CPUs nor GPUs: those are
	// CPUsPerTask and GPUsPerTask.
	TRESPerTask   string `json:"tres_per_task,omitempty"`
	GPUsPerSocket string `json:"gpus_per_socket,omitempty" slurm:"tres_per_socket=gres/gpu:*,,gpus_per_socket"`
	GPUBind       string `json:"gpu_bind,omitempty" slurm:"-,-,gpu_binding"`
	GPUFreq       string `json:"gpu_freq,omitempty" slurm:"tres_freq=gpu:*,,gpu_frequency"`
	TRESBind      string `json:"tres_bind,omitempty"`
	GRESFlags     string `json:"gres_flags,omitempty" slurm:"-,-,gres_flags"` // enforce-binding or disable-binding
	Licenses      string `json:"licenses,omitempty" slurm:"licenses"`
	Prefer        string `json:"prefer,omitempty" slurm:"prefer"`           // feature expression
	Batch         string `json:"batch,omitempty" slurm:"batch_features,,-"` // features of the node that the script runs on
	BurstBuffer   string `json:"burst_buffer,omitempty" opt:"bb" slurm:"burst_buffer"`
	Network       string `json:"network,omitempty" slurm:"network,,-"`

	NoKill           bool   `json:"no_kill,omitempty"`
	KillOnInvalidDep YesNo  `json:"kill_on_invalid_dep,omitempty" slurm:"-,-,kill_on_invalid_dependency"`
	WaitAllNodes     YesNo  `json:"wait_all_nodes,omitempty"`
	OOMKillStep      YesNo  `json:"oom_kill_step,omitempty"`
	StepManager      bool   `json:"stepmgr,omitempty" slurm:"+STEPMGR_ENABLED,-,-"`
	Priority         string `json:"priority,omitempty"` // a number or "TOP"; counts for operators only, so sites never see it

	DelayBoot   time.Duration `json:"delay_boot,omitempty"` // whole seconds
	WCKey       string        `json:"wckey,omitempty" slurm:"wckey"`
	Extra       string        `json:"extra,omitempty" slurm:"extra,,-"`
	MCSLabel    string        `json:"mcs_label,omitempty" slurm:"mcs_label"`
	Context     string        `json:"context,omitempty" slurm:"selinux_context,,-"`            // of SELinux
	Profile     string        `json:"profile,omitempty" slurm:"-,-,profile"`                   // "all", "none", or words with commas
	AcctgFreq   string        `json:"acctg_freq,omitempty" slurm:"account_gather_frequency,-"` // "task=30,energy=60" or seconds
	Container   string        `json:"container,omitempty" slurm:"container"`
	ContainerID string        `json:"container_id,omitempty" slurm:"container_id,,-"`

	CPUFreq           string `json:"cpu_freq,omitempty" slurm:"cpu_frequency,-"`    // sbatch's form: "Low-High:Performance", "2000000"
	MemBind           string `json:"mem_bind,omitempty" slurm:"-,-,memory_binding"` // sbatch's form: "verbose,local"
	Reboot            bool   `json:"reboot,omitempty" slurm:"reboot,-,-"`           // for operators only
	ResvPorts         string `json:"resv_ports,omitempty"`
	ClusterConstraint string `json:"cluster_constraint,omitempty" slurm:"cluster_constraint,-"` // features of a cluster; counts in Slurm's own federations
	NoCoreSpec        bool   `json:"no_core_spec,omitempty"`                                    // --core-spec=0: asked for explicitly
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
