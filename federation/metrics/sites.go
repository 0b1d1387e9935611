package metrics

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation"
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
	whole map[string]int
	shown []prometheus.Metric
}

type gpuState struct{ gpu, state string }

func (s *sites) collect(to out, all []*federation.Site) {
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
			sum.show(string(site.Name))
		}
		known[site.Name] = sum
		for _, m := range sum.shown {
			to <- m
		}
	}
	s.sum = known
}

// show makes the gauges once for all scrapes of this look.
func (s *siteSum) show(site string) {
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
	for gpu, n := range s.whole {
		gauge(whole, n, site, gpu)
	}
}

// What nodes, CPUs and GPUs do. Each is shown, with 0 if need be: a rule that sums what is not there would have no data.
const (
	idle      = "idle"
	mixed     = "mixed"
	allocated = "allocated"
	outOf     = "out"
	rentable  = "rentable"
	inUse     = "used"
	free      = "free"
)

func add(o *federation.Observation) *siteSum {
	s := &siteSum{of: o, nodes: map[string]int{idle: 0, mixed: 0, allocated: 0, outOf: 0, rentable: 0},
		cpus: map[string]int{inUse: 0, free: 0, outOf: 0, rentable: 0}, gpus: map[gpuState]int{}, whole: map[string]int{}}
	for i := range o.Nodes {
		s.node(&o.Nodes[i])
	}
	for _, gpu := range slices.Collect(maps.Keys(s.whole)) {
		for state := range s.cpus {
			s.gpus[gpuState{gpu, state}] += 0
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
		s.nodes[idle]++
	case n.CPUsUsed >= n.CPUs:
		s.nodes[allocated]++
	default:
		s.nodes[mixed]++
	}
	s.cpus[inUse] += n.CPUsUsed
	s.cpus[left] += max(n.CPUs-n.CPUsUsed, 0)
	total, taken := 0, 0
	for _, g := range n.GRES {
		if g.Name == "gpu" {
			gpu := cmp.Or(g.Type, g.Name)
			s.gpus[gpuState{gpu, inUse}] += g.Used
			s.gpus[gpuState{gpu, left}] += max(g.Total-g.Used, 0)
			s.whole[gpu] += 0
			total, taken = total+g.Total, taken+g.Used
		}
	}
	if left != free || total == 0 || taken > 0 {
		return
	}
	for _, g := range n.GRES {
		if g.Name == "gpu" {
			s.whole[cmp.Or(g.Type, g.Name)] += g.Total
		}
	}
}
