package controller

import (
	"context"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// checkCharges holds at the end of every test of a bench: what a job costs is what its charges come to.
func (b *bench) checkCharges() {
	jobs, err := b.store.Jobs(context.Background(), federation.JobQuery{})
	if err != nil {
		b.t.Error(err)
	}
	for i := range jobs {
		sum := federation.Money(0)
		for _, k := range b.charges(jobs[i].ID) {
			sum += k.Amount
		}
		if j := &jobs[i]; j.Cost != sum && (j.Whole == nil || j.State.Ended()) { // the tasks of one that is spread are added when they have ended
			b.t.Errorf("job %d cost $%s, and its charges come to $%s", j.ID, j.Cost, sum)
		}
	}
}

func (b *bench) charges(id federation.JobID) []federation.Charge {
	b.t.Helper()
	all, err := b.store.Charges(context.Background(), federation.ChargeQuery{Job: id})
	if err != nil {
		b.t.Error(err)
	}
	return all
}

// A charge has all that books need: who, what, where, how long and at which price.
func TestChargeOfARun(t *testing.T) {
	b := newBench(t)
	id := b.submit(nil)
	b.rounds(4)
	b.cheap.start(id)
	sj := b.cheap.jobs[id]
	sj.Account, sj.QOS, sj.Partition = "physics", "normal", "main"
	b.rounds(4)
	if all := b.charges(id); len(all) != 0 {
		t.Errorf("charged while it runs: %+v", all)
	}
	b.clock = sj.Start.Add(2 * time.Hour)
	sj.Suspension = federation.Suspension{At: b.clock.Add(-time.Hour), Ran: 30 * time.Minute} // suspended for half an hour
	b.cheap.end(id, federation.Failed)
	b.restart()
	b.rounds(4)
	want := federation.Charge{Job: id, Key: b.attempts(id)[0].Key, Attempt: 1, Run: 1, Site: "cheap", Cluster: "fake", User: "alice", Nodes: "n1", State: federation.Failed,
		Held:  federation.Held{Account: "physics", QOS: "normal", Partition: "main", TRES: sj.TRES, PricePerHour: 2 * federation.Dollar},
		Start: sj.Start, End: sj.End, Suspended: 30 * time.Minute, From: federation.PriceTable, Amount: 3 * federation.Dollar}
	if all := b.charges(id); len(all) != 1 || all[0] != want {
		t.Errorf("got %+v\nwant %+v", all, want)
	}
	b.rounds(20)
	if all := b.charges(id); len(all) != 1 {
		t.Errorf("later: %+v", all)
	}
}

// A run that its site ends to queue the job again is charged in the round that sees it, at what it held then; one that is lost is on record without a price.
func TestChargesOfEachRun(t *testing.T) {
	b := newBench(t)
	id := b.running()
	b.wait(10 * time.Minute)
	j := b.cheap.jobs[id]
	held := j.TRES
	j.Restarts, j.State, j.Start, j.Nodes, j.TRES, j.Submit = 1, federation.Pending, time.Time{}, "", "", b.clock
	b.wait(time.Second)
	if all := b.charges(id); len(all) != 1 || all[0].State != federation.Requeued || all[0].TRES != held || all[0].Amount != b.job(id).Cost || all[0].Amount == 0 {
		t.Fatalf("after the requeue: %+v", all)
	}
	b.restart()
	b.cheap.start(id)
	b.wait(time.Second)
	delete(b.cheap.jobs, id) // its site loses it
	b.wait(time.Minute)
	all := b.charges(id)
	if len(all) != 2 || all[1].Run != 2 || all[1].From != federation.PriceNone || all[1].Amount != 0 || all[1].TRES != held || all[1].State != federation.NodeFail {
		t.Fatalf("after it was lost: %+v", all)
	}
	if a := b.attempts(id)[0]; a.Charged != 2 || a.Cost != all[0].Amount {
		t.Errorf("the attempt: %+v", a)
	}
}

// Each task of an array that a site has whole has a charge of its own.
func TestChargesOfTasks(t *testing.T) {
	b := newBench(t)
	id := b.handedOver("3-5")
	b.cheap.start(id)
	j := b.cheap.jobs[id]
	for i := range 3 {
		j.Tasks = append(j.Tasks, federation.SiteTask{Index: 3 + i, State: federation.Completed, Nodes: "n1", Start: j.Start, End: j.Start.Add(time.Hour)})
	}
	j.Tasks[2].State, j.Tasks[2].Start = federation.Cancelled, time.Time{} // it never ran
	b.cheap.end(id, federation.Completed)
	b.rounds(4)
	all := b.charges(id)
	if len(all) != 2 || all[0].Task != 3 || all[1].Task != 4 || all[0].Array != id || all[1].Amount != 2*federation.Dollar || b.job(id).Cost != 4*federation.Dollar {
		t.Errorf("%+v", all)
	}
}

// A component's runs are charged to it, also one whose end only its leader tells.
func TestChargesOfComponents(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Het = []sbatch.Spec{{Name: "y", TimeLimit: time.Hour, WorkDir: "/"}} })
	b.rounds(4)
	b.cheap.startAll(id)
	b.rounds(4)
	b.clock = b.cheap.jobs[id].Start.Add(time.Hour)
	b.cheap.end(id, federation.NodeFail)
	b.rounds(4)
	for k := range federation.JobID(2) {
		if all := b.charges(id + k); len(all) != 1 || all[0].Job != id+k || all[0].Amount != 2*federation.Dollar || all[0].Key != b.attempts(id)[0].Key {
			t.Errorf("component %d: %+v", k, all)
		}
	}
}
