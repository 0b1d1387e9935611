package demand

import (
	"errors"
	"fmt"

	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// Node is what of a node is free for a job.
type Node struct {
	Name    string
	CPUs    int
	Mem     sbatch.MemMiB
	GPUs    int
	GPUType string
	GRES    []gres.Resource // other than GPUs: each name once
	Threads int             // hardware threads of a core; 0: not known, reckoned as 1
	// Busy: other jobs have a part of it, so a job that must have it for itself cannot.
	Busy bool
}

// Share is what a job gets of one node.
type Share struct {
	Node  int // index into what was given to Fit
	CPUs  int
	Mem   sbatch.MemMiB // 0: no limit was asked for, and the site has none
	GPUs  int
	GRES  []gres.Resource // other than GPUs
	Tasks int             // as SLURM_TASKS_PER_NODE has it
}

// ErrNoFit: the nodes that were given do not do; with more, or others, it may.
var ErrNoFit = errors.New("the job does not fit on these nodes")

// Refused is a demand that slurmctld refuses at submission. Text is sbatch's, without "sbatch: error: "; there may be several lines.
type Refused struct{ Text string }

func (r *Refused) Error() string { return r.Text }

var (
	errThreads = fmt.Errorf("%w: Socket, core and/or thread specification can not be satisfied", ErrNoFit)
	errCPUs    = fmt.Errorf("%w: CPU count per node can not be satisfied", ErrNoFit)
)

// noFit is why none of the nodes does, if slurmctld has a word for it.
func (n *Ask) noFit(nodes []Node) error {
	if len(nodes) > 0 { // they are of one shape
		if err := n.others.lacks(&nodes[0]); err != nil {
			return err
		}
	}
	why := ErrNoFit
	for i := range nodes {
		switch lack, _, _ := n.Lacks(&nodes[i]); lack {
		case LackThreads:
			why = errThreads
		case LackCPUsOfTask, LackCPUs, LackTasks:
			why = errCPUs
		default:
			return ErrNoFit
		}
	}
	return why
}

// Options are how a site gives out its nodes.
type Options struct {
	Whole bool // a job gets all of each of its nodes
	// DefMemPerCPU and DefMemPerNode are the memory of jobs that ask for none; both 0: they have no limit. At most one is set.
	DefMemPerCPU, DefMemPerNode sbatch.MemMiB
	// Release is the site's Slurm; "": 24.11. At 22.05 and 26.05 a node has the CPUs of all tasks that --ntasks-per-node allows, at 24.11 those of the tasks
	// that it runs.
	Release sbatch.Release
	// Most is how many nodes there can be: a job of 1 to 8 nodes takes no more of them. 0: any number.
	Most int
}

// Fit chooses the nodes that a job gets, out of those that are free for it, and what it gets of each, as slurmctld would. The shares are in the order of
// the nodes. [ErrNoFit]: these nodes do not do. Any other error says what no node could make good.
//
// Nodes that follow each other in free are neighbours: slurmctld, where it knows of no switches, takes runs of them, and for a job that one node can hold the
// one with the fewest CPUs.
func Fit(d *Demand, free []Node, o Options) ([]Share, error) {
	nd, err := d.rented(o)
	if err != nil {
		return nil, err
	}
	c, err := nd.candidates(d, free)
	if err != nil {
		return nil, err
	}
	if c = nd.choose(c); c == nil {
		return nil, nd.noFit(free)
	}
	return nd.shares(free, c), nil
}

// Need says how many new nodes of one shape a job takes, and what it gets of the first, which is the one of which it gets most. [ErrNoFit]: no number of them
// will do. Names that the job asks for count as a number of nodes only.
func Need(d *Demand, shape Node, o Options) (nodes int, each Share, err error) {
	nd, err := d.rented(o)
	if err != nil {
		return 0, Share{}, err
	}
	if err := nd.named(d); err != nil {
		return 0, Share{}, err
	}
	if err := nd.others.lacks(&shape); err != nil {
		return 0, Share{}, err
	}
	nd.spread = false // over what is there: nothing is rented for it
	one := nd.capacity(&shape)
	if one.tasks == 0 {
		return 0, Share{}, ErrNoFit
	}
	// Of equal nodes either the tasks or the GPUs say how many.
	k := max(nd.minNodes, ceil(nd.tasks, one.tasks))
	if nd.exact {
		k = nd.minNodes
	}
	if nd.gpusJob > 0 {
		k = max(k, ceil(nd.gpusJob, one.gpus))
	}
	if nd.ranged() {
		k = max(k, nd.most())
	}
	k = nd.sized(k)
	if k == 0 || nd.maxNodes > 0 && k > nd.maxNodes {
		return 0, Share{}, ErrNoFit
	}
	fresh, c := make([]Node, k), make([]candidate, k)
	for i := range fresh {
		fresh[i], c[i] = shape, one
		c[i].node = i
	}
	if c = nd.choose(c); c == nil {
		return 0, Share{}, ErrNoFit
	}
	return len(c), nd.shares(fresh, c)[0], nil
}
