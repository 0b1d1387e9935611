package controller

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/depend"
	"fsub/federation/jobmap"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// TestNamesakes compares the namesakes of jobs that come, go and get other names with a look at all of them.
func TestNamesakes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := newNames()
	var live jobmap.Map[*job]
	waits := map[federation.JobID]*namesakes{}
	for id := federation.JobID(1); id < 3000; id++ {
		j := newJob(federation.Job{ID: id, User: fmt.Sprint("u", r.IntN(2)), Spec: &sbatch.Spec{Name: fmt.Sprint("n", r.IntN(3))}})
		n.join(j)
		if r.IntN(3) == 0 {
			waits[id] = n.want(j)
		}
		live.Set(id, j)
		n.find(&live)
		for other := range live.IDs() {
			switch r.IntN(20) {
			case 0:
				n.leave(other)
				live.Delete(other)
				delete(waits, other)
			case 1:
				if waits[other] == nil {
					live.Of(other).SetSpec(sbatch.Spec{Name: fmt.Sprint("n", r.IntN(3))})
					n.join(live.Of(other))
				}
			}
		}
		for id, s := range waits {
			want := false
			for other, o := range live.All() {
				want = want || other < id && nameOf(o) == nameOf(live.Of(id))
			}
			if s.before(id) != want {
				t.Fatalf("job %d waits for its namesakes: %v, want %v", id, !want, want)
			}
		}
	}
	for id := range live.IDs() {
		n.leave(id)
	}
	if len(n.byName)+len(n.of) > 0 {
		t.Errorf("%d names and %d jobs are left", len(n.byName), len(n.of))
	}
}

// TestDependencyCounts: what is counted of the terms of a dependency is what a look at all of them tells.
func TestDependencyCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	states := []federation.State{federation.Pending, federation.Running, federation.Completed, federation.Failed}
	kinds := []depend.Kind{depend.After, depend.AfterAny, depend.AfterOK, depend.AfterNotOK}
	var d dependency
	for range 200 {
		d.add(waitTerm{Term: depend.Term{Kind: kinds[r.IntN(4)], Task: -1}})
	}
	for range 5000 {
		d.settle(r.IntN(200), newJob(federation.Job{State: states[r.IntN(4)], Spec: new(sbatch.Spec)}))
		met, never := 0, 0
		for _, t := range d.terms {
			if t.never {
				never++
			} else if t.met {
				met++
			}
		}
		if d.met != met || d.never != never {
			t.Fatalf("%d met and %d never, want %d and %d", d.met, d.never, met, never)
		}
	}
}

// TestDependencySaidTwice: a job that names another ten thousand times waits for it once.
func TestDependencySaidTwice(t *testing.T) {
	d, err := depend.Parse("afterany:7" + strings.Repeat(":7", 10_000) + strings.Repeat(",singleton", 1000) + ",afterok:7")
	if err != nil || len(d.Terms) != 3 {
		t.Errorf("%d terms, %v", len(d.Terms), err)
	}
}

// Singletons with names of their own go at once, those of one name one after the other; the next daemon knows of them, too.
func TestSingletons(t *testing.T) {
	b := newBench(t)
	b.rounds(3)
	var first, second []federation.JobID
	submit := func(name string) federation.JobID {
		return b.submit(func(s *sbatch.Spec) { s.Name, s.GPUsPerNode, s.Dependency = name, "", "singleton" })
	}
	for i := range 5 {
		first = append(first, submit(fmt.Sprint("n", i)))
	}
	for i := range 5 {
		second = append(second, submit(fmt.Sprint("n", i)))
	}
	for range 2 {
		b.wait(10 * time.Second)
		for i := range first {
			if one, other := b.job(first[i]), b.job(second[i]); one.Site == "" || other.Site != "" || other.Reason != reasons.Dependency {
				t.Errorf("name %d: the first is at %q, the second at %q: %s", i, one.Site, other.Site, other.Reason)
			}
		}
		b.restart()
	}
	for _, id := range first {
		site := map[federation.SiteName]*fakeSite{"cheap": b.cheap, "dear": b.dear}[b.job(id).Site]
		if site == nil {
			t.Fatalf("job %d is at no site", id)
		}
		site.start(id)
		site.end(id, federation.Completed)
	}
	b.wait(10 * time.Second)
	for _, id := range second {
		if j := b.job(id); j.Site == "" {
			t.Errorf("job %d waits: %s", id, j.Reason)
		}
	}
}

// A singleton that gets another name waits for the jobs of that one, and is not forgotten by those of the one before.
func TestSingletonIsRenamed(t *testing.T) {
	b := newBench(t)
	b.rounds(3)
	named := func(name, dependency string) federation.JobID {
		return b.submit(func(s *sbatch.Spec) { s.Name, s.Dependency = name, dependency })
	}
	rename := func(id federation.JobID, name string) {
		b.request(action.Request{Job: id, Kind: action.Update, UID: 7001, Change: []sbatch.Change{{Option: "job-name", Key: "JobName", Value: name}}})
		b.wait(10 * time.Second)
	}
	first := named("a", "")
	second := named("a", "singleton")
	other := named("b", "")
	third := named("b", "singleton")
	b.wait(10 * time.Second)
	for _, id := range []federation.JobID{second, third} {
		if j := b.job(id); j.Site != "" || j.Reason != reasons.Dependency {
			t.Fatalf("job %d: %s at %q", id, j.Reason, j.Site)
		}
	}
	rename(second, "free")
	rename(third, "a")
	if j := b.job(second); j.Site == "" {
		t.Errorf("nobody else has its name, and it waits: %s", j.Reason)
	}
	if j := b.job(third); j.Site != "" {
		t.Error("it does not wait for those of its new name")
	}
	b.cheap.start(other)
	b.cheap.end(other, federation.Completed)
	b.wait(10 * time.Second)
	if j := b.job(third); j.Site != "" {
		t.Error("it went when a job of its old name ended")
	}
	b.cheap.start(first)
	b.cheap.end(first, federation.Completed)
	b.wait(10 * time.Second)
	if j := b.job(third); j.Site == "" {
		t.Errorf("it still waits: %s", j.Reason)
	}
}
