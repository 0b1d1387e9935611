package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/client"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

func TestSlurmSubmit(t *testing.T) {
	d := start(t)
	body := map[string]any{"script": "#!/bin/sh\ntrue\n", "job": map[string]any{
		"name": "k", "account": "proj1", "partition": "main", "current_working_directory": "/work", "environment": []string{"PATH=/bin"},
		"tasks": 2, "nodes": "1-2", "tres_per_node": "gres/gpu:h100:2", "memory_per_node": map[string]any{"set": true, "number": 2000},
		"time_limit": map[string]any{"set": true, "infinite": false, "number": 5}, "array": "0-3%2", "hold": true, "required_switches": 1, "argv": []string{"x", "a"},
		"no_such_field": 1,
	}}
	var resp wire.JobSubmitResponse
	if code := as(t, alice, d.Socket, "POST", "/slurm/v0.0.42/job/submit", body, &resp); code != 200 {
		t.Fatalf("status %d, %+v", code, resp)
	}
	if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0].Description, "no_such_field") {
		t.Errorf("warnings %+v", resp.Warnings)
	}
	j, err := d.Store.Job(t.Context(), federation.JobID(resp.JobID))
	if err != nil {
		t.Fatal(err)
	}
	want := sbatch.Spec{Name: "k", Account: "proj1", Partition: "main", WorkDir: "/work", NTasks: 2, MinNodes: 1, MaxNodes: 2, GRES: "gpu:h100:2",
		MemPerNode: 2000, TimeLimit: 5 * time.Minute, Array: "0-3%2", Hold: true, Switches: 1,
		Digest: (&sbatch.Payload{Script: body["script"].(string), Argv: []string{"a"}}).Digest()}
	if diff := cmp.Diff(want, *j.Spec); diff != "" || j.User != "alice" || j.Held != federation.HeldUser {
		t.Errorf("%+v\n%s", j, diff)
	}
	if p, _ := d.Store.Payload(t.Context(), j.ID); cmp.Diff([]string{"a"}, p.Argv) != "" || p.Script != body["script"] {
		t.Errorf("payload %+v", p)
	}
	for name, test := range map[string]struct {
		uid    uint32
		change func(job map[string]any)
		number int
		code   int
	}{
		"as bob":              {alice, func(j map[string]any) { j["user_id"] = "61002" }, 2010, 500},
		"operator as bob":     {olga, func(j map[string]any) { j["user_id"] = "bob" }, 2010, 500},
		"root as bob":         {0, func(j map[string]any) { j["user_id"] = "bob" }, 0, 200},
		"no environment":      {alice, func(j map[string]any) { delete(j, "environment") }, 2127, 500},
		"no directory":        {alice, func(j map[string]any) { delete(j, "current_working_directory") }, 2063, 500},
		"admin comment":       {alice, func(j map[string]any) { j["admin_comment"] = "x" }, -1, 500},
		"unknown flag":        {alice, func(j map[string]any) { j["flags"] = []string{"TOP_PRIO_TMP"} }, -1, 500},
		"gres without prefix": {alice, func(j map[string]any) { j["tres_per_node"] = "gpu:1" }, 2115, 500},
		"bad JSON type":       {alice, func(j map[string]any) { j["tasks"] = "many" }, 9202, 400},
	} {
		t.Run(name, func(t *testing.T) {
			job := map[string]any{}
			for k, v := range body["job"].(map[string]any) {
				job[k] = v
			}
			test.change(job)
			var resp wire.JobSubmitResponse
			code := as(t, test.uid, d.Socket, "POST", "/slurm/v0.0.42/job/submit", map[string]any{"script": body["script"], "job": job}, &resp)
			number := 0
			if len(resp.Errors) > 0 {
				number = resp.Errors[0].Number
			}
			if code != test.code || number != test.number {
				t.Fatalf("status %d, %+v", code, resp.Errors)
			}
			if code == 200 {
				if j, _ := d.Store.Job(t.Context(), federation.JobID(resp.JobID)); j.User != "bob" || j.UID != bob || j.GID != bob {
					t.Errorf("job of %s (%d:%d)", j.User, j.UID, j.GID)
				}
			}
		})
	}
}

func TestSlurmKill(t *testing.T) {
	d := start(t)
	running, pending, ended, array := fill(t, d)
	kill := func(uid uint32, path string, body any) (out wire.KillJobsResponse) {
		t.Helper()
		if code := as(t, uid, d.Socket, "DELETE", "/slurm/v0.0.42"+path, body, &out); code != 200 {
			t.Fatalf("status %d, %+v", code, out)
		}
		return out
	}
	path := func(id federation.JobID) string { return fmt.Sprintf("/job/%d", id) }
	for _, test := range []struct {
		uid  uint32
		path string
		code int
	}{
		{bob, path(running), 2002}, {alice, path(ended), 2021},
		{alice, path(running) + "?signal=USR1", 0}, {alice, path(array) + "_1", 0}, {alice, path(running), 0}, {alice, path(running), 2021},
	} {
		out := kill(test.uid, test.path, nil)
		code := 0
		if len(out.Status) > 0 {
			code = out.Status[0].Error.Code
		}
		if code != test.code {
			t.Errorf("%s by %s: %d, want %d", test.path, testUsers[test.uid], code, test.code)
		}
	}
	done := d.Controller.Done()
	if len(done) != 3 || done[0].Signal.Name != "USR1" || done[1].Tasks.Len() != 1 || done[2].Kind != action.Cancel {
		t.Errorf("carried out %+v", done)
	}
	if out := kill(alice, "/jobs/", wire.KillJobs{UserName: "bob", JobState: wire.Strings{"PENDING"}}); len(out.Status) != 1 || out.Status[0].Error.Code != 2002 {
		t.Errorf("bob's jobs by alice: %+v", out.Status)
	}
	if out := kill(bob, "/jobs/", wire.KillJobs{UserName: "bob", JobState: wire.Strings{"PENDING"}}); len(out.Status) != 0 {
		t.Errorf("bob's jobs by bob: %+v", out.Status)
	}
	if j, _ := d.Store.Job(t.Context(), pending); j.State != federation.Cancelled {
		t.Errorf("bob's job is %s", j.State)
	}
}

func TestSlurmHold(t *testing.T) {
	d := start(t)
	id := d.Put(t, job(0, alice, federation.Pending))[0]
	path := fmt.Sprintf("/slurm/v0.0.42/job/%d", id)
	for _, test := range []struct {
		uid  uint32
		body string
		code int
		held federation.Hold
	}{
		{bob, `{"hold":true}`, 500, ""}, {alice, `{"hold":true}`, 200, federation.HeldUser}, {alice, `{"priority":{"set":false,"infinite":true}}`, 200, ""},
		{olga, `{"priority":0}`, 200, federation.HeldAdmin}, {alice, `{"hold":false}`, 500, federation.HeldAdmin}, {olga, `{"hold":false}`, 200, ""},
		{alice, `{"nice":5}`, 200, ""}, {alice, `{"nice":-5}`, 500, ""}, {alice, `{"shared":["none"]}`, 500, ""},
	} {
		code := as(t, test.uid, d.Socket, "POST", path, rawJSON(test.body), nil)
		j, _ := d.Store.Job(t.Context(), id)
		if code != test.code || j.Held != test.held {
			t.Errorf("%s by %s: status %d, held %q", test.body, testUsers[test.uid], code, j.Held)
		}
	}
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func TestAccounting(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	running, pending, _, array := fill(t, d)
	read := func(query string) string {
		var r wire.DBJobsResponse
		if err := c.Do(t.Context(), "GET", "/slurmdb/v0.0.42/jobs/"+query, nil, &r); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, j := range r.Jobs {
			n := j.Name + ":" + j.State.Current[0]
			if j.Array.TaskID.Set {
				n += fmt.Sprint(":", j.Array.TaskID.Number)
			} else if j.Array.Task != "" {
				n += ":" + j.Array.Task
			}
			out = append(out, n)
		}
		return strings.Join(out, " ")
	}
	now := time.Now().Unix()
	all := "run:RUNNING pend:PENDING j:FAILED arr:COMPLETED:0 arr:RUNNING:1 arr:PENDING:2-5%2"
	for query, want := range map[string]string{
		"":                                  all + " j:COMPLETED",
		fmt.Sprint("?start_time=", now-600): all,
		fmt.Sprint("?start_time=", now, "&end_time=", now, "&state=FAILED"):  "",
		fmt.Sprint("?start_time=", now, "&end_time=", now, "&state=running"): "run:RUNNING arr:RUNNING:1",
		fmt.Sprint("?start_time=", now-600, "&state=FAILED"):                 "j:FAILED",
		fmt.Sprint("?start_time=", now-600, "&users=bob"):                    "pend:PENDING",
		"?job_name=arr": "arr:COMPLETED:0 arr:RUNNING:1 arr:PENDING:2-5%2",
		fmt.Sprintf("?step=%d,%d_1.batch", running, array): "run:RUNNING arr:RUNNING:1 arr:PENDING:2-5%2",
		"?job_id=4":                        "",
		fmt.Sprintf("?job_id=%d", pending): "pend:PENDING",
	} {
		if got := read(query); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
	}
}

// TestTimesThatDoNotFit: a number of minutes that a time cannot hold is refused, and does not become another limit.
func TestTimesThatDoNotFit(t *testing.T) {
	d := start(t)
	id := d.Put(t, job(0, alice, federation.Pending))[0]
	ask := func(path string, desc map[string]any) string {
		body := any(desc)
		if strings.HasSuffix(path, "submit") {
			desc["current_working_directory"], desc["environment"] = "/", []string{"A=1"}
			body = map[string]any{"script": "#!/bin/sh\n", "job": desc}
		}
		var resp struct{ Errors []wire.Error }
		if code := as(t, alice, d.Socket, "POST", path, body, &resp); code == 200 || len(resp.Errors) == 0 {
			return "accepted"
		}
		return resp.Errors[0].Description
	}
	for _, path := range []string{"/slurm/v0.0.43/job/submit", fmt.Sprintf("/slurm/v0.0.43/job/%d", id)} {
		for _, field := range []string{"time_limit", "time_minimum"} {
			for _, n := range []int64{-1, 153722868, 1 << 32, 1<<32 - 1, 307445734562, 1<<63 - 1} {
				want := fmt.Sprintf("%s %d: want 0 to 153722867 minutes", field, n)
				if got := ask(path, map[string]any{field: map[string]any{"set": true, "number": n}}); !strings.Contains(got, want) {
					t.Errorf("%s: %q, want %q", path, got, want)
				}
			}
		}
	}
}
