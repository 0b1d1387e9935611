package place

import (
	"fmt"
	"math"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation/decision"
	"fsub/slurm/hostlist"
)

// What real 24.11 says of such jobs on a site with idle nodes, and what the plan says of busy ones.
func TestTry(t *testing.T) {
	w := newWorld()
	w.read(t, `site alpha
partition main default nodes=a[1-4]
partition cpu nodes=b1
nodes a[1-4] cpus=16 mem=64000 gpu=h100:4
nodes b1 cpus=8 mem=64000
running a4 cpus=16 mem=100 gpu=h100:4 end=20m`)
	for _, c := range []struct{ job, want string }{
		{"1", "main +0s 1 on a1"},
		{"1 -N2 -n4", "main +0s 4 on a[1-2]"},
		{"1 -n5 -N2", "main +0s 5 on a[1-2]"},
		{"1 -n2 -c3", "main +0s 6 on a1"},
		{"1 --exclusive", "main +0s 16 on a1"},
		{"1 -N4 -c16 -t5m", "main +20m0s 64 on a[1-4]"},
		{"1 -c2 : -pcpu -c8", "main +0s 10 on a1,b1"},
		{"1 -c32", " 0 on "},
	} {
		job := w.job(t, split(c.job))
		tr := w.made().Try(job, nil)
		at := ""
		if tr.Site != "" {
			at = "+" + tr.Start.Sub(w.now).String()
		}
		if got := fmt.Sprintf("%s %s %d on %s", tr.Partition, at, tr.Processors, hostlist.Compress(tr.Nodes)); got != c.want && got != " "+c.want {
			t.Errorf("%s: %s, want %s", c.job, got, c.want)
		}
	}
	job := w.job(t, split("1"))
	job.Spec.Begin = w.now.Add(time.Hour)
	if tr := w.made().Try(job, nil); !tr.Start.Equal(job.Spec.Begin) {
		t.Errorf("begins %v, starts %v", job.Spec.Begin, tr.Start)
	}
	// It counts with what is known of such jobs, as the plan of the job itself does.
	e := &decision.Expected{P50: 10 * time.Minute, P90: 20 * time.Minute, Runs: 9}
	if tr := w.made().Try(w.job(t, split("1 -t600m")), e); tr.Decision.Offers[0].Run > 30*time.Minute || tr.Decision.Expected != e {
		t.Errorf("it is expected to run %v", tr.Decision.Offers[0].Run)
	}
}

// What is paid follows from how long earlier runs took, on the nodes of each place; without any there is only the bound by the time limit.
func TestTryTellsWhatIsPaid(t *testing.T) {
	w := newWorld()
	w.read(t, `site alpha
partition main default nodes=a1
nodes a1 cpus=16 mem=64000 gpu=h100:4
running a1 cpus=16 mem=100 gpu=h100:4 end=20m`)
	w.sites[0].Speed, w.sites[0].Prices = map[string]float64{"h100": 2}, accounting.Prices{"gres/gpu": 6}
	job := w.job(t, split("1 --gpus=1 --time=120m"))
	e := &decision.Expected{P50: 20 * time.Minute, P90: 80 * time.Minute, Runs: 12}
	world := w.made()
	queued := *job
	queued.ID = 99
	for name, tr := range map[string]decision.Trial{"alone": world.Try(job, e), "queued": world.TryQueued(Waiting{Job: &queued, Expected: e})} {
		o := tr.Decision.Offers[0]
		if p := o.Paid; p == nil || math.Abs(float64(p.P50-1)) > 1e-9 || math.Abs(float64(p.P90-4)) > 1e-9 || math.Abs(float64(p.Most-12)) > 1e-9 || o.Price() <= p.P50 || o.Price() >= p.P90 {
			t.Errorf("%s: of $6 an hour at twice the speed it pays %+v, %v on average", name, p, o.Price())
		}
	}
	if p := world.Try(job, nil).Decision.Offers[0].Paid; p == nil || *p != (decision.Paid{Most: 12}) {
		t.Errorf("where nothing is known it pays %+v", p)
	}
}
