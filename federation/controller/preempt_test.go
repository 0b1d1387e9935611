package controller

import (
	"fmt"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/action"
	"fsub/federation/codes"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// seized is a bench where a job of QOS low, whose grace is half a minute, runs on the only node, and was told to make room for one of QOS high.
func seized(t *testing.T, mode string) (b *bench, tree treeOf, victim, other federation.JobID) {
	t.Helper()
	b = newBench(t)
	empty, _ := accounts.New(nil)
	full, _, err := empty.Apply([]accounts.Edit{
		{Op: accounts.Add, Key: accounts.QOSKey("low"), Set: map[string]string{"PreemptMode": mode, "GraceTime": "30"}},
		{Op: accounts.Add, Key: accounts.QOSKey("high"), Set: map[string]string{"Preempt": "low", "Priority": "100"}},
	}, accounts.Editor{Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	tree = treeOf{full}
	b.cheap.nodes, b.dear.nodes, b.dear.state, b.cheap.shows = 1, 1, "DOWN", true
	b.limited(tree)
	b.rounds(3)
	victim = b.submit(func(s *sbatch.Spec) { s.GPUsPerNode, s.QOS = "4", "low" })
	b.wait(2 * time.Second)
	b.cheap.start(victim)
	b.wait(5 * time.Second)
	other = b.submit(func(s *sbatch.Spec) { s.GPUsPerNode, s.QOS = "4", "high" })
	b.wait(5 * time.Second)
	if a := b.attempts(victim); a[0].Class != federation.ClassPreempt || len(b.cheap.signals) != 1 {
		t.Fatalf("job %d was not told to make room: %+v, signals %v", victim, a, b.cheap.signals)
	}
	return b, tree, victim, other
}

// vacate lets the grace of a job that makes room pass, and has its run end.
func (b *bench) vacate(victim federation.JobID) {
	b.t.Helper()
	b.wait(40 * time.Second)
	if b.job(victim).Restarts == 0 {
		b.cheap.end(victim, federation.Cancelled)
		b.wait(2 * time.Second)
	}
}

// What a victim had done is booked as to be done again, though its site says that it was cancelled.
func TestVictimsRunIsLost(t *testing.T) {
	b, tree, victim, _ := seized(t, "requeue")
	b.vacate(victim)
	all := b.charges(victim)
	if j := b.job(victim); j.Restarts != 1 || j.State.Ended() || len(all) != 1 || all[0].State != federation.Requeued {
		t.Errorf("it is %s with %d restarts, charged %+v", j.State, j.Restarts, all)
	}
	for _, who := range []string{"this", "the next"} { // what it has made room for is to hold back those behind it
		if no := b.ctl.jobs.Of(victim).refused["cheap"]; !no.Is(codes.MadeRoom) {
			t.Errorf("to %s daemon it is kept away by %+v", who, no)
		}
		b.limited(tree)
	}
}

// A victim that its site takes again comes before a job that was submitted after it.
func TestVictimComesBackFirst(t *testing.T) {
	b, _, victim, other := seized(t, "requeue")
	after := b.submit(func(s *sbatch.Spec) { s.GPUsPerNode, s.QOS = "4", "low" })
	b.vacate(victim)
	b.cheap.start(other)
	b.wait(90 * time.Second)
	delete(b.cheap.jobs, victim) // whose number it does not remember any more
	b.want(after, federation.Pending, reasons.Resources, "")
	b.cheap.end(other, federation.Completed)
	b.wait(5 * time.Second)
	if j, k := b.job(victim), b.job(after); j.Site != "cheap" || k.Site != "" {
		t.Errorf("the victim is %s (%s) at %q, the other %s (%s) at %q", j.State, j.Reason, j.Site, k.State, k.Reason, k.Site)
	}
}

// A site remembers a victim for longer than we wait: it holds back those behind it for as long.
func TestRememberedVictimHasMadeRoom(t *testing.T) {
	b, _, victim, other := seized(t, "requeue")
	b.vacate(victim)
	b.cheap.start(other)
	b.wait(2 * time.Second)
	b.cheap.end(other, federation.Completed)
	for asked := 2; asked <= 3; asked++ {
		b.wait(time.Minute + 2*time.Second)
		if n := len(b.attempts(victim)); n != asked {
			t.Fatalf("%d attempts; want %d", n, asked)
		}
		if no := b.ctl.jobs.Of(victim).refused["cheap"]; !no.Is(codes.MadeRoom) {
			t.Errorf("after attempt %d it is kept away by %+v", asked, no)
		}
	}
}

// Who runs on because nobody needs its room any more fails as any other job does, with the next daemon too.
func TestSparedVictimIsNoVictim(t *testing.T) {
	for _, restart := range []string{"never", "before", "after"} {
		t.Run(restart, func(t *testing.T) {
			b, tree, victim, other := seized(t, "requeue")
			if restart == "before" {
				b.limited(tree)
				b.wait(time.Second)
			}
			b.request(action.Request{Job: other, Kind: action.Cancel, UID: 7001})
			b.rounds(2)
			if restart == "after" { // it knows nothing of the other job
				b.wait(2 * time.Second)
				b.limited(tree)
			}
			b.wait(time.Minute)
			if a := b.attempts(victim); a[0].Class != federation.ClassNone || a[0].Code != "" || a[0].State != federation.AttemptStarted {
				t.Errorf("spared, its attempt is %+v", a[0])
			}
			b.cheap.end(victim, federation.Failed)
			b.wait(2 * time.Second)
			b.want(victim, federation.Failed, "", "cheap")
		})
	}
}

// Its end because of the signal is a preemption, even if nobody needs its room any more by then.
func TestSparedVictimEndsOfItsSignal(t *testing.T) {
	for mode, state := range map[string]federation.State{"requeue": federation.Pending, "cancel": federation.Preempted} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(mode, restart), func(t *testing.T) {
				b, tree, victim, other := seized(t, mode)
				b.request(action.Request{Job: other, Kind: action.Cancel, UID: 7001})
				b.wait(2 * time.Second)
				if restart {
					b.limited(tree)
				}
				b.wait(10 * time.Second)
				b.cheap.state = "DOWN"
				b.cheap.end(victim, federation.Failed)
				b.wait(5 * time.Second)
				if j, a := b.job(victim), b.attempts(victim); j.State != state || a[0].Final != federation.Preempted {
					t.Errorf("job %s, attempt %+v", j.State, a[0])
				}
			})
		}
	}
}

// One whose grace is over is requeued; its next run is no victim's.
func TestVictimIsRequeued(t *testing.T) {
	b, _, victim, other := seized(t, "requeue")
	b.wait(40 * time.Second)
	b.cheap.start(other)
	b.wait(5 * time.Second)
	b.want(other, federation.Running, "", "cheap")
	if j := b.job(victim); j.State != federation.Pending || j.Restarts != 1 {
		t.Fatalf("the victim is %s after %d restarts", j.State, j.Restarts)
	}
	b.cheap.end(other, federation.Completed)
	delete(b.cheap.jobs, victim)
	b.wait(2 * time.Minute)
	b.cheap.start(victim)
	b.wait(2 * time.Second)
	b.cheap.end(victim, federation.Failed)
	b.wait(2 * time.Second)
	b.want(victim, federation.Failed, "", "cheap")
}

// What an account has borrowed is given back to one that is guaranteed it: by the end of the job that was bound last, if its QOS may be preempted, and else
// when that has ended.
func TestBorrowedIsGivenBack(t *testing.T) {
	for mode, gives := range map[string]bool{"requeue": true, "off": false} {
		t.Run(mode, func(t *testing.T) {
			b := newBench(t)
			empty, _ := accounts.New(nil)
			full, _, err := empty.Apply([]accounts.Edit{
				{Op: accounts.Add, Key: accounts.QOSKey("normal"), Set: map[string]string{"PreemptMode": mode}},
				{Op: accounts.Add, Key: accounts.AccountKey("own"), Set: map[string]string{"Guarantee": "gres/gpu=4"}},
				{Op: accounts.Add, Key: accounts.AccountKey("other")},
				{Op: accounts.Add, Key: accounts.UserKey("own", "alice")}, {Op: accounts.Add, Key: accounts.UserKey("other", "alice")},
			}, accounts.Editor{Operator: true})
			if err != nil {
				t.Fatal(err)
			}
			b.cheap.nodes, b.dear.nodes, b.dear.state, b.cheap.shows = 1, 1, "DOWN", true
			b.limited(treeOf{full})
			b.rounds(3)
			of := func(account string) federation.JobID {
				return b.submit(func(s *sbatch.Spec) { s.GPUsPerNode, s.Account = "4", account })
			}
			borrows := of("other")
			b.wait(2 * time.Second)
			b.cheap.start(borrows)
			b.wait(5 * time.Second)
			waits, own := of("other"), of("own")
			b.wait(10 * time.Second)
			if j := b.job(borrows); (j.State != federation.Running) != gives {
				t.Fatalf("the job that borrows is %s", j.State)
			}
			if gives {
				b.want(own, federation.Pending, "", "cheap")
			} else {
				b.cheap.end(borrows, federation.Completed)
				b.wait(5 * time.Second)
				b.want(own, federation.Pending, "", "cheap")
			}
			if !gives {
				return
			}
			b.want(waits, federation.Pending, "", "")
		})
	}
}

// A site that counts a restart while the run before it still comes to its end has queued the job again once.
func TestRestartCountsOnce(t *testing.T) {
	b := newBench(t)
	b.rounds(3)
	id := b.submit(nil)
	b.wait(2 * time.Second)
	b.cheap.start(id)
	b.wait(5 * time.Second)
	j := b.cheap.jobs[id]
	j.Restarts, j.State, j.Completing = 1, federation.Completing, true
	b.wait(5 * time.Second)
	j.State, j.Completing, j.Start, j.Submit = federation.Pending, false, time.Time{}, b.clock
	b.wait(5 * time.Second)
	if got := b.job(id); got.Restarts != 1 || got.State != federation.Pending {
		t.Errorf("it is %s with %d restarts: %s", got.State, got.Restarts, b.history(id))
	}
}

// While the run that was requeued comes to its end, 22.05 shows when it expects the next one to start, and that the job is completing, not that it is pending.
func TestRestartCountsOnceWithExpectedStart(t *testing.T) {
	for _, first := range []bool{false, true} { // whether the restart is told with that
		b := newBench(t)
		b.rounds(3)
		id := b.submit(nil)
		b.wait(2 * time.Second)
		b.cheap.start(id)
		b.wait(5 * time.Second)
		began := b.job(id).Start
		j := b.cheap.jobs[id]
		j.Restarts, j.State = 1, federation.Completing
		if !first {
			b.wait(5 * time.Second)
		}
		j.Start = b.clock.Add(time.Minute)
		b.wait(5 * time.Second)
		if got := b.job(id); !got.Start.Equal(began) {
			t.Errorf("%v: it started at %s, want %s", first, got.Start, began)
		}
		j.State, j.Start, j.Submit = federation.Pending, time.Time{}, b.clock
		b.wait(5 * time.Second)
		if got := b.job(id); got.Restarts != 1 || got.State != federation.Pending {
			t.Errorf("%v: it is %s with %d restarts: %s", first, got.State, got.Restarts, b.history(id))
		}
		j.State, j.Start = federation.Running, b.clock
		b.wait(5 * time.Second)
		if got := b.job(id); got.Restarts != 1 || got.State != federation.Running || !got.Start.Equal(j.Start) {
			t.Errorf("%v: it is %s since %s with %d restarts: %s", first, got.State, got.Start, got.Restarts, b.history(id))
		}
	}
}
