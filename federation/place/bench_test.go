package place

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// fleet is sites of like nodes: 96 CPUs, 1 TiB, 8 GPUs each.
func fleet(sites, nodes int) []*federation.Site {
	var all []*federation.Site
	for s := range sites {
		obs := &federation.Observation{At: time.Unix(1e9, 0)}
		part := federation.Partition{Name: "main", Default: true, Up: true, State: "UP"}
		for n := range nodes {
			name := fmt.Sprintf("s%02dn%05d", s, n)
			part.Nodes = append(part.Nodes, name)
			obs.Nodes = append(obs.Nodes, federation.Node{
				Name: name, State: []string{"IDLE"}, CPUs: 96, Mem: 1 << 20, Threads: 1, Partitions: []string{"main"},
				GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 8}},
			})
		}
		obs.Partitions = []federation.Partition{part}
		site := &federation.Site{
			Name: federation.SiteName(fmt.Sprintf("s%02d", s)), State: federation.FedActive, Answering: true, Seen: obs,
			Prices: accounting.Prices{"gres/gpu:h100": 2 + 0.01*float64(s)},
		}
		site.Pools = Pools(site.Name, obs)
		all = append(all, site)
	}
	return all
}

// gpuJob asks for nodes with gpus each, 11 CPUs and 100 GiB to a GPU.
func gpuJob(id, user, nodes, gpus int, limit time.Duration) *federation.Job {
	j := &federation.Job{ID: federation.JobID(id), User: fmt.Sprintf("user%d", user), State: federation.Pending, Spec: new(sbatch.Spec)}
	j.Spec.MinNodes, j.Spec.MaxNodes, j.Spec.CPUsPerTask = nodes, nodes, 11*gpus
	j.Spec.GPUsPerNode = fmt.Sprintf("h100:%d", gpus)
	j.Spec.MemPerGPU = 100 << 10
	j.Spec.TimeLimit = limit
	return j
}

// mixed is the GPUMIX workload: 70% one GPU, 6% two, 8% four, 12% eight, and gangs of whole nodes.
func mixed(n int) []*federation.Job {
	jobs := make([]*federation.Job, 0, n)
	for i := range n {
		nodes, gpus := 1, 8
		switch r := i * 7919 % 1000; {
		case r < 700:
			gpus = 1
		case r < 760:
			gpus = 2
		case r < 840:
			gpus = 4
		case r < 960:
		case r < 980:
			nodes = 2
		case r < 990:
			nodes = 4
		case r < 998:
			nodes = 8
		default:
			nodes = 16
		}
		jobs = append(jobs, gpuJob(i+1, i%10, nodes, gpus, time.Hour))
	}
	return jobs
}

// varied is mixed with 25 time limits, so that there are 200 shapes.
func varied(n int) []*federation.Job {
	jobs := mixed(n)
	for i, j := range jobs {
		j.Spec.TimeLimit = time.Duration(1+i/1000%25) * time.Hour
	}
	return jobs
}

// scaled is a size of a benchmark: with -short much less, to see that it runs.
func scaled(n int) int {
	if testing.Short() {
		return min(n, max(n/50, 100))
	}
	return n
}

// cpuTime is what this process has used of its processors: on a machine that others use too it says more than the time that passed.
func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchPlan(b *testing.B, sites []*federation.Site, jobs []*federation.Job) {
	s := federation.Snapshot{Now: time.Unix(1e9, 0), Sites: sites, Jobs: jobs}
	p := DefaultPolicy()
	p.MaxLook, p.MaxBind = len(jobs), len(jobs)
	p.MaxOffers = 8          // as many as the controller keeps
	for _, j := range jobs { // as they were submitted
		j.Demand = demand.Of(j.Spec)
	}
	runtime.GC() // the workload is garbage of ours, not of the plan
	seen := newWorldOf(&federation.Snapshot{Now: s.Now, Sites: sites}, p)
	seen.read()
	b.ReportAllocs()
	placed, looked := 0, 0
	cpu := cpuTime()
	for b.Loop() {
		placed, looked = 0, 0
		w := newWorldOf(&s, p)
		for i, st := range w.sites { // what the sites said was read before
			st.model, st.read = seen.sites[i].model, seen.sites[i].read
		}
		plan := w.Plan()
		for i := range plan.Decisions {
			if plan.Decisions[i].Bind {
				placed += jobs[i].Spec.MinNodes
			}
		}
		looked = len(plan.Decisions)
	}
	b.ReportMetric(float64(cpuTime()-cpu)/1e6/float64(b.N), "cpu-ms/op")
	perRun := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(float64(placed)/perRun, "placements/s")
	b.ReportMetric(float64(looked)/perRun, "looked/s")
	b.ReportMetric(float64(placed), "placed")
}

// WAVE-N: N nodes of 8 GPUs, 8 N jobs of one GPU, all at once. Bare arrays do 8 to 10 million a second; Armada 18,000.
func BenchmarkWave10000(b *testing.B) {
	jobs := make([]*federation.Job, scaled(80_000))
	for i := range jobs {
		jobs[i] = gpuJob(i+1, i%10, 1, 1, time.Hour)
	}
	b.Run("1x10000", func(b *testing.B) { benchPlan(b, fleet(1, scaled(10_000)), jobs) })
	b.Run("10x1000", func(b *testing.B) { benchPlan(b, fleet(10, scaled(1000)), jobs) })
}

func BenchmarkGPUMix10000(b *testing.B) {
	b.Run("10x1000-100k", func(b *testing.B) { benchPlan(b, fleet(10, scaled(1000)), mixed(scaled(100_000))) })
	b.Run("10x1000-1M", func(b *testing.B) { benchPlan(b, fleet(10, scaled(1000)), mixed(scaled(1_000_000))) })
}

// What jobs ask of the federation itself must not cost much more than what they ask of nodes.
func BenchmarkDemands(b *testing.B) {
	jobs := mixed(scaled(100_000))
	for i, j := range jobs {
		j.Spec.Fed = &sbatch.Fed{MaxCost: float64(100 + i%5), NotSites: []string{"s09"}}
		if i%3 == 0 {
			j.Spec.Clusters = fmt.Sprintf("s%02d", i%9)
		}
	}
	benchPlan(b, fleet(10, scaled(1000)), jobs)
}

// BenchmarkComponents has a thousand heterogeneous jobs, no two alike, on sites where they must wait.
func BenchmarkComponents(b *testing.B) {
	jobs := mixed(1000)
	for i, j := range jobs {
		j.Spec.TimeLimit += time.Duration(i) * time.Minute
		other := *j.Spec
		other.MinNodes, other.MaxNodes = 40, 40
		j.Spec.Het = []sbatch.Spec{other}
	}
	benchPlan(b, fleet(3, 100), jobs)
}

// A round when next to nothing is free: what the controller does most of the time.
func BenchmarkFull(b *testing.B) {
	sites := fleet(10, scaled(1000))
	for _, s := range sites {
		for i := range s.Seen.Nodes {
			n := &s.Seen.Nodes[i]
			n.CPUsUsed, n.MemUsed, n.GRES[0].Used = 88, 800<<10, 8
			end := time.Unix(1e9, 0).Add(time.Duration(i%600) * time.Minute)
			for range 8 {
				s.Seen.Running = append(s.Seen.Running, federation.RunningJob{
					End: end, Nodes: []string{n.Name}, CPUs: 11, Mem: 100 << 10, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Used: 1}},
				})
				end = end.Add(7 * time.Minute)
			}
		}
	}
	benchPlan(b, sites, mixed(scaled(100_000)))
}

// One job alone, as "fed explain" and every new kind of job that is submitted ask.
func BenchmarkOneJob(b *testing.B) {
	jobs := mixed(1)
	b.Run("2x6", func(b *testing.B) { benchPlan(b, fleet(2, 6), jobs) })
	b.Run("10x1000", func(b *testing.B) { benchPlan(b, fleet(10, scaled(1000)), jobs) })
	b.Run("judge-10x1000", func(b *testing.B) {
		s := federation.Snapshot{Now: time.Unix(1e9, 0), Sites: fleet(10, scaled(1000))}
		w := newWorldOf(&s, Policy{})
		w.Judge(jobs[0])
		for b.Loop() {
			w.forgetLikeness()
			w.Judge(jobs[0])
		}
	})
}

func BenchmarkModel(b *testing.B) {
	sites := fleet(1, scaled(10_000))
	for b.Loop() {
		newModel(sites[0])
	}
}

// A thousand users with a hundred shapes each, at a hundred sites: what it costs to find out who can run where.
func BenchmarkManyShapes(b *testing.B) {
	jobs := make([]*federation.Job, 20_000)
	for i := range jobs {
		jobs[i] = gpuJob(i+1, i%1000, 1, 1+i/1000%8, time.Duration(1+i%100)*time.Hour)
	}
	benchPlan(b, fleet(100, 1000), jobs)
}

func BenchmarkPools(b *testing.B) {
	sites := fleet(1, scaled(10_000))
	for b.Loop() {
		Pools("s", sites[0].Seen)
	}
}

// The size that the whole is made for: 100 sites of 10,000 nodes, a million jobs that wait. It wants 4 GB: ask for it by
// name, -bench Largest.
func BenchmarkLargest(b *testing.B) {
	if f := flag.Lookup("test.bench"); f == nil || f.Value.String() != "Largest" {
		b.Skip("not asked for by name")
	}
	sites, jobs := fleet(100, scaled(10_000)), varied(scaled(1_000_000))
	b.Run("idle", func(b *testing.B) { benchPlan(b, sites, jobs) })
}

// Virtual nodes of rented pools: a hundred sites of a thousand, of which most must start and only some may. Beside it the same nodes without
// a price of their own.
func BenchmarkRented(b *testing.B) {
	jobs := make([]*federation.Job, 50_000)
	for i := range jobs {
		jobs[i] = gpuJob(i+1, i%10, 1, 8, time.Hour)
	}
	b.Run("own", func(b *testing.B) { benchPlan(b, fleet(100, 1000), jobs) })
	sites := fleet(100, 1000)
	for s, site := range sites {
		starts := 600
		site.Seen.Partitions[0].MaxStarts = &starts
		for i := range site.Seen.Nodes {
			n := &site.Seen.Nodes[i]
			n.State = []string{"IDLE", "CLOUD"}
			n.Rented = &federation.Rented{Offering: fmt.Sprintf("p5/%d/spot", i%3), PricePerHour: decision.Dollars(16 + s), Whole: true, Interrupts: 0.01}
			if i%10 > 0 {
				n.State, n.Rented.Boot = append(n.State, "POWERED_DOWN"), 2*time.Minute
			}
		}
		site.Pools = Pools(site.Name, site.Seen)
	}
	b.Run("rented", func(b *testing.B) { benchPlan(b, sites, jobs) })
}

// What a World of sites that are full does when one thing changes: the jobs all wait. The sizes are a tenth of the largest each way, but for
// -bench LargestWorld: 100 sites of 10,000 nodes, a million jobs, which wants 8 GB.
func BenchmarkWorld(b *testing.B) { benchWorld(b, 10, scaled(1000), scaled(100_000)) }
func BenchmarkLargestWorld(b *testing.B) {
	if f := flag.Lookup("test.bench"); f == nil || !strings.HasPrefix(f.Value.String(), "LargestWorld") {
		b.Skip("not asked for by name")
	}
	benchWorld(b, 100, scaled(10_000), scaled(1_000_000))
}

func benchWorld(b *testing.B, sites, nodes, jobs int) {
	full := fleet(sites, nodes)
	for _, s := range full {
		fill(s.Seen)
	}
	all := varied(jobs)
	p := DefaultPolicy()
	p.MaxLook, p.MaxBind, p.Backlog, p.MaxOffers = 10*jobs, 10*jobs, -1, 8
	w := NewWorld(p, 1)
	w.SetTime(time.Unix(1e9, 0))
	for _, s := range full {
		w.SetSite(s)
	}
	order := &lastUser{turn: -1}
	w.SetOrder(order)
	for i, j := range all {
		j.ID, j.Demand = federation.JobID(2*i+2), demand.Of(j.Spec)
		w.SetJob(Waiting{Job: j})
	}
	began := time.Now()
	w.Decide()
	b.Logf("the first plan took %v", time.Since(began))
	next := federation.JobID(2*jobs + 2)
	// What is told is made before the clock runs: sites make it too.
	again := func(name string, tell func(i int) func()) {
		b.Run(name, func(b *testing.B) {
			runtime.GC() // of gigabytes of this benchmark's own: it is not to fall into a plan
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				do := tell(i)
				before := cpuTime()
				b.StartTimer()
				do()
				w.Decide()
				took = append(took, cpuTime()-before)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2])/1e6, "cpu-ms/op")
			b.ReportMetric(float64(took[len(took)-1])/1e6, "cpu-ms-most")
		})
	}
	changed := func(name string, change func(site *federation.Site, i int)) {
		again(name, func(i int) func() {
			site := *full[i%sites]
			change(&site, i)
			full[i%sites] = &site
			return func() { w.SetSite(&site) }
		})
	}
	again("job", func(int) func() {
		j := *all[0]
		j.ID = next
		next++
		return func() { w.SetJob(Waiting{Job: &j}) }
	})
	gone := all[len(all)-1]
	again("gone", func(int) func() {
		w.SetJob(Waiting{Job: gone}) // again
		w.Decide()
		return func() { w.DropJob(gone.ID) }
	})
	changed("look", func(site *federation.Site, i int) {
		obs := *site.Seen
		site.Seen = &obs
	})
	again("time", func(i int) func() { return func() { w.SetTime(time.Unix(1e9+int64(i)+1, 0)) } })
	changed("price", func(site *federation.Site, i int) {
		site.Prices = accounting.Prices{"gres/gpu:h100": 2 + 0.001*float64(i)}
	})
	changed("limit", func(site *federation.Site, i int) {
		site.Limited = []federation.Limited{{User: fmt.Sprintf("user%d", i%10)}}
	})
	for i := range full { // whoever is limited somewhere has shapes of his own: what follows is of 200 again
		site := *full[i]
		site.Limited, full[i] = nil, &site
		w.SetSite(&site)
	}
	w.Decide()
	down := func(nodes int) func(site *federation.Site, i int) {
		return func(site *federation.Site, i int) {
			obs := *site.Seen
			obs.Nodes = slices.Clone(obs.Nodes)
			for k := range nodes {
				obs.Nodes[(i*nodes+k)%len(obs.Nodes)].State = []string{"DOWN"}
			}
			site.Seen = &obs
		}
	}
	changed("down", down(1))
	changed("100down", down(100))
	again("order", func(i int) func() {
		order.turn = i
		return w.Regroup
	})
	again("reorder", func(i int) func() {
		order.turn = i
		return w.Reorder
	})
	busy := func(site *federation.Site, i int) { site.Seen = busier(site.Seen, i) }
	changed("100nodes", busy)
	again("100nodes-read", func(i int) func() {
		site := *full[i%sites]
		busy(&site, i)
		full[i%sites] = &site
		return func() {
			w.SetSite(&site)
			w.readSite(w.sites[i%sites])
			w.progress.stale = false
		}
	})
}

// lastUser has the jobs of one user come last, of another one at each turn.
type lastUser struct{ turn int }

func (*lastUser) Of(j *federation.Job, _ *decision.Expected) (int, int64) {
	return int(j.User[len("user")] - '0'), 0
}

func (o *lastUser) Group(i int) int64 {
	if o.turn >= 0 && i == o.turn%10 {
		return -1
	}
	return 0
}

// fill has eight jobs run on each node.
func fill(obs *federation.Observation) {
	id := federation.JobID(1)
	for i := range obs.Nodes {
		n := &obs.Nodes[i]
		n.CPUsUsed, n.MemUsed, n.GRES[0].Used = 88, 800<<10, 8
		for k := range 8 {
			obs.Running = append(obs.Running, federation.RunningJob{Job: id, End: time.Unix(1e9, 0).Add(time.Duration(i%600+7*k+60) * time.Minute),
				Nodes: []string{n.Name}, CPUs: 11, Mem: 100 << 10, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Used: 1}}})
			id++
		}
	}
}

// busier is an observation in which on a hundred nodes other jobs run.
func busier(was *federation.Observation, turn int) *federation.Observation {
	obs := *was
	obs.Nodes, obs.Running = slices.Clone(was.Nodes), slices.Clone(was.Running)
	for k := range 100 {
		n := (turn*100 + k) % len(obs.Nodes)
		obs.Running[8*n].End = obs.Running[8*n].End.Add(time.Minute)
		obs.Nodes[n].CPUsUsed ^= 1
	}
	return &obs
}
