package api

import (
	"fmt"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// size is how much a job asks for in all. Where it asks for nothing, Slurm's own defaults count.
type size struct {
	nodes, tasks, cpus int
	mem                sbatch.MemMiB // 0: not told
	gres               []gresCount   // of the whole job

	memPerNode, memPerCPU sbatch.MemMiB // what the partition gives a job that asks for no memory
}

type gresCount struct {
	name, kind string // gpu, h100
	count      int
}

// sizeOf adds up what j asks for on the nodes that it has, or on as many as it wants at least.
func sizeOf(j *federation.Job) size {
	sp := &j.Spec
	var z size
	z.nodes = max(nodeCount(j.Nodes), 1)
	if j.Nodes == "" {
		z.nodes = max(sp.MinNodes, 1)
	}
	switch {
	case sp.NTasks > 0:
		z.tasks = sp.NTasks
	case sp.NTasksPerNode > 0:
		z.tasks = sp.NTasksPerNode * z.nodes
	default:
		z.tasks = z.nodes
	}
	z.cpus = max(z.tasks*max(sp.CPUsPerTask, 1), z.nodes)
	for _, g := range parseGRES(sp.GRES) {
		z.gres = append(z.gres, gresCount{g.name, g.kind, g.count * z.nodes})
	}
	z.gres = append(z.gres, gpuCounts(sp.GPUs, 1)...)
	z.gres = append(z.gres, gpuCounts(sp.GPUsPerNode, z.nodes)...)
	z.gres = append(z.gres, gpuCounts(sp.GPUsPerTask, z.tasks)...)
	if sp.More != nil && sp.More.CPUsPerGPU > 0 {
		gpus := 0
		for _, g := range z.gres {
			gpus += g.count
		}
		z.cpus = max(z.cpus, gpus*sp.More.CPUsPerGPU)
	}
	switch {
	case sp.MemPerNode > 0:
		z.mem = sp.MemPerNode * sbatch.MemMiB(z.nodes)
	case sp.MemPerCPU > 0:
		z.mem = sp.MemPerCPU * sbatch.MemMiB(z.cpus)
	case sp.MemPerGPU > 0:
		for _, g := range z.gres {
			z.mem += sp.MemPerGPU * sbatch.MemMiB(g.count)
		}
	}
	return z
}

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

// parseGRES reads --gres: "gpu:h100:2,nvme".
func parseGRES(text string) []gresCount {
	var out []gresCount
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimPrefix(strings.TrimPrefix(item, "gres/"), "gres:")
		parts := strings.FieldsFunc(item, func(c rune) bool { return c == ':' || c == '=' })
		if len(parts) == 0 || parts[0] == "none" {
			continue
		}
		g := gresCount{name: parts[0], count: 1}
		for _, p := range parts[1:] {
			if n, err := strconv.Atoi(p); err == nil {
				g.count = n
			} else {
				g.kind = p
			}
		}
		out = append(out, g)
	}
	return out
}

// gpuCounts reads one of the GPU options, "h100:4,a100:2" or "4", of which the job has n times as many.
func gpuCounts(text string, n int) []gresCount {
	var out []gresCount
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		for _, g := range parseGRES("gpu:" + item) {
			out = append(out, gresCount{g.name, g.kind, g.count * n})
		}
	}
	return out
}

// tres writes z in the order of squeue: "cpu=4,mem=4000M,node=1,billing=4,gres/gpu=4,gres/gpu:h100=4".
func (z size) tres() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cpu=%d", z.cpus)
	if z.mem > 0 {
		b.WriteString(",mem=" + memText(z.mem))
	}
	fmt.Fprintf(&b, ",node=%d,billing=%d", z.nodes, z.cpus)
	sums := map[string]int{}
	var names []string
	for _, g := range z.gres {
		if _, ok := sums[g.name]; !ok {
			names = append(names, g.name)
		}
		sums[g.name] += g.count
	}
	for _, name := range names {
		fmt.Fprintf(&b, ",gres/%s=%d", name, sums[name])
		for _, g := range z.gres {
			if g.name == name && g.kind != "" {
				fmt.Fprintf(&b, ",gres/%s:%s=%d", g.name, g.kind, g.count)
			}
		}
	}
	return b.String()
}

// list is z as slurmdbd lists it.
func (z size) list() wire.List[wire.TRES] {
	out := wire.List[wire.TRES]{{Type: "cpu", ID: 1, Count: int64(z.cpus)}}
	if z.mem > 0 {
		out = append(out, wire.TRES{Type: "mem", ID: 2, Count: int64(z.mem)})
	}
	out = append(out, wire.TRES{Type: "node", ID: 4, Count: int64(z.nodes)}, wire.TRES{Type: "billing", ID: 5, Count: int64(z.cpus)})
	for _, g := range z.gres {
		if g.kind != "" {
			out = append(out, wire.TRES{Type: "gres", Name: g.name + ":" + g.kind, ID: 1002, Count: int64(g.count)})
		}
		out = append(out, wire.TRES{Type: "gres", Name: g.name, ID: 1001, Count: int64(g.count)})
	}
	return out
}

// memText writes an amount of memory as Slurm does, in the largest unit that needs no more than one half of it: 100M, 4G,
// 62.50G, 8000M.
func memText(m sbatch.MemMiB) string {
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

// gresPrefixed writes a --gres list as tres_per_node says it: "gres/gpu:h100:2,gres/nvme:1".
func gresPrefixed(text, prefix string) string {
	if text == "" {
		return ""
	}
	var out []string
	for item := range strings.SplitSeq(text, ",") {
		out = append(out, prefix+strings.TrimPrefix(strings.TrimPrefix(item, "gres/"), "gres:"))
	}
	return strings.Join(out, ",")
}
