package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/federation/stored"
	"fsub/sbatch"
)

func TestUnknownCallerIsRefused(t *testing.T) {
	d := start(t)
	var out v1.ErrorResponse
	if code := as(t, ghost, d.Socket, "GET", "/fed/v1/sites", nil, &out); code != 401 || !strings.Contains(out.Error.Text, "61004") {
		t.Errorf("status %d, %+v", code, out)
	}
}

// TestRights: what each of four users may do to alice's job.
func TestRights(t *testing.T) {
	const id = 30000007
	type refused struct {
		number int
		text   string
	}
	ok := refused{}
	for _, test := range []struct {
		act                      string
		bob, alice, olga, nobody refused
	}{
		{"cancel", refused{2002, "Access/permission denied"}, ok, ok, ok},
		{"signal", refused{2002, "Access/permission denied"}, ok, ok, ok},
		{"hold", refused{2010, "Invalid user id"}, ok, ok, ok},
		{"release", refused{2010, "Invalid user id"}, ok, ok, ok},
		{"requeue", refused{2002, "Access/permission denied"}, ok, ok, ok},
		{"requeuehold", refused{2002, "Access/permission denied"}, ok, ok, ok},
	} {
		for uid, want := range map[uint32]refused{bob: test.bob, alice: test.alice, olga: test.olga, 0: test.nobody} {
			t.Run(test.act+" as "+testUsers[uid], func(t *testing.T) {
				d := start(t)
				state := federation.Pending
				if test.act == "signal" || strings.HasPrefix(test.act, "requeue") {
					state = federation.Running
				}
				d.Put(t, job(id, alice, state))
				req := v1.ActRequest{Jobs: []v1.JobRef{{ID: id}}}
				if test.act == "signal" {
					req.Signal = stored.Signal{Name: "USR1"}
				}
				var out v1.ActResponse
				if code := as(t, uid, d.Socket, "POST", "/fed/v1/jobs/"+test.act, req, &out); code != 200 || len(out.Results) != 1 {
					t.Fatalf("status %d, %+v", code, out)
				}
				var got refused
				if e := out.Results[0].Error; e != nil {
					got = refused{e.Number, e.Text}
				}
				if got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
				done := d.Controller.Done()
				if (want == ok) != (len(done) == 1) {
					t.Fatalf("carried out: %+v", done)
				}
				if len(done) == 1 && (done[0].UID != uid || done[0].Operator != (uid != alice)) {
					t.Errorf("request %+v", done[0])
				}
			})
		}
	}
}

func TestAdminHoldIsReleasedByOperatorsOnly(t *testing.T) {
	d := start(t)
	j := job(0, alice, federation.Pending)
	j.Held = federation.HeldAdmin
	id := d.Put(t, j)[0]
	req := v1.ActRequest{Jobs: []v1.JobRef{{ID: id}}}
	var out v1.ActResponse
	as(t, alice, d.Socket, "POST", "/fed/v1/jobs/release", req, &out)
	if e := out.Results[0].Error; e == nil || e.Number != 2002 {
		t.Errorf("alice: %+v", out)
	}
	out = v1.ActResponse{}
	as(t, olga, d.Socket, "POST", "/fed/v1/jobs/release", req, &out)
	if out.Results[0].Error != nil {
		t.Errorf("operator: %+v", out.Results[0].Error)
	}
}

func TestPayloadIsPrivate(t *testing.T) {
	d := start(t)
	id := d.Put(t, job(0, alice, federation.Pending))[0]
	path := fmt.Sprintf("/fed/v1/job/%d/payload", id)
	for uid, want := range map[uint32]int{alice: 200, bob: 403, olga: 200, 0: 200} {
		var out sbatch.Payload
		if code := as(t, uid, d.Socket, "GET", path, nil, &out); code != want || (want == 200) != strings.Contains(out.Script, "secret") {
			t.Errorf("%s: status %d, script %q", testUsers[uid], code, out.Script)
		}
	}
	// The record itself, which anybody may read, has no trace of it.
	var rec map[string]any
	as(t, bob, d.Socket, "GET", fmt.Sprintf("/fed/v1/job/%d", id), nil, &rec)
	if text := fmt.Sprint(rec); rec["job"] == nil || strings.Contains(text, "secret") || strings.Contains(text, "OWNER") {
		t.Errorf("bob sees %v", rec)
	}
}

func TestActStates(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	array := job(0, alice, federation.Running)
	array.Spec.Array = "0-3"
	ids := d.Put(t, job(0, alice, federation.Completed), job(0, alice, federation.Running), job(0, alice, federation.Pending), array)
	d.Store.Commit(t.Context(), &journal.Batch{Tasks: []*federation.Task{
		{Job: ids[3], Index: 0, State: federation.Completed}, {Job: ids[3], Index: 1, State: federation.Running}}})
	for _, test := range []struct {
		name   string
		kind   action.Kind
		ref    v1.JobRef
		number int
		text   string
	}{
		{"ended", "cancel", v1.JobRef{ID: ids[0]}, 2021, "Job/step already completing or completed"},
		{"unknown", "cancel", v1.JobRef{ID: 999999}, 2017, "Invalid job id specified"},
		{"signal to a pending job", "signal", v1.JobRef{ID: ids[2]}, 2020, "Job can not be altered now, try again later"},
		{"hold of a running job", "hold", v1.JobRef{ID: ids[1]}, 0, ""}, // slurmctld takes it without a word
		{"requeue of a pending job", "requeue", v1.JobRef{ID: ids[2]}, 2024, "Job is pending execution"},
		{"requeue of an unknown job", "requeue", v1.JobRef{ID: 999999}, 2017, "Invalid job id specified"},
		{"task that is not in the array", "cancel", v1.JobRef{ID: ids[3], Tasks: federation.Tasks(77)}, 2017, "Invalid job id specified"},
		{"task that has ended", "cancel", v1.JobRef{ID: ids[3], Tasks: federation.Tasks(0)}, 2021, "Job/step already completing or completed"},
		{"task that runs", "cancel", v1.JobRef{ID: ids[3], Tasks: federation.Tasks(0, 1)}, 0, ""},
		{"task that waits", "cancel", v1.JobRef{ID: ids[3], Tasks: federation.Tasks(3)}, 0, ""},
		{"task of no array", "cancel", v1.JobRef{ID: ids[1], Tasks: federation.Tasks(1)}, 2017, "Invalid job id specified"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := c.Act(t.Context(), test.kind, v1.ActRequest{Jobs: []v1.JobRef{test.ref}, Signal: stored.Signal{Name: "USR1"}})
			if err != nil || len(out) != 1 || out[0].ID != test.ref.ID {
				t.Fatalf("%+v, %v", out, err)
			}
			var e v1.Error
			if out[0].Error != nil {
				e = *out[0].Error
			}
			if e.Number != test.number || e.Text != test.text {
				t.Errorf("got %+v, want %d %q", e, test.number, test.text)
			}
		})
	}
	if _, err := c.Act(t.Context(), "signal", v1.ActRequest{Jobs: []v1.JobRef{{ID: ids[1]}}, Signal: stored.Signal{Name: "BOGUS"}}); !errors.Is(err, federation.ErrInvalid) {
		t.Errorf("bogus signal: %v", err)
	}
}

func TestActOnMany(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	var req v1.ActRequest
	for range 500 {
		req.Jobs = append(req.Jobs, v1.JobRef{ID: d.Put(t, job(0, alice, federation.Pending))[0]})
	}
	out, err := c.Act(t.Context(), action.Cancel, req)
	if err != nil || len(out) != 500 {
		t.Fatalf("%d results, %v", len(out), err)
	}
	for i, r := range out {
		if r.Error != nil || r.ID != req.Jobs[i].ID {
			t.Fatalf("result %d: %+v", i, r)
		}
		if j, _ := d.Store.Job(t.Context(), r.ID); j.State != federation.Cancelled {
			t.Fatalf("job %d is %s", r.ID, j.State)
		}
	}
}
