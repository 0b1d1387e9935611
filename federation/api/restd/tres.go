package restd

import (
	"fmt"
	"strings"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// Size is how much a job asks for in all. Where it asks for nothing, Slurm's own defaults count.
type Size struct {
	demand.Size
	memPerNode, memPerCPU sbatch.MemMiB // what the partition gives a job that asks for no memory
}

// sizeOf adds up what j asks for on the nodes that it has, or on as many as it wants at least.
func sizeOf(j *federation.Job) Size { return Size{Size: j.Needs().Size(nodeCount(j.Nodes))} }

// nodeCount is the number of names in a hostlist, 0 if it is none.
func nodeCount(list string) int {
	if list == "" {
		return 0
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		return strings.Count(list, ",") + 1
	}
	return len(names)
}

// TRES writes z in the order of squeue: "cpu=4,mem=4000M,node=1,billing=4,gres/gpu=4,gres/gpu:h100=4".
func (z Size) TRES() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cpu=%d", z.CPUs)
	if z.Mem > 0 {
		b.WriteString(",mem=" + MemText(z.Mem))
	}
	fmt.Fprintf(&b, ",node=%d,billing=%d", z.Nodes, z.CPUs)
	sums := map[string]int{}
	var names []string
	for _, g := range z.GRES {
		if _, ok := sums[g.Name]; !ok {
			names = append(names, g.Name)
		}
		sums[g.Name] += g.Count
	}
	for _, name := range names {
		fmt.Fprintf(&b, ",gres/%s=%d", name, sums[name])
		for _, g := range z.GRES {
			if g.Name == name && g.Type != "" {
				fmt.Fprintf(&b, ",gres/%s:%s=%d", g.Name, g.Type, g.Count)
			}
		}
	}
	return b.String()
}

// list is z as slurmdbd lists it.
func (z Size) list() wire.List[wire.TRES] {
	out := wire.List[wire.TRES]{{Type: "cpu", ID: 1, Count: int64(z.CPUs)}}
	if z.Mem > 0 {
		out = append(out, wire.TRES{Type: "mem", ID: 2, Count: int64(z.Mem)})
	}
	out = append(out, wire.TRES{Type: "node", ID: 4, Count: int64(z.Nodes)}, wire.TRES{Type: "billing", ID: 5, Count: int64(z.CPUs)})
	for _, g := range z.GRES {
		if g.Type != "" {
			out = append(out, wire.TRES{Type: "gres", Name: g.Name + ":" + g.Type, ID: 1002, Count: int64(g.Count)})
		}
		out = append(out, wire.TRES{Type: "gres", Name: g.Name, ID: 1001, Count: int64(g.Count)})
	}
	return out
}

// MemText writes an amount of memory as Slurm does, in the largest unit that needs no more than one half of it: 100M, 4G,
// 62.50G, 8000M.
func MemText(m sbatch.MemMiB) string {
	const units = "MGTP"
	n, unit := float64(m), 0
	for unit < len(units)-1 && n >= 1024 && n == float64(int64(n)) && int64(n)%512 == 0 {
		n /= 1024
		unit++
	}
	if n == float64(int64(n)) {
		return fmt.Sprintf("%d%c", int64(n), units[unit])
	}
	return fmt.Sprintf("%.2f%c", n, units[unit])
}
