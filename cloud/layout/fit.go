package layout

import (
	"errors"

	"fsub/sbatch"
)

// Node is what of a node is free for a job.
type Node struct {
	Name    string
	CPUs    int
	Mem     sbatch.MemMiB
	GPUs    int
	GPUType string
	Threads int // hardware threads of a core; 0: 1
}

// Share is what a job gets of one node.
type Share struct {
	Node  int // index into what was given to Fit
	CPUs  int
	Mem   sbatch.MemMiB // 0: no limit was asked for, and the site has none
	GPUs  int
	Tasks int
}

// ErrNoFit: the nodes that were given do not do; with more, or others, it may.
var ErrNoFit = errors.New("the job does not fit on these nodes")

// Options are how a site gives out its nodes.
type Options struct {
	Whole        bool          // a job gets all of each of its nodes
	DefMemPerCPU sbatch.MemMiB // for jobs that ask for no memory; 0: they have no limit
}
