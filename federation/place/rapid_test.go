package place

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/sbatch"
)

// drawWorld makes up a small federation. Lines are easier to read than structs when a property fails.
func drawWorld(t *rapid.T, busy bool) *world {
	var b strings.Builder
	for s := range rapid.IntRange(1, 3).Draw(t, "sites") {
		name := fmt.Sprintf("s%d", s)
		state := ""
		if busy {
			state = rapid.SampledFrom([]string{"", "", "", "silent", "state=DRAIN", "unseen"}).Draw(t, "state")
		}
		files := rapid.SampledFrom([]string{"", "", "filesystems=/home", "filesystems=none"}).Draw(t, "files")
		tasks := rapid.SampledFrom([]string{"", "", "tasks"}).Draw(t, "tasks only")
		fmt.Fprintf(&b, "site %s %s %s %s\n", name, state, files, tasks)
		if state == "unseen" {
			continue
		}
		fmt.Fprintf(&b, "price gres/gpu:h100=%d gres/gpu:a100=1 cpu=0.01\n", rapid.IntRange(1, 3).Draw(t, "price"))
		drawNodes(t, &b, name, busy)
	}
	w := newWorld()
	w.read(&failer{T: t}, b.String())
	t.Log("world:\n" + b.String())
	return w
}

// failer lets the world's reader, which wants a testing.TB, fail a rapid check.
type failer struct {
	testing.TB
	T *rapid.T
}

func (f *failer) Helper()                           {}
func (f *failer) Fatal(args ...any)                 { f.T.Fatal(args...) }
func (f *failer) Fatalf(format string, args ...any) { f.T.Fatalf(format, args...) }

func drawNodes(t *rapid.T, b *strings.Builder, site string, busy bool) {
	shapes := []string{"cpus=16 mem=64000 gpu=h100:4 features=h100,ib", "cpus=8 mem=32000 gpu=a100:2 features=a100", "cpus=32 mem=128000"}
	var names []string
	for i := range rapid.IntRange(1, 3).Draw(t, "groups") {
		n := rapid.IntRange(1, 6).Draw(t, "nodes")
		names = append(names, fmt.Sprintf("%s%c[1-%d]", site, 'a'+i, n))
		fmt.Fprintf(b, "nodes %s %s %s\n", names[i], rapid.SampledFrom(shapes).Draw(t, "shape"), drawRent(t))
		if rapid.IntRange(0, 3).Draw(t, "rented too") == 0 {
			cold := fmt.Sprintf("%s%cr[1-%d]", site, 'a'+i, rapid.IntRange(1, 3).Draw(t, "rented"))
			fmt.Fprintf(b, "nodes %s cpus=16 mem=64000 gpu=h100:4 features=h100 %s\n", cold, drawRent(t))
			names = append(names, cold)
			names[i], names[len(names)-1] = names[len(names)-1], names[i]
			break
		}
		if busy && rapid.Bool().Draw(t, "down") {
			fmt.Fprintf(b, "nodes %s%cd cpus=16 mem=64000 state=DOWN\n", site, 'a'+i)
			names = append(names, fmt.Sprintf("%s%cd", site, 'a'+i))
			names[i], names[len(names)-1] = names[len(names)-1], names[i]
			break
		}
	}
	all := strings.Join(names, ",")
	starts := ""
	if busy {
		starts = rapid.SampledFrom([]string{"", "starts=0", "starts=1", "starts=3"}).Draw(t, "starts")
	}
	fmt.Fprintf(b, "partition main default nodes=%s %s\n", all, starts)
	if rapid.Bool().Draw(t, "second partition") {
		fmt.Fprintf(b, "partition short max=1h nodes=%s\n", names[0])
	}
	if rapid.Bool().Draw(t, "tree") {
		fmt.Fprintf(b, "switch l1 nodes=%s1,%s2\nswitch l2 nodes=%s3\nswitch top children=l1,l2\n", site+"a", site+"a", site+"a")
	}
	if !busy {
		return
	}
	for range rapid.IntRange(0, 4).Draw(t, "running") {
		fmt.Fprintf(b, "running %s%c1 cpus=%d mem=4000 gpu=h100:1 end=%dm\n", site, 'a'+rapid.IntRange(0, 1).Draw(t, "on"),
			rapid.IntRange(1, 4).Draw(t, "cpus"), rapid.IntRange(-1, 90).Draw(t, "end"))
	}
	for i := range rapid.IntRange(-2, 2).Draw(t, "waiting") {
		fmt.Fprintf(b, "waiting %d %s\n", i+1, rapid.SampledFrom([]string{"partition=main", "partition=short,main", "partition=short", "", "ours", "idle", "partition=main nodes=1 limit=20m", "partition=main nodes=2 limit=90m whole"}).Draw(t, "who waits"))
	}
	if rapid.Bool().Draw(t, "reserved") {
		from := rapid.IntRange(-10, 60).Draw(t, "from")
		fmt.Fprintf(b, "reservation r1 nodes=%sa1 from=%dm to=%dm users=alice\n", site, from, from+30)
	}
}

// drawRent makes nodes that are rented: warm ones, ones that must start, and ones that cannot be had.
func drawRent(t *rapid.T) string {
	if rapid.Bool().Draw(t, "own") {
		return ""
	}
	rent := fmt.Sprintf("rent=t%d/z/spot@0.%d interrupts=0.%d", rapid.IntRange(1, 2).Draw(t, "type"), rapid.IntRange(0, 9).Draw(t, "price"),
		rapid.IntRange(0, 3).Draw(t, "interrupts"))
	return rent + rapid.SampledFrom([]string{"", " shared"}).Draw(t, "whole") +
		rapid.SampledFrom([]string{" state=IDLE,CLOUD", " state=IDLE,CLOUD,POWERED_DOWN boot=45s", " state=IDLE,CLOUD,POWERED_DOWN boot=400s"}).Draw(t, "power")
}

func drawJob(t *rapid.T, w *world, id int) *federation.Job {
	opts := []string{fmt.Sprintf("-t%dm", rapid.SampledFrom([]int{5, 20, 60, 100}).Draw(t, "limit"))}
	maybe := func(options ...string) {
		if rapid.IntRange(0, 2).Draw(t, "ask") == 0 {
			opts = append(opts, rapid.SampledFrom(options).Draw(t, "option"))
		}
	}
	maybe("-N1", "-N2", "-N3", "-N1-3", "-N4")
	maybe("-n2", "-n4", "-n20", "-n40")
	maybe("-c2", "-c7", "-c12")
	maybe("--gres=gpu:1", "--gres=gpu:h100:2", "--gpus=3", "--gpus-per-node=a100:2", "--gpus-per-task=1", "--gres=gpu:4")
	maybe("--mem=4000", "--mem=0", "--mem-per-cpu=2000")
	maybe("--switches=1", "--exclusive", "--reservation=r1", "-pshort", "-pmain,short", "--constraint=ib|a100",
		"--nodelist=s0a1", "--exclude=s0a[1-2]", "--time-min=4m")
	maybe("--clusters=s0", "--not-sites=s1", "--max-cost=1.5", "--accelerators=h100,a100:2", "--accelerators=a100:3,h100")
	maybe("--work-dir=/home", "--work-dir=/data", "--stage-out=x")
	if rapid.IntRange(0, 7).Draw(t, "components") == 0 {
		opts = append(opts, ":", rapid.SampledFrom([]string{"-c2", "-N2", "-N2 --gres=gpu:1", "-c12", "-pshort -n4", "--gpus=3"}).Draw(t, "component"))
	}
	user := rapid.SampledFrom([]string{"", "", "bob"}).Draw(t, "user")
	maybe("--account=ml")
	line := fmt.Sprintf("%d %s %s", id, user, strings.Join(opts, " "))
	t.Log("job " + line)
	return w.job(&failer{T: t}, split(line))
}

func TestPlanKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, true)
		for i := range rapid.IntRange(1, 25).Draw(t, "jobs") {
			w.jobs = append(w.jobs, drawJob(t, w, i+1))
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "bound") {
			site := w.sites[rapid.IntRange(0, len(w.sites)-1).Draw(t, "bound at")]
			site.Bound = append(site.Bound, federation.Bound{Job: drawJob(t, w, 100+i), Partition: "main", Since: w.now, Units: 1})
		}
		s := w.snapshot()
		pl := newWorldOf(&s, w.policy)
		plan := pl.Plan()

		checkOrder(t, s, plan)
		checkComplete(t, s, plan)
		checkDemands(t, s, plan)
		checkCapacity(t, pl)
		checkAmounts(t, s, plan)
		checkJudge(t, s, plan)
		pl.progress.stale = true
		if again := pl.Plan(); !reflect.DeepEqual(plan, again) {
			t.Fatal("a world that has seen it all before plans differently")
		}
		if again := Plan(s, w.policy); !reflect.DeepEqual(plan, again) {
			t.Fatal("the same snapshot gave another plan")
		}
	})
}

// checkOrder: a decision for each job looked at, once each, in their order, and bound ones know where to.
func checkOrder(t *rapid.T, s federation.Snapshot, plan federation.Plan) {
	for i, d := range plan.Decisions {
		if d.Job != s.Jobs[i].ID {
			t.Fatalf("decision %d is about job %d, not %d", i, d.Job, s.Jobs[i].ID)
		}
		if d.Bind && len(d.Offers) == 0 {
			t.Fatalf("job %d is bound to nowhere", d.Job)
		}
		if !d.Bind && (d.Reason == "" || strings.ContainsAny(string(d.Reason), " ")) {
			t.Fatalf("job %d waits for reason %q", d.Job, d.Reason)
		}
		for _, o := range d.Offers {
			sum := decision.Dollars(0)
			for _, term := range o.Terms {
				sum += term.Amount
			}
			if diff := sum - o.Total; diff > 1e-6 || diff < -1e-6 {
				t.Fatalf("job %d: terms come to %v, total is %v", d.Job, sum, o.Total)
			}
			if o.Total < d.Offers[0].Total-1e-9 {
				t.Fatalf("job %d goes to %s for %v, %s costs %v", d.Job, d.Offers[0].Pool, d.Offers[0].Total, o.Pool, o.Total)
			}
			if o.Start.Before(s.Now) {
				t.Fatalf("job %d would start in the past", d.Job)
			}
		}
	}
}

// checkComplete: every pool of every site is an offer or has a rejection, and never both.
func checkComplete(t *rapid.T, s federation.Snapshot, plan federation.Plan) {
	for i, d := range plan.Decisions {
		for _, site := range s.Sites {
			if site.Seen == nil && !slices.ContainsFunc(d.Rejections, func(r decision.Rejection) bool { return r.Site == site.Name }) {
				t.Fatalf("job %d: not a word of site %s", d.Job, site.Name)
			}
			if len(s.Jobs[i].Spec.Het) > 0 {
				checkWhole(t, site, &d)
				continue
			}
			for _, p := range site.Pools {
				offered, rejected := 0, 0
				for _, o := range d.Offers {
					if o.Site == p.Site && o.Pool == p.Name {
						offered++
					}
				}
				for _, r := range d.Rejections {
					if r.Site == p.Site && (r.Partition == "" || r.Partition == p.Partition && (r.Pool == "" || r.Pool == p.Name)) {
						rejected++
					}
				}
				if offered+rejected != 1 {
					t.Fatalf("job %d: pool %s %s has %d offers and %d rejections", d.Job, p.Site, p.Name, offered, rejected)
				}
			}
		}
	}
}

// checkWhole: a site takes all of a heterogeneous job or nothing.
func checkWhole(t *rapid.T, site *federation.Site, d *decision.Decision) {
	at := func(s federation.SiteName) bool { return s == site.Name }
	offered := slices.ContainsFunc(d.Offers, func(o *decision.Offer) bool { return at(o.Site) })
	rejected := slices.ContainsFunc(d.Rejections, func(r decision.Rejection) bool { return at(r.Site) })
	if offered == rejected {
		t.Fatalf("job %d: site %s is offered: %v, rejected: %v", d.Job, site.Name, offered, rejected)
	}
	for _, o := range d.Offers {
		sum := decision.Dollars(0)
		for _, p := range o.Parts {
			sum += p.Total
			if p.Site != o.Site || !p.Start.Equal(o.Start) {
				t.Fatalf("job %d: component at %s on %v, the whole at %s on %v", d.Job, p.Site, p.Start, o.Site, o.Start)
			}
		}
		for _, term := range o.Terms[1:] {
			if term.Name == "risk" {
				sum -= term.Amount
			}
		}
		if diff := sum - o.Terms[0].Amount; diff > 1e-6 || diff < -1e-6 {
			t.Fatalf("job %d: components cost %v, the whole %v", d.Job, sum, o.Terms[0].Amount)
		}
	}
}

// checkDemands: nothing goes where the job does not want to go, or costs more than it may.
func checkDemands(t *rapid.T, s federation.Snapshot, plan federation.Plan) {
	for i, d := range plan.Decisions {
		spec := s.Jobs[i].Spec
		for _, o := range d.Offers {
			if spec.Clusters != "" && spec.Clusters != string(o.Site) {
				t.Fatalf("job %d: asks for %s, was offered %s", d.Job, spec.Clusters, o.Site)
			}
			if site := s.Sites[slices.IndexFunc(s.Sites, func(s *federation.Site) bool { return s.Name == o.Site })]; !site.Reaches(spec) {
				t.Fatalf("job %d: %s does not have %s", d.Job, o.Site, spec.WorkDir)
			}
			if f := spec.Fed; f != nil && (f.MaxCost > 0 && float64(o.Terms[0].Amount) > f.MaxCost+1e-9 || slices.Contains(f.NotSites, string(o.Site))) {
				t.Fatalf("job %d: %+v, was offered %+v", d.Job, f, o)
			}
		}
	}
}

// checkCapacity looks into the plan's books: no node gives more than it has, now or when a claim begins. So nothing that was
// started delays a job that holds nodes in time.
func checkCapacity(t *rapid.T, pl *World) {
	for _, st := range pl.sites {
		if st.model == nil {
			continue
		}
		c, started := st.capacity(), map[int32]int32{}
		for n := range c.stock.cpu {
			n := int32(n)
			times := []int64{pl.now}
			for _, k := range c.claims[n] {
				times = append(times, k.from)
			}
			if c.starts.bounded() && c.m.startsOf[n] >= 0 && (len(c.claims[n]) > 0 || c.stock.cpu[n] < c.m.cpu[n]) {
				if started[c.m.startsOf[n]]++; started[c.m.startsOf[n]] > c.m.starts[c.m.startsOf[n]] {
					t.Fatalf("%s: more than %d nodes are started", st.site.Name, c.m.starts[c.m.startsOf[n]])
				}
			}
			for _, at := range times {
				free := c.freeAt(n, at)
				if free.cpu < 0 || free.mem < 0 || slices.ContainsFunc(free.gres, func(g int32) bool { return g < 0 }) {
					t.Fatalf("%s node %d has %+v free %d s from now", st.site.Name, n, free, at-pl.now)
				}
			}
		}
	}
}

// checkAmounts adds up, from the plan alone, what was started at each site and compares it with what is free there.
func checkAmounts(t *rapid.T, s federation.Snapshot, plan federation.Plan) {
	type amount struct{ cpus, gpus int }
	free := map[federation.SiteName]amount{}
	for _, site := range s.Sites {
		if site.Seen == nil {
			continue
		}
		var a amount
		for i := range site.Seen.Nodes {
			if n := &site.Seen.Nodes[i]; n.Usable() {
				a.cpus += max(n.CPUs-n.CPUsUsed, 0)
				for _, g := range n.GRES {
					a.gpus += max(g.Total-g.Used, 0)
				}
			}
		}
		free[site.Name] = a
	}
	for i, d := range plan.Decisions {
		if !d.Bind || d.Offers[0].Start.After(s.Now) {
			continue
		}
		spec := s.Jobs[i].Spec
		a := free[d.Offers[0].Site]
		nodes := d.Offers[0].Nodes
		for k := range spec.Het {
			c := &spec.Het[k]
			a.cpus -= max(c.NTasks, d.Offers[0].Parts[k+1].Nodes) * max(c.CPUsPerTask, 1)
			nodes -= d.Offers[0].Parts[k+1].Nodes
		}
		a.cpus -= max(spec.NTasks, nodes) * max(spec.CPUsPerTask, 1)
		a.gpus -= d.Offers[0].GPUs
		free[d.Offers[0].Site] = a
		if a.cpus < 0 || a.gpus < 0 {
			t.Fatalf("%s: started more than is free: %+v left", d.Offers[0].Site, a)
		}
	}
}

// checkJudge: a judgement finds the same pools as a plan.
func checkJudge(t *rapid.T, s federation.Snapshot, plan federation.Plan) {
	for i, d := range plan.Decisions {
		j := newWorldOf(&s, Policy{}).Judge(s.Jobs[i])
		if len(j.Offers) != len(d.Offers) || !reflect.DeepEqual(j.Rejections, d.Rejections) {
			t.Fatalf("job %d: judged %+v, planned %+v", d.Job, j, d)
		}
		if r := Refusal(j); (r != nil) != (len(d.Offers) == 0 && d.Impossible()) {
			t.Fatalf("job %d: refused with %v, decision %+v", d.Job, r, d)
		}
	}
}

func TestIdlePoolTakesTheJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, false)
		w.jobs = append(w.jobs, drawJob(t, w, 1))
		d := Plan(w.snapshot(), w.policy).Decisions[0]
		if len(d.Offers) > 0 && !d.Bind {
			t.Fatalf("everything is idle, yet: %s", Explain(w.jobs[0], d))
		}
		if len(d.Offers) == 0 && !d.Impossible() && w.jobs[0].Spec.Switches == 0 && len(w.jobs[0].Spec.Het) == 0 {
			joined := slices.ContainsFunc(d.Rejections, func(r decision.Rejection) bool { return !r.Never && strings.Contains(r.Detail, "pool has") })
			if !joined {
				t.Fatalf("nothing is down, so it is now or never: %s", Explain(w.jobs[0], d))
			}
		}
	})
}

// A gang that waits starts no later than it was told, whatever comes behind it: rounds of plans on a site that follows the
// plan's model and whose jobs run for as long as they may.
func TestBackfillNeverDelaysTheGang(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.read(&failer{T: t}, "site s0\nprice gres/gpu:h100=1\npartition main default nodes=n[1-4]\nnodes n[1-4] cpus=16 mem=64000 gpu=h100:4")
		for i := range rapid.IntRange(1, 6).Draw(t, "running") {
			w.read(&failer{T: t}, fmt.Sprintf("running n%d cpus=2 mem=4000 gpu=h100:1 end=%dm", i%4+1, rapid.IntRange(1, 60).Draw(t, "end")))
		}
		gang := w.job(&failer{T: t}, split(fmt.Sprintf("1 -N%d --gres=gpu:4 -t30m", rapid.IntRange(2, 4).Draw(t, "gang"))))
		if rapid.Bool().Draw(t, "het") {
			gang = w.job(&failer{T: t}, split(fmt.Sprintf("1 -N%d --gres=gpu:%d -t30m : -N1 --gres=gpu:%d -t20m", rapid.IntRange(1, 3).Draw(t, "first"),
				rapid.IntRange(1, 4).Draw(t, "gpus of the first"), rapid.IntRange(1, 4).Draw(t, "gpus of the second"))))
		}
		w.jobs = []*federation.Job{gang}
		var promise time.Time
		for id := 2; ; w.now = w.now.Add(time.Minute) {
			endJobs(w)
			for range rapid.IntRange(0, 2).Draw(t, "arrivals") {
				line := fmt.Sprintf("%d --gres=gpu:%d -t%dm", id, rapid.IntRange(1, 4).Draw(t, "gpus"), rapid.IntRange(1, 50).Draw(t, "limit"))
				w.jobs = append(w.jobs, w.job(&failer{T: t}, split(line)))
				id++
			}
			s := w.snapshot()
			pl := newWorldOf(&s, Policy{Backlog: -1})
			plan := pl.Plan()
			if promise.IsZero() {
				promise = plan.Decisions[0].Offers[0].Start
			}
			if plan.Decisions[0].Bind {
				return
			}
			if !w.now.Before(promise) {
				t.Fatalf("at %v the gang still waits; it was told %v", w.now, promise)
			}
			startJobs(w, pl, plan)
		}
	})
}

// startJobs lets what the plan started run on the very nodes that the plan counted with, and takes it out of the queue.
func startJobs(w *world, pl *World, plan federation.Plan) {
	var queue []*federation.Job
	for i, d := range plan.Decisions {
		if !d.Bind {
			queue = append(queue, w.jobs[i])
		}
	}
	w.jobs = queue
	free := pl.sites[0].capacity()
	next := *w.sites[0].Seen
	next.Running = slices.Clone(next.Running)
	for n := range next.Nodes {
		for i := free.head[n]; i > 0; i = free.placed[i-1].next {
			p := free.placed[i-1]
			next.Running = append(next.Running, federation.RunningJob{
				End: time.Unix(p.end, 0).UTC(), Nodes: []string{next.Nodes[n].Name}, CPUs: int(p.f.cpu), Mem: sbatch.MemMiB(p.f.mem),
				GRES: []federation.GRES{{Name: "gpu", Type: "h100", Used: int(p.f.gres[0].count)}},
			})
		}
	}
	w.sites[0].Seen = &next
}

// endJobs takes the jobs away that have reached their limit, and counts anew what the others use.
func endJobs(w *world) {
	next := *w.sites[0].Seen
	next.Nodes = slices.Clone(next.Nodes)
	next.Running = slices.DeleteFunc(slices.Clone(next.Running), func(j federation.RunningJob) bool { return !j.End.After(w.now) })
	for i := range next.Nodes {
		n := &next.Nodes[i]
		n.CPUsUsed, n.MemUsed, n.GRES = 0, 0, slices.Clone(n.GRES)
		n.GRES[0].Used = 0
		for _, j := range next.Running {
			if slices.Contains(j.Nodes, n.Name) {
				n.CPUsUsed += j.CPUs
				n.MemUsed += j.Mem
				n.GRES[0].Used += j.GRES[0].Used
			}
		}
	}
	w.sites[0].Seen = &next
}
