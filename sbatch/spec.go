package sbatch

import (
	"time"

	"fsub/sbatch/bounded"
)

// Spec is what one job asks for: the merged result of directives, environment and command line, after the
// checks that sbatch itself makes. The zero value of a field means "not asked for". Text fields hold what the
// user wrote (sbatch's canonical form where it has one); numbers carry their unit in type or name.
//
// A tag "slurm" is the option's name in slurmrestd's words: see package slurm/words.
//
// A Spec is small and stays in memory for as long as the job lives; script, arguments and environment are in
// [Payload] and are read only when the job is handed to a site.
type Spec struct {
	Name        string `json:"name,omitempty" opt:"job-name" slurm:"name,-"`
	Account     string `json:"account,omitempty" slurm:"account,-"`
	Partition   string `json:"partition,omitempty"` // one name, or several with commas
	QOS         string `json:"qos,omitempty" slurm:"qos,-"`
	Reservation string `json:"reservation,omitempty" slurm:"reservation,-"`
	Comment     string `json:"comment,omitempty" slurm:"comment,-"`
	Constraint  string `json:"constraint,omitempty" slurm:"constraints,-"` // feature expression, evaluated by the site

	Array      string `json:"array,omitempty" slurm:"array,-"` // as written: "0-10:2%3"
	Dependency string `json:"dependency,omitempty"`

	MinNodes      int `json:"min_nodes,omitempty"`
	MaxNodes      int `json:"max_nodes,omitempty"`
	NTasks        int `json:"ntasks,omitempty"`
	NTasksPerNode int `json:"ntasks_per_node,omitempty" slurm:"tasks_per_node,-"`
	CPUsPerTask   int `json:"cpus_per_task,omitempty" slurm:"cpus_per_task,-"`

	// At most one of the three is set. MemAll asks for all memory of each node (--mem=0).
	MemPerNode MemMiB `json:"mem_per_node,omitempty"`
	MemPerCPU  MemMiB `json:"mem_per_cpu,omitempty"`
	MemPerGPU  MemMiB `json:"mem_per_gpu,omitempty"`

	// TRES lists in Slurm's form without the "gres/" prefix of GPUs: "gpu:h100:2,nvme:1" for GRES,
	// "h100:4" or "4" for the three GPU options.
	GRES        string `json:"gres,omitempty"`                                        // per node
	GPUs        string `json:"gpus,omitempty" slurm:"tres_per_job=gres/gpu:*,-,gpus"` // of the whole job
	GPUsPerNode string `json:"gpus_per_node,omitempty" slurm:"-,-,gpus_per_node"`
	GPUsPerTask string `json:"gpus_per_task,omitempty" slurm:"-,-,gpus_per_task"`

	NodeList  string `json:"nodelist,omitempty" slurm:"-,-,nodelist"`     // hostlist
	Exclude   string `json:"exclude,omitempty" slurm:"-,-,exclude_nodes"` // hostlist
	Exclusive string `json:"exclusive,omitempty"`                         // "exclusive", "user", "mcs", "topo", or "oversubscribe" for its contrary

	Switches     int           `json:"switches,omitempty"`
	SwitchesWait time.Duration `json:"switches_wait,omitempty"`

	TimeLimit time.Duration `json:"time_limit,omitempty"` // whole minutes, or Unlimited
	TimeMin   time.Duration `json:"time_min,omitempty"`   // whole minutes
	Begin     time.Time     `json:"begin,omitzero"`
	Deadline  time.Time     `json:"deadline,omitzero"`

	Hold    bool  `json:"hold,omitempty"`
	Nice    int   `json:"nice,omitempty" slurm:"nice,-"`
	Requeue *bool `json:"requeue,omitempty" slurm:"requeue,-,-"` // nil: the site's default

	MailType string `json:"mail_type,omitempty"` // sbatch's words with commas: "BEGIN,END,FAIL"
	MailUser string `json:"mail_user,omitempty"`

	WorkDir  string `json:"work_dir,omitempty" opt:"chdir" slurm:"current_working_directory,-"` // absolute
	Input    string `json:"input,omitempty"`                                                    // file name pattern; "" is /dev/null
	Output   string `json:"output,omitempty"`                                                   // file name pattern; "" is slurm-%j.out, arrays slurm-%A_%a.out
	Error    string `json:"error,omitempty"`                                                    // file name pattern; "" is the same file as Output
	OpenMode string `json:"open_mode,omitempty" slurm:"-,-,open_mode"`                          // "append" or "truncate"

	Signal *Signal `json:"signal,omitempty"`

	More *More `json:"more,omitempty"` // nil: nothing beyond the above was asked for

	Clusters string                                     `json:"clusters,omitempty"` // names of sites with commas, or "all"; "" is all of them too
	Fed      *Fed                                       `json:"fed,omitempty"`      // nil: nothing was asked of the federation itself
	Plugin   bounded.Slice[PluginOption, bounded.Named] `json:"plugin,omitempty"`   // options that only some sites know, in the order of their names
	Het      Components                                 `json:"het,omitempty"`      // the further components of a heterogeneous job; they have no Het

	Command    string `json:"command,omitempty"`     // path of the script as sbatch resolved it; "" for stdin and --wrap
	Digest     string `json:"digest,omitempty"`      // of the script and its arguments: jobs with the same one run the same. The daemon sets it
	SubmitLine string `json:"submit_line,omitempty"` // the call as it was typed, its first kilobyte; the client sets it, sacct shows it
}

// Signal is --signal: what is sent to a job some time before its limit.
type Signal struct {
	Name        string        `json:"name"` // "USR1", or a number
	Before      time.Duration `json:"before"`
	BatchOnly   bool          `json:"batch_only,omitempty"`  // B: only the batch shell
	Reservation bool          `json:"reservation,omitempty"` // R: also when it would overlap a reservation
}

// Fed is what #FSUB lines and --fed-* options ask of the federation, for which Slurm has no word.
type Fed struct {
	Sites    []string `json:"sites,omitempty"`     // only these
	NotSites []string `json:"not_sites,omitempty"` // none of these
	// Accelerators are the kinds of GPU that will do, as "TYPE" or "TYPE:FACTOR": FACTOR times as
	// many of this type as the job's own options ask for. The job's own type, if it names one, must
	// be among them.
	Accelerators []string `json:"accelerators,omitempty"`
	MaxCost      float64  `json:"max_cost,omitempty"` // US dollars for the whole job; 0: no bound
	Traffic      string   `json:"traffic,omitempty"`  // one of [Traffics]: how the nodes talk to each other; "": not said
	// TPUTopology is the shape of the TPU slices that the job runs on: "4x4x8"; "": the best of their size.
	TPUTopology string `json:"tpu_topology,omitempty"`
	// DeadlineValue is what the result is worth, in US dollars, if the job ends before its --deadline; 0: not said.
	DeadlineValue float64 `json:"deadline_value,omitempty"`
	// Checkpoint is how often the job writes a checkpoint, from its start; 0: not said.
	Checkpoint time.Duration                         `json:"checkpoint,omitempty"`
	Inputs     bounded.Slice[Dataset, bounded.Named] `json:"inputs,omitempty"` // what it reads, and by itself brings to where it runs
	StageIn    bounded.Slice[Stage, bounded.Named]   `json:"stage_in,omitempty"`
	StageOut   bounded.Slice[Stage, bounded.Named]   `json:"stage_out,omitempty"`
	// StageOutSize is how many bytes it will write that are staged out; 0: not said.
	StageOutSize int64 `json:"stage_out_size,omitempty"`
	// Keep are paths below the working directory that are there again, as they were saved last, when the job's next run starts; see [Fed.InvalidKeep].
	Keep bounded.Slice[string, bounded.Named] `json:"keep,omitempty"`
	// Group is a label of jobs that belong together, of one user or of several: see [InvalidGroup]; "": none.
	Group string `json:"group,omitempty"`
	Retry *Retry `json:"retry,omitempty"` // when it is run again by itself; nil: never
	Pack  *Pack  `json:"pack,omitempty"`  // how the tasks of the array share jobs at their sites; nil: each has its own
	// OnNodeLoss is what it does when it loses one of its nodes: see [Spec.NodeLoss]; "": not said.
	OnNodeLoss string `json:"on_node_loss,omitempty"`
	// Heartbeat is the file into which each of its nodes writes how far it is: see [Spec.Heartbeat]; "": none.
	Heartbeat string `json:"heartbeat,omitempty"`
}

// Dataset is data that a job reads.
type Dataset struct {
	Bytes int64    `json:"bytes"`
	Kept  bool     `json:"-"`  // it is the copy of what earlier runs of the job have saved (--keep); only the daemon adds such a one
	At    []string `json:"at"` // where it lies, each time all of it: names of sites, or regions of clouds as "aws:us-east-1"
}

// Stage is one copy between the user's file system (or a blob store) and the job's working directory.
type Stage struct {
	From string `json:"from"` // path, glob or URL
	To   string `json:"to"`   // path or URL; "" for stage-in is the same relative path
}

// PluginOption is an option that a plugin of some sites provides (pyxis, shifter, ...).
type PluginOption struct {
	Name  string `json:"name"`            // long, without dashes
	Value string `json:"value,omitempty"` // "" where it takes none
}

// Payload is the heavy part of a job: what is sent to the site once and is never needed to place it.
type Payload struct {
	Script      string   `json:"script"`
	Argv        []string `json:"argv,omitempty"`        // arguments after the script's name
	Environment []string `json:"environment,omitempty"` // NAME=value
}

// MemMiB is an amount of memory in MiB.
type MemMiB int64

// MemAll asks for all memory of a node: --mem=0.
const MemAll MemMiB = -1

// Unlimited is a time limit of INFINITE or UNLIMITED.
const Unlimited time.Duration = 1<<63 - 1
