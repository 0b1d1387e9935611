package metrics

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation"
	"fsub/federation/fragment"
)

// sites adds the nodes of sites up, each time that a site has been looked at.
type sites struct {
	mu  sync.Mutex
	sum map[federation.SiteName]*siteSum
}

// siteSum is what there is at a site, by one look at it.
type siteSum struct {
	of    *federation.Observation
	nodes map[string]int
	cpus  map[string]int
	gpus  map[gpuState]int
	shown []prometheus.Metric
}

type gpuState struct{ gpu, state string }

func (s *sites) collect(to out, all []*federation.Site, fragments func(*federation.Site) []fragment.Score) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := make(map[federation.SiteName]*siteSum, len(all))
	for _, site := range all {
		if site.Seen == nil || site.State == federation.FedRemoved {
			continue
		}
		sum := s.sum[site.Name]
		if sum == nil || sum.of != site.Seen {
			sum = add(site.Seen)
			sum.show(string(site.Name), fragments(site))
		}
		known[site.Name] = sum
		for _, m := range sum.shown {
			to <- m
		}
	}
	s.sum = known
}

// show makes the gauges once for all scrapes of this look.
func (s *siteSum) show(site string, free []fragment.Score) {
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		s.shown = append(s.shown, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...))
	}
	for state, n := range s.nodes {
		gauge(nodes, n, site, state)
	}
	for state, n := range s.cpus {
		gauge(cpus, n, site, state)
	}
	for g, n := range s.gpus {
		gauge(gpus, n, site, g.gpu, g.state)
	}
	for i := range free {
		f := &free[i]
		gauge(whole, f.Node, site, f.GPU, "node")
		if f.Leaves > 0 {
			gauge(whole, f.Leaf, site, f.GPU, "leaf")
		}
		if f.Blocks > 0 {
			gauge(whole, f.Block, site, f.GPU, "block")
		}
		s.shown = append(s.shown, prometheus.MustNewConstMetric(fragmented, prometheus.GaugeValue, f.Fragmented(), site, f.GPU))
	}
}

// What nodes, CPUs and GPUs do. Each is shown, with 0 if need be: a rule that sums what is not there would have no data.
const (
	idleNode  = "idle"
	mixed     = "mixed"
	allocated = "allocated"
	outOf     = "out"
	rentable  = "rentable"
	inUse     = "used"
	free      = "free"
)

func add(o *federation.Observation) *siteSum {
	s := &siteSum{of: o, nodes: map[string]int{idleNode: 0, mixed: 0, allocated: 0, outOf: 0, rentable: 0},
		cpus: map[string]int{inUse: 0, free: 0, outOf: 0, rentable: 0}, gpus: map[gpuState]int{}}
	for i := range o.Nodes {
		s.node(&o.Nodes[i])
	}
	for _, g := range slices.Collect(maps.Keys(s.gpus)) {
		for state := range s.cpus {
			s.gpus[gpuState{g.gpu, state}] += 0
		}
	}
	return s
}

func (s *siteSum) node(n *federation.Node) {
	left := free
	switch {
	case n.Rented != nil && slices.Contains(n.State, "POWERED_DOWN"):
		left = rentable
		s.nodes[rentable]++
	case !n.Usable():
		left = outOf
		s.nodes[outOf]++
	case n.CPUsUsed == 0:
		s.nodes[idleNode]++
	case n.CPUsUsed >= n.CPUs:
		s.nodes[allocated]++
	default:
		s.nodes[mixed]++
	}
	s.cpus[inUse] += n.CPUsUsed
	s.cpus[left] += max(n.CPUs-n.CPUsUsed, 0)
	for _, g := range n.GRES {
		if g.Name == "gpu" {
			gpu := cmp.Or(g.Type, g.Name)
			s.gpus[gpuState{gpu, inUse}] += g.Used
			s.gpus[gpuState{gpu, left}] += max(g.Total-g.Used, 0)
		}
	}
}
