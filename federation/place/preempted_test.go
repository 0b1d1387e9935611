package place

import (
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/demand"
	"fsub/federation/reasons"
)

// While a job is about to come back to the queue that makes room for another one, nobody who comes after it is sent to wait for nodes that it could
// have, however fast jobs end there; for other nodes of the site they are.
func TestVictimKeepsItsPlace(t *testing.T) {
	w := newCrowd(1, 2)
	obs := w.sites[0].Seen
	obs.Partitions[0].Nodes = []string{obs.Nodes[0].Name}
	obs.Partitions = append(obs.Partitions, federation.Partition{Name: "b", Up: true, State: "UP", Nodes: []string{obs.Nodes[1].Name}})
	obs.Nodes[1].Partitions = []string{"b"}
	w.sites[0].Pools = Pools("s00", obs)
	w.run(0, 1, "low", 8, time.Hour, 0)
	w.run(0, 2, "", 8, time.Hour, 1)
	w.sites[0].Ahead = 4
	victim, high, after, apart := w.ours[1], highJob(1000, 1, 2, "high"), highJob(1001, 1, 8, "low"), highJob(1002, 1, 8, "low")
	apart.Spec.Partition = "b"
	apart.Demand = demand.Of(apart.Spec)
	world := newWorldOf(&federation.Snapshot{Now: w.now, Sites: w.sites, Jobs: []*federation.Job{after, apart}, Preempting: w.rules}, Policy{})
	sent := func() (sent []federation.JobID) {
		for _, d := range world.Plan().Decisions {
			if d.Bind {
				sent = append(sent, d.Job)
			}
		}
		return sent
	}
	want := func(when string, want ...federation.JobID) {
		t.Helper()
		if got := sent(); !slices.Equal(got, want) {
			t.Fatalf("%s jobs %d are sent there, want %d", when, got, want)
		}
	}
	want("before", after.ID, apart.ID)
	world.SetJob(Waiting{Job: high})
	if d := world.Plan().Decisions; d[0].Job != high.ID || d[0].Preempt == nil || !slices.Equal(sent(), []federation.JobID{high.ID, apart.ID}) {
		t.Fatalf("with the decision that it makes room jobs %d are sent there, want %d", sent(), []federation.JobID{high.ID, apart.ID})
	}
	world.DropJob(high.ID)
	world.Claim("s00", federation.Bound{Job: victim, Units: 1, Since: w.now})
	world.Claim("s00", federation.Bound{Job: high, Units: 1, Since: w.now, Preempt: &decision.Preemption{At: w.now, Victims: []decision.Victim{{Job: 1}}}})
	want("while the victim runs on", apart.ID)
	world.SetSite(w.without(map[federation.JobID]bool{1: true})[0])
	world.Release("s00", victim.ID)
	want("when it is back", after.ID, apart.ID)
	refused := func(why codes.Code) map[federation.SiteName]decision.Rejection {
		return map[federation.SiteName]decision.Rejection{"s00": {Reason: reasons.BeginTime, Why: codes.Because(why, "")}}
	}
	world.SetJob(Waiting{Job: victim, Refused: refused(codes.MadeRoom)})
	want("while the site remembers its run", apart.ID)
	world.SetJob(Waiting{Job: victim, Refused: refused(codes.RunBefore)})
	want("where its user has queued it again", after.ID, apart.ID)
	world.SetJob(Waiting{Job: victim})
	if got := sent(); len(got) == 0 || got[0] != victim.ID {
		t.Fatalf("it may go there again, and jobs %d are sent", got)
	}
}
