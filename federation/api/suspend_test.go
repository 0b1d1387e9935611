package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// TestSuspend: who may suspend and resume what, in Slurm's words, and what is asked of the controller.
func TestSuspend(t *testing.T) {
	d := startWith(t, api.Config{Suspends: map[federation.SiteName]bool{"sky": true}})
	put := func(id federation.JobID, at federation.SiteName, state federation.State) federation.Job {
		j := job(id, alice, state)
		j.Site, j.Restarts = at, 3
		if state.Ended() {
			j.End = time.Now()
		}
		return j
	}
	second := put(8, "sky", federation.Running)
	second.Component = &federation.HetComponent{Leader: 7, Offset: 1}
	array := put(20, "", federation.Running)
	array.Spec.Array, array.Whole = "2-3", &federation.ArrayWhole{Count: 6, Max: 5, Step: 1, Spread: true}
	other := put(40, "sky", federation.Running) // its leader has been requeued here
	other.Restarts = 5
	comp := put(41, "sky", federation.Running)
	comp.Restarts, comp.Component = 0, &federation.HetComponent{Leader: 40, Offset: 1}
	jobs := []federation.Job{other, comp, put(1, "sky", federation.Running), put(2, "sky", federation.Suspended), put(3, "sky", federation.Completed), put(4, "", federation.Pending),
		put(5, "alpha", federation.Running), put(6, "sky", federation.Configuring), put(7, "sky", federation.Running), second, array}
	for i, state := range map[int]federation.State{0: federation.Running, 1: federation.Running, 4: federation.Completed, 5: federation.Suspended} {
		p := put(federation.JobID(30+i), "sky", state)
		p.Part = &federation.ArrayPart{Array: 20, Index: i, Count: 6, Max: 5, Step: 1}
		jobs = append(jobs, p)
	}
	d.Put(t, jobs...)
	const noSuspend = "Requested operation not supported on this system: alpha is a Slurm cluster, whose REST API can neither suspend nor resume; have an operator of alpha run scontrol suspend there"
	done := 0
	for _, c := range []struct {
		uid   uint32
		verb  string
		ref   v1.JobRef
		text  string // "; " between tasks
		asked string // jobs
	}{
		{alice, "suspend", v1.JobRef{ID: 1}, "Access/permission denied", ""},
		{alice, "suspend", v1.JobRef{ID: 99}, "Invalid job id specified", ""},
		{olga, "suspend", v1.JobRef{ID: 1}, "", "1"},
		{olga, "suspend", v1.JobRef{ID: 2}, "", "2"},
		{olga, "resume", v1.JobRef{ID: 1}, "Job is not suspended", ""},
		{olga, "resume", v1.JobRef{ID: 2}, "", "2"},
		{olga, "suspend", v1.JobRef{ID: 3}, "Job/step already completing or completed", ""},
		{olga, "suspend", v1.JobRef{ID: 4}, "Job is pending execution", ""},
		{olga, "resume", v1.JobRef{ID: 4}, "Job is pending execution", ""},
		{olga, "suspend", v1.JobRef{ID: 5}, noSuspend, ""},
		{olga, "suspend", v1.JobRef{ID: 6}, "Job can not be altered now, try again later", ""},
		{olga, "suspend", v1.JobRef{ID: 8}, "", "7"},
		{olga, "suspend", v1.JobRef{ID: 41}, "", "40"},
		{alice, "suspend", v1.JobRef{ID: 20}, "Access/permission denied", ""},
		{olga, "suspend", v1.JobRef{ID: 20, Tasks: federation.Tasks(0, 1)}, "", "30 31"},
		{olga, "suspend", v1.JobRef{ID: 20, Tasks: federation.Tasks(1, 2)}, "1: ; 2: Job is pending execution", "31"},
		{olga, "suspend", v1.JobRef{ID: 20}, "0-1,5: ; 2-3: Job is pending execution; 4: Job/step already completing or completed", "30 31 35"},
		{olga, "resume", v1.JobRef{ID: 20, Tasks: federation.Tasks(0, 5)}, "0: Job is not suspended; 5: ", "35"},
		{olga, "suspend", v1.JobRef{ID: 20, Tasks: federation.Tasks(9)}, "9: Invalid job id specified", ""},
	} {
		var out v1.ActResponse
		as(t, c.uid, d.Socket, "POST", "/fed/v1/jobs/"+c.verb, v1.ActRequest{Jobs: []v1.JobRef{c.ref}}, &out)
		r := out.Results[0]
		text := ""
		if r.Error != nil {
			text = r.Error.Text
		}
		if r.Tasks != nil {
			var list []string
			for _, k := range r.Tasks {
				said := ""
				if k.Error != nil {
					said = k.Error.Text
				}
				list = append(list, k.Tasks+": "+said)
			}
			text = strings.Join(list, "; ")
		}
		requests := d.Controller.Done()
		var asked []string
		for _, q := range requests[done:] {
			if string(q.Kind) != c.verb || q.UID != c.uid || q.Restarts != map[bool]int{false: 3, true: 5}[q.Job == 40] {
				t.Errorf("%+v: asked %+v", c, q)
			}
			asked = append(asked, fmt.Sprint(q.Job))
		}
		done = len(requests)
		slices.Sort(asked)
		if strings.Join(asked, " ") != c.asked || text != c.text {
			t.Errorf("%+v: %q, asked for %q", c, text, asked)
		}
	}
}

// TestSuspendSpellsOutLittle: who may suspend nothing cannot have arrays spelled out, operators can up to a bound, and what is named twice is asked for once.
func TestSuspendSpellsOutLittle(t *testing.T) {
	d := startWith(t, api.Config{Suspends: map[federation.SiteName]bool{"sky": true}})
	large, runs := job(1, alice, federation.Pending), job(2, alice, federation.Running)
	large.Spec.Array, large.Whole = "0-4000000:2", &federation.ArrayWhole{Count: 2_000_001, Max: 4_000_000, Step: 2}
	runs.Site = "sky"
	d.Put(t, large, runs)
	var out v1.ActResponse
	as(t, alice, d.Socket, "POST", "/fed/v1/jobs/suspend", v1.ActRequest{Jobs: []v1.JobRef{{ID: 1}, {ID: 1}, {ID: 1, Tasks: federation.Tasks(1)}, {ID: 99}}}, &out)
	for i, want := range []string{"Access/permission denied", "Access/permission denied", "Access/permission denied", "Invalid job id specified"} {
		if r := out.Results[i]; r.Error == nil || r.Error.Text != want || r.Tasks != nil {
			t.Errorf("reference %d: %+v, want %q", i, r, want)
		}
	}
	if code := as(t, olga, d.Socket, "POST", "/fed/v1/jobs/suspend", v1.ActRequest{Jobs: []v1.JobRef{{ID: 1}, {ID: 1}, {ID: 1}}}, nil); code != 400 {
		t.Errorf("6,000,003 tasks: status %d", code)
	}
	out = v1.ActResponse{}
	as(t, olga, d.Socket, "POST", "/fed/v1/jobs/suspend", v1.ActRequest{Jobs: []v1.JobRef{{ID: 2}, {ID: 2}}}, &out)
	if asked := d.Controller.Done(); len(asked) != 1 || asked[0].Job != 2 || len(out.Results) != 2 || out.Results[1].Error != nil {
		t.Errorf("asked %+v, answered %+v", asked, out.Results)
	}
}

// TestSuspendedShows: what listings say of a job that is suspended, and of one that was.
func TestSuspendedShows(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	d := startWith(t, api.Config{Now: func() time.Time { return now }})
	is, was, over := job(1, alice, federation.Suspended), job(2, alice, federation.Running), job(3, alice, federation.Completed)
	for _, j := range []*federation.Job{&is, &was, &over} {
		j.Site, j.Nodes, j.Spec.TimeLimit, j.Start = "sky", "n1", time.Hour, now.Add(-time.Hour)
		j.Submit = j.Start // the accounting does not list what is submitted after now
	}
	is.SetSuspension(federation.Suspension{At: now.Add(-50 * time.Minute), Ran: 10 * time.Minute})
	was.SetSuspension(federation.Suspension{At: now.Add(-20 * time.Minute), Ran: 10 * time.Minute})
	over.End, over.Pause = now.Add(-5*time.Minute), was.Pause
	d.Put(t, is, was, over)
	for _, c := range []struct {
		id             federation.JobID
		state          string
		ran, suspended time.Duration
		end            time.Time
	}{
		{1, "SUSPENDED", 10 * time.Minute, 50 * time.Minute, is.Start.Add(time.Hour)},
		{2, "RUNNING", 30 * time.Minute, 30 * time.Minute, was.Start.Add(90 * time.Minute)},
		{3, "COMPLETED", 25 * time.Minute, 30 * time.Minute, over.End},
	} {
		var jobs wire.JobsResponse
		as(t, alice, d.Socket, "GET", fmt.Sprintf("/slurm/v0.0.42/job/%d", c.id), nil, &jobs)
		j := &jobs.Jobs[0]
		if j.State[0] != c.state || j.RunTime(now.Unix()) != int64(c.ran/time.Second) || j.EndTime.Value() != c.end.Unix() || j.SuspendTime.Value() == 0 || j.PreSusTime.Value() != 600 {
			t.Errorf("job %d: %v for %d s, until %d", c.id, j.State, j.RunTime(now.Unix()), j.EndTime.Value())
		}
		var books wire.DBJobsResponse
		as(t, alice, d.Socket, "GET", fmt.Sprintf("/slurmdb/v0.0.42/job/%d", c.id), nil, &books)
		b := &books.Jobs[0]
		if b.Time.Elapsed != int64(c.ran/time.Second) || b.Time.Suspended != int64(c.suspended/time.Second) || b.Steps[0].Time.Suspended != b.Time.Suspended {
			t.Errorf("job %d: elapsed %d, suspended %d; its batch step %+v", c.id, b.Time.Elapsed, b.Time.Suspended, b.Steps[0].Time)
		}
	}
}
