package controller

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/action"
	"fsub/federation/driver"
	"fsub/federation/fairshare"
	"fsub/federation/journal"
	"fsub/federation/place"
	"fsub/federation/reasons"
	"fsub/federation/store"
	"fsub/sbatch"
)

// What a round costs that something small has happened before, while many jobs wait for a hundred sites of a hundred nodes that are full. A plan
// is made in each.
func BenchmarkRound100K(b *testing.B) { benchRound(b, 100_000, 0, nil) }
func BenchmarkRound1M(b *testing.B)   { benchRound(b, 1_000_000, 0, nil) }

// The same with fair-share among 2,000 users in 200 accounts. "ranked" is a round in which all are ranked anew.
func BenchmarkFairRound100K(b *testing.B) { benchRound(b, 100_000, 200, nil) }
func BenchmarkFairRound1M(b *testing.B)   { benchRound(b, 1_000_000, 200, nil) }

// The same where every second job depends on six others of its user's group, with the order of critical paths and without it.
func BenchmarkWorkflowRound100K(b *testing.B) {
	for _, critical := range []bool{false, true} {
		b.Run(fmt.Sprintf("critical=%t", critical), func(b *testing.B) { benchRound(b, 100_000, 200, &critical) })
	}
}

// full is a site on whose nodes nothing else can start.
type full struct {
	fakeSite
	ends bool // it says when its GPUs are free
}

func (f *full) Observe(ctx context.Context) (*federation.Observation, error) {
	o, err := f.fakeSite.Observe(ctx)
	for i := range o.Nodes {
		n := &o.Nodes[i]
		n.CPUsUsed, n.MemUsed, n.GRES[0].Used = n.CPUs, n.Mem, n.GRES[0].Total
		o.Running = append(o.Running, federation.RunningJob{Job: federation.JobID(i + 1), Nodes: []string{n.Name}, CPUs: 16, Mem: 64000,
			End: time.Unix(1e9, 0).Add(time.Duration(100+i) * time.Hour)})
		if f.ends {
			o.Running[i].GRES = []federation.GRES{{Name: "gpu", Type: "h100", Used: 4}}
		}
	}
	for id, j := range f.jobs {
		if j.State == federation.Running {
			o.Running = append(o.Running, federation.RunningJob{Job: id, Nodes: []string{"n1"}, CPUs: 1})
		}
	}
	return o, err
}

// noted is a store that has only the jobs that were submitted to it: it takes what is to be written of others, whose numbers are below, and forgets it.
type noted struct{ Store }

func (n noted) Commit(ctx context.Context, b *journal.Batch) error {
	some := *b
	some.Jobs, some.Events = nil, nil
	for _, j := range b.Jobs {
		if j.ID >= federation.FirstJobID {
			some.Jobs = append(some.Jobs, j)
		}
	}
	for _, e := range b.Events {
		if e.Job >= federation.FirstJobID {
			some.Events = append(some.Events, e)
		}
	}
	return n.Store.Commit(ctx, &some)
}

type benchTable struct {
	*testing.B
	clock   time.Time
	store   *store.Store
	sites   []*full
	ctl     *Controller
	last    federation.JobID
	users   int
	waiting int                // at least so many jobs
	bytes   float64            // of memory that a waiting job takes
	kinds   [60]federation.Job // that jobs share, as they share what the store has read
}

func benchRound(b *testing.B, jobs, groups int, critical *bool) {
	if testing.Short() { // to see that it runs
		jobs /= 50
	}
	t := &benchTable{B: b, clock: time.Unix(1e9, 0), users: max(20, 10*groups)}
	st, err := store.Open(b.Context(), store.Config{Path: filepath.Join(b.TempDir(), "x.db"), Volatile: true})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	t.store = st
	cfg := Config{Federation: "bench", Store: noted{st}, Now: func() time.Time { return t.clock }, Inline: true, Timing: Timing{Poll: 1000 * time.Hour, Observe: 1000 * time.Hour}}
	for i := range 100 {
		s := &full{fakeSite: fakeSite{now: cfg.Now, nodes: 100, jobs: map[federation.JobID]*federation.SiteJob{}}}
		t.sites = append(t.sites, s)
		cfg.Sites = append(cfg.Sites, Site{Name: federation.SiteName(fmt.Sprintf("s%02d", i)), Driver: s, Prices: accounting.Prices{"gres/gpu": 1 + float64(i)/100}, Backlog: -1})
	}
	cfg.Policy = place.DefaultPolicy()
	if groups > 0 {
		policy := fairshare.Default()
		policy.CriticalPath = critical != nil && *critical
		cfg.FairShare = t.fairShare(groups, policy)
	}
	if t.ctl, err = New(b.Context(), cfg); err != nil {
		b.Fatal(err)
	}
	t.rounds(3)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range jobs {
		j := t.wait(t.newJob(i))
		if critical != nil {
			t.join(j, i)
		}
		t.add(j)
	}
	t.waiting = jobs
	if critical != nil {
		t.waiting /= 2
	}
	began := time.Now()
	t.plan()
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.bytes = float64(after.HeapAlloc-before.HeapAlloc) / float64(jobs)
	b.Logf("%d jobs: the first plan took %v; %.0f bytes a job", jobs, took, t.bytes)

	t.measure("nothing", func(int) (check func()) { return nil })
	t.measure("added", func(i int) func() {
		id := t.submit(i)
		return func() { t.known(id, true) }
	})
	t.measure("cancelled", func(i int) func() {
		id := t.submit(i)
		t.plan()
		if _, err := st.AddRequest(b.Context(), action.Request{Job: id, Kind: action.Cancel}); err != nil {
			b.Fatal(err)
		}
		return func() { t.known(id, false) }
	})
	t.measure("ended", func(i int) func() {
		id := t.run(i)
		t.sites[i%len(t.sites)].end(id, federation.Completed)
		t.ctl.sites.all[i%len(t.sites)].nextPoll = t.clock
		return func() { t.known(id, false) }
	})
	t.measure("looked", func(i int) func() {
		s := t.ctl.sites.all[i%len(t.sites)]
		t.look(s)
		s.nextObserve = t.clock
		return func() {
			if !s.SeenAt.Equal(t.clock.Add(-10 * time.Millisecond)) {
				b.Fatalf("%s was not looked at", s.Name)
			}
		}
	})
	if groups > 0 {
		t.measure("ranked", func(i int) func() {
			held := federation.Held{TRES: "cpu=4"}
			cfg.FairShare.Add(fmt.Sprint("user", i%t.users), held, time.Duration(i)*time.Hour, 0, t.clock)
			t.clock = cfg.FairShare.Due()
			return nil
		})
	}
	t.measure("whole", func(int) func() {
		t.clock = t.clock.Add(10 * time.Second)
		return nil
	})
	b.Run("tried", func(b *testing.B) { // when and where one more would start
		for n := 0; b.Loop(); n++ {
			j := t.newJob(n)
			if got := t.ctl.forecasts.tried(&j); got == nil || got.Site == "" {
				b.Fatalf("the job could start nowhere: %+v", got)
			}
		}
	})
	t.promises()
}

// nothingReserved is a site that says yes to all reservations.
type nothingReserved struct{}

func (nothingReserved) Reserve(context.Context, driver.Promise) error { return nil }
func (nothingReserved) Unreserve(context.Context, string) error       { return nil }

// promises measures what it costs in each round, and with each plan, that all sites hold the places of gangs.
func (t *benchTable) promises() {
	ps := t.ctl.promises
	for i, s := range t.ctl.sites.all {
		s.promises, s.can.Reserve, s.nextObserve = true, nothingReserved{}, t.clock
		t.sites[i].ends = true
	}
	for range 3 {
		t.plan()
	}
	t.rounds(3)
	n := 0
	for _, p := range ps.of {
		for _, h := range p.there {
			if h.Name != "" {
				n++
			}
		}
	}
	for what, do := range map[string]func(){
		"promises/round": func() { ps.reconcile(); ps.due(func(time.Time) {}) },
		"promises/plan":  func() { ps.planned(t.ctl.queue.world) },
	} {
		t.Run(what, func(b *testing.B) {
			for b.Loop() {
				do()
			}
			b.ReportMetric(float64(n), "reservations")
		})
	}
	if n == 0 || len(t.ctl.calls.decided) > 0 {
		t.Fatalf("%d reservations, and %d calls that nobody needs", n, len(t.ctl.calls.decided))
	}
}

// fairShare has ten users in each account, who have used nothing to much.
func (t *benchTable) fairShare(groups int, policy fairshare.Policy) *fairshare.Shares {
	books, err := accounts.Open(t.Context(), t.store, func() time.Time { return t.clock })
	if err != nil {
		t.Fatal(err)
	}
	var edits []accounts.Edit
	for i := range t.users {
		account := fmt.Sprint("account", i%groups)
		if i < groups {
			edits = append(edits, accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey(account)})
		}
		edits = append(edits, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey(account, fmt.Sprint("user", i))})
	}
	if _, err := books.Edit(t.Context(), accounts.Editor{Operator: true}, edits, "", false); err != nil {
		t.Fatal(err)
	}
	f := fairshare.New(policy, books)
	for i := range t.users {
		f.Add(fmt.Sprint("user", i), federation.Held{TRES: "cpu=4"}, time.Duration(i*i%977)*time.Hour, 0, t.clock)
	}
	return f
}

func (t *benchTable) submit(i int) federation.JobID {
	j := t.newJob(i)
	if err := t.store.CreateJob(t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
		t.Fatal(err)
	}
	return j.ID
}

func (t *benchTable) known(id federation.JobID, want bool) {
	if (t.ctl.jobs.Of(id) != nil) != want {
		t.Fatalf("job %d is known: %t", id, !want)
	}
}

// newJob is one of a few dozen kinds.
func (t *benchTable) newJob(i int) federation.Job {
	kind := &t.kinds[i%len(t.kinds)]
	if kind.Spec == nil {
		kind.SetSpec(sbatch.Spec{Name: "x", GPUsPerNode: fmt.Sprint(1 + i%4), MinNodes: 1 + i%3, MaxNodes: 1 + i%3, TimeLimit: time.Duration(1+i%5) * time.Hour, WorkDir: "/"})
	}
	return federation.Job{User: fmt.Sprint("user", i%t.users), UID: 7001, State: federation.Pending, Reason: reasons.Priority, Submit: t.clock, Spec: kind.Spec, Demand: kind.Demand}
}

// wait gives a job a number that the store does not know.
func (t *benchTable) wait(j federation.Job) *job {
	t.last++
	j.ID = 1000 + t.last
	return newJob(j)
}

// join has a job be one of its user's workflow; every second one waits for six others.
func (t *benchTable) join(j *job, i int) {
	s := *j.Spec
	s.Fed = &sbatch.Fed{Group: "g"}
	if before := t.users * 2; i >= 7*before && i/t.users%2 == 1 { // of the same user
		s.Dependency = "afterok"
		for k := range 6 {
			s.Dependency += fmt.Sprintf(":%d", int(j.ID)-t.users-k*before)
		}
	}
	j.SetSpec(s)
	if err := t.ctl.depends.add(t.Context(), j); err != nil {
		t.Fatal(err)
	}
}

func (t *benchTable) add(j *job) {
	t.ctl.jobs.Set(j.ID, j)
	t.ctl.queue.add(j)
}

// run has a site run a job.
func (t *benchTable) run(i int) federation.JobID {
	s := t.ctl.sites.all[i%len(t.sites)]
	kind := t.newJob(i)
	kind.ID = t.submit(i)
	t.plan()
	j := t.ctl.jobs.Of(kind.ID)
	t.ctl.queue.drop(j)
	j.State, j.Attempt, j.Site = federation.Running, 1, s.Name
	j.try().att = &federation.Attempt{Job: j.ID, Number: 1, Key: fmt.Sprint("k", j.ID), Site: s.Name, State: federation.AttemptStarted, Created: t.clock, Acked: t.clock}
	s.jobs[j.ID] = j
	t.sites[i%len(t.sites)].jobs = map[federation.JobID]*federation.SiteJob{j.ID: {ID: j.ID, Key: j.att.Key, State: federation.Running, Partition: "main", Submit: t.clock, Start: t.clock}}
	t.ctl.queue.claim(j)
	t.look(s)
	return j.ID
}

// look has a site looked at, and a plan made of what is seen.
func (t *benchTable) look(s *site) {
	s.nextObserve = t.clock
	t.plan()
	t.plan()
}

func (t *benchTable) rounds(n int) {
	for range n {
		t.ctl.Round(t.Context())
		t.clock = t.clock.Add(5 * time.Millisecond)
	}
}

// plan is a round in which a plan is made.
func (t *benchTable) plan() {
	t.ctl.agenda.plan = true
	t.rounds(1)
	if t.ctl.agenda.plan {
		t.Fatal("nothing was planned")
	}
}

// measure takes the time of two rounds after something has happened: calls to sites that the first one decides come back in the second. Beside it stand the
// processor time of the two, and the 99th percentile of that.
func (t *benchTable) measure(name string, happen func(i int) (check func())) {
	n := 0
	t.Run(name, func(b *testing.B) {
		var took []time.Duration
		sum := time.Duration(0)
		for b.Loop() {
			b.StopTimer()
			check := happen(n)
			n++
			before := cpuTime()
			b.StartTimer()
			t.ctl.agenda.plan = true
			t.rounds(1)
			t.ctl.agenda.plan = true
			t.rounds(1)
			b.StopTimer()
			took = append(took, cpuTime()-before)
			sum += took[len(took)-1]
			if check != nil {
				check()
			}
			b.StartTimer()
		}
		if t.ctl.queue.world.Len() < t.waiting {
			b.Fatalf("%d of %d jobs wait", t.ctl.queue.world.Len(), t.waiting)
		}
		slices.Sort(took)
		b.ReportMetric(float64(sum)/1e6/float64(len(took)), "cpu-ms/op")
		b.ReportMetric(float64(took[len(took)*99/100])/1e6, "cpu-ms-p99")
		b.ReportMetric(t.bytes, "B/job")
	})
}

// cpuTime is what this process has used of its processors.
func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
