package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// A job in a group is found by it, by what the group is within, and by patterns: in lists, counts and events. What it submits is in the group, too.
func TestGroups(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	ids := map[string]federation.JobID{}
	for _, group := range []string{"", "sweep", "sweep/lr-3", "sweeper"} {
		req := hello("x")
		req.Spec.Fed = &sbatch.Fed{Group: group}
		req.Payload.Environment = []string{"A=b", "FSUB_GROUP=of-the-job-around-it", "C=d"}
		var out v1.SubmitResponse
		if code := as(t, alice, d.Socket, "POST", "/fed/v1/job", req, &out); code != 200 {
			t.Fatalf("group %q: status %d, %+v", group, code, out.Error)
		}
		ids[group] = out.JobID
		p, err := d.Store.Payload(t.Context(), out.JobID)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"A=b", "C=d", "FSUB_GROUP=" + group}
		if group == "" {
			want = req.Payload.Environment
		}
		if !slices.Equal(p.Environment, want) {
			t.Errorf("group %q: the job's environment is %q, want %q", group, p.Environment, want)
		}
	}
	jobs, counts := newReader[v1.JobLine](d.Socket), newReader[v1.JobCount](d.Socket)
	for where, want := range map[string]string{
		"group=sweep": "sweep sweep/lr-3", "group=sweep/lr-3": "sweep/lr-3", "group=sweep/*": "sweep/lr-3", "group=sweep*": "sweep sweep/lr-3 sweeper",
		"group=none": "", "group!=none": "sweep sweep/lr-3 sweeper", "group!=sweep": " sweeper", "group=lr-3": "-", "group=sweeper,sweep/*": "sweep/lr-3 sweeper",
	} {
		var listed, told, counted []string
		p, status, body, err := jobs.get("/fed/v1/jobs", url.Values{"where": {where}}, "")
		if err != nil || status != 200 {
			t.Fatalf("%s: %d %s %v", where, status, body, err)
		}
		for _, j := range p.Items {
			listed = append(listed, j.Group)
		}
		_, err = c.Events(t.Context(), client.EventsFrom{Since: time.Now().Add(-time.Hour), Where: []string{where, "event=submit"}}, func(e *v1.Event) error {
			told = append(told, e.Group)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		sum, status, body, err := counts.get("/fed/v1/summary", url.Values{"where": {where}, "by": {"group"}}, "")
		if err != nil || status != 200 {
			t.Fatalf("%s: %d %s %v", where, status, body, err)
		}
		for _, n := range sum.Items {
			counted = append(counted, n.Group)
		}
		slices.Sort(counted)
		wants := strings.Split(want, " ")
		if want == "-" {
			wants = nil
		}
		for what, got := range map[string][]string{"listed": listed, "told": told, "counted": counted} {
			if !slices.Equal(got, wants) {
				t.Errorf("%s: %s are jobs of the groups %q, want %q", where, what, got, wants)
			}
		}
	}
	if j, err := c.Job(t.Context(), ids["sweep"]); err != nil || j.Job.Spec.GroupName() != "sweep" || v1.JobOf(&j.Job).JobGroup != "sweep" {
		t.Errorf("%+v, %v", j, err)
	}
	req := hello("x")
	req.Spec.Fed = &sbatch.Fed{Group: "<script>"}
	var out v1.SubmitResponse
	if code := as(t, alice, d.Socket, "POST", "/fed/v1/job", req, &out); code != 400 || !strings.Contains(fmt.Sprintf("%+v", out.Error), "invalid group: want 1 to 128 letters") {
		t.Errorf("status %d, %+v", code, out.Error)
	}
}
