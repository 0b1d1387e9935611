package place

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// Each file of testdata/plans is a transcript: "sites" and "jobs" add to the world, "plan" prints what became of every job.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/plans", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "world": // begins anew
				w = newWorld()
				w.read(t, d.Input)
			case "jobs":
				w.jobs = nil
				w.read(t, d.Input)
			case "plan":
				w.jobs = nil
				w.read(t, d.Input)
				return explainAll(w, Plan(w.snapshot(), w.policy))
			case "summary": // as "fed explain" shows it
				w.jobs = nil
				w.read(t, d.Input)
				return summarizeAll(w, Plan(w.snapshot(), w.policy))
			case "policy":
				d.MaybeScanArgs(t, "backlog", &w.policy.Backlog)
				d.MaybeScanArgs(t, "reservations", &w.policy.Reservations)
				d.MaybeScanArgs(t, "maxlook", &w.policy.MaxLook)
				d.MaybeScanArgs(t, "maxbind", &w.policy.MaxBind)
			default:
				t.Fatalf("what is %q?", d.Cmd)
			}
			return ""
		})
	})
}

func summarizeAll(w *world, p federation.Plan) string {
	var b strings.Builder
	for i, d := range p.Decisions {
		b.WriteString(Summarize(w.jobs[i], &decision.Explained{Decision: d, Sooner: SoonerOffers(&d)}, time.UTC))
	}
	return b.String()
}

// A World reads each observation once.
func TestWorldMemory(t *testing.T) {
	lines := newWorld()
	lines.read(t, "site a\npartition main default nodes=a1\nnodes a1 cpus=4 mem=1000\nsite b\npartition main default nodes=b1\nnodes b1 cpus=4 mem=1000")
	w := lines.made()
	w.Plan()
	first, second := w.sites[0].model, w.sites[1].model
	for _, site := range lines.sites {
		again := *site
		w.SetSite(&again)
	}
	if w.Whole() {
		t.Error("sites that are as they were have changed the plan")
	}
	b := *lines.sites[1]
	obs := *b.Seen
	b.Seen = &obs
	w.SetSite(&b)
	if w.Whole() {
		t.Error("an observation that says nothing new has changed the plan")
	}
	if w.sites[0].model != first || w.sites[1].model == second || w.sites[1].read != &obs {
		t.Error("an observation was read again, or another was not read")
	}
}

func TestPolicyDefaults(t *testing.T) {
	if got := (Policy{}).withDefaults(); !reflect.DeepEqual(got, DefaultPolicy()) {
		t.Errorf("the zero policy is %+v, the default %+v", got, DefaultPolicy())
	}
	none := Policy{Backlog: -1, WaitGPUHour: -1, WaitJobHour: -1}.withDefaults()
	if none.Backlog != 0 || none.WaitGPUHour != 0 || none.WaitJobHour != 0 {
		t.Errorf("negative values mean none: %+v", none)
	}
}

func TestPoolNames(t *testing.T) {
	w := newWorld()
	w.read(t, `site a
partition main default nodes=n[1-7]
partition all
nodes n[1-2] cpus=16 mem=1000 gpu=h100:4
nodes n3 cpus=16 mem=2000 gpu=h100:4
nodes n[4-5] cpus=8 mem=1000
nodes n6 cpus=8 mem=1000 features=x,y
nodes n7 cpus=8 mem=1000 features=y,x
nodes n8 cpus=64 mem=1000`)
	w.sites[0].Seen.Nodes[7].Partitions = []string{"all"}
	var got []string
	for _, p := range Pools("a", w.sites[0].Seen) {
		got = append(got, fmt.Sprint(p.Name, p.Nodes))
	}
	want := "[main/h100[0 1] main/h100-2[2] main/cpu8[3 4] main/cpu8-2[5 6] all/cpu64[7]]"
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

// A site whose interface has no word for an option is not viable for a job that needs it, and only for such a job.
func TestLacks(t *testing.T) {
	w := newWorld()
	w.read(t, "site old\npartition main default nodes=a1\nnodes a1 cpus=4 mem=1000\nsite young\npartition main default nodes=b1\nnodes b1 cpus=4 mem=1000\n"+
		"job 1\njob 2\njob 3\njob 4")
	w.sites[0].Seen.Lacks = []string{"cores-per-socket"}
	w.jobs[1].Spec.More = &sbatch.More{CoresPerSocket: 2}
	w.jobs[2].Spec.More = &sbatch.More{Hint: "memory_bound"}
	w.jobs[3].Spec.More = &sbatch.More{Hint: "nomultithread"}
	plan := Plan(w.snapshot(), Policy{})
	for i, viable := range []bool{true, false, false, true} {
		refused := false
		for _, r := range plan.Decisions[i].Rejections {
			refused = refused || r.Site == "old" && r.Reason == reasons.Unsupported && r.Never &&
				r.Text() == "its interface cannot carry --cores-per-socket"
		}
		if refused == viable || len(plan.Decisions[i].Offers) == 0 {
			t.Errorf("job %d: %+v", i+1, plan.Decisions[i])
		}
	}
}

// Where nobody counts licenses, none is a valid one: that is what sbatch says. A site that counts them may know it.
func TestLacksLicenses(t *testing.T) {
	w := newWorld()
	w.read(t, "site sky lacks=licenses\npartition main default nodes=b1\nnodes b1 cpus=4 mem=1000\njob 1\njob 2 -c99")
	for i := range w.jobs {
		w.jobs[i].Spec.More = &sbatch.More{Licenses: "matlab:1"}
	}
	for i, d := range Plan(w.snapshot(), Policy{}).Decisions {
		if e := Refusal(d); e == nil || e.Number != 2048 || e.Text != "Invalid license specification" || e.Detail != "sky: no licenses are counted there" {
			t.Errorf("job %d: %+v", i+1, e)
		}
	}
	w.sites[0].Seen.Lacks = nil
	if d := Plan(w.snapshot(), Policy{}).Decisions[0]; Refusal(d) != nil || !d.Bind {
		t.Errorf("a site that counts them: %+v", d)
	}
}

// All tasks of a node share one CPU if the job overcommits.
func TestOvercommit(t *testing.T) {
	w := newWorld()
	w.read(t, "site a\npartition main default nodes=a1\nnodes a1 cpus=4 mem=1000\njob 1 -n8\njob 2 -n8")
	w.jobs[1].Spec.More = &sbatch.More{Overcommit: true}
	plan := Plan(w.snapshot(), Policy{})
	if plan.Decisions[0].Bind || !plan.Decisions[1].Bind {
		t.Errorf("%+v", plan.Decisions)
	}
}

// GRES of any kind is taken from, and given back to, the kinds that the node has: once it came back as another kind, and the
// node seemed to have lost its own.
func TestAnyGRES(t *testing.T) {
	w := newWorld()
	w.read(t, "site a\npartition main default nodes=n[1-2]\nnodes n1 cpus=4 mem=1000 gpu=h100:2\nnodes n2 cpus=4 mem=1000 gpu=a100:2")
	c := newCapacity(newModel(w.sites[0]), w.now.Unix(), 1)
	any := fit{nodes: 1, cpu: 1, gres: []want{{slots: []int32{0, 1}, count: 2}}}
	a100 := fit{nodes: 1, cpu: 1, gres: []want{{slots: []int32{1}, count: 2}}}
	end := c.now + 600
	c.place(1, &any, end)
	if c.fitsNow(1, &any, never) || c.fitsNow(1, &a100, never) {
		t.Error("a node without free GPUs has room")
	}
	if got := c.readyAt(1, &a100, c.now, 0); got != end {
		t.Errorf("a100s are free %d s from now, want 600", got-c.now)
	}
	if free := c.freeAt(1, end); free.gres[0] != 0 || free.gres[1] != 2 {
		t.Errorf("free then: %v, want 0 and 2", free.gres)
	}
}

// How many of ours may wait at a site grows with how many others do, within bounds, unless the site says.
func TestDepth(t *testing.T) {
	for _, c := range []struct{ policy, site, others, want int }{
		{8, 0, 0, 8}, {8, 0, 1, 8}, {8, 0, 5, 40}, {8, 0, 1000, mostAmong}, {800, 0, 1000, 800}, {-1, 0, 5, 0}, {8, 3, 5, 3}, {-1, 3, 5, 3},
	} {
		w := NewWorld(Policy{Backlog: c.policy}, 1)
		w.SetSite(&federation.Site{Name: "a", Backlog: c.site})
		w.sites[0].crowd = waiters{all: c.others + 2, ours: 2}
		if got := w.depth(w.sites[0]); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// What is expected of jobs that wait is taken in anew: the order follows, and those of which the same was expected are asked for once.
func TestForetell(t *testing.T) {
	lines := newWorld()
	lines.read(t, "site a\npartition main default nodes=a1\nnodes a1 cpus=4 mem=1000")
	w := NewWorld(Policy{}, 1)
	w.SetPriority(func(_ *federation.Job, e *decision.Expected) int64 { return -int64(e.P50 / time.Second) })
	w.SetTime(lines.now)
	w.SetSite(lines.sites[0])
	hour, day := &decision.Expected{P50: time.Hour, P90: time.Hour}, &decision.Expected{P50: 24 * time.Hour, P90: 24 * time.Hour}
	for id := federation.JobID(1); id <= 20; id++ { // the odd ones first
		e := hour
		if id%2 == 0 {
			e = day
		}
		w.SetJob(Waiting{Job: &federation.Job{ID: id, User: "alice", Spec: &sbatch.Spec{CPUsPerTask: 4, TimeLimit: 48 * time.Hour}}, Expected: e})
	}
	bound := func() (id federation.JobID) {
		for _, d := range w.Plan().Decisions {
			if d.Bind && !d.Early {
				return d.Job
			}
		}
		return 0
	}
	if got := bound(); got != 1 {
		t.Fatalf("%d is bound, not the first of the short ones", got)
	}
	asked := 0
	w.Predict(func(j *federation.Job) *decision.Expected {
		if asked++; j.ID%2 == 0 {
			return &decision.Expected{P50: time.Minute, P90: time.Minute}
		}
		return hour
	})
	if got := bound(); got != 2 || asked != 2 {
		t.Errorf("%d is bound after two kinds were asked for %d times", got, asked)
	}
	kinds := 0
	for q := range w.queue.all() { // each of its own kind, more than one call takes up
		q.expected = &decision.Expected{P50: time.Hour}
	}
	for id := federation.JobID(100); id < 100+mostPredicted; id++ {
		w.SetJob(Waiting{Job: &federation.Job{ID: id, User: "alice", Spec: new(sbatch.Spec)}, Expected: &decision.Expected{P50: time.Hour}})
	}
	for range 2 {
		w.Predict(func(*federation.Job) *decision.Expected { kinds++; return &decision.Expected{P50: 2 * time.Hour} })
	}
	if kinds != mostPredicted+20 || w.predicted != nil {
		t.Errorf("two calls asked for %d kinds of %d", kinds, mostPredicted+20)
	}
	for q := range w.queue.all() {
		if q.expected.P50 != 2*time.Hour {
			t.Fatalf("job %d was left out", q.job.ID)
		}
	}
}
