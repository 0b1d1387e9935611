package demand

import (
	"fmt"
	"slices"

	"fsub/slurm/hostlist"
)

// candidate is a node that can hold a part of a job.
type candidate struct {
	node     int // index
	cpus     int // that the job could have of it
	tasks    int // that it can hold
	gpus     int // of the job's total that it can give
	required bool

	take int // tasks that it gets
	give int // GPUs of the job's total that it gets
}

// candidates are the nodes that can hold at least one task, those that the job names among them.
func (n *Ask) candidates(d *Demand, free []Node) ([]candidate, error) {
	required, err := hostlist.Expand(d.NodeList)
	if err != nil {
		return nil, err
	}
	excluded, err := hostlist.Expand(d.Exclude)
	if err != nil {
		return nil, err
	}
	required = n.must(required)
	n.atLeast(required)
	c := make([]candidate, 0, len(free))
	found := 0
	for i := range free {
		if len(excluded) > 0 && slices.Contains(excluded, free[i].Name) {
			continue
		}
		one := n.capacity(&free[i])
		if one.tasks == 0 {
			continue
		}
		one.node = i
		if len(required) > 0 && slices.Contains(required, free[i].Name) {
			one.required = true
			found++
		}
		c = append(c, one)
	}
	if found < len(required) {
		return nil, fmt.Errorf("%w: not all of %s are free", ErrNoFit, d.NodeList)
	}
	return c, nil
}

// sized is the next number of nodes that the job may have, from k on; 0: there is none.
func (t *target) sized(k int) int {
	if t.sizes == "" {
		return k
	}
	for ; k <= t.maxNodes; k++ {
		if t.sizes.Has(k) {
			return k
		}
	}
	return 0
}

// sizedDown is the next number of nodes that the job may have, from k downwards; 0: there is none.
func (t *target) sizedDown(k int) int {
	for ; k > 0 && !t.sizes.Has(k); k-- {
	}
	return k
}
