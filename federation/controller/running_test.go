package controller

import (
	"testing"
	"time"

	"fsub/federation"
)

// What a run that goes on has come to is what it is charged if it ends at that moment: plain, suspended before and while it is asked, and of each task of an array that its site has
// whole, those that have ended among them.
func TestRunningIsWhatIsCharged(t *testing.T) {
	for name, prepare := range map[string]func(*bench) (id federation.JobID, end func()){
		"plain": func(b *bench) (federation.JobID, func()) {
			id := b.running()
			b.wait(50 * time.Minute)
			return id, func() { b.cheap.end(id, federation.Completed) }
		},
		"suspended before": func(b *bench) (federation.JobID, func()) {
			id := b.running()
			b.wait(time.Hour)
			b.cheap.jobs[id].Suspension = federation.Suspension{At: b.clock.Add(-20 * time.Minute), Ran: 30 * time.Minute}
			b.wait(time.Minute)
			return id, func() { b.cheap.end(id, federation.Failed) }
		},
		"tasks": func(b *bench) (federation.JobID, func()) {
			id := b.handedOver("3-5")
			b.cheap.start(id)
			j := b.cheap.jobs[id]
			for i := range 3 {
				j.Tasks = append(j.Tasks, federation.SiteTask{Index: 3 + i, SiteJobID: uint32(900 + i), State: federation.Running, Start: j.Start, Nodes: "n1"})
			}
			b.wait(30 * time.Minute)
			j.Tasks[1].State, j.Tasks[1].End = federation.Completed, b.clock.Add(-10*time.Minute)
			b.wait(10 * time.Second)
			return id, func() {
				for i := range j.Tasks {
					if !j.Tasks[i].State.Ended() {
						j.Tasks[i].State, j.Tasks[i].End = federation.Completed, b.clock
					}
				}
				b.cheap.end(id, federation.Completed)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			id, end := prepare(b)
			if all := b.charges(id); len(all) > 0 {
				t.Fatalf("charged already: %+v", all)
			}
			open := map[int]federation.Charge{}
			for _, r := range b.ctl.forecasts.running() {
				open[int(r.Task)] = r.Charge
			}
			end()
			b.rounds(4)
			all := b.charges(id)
			if len(all) != len(open) || len(all) == 0 {
				t.Fatalf("%d runs go on, %d are charged", len(open), len(all))
			}
			for _, want := range all {
				got := open[int(want.Task)]
				if got.Amount == 0 || want.Amount == 0 {
					t.Errorf("nothing is paid: %+v, %+v", got, want)
				}
				got.State, got.Cluster, got.End = want.State, want.Cluster, got.End.In(want.End.Location())
				if d := want.End.Sub(got.End); d < 0 || d > time.Second {
					t.Errorf("it ends at %v, asked for at %v", want.End, got.End)
				}
				got.End = want.End
				if got != want {
					t.Errorf("%+v\nwant %+v", got, want)
				}
			}
		})
	}
}
