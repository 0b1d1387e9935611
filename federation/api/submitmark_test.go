package api_test

import (
	"fmt"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/testbed/apitest"
)

// Who follows the events from the mark of a submission learns that the job came and ended, however soon that was.
func TestMarkOfASubmission(t *testing.T) {
	d := apitest.Start(t, api.Config{})
	c := client.New(d.Socket)
	defer c.Close()
	if err := d.Server.Queue().Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		var out v1.SubmitResponse
		if err := c.Do(t.Context(), "POST", "/fed/v1/job", hello("short"), &out); err != nil || out.Mark == 0 {
			t.Fatalf("%+v, %v", out, err)
		}
		j, err := d.Store.Job(t.Context(), out.JobID)
		if err != nil {
			t.Fatal(err)
		}
		j.State, j.End = federation.Completed, time.Now()
		if err := d.Store.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&j}, Moves: []journal.Move{{Job: j.ID, Task: -1, What: journal.MoveEnd, State: j.State, From: federation.Pending}}}); err != nil {
			t.Fatal(err)
		}
		ended := false
		_, err = c.Events(t.Context(), client.EventsFrom{After: journal.Mark(out.Mark), Where: []string{fmt.Sprintf("job=%d", out.JobID)}}, func(e *v1.Event) error {
			ended = ended || e.State == federation.Completed
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !ended {
			t.Errorf("the events after mark %d do not tell that job %d has ended", out.Mark, out.JobID)
		}
	}
}
