package cloud

import (
	"testing"

	"fsub/cloud/provider"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// The nodes of a job are in the order of their names, whichever became free first: its script runs on the first of SLURM_JOB_NODELIST, and that one has the larger share.
func TestNodesAreInOrder(t *testing.T) {
	p := newPool(&fleet{}, PoolConfig{Name: "main"})
	var machines []*machine
	for _, name := range []string{"x-main-10", "x-main-2", "x-main-1"} {
		g := &gang{}
		g.Offering = provider.Offering{CPUs: 4, Mem: 4096}
		m := &machine{gang: g, pool: p}
		m.Name = name
		machines = append(machines, m)
	}
	needs := demand.Of(&sbatch.Spec{MinNodes: 3, MaxNodes: 3, NTasks: 5})
	var nodes []demand.Node
	for _, m := range machines {
		nodes = append(nodes, m.free())
	}
	shares, err := demand.Fit(needs, nodes, p.options())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var tasks []int
	for _, s := range inOrder(&job{}, 0, needs, shares, machines) {
		names, tasks = append(names, machines[s.Node].Name), append(tasks, s.Tasks)
	}
	if names[0] != "x-main-1" || names[1] != "x-main-2" || names[2] != "x-main-10" || tasks[0]+tasks[1]+tasks[2] != 5 || tasks[0] < tasks[1] || tasks[1] < tasks[2] {
		t.Errorf("nodes %v with %v tasks", names, tasks)
	}
}
