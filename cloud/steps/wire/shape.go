package wire

import (
	"os"
	"slices"
	"time"

	"fsub/cloud/container"
	"fsub/cloud/layout"
)

// Request is what srun asks for. The parts are its components (A : B), one for any other call;
// their ranks follow each other.
type Request struct {
	Run     string        `json:"run,omitempty"` // set by a service that passes the request on
	Name    string        `json:"name"`          // --job-name, or the command's
	Parts   []Part        `json:"parts"`
	Receive string        `json:"receive,omitempty"` // the request of sbcast, in JSON; such a step has no number
	Timeout time.Duration `json:"timeout,omitempty"`
	Pty     *Size         `json:"pty,omitempty"` // the first task has a terminal
	Quiet   bool          `json:"quiet,omitempty"`
	// Host and PID are srun itself, as scontrol show step tells.
	Host string `json:"host,omitempty"`
	PID  int    `json:"pid,omitempty"`
	// Wait is how long to wait for CPUs that other steps have; 0: forever.
	Wait     time.Duration `json:"wait,omitempty"`
	TestOnly bool          `json:"test_only,omitempty"` // say what it would have, and start nothing
	// MPI is --mpi: "pmi2", "pmix", "none"; "": as the pool has it.
	MPI string `json:"mpi,omitempty"`
}

// JobInfo is what a process outside of a job must know to ask for steps as its batch script would.
type JobInfo struct {
	Env []string `json:"env"` // the batch script's
	Dir string   `json:"dir"` // where it began
}

// Numbered: it is a step that users see.
func (r *Request) Numbered() bool { return r.Receive == "" && !r.TestOnly }

// Part is one component of a step.
type Part struct {
	Group      int         `json:"group"` // the component of the job
	Ask        layout.Step `json:"ask"`
	Argv       []string    `json:"argv"`
	Programs   []Program   `json:"programs,omitempty"` // --multi-prog, instead of Argv
	Env        []string    `json:"env"`
	Dir        string      `json:"dir"`
	Umask      int         `json:"umask"`
	Limits     []Limit     `json:"limits,omitempty"`
	Stdin      Stream      `json:"stdin"`
	Stdout     Stream      `json:"stdout"`
	Stderr     Stream      `json:"stderr"`
	Append     bool        `json:"append,omitempty"`
	Unbuffered bool        `json:"unbuffered,omitempty"`
	CPUBind    string      `json:"cpu_bind,omitempty"`
	GPUBind    string      `json:"gpu_bind,omitempty"`
	// Distribution is SLURM_DISTRIBUTION.
	Distribution string `json:"distribution,omitempty"`
	// Container is the one that tasks run in on each node; nil: none.
	Container *container.Options `json:"container,omitempty"`
}

// File is what each node makes of a file that sbcast sends: Request.Receive in JSON.
type File struct {
	Dest     string      `json:"dest"` // absolute
	Mode     os.FileMode `json:"mode"`
	Force    bool        `json:"force,omitempty"` // replace what is there
	Modified time.Time   `json:"modified,omitzero"`
	Accessed time.Time   `json:"accessed,omitzero"`
}

// Program is a line of a --multi-prog file. In its words %t is the rank and %o its place among Ranks.
type Program struct {
	Ranks []int    `json:"ranks,omitempty"`
	Rest  bool     `json:"rest,omitempty"` // all ranks that no other line names
	Argv  []string `json:"argv"`
}

// Limit is a resource limit of srun that its tasks get too: setrlimit's number, soft value.
type Limit struct {
	Resource int    `json:"resource"`
	Soft     uint64 `json:"soft"`
}

// Stream is where a task's stream goes to or comes from.
type Stream struct {
	// Kind is "": srun; "null": nowhere; "file": Pattern, opened on the node for each task;
	// "stdout": where its stdout goes.
	Kind    string `json:"kind,omitempty"`
	Pattern string `json:"pattern,omitempty"`
	Rank    *int   `json:"rank,omitempty"` // srun's only for this rank, "null" for the others
}

// Size is that of a terminal.
type Size struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// Layout is a step that was created.
type Layout struct {
	Job     uint32   `json:"job"`
	Step    uint32   `json:"step"`
	Waited  bool     `json:"waited,omitempty"` // it had to wait for other steps
	Nodes   []Placed `json:"nodes"`
	GraceMS int      `json:"grace_ms"` // KillWait
}

// Placed is a node of a step.
type Placed struct {
	Name  string `json:"name"`
	Part  int    `json:"part"`
	Ranks []int  `json:"ranks"`
	CPUs  int    `json:"cpus"`
}

// Exit is a task's end as wait(2) gives it.
type Exit struct {
	Rank   int    `json:"r"`
	Status uint32 `json:"s"`
	OOM    bool   `json:"o,omitempty"` // the kernel killed it for want of memory
}

// NodeUsed is what a step used on one node.
type NodeUsed struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	MaxRSS int64         `json:"max_rss"`        // bytes, of the task with most
	Rank   int           `json:"rank,omitempty"` // which that was
	RSS    int64         `json:"rss"`            // of all tasks together
	Read   int64         `json:"read"`
	Write  int64         `json:"write"`
	OOM    bool          `json:"oom,omitempty"`
}

// NodeLaunch is what one node is to start. A service sends it without what the node itself knows
// (User, Tasks' Env), which is added there.
type NodeLaunch struct {
	Run     string   `json:"run"`
	Job     uint32   `json:"job"`
	Step    uint32   `json:"step"`
	Node    int      `json:"node"`            // index in the step
	Group   int      `json:"group"`           // of the job; -1: the step is in several
	Bound   bool     `json:"bound,omitempty"` // tasks are kept on CPUIDs
	Part    Part     `json:"part"`            // Env is what tasks get of srun's
	Nodes   []string `json:"nodes"`           // of the step
	Counts  []int    `json:"counts"`
	CPUs    []int    `json:"cpus"`
	Ranks   []int    `json:"ranks"`             // of this node's tasks, in the step
	Rank0   int      `json:"rank0"`             // the part's first rank in the step
	CPUIDs  []int    `json:"cpu_ids,omitempty"` // that the step has on this node
	GPUs    []int    `json:"gpus"`
	Host    string   `json:"host"` // IP address of srun's machine
	Port    int      `json:"port"`
	Pty     *Size    `json:"pty,omitempty"`
	Receive string   `json:"receive,omitempty"`
	Name    string   `json:"name"`
	MPI     *MPI     `json:"mpi,omitempty"`

	// What the node adds.
	User  string          `json:"user,omitempty"`
	Host0 string          `json:"host0,omitempty"` // its own host name
	Tasks []Task          `json:"tasks,omitempty"`
	Self  []string        `json:"self,omitempty"` // the command line of the step daemon itself
	Names Names           `json:"names"`
	Box   *container.Want `json:"box,omitempty"` // Part.Container on this node
}

// MPI describes the step to tasks of an MPI program.
type MPI struct {
	Type   string  `json:"type"`             // "pmi2" or "pmix"
	Ranks  [][]int `json:"ranks"`            // of each node
	Secret string  `json:"secret,omitempty"` // of the step's tasks and daemons: letters and digits
}

// Meeting is where the nodes of a step exchange the data of their tasks. It is over when all have sent Meet.
type Meeting struct {
	ID    string `json:"id,omitempty"`    // several may be open at a time
	Nodes []int  `json:"nodes,omitempty"` // those that take part; none: all
	Data  []byte `json:"data,omitempty"`
	// Direct: nobody meets; Data is for the one node in Nodes, and comes to it with the sender's number there.
	Direct bool `json:"direct,omitempty"`
}

// Names are what file name patterns need of the job.
type Names struct {
	ArrayJob uint32 `json:"array_job,omitempty"`
	Task     int    `json:"task,omitempty"`
	JobName  string `json:"job_name,omitempty"`
	User     string `json:"user,omitempty"`
}

// Task is one task as a node starts it.
type Task struct {
	Rank int      `json:"rank"` // in the step
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	CPUs []int    `json:"cpus,omitempty"` // that it is bound to
}

// Offset is the place of a rank among those of p, or -1: %o. Of a line "*" it is the rank's.
func (p *Program) Offset(rank int) int {
	if p.Rest {
		return rank
	}
	return slices.Index(p.Ranks, rank)
}
