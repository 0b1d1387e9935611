package agentapi

import (
	"time"

	"fsub/cloud/container"
	"fsub/sbatch"
)

// Launch is all that a machine must know to run its share of a job. What the script finds in its
// environment is made of it on the machine (package jobenv), so that it is the same on every provider.
type Launch struct {
	Run      string `json:"run"` // names this run of the job, on this and on the other machines of its gang
	Job      uint32 `json:"job"` // SLURM_JOB_ID. Of an array's task the number that is its own
	Array    *Array `json:"array,omitempty"`
	Restarts int    `json:"restarts,omitempty"`
	Cluster  string `json:"cluster"` // the site's name
	Account  string `json:"account,omitempty"`
	QOS      string `json:"qos,omitempty"`

	User        User     `json:"user"`
	Script      string   `json:"script"`
	Argv        []string `json:"argv,omitempty"`
	Environment []string `json:"environment,omitempty"` // the user's own, as sbatch would have exported it
	SubmitHost  string   `json:"submit_host,omitempty"`

	// Groups are the components of a heterogeneous job, one for any other job. The batch script
	// runs on Groups[0].Nodes[0].
	Groups []Group `json:"groups"`
	// Group and Node say which of the nodes this machine is.
	Group int `json:"group"`
	Node  int `json:"node"`

	Start     time.Time     `json:"start"`      // when the job was given its nodes
	TimeLimit time.Duration `json:"time_limit"` // sbatch.Unlimited: none
	KillWait  time.Duration `json:"kill_wait"`  // between SIGTERM and SIGKILL

	// Key is the gang's secret: with it one can start steps on its nodes. The job's processes never see it.
	Key []byte `json:"key"`
	// MPI is --mpi of every srun that has none.
	MPI string `json:"mpi,omitempty"`
	// Stream: send the output to the daemon as well as to its file.
	Stream bool `json:"stream,omitempty"`
	// Containers is what makes those that the job asks for; "" is whatever the machine has.
	Containers container.Engine `json:"containers,omitempty"`
}

// Array says which task of which array a job is.
type Array struct {
	Job   uint32 `json:"job"` // SLURM_ARRAY_JOB_ID
	Task  int    `json:"task"`
	Count int    `json:"count"`
	Min   int    `json:"min"`
	Max   int    `json:"max"`
	Step  int    `json:"step"`
}

// User is who a job runs as. A machine that is alone for the gang makes user and groups if it does
// not have them.
type User struct {
	Name   string   `json:"name"`
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Group  string   `json:"group,omitempty"`
	Groups []uint32 `json:"groups,omitempty"` // further ones
	// GroupNames are the names of Groups, "" for one that has none; nil: an operator has chosen the numbers.
	GroupNames []string `json:"group_names,omitempty"`
	Home       string   `json:"home,omitempty"`
	Shell      string   `json:"shell,omitempty"`
}

// Group is one component of a job with the nodes that it has.
type Group struct {
	Job       uint32      `json:"job"` // SLURM_JOB_ID_HET_GROUP_n
	Spec      sbatch.Spec `json:"spec"`
	Partition string      `json:"partition"`
	Nodes     []Node      `json:"nodes"` // in the order of SLURM_JOB_NODELIST
}

// Node is what a job has of one machine.
type Node struct {
	Name    string `json:"name"`              // host name
	Addr    string `json:"addr"`              // IP address, which Name resolves to on all nodes of the job
	Steps   string `json:"steps"`             // IP:PORT of its agent's step service
	CPUs    int    `json:"cpus"`              // that the job has there
	CPUIDs  []int  `json:"cpu_ids,omitempty"` // which of the machine's; nil: no binding
	MemMiB  int64  `json:"mem_mib"`           // that the job may use there; 0: no limit
	GPUs    []int  `json:"gpus,omitempty"`    // indices
	GPUType string `json:"gpu_type,omitempty"`
	Tasks   int    `json:"tasks"` // SLURM_TASKS_PER_NODE
	Whole   bool   `json:"whole"` // the machine runs nothing else
	TPU     *TPU   `json:"tpu,omitempty"`
}

// TPU is which host of which slice a machine is.
type TPU struct {
	Type     string `json:"type"`     // the slice's accelerator type: "v5p-256"
	Topology string `json:"topology"` // its shape: "4x4x8"
	Slice    int    `json:"slice"`    // of the job's, from 0 up
	Worker   int    `json:"worker"`   // of the slice's hosts, as the cloud counts them
}
