package place

import (
	"math"
	"slices"
	"strconv"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/demand"
	"fsub/federation/reasons"
	"fsub/sbatch/gres"
)

// inventory is what the nodes of a site have, and what of it is free now. Nodes go by their index in the observation.
type inventory struct {
	slots     []slot // kinds of GRES at the site
	cpu, mem  []int32
	gres      []int32 // node x slot
	totalCPU  []int32
	totalMem  []int32
	totalGRES []int32
}

// slot is one kind of GRES of a site.
type slot struct{ name, kind string }

// slotCount is an amount of one kind.
type slotCount struct {
	slot  int32
	count int32
}

func newInventory(nodes []federation.Node) inventory {
	var v inventory
	for i := range nodes {
		for _, g := range nodes[i].GRES {
			if v.slot(g.Name, g.Type) < 0 {
				v.slots = append(v.slots, slot{g.Name, g.Type})
			}
		}
	}
	n, stride := len(nodes), len(v.slots)
	v.cpu, v.mem, v.totalCPU, v.totalMem = make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	v.gres, v.totalGRES = make([]int32, n*stride), make([]int32, n*stride)
	for i := range nodes {
		nd := &nodes[i]
		v.totalCPU[i], v.totalMem[i] = clamp(int64(nd.CPUs)), clamp(int64(nd.Mem))
		for _, g := range nd.GRES {
			v.totalGRES[i*stride+v.slot(g.Name, g.Type)] += clamp(int64(g.Total))
		}
		v.readFree(int32(i), nd)
	}
	return v
}

// readFree notes what is free on a node now.
func (v *inventory) readFree(n int32, nd *federation.Node) {
	v.cpu[n], v.mem[n] = clamp(int64(nd.CPUs-nd.CPUsUsed)), clamp(int64(nd.Mem-nd.MemUsed))
	for _, g := range nd.GRES {
		v.gres[int(n)*len(v.slots)+v.slot(g.Name, g.Type)] += clamp(int64(g.Total - g.Used))
	}
}

// clamp bounds what a site reports: more used than there is counts as all used.
func clamp(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32/4)) }

// slot returns the number of a kind of GRES, -1 if the site has none.
func (v *inventory) slot(name, kind string) int {
	return slices.Index(v.slots, slot{name, kind})
}

// held translates what a job holds on node n. A site may report a GRES in use without its type.
func (v *inventory) held(n int32, gres []federation.GRES) []slotCount {
	var held []slotCount
	for _, g := range gres {
		s := v.slot(g.Name, g.Type)
		if s < 0 || v.totalGRES[int(n)*len(v.slots)+s] == 0 {
			s = slices.IndexFunc(v.slots, func(k slot) bool {
				return k.name == g.Name && v.totalGRES[int(n)*len(v.slots)+v.slot(k.name, k.kind)] > 0
			})
		}
		if s >= 0 && g.Used > 0 {
			held = append(held, slotCount{int32(s), clamp(int64(g.Used))})
		}
	}
	return held
}

func (v *inventory) fitsIn(n int32, free *freeOn, f *fit) bool {
	if free.cpu < f.cpu || free.mem < f.mem || f.whole && free.cpu < v.totalCPU[n] {
		return false
	}
	for i := range f.gres {
		if !enough(free.gres, &f.gres[i]) {
			return false
		}
	}
	return true
}

// takenBy is how many CPUs f takes of node n.
func (v *inventory) takenBy(f *fit, n int32) int32 {
	if f.whole {
		return v.totalCPU[n]
	}
	return f.takes()
}

// moveGRES takes (sign -1) or gives back (sign 1) an amount of GRES on node n. Where several kinds will do it goes through
// those that the node has: taking what is free, giving back what is missing.
func (v *inventory) moveGRES(free []int32, n int32, w *want, sign int32) {
	if len(w.slots) == 1 {
		free[w.slots[0]] += sign * w.count
		return
	}
	total := v.totalGRES[int(n)*len(v.slots) : (int(n)+1)*len(v.slots)]
	left, last := w.count, w.slots[0]
	for _, s := range w.slots {
		if total[s] == 0 {
			continue
		}
		room := free[s]
		if sign > 0 {
			room = total[s] - free[s]
		}
		part := min(left, max(room, 0))
		free[s] += sign * part
		left -= part
		last = s
	}
	free[last] += sign * left
}

// move takes (sign -1) or gives back (sign 1) what f needs on node n.
func (v *inventory) move(free *freeOn, n int32, f *fit, sign int32) {
	free.cpu += sign * v.takenBy(f, n)
	free.mem += sign * f.mem
	for i := range f.gres {
		v.moveGRES(free.gres, n, &f.gres[i], sign)
	}
}

// hasGRES refuses if a shape has no GRES of a kind.
func (v *inventory) hasGRES(shape *federation.Node, g gres.Resource) *refusal {
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
		return forGood(reasons.GRES, codes.OtherType, g.Name, g.Type, types[0])
	}
	for _, k := range v.slots {
		if k.name == g.Name {
			return forGood(reasons.GRES, codes.NodesWithout, g.Name)
		}
	}
	return forGood(reasons.GRES, codes.NoSuchGRES, strconv.Quote(g.Name))
}

// addWants translates the GRES that a job asks for into what it takes of each of f.nodes nodes.
func (v *inventory) addWants(f *fit, a *ask, shape *federation.Node, each demand.Share) *refusal {
	for _, g := range a.onNodes(f.nodes, each) {
		if have := shapeGRES(shape, g); g.Count > have {
			return forGood(reasons.GRES, codes.GRESOnEach, g.Count, g, f.nodes, have)
		}
		w := want{count: clamp(int64(g.Count))}
		for s, k := range v.slots {
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
	if ofJob := a.Count("gpu", demand.PerJob); ofJob > 0 && f.gpus > 0 {
		f.gpus = min(f.gpus, max(ofJob, f.nodes)) // not the rounded number, but one of each node at least
	}
	return nil
}

func enough(free []int32, w *want) bool {
	if len(w.slots) == 1 {
		return free[w.slots[0]] >= w.count
	}
	sum := int32(0)
	for _, s := range w.slots {
		sum += free[s]
	}
	return sum >= w.count
}
