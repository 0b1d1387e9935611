package slurm

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// crowd returns the rows of one job of ours for each state.
func crowd(states ...string) map[number][]row {
	mine := map[number][]row{}
	for i, s := range states {
		r := row{id: int64(federation.FirstJobID) + int64(i), state: wire.Strings{s}}
		mine[number(r.id)] = []row{r}
	}
	return mine
}

// Of a crowd those are read at once that have ended; what runs is read when it has run for some looks, whatever comes after it.
func TestCrowdIsReadWhenItHasEnded(t *testing.T) {
	states := slices.Repeat([]string{"RUNNING"}, 30)
	states[3] = "COMPLETED"
	mine := crowd(states...)
	m := &mark{}
	for look := range 5 {
		changed := m.changed(mine)
		now, later := m.postpone(changed, mine, false)
		ended := slices.Contains(now, number(federation.FirstJobID)+3)
		switch {
		case look == 0 && (len(now) != 1 || !ended), look == 1 && len(now) != 0:
			t.Errorf("look %d reads %v", look, now)
		case look == 2 && len(now) != notEndedMost, look == 3 && len(now) != 29-notEndedMost:
			t.Errorf("look %d reads %d jobs", look, len(now))
		case look == 4 && len(changed) != 0:
			t.Errorf("still changed: %v", changed)
		}
		next := m.clone()
		next.see(mine)
		for _, id := range later {
			if begun := next.putOff(id, m, mine[id], time.Now()); begun != (look == 0) {
				t.Errorf("look %d tells that %d has begun: %v", look, id, begun)
			}
		}
		m = next
	}
}

// Those that merely wait where they were sent come to their turn with all that wait.
func TestCrowdThatWaits(t *testing.T) {
	mine := crowd(slices.Repeat([]string{"PENDING"}, 30)...)
	m := &mark{}
	at := time.Unix(1000, 0)
	now, later := m.postpone(m.changed(mine), mine, false)
	if len(now) > 0 || len(later) != 30 {
		t.Fatalf("reads %v", now)
	}
	next := m.clone()
	next.see(mine)
	for _, id := range later {
		next.putOff(id, m, mine[id], at)
	}
	if changed := next.changed(mine); len(changed) > 0 {
		t.Errorf("changed: %v", changed)
	}
	if again := next.stale(mine, nil, at.Add(waitingAge)); len(again) != waitingMost {
		t.Errorf("read again: %v", again)
	}
}

func TestCrowdThatHoldsNodes(t *testing.T) {
	ids := make([]int64, 30)
	for i := range ids {
		ids[i] = int64(i)
	}
	at := time.Unix(1000, 0)
	read, others := begun(nil).ripe(ids, false, at)
	if len(read) > 0 || len(others) != 30 {
		t.Errorf("reads %v", read)
	}
	if read, others = others.ripe(append(ids, 99), false, at.Add(unreadFor)); len(read) != 30 || len(others) != 1 {
		t.Errorf("later reads %v, leaves %v", read, others)
	}
	if read, _ = begun(nil).ripe(ids[:5], false, at); len(read) != 5 {
		t.Errorf("of few reads %v", read)
	}
}

// TestCrowdAtMappedSite: whose the jobs of a mapped site are stands in their details, so a look reads those of all that hold nodes.
func TestCrowdAtMappedSite(t *testing.T) {
	f := newFake(t, "v0.0.42")
	d := f.driver(t, nil)
	var v view
	for i := range int64(notEndedMost + 4) {
		j := wire.Job{JobID: 17 + i, State: wire.Strings{"RUNNING"}, Nodes: "n1"}
		v.rows = append(v.rows, row{id: j.JobID, state: j.State})
		f.on(fmt.Sprint("GET /slurm/job/", j.JobID), 200, wire.JobsResponse{Jobs: wire.List[wire.Job]{j}})
	}
	running, _, err := d.holders.look(t.Context(), standing{known: true, mapped: true}, &v)
	if err != nil || len(running) != len(v.rows) {
		t.Errorf("%d of %d are seen to run: %v", len(running), len(v.rows), err)
	}
}
