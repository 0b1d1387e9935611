package place

import (
	"cmp"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/demand"
)

// shares is a crowd whose jobs belong to accounts with guarantees: p has a and b below it, q has c; nobody guarantees d anything.
type shares struct {
	*crowd
	rules *federation.GuaranteeRules
}

func (w *shares) index(account string) int {
	return slices.IndexFunc(w.rules.Accounts, func(g federation.Guarantee) bool { return g.Account == account })
}

func newShares(sites, nodes int, most map[string]int64) *shares {
	w := &shares{crowd: newCrowd(sites, nodes), rules: &federation.GuaranteeRules{}}
	w.crowd.rules.QOS = map[string]federation.PreemptQOS{"back": {Returns: true}, "stays": {}}
	for _, name := range []string{"p", "a", "b", "q", "c"} {
		if n, ok := most[name]; ok {
			above := map[string]string{"a": "p", "b": "p", "c": "q"}[name]
			w.rules.Accounts = append(w.rules.Accounts, federation.Guarantee{Account: name, Above: w.index(above), TRES: accounting.TRES{"gres/gpu": n}})
		}
	}
	w.rules.Of = func(j *federation.Job) int {
		if i := w.index(j.Spec.Account); i >= 0 {
			return i
		}
		return w.index(map[string]string{"a": "p", "b": "p", "c": "q"}[j.Spec.Account])
	}
	return w
}

// run is a job of an account that holds GPUs of one node.
func (w *shares) run(site int, id federation.JobID, account, qos string, gpus int, since time.Duration, node int) bool {
	if !w.crowd.run(site, id, qos, gpus, since, node) {
		return false
	}
	j := w.ours[id]
	j.Spec.Account = account
	return true
}

func gpusOf(j *federation.Job) int64 { return int64(j.Needs().Count("gpu", demand.PerNode)) }

// held is what the jobs that run hold, as quota.Book tells it.
func (w *shares) held() *federation.Guarantees {
	g := &federation.Guarantees{GuaranteeRules: w.rules, Held: make([]accounting.TRES, len(w.rules.Accounts)), Lent: make([]map[string]map[federation.JobID]bool, len(w.rules.Accounts))}
	for i, a := range w.rules.Accounts {
		var all []*federation.Job
		for _, j := range w.ours {
			if w.rules.Below(w.rules.Of(j), i) {
				all = append(all, j)
			}
		}
		slices.SortFunc(all, func(x, y *federation.Job) int { return cmp.Or(x.Start.Compare(y.Start), cmp.Compare(x.ID, y.ID)) })
		sum, lent := int64(0), map[federation.JobID]bool{}
		for _, j := range all {
			if sum += gpusOf(j); sum > a.TRES["gres/gpu"] {
				lent[j.ID] = true
			}
		}
		g.Held[i], g.Lent[i] = accounting.TRES{"gres/gpu": sum}, map[string]map[federation.JobID]bool{"gres/gpu": lent}
	}
	return g
}

func (w *shares) snapshot(jobs ...*federation.Job) federation.Snapshot {
	s := w.crowd.snapshot(jobs...)
	s.Guarantees = w.held()
	return s
}

func (w *shares) job(id int, account string, nodes, gpus int) *federation.Job {
	j := highJob(id, nodes, gpus, "")
	j.Spec.Account = account
	return j
}

func (w *shares) draw(t *rapid.T, nodes int) {
	for id := range rapid.IntRange(0, 30).Draw(t, "running") {
		w.run(id%len(w.sites), federation.JobID(id+1), rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "account"), rapid.SampledFrom([]string{"back", "back", "stays"}).Draw(t, "QOS"),
			rapid.IntRange(1, 8).Draw(t, "GPUs"), time.Duration(rapid.IntRange(1, 600).Draw(t, "ran"))*time.Minute, rapid.IntRange(0, nodes-1).Draw(t, "on"))
	}
}

func drawShares(t *rapid.T) (w *shares, nodes int) {
	nodes = rapid.IntRange(1, 4).Draw(t, "nodes")
	most := map[string]int64{}
	for _, account := range []string{"a", "b", "c"} {
		if rapid.IntRange(0, 4).Draw(t, "guaranteed") > 0 {
			most[account] = int64(rapid.IntRange(0, 12).Draw(t, "guarantee"))
		}
	}
	if rapid.Bool().Draw(t, "p is guaranteed something") {
		most["p"] = most["a"] + most["b"] + int64(rapid.IntRange(0, 4).Draw(t, "p's own"))
	}
	if rapid.Bool().Draw(t, "q is guaranteed something") {
		most["q"] = most["c"] + int64(rapid.IntRange(0, 4).Draw(t, "q's own"))
	}
	w = newShares(rapid.IntRange(1, 2).Draw(t, "sites"), nodes, most)
	w.draw(t, nodes)
	return w, nodes
}

// Who is within the guarantee of his account starts as if nobody else who borrows were there, whatever stands before him.
func TestBorrowersPassNobodyWithinHisGuarantee(t *testing.T) {
	started := 0
	rapid.Check(t, func(t *rapid.T) {
		w, nodes := drawShares(t)
		var jobs, within []*federation.Job
		for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			j := w.job(1000+i, rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "asks"), rapid.IntRange(1, nodes).Draw(t, "nodes asked"), rapid.IntRange(1, 8).Draw(t, "GPUs asked"))
			jobs = append(jobs, j)
			held := w.held().Held
			if k := w.rules.Of(j); k >= 0 && held[k]["gres/gpu"]+gpusOf(j)*int64(j.Needs().MinNodes) <= w.rules.Accounts[k].TRES["gres/gpu"] {
				within = append(within, j)
			}
		}
		s := w.snapshot(jobs...)
		world := newWorldOf(&s, Policy{Backlog: -1})
		plan := world.Plan()
		checkCapacity(t, world)
		if len(plan.Decisions) != len(jobs) {
			t.Fatalf("%d decisions about %d jobs", len(plan.Decisions), len(jobs))
		}
		if again := Plan(s, Policy{Backlog: -1}); !reflect.DeepEqual(plan, again) {
			t.Fatal("the same snapshot gave another plan")
		}
		world.progress.stale = true
		if again := world.Plan(); !reflect.DeepEqual(plan, again) {
			t.Fatal("a world that has seen it all before plans differently")
		}
		got := map[federation.JobID]decision.Decision{}
		for _, d := range plan.Decisions {
			got[d.Job] = d
		}
		held, waits := w.held().Held, map[[3]int64]bool{}
		for _, d := range Plan(w.snapshot(within...), Policy{Backlog: -1}).Decisions {
			j := jobs[d.Job-1000]
			k := w.rules.Of(j)
			for i := k; i >= 0; i = w.rules.Accounts[i].Above { // what is held below an account is its own
				held[i]["gres/gpu"] += gpusOf(j) * int64(j.Needs().MinNodes)
			}
			like := [3]int64{int64(k), gpusOf(j), int64(j.Needs().MinNodes)}
			waits[like] = waits[like] || !d.Bind // for what victims leave: its share is taken, and those like it stand where their priorities put them
			if waits[like] || held[k]["gres/gpu"] > w.rules.Accounts[k].TRES["gres/gpu"] {
				continue // it borrows by now
			}
			started++
			if is := got[d.Job]; !is.Bind || is.Offers[0].Site != d.Offers[0].Site || !is.Offers[0].Start.Equal(d.Offers[0].Start) || !reflect.DeepEqual(is.Preempt, d.Preempt) {
				t.Fatalf("job %d of account %s:\n%s\nand without those who borrow:\n%s", d.Job, j.Spec.Account, Explain(j, is), Explain(j, d))
			}
		}
	})
	if started == 0 {
		t.Error("nobody has started within a guarantee")
	}
}

// Only what was borrowed is given back, only by those who may be ended, and only as much as it takes.
func TestBorrowersGiveBackOnlyWhatIsNeeded(t *testing.T) {
	back := 0
	check := func(t *rapid.T) {
		w, nodes := drawShares(t)
		j := w.job(1000, rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "asks"), rapid.IntRange(1, nodes).Draw(t, "nodes asked"), rapid.IntRange(1, 8).Draw(t, "GPUs asked"))
		d := Plan(w.snapshot(j), Policy{}).Decisions[0]
		if d.Preempt == nil {
			return
		}
		back++
		g, own := w.held(), w.rules.Of(j)
		in := w.index(d.Preempt.Guarantee)
		if in < 0 || !w.rules.Below(own, in) || g.Held[in]["gres/gpu"]+gpusOf(j)*int64(j.Needs().MinNodes) > w.rules.Accounts[in].TRES["gres/gpu"] {
			t.Fatalf("it takes %s, within %q", d.Preempt.Text(), d.Preempt.Guarantee)
		}
		gone := map[federation.JobID]bool{}
		for _, v := range d.Preempt.Victims {
			gone[v.Job] = true
			of := w.rules.Of(w.ours[v.Job])
			if w.ours[v.Job].Spec.QOS != "back" || w.rules.Below(of, in) {
				t.Fatalf("it takes %+v, of account %s", v, w.ours[v.Job].Spec.Account)
			}
			for i := of; i >= 0 && !w.rules.Below(own, i); i = w.rules.Accounts[i].Above {
				if !g.Lent[i]["gres/gpu"][v.Job] {
					t.Fatalf("it takes %+v, which account %s is guaranteed", v, w.rules.Accounts[i].Account)
				}
			}
		}
		starts := func() bool {
			alone := federation.Snapshot{Now: w.now, Sites: w.without(gone), Jobs: []*federation.Job{j}}
			alone.Sites = slices.DeleteFunc(alone.Sites, func(s *federation.Site) bool { return s.Name != d.Offers[0].Site })
			d := Plan(alone, Policy{}).Decisions[0]
			return d.Bind && d.Offers[0].Start.Equal(w.now)
		}
		if !starts() {
			t.Fatalf("it cannot start though %s", d.Preempt.Text())
		}
		for _, v := range d.Preempt.Victims {
			delete(gone, v.Job)
			if starts() {
				t.Fatalf("it could start without the end of %d: %s", v.Job, d.Preempt.Text())
			}
			gone[v.Job] = true
		}
	}
	for range 50 { // one draw in twenty has somebody give something back
		if rapid.Check(t, check); back > 0 {
			break
		}
	}
	if back == 0 {
		t.Error("nobody has given anything back")
	}
}

// Who borrows from his siblings is within the guarantee of the account above them: others do not get that back, and he gets his own back from others.
func TestBorrowingInsideTheParent(t *testing.T) {
	victims := func(account string, gpus int) []federation.JobID {
		w := newShares(1, 2, map[string]int64{"p": 8, "a": 4, "b": 4, "c": 4})
		w.run(0, 1, "a", "back", 4, 3*time.Hour, 0)
		w.run(0, 2, "a", "back", 2, 2*time.Hour, 0) // borrowed from b
		w.run(0, 3, "d", "back", 2, time.Hour, 0)   // of what nobody is guaranteed
		w.run(0, 4, "d", "stays", 8, time.Minute, 1)
		d := Plan(w.snapshot(w.job(1000, account, 1, gpus)), Policy{}).Decisions[0]
		if d.Preempt == nil {
			return nil
		}
		var ids []federation.JobID
		for _, v := range d.Preempt.Victims {
			ids = append(ids, v.Job)
		}
		return ids
	}
	for _, c := range []struct {
		account string
		gpus    int
		want    []federation.JobID
	}{
		{"c", 2, []federation.JobID{3}},
		{"c", 4, nil}, // a's is not theirs
		{"b", 2, []federation.JobID{3}},
		{"b", 4, []federation.JobID{2, 3}},
		{"a", 2, []federation.JobID{3}}, // within p
		{"a", 4, nil},                   // 10 of 8
		{"d", 1, nil},
	} {
		if got := victims(c.account, c.gpus); !slices.Equal(got, c.want) {
			t.Errorf("for %d GPUs of account %s jobs %v make room, want %v", c.gpus, c.account, got, c.want)
		}
	}
}

// Jobs that come, go and are bound one after another: the world plans as a new one does.
func TestGuaranteesOverTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, nodes := drawShares(t)
		world := newWorldOf(&federation.Snapshot{Now: w.now, Sites: w.sites, Preempting: w.crowd.rules}, Policy{})
		guarantees := w.held()
		world.SetGuarantees(guarantees)
		var jobs []*federation.Job
		for i := range rapid.IntRange(1, 20).Draw(t, "steps") {
			if len(jobs) > 0 && rapid.IntRange(0, 3).Draw(t, "goes") == 0 {
				at := rapid.IntRange(0, len(jobs)-1).Draw(t, "which")
				world.DropJob(jobs[at].ID)
				jobs = slices.Delete(jobs, at, at+1)
			} else {
				j := w.job(1000+i, rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "asks"), rapid.IntRange(1, nodes).Draw(t, "nodes asked"), rapid.IntRange(1, 8).Draw(t, "GPUs asked"))
				jobs = append(jobs, j)
				world.SetJob(Waiting{Job: j})
			}
			switch rapid.IntRange(0, 5).Draw(t, "also") {
			case 0:
				world.Reorder()
			case 1:
				again := *guarantees
				guarantees = &again
				world.SetGuarantees(guarantees)
			case 2:
				world.Decide()
			}
			s := w.crowd.snapshot(jobs...)
			s.Guarantees = guarantees
			want := map[federation.JobID]decision.Decision{}
			for _, d := range Plan(s, Policy{}).Decisions {
				want[d.Job] = d
			}
			plan := world.Plan()
			if len(plan.Decisions) != len(jobs) {
				t.Fatalf("%d decisions about %d jobs", len(plan.Decisions), len(jobs))
			}
			for _, d := range plan.Decisions {
				if !reflect.DeepEqual(d, want[d.Job]) {
					t.Fatalf("job %d: %s\na new world: %s", d.Job, Explain(jobs[0], d), Explain(jobs[0], want[d.Job]))
				}
			}
		}
	})
}
