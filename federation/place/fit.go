package place

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/demand"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// fit is what a job takes in a pool: a number of nodes, and an amount of each. A job that gives only its number of tasks may fit
// in several ways, on few nodes or on many.
type fit struct {
	nodes    int
	cpu, mem int32 // that must be free; of whole nodes it takes all CPUs
	part     int32 // CPUs that it takes, where these are fewer (--mincpus); 0: cpu
	gres     []want
	gpus     int  // of the whole job
	whole    bool // the nodes must be idle, and run nothing else then
	leaves   int  // the maximum of leaf switches; 0: any number

	segment    int  // number of nodes that share a leaf; 0: one
	alone      bool // no other job is on its leaves
	contiguous bool // its nodes follow each other

	joined   bool   // a switch is above all of its nodes
	unheeded string // an option about the wiring that the site takes, and does not act upon; "": none

	on *fabric // the topology of its partition; nil: the site's

	reservation string
	include     []int32
	exclude     map[int32]bool
	keptOff     []decision.KeptOff // the switches above its nodes that gangs are kept off; nil: there is none
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
	reason reasons.Reason
	why    *codes.Why
	detail string // what the cloud says instead
	never  bool
	short  int // the number of the nodes that the pool has, if other pools of the partition may have the rest
}

// nearer reports whether the job came nearer to running than with other, another GPU type.
func (r *refusal) nearer(other *refusal) bool {
	if r.never != other.never {
		return !r.never
	}
	if r.reason != other.reason {
		return rankOf(r.reason) > rankOf(other.reason)
	}
	return other.why.Code == codes.OtherType && r.why.Code != codes.OtherType
}

// note adds to what is said.
func (r *refusal) note(code codes.Code, args ...string) { r.why = r.why.With(code, args...) }

// forGood is a refusal that stays as long as the site's configuration does.
func forGood(reason reasons.Reason, code codes.Code, args ...any) *refusal {
	no := forNow(reason, code, args...)
	no.never = true
	return no
}

// forNow is a refusal that may pass.
func forNow(reason reasons.Reason, code codes.Code, args ...any) *refusal {
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
	return &refusal{reason: reason, why: codes.Because(code, texts...)}
}

// fits lists how a job could run in a pool by the pool's configured size alone, fewest nodes first, or says why it cannot.
func (m *model) fits(a *ask, pool int) ([]fit, *refusal) {
	shape := &m.pools[pool].Shape
	if no := m.lacks(a, shape); no != nil {
		return nil, no
	}
	n, node := m.numbers(a, shape, m.parts[pool])
	room := n.Room(&node)
	for _, g := range a.GRES {
		if g.Per == demand.PerTask && g.Name != "gpu" {
			room.Tasks = min(room.Tasks, shapeGRES(shape, g.Resource)/g.Count)
		}
	}
	if room.Tasks == 0 {
		return nil, holdsNothing(a, &n, &node)
	}
	least, most := n.Bounds(room)
	for _, g := range a.GRES {
		if g.Per == demand.PerJob && g.Name != "gpu" {
			least = max(least, ceilDiv(g.Count, shapeGRES(shape, g.Resource)))
		}
	}
	if bound := n.MaxNodes(); bound > 0 && least > bound {
		return nil, forGood(reasons.ReqNodeNotAvail, codes.NodesAsked, nodesText(least), bound)
	}
	most = max(most, least)
	tries := sized(&n, spread(least, most), most)
	if len(tries) == 0 {
		return nil, forGood(reasons.ReqNodeNotAvail, codes.NodeSizes, nodesText(least), a.NodeSizes)
	}
	var fits []fit
	var first *refusal
	for _, nodes := range tries {
		f, no := m.fitOn(a, pool, nodes, n.Even(&node, room, nodes), n.LeastCPUs(&node))
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

// spread picks a few numbers of nodes to try between two bounds.
func spread(least, most int) []int {
	tries := []int{least}
	for n := least + 1; n <= most && len(tries) < 5; n = max(n+1, 2*n-least) {
		tries = append(tries, n)
	}
	return tries
}

// sized is which numbers of nodes, up to a bound, are the next ones to those that the job may have by its list of them.
func sized(n *demand.Ask, tries []int, most int) []int {
	var may []int
	for _, nodes := range tries {
		for nodes <= most && !n.MayHave(nodes) {
			nodes++
		}
		if nodes <= most && !slices.Contains(may, nodes) {
			may = append(may, nodes)
		}
	}
	return may
}

// fitOn is what a job takes of a number of nodes of a pool, if it gets such a share of each of them, and least CPUs must be free there.
func (m *model) fitOn(a *ask, pool, nodes int, each demand.Share, least int) (fit, *refusal) {
	shape := &m.pools[pool].Shape
	f := fit{nodes: nodes, cpu: int32(each.CPUs), whole: a.Whole || shape.Rented != nil && shape.Rented.Whole, leaves: a.switches,
		segment: a.Segment, alone: a.Alone, contiguous: a.Contiguous, on: m.wiring.fabricOf[pool]}
	if least = wholeCores(least, shape); least > each.CPUs && least <= shape.CPUs {
		f.cpu, f.part = int32(least), int32(each.CPUs)
	}
	// Where neither the job nor the partition asks for memory it counts as 1 MiB, so that a node whose memory is all taken is not seen as free: a site that
	// tracks memory gives such a job all of it.
	f.mem = clamp(int64(max(each.Mem, min(1, shape.Mem))))
	m.wiring.heed(&f)
	if no := m.addWants(&f, a, shape, each); no != nil {
		return fit{}, no
	}
	return f, nil
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

// wholeCores rounds a number of CPUs up to those of whole cores.
func wholeCores(cpus int, shape *federation.Node) int {
	t := max(shape.Threads, 1)
	return ceilDiv(cpus, t) * t
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// unlikeTexts are two amounts of memory in words that differ.
func unlikeTexts(a, b sbatch.MemMiB) []any {
	x, y := memoryText(a), memoryText(b)
	if x == y {
		x, y = fmt.Sprintf("%d MiB", a), fmt.Sprintf("%d MiB", b)
	}
	return []any{x, y}
}

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
