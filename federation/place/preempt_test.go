package place

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// crowd is a federation whose nodes jobs of ours hold, of several QOS.
type crowd struct {
	now   time.Time
	sites []*federation.Site
	ours  map[federation.JobID]*federation.Job
	rules *federation.Preempting
}

func newCrowd(sites, nodes int) *crowd {
	return &crowd{now: time.Unix(1e9, 0), sites: fleet(sites, nodes), ours: map[federation.JobID]*federation.Job{}, rules: &federation.Preempting{
		QOS: map[string]federation.PreemptQOS{"high": {Over: map[string]bool{"low": true, "mid": true}}, "mid": {Over: map[string]bool{"low": true}}}}}
}

// run has a job hold GPUs, with 11 CPUs and 100 GiB each, on some nodes of a site; false: they have not so many.
func (w *crowd) run(site int, id federation.JobID, qos string, gpus int, since time.Duration, nodes ...int) bool {
	obs := w.sites[site].Seen
	r := federation.RunningJob{Job: id, End: w.now.Add(20 * time.Hour), CPUs: 11 * gpus, Mem: sbatch.MemMiB(gpus * 100 << 10), GRES: []federation.GRES{{Name: "gpu", Type: "h100", Used: gpus}}}
	for _, n := range nodes {
		if obs.Nodes[n].GRES[0].Used+gpus > 8 {
			return false
		}
	}
	for _, n := range nodes {
		nd := &obs.Nodes[n]
		nd.GRES[0].Used += gpus
		nd.CPUsUsed += 11 * gpus
		nd.MemUsed += sbatch.MemMiB(gpus * 100 << 10)
		r.Nodes = append(r.Nodes, nd.Name)
	}
	obs.Running = append(obs.Running, r)
	if qos != "" {
		j := gpuJob(int(id), 1, len(nodes), gpus, 24*time.Hour)
		j.State, j.Start, j.Spec.QOS = federation.Running, w.now.Add(-since), qos
		j.Demand = demand.Of(j.Spec)
		w.ours[id] = j
		w.sites[site].Ours = append(w.sites[site].Ours, j)
	}
	return true
}

// without is the crowd without some jobs.
func (w *crowd) without(gone map[federation.JobID]bool) []*federation.Site {
	var out []*federation.Site
	for _, s := range w.sites {
		site, obs := *s, *s.Seen
		obs.Nodes = slices.Clone(obs.Nodes)
		obs.Running = nil
		for i := range obs.Nodes {
			obs.Nodes[i].GRES = slices.Clone(obs.Nodes[i].GRES)
		}
		for _, r := range s.Seen.Running {
			if !gone[r.Job] {
				obs.Running = append(obs.Running, r)
				continue
			}
			for i := range obs.Nodes {
				if nd := &obs.Nodes[i]; slices.Contains(r.Nodes, nd.Name) {
					nd.GRES[0].Used -= r.GRES[0].Used
					nd.CPUsUsed -= r.CPUs
					nd.MemUsed -= r.Mem
				}
			}
		}
		site.Seen = &obs
		site.Ours = slices.DeleteFunc(slices.Clone(s.Ours), func(j *federation.Job) bool { return gone[j.ID] })
		out = append(out, &site)
	}
	return out
}

func (w *crowd) snapshot(jobs ...*federation.Job) federation.Snapshot {
	return federation.Snapshot{Now: w.now, Sites: w.sites, Jobs: jobs, Preempting: w.rules}
}

func highJob(id, nodes, gpus int, qos string) *federation.Job {
	j := gpuJob(id, 2, nodes, gpus, time.Hour)
	j.Spec.QOS = qos
	j.Demand = demand.Of(j.Spec)
	return j
}

// Only jobs of lower QOS, that have run for long enough, make room; only at the one site where the job is bound; only as many as it takes; none for two jobs.
func TestPreemptionTakesOnlyWhatItNeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 5).Draw(t, "nodes")
		w := newCrowd(rapid.IntRange(1, 2).Draw(t, "sites"), nodes)
		exempt := time.Duration(rapid.IntRange(0, 2).Draw(t, "exempt")) * time.Hour
		w.rules.QOS["low"] = federation.PreemptQOS{Exempt: exempt}
		for id := range rapid.IntRange(0, 40).Draw(t, "running") {
			on := rapid.Permutation(count(nodes)).Draw(t, "on")[:rapid.IntRange(1, min(nodes, 3)).Draw(t, "how many")]
			w.run(id%len(w.sites), federation.JobID(id+1), rapid.SampledFrom([]string{"low", "low", "mid", "high", ""}).Draw(t, "QOS"), rapid.IntRange(1, 8).Draw(t, "GPUs"),
				time.Duration(rapid.IntRange(1, 600).Draw(t, "ran"))*time.Minute, on...)
		}
		var jobs []*federation.Job
		for i := range rapid.IntRange(1, 4).Draw(t, "jobs") {
			jobs = append(jobs, highJob(1000+i, rapid.IntRange(1, nodes).Draw(t, "nodes asked"), rapid.IntRange(1, 8).Draw(t, "GPUs asked"), rapid.SampledFrom([]string{"high", "mid", "low"}).Draw(t, "asks")))
		}
		s := w.snapshot(jobs...)
		pl := newWorldOf(&s, Policy{})
		plan := pl.Plan()
		checkCapacity(t, pl)
		if again := Plan(s, Policy{}); !reflect.DeepEqual(plan, again) {
			t.Fatal("the same snapshot gave another plan")
		}
		pl.progress.stale = true
		if again := pl.Plan(); !reflect.DeepEqual(plan, again) {
			t.Fatal("a world that has seen it all before plans differently")
		}
		taken := map[federation.JobID]bool{}
		for i, d := range plan.Decisions {
			if d.Preempt == nil {
				continue
			}
			if !d.Bind || d.Offers[0].Start.Equal(w.now) || len(d.Preempt.Victims) == 0 {
				t.Fatalf("job %d: %+v", d.Job, d.Preempt)
			}
			for _, v := range d.Preempt.Victims {
				victim := w.ours[v.Job]
				at := w.sites[slices.IndexFunc(w.sites, func(s *federation.Site) bool { return s.Name == d.Offers[0].Site })]
				if victim == nil || taken[v.Job] || !w.rules.QOS[jobs[i].Spec.QOS].Over[victim.Spec.QOS] || victim.Spec.QOS == "low" && w.now.Sub(victim.Start) < exempt ||
					!slices.Contains(at.Ours, victim) {
					t.Fatalf("job %d of QOS %s takes the place of %+v", d.Job, jobs[i].Spec.QOS, v)
				}
				taken[v.Job] = true
			}
			if i > 0 {
				continue // others hold nodes before it
			}
			starts := func(gone map[federation.JobID]bool) bool {
				alone := federation.Snapshot{Now: w.now, Sites: w.without(gone), Jobs: jobs[:1]}
				alone.Sites = slices.DeleteFunc(alone.Sites, func(s *federation.Site) bool { return s.Name != d.Offers[0].Site })
				d := Plan(alone, Policy{}).Decisions[0]
				return d.Bind && d.Offers[0].Start.Equal(w.now)
			}
			gone := map[federation.JobID]bool{}
			for _, v := range d.Preempt.Victims {
				gone[v.Job] = true
			}
			if !starts(gone) {
				t.Fatalf("job %d cannot start though %s", d.Job, d.Preempt.Text())
			}
			for id := range gone {
				delete(gone, id)
				if starts(gone) {
					t.Fatalf("job %d could start without the end of %d: %s", d.Job, id, d.Preempt.Text())
				}
				gone[id] = true
			}
		}
	})
}

func count(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// Of jobs that hold as much, those are taken that lose least: the youngest, or those with the newest checkpoint.
func TestPreemptionLosesLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		w := newCrowd(1, nodes)
		var lost []time.Duration
		for n := range nodes {
			ran := time.Duration(rapid.IntRange(1, 600).Draw(t, "ran")) * time.Minute
			w.run(0, federation.JobID(n+1), "low", 8, ran, n)
			if rapid.Bool().Draw(t, "writes checkpoints") {
				w.ours[federation.JobID(n+1)].Spec.Fed = &sbatch.Fed{Checkpoint: time.Hour}
				ran %= time.Hour
			}
			lost = append(lost, ran)
		}
		slices.Sort(lost)
		need := rapid.IntRange(1, nodes).Draw(t, "asked")
		d := Plan(w.snapshot(highJob(1000, need, 8, "high")), Policy{}).Decisions[0]
		if d.Preempt == nil || len(d.Preempt.Victims) != need {
			t.Fatalf("%d nodes: %+v", need, d.Preempt)
		}
		var sum, least time.Duration
		for i, v := range d.Preempt.Victims {
			sum, least = sum+v.Lost, least+lost[i]
		}
		if sum != least {
			t.Fatalf("%s, and the least would be %v", d.Preempt.Text(), least)
		}
	})
}

// What makes room is not given to others meanwhile, and nobody else has to make room for the same job again.
func TestRoomIsKept(t *testing.T) {
	w := newCrowd(1, 2)
	w.run(0, 1, "low", 6, time.Hour, 0)
	w.run(0, 2, "low", 8, 2*time.Hour, 1)
	gang, small := highJob(1000, 1, 8, "high"), highJob(1001, 1, 2, "low")
	s := w.snapshot(gang, small)
	plan := Plan(s, Policy{Backlog: -1})
	if p := plan.Decisions[0].Preempt; p == nil || len(p.Victims) != 1 || p.Victims[0].Job != 1 {
		t.Fatalf("the gang: %+v", p)
	}
	if plan.Decisions[1].Bind {
		t.Fatal("two GPUs of the node that becomes free were given away")
	}
	world := newWorldOf(&federation.Snapshot{Now: w.now.Add(time.Second), Sites: w.sites, Jobs: []*federation.Job{small}, Preempting: w.rules}, Policy{Backlog: -1})
	world.Claim("s00", federation.Bound{Job: gang, Units: 1, Since: w.now, Preempt: plan.Decisions[0].Preempt})
	if d := world.Plan().Decisions[0]; d.Bind || d.Preempt != nil {
		t.Fatalf("in the next plan they were: %s", Explain(small, d))
	}
	world.SetSite(w.without(map[federation.JobID]bool{1: true})[0])
	if d := world.Plan().Decisions[0]; d.Bind {
		t.Fatalf("when the victim has ended they were: %s", Explain(small, d))
	}
}

// Where a site ends jobs for others itself, a job is only sent there to wait; where it is off, and for nodes that others wait for, nobody makes room.
func TestWhoPreempts(t *testing.T) {
	for by, want := range map[decision.PreemptBy]string{"": "binds", decision.PreemptBySite: "early", decision.PreemptByNone: "waits", "shared": "waits"} {
		w := newCrowd(1, 1)
		w.run(0, 1, "low", 8, time.Hour, 0)
		w.sites[0].Preempt = by
		policy := Policy{}
		if by == "shared" {
			w.sites[0].Preempt, policy.Backlog = "", -1
			w.sites[0].Seen.Waiting = []federation.WaitingJob{{Job: 7, Stake: federation.Stake{Partition: "main"}}}
		}
		d := Plan(w.snapshot(highJob(1000, 1, 8, "high")), policy).Decisions[0]
		got := "waits"
		if d.Preempt != nil {
			got = map[bool]string{true: "early", false: "binds"}[d.Early]
		}
		if got != want {
			t.Errorf("preempt %q: it %s, want %s", by, got, want)
		}
	}
}

// A 200-node gang takes the place of 1,600 jobs of 1,000 full nodes. Kueue takes 141 ms.
func BenchmarkPreempt(b *testing.B) {
	w := newCrowd(1, 1000)
	for n := range 1000 {
		for g := range 8 {
			w.run(0, federation.JobID(n*8+g+1), "low", 1, time.Duration(1+(n*7919+g*31)%600)*time.Minute, n)
		}
	}
	w.sites[0].Prices = accounting.Prices{"gres/gpu:h100": 2}
	w.sites[0].Pools = Pools(w.sites[0].Name, w.sites[0].Seen)
	gang := highJob(100_000, 200, 8, "high")
	s := w.snapshot(gang)
	seen := newWorldOf(&federation.Snapshot{Now: s.Now, Sites: s.Sites}, Policy{})
	seen.read()
	cpu := cpuTime()
	for b.Loop() {
		world := newWorldOf(&s, Policy{})
		for i, st := range world.sites {
			st.model, st.read = seen.sites[i].model, seen.sites[i].read
		}
		if p := world.Plan().Decisions[0].Preempt; p == nil || len(p.Victims) != 1600 {
			b.Fatal(fmt.Sprint(p))
		}
	}
	b.ReportMetric(float64(cpuTime()-cpu)/1e6/float64(b.N), "cpu-ms/op")
}
