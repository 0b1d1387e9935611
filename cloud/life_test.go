package cloud_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/reasons"
)

func bob(s *federation.Submission) {
	s.Job.User, s.Job.UID, s.Job.GID = "bob", 2002, 2002
	s.User = federation.SiteUser{Name: "bob", UID: 2002, GID: 2002}
}

func nodes(n int) func(*federation.Submission) {
	return func(s *federation.Submission) { s.Job.Spec.MinNodes, s.Job.Spec.MaxNodes = n, n }
}

// TestWarm: an idle machine takes the next job of its user at once, is not given to another user's, and is ended when it has been idle for long enough.
func TestWarm(t *testing.T) {
	bubble(t, func(w *world) {
		w.ready()
		w.wants(w.submit("sleep 1", nil), federation.Completed, time.Minute)
		second := w.wants(w.submit("sleep 1", nil), federation.Completed, 5*time.Second)
		if len(w.cloud.Machines()) != 1 || second.Nodes != "sky-main-1" {
			t.Errorf("alice's second job ran on %s of %d", second.Nodes, len(w.cloud.Machines()))
		}
		third := w.wants(w.submit("sleep 1", bob), federation.Completed, time.Minute)
		if third.Nodes != "sky-main-2" {
			t.Errorf("bob's job ran on %s, which alice had", third.Nodes)
		}
		time.Sleep(100 * time.Second)
		if len(w.cloud.Living()) != 2 {
			t.Error("machines were ended before their time")
		}
		w.until("idle machines are ended", 2*time.Minute, func() bool { return len(w.cloud.Living()) == 0 })
		time.Sleep(time.Minute)
		for _, r := range w.records(records.PoolMachine) {
			if r.Closed.IsZero() || !strings.Contains(string(r.Data), `"why":"idle"`) || !strings.Contains(string(r.Data), `"idle_cost":0.0`) {
				t.Errorf("record %s", r.Data)
			}
		}
	})
}

// TestRoom: a full pool ends idle machines that the next job cannot use.
func TestRoom(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Max, w.cfg.Pools[0].Idle = 2, time.Hour
		w.ready()
		w.wants(w.submit("sleep 1", nodes(2)), federation.Completed, time.Minute)
		w.wants(w.submit("sleep 1", func(s *federation.Submission) { bob(s); nodes(2)(s) }), federation.Completed, 5*time.Minute)
		if n := len(w.cloud.Living()); n != 2 {
			t.Errorf("%d machines, and there may be 2", n)
		}
		if _, err := w.driver.Submit(context.Background(), w.job("exit 0", nodes(3))); err == nil {
			t.Error("a job of 3 machines was taken by a pool of 2")
		}
	})
}

// TestRangeOfNodes: a job of one to three nodes takes as many as the pool may have, and one that needs more than there is room for now waits for them.
func TestRangeOfNodes(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Max, w.cfg.Pools[0].Idle = 2, time.Hour
		w.ready()
		ranged := func(least, most, tasks int) func(*federation.Submission) {
			return func(s *federation.Submission) {
				s.Job.Spec.MinNodes, s.Job.Spec.MaxNodes, s.Job.Spec.NTasks = least, most, tasks
			}
		}
		if j := w.wants(w.submit("sleep 1", ranged(1, 3, 0)), federation.Completed, time.Minute); j.NumNodes != 2 {
			t.Errorf("it had %d nodes of the two that there may be", j.NumNodes)
		}
		w.wants(w.submit("sleep 300", func(s *federation.Submission) { bob(s); nodes(1)(s) }), federation.Running, 5*time.Minute)
		full := w.submit("sleep 1", func(s *federation.Submission) { ranged(1, 3, 2)(s); s.Job.Spec.NTasksPerNode = 1 })
		time.Sleep(time.Minute)
		if j := w.lookup(full); j.State != federation.Pending && j.State != federation.Completed || j.Returned {
			t.Errorf("%+v", j)
		}
		w.wants(full, federation.Completed, 10*time.Minute)
		if _, err := w.driver.Submit(context.Background(), w.job("exit 0", ranged(3, 4, 0))); err == nil {
			t.Error("a job of three machines and more was taken by a pool of two")
		}
	})
}

// TestNamedNode: a job for a node that does not exist yet has idle machines of other kinds ended for it; one for a node that has a job waits, and is not given back.
func TestNamedNode(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Max, w.cfg.Pools[0].Idle = 2, time.Hour
		w.cloud.Offers = []provider.Offering{offer("small", 1), offer("large", 2)}
		w.ready()
		first := w.wants(w.submit("sleep 1", nodes(2)), federation.Completed, time.Minute)
		if first.Nodes != "sky-main-small-[1-2]" {
			t.Fatalf("the first job ran on %s", first.Nodes)
		}
		named := func(name string) func(*federation.Submission) {
			return func(s *federation.Submission) { s.Job.Spec.NodeList = name }
		}
		busy := w.wants(w.submit("sleep 300", named("sky-main-large-2")), federation.Running, 5*time.Minute)
		if busy.Nodes != "sky-main-large-2" {
			t.Errorf("it runs on %s", busy.Nodes)
		}
		next := w.submit("sleep 1", named("sky-main-large-2"))
		time.Sleep(time.Minute)
		if j := w.lookup(next); j.State != federation.Pending || j.Reason != reasons.Resources {
			t.Errorf("%s (%s) %s", j.State, j.Reason, j.Detail)
		}
		if j := w.wants(next, federation.Completed, 10*time.Minute); j.Nodes != busy.Nodes {
			t.Errorf("it ran on %s", j.Nodes)
		}
	})
}

// TestMin: the minimum is kept, replaced when it fails, and not ended for being idle.
func TestMin(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Min = 2
		w.ready()
		w.until("two are there", time.Minute, func() bool { return len(w.cloud.Living()) == 2 })
		time.Sleep(10 * time.Minute)
		w.cloud.Kill(w.cloud.Living()[0].ID, "hardware")
		w.until("the one that failed is replaced", 3*time.Minute, func() bool { return len(w.cloud.Living()) == 2 })
		w.wants(w.submit("sleep 1", nil), federation.Completed, 20*time.Second)
		time.Sleep(10 * time.Minute)
		if n := len(w.cloud.Machines()); n != 3 || len(w.cloud.Living()) != 2 {
			t.Errorf("%d machines were made, %d are there", n, len(w.cloud.Living()))
		}
	})
}

// TestSpentIsRemembered: what has been spent today is told by the next daemon too, though no budget asks for it.
func TestSpentIsRemembered(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Idle = time.Minute
		w.ready()
		w.wants(w.submit("sleep 600", nil), federation.Completed, 20*time.Minute)
		w.until("its machine is gone", 10*time.Minute, func() bool { return len(w.cloud.Living()) == 0 && w.driver.Pools()[0].Ending == 0 })
		spent := w.driver.Pools()[0]
		w.stop()
		w.ready()
		if again := w.driver.Pools()[0]; spent.Today == 0 || again.Today != spent.Today || again.Month != spent.Month {
			t.Errorf("spent %v and %v, after a restart %v and %v", spent.Today, spent.Month, again.Today, again.Month)
		}
	})
}

// TestShared: machines of a shared pool run jobs of several users at once, as many as fit, and no more; jobs pay for their part.
func TestShared(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Shared, w.cfg.Pools[0].Max = true, 2
		w.cloud.Offers[0].GPUs = 0
		w.ready()
		var ids []federation.JobID
		for i := range 10 {
			ids = append(ids, w.submit("sleep 30", func(s *federation.Submission) {
				s.Job.Spec.CPUsPerTask, s.Job.Spec.MemPerNode = 1, 100
				if i%2 == 0 {
					bob(s)
				}
			}))
		}
		w.until("eight run", time.Minute, func() bool { return w.running(ids) == 8 })
		if j := w.lookup(ids[0]); j.PricePerHour != 0.25*federation.Dollar || j.TRES != "billing=1,cpu=1,mem=100M,node=1" {
			t.Errorf("%+v", j)
		}
		if o, _ := w.driver.Observe(context.Background()); o.PendingJobs != 2 || len(o.Running) != 8 || o.Nodes[0].CPUsUsed != 4 || o.Nodes[0].MemUsed != 400 {
			t.Errorf("%d pending, %d running, %+v", o.PendingJobs, len(o.Running), o.Nodes)
		}
		for _, id := range ids {
			w.wants(id, federation.Completed, 2*time.Minute)
		}
		if n := len(w.cloud.Machines()); n != 2 {
			t.Errorf("%d machines", n)
		}
	})
}

func (w *world) running(ids []federation.JobID) (n int) {
	for _, id := range ids {
		if w.lookup(id).State == federation.Running {
			n++
		}
	}
	return n
}

// TestOvertaking: small jobs pass a large one for a while, and not forever.
func TestOvertaking(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Shared, w.cfg.Pools[0].Max = true, 1
		w.ready()
		small := func() federation.JobID {
			return w.submit("sleep 60", func(s *federation.Submission) { s.Job.Spec.CPUsPerTask, s.Job.Spec.GRES = 1, "" })
		}
		for range 3 {
			small()
		}
		time.Sleep(20 * time.Second)
		large := w.submit("sleep 1", nil)
		for range 20 { // there are always small ones that would fit
			small()
			small()
			time.Sleep(30 * time.Second)
		}
		j := w.wants(large, federation.Completed, time.Minute)
		if wait := j.Start.Sub(j.Submit); wait < 4*time.Minute || wait > 8*time.Minute {
			t.Errorf("the large job waited %s", wait)
		}
	})
}

// TestOneJobManyPlaces: with no choice of placement's the cheapest offering is taken, and the next when the cloud has none of that; what placement chose is what is rented.
func TestOfferings(t *testing.T) {
	bubble(t, func(w *world) {
		w.cloud.Offers = []provider.Offering{offer("dear", 5), offer("cheap", 1), offer("middle", 3)}
		w.cloud.Before = func(op string, r *provider.Request) error {
			if op == "Create" && r.Offering.ID == "cheap" {
				return &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Code: "InsufficientInstanceCapacity", Text: "none left"}
			}
			return nil
		}
		w.ready()
		j := w.wants(w.submit("sleep 1", nil), federation.Completed, time.Minute)
		if j.Nodes != "sky-main-middle-1" || j.PricePerHour != 3*federation.Dollar {
			t.Errorf("%+v", j)
		}
		j = w.wants(w.submit("sleep 1", func(s *federation.Submission) { s.Offer.Offering = "dear" }), federation.Completed, time.Minute)
		if j.Nodes != "sky-main-dear-1" || j.PricePerHour != 5*federation.Dollar {
			t.Errorf("%+v", j)
		}
		j = w.wants(w.submit("sleep 1", func(s *federation.Submission) { s.Offer.Offering = "cheap" }), federation.BootFail, time.Minute)
		if !j.Returned || j.Reason != reasons.StockOut {
			t.Errorf("%+v", j)
		}
		if n := w.cloud.Calls("Create", time.Now().Add(-time.Hour)); n != 3 {
			t.Errorf("%d calls of Create, want one for each offering", n)
		}
	})
}

// TestFiveThousand: a site of 5,000 machines is listed once a minute, and no call is made for one machine.
func TestFiveThousand(t *testing.T) {
	bubble(t, func(w *world) {
		const count = 5000
		w.cfg.Pools[0].Max, w.cfg.Pools[0].Idle = count, 10*time.Hour
		w.ready()
		for range count / 50 {
			w.submit("sleep 7200", func(s *federation.Submission) { nodes(50)(s); s.Job.Spec.TimeLimit = 5 * time.Hour })
		}
		w.until("all are up", 30*time.Minute, func() bool {
			time.Sleep(5 * time.Second)
			o, err := w.driver.Observe(context.Background())
			return err == nil && len(o.Running) == count/50 && o.PendingJobs == 0 && len(w.cloud.Living()) == count && w.up(o) == count
		})
		time.Sleep(5 * time.Minute)
		since := time.Now()
		time.Sleep(10 * time.Minute)
		for op, most := range map[string]int{"List": 11, "Create": 0, "Delete": 0, "Offerings": 2} {
			if n := w.cloud.Calls(op, since); n > most {
				t.Errorf("%d calls of %s in 10 minutes, want %d at most", n, op, most)
			}
		}
	})
}

func (w *world) up(o *federation.Observation) (n int) {
	for _, node := range o.Nodes {
		if !slices.Contains(node.State, "POWERED_DOWN") && !slices.Contains(node.State, "POWERING_UP") {
			n++
		}
	}
	return n
}

// TestManyShortJobs: 1,000 jobs of a second on 64 slots take no longer than 1.15 times the ideal: a slot that falls free has its next job at once.
func TestManyShortJobs(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Shared, w.cfg.Pools[0].Max, w.cfg.Pools[0].Min = true, 16, 16
		w.ready()
		w.until("the slots are there", time.Minute, func() bool {
			o, err := w.driver.Observe(context.Background())
			return err == nil && w.up(o) == 16
		})
		begin := time.Now()
		var ids []federation.JobID
		for range 1000 {
			ids = append(ids, w.submit("sleep 1", func(s *federation.Submission) { s.Job.Spec.CPUsPerTask, s.Job.Spec.MemPerNode = 1, 100 }))
		}
		for _, id := range ids {
			w.wants(id, federation.Completed, time.Minute)
		}
		if took, ideal := time.Since(begin), time.Second*1000/64; took > ideal*115/100 {
			t.Errorf("took %s, the ideal is %s", took, ideal)
		}
		t.Logf("%d commits", w.store.Commits())
	})
}

// BenchmarkJobs is what the driver itself costs for each job: submission, launch, start, end.
func BenchmarkJobs(b *testing.B) {
	w := newWorld(b)
	w.cloud.Boot, w.cloud.Lag = 0, 0
	w.cloud.Offers[0].GPUs = 0
	w.cfg.Pools[0].Shared, w.cfg.Pools[0].Max, w.cfg.Pools[0].Min = true, 16, 16
	w.cfg.Timing = cloud.Timing{Tick: 100 * time.Millisecond, Keep: time.Second}
	w.ready()
	b.ResetTimer()
	var ids []federation.JobID
	for range b.N {
		ids = append(ids, w.submit("exit 0", func(s *federation.Submission) { s.Job.Spec.CPUsPerTask, s.Job.Spec.MemPerNode = 1, 100 }))
	}
	last := ids[len(ids)-1]
	w.until("all have ended", time.Minute, func() bool {
		j, err := w.driver.Lookup(context.Background(), federation.JobRef{ID: last})
		return err == nil && j.State.Ended()
	})
	b.ReportMetric(float64(w.store.Commits())/float64(b.N), "commits/job")
}

// BenchmarkJobsReport is a look for changes among 20,000 jobs when there are few.
func BenchmarkJobsReport(b *testing.B) {
	w := newWorld(b)
	w.ready()
	for range 20000 {
		w.submit("exit 0", func(s *federation.Submission) { s.Job.Held = federation.HeldUser })
	}
	r, err := w.driver.Jobs(context.Background(), nil)
	if err != nil || len(r.Known) != 20000 {
		b.Fatal(len(r.Known), err)
	}
	for b.Loop() {
		if r, err = w.driver.Jobs(context.Background(), r.Mark); err != nil {
			b.Fatal(err)
		}
	}
}
