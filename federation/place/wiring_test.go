package place

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/topology"
)

// racks is a site of leaves with so many nodes each, under one spine.
func racks(leaves, nodes int) *federation.Site {
	site := fleet(1, leaves*nodes)[0]
	spine := topology.Switch{Name: "spine"}
	var all []topology.Switch
	for l := range leaves {
		s := topology.Switch{Name: fmt.Sprintf("leaf%03d", l)}
		for n := range nodes {
			s.Nodes = append(s.Nodes, site.Seen.Nodes[l*nodes+n].Name)
		}
		all, spine.Children = append(all, s), append(spine.Children, s.Name)
	}
	site.Seen.Tree, _ = topology.OfSwitches(append(all, spine))
	return site
}

// What a plan remembers of the nodes that fit a gang is what a look at all nodes finds, whatever was started and claimed in between.
func TestNearbyIsFresh(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaves, nodes := rapid.IntRange(1, 4).Draw(t, "leaves"), rapid.IntRange(1, 4).Draw(t, "nodes")
		site := racks(leaves, nodes)
		if tree := &site.Seen.Tree; rapid.Bool().Draw(t, "blocks") {
			*tree = topology.OfBlocks(tree.Switches[:leaves], []int{nodes, 2 * nodes})
		}
		w := newWorldOf(&federation.Snapshot{Now: time.Unix(1e9, 0), Sites: []*federation.Site{site}}, Policy{})
		w.begin()
		st := w.sites[0]
		books := st.capacity()
		var candidates []*candidate
		for i := range rapid.IntRange(1, 3).Draw(t, "kinds") {
			job := gpuJob(i+1, 0, rapid.IntRange(1, 4).Draw(t, "of nodes"), rapid.SampledFrom([]int{1, 4, 8}).Draw(t, "GPUs"), time.Duration(1+i)*time.Hour)
			job.Spec.Switches = rapid.IntRange(0, 2).Draw(t, "switches")
			if rapid.IntRange(0, 3).Draw(t, "alone") == 0 {
				job.Spec.Exclusive = "topo"
			}
			job.Spec.More = &sbatch.More{Contiguous: rapid.IntRange(0, 3).Draw(t, "contiguous") == 0, Segment: rapid.IntRange(0, 2).Draw(t, "segment")}
			candidates = append(candidates, w.shapeOfJob(job, nil, nil).candidates...)
		}
		if len(candidates) == 0 {
			return
		}
		for range rapid.IntRange(1, 12).Draw(t, "jobs") {
			c := candidates[rapid.IntRange(0, len(candidates)-1).Draw(t, "kind")]
			f, end := &c.fits[0], endAt(w.now, c.limit)
			if rapid.IntRange(0, 3).Draw(t, "claims") == 0 {
				if start, nodes := books.search(&c.curs[0], f, c.limit); start != never {
					books.claim(nodes, f, start, endAt(start, c.limit))
				}
				continue
			}
			got := books.startNow(&c.curs[0], f, end)
			span := c.curs[0].span
			if !st.model.wiring.matters(f) {
				continue
			}
			var free []int32
			for n := range int32(len(st.model.up)) {
				if books.fitsNow(n, f, end) {
					free = append(free, n)
				}
			}
			want, fresh := books.chooser.choose(free, f)
			if len(got) != len(want) || got != nil && span != fresh {
				t.Fatalf("%d nodes: got %v, %+v; want %v, %+v", f.nodes, got, span, want, fresh)
			}
			if at := c.moment(&w.plan); at.now() {
				c.commit(&at, &w.plan)
			}
		}
	})
}

// BenchmarkRacks has 100 gangs of ten whole nodes placed on 1,000 nodes of 100 leaves (Volcano: 3.27 s, in its own benchmark of that size), and
// the mixed workload on such sites: how many of the jobs of 8 GPUs and more are as close together as they could be.
func BenchmarkRacks(b *testing.B) {
	gangs := make([]*federation.Job, 100)
	for i := range gangs {
		gangs[i] = gpuJob(i+1, i%10, 10, 8, time.Hour)
		gangs[i].Spec.Switches = 1
	}
	b.Run("100x10", func(b *testing.B) { benchPlan(b, []*federation.Site{racks(100, 10)}, gangs) })
	free := make([]*federation.Job, len(gangs))
	for i := range free {
		free[i] = gpuJob(i+1, i%10, 10, 8, time.Hour)
	}
	b.Run("100x10-soft", func(b *testing.B) { benchPlan(b, []*federation.Site{racks(100, 10)}, free) })
	var sites []*federation.Site
	for s := range 10 {
		site := racks(50, 20)
		site.Name = federation.SiteName(fmt.Sprintf("s%02d", s))
		site.Pools = Pools(site.Name, site.Seen)
		sites = append(sites, site)
	}
	jobs := mixed(scaled(100_000))
	b.Run("mix-10x1000-100k", func(b *testing.B) {
		benchPlan(b, sites, jobs)
		b.ReportMetric(100*consolidated(sites, jobs), "%consolidated")
	})
}

// consolidated is the share of the jobs of 8 GPUs and more that a plan starts on as few leaves as their size takes.
func consolidated(sites []*federation.Site, jobs []*federation.Job) float64 {
	p := DefaultPolicy()
	p.MaxLook, p.MaxBind = len(jobs), len(jobs)
	started, close := 0, 0
	plan := Plan(federation.Snapshot{Now: time.Unix(1e9, 0), Sites: sites, Jobs: jobs}, p)
	for i := range plan.Decisions {
		d := &plan.Decisions[i]
		if !d.Bind || d.Offers[0].GPUs < 8 {
			continue
		}
		started++
		apart := false
		for _, term := range d.Offers[0].Terms {
			apart = apart || term.Name == "topology"
		}
		if !apart {
			close++
		}
	}
	return float64(close) / float64(max(started, 1))
}
