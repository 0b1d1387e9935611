package place

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// fit is what a job takes in a pool: a number of nodes, and so much of each. A job that gives only its number of tasks may fit
// in several ways, on few nodes or on many.
type fit struct {
	nodes    int
	cpu, mem int32 // that must be free; of whole nodes it takes all CPUs
	part     int32 // CPUs that it takes, where these are fewer (--mincpus); 0: cpu
	gres     []want
	gpus     int  // of the whole job
	whole    bool // the nodes must be idle, and run nothing else then
	leaves   int  // at most so many leaf switches; 0: any number

	segment    int  // so many nodes at a time share a leaf; 0: one
	alone      bool // no other job is on its leaves
	contiguous bool // its nodes follow each other

	joined   bool   // a switch is above all of its nodes
	unheeded string // an option about the wiring that the site takes, and does not act upon; "": none

	on *fabric // the topology of its partition; nil: the site's

	reservation string
	include     []int32
	exclude     map[int32]bool
}

// takes is how many CPUs of a node that runs other jobs beside it f takes.
func (f *fit) takes() int32 { return cmp.Or(f.part, f.cpu) }

// want is an amount of GRES on each node, of one kind (slot) or, where the job does not care, of several.
type want struct {
	slots []int32
	count int32
	kinds []int32 // if the job does not care: all slots of the name at the site
}

// refusal is why a filter refuses.
type refusal struct {
	reason federation.Reason
	why    *federation.Why
	detail string // what the cloud says instead
	never  bool
	short  int // the pool has only so many of the nodes that the job wants; other pools of the partition may have the rest
}

// nearer reports whether the job came nearer to running than with other, another GPU type.
func (r *refusal) nearer(other *refusal) bool {
	if r.never != other.never {
		return !r.never
	}
	if r.reason != other.reason {
		return rankOf(r.reason) > rankOf(other.reason)
	}
	return other.why.Code == federation.WhyOtherType && r.why.Code != federation.WhyOtherType
}

// note adds to what is said.
func (r *refusal) note(code federation.Code, args ...string) { r.why = r.why.With(code, args...) }

// forGood is a refusal that stays as long as the site's configuration does.
func forGood(reason federation.Reason, code federation.Code, args ...any) *refusal {
	no := forNow(reason, code, args...)
	no.never = true
	return no
}

// forNow is a refusal that may pass.
func forNow(reason federation.Reason, code federation.Code, args ...any) *refusal {
	var texts []string
	if len(args) > 0 {
		texts = make([]string, len(args))
	}
	for i, a := range args {
		switch a := a.(type) {
		case string:
			texts[i] = a
		case int:
			texts[i] = strconv.Itoa(a)
		default:
			texts[i] = fmt.Sprint(a)
		}
	}
	return &refusal{reason: reason, why: federation.Because(code, texts...)}
}

// fits lists how a job could run in a pool by the pool's configured size alone, fewest nodes first, or says why it cannot.
func (m *model) fits(a *ask, pool int) ([]fit, *refusal) {
	shape, part := &m.pools[pool].Shape, m.parts[pool]
	perNode, no := m.tasksThatFit(a, shape, part)
	if no != nil {
		return nil, no
	}
	least, most := a.nodeBounds(shape, perNode)
	if a.maxNodes > 0 && least > a.maxNodes {
		return nil, forGood(federation.ReasonReqNodeNotAvail, federation.WhyNodesAsked, nodesText(least), a.maxNodes)
	}
	var fits []fit
	var first *refusal
	tries := a.sized(spread(least, most), most)
	if len(tries) == 0 {
		return nil, forGood(federation.ReasonReqNodeNotAvail, federation.WhyNodeSizes, nodesText(least), a.NodeSizes)
	}
	for _, n := range tries {
		f, no := m.fitOn(a, pool, n)
		if no == nil {
			fits = append(fits, f)
		} else if first == nil {
			first = no
		}
	}
	if len(fits) == 0 {
		return nil, first
	}
	return fits, nil
}

// nodeBounds are the fewest and the most nodes of a pool that a job can use, when perNode of its tasks fit on one.
func (a *ask) nodeBounds(shape *federation.Node, perNode int) (least, most int) {
	least = max(a.minNodes, 1, len(a.include))
	if a.tasks > 0 {
		least = max(least, ceilDiv(a.tasks, perNode))
	}
	for _, g := range a.jobGRES {
		each := shapeGRES(shape, g)
		if n := a.gpusOnNode(); n > 0 {
			each = n
		} else if g.Name == "gpu" && a.CPUsPerGPU > 0 {
			each = min(each, shape.CPUs/a.CPUsPerGPU)
		}
		least = max(least, ceilDiv(g.Count, max(each, 1)))
	}
	most = least
	if (a.tasks > 1 || len(a.jobGRES) > 0) && len(a.include) == 0 {
		most = max(a.tasks, countGRES(a.jobGRES), least)
	}
	if a.maxNodes > 0 {
		most = min(most, max(a.maxNodes, least))
	}
	return least, most
}

// spread picks a few numbers of nodes to try between two bounds.
func spread(least, most int) []int {
	tries := []int{least}
	for n := least + 1; n <= most && len(tries) < 5; n = max(n+1, 2*n-least) {
		tries = append(tries, n)
	}
	return tries
}

// sized is which numbers of nodes, up to a bound, are the next ones to those that the job may have by its list of them.
func (a *ask) sized(tries []int, most int) []int {
	if a.NodeSizes == "" || a.gpusOnNode() > 0 && len(a.jobGRES) > 0 { // the GPUs say how many
		return tries
	}
	var may []int
	for _, n := range tries {
		for n <= most && !a.NodeSizes.Has(n) {
			n++
		}
		if n <= most && !slices.Contains(may, n) {
			may = append(may, n)
		}
	}
	return may
}

// lacks refuses a shape that has less of something than the job wants on every node, whatever its tasks.
func (a *ask) lacks(shape *federation.Node) *refusal {
	for _, x := range [...]struct {
		want, have int
		what       string
	}{{a.Sockets, shape.Sockets, "sockets"}, {a.Cores, shape.Cores, "cores a socket"}, {a.Threads, shape.Threads, "threads a core"}} {
		if x.have > 0 && x.want > x.have {
			return forGood(federation.ReasonReqNodeNotAvail, federation.WhyLayout, x.want, x.what, x.have)
		}
	}
	if least := max(a.MinCPUs, a.CPUsPerGPU*a.gpusOnNode()); least > shape.CPUs {
		return forGood(federation.ReasonReqNodeNotAvail, federation.WhyCPUsOnNode, least, shape.CPUs)
	}
	if has := shape.TmpDisk; a.TmpDisk > has && (has > 0 || shape.Rented == nil) { // of what is rented it may not be known
		return forGood(federation.ReasonReqNodeNotAvail, federation.WhyTmpDisk, memoryText(a.TmpDisk), memoryText(has))
	}
	return nil
}

// tasksThatFit is how many tasks of a job one node of a shape takes when it is empty, at least one.
func (m *model) tasksThatFit(a *ask, shape *federation.Node, part *federation.Partition) (int, *refusal) {
	for _, asks := range [][]gres.Resource{a.nodeGRES, a.jobGRES, a.taskGRES} {
		for _, g := range asks {
			if no := m.hasGRES(shape, g); no != nil {
				return 0, no
			}
		}
	}
	if no := a.lacks(shape); no != nil {
		return 0, no
	}
	each := max(a.cpusOfTask(shape), a.CPUsPerGPU*countGPUs(a.taskGRES))
	if each > shape.CPUs {
		return 0, forGood(federation.ReasonReqNodeNotAvail, federation.WhyCPUsOfTask, each, shape.CPUs)
	}
	if gpus := countGPUs(a.jobGRES); gpus > 0 && a.CPUsPerGPU > shape.CPUs {
		return 0, forGood(federation.ReasonReqNodeNotAvail, federation.WhyCPUsOnNode, a.CPUsPerGPU, shape.CPUs)
	}
	perNode := min(shape.CPUs, a.cpusOfGPUs(shape)) / each
	for _, g := range a.nodeGRES {
		if have := shapeGRES(shape, g); g.Count > have {
			return 0, forGood(federation.ReasonGRES, federation.WhyGRESOfNode, g.Count, g, have)
		}
	}
	for _, g := range a.taskGRES {
		have := shapeGRES(shape, g)
		if g.Count > have {
			return 0, forGood(federation.ReasonGRES, federation.WhyGRESOfTask, g.Count, g, have)
		}
		if n := a.gpusOnNode(); n > 0 && g.Name == "gpu" {
			have = max(n, g.Count)
		}
		perNode = min(perNode, have/g.Count)
	}
	if per := memPerCPU(a, part); per > 0 && per <= shape.Mem {
		perNode = min(perNode, max(int(shape.Mem/per)/a.cpusPerTask, 1))
	}
	if a.tasksPerNode > 0 {
		if a.tasksPerNode > perNode && (a.tasks == 0 || a.tasks >= a.tasksPerNode) {
			return 0, forGood(federation.ReasonReqNodeNotAvail, federation.WhyTasksOfNode, a.tasksPerNode, a.cpusPerTask, perNode)
		}
		perNode = min(perNode, a.tasksPerNode)
	}
	return max(perNode, 1), nil
}

// cpusOfGPUs is how many CPUs of a node go with the GPUs that it gives, where the job says how many belong to one.
func (a *ask) cpusOfGPUs(shape *federation.Node) int {
	gpus := a.gpusOnNode()
	if gpus == 0 && len(a.jobGRES) > 0 {
		gpus = min(countGPUs(a.jobGRES), shapeGRES(shape, gres.Resource{Name: "gpu"}))
	}
	if gpus == 0 || a.CPUsPerGPU == 0 {
		return shape.CPUs
	}
	return max(gpus*a.CPUsPerGPU, a.tasksPerNode*a.cpusPerTask)
}

// fitOn is what a job takes on each of n nodes of a pool.
func (m *model) fitOn(a *ask, pool, n int) (fit, *refusal) {
	shape, part := &m.pools[pool].Shape, m.parts[pool]
	tasks := max(a.tasksPerNode, 1)
	if a.tasks > 0 {
		tasks = ceilDiv(a.tasks, n)
	}
	cpus := wholeCores(tasks*a.cpusOfTask(shape), shape)
	if cpus > shape.CPUs {
		if a.tasks > 0 && a.minNodes > 0 {
			return fit{}, forGood(federation.ReasonReqNodeNotAvail, federation.WhyCPUsOnEach, cpus, n, shape.CPUs)
		}
		return fit{}, forGood(federation.ReasonReqNodeNotAvail, federation.WhyCPUsOnNode, cpus, shape.CPUs)
	}
	f := fit{nodes: n, cpu: int32(cpus), whole: a.Whole || shape.Rented != nil && shape.Rented.Whole, leaves: a.switches,
		segment: a.Segment, alone: a.Alone, contiguous: a.Contiguous, on: m.fabricOf[pool]}
	m.heed(&f)
	if no := m.addWants(&f, a, shape, tasks); no != nil {
		return fit{}, no
	}
	if least := wholeCores(a.CPUsPerGPU*ceilDiv(f.gpus, n), shape); least > cpus {
		if least > shape.CPUs {
			return fit{}, forGood(federation.ReasonReqNodeNotAvail, federation.WhyCPUsOnNode, least, shape.CPUs)
		}
		cpus, f.cpu = least, int32(least)
	}
	if least := wholeCores(a.MinCPUs, shape); least > cpus {
		if f.cpu = int32(least); a.Tasks > 0 { // it only wants nodes that have so many
			f.part = int32(cpus)
		} else {
			cpus = least
		}
	}
	mem := memOnNode(a, shape, part, cpus, ceilDiv(f.gpus, n))
	if mem > shape.Mem {
		asked, there := memoryText(mem), memoryText(shape.Mem)
		if asked == there {
			asked, there = fmt.Sprintf("%d MiB", mem), fmt.Sprintf("%d MiB", shape.Mem)
		}
		return fit{}, forGood(federation.ReasonReqNodeNotAvail, federation.WhyMemoryOnNode, asked, there)
	}
	f.mem = clamp(int64(mem))
	return f, nil
}

// addWants translates the GRES that a job asks for into what it takes of each of f.nodes nodes.
func (m *model) addWants(f *fit, a *ask, shape *federation.Node, tasks int) *refusal {
	all := addGRES(nil, a.nodeGRES...)
	byNode := a.gpusOnNode() > 0 // then that is what each node gives, and the others say how many nodes it takes
	for _, g := range a.jobGRES {
		if g.Count = ceilDiv(g.Count, f.nodes); !byNode || g.Name != "gpu" {
			all = addGRES(all, g)
		}
	}
	for _, g := range a.taskGRES {
		if g.Count *= tasks; !byNode || g.Name != "gpu" {
			all = addGRES(all, g)
		}
	}
	for _, g := range all {
		if have := shapeGRES(shape, g); g.Count > have {
			return forGood(federation.ReasonGRES, federation.WhyGRESOnEach, g.Count, g, f.nodes, have)
		}
		w := want{count: clamp(int64(g.Count))}
		for s, k := range m.slots {
			if k.name != g.Name || g.Type != "" && k.kind != g.Type {
				continue
			}
			if g.Type == "" {
				w.kinds = append(w.kinds, int32(s))
			}
			if shapeGRES(shape, gres.Resource{Name: k.name, Type: k.kind}) > 0 {
				w.slots = append(w.slots, int32(s))
			}
		}
		f.gres = append(f.gres, w)
		if g.Name == "gpu" {
			f.gpus += g.Count * f.nodes
		}
	}
	if n := countGRES(a.jobGRES); n > 0 && len(all) == 1 {
		f.gpus = max(n, f.nodes) // not the rounded number, but one of each node at least
	}
	return nil
}

// hasGRES refuses if a shape has no GRES of a kind.
func (m *model) hasGRES(shape *federation.Node, g gres.Resource) *refusal {
	if shapeGRES(shape, g) > 0 {
		return nil
	}
	var types []string
	for _, have := range shape.GRES {
		if have.Name == g.Name && have.Total > 0 {
			types = append(types, have.Type)
		}
	}
	if len(types) > 0 {
		return forGood(federation.ReasonGRES, federation.WhyOtherType, g.Name, g.Type, types[0])
	}
	for _, k := range m.slots {
		if k.name == g.Name {
			return forGood(federation.ReasonGRES, federation.WhyNodesWithout, g.Name)
		}
	}
	return forGood(federation.ReasonGRES, federation.WhyNoSuchGRES, strconv.Quote(g.Name))
}

// shapeGRES is how many of a kind an empty node of a shape has.
func shapeGRES(shape *federation.Node, g gres.Resource) int {
	n := 0
	for _, have := range shape.GRES {
		if have.Name == g.Name && (g.Type == "" || have.Type == g.Type) {
			n += have.Total
		}
	}
	return n
}

// memPerCPU is the memory for each CPU, 0 if it goes by another measure.
func memPerCPU(a *ask, part *federation.Partition) sbatch.MemMiB {
	switch {
	case a.Memory.Amount > 0 && a.Memory.Per == demand.PerCPU:
		return a.Memory.Amount
	case a.Memory.Amount != 0 || part.DefMemPerNode > 0:
		return 0
	}
	return part.DefMemPerCPU
}

// memOnNode is the memory that a job takes of each node. Where neither it nor the partition says anything it counts as 1 MiB, so
// that a node whose memory is all taken is not seen as free: a site that tracks memory gives such a job all of it.
func memOnNode(a *ask, shape *federation.Node, part *federation.Partition, cpus, gpus int) sbatch.MemMiB {
	switch m := a.Memory; {
	case m.Amount == sbatch.MemAll:
		return shape.Mem
	case m.Amount > 0 && m.Per == demand.PerNode:
		return m.Amount
	case m.Amount > 0 && m.Per == demand.PerGPU:
		return m.Amount * sbatch.MemMiB(gpus)
	}
	if per := memPerCPU(a, part); per > 0 {
		return per * sbatch.MemMiB(cpus)
	}
	if part.DefMemPerNode > 0 {
		return min(part.DefMemPerNode, shape.Mem)
	}
	return min(1, shape.Mem)
}

// wholeCores rounds a number of CPUs up to those of whole cores.
func wholeCores(cpus int, shape *federation.Node) int {
	t := max(shape.Threads, 1)
	return ceilDiv(cpus, t) * t
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// memoryText is "512 MiB", "62.5 GiB" or "4 TiB".
func memoryText(m sbatch.MemMiB) string {
	unit, n := "MiB", float64(m)
	for _, larger := range [...]string{"GiB", "TiB"} {
		if n >= 1024 {
			unit, n = larger, n/1024
		}
	}
	return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0") + " " + unit
}
