package place

import (
	"fmt"
	"testing"
	"time"

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
