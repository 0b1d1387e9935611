package api_test

import (
	"fmt"
	"slices"
	"testing"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// TestGroupsOfJobsThatNeverStart: beside the event of each job, a group has one for all that a commit tells of; others' jobs and other groups have their own.
func TestGroupsOfJobsThatNeverStart(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	var moves []journal.Move
	for _, of := range []struct {
		group string
		uid   uint32
		state federation.State
	}{{"g", alice, federation.Pending}, {"g", alice, federation.Pending}, {"h", alice, federation.Cancelled}, {"g", bob, federation.Pending}, {"", bob, federation.Pending}} {
		j := job(0, of.uid, of.state)
		j.Spec = &sbatch.Spec{Fed: &sbatch.Fed{Group: of.group}}
		id := d.Put(t, j)[0]
		moves = append(moves, journal.Move{Job: id, Task: -1, What: journal.MoveInvalidDepend, State: of.state})
	}
	log, err := d.Store.Changes(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Store.Commit(t.Context(), &journal.Batch{Moves: moves}); err != nil {
		t.Fatal(err)
	}
	var got []string
	_, err = c.Events(t.Context(), client.EventsFrom{After: log.Mark, Where: []string{"event=*invalid-depend"}}, func(e *v1.Event) error {
		if e.Job == 0 {
			got = append(got, fmt.Sprint(e.User, " ", e.Group, ": ", e.Detail))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		fmt.Sprintf("alice g: 2 jobs can never start, the first of them %d; run: fed explain %[1]d", moves[0].Job),
		fmt.Sprintf("alice h: cancelled, since they could never start: 1 job, the first of them %d; run: fed job show %[1]d", moves[2].Job),
		fmt.Sprintf("bob g: 1 job can never start, the first of them %d; run: fed explain %[1]d", moves[3].Job),
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
