package controller

import (
	"fmt"
	"slices"
	"testing"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/journal"
)

// moves are what the store's log tells of a job and of its tasks.
func (b *bench) moves(id federation.JobID) (all []string) {
	b.t.Helper()
	log, err := b.store.Changes(b.t.Context(), journal.OldestMark, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range log.Commits {
		for _, x := range c.Changes {
			switch m := x.Move; {
			case m == nil || m.Job != id:
			case m.Task >= 0:
				all = append(all, fmt.Sprint(m.What, " task ", m.Task))
			default:
				all = append(all, string(m.What))
			}
		}
	}
	return all
}

// TestMoves: each step of a job's life is told once, however often the job is written.
func TestMoves(t *testing.T) {
	b := newBench(t)
	told := func(id federation.JobID, want ...string) {
		t.Helper()
		if got := b.moves(id); !slices.Equal(got, want) {
			t.Errorf("job %d: the log tells of %q, want %q", id, got, want)
		}
	}
	id := b.submit(nil)
	b.rounds(4)
	told(id, "bind")
	b.cheap.start(id)
	for range 3 {
		b.rounds(4)
		b.request(action.Request{Job: id, Kind: action.Hold, UID: 7001})
	}
	told(id, "bind", "start")
	b.cheap.end(id, federation.NodeFail)
	b.rounds(8)
	want := []string{"bind", "start", "requeue"}
	for range len(b.attempts(id)) - 1 {
		want = append(want, "bind")
	}
	told(id, want...)
	short := b.submit(nil)
	b.rounds(4)
	site := map[federation.SiteName]*fakeSite{"cheap": b.cheap, "dear": b.dear}[b.job(short).Site]
	site.start(short) // and ends before anybody has seen it run
	site.end(short, federation.Completed)
	b.rounds(8)
	told(short, "bind", "start", "end")
}
