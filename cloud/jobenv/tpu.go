package jobenv

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"fsub/cloud/agentapi"
)

// megascalePort is where the first host of a job of several slices coordinates them.
const megascalePort = "8080"

// TPU is what libtpu and JAX read of the slice that this machine is a host of: which of its hosts it is, and their names in the slice's own order; and of a job of
// several slices which of them, and where they meet. nil: it has no TPUs. Names as in jax/_src/clusters/cloud_tpu_cluster.py and the environment of GKE's TPU pods.
func TPU(l *agentapi.Launch) []string {
	g := &l.Groups[l.Group]
	own := g.Nodes[l.Node].TPU
	if own == nil {
		return nil
	}
	var hosts []*agentapi.Node
	var first *agentapi.Node
	count := 0
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.TPU == nil {
			continue
		}
		if n.TPU.Slice == own.Slice {
			hosts = append(hosts, n)
		}
		if n.TPU.Slice == 0 && n.TPU.Worker == 0 {
			first = n
		}
		count = max(count, n.TPU.Slice+1)
	}
	slices.SortFunc(hosts, func(a, b *agentapi.Node) int { return cmp.Compare(a.TPU.Worker, b.TPU.Worker) })
	names := make([]string, len(hosts))
	for i, n := range hosts {
		names[i] = n.Name
	}
	env := []string{"TPU_WORKER_ID=" + strconv.Itoa(own.Worker), "TPU_WORKER_HOSTNAMES=" + strings.Join(names, ","), "TPU_ACCELERATOR_TYPE=" + own.Type, "TPU_TOPOLOGY=" + own.Topology}
	if count > 1 && first != nil {
		env = append(env, "MEGASCALE_COORDINATOR_ADDRESS="+first.Name, "MEGASCALE_PORT="+megascalePort, "MEGASCALE_NUM_SLICES="+strconv.Itoa(count),
			"MEGASCALE_SLICE_ID="+strconv.Itoa(own.Slice))
	}
	return env
}
