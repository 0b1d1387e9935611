package keeper

import "time"

// Config says what to start.
type Config struct {
	Argv []string // Argv[0] is the path of the program
	Env  []string // "%PID%" in a value of SLURM_TASK_PID is the process's own
	Dir  string   // entered as the user; where that fails it is /tmp

	Become bool // take UID, GID and Groups; else the keeper's own stay
	UID    uint32
	GID    uint32
	Groups []uint32

	Umask  int
	Limits []Limit
	CPUs   []int // may run on these only; nil: on all

	In     string // paths, absolute
	Out    string
	Err    string // "": the same file as Out
	Append bool   // else files are emptied first

	Cgroup string   // directory of a cgroup (version 2) to start in; "": none
	Tasks  []string // files of cgroups of version 1 that take the number of a thread
}

// Limit is a soft limit as sbatch sends it: for the name "NOFILE" it is RLIMIT_NOFILE.
type Limit struct {
	Name  string
	Value uint64
	Asked bool // the user asked for it by --propagate: say so if it cannot be set
}

// request is what the agent asks of a keeper.
type request struct {
	Signal int  `json:"signal,omitempty"`
	All    bool `json:"all,omitempty"`   // to all descendants, not to the first process only
	Rest   bool `json:"rest,omitempty"`  // to all descendants but the first process
	Note   bool `json:"note,omitempty"`  // remember which descendants there are
	Noted  bool `json:"noted,omitempty"` // with Rest: only to those that were remembered
	Kill   bool `json:"kill,omitempty"`  // kill all, then end
}

// event is what keeper and stage tell the agent.
type event struct {
	// Begun: the files are open and come along; the script begins next.
	Begun bool `json:"begun,omitempty"`
	PID   int  `json:"pid,omitempty"`
	Same  bool `json:"same,omitempty"` // Out and Err are one file
	// Readers says which of Out and Err comes along to be read, after the file descriptor of
	// standard error; Start where this run's output begins.
	Readers [2]bool  `json:"readers"`
	Start   [2]int64 `json:"start"`
	// Failed says what could not be done.
	Failed string `json:"failed,omitempty"`
	IO     bool   `json:"io,omitempty"` // it was about input or output

	Exited bool `json:"exited,omitempty"` // the first process has ended
	Status int  `json:"status,omitempty"` // as wait(2) gives it

	Done  bool  `json:"done,omitempty"` // nothing lives any more
	Usage Usage `json:"usage,omitzero"`
}

// Usage is what all processes that were waited for have used.
type Usage struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	MaxRSS int64         `json:"max_rss"` // bytes, of the largest process
	Read   int64         `json:"read"`    // bytes from disks
	Write  int64         `json:"write"`
}
