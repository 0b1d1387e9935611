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
	// Busy: other jobs have a part of it, so a job that must have it for itself cannot.
	Busy bool
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

// Fit chooses the nodes that a job gets, out of those that are free for it, and what it gets of each, as slurmctld would. The shares are in the order of
// the nodes. [ErrNoFit]: these nodes do not do. Any other error says what no node could make good.
func Fit(spec *sbatch.Spec, free []Node, o Options) ([]Share, error) {
	return nil, ErrNoFit
}

// Need says how many new nodes of one shape a job takes, and what it gets of the one of which it gets most. [ErrNoFit]: no number of them will do.
func Need(spec *sbatch.Spec, shape Node, o Options) (nodes int, each Share, err error) {
	return 0, Share{}, ErrNoFit
}
