package health

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/reasons"
)

var testTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// pool is one pool of so many nodes, none of which is down.
func pool(n int) func(federation.NodeID) Standing {
	return func(id federation.NodeID) Standing {
		return Standing{Pool: string(id.Site) + "/main", Size: n, Site: n}
	}
}

func nth(i int) federation.NodeID {
	return federation.NodeID{Site: "alpha", Name: fmt.Sprintf("n%d", i)}
}

// died is the early death of a job on a node with an exit code of 1.
func died(at time.Time, job int, user, like string, on federation.NodeID) Ended {
	return Ended{At: at, Job: federation.JobID(job), User: user, Like: like, Site: on.Site, Nodes: []string{on.Name}, Blame: []string{on.Name}, Again: true,
		End: End{State: federation.Failed, Exit: 1 << 8, Ran: time.Second}}
}

func lived(at time.Time, job int, user, like string, on federation.NodeID) Ended {
	x := died(at, job, user, like, on)
	x.End = End{State: federation.Completed, Ran: 5 * time.Minute}
	x.Blame = nil
	return x
}

func TestClassify(t *testing.T) {
	soon, late := time.Second, time.Hour
	for _, c := range []struct {
		end      End
		class    federation.FailureClass
		code     Code
		doubtful bool
	}{
		{End{State: federation.Completed}, federation.ClassNone, "", false},
		{End{State: federation.Cancelled}, federation.ClassNone, "", false},
		{End{State: federation.NodeFail}, federation.ClassNode, CodeNodeFail, false},
		{End{State: federation.Preempted}, federation.ClassPreempt, CodePreempted, false},
		{End{State: federation.Timeout}, federation.ClassUser, CodeTimeout, false},
		{End{State: federation.OutOfMemory}, federation.ClassUser, CodeMemory, false},
		{End{State: federation.Failed, Exit: 1 << 8, Ran: soon}, federation.ClassUser, CodeExit, true},
		{End{State: federation.Failed, Exit: 1 << 8, Ran: late}, federation.ClassUser, CodeExit, false},
		{End{State: federation.Failed, Exit: 127 << 8, Ran: soon}, federation.ClassUser, CodeMount, true},
		{End{State: federation.Failed, Exit: 7, Ran: soon}, federation.ClassNode, CodeBus, true},
		{End{State: federation.Failed, Exit: 135 << 8, Ran: soon}, federation.ClassNode, CodeBus, true},
		{End{State: federation.Failed, Exit: 139 << 8, Ran: late}, federation.ClassUser, CodeSignal, false},
		{End{State: federation.Failed, Reason: reasons.LaunchFailure, Ran: soon}, federation.ClassNode, CodeLaunch, true},
		{End{State: federation.Failed, Exit: 1 << 8, Text: "NVRM: Xid (PCI:0000:17:00): 79, pid=1, GPU has fallen off the bus."}, federation.ClassNode, "xid-79", false},
		{End{State: federation.Failed, Exit: 1 << 8, Ran: late, Text: "NVRM: Xid (PCI:0000:17:00): 31, MMU Fault"}, federation.ClassUser, CodeExit, false},
		{End{State: federation.Failed, Exit: 1 << 8, Text: "RuntimeError: CUDA error: uncorrectable ECC error encountered"}, federation.ClassNode, CodeECC, false},
		{End{State: federation.Failed, Exit: 1 << 8, Text: "ncclInvalidUsage: This usually reflects invalid usage of NCCL library."}, federation.ClassUser, CodeNCCL, false},
		{End{State: federation.Failed, Exit: 1 << 8, Text: "ncclRemoteError: A call failed possibly due to a network error"}, federation.ClassNode, CodePeer, false},
	} {
		class, code, doubtful := Classify(c.end)
		if class != c.class || code != c.code || doubtful != c.doubtful {
			t.Errorf("%+v: %s %s %v, want %s %s %v", c.end, class, code, doubtful, c.class, c.code, c.doubtful)
		}
	}
}

// TestBlackHole: jobs of two users die at once on a node and live elsewhere. The first is believed to have failed by itself; it is named as a victim when
// the node is drained.
func TestBlackHole(t *testing.T) {
	e := NewEngine(Rules(), pool(20))
	now, bad := testTime, nth(0)
	var all []Finding
	for i := range 4 {
		user := []string{"alice", "bob"}[i%2]
		v, found := e.Ended(died(now, 100+i, user, user, bad))
		all = append(all, found...)
		if want := federation.ClassNode; i > 0 && v.Class != want {
			t.Fatalf("death %d: %+v, want class %s", i, v, want)
		}
		if i > 0 {
			now = now.Add(10 * time.Minute)
			_, found = e.Ended(lived(now, 100+i, user, user, nth(1+i)))
			all = append(all, found...)
		}
		now = now.Add(time.Second)
	}
	i := slices.IndexFunc(all, func(f Finding) bool { return f.Act == ActDrain })
	if i < 0 || all[i].Node != bad || !slices.Equal(all[i].Victims, []federation.JobID{100}) {
		t.Fatalf("no drain of %s with the victim 100:\n%+v", bad, all)
	}
	if e.Node(nth(2)) != nil {
		t.Fatal("a node where nothing failed is remembered")
	}
}

// TestManyVictims: those that died first are named too when many have died there before it is proven that the node is to blame.
func TestManyVictims(t *testing.T) {
	e := NewEngine(Rules(), pool(20))
	bad, now := nth(0), testTime
	const ended = 100
	for i := range ended { // like jobs, of which nothing tells that the node is to blame
		now = now.Add(time.Second)
		if v, _ := e.Ended(died(now, 100+i, "alice", "alice", bad)); v.Class != federation.ClassUser {
			t.Fatalf("death %d: %+v", i, v)
		}
	}
	var victims []federation.JobID
	for i, user := range []string{"bob", "carol"} {
		now = now.Add(time.Second)
		e.Ended(died(now, 500+i, user, user, bad))
		now = now.Add(10 * time.Minute)
		_, found := e.Ended(lived(now, 500+i, user, user, nth(1)))
		for _, f := range found {
			victims = append(victims, f.Victims...)
		}
	}
	if len(victims) != ended {
		t.Errorf("%d victims, want %d: %v", len(victims), ended, victims)
	}
	if n := e.Node(bad); len(n.Fails) > most {
		t.Errorf("%d failures are remembered", len(n.Fails))
	}
}

// TestSlow: a node on which jobs of two kinds take half as long again as on five others is suspected, and none of the others is. Jobs that did not complete, and
// kinds that take so long everywhere, say nothing.
func TestSlow(t *testing.T) {
	e := NewEngine(Rules(), pool(40))
	now, id, slow := testTime, 100, nth(0)
	run := func(kind string, on federation.NodeID, ran time.Duration, state federation.State) (found []Finding) {
		now, id = now.Add(time.Minute), id+1
		x := lived(now, id, "alice", kind, on)
		x.Ran, x.State = ran, state
		_, found = e.Ended(x)
		return found
	}
	for i := range 10 {
		for _, kind := range []string{"train", "eval"} {
			if found := run(kind, nth(1+i), 10*time.Minute, federation.Completed); len(found) > 0 {
				t.Fatalf("%+v", found)
			}
		}
	}
	var all []Finding
	for i := range 6 {
		all = append(all, run("train", slow, 14*time.Minute, federation.Completed)...) // not half as long again
		all = append(all, run("train", slow, time.Hour, federation.Timeout)...)
		all = append(all, run("rare", slow, time.Hour, federation.Completed)...)
		all = append(all, run("rare", nth(1+i%3), time.Minute, federation.Completed)...)
	}
	for range 6 { // one kind alone
		all = append(all, run("eval", slow, 16*time.Minute, federation.Completed)...)
	}
	if len(all) > 0 || e.Suspected(slow, now) {
		t.Fatalf("suspected too soon: %+v", all)
	}
	for i := range 10 {
		run("train", nth(1+i), 10*time.Minute, federation.Completed)
	}
	found := run("train", slow, 16*time.Minute, federation.Completed)
	if len(found) != 1 || found[0].Rule != "slow" || found[0].Act != ActSuspect || found[0].Node != slow || !e.Suspected(slow, now.Add(time.Hour)) || e.Suspected(slow, now.Add(5*time.Hour)) {
		t.Fatalf("%+v", found)
	}
	if s := e.Suspects(now); len(s) != 1 {
		t.Errorf("%d nodes are suspected", len(s))
	}
}

// TestUsersFault: a job that fails at once is its user's failure if nothing says otherwise, however often that happens.
func TestUsersFault(t *testing.T) {
	e := NewEngine(Rules(), pool(20))
	for i := range 200 { // tasks of one array with a mistake
		v, found := e.Ended(died(testTime.Add(time.Duration(i)*time.Second), 100+i, "alice", "array 1", nth(i%20)))
		if v.Class != federation.ClassUser || len(found) > 0 {
			t.Fatalf("task %d: %+v %+v", i, v, found)
		}
	}
}

// TestPoison: a job that fails on two nodes where others live is held; where nobody has shown that the nodes work, on a third.
func TestPoison(t *testing.T) {
	for _, others := range []bool{true, false} {
		e := NewEngine(Rules(), pool(20))
		now := testTime
		held := 0
		for i := 1; i <= 3 && held == 0; i++ {
			x := died(now, 7, "eve", "eve", nth(i))
			x.Exit = 7
			v, found := e.Ended(x)
			for _, f := range found {
				if f.Act == ActHold {
					held = i
				} else if f.Act == ActDrain || f.Act == ActSuspect && f.Until.After(now) {
					t.Fatalf("a node is blamed: %+v", f)
				}
			}
			if v.Class != federation.ClassNode {
				t.Fatalf("%+v", v)
			}
			if now = now.Add(time.Minute); others {
				e.Ended(lived(now, 1000+i, "bob", "bob", nth(i)))
				e.Ended(lived(now, 1100+i, "bob", "bob", nth(i+1)))
			}
		}
		if want := map[bool]int{true: 3, false: 3}[others]; held == 0 || held > want {
			t.Fatalf("others live: %v: held after %d nodes, want %d", others, held, want)
		}
	}
}

// TestEveryNode: a rule that matches every node drains its limit, and its breaker opens, once, and stays open over a restart until it is reset.
func TestEveryNode(t *testing.T) {
	e := NewEngine(Rules(), pool(100))
	drained, tripped := 0, 0
	check := func(i int, now time.Time) {
		for _, f := range e.Checked(nth(i), []Check{{Code: "check-gpu", Text: "Xid 79"}}, now) {
			if f.Act == ActDrain && f.Denied == "" {
				drained++
			}
			if f.Trips {
				tripped++
			}
		}
	}
	for i := range 100 {
		check(i, testTime.Add(time.Duration(i)*time.Second))
	}
	if drained != 2 || tripped != 1 {
		t.Fatalf("%d drains and %d breakers, want 2 and 1", drained, tripped)
	}
	again := NewEngine(Rules(), pool(100))
	again.Load(e.Nodes(), nil, e.Breakers())
	e = again
	for i := range 100 {
		check(i, testTime.Add(3*time.Hour))
	}
	if drained != 2 {
		t.Fatalf("%d drains, want no more than 2 while the breaker is open", drained)
	}
	if closed := e.Reset("", testTime.Add(4*time.Hour)); !slices.Equal(closed, []string{"gpu-broken"}) {
		t.Fatalf("closed %v", closed)
	}
	for i := range 100 {
		if found := e.judge(nth(i), testTime.Add(4*time.Hour)); len(found) > 0 {
			t.Fatalf("what was seen before the reset is acted on: %+v", found)
		}
	}
	check(50, testTime.Add(5*time.Hour))
	if drained != 3 {
		t.Fatalf("%d drains, want 3: after the reset what is new counts", drained)
	}
}

// TestLimits: whatever comes, no rule drains more of a pool within an hour than its limit, none drains more of a site than a twentieth, no more than a tenth of a
// pool is suspected, and equal calls give equal findings.
func TestLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(t, "nodes")
		one, two := NewEngine(Rules(), pool(size)), NewEngine(Rules(), pool(size))
		now := testTime
		byRule, all := map[string][]time.Time{}, []time.Time{}
		within := func(list []time.Time) (n int) {
			for _, at := range list {
				if now.Sub(at) < time.Hour {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "gap")) * time.Second)
			on := nth(rapid.IntRange(0, size-1).Draw(t, "node"))
			job := rapid.IntRange(1, 30).Draw(t, "job")
			user := fmt.Sprint("u", job%4)
			x := died(now, job, user, user, on)
			what := rapid.SampledFrom([]string{"dies", "bus", "down", "lives", "check"}).Draw(t, "what")
			switch what {
			case "bus":
				x.Exit = 7
			case "down":
				x.State = federation.NodeFail
			case "lives":
				x = lived(now, job, user, user, on)
			}
			var found, same []Finding
			if what == "check" {
				found, same = one.Checked(on, []Check{{Code: "check-gpu", Text: "Xid 79"}}, now), two.Checked(on, []Check{{Code: "check-gpu", Text: "Xid 79"}}, now)
			} else {
				_, found = one.Ended(x)
				_, same = two.Ended(x)
			}
			if fmt.Sprint(found) != fmt.Sprint(same) {
				t.Fatalf("equal calls, different findings:\n%+v\n%+v", found, same)
			}
			for _, f := range found {
				if f.Act == ActDrain && f.Denied == "" {
					byRule[f.Rule], all = append(byRule[f.Rule], now), append(all, now)
				}
			}
			for name, list := range byRule {
				if r := one.rule(name); within(list) > r.limit(size) {
					t.Fatalf("rule %s drained %d of %d nodes within an hour", name, within(list), size)
				}
			}
			if within(all) > siteLimit(size) {
				t.Fatalf("%d of %d nodes drained within an hour", within(all), size)
			}
			if n := len(one.Suspects(now)); n > max(1, size/10) || size == 1 && n > 0 {
				t.Fatalf("%d of %d nodes are suspected", n, size)
			}
		}
	})
}

// TestNoGoodNode: poison jobs and good ones run on nodes of which one kills all its jobs. Whatever the order, no other node is drained.
func TestNoGoodNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 20
		e := NewEngine(Rules(), pool(size))
		now := testTime
		poison := func(job int) bool { return job%3 == 0 }
		over := map[int]bool{}
		for range rapid.IntRange(50, 600).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "gap")) * time.Second)
			job := rapid.IntRange(1, 150).Draw(t, "job")
			on := nth(rapid.IntRange(0, size-1).Draw(t, "node"))
			if over[job] || slices.Contains(e.Avoid(federation.JobID(job), "alpha"), on.Name) || e.Suspected(on, now) || e.Node(on) != nil && e.Node(on).Drain != "" {
				continue
			}
			user := fmt.Sprint("u", job%5)
			x := lived(now, job, user, user, on)
			if poison(job) || on == nth(0) {
				x = died(now, job, user, user, on)
				if poison(job) {
					x.Exit = 7
				}
			}
			v, found := e.Ended(x)
			over[job] = v.Class != federation.ClassNode && v.Class != federation.ClassSite
			for _, f := range found {
				if f.Act == ActDrain && f.Denied == "" && f.Node != nth(0) {
					t.Fatalf("a good node is drained: %+v", f)
				}
				if f.Act == ActHold {
					over[job] = true
					if !poison(int(f.Job)) {
						t.Fatalf("a good job is held: %+v", f)
					}
				}
				if f.Act == ActEnd && !poison(int(f.Job)) {
					t.Fatalf("a good job ends: %+v", f)
				}
			}
		}
	})
}

func TestOverrides(t *testing.T) {
	rules, err := WithOverrides(map[string]Override{"kills-jobs": {Act: ActSuspect, Jobs: 4}, "poison": {Act: ActEnd}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == "kills-jobs" })
	if r := rules[i]; r.Act != ActSuspect || r.Jobs != 4 || r.For == 0 || r.Users != 2 {
		t.Fatalf("%+v", r)
	}
	for name, o := range map[string]Override{"nothing": {}, "poison": {Act: ActDrain}, "lemon": {Act: ActHold}, "slow": {Jobs: -1}, "kills-nodes": {Jobs: 3}} {
		if _, err := WithOverrides(map[string]Override{name: o}); err == nil {
			t.Errorf("%s %+v: no error", name, o)
		}
	}
}

// TestOneUserDrainsNothing: a user chooses how his jobs end, and where. He has no node drained by that and opens no breaker, whatever he does; the nodes are
// avoided for a while, a tenth of them at most.
func TestOneUserDrainsNothing(t *testing.T) {
	e := NewEngine(Rules(), pool(20))
	now, suspected := testTime, 0
	for on := range 5 {
		for job := range 6 {
			x := died(now, 100+10*on+job, "bob", fmt.Sprint("bob", job), nth(on))
			x.Exit = 7 // SIGBUS, which he sends himself
			_, found := e.Ended(x)
			now = now.Add(2 * time.Minute)
			_, more := e.Ended(lived(now, 100+10*on+job, "bob", fmt.Sprint("bob", job), nth(10+on)))
			for _, f := range append(found, more...) {
				if f.Act == ActDrain || f.Trips {
					t.Fatalf("%+v", f)
				}
			}
			suspected = max(suspected, len(e.Suspects(now)))
		}
	}
	if suspected == 0 || suspected > 2 {
		t.Errorf("%d nodes were suspected at once, want 1 or 2", suspected)
	}
	// A broken node is drained as ever: the rule is not switched off.
	bad, drained := nth(19), false
	for i, user := range []string{"alice", "carol", "bob"} {
		e.Ended(died(now, 500+i, user, user, bad))
		now = now.Add(2 * time.Minute)
		_, found := e.Ended(lived(now, 500+i, user, user, nth(15)))
		drained = drained || slices.ContainsFunc(found, func(f Finding) bool { return f.Act == ActDrain && f.Denied == "" && f.Node == bad })
	}
	if !drained {
		t.Errorf("%s is not drained: %+v", bad, e.Node(bad))
	}
}

// TestFailingScripts: scripts that fail at once are daily life. Only where whatever starts fails, of several users, is a node suspected for it.
func TestFailingScripts(t *testing.T) {
	e := NewEngine(Rules(), pool(20))
	on, now := nth(1), testTime
	fails := func(job int, user string) []Finding {
		now = now.Add(10 * time.Second)
		x := died(now, job, user, fmt.Sprint(user, " job", job), on)
		x.Again = false
		_, found := e.Ended(x)
		return found
	}
	for job, user := range []string{"alice", "bob", "alice", "alice"} {
		if found := fails(1+job, user); len(found) > 0 {
			t.Fatalf("after %d jobs: %+v", job+1, found)
		}
	}
	found := fails(5, "alice")
	if len(found) != 1 || found[0].Rule != "black-hole" || found[0].Act != ActSuspect || found[0].Node != on {
		t.Errorf("after 5 jobs: %+v", found)
	}
	e.Ended(lived(now, 6, "carol", "carol", on))
	if e.Suspected(on, now) {
		t.Error("it is suspected although a job has lived there")
	}
}
