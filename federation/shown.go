package federation

import (
	"time"

	"fsub/sbatch"
)

// NodeInfo is what a site says of a node that placement does not ask for: sinfo and scontrol show it.
type NodeInfo struct {
	Place                     string // the switches above it, the highest first, with colons between, where its record tells
	Hostname, Address         string
	Port                      int
	Version                   string // of its slurmd
	Architecture, System      string // "x86_64", "Linux 6.1.0 ..."
	CPULoad                   int    // times 100
	FreeMem                   sbatch.MemMiB
	Weight                    int      // Slurm's default is 1
	Features                  []string // all that it can have; Node.Features are the active ones
	GRES, GRESUsed            string   // as the site writes them: "gpu:h100:4(S:0)", "gpu:h100:1(IDX:0)"
	Comment, Extra            string
	Reservation               string // the one that it is in now
	ReasonUser                string // who set Node.Reason, and when
	ReasonAt                  time.Time
	Booted, Started, LastBusy time.Time // the machine, its slurmd, the last job
}

// PartitionInfo is what a site says of a partition that placement does not ask for.
type PartitionInfo struct {
	Hidden         bool
	AllowGroups    string // "": all
	AllocNodes     string // where jobs may be submitted from; "": everywhere
	OverSubscribe  string // as sinfo writes it: NO, EXCLUSIVE, FORCE:4, YES:4; "": not told
	MaxCPUsPerNode int    // 0: no limit
	JobFactor      int
	GraceTime      time.Duration
}

// License is a counted right of a site's jobs to use something.
type License struct {
	Name                  string
	Total, Used, Reserved int
}
