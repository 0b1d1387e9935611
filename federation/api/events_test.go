package api_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/federation/reasons"
)

// TestEvents: what is told of what has happened, from a time and from a mark, at once and as it comes.
func TestEvents(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	id := d.Put(t, job(0, alice, federation.Pending))[0]
	array := job(0, alice, federation.Pending)
	array.Spec.Array = "0-9"
	arrayID := d.Put(t, array)[0]
	part := job(arrayID+1, alice, federation.Pending)
	part.Part = &federation.ArrayPart{Array: arrayID, Index: 7}
	d.Put(t, part)
	text := func(e *v1.Event) string {
		s := fmt.Sprint(e.Event, " ", e.Job, " ", e.User, " ", e.Site, " ", e.State, e.Reason, e.Request)
		if e.Task != nil {
			s += fmt.Sprint(" task ", e.Array, "_", *e.Task)
		}
		if e.Exit != nil {
			s += fmt.Sprint(" exit ", *e.Exit)
		}
		return s
	}
	read := func(from client.EventsFrom) (all []string, mark journal.Mark) {
		t.Helper()
		mark, err := c.Events(t.Context(), from, func(e *v1.Event) error { all = append(all, text(e)); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return all, mark
	}
	equal := func(what string, got []string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
	}
	begun, mark := read(client.EventsFrom{Since: time.Now().Add(-time.Hour)})
	equal("from the beginning", begun, fmt.Sprintf("submit %d alice  PENDING", id), fmt.Sprintf("submit %d alice  PENDING", arrayID))
	if none, at := read(client.EventsFrom{}); len(none) > 0 || at != mark {
		t.Errorf("from now on: %q, up to %d of %d", none, at, mark)
	}

	follow, stop := context.WithCancel(t.Context())
	defer stop()
	lines, done := make(chan string), make(chan error)
	go func() {
		_, err := c.Events(follow, client.EventsFrom{After: mark, Follow: true}, func(e *v1.Event) error { lines <- text(e); return nil })
		done <- err
	}()
	d.Store.SetSiteState(t.Context(), federation.SiteRecord{Name: "alpha", State: federation.FedDrain})
	d.Store.AddRequest(t.Context(), action.Request{Job: id, Kind: action.Hold})
	d.Store.Commit(t.Context(), &journal.Batch{Moves: []journal.Move{
		{Job: id, Task: -1, What: journal.MoveStart, State: federation.Running, Site: "alpha"},
		{Job: arrayID, Task: 3, What: journal.MoveEnd, State: federation.Failed, Reason: reasons.NonZeroExit, Exit: 256},
		{Job: part.ID, Task: -1, What: journal.MoveRequeue, State: federation.Pending},
	}})
	want := []string{
		"drain 0  alpha ", fmt.Sprintf("request %d alice  hold", id), fmt.Sprintf("start %d alice alpha RUNNING", id),
		fmt.Sprintf("end %d alice  FAILEDNonZeroExitCode task %d_3 exit 256", arrayID, arrayID),
		fmt.Sprintf("requeue %d alice  PENDING task %d_7", part.ID, arrayID),
	}
	for _, w := range want {
		select {
		case got := <-lines:
			if got != w {
				t.Errorf("%q, want %q", got, w)
			}
		case err := <-done:
			t.Fatalf("the answer has ended: %v", err)
		}
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a follower that goes: %v", err)
	}
	again, _ := read(client.EventsFrom{After: mark})
	equal("from a mark", again, want...)
	if _, err := c.Events(t.Context(), client.EventsFrom{After: 1000}, nil); !errors.Is(err, federation.ErrTrimmed) {
		t.Errorf("a mark that never was: %v", err)
	}
}
