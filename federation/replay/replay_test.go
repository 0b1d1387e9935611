package replay_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/place"
	"fsub/federation/replay"
	"fsub/federation/replay/trace"
	"fsub/sbatch"
)

func sites(t *testing.T, texts ...string) (all []*federation.Site) {
	t.Helper()
	for _, text := range texts {
		s, err := replay.ParseSite(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func jobs(t *testing.T, csv string) []replay.Job {
	t.Helper()
	all, _, err := trace.From(strings.NewReader(csv), "test", trace.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func run(t *testing.T, cfg replay.Config) *replay.Result {
	t.Helper()
	r, err := replay.Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// starts are the starts of all jobs, in seconds after the first submission; -1: it has not started.
func starts(r *replay.Result) (out []int) {
	for i := range r.Jobs {
		if o := &r.Jobs[i]; o.Start.IsZero() {
			out = append(out, -1)
		} else {
			out = append(out, int(o.Start.Sub(r.Begin).Seconds()))
		}
	}
	return out
}

const four = "submit_time_s,duration_s,gpus,user\n" +
	"0,1000,8,a\n" + // has the node until 1000
	"10,5000,8,a\n" +
	"20,100,4,b\n" +
	"30,100,4,b\n"

func TestCourse(t *testing.T) {
	one := sites(t, "rhein=1x8:h100,price=2")
	for _, c := range []struct {
		order replay.Order
		known bool
		want  []int
	}{
		{replay.FIFO, false, []int{0, 1000, 6000, 6000}},
		{replay.Short, true, []int{0, 1100, 1000, 1000}}, // the short ones have come first
	} {
		r := run(t, replay.Config{Sites: one, Jobs: jobs(t, four), Policy: place.DefaultPolicy(), Order: c.order, Oracle: c.known})
		if got := starts(r); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: jobs start after %v, want %v", c.order, got, c.want)
		}
	}
	r := run(t, replay.Config{Sites: one, Jobs: jobs(t, four), Policy: place.DefaultPolicy()})
	s := r.Summary()
	if s.Ended != 4 || s.MeanWait != (990+5980+5970)*time.Second/4 || s.Span != 6100*time.Second {
		t.Errorf("ended %d, waited %v, spanned %v", s.Ended, s.MeanWait, s.Span)
	}
	if hours := (8*6000 + 2*4*100) / 3600.0; s.GPUHours < hours-0.01 || s.GPUHours > hours+0.01 || float64(s.Cost) < 2*hours*0.99 || float64(s.Cost) > 2*hours*1.01 {
		t.Errorf("%.2f GPU-hours for $%.2f, want %.2f at $2", s.GPUHours, s.Cost, hours)
	}
}

// Users submit at a site, too: its queue runs them in the order in which they came there, ours among them, and short ones beside them by their limits.
func TestLocalJobs(t *testing.T) {
	all := jobs(t, "submit_time_s,duration_s,gpus,user,timelimit_s\n"+
		"0,1000,6,a,1000\n"+ // has six GPUs until 1000
		"10,500,8,b,600\n"+ // waits for the whole node
		"20,300,2,a,400\n"+ // would be over before
		"30,2000,2,b,3000\n"+ // would not
		"40,100,8,a,100\n")
	var here []replay.Job
	var there []replay.LocalJob
	for i, j := range all {
		if i == 3 || i == 4 {
			here = append(here, j)
		} else {
			there = append(there, replay.LocalJob{Job: j, Site: "rhein"})
		}
	}
	policy := place.DefaultPolicy()
	policy.Reservations = 1
	r := run(t, replay.Config{Sites: sites(t, "rhein=1x8:h100,price=2"), Jobs: here, Local: there, Policy: policy, At: all[0].Submit})
	if got := starts(r); !reflect.DeepEqual(got, []int{1500, 3500}) {
		t.Errorf("ours start after %v", got)
	}
	var got []int
	for i := range r.Local {
		got = append(got, int(r.Local[i].Start.Sub(r.Begin).Seconds()))
	}
	if !reflect.DeepEqual(got, []int{0, 1000, 20}) {
		t.Errorf("local ones start after %v", got)
	}
}

// What nobody can run is told, and nothing waits for it.
func TestNeverStarts(t *testing.T) {
	r := run(t, replay.Config{Sites: sites(t, "rhein=1x8"), Jobs: jobs(t, "submit_time_s,duration_s,gpus,nodes\n0,10,64,8\n5,10,1,1\n"), Policy: place.DefaultPolicy()})
	if got := starts(r); !reflect.DeepEqual(got, []int{-1, 5}) {
		t.Errorf("jobs start after %v", got)
	}
	if r.Jobs[0].Reason == "" {
		t.Error("no reason is given")
	}
}

// A job without room rents a node, waits for it to boot, and the next one finds it warm.
func TestRented(t *testing.T) {
	p := place.DefaultPolicy()
	r := run(t, replay.Config{Sites: sites(t, "own=1x1,price=1", "cloud=4x1,price=3,rented=2m"), Policy: p,
		Jobs: jobs(t, "submit_time_s,duration_s,gpus\n0,36000,1\n1,600,1\n730,600,1\n5000,600,1\n")})
	if got := starts(r); !reflect.DeepEqual(got, []int{0, 121, 730, 5120}) {
		t.Errorf("jobs start after %v", got)
	}
	if s := r.Summary(); s.RentedHours != 0.5 {
		t.Errorf("%v GPU-hours rented", s.RentedHours)
	}
}

// TestPoolInUse: where all that a pool may have runs something, the next job gets a node when that ends.
func TestPoolInUse(t *testing.T) {
	all := sites(t, "cloud=2x1,price=3,rented=2m")
	begin := time.Unix(1_600_000_000, 0)
	obs, none := *all[0].Seen, 0
	obs.Partitions = slices.Clone(obs.Partitions)
	obs.Partitions[0].MaxStarts = &none
	obs.Nodes = slices.Clone(obs.Nodes)
	for i := range obs.Nodes {
		n := &obs.Nodes[i]
		n.State, n.CPUsUsed, n.GRES = []string{"ALLOCATED", "CLOUD"}, n.CPUs, []federation.GRES{{Name: "gpu", Total: 1, Used: 1}}
		obs.Running = append(obs.Running, federation.RunningJob{Job: federation.JobID(7 + i), Nodes: []string{n.Name}, CPUs: n.CPUs, GRES: []federation.GRES{{Name: "gpu", Used: 1}}, End: begin.Add(time.Duration(i+1) * time.Hour)})
	}
	all[0].Seen, all[0].Pools = &obs, nil
	list := jobs(t, "submit_time_s,duration_s,gpus\n0,600,1\n0,7200,1\n0,600,1\n")
	r := run(t, replay.Config{Sites: all, Jobs: list, Policy: place.DefaultPolicy(), At: begin})
	var got []time.Duration
	for i := range r.Jobs {
		got = append(got, r.Jobs[i].Start.Sub(begin).Round(10*time.Minute))
	}
	if want := []time.Duration{time.Hour, 70 * time.Minute, 2 * time.Hour}; !reflect.DeepEqual(got, want) {
		t.Errorf("jobs start after %v, want %v", got, want)
	}
}

// Equal arguments, equal outcomes; and at no time is more in use than there is.
func TestReplays(t *testing.T) {
	var csv strings.Builder
	csv.WriteString("submit_time_s,duration_s,gpus,user\n")
	x := uint32(7)
	for i := range 600 {
		x = x*1664525 + 1013904223
		gpus := []string{"1", "1", "1", "2", "4", "8", "16"}[x>>16%7]
		fmt.Fprintf(&csv, "%d,%d,%s,user%d\n", i*40, x>>8%5000+1, gpus, x>>20%4)
	}
	for _, order := range replay.Orders {
		cfg := replay.Config{Sites: sites(t, "a=3x8,price=1", "b=2x8,price=2"), Policy: place.DefaultPolicy(), Order: order, Seed: 3}
		cfg.Jobs = jobs(t, csv.String())
		first := run(t, cfg)
		cfg.Jobs = jobs(t, csv.String())
		again := run(t, cfg)
		if !reflect.DeepEqual(starts(first), starts(again)) {
			t.Errorf("%s: another outcome the second time", order)
		}
		if s := first.Summary(); s.Ended != 600 {
			t.Errorf("%s: %d of 600 have ended", order, s.Ended)
		}
		inUse(t, first, map[federation.SiteName]int{"a": 24, "b": 16})
	}
}

// inUse goes through starts and ends.
func inUse(t *testing.T, r *replay.Result, has map[federation.SiteName]int) {
	t.Helper()
	for i := range r.Jobs {
		at, used := r.Jobs[i].Start, map[federation.SiteName]int{}
		for k := range r.Jobs {
			if o := &r.Jobs[k]; !o.Start.After(at) && o.End.After(at) {
				used[o.Site] += o.GPUs
			}
		}
		for site, n := range used {
			if n > has[site] {
				t.Fatalf("%d GPUs in use at %s, which has %d", n, site, has[site])
			}
		}
	}
}

func TestParseSite(t *testing.T) {
	for _, text := range []string{"rhein", "=1x8", "rhein=0x8", "rhein=1x8,speed=0", "rhein=1x8,colour=red", "rhein=1x8,rented=3m", "rhein=1x-1"} {
		if _, err := replay.ParseSite(text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What is waited for is sampled in CPUs too: a fleet without GPUs would seem to have no queue.
func TestCPUsThatAreWaitedFor(t *testing.T) {
	site, err := replay.ParseSite("rhein=1x0,cpus=8")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var jobs []replay.Job
	for i := range 3 {
		j := &federation.Job{ID: federation.JobID(i + 1), User: "a", State: federation.Pending, Submit: begin.Add(time.Duration(i) * time.Hour)}
		j.SetSpec(sbatch.Spec{NTasks: 2, CPUsPerTask: 4, MinNodes: 1, MaxNodes: 1, MemPerNode: 1})
		jobs = append(jobs, replay.Job{Job: j, Run: 5 * time.Hour})
	}
	r, err := replay.Run(replay.Config{Sites: []*federation.Site{site}, Jobs: jobs, Policy: place.DefaultPolicy(), Order: replay.FIFO})
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, s := range r.Samples {
		most = max(most, s.CPUsWaiting)
	}
	if most != 16 || r.Samples[len(r.Samples)-1].CPUsWaiting != 0 {
		t.Errorf("up to %d CPUs are waited for, at the end %d: want 16 and none", most, r.Samples[len(r.Samples)-1].CPUsWaiting)
	}
}
