package api_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

func TestUpdateIsJudged(t *testing.T) {
	d := start(t)
	wait, runs, over := job(0, alice, federation.Pending), job(0, alice, federation.Running), job(0, alice, federation.Completed)
	runs.Spec.TimeLimit, wait.Spec.TimeLimit = time.Hour, time.Hour
	over.End = time.Now()
	ids := d.Put(t, wait, runs, over)
	for _, test := range []struct {
		name          string
		uid           uint32
		id            federation.JobID
		option, value string
		text          string
	}{
		{"longer while it waits", alice, ids[0], "time", "+60", ""},
		{"longer while it runs", alice, ids[1], "time", "90", "Access/permission denied"},
		{"shorter while it runs", alice, ids[1], "time", "30", ""},
		{"longer while it runs, by an operator", 0, ids[1], "time", "90", ""},
		{"partition while it runs", alice, ids[1], "partition", "main", "Job is no longer pending execution"},
		{"comment while it runs", alice, ids[1], "comment", "x", ""},
		{"another's", bob, ids[0], "comment", "x", "Invalid user id"},
		{"ended", alice, ids[2], "comment", "x", "Job has already finished"},
		{"no value", alice, ids[0], "time", "soon", "Invalid value"},
		{"an administrator's", alice, ids[0], "-AdminComment", "x", "Access/permission denied"},
		{"priority", alice, ids[0], "priority", "7", "Changes to job priority are not persistent, change nice instead"},
		{"hold by priority", alice, ids[0], "priority", "0", ""},
		{"negative nice", alice, ids[0], "nice", "-7", "Access/permission denied"},
		{"nice", alice, ids[0], "nice", "7", ""},
		{"shared", alice, ids[0], "oversubscribe", "1", "Access/permission denied"},
		{"shared, by an operator", 0, ids[0], "oversubscribe", "1", ""},
		{"contiguous", alice, ids[0], "contiguous", "1", "Access/permission denied"},
		{"deadline", alice, ids[0], "deadline", "2099-01-01T00:00:00", "Access/permission denied"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out v1.ActResponse
			as(t, test.uid, d.Socket, "POST", "/fed/v1/jobs/update", v1.ActRequest{Jobs: []v1.JobRef{{ID: test.id}},
				Change: []sbatch.Change{{Key: "Key", Option: test.option, Value: test.value}}}, &out)
			text := ""
			if len(out.Results) != 1 {
				t.Fatalf("%+v", out)
			}
			if e := out.Results[0].Error; e != nil {
				text = e.Text
			}
			if text != test.text {
				t.Errorf("%q, want %q", text, test.text)
			}
		})
	}
	c := client.New(d.Socket)
	defer c.Close()
	d.Controller.SetRefusal(&federation.SlurmError{Kind: federation.ErrCapacity, Number: 2000, Text: "Invalid partition name specified"})
	var out v1.ActResponse
	as(t, alice, d.Socket, "POST", "/fed/v1/jobs/update", v1.ActRequest{Jobs: []v1.JobRef{{ID: ids[0]}},
		Change: []sbatch.Change{{Key: "Partition", Option: "partition", Value: "nosuch"}}}, &out)
	if len(out.Results) != 1 || out.Results[0].Error == nil || out.Results[0].Error.Number != 2000 {
		t.Errorf("no site has the partition: %+v", out)
	}
}

// TestConfigKeys holds the keys that programs look for in scontrol show config.
func TestConfigKeys(t *testing.T) {
	d := start(t)
	var raw json.RawMessage
	as(t, alice, d.Socket, "GET", "/fed/v1/config", nil, &raw)
	var values []v1.ConfigValue
	if err := json.Unmarshal(raw, &values); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range values {
		got[v.Key] = v.Value
	}
	for key, want := range map[string]string{"MaxArraySize": "4000001", "MinJobAge": "300 sec", "MaxJobCount": "37108863", "ClusterName": "fed", "SLURM_VERSION": "24.11.5",
		"ProctrackType": "proctrack/", "SelectType": "select/cons_tres", "SelectTypeParameters": "CR_CORE_MEMORY", "SchedulerType": "sched/backfill",
		"KillWait": "30 sec", "SlurmctldHost[0]": "", "AccountingStorageType": "accounting_storage/slurmdbd", "PropagateResourceLimits": "ALL",
		"PropagateResourceLimitsExcept": "(null)", "AllowSpecResourcesUsage": "No", "OverTimeLimit": "0 min"} {
		if value, has := got[key]; !has || !strings.HasPrefix(value, want) {
			t.Errorf("%s is %q, want %q", key, value, want)
		}
	}
}

// What only operators may ask, users are refused as by Slurm.
func TestOperatorsOnly(t *testing.T) {
	d := start(t)
	ids := d.Put(t, job(0, alice, federation.Pending))
	for verb, operator := range map[string]string{"top": "", "suspend": "Job is pending execution", "resume": "Job is pending execution"} {
		for uid, want := range map[uint32]string{alice: "Access/permission denied", 0: operator} {
			var out v1.ActResponse
			as(t, uid, d.Socket, "POST", "/fed/v1/jobs/"+verb, v1.ActRequest{Jobs: []v1.JobRef{{ID: ids[0]}}}, &out)
			text := ""
			if e := out.Results[0].Error; e != nil {
				text = e.Text
			}
			if text != want {
				t.Errorf("%s by uid %d: %q, want %q", verb, uid, text, want)
			}
		}
	}
}

// An operator's uhold is the user's to release, a hold is not.
func TestUserHoldOfAnOperator(t *testing.T) {
	d := start(t)
	ids := d.Put(t, job(0, alice, federation.Pending), job(0, alice, federation.Pending))
	for i, asUser := range []bool{true, false} {
		as(t, 0, d.Socket, "POST", "/fed/v1/jobs/hold", v1.ActRequest{Jobs: []v1.JobRef{{ID: ids[i]}}, AsUser: asUser}, new(v1.ActResponse))
		var out v1.ActResponse
		as(t, alice, d.Socket, "POST", "/fed/v1/jobs/release", v1.ActRequest{Jobs: []v1.JobRef{{ID: ids[i]}}}, &out)
		if refused := out.Results[0].Error != nil; refused == asUser {
			t.Errorf("as the user %v: release refused %v", asUser, refused)
		}
	}
}

func TestUpdateByREST(t *testing.T) {
	d := start(t)
	ids := d.Put(t, job(0, alice, federation.Pending))
	path := "/slurm/v0.0.42/job/" + ids[0].String()
	for _, test := range []struct {
		body   string
		status int
		check  func(*federation.Job) bool
	}{
		{`{"time_limit":{"set":true,"number":7},"comment":"x y","nice":5}`, 200, func(j *federation.Job) bool {
			return j.Spec.TimeLimit == 7*time.Minute && j.Spec.Comment == "x y" && j.Spec.Nice == 5
		}},
		{`{"constraints":"ib","begin_time":{"set":true,"number":1895295217}}`, 200, func(j *federation.Job) bool {
			return j.Spec.Constraint == "ib" && j.Spec.Begin.Unix() == 1895295217
		}},
		{`{"constraints":""}`, 200, func(j *federation.Job) bool { return j.Spec.Constraint == "" }},
		{`{"hold":true}`, 200, func(j *federation.Job) bool { return j.Held == federation.HeldUser }},
		{`{"comment":"z","hold":false}`, 500, func(j *federation.Job) bool { return j.Spec.Comment == "x y" && j.Held == federation.HeldUser }},
		{`{"script":"#!/bin/sh\n"}`, 500, func(j *federation.Job) bool { return true }},
		{`{"nodes":"many"}`, 500, func(j *federation.Job) bool { return j.Spec.MinNodes == 0 }},
	} {
		code := as(t, alice, d.Socket, "POST", path, json.RawMessage(test.body), new(map[string]any))
		j, err := d.Store.Job(t.Context(), ids[0])
		if err != nil || code != test.status || !test.check(&j) {
			t.Errorf("%s: status %d, want %d; %+v %v", test.body, code, test.status, j.Spec, err)
		}
	}
}

// TestUpdateIsCheckedAsASubmission: what a submission may not ask for, a change may not bring in; and only what scontrol can change may be changed.
func TestUpdateIsCheckedAsASubmission(t *testing.T) {
	d := start(t)
	nodes, err := os.CreateTemp(t.TempDir(), "nodes")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(nodes, "secret")
	nodes.Close()
	for _, test := range []struct{ option, value, text string }{
		{"reboot", "", "Invalid value"},
		{"array", "0-3", "Invalid value"},
		{"clusters", "alpha", "Invalid value"},
		{"hold", "", "Invalid value"},
		{"nodefile", nodes.Name(), "Invalid value"}, // the daemon would read it
		{"bbf", nodes.Name(), "Invalid value"},
		{"job-name", "x\n30000001 main root R", "Unable to convert Data type"},
		{"account", "\x1b[2J", "Unable to convert Data type"},
		{"qos", "a\nb", "Unable to convert Data type"},
		{"chdir", "/a\nb", "Unable to convert Data type"},
		{"licenses", "a\nb", "Unable to convert Data type"},
		{"nodes", "20000000", "More processors requested than permitted"},
		{"comment", "two\nlines", ""},
		{"chdir", "/srv", ""},
		{"partition", "main", ""},
	} {
		for _, state := range []federation.State{federation.Pending, federation.Running} {
			if state == federation.Running && test.option != "job-name" {
				continue
			}
			id := d.Put(t, job(0, alice, state))[0]
			var out v1.ActResponse
			as(t, alice, d.Socket, "POST", "/fed/v1/jobs/update", v1.ActRequest{Jobs: []v1.JobRef{{ID: id}},
				Change: []sbatch.Change{{Key: "Key", Option: test.option, Value: test.value}}}, &out)
			text := ""
			if e := out.Results[0].Error; e != nil {
				text = e.Text
			}
			if text != test.text {
				t.Errorf("%s=%q of a %s job: %q, want %q", test.option, test.value, state, text, test.text)
			}
		}
	}
}

// What has become impossible since a job was submitted keeps nobody from changing what else there is of it.
func TestUpdateOfWhatIsRefused(t *testing.T) {
	d := start(t)
	wait := job(0, alice, federation.Pending)
	wait.Spec.TimeLimit, wait.Spec.Partition = time.Hour, "gone"
	id := d.Put(t, wait)[0]
	limit := &federation.SlurmError{Kind: federation.ErrDenied, Number: 2050, Text: "Job violates accounting/QOS policy", Detail: "qos short: 30 minutes"}
	gone := &federation.SlurmError{Kind: federation.ErrCapacity, Number: 2000, Text: "Invalid partition name specified"}
	refuse := func(all *federation.SlurmError) func(*federation.Job) error {
		return func(j *federation.Job) error {
			if j.Spec.Account == "other" {
				return &federation.SlurmError{Kind: federation.ErrDenied, Number: 2050, Text: limit.Text, Detail: "qos other"}
			}
			return all
		}
	}
	for _, test := range []struct {
		refusal       *federation.SlurmError
		option, value string
		text          string
	}{
		{limit, "comment", "x", ""},
		{limit, "time", "50", ""}, // it is too long still
		{limit, "account", "other", limit.Text},
		{gone, "comment", "y", ""},
		{gone, "partition", "nosuch", gone.Text},
		{gone, "account", "other", limit.Text},
	} {
		d.Controller.SetJudge(refuse(test.refusal))
		var out v1.ActResponse
		status := as(t, alice, d.Socket, "POST", "/fed/v1/jobs/update", v1.ActRequest{Jobs: []v1.JobRef{{ID: id}},
			Change: []sbatch.Change{{Key: "Key", Option: test.option, Value: test.value}}}, &out)
		if len(out.Results) != 1 {
			t.Fatalf("%+v: status %d, %+v", test, status, out)
		}
		text := ""
		if e := out.Results[0].Error; e != nil {
			text = e.Text
		}
		if text != test.text {
			t.Errorf("%s=%s of a job that is refused with %d: %q, want %q", test.option, test.value, test.refusal.Number, text, test.text)
		}
	}
}

// TestUpdateKeepsComponentsChecked: a change is judged with all components.
func TestUpdateKeepsComponentsChecked(t *testing.T) {
	d := start(t)
	bad := job(0, alice, federation.Pending)
	bad.Spec.Het = []sbatch.Spec{{WorkDir: "/", More: &sbatch.More{Reboot: true}}}
	id := d.Put(t, bad)[0]
	var out v1.ActResponse
	as(t, alice, d.Socket, "POST", "/fed/v1/jobs/update", v1.ActRequest{Jobs: []v1.JobRef{{ID: id}},
		Change: []sbatch.Change{{Key: "Comment", Option: "comment", Value: "x"}}}, &out)
	if e := out.Results[0].Error; e == nil || e.Number != 2002 {
		t.Errorf("a component reboots nodes: %+v", e)
	}
}

// Of an array whose tasks have all ended there is nothing to hold or release, and that is no error; of a job it is.
func TestHoldEndedArray(t *testing.T) {
	d := start(t)
	array, single := job(0, alice, federation.Cancelled), job(0, alice, federation.Cancelled)
	array.Spec.Array, array.Whole = "6%4", &federation.ArrayWhole{Count: 1, Min: 6, Max: 6, Step: 1, Limit: 4, Spread: true}
	array.End, single.End = time.Now(), time.Now()
	ids := d.Put(t, array, single)
	for _, verb := range []string{"hold", "release"} {
		for i, want := range []string{"", "Job has already finished"} {
			var out v1.ActResponse
			as(t, alice, d.Socket, "POST", "/fed/v1/jobs/"+verb, v1.ActRequest{Jobs: []v1.JobRef{{ID: ids[i]}}}, &out)
			if len(out.Results) != 1 || (out.Results[0].Error == nil) != (want == "") || want != "" && out.Results[0].Error.Text != want {
				t.Errorf("%s of job %d: %+v, want %q", verb, i, out, want)
			}
		}
	}
}

// TestUpdateOfAnArraysNumber: it means each task that slurmctld would still know, and the answer names those that are refused, as that of Slurm 24.11.5 does.
func TestUpdateOfAnArraysNumber(t *testing.T) {
	for _, c := range []struct {
		name, array string // array: what waits
		states      map[int]federation.State
		verb        string
		change      sbatch.Change
		want        string   // what scontrol names
		asked       []string // of the controller, by task; "waits" are the others
	}{
		{"all wait", "0-3", nil, "update", sbatch.Change{Option: "time", Value: "90"}, "", []string{"waits"}},
		{"all wait, refused", "0-3", nil, "update", sbatch.Change{Option: "-AdminComment", Value: "x"}, "0-3: Access/permission denied", nil},
		{"two run", "2-3%2", map[int]federation.State{0: federation.Running, 1: federation.Running}, "update", sbatch.Change{Option: "comment", Value: "x"}, "", []string{"0", "1", "waits"}},
		{"two run, longer", "2-3%2", map[int]federation.State{0: federation.Running, 1: federation.Running}, "update", sbatch.Change{Option: "time", Value: "90"},
			"0-1: Access/permission denied", []string{"waits"}},
		{"two run, shorter", "2-3%2", map[int]federation.State{0: federation.Running, 1: federation.Running}, "update", sbatch.Change{Option: "time", Value: "30"}, "", []string{"0", "1", "waits"}},
		{"one has ended", "2-3%1", map[int]federation.State{0: federation.Completed, 1: federation.Running}, "update", sbatch.Change{Option: "constraint", Value: "x"},
			"0: Job has already finished; 1: Job is no longer pending execution", []string{"waits"}},
		{"one has ended, held", "2-3%1", map[int]federation.State{0: federation.Completed, 1: federation.Running}, "hold", sbatch.Change{}, "0: Job has already finished", []string{"1", "waits"}},
		{"all have ended", "", map[int]federation.State{0: federation.Completed, 1: federation.Failed}, "release", sbatch.Change{}, "0-1: Job has already finished", nil},
		{"one has ended, requeued", "2-3%1", map[int]federation.State{0: federation.Completed, 1: federation.Running}, "requeue", sbatch.Change{}, "2-3: Job is pending execution", []string{"0", "1"}},
		{"all wait, requeued", "2-3", nil, "requeue", sbatch.Change{}, "2-3: Job is pending execution", nil},
		{"the limit is of all", "2-3%1", map[int]federation.State{0: federation.Completed, 1: federation.Running}, "update", sbatch.Change{Option: "array-limit", Value: "2"}, "", []string{"waits"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := start(t)
			array := job(0, alice, federation.Running)
			array.Spec.Array, array.Spec.TimeLimit, array.Whole = c.array, time.Hour, &federation.ArrayWhole{Count: 4, Max: 3, Step: 1, Spread: true}
			if c.array == "" {
				array.State, array.End = federation.Failed, time.Now()
			}
			if c.states == nil { // the controller has not seen it yet
				array.State, array.Whole = federation.Pending, nil
			}
			id := d.Put(t, array)[0]
			tasks := map[federation.JobID]string{id: "waits"}
			for index, state := range c.states {
				p := job(0, alice, state)
				p.Spec.TimeLimit, p.Part = time.Hour, &federation.ArrayPart{Array: id, Index: index, Count: 4, Max: 3, Step: 1}
				if state.Ended() {
					p.End = time.Now()
				}
				tasks[d.Put(t, p)[0]] = strconv.Itoa(index)
			}
			var out v1.ActResponse
			req := v1.ActRequest{Jobs: []v1.JobRef{{ID: id}}}
			if c.verb == "update" {
				req.Change = []sbatch.Change{c.change}
			}
			as(t, alice, d.Socket, "POST", "/fed/v1/jobs/"+c.verb, req, &out)
			var refused, asked []string
			for _, r := range out.Results[0].Tasks {
				if r.Error != nil {
					refused = append(refused, r.Tasks+": "+r.Error.Text)
				}
			}
			for _, r := range d.Controller.Done() {
				asked = append(asked, tasks[r.Job])
			}
			slices.Sort(asked)
			if got := strings.Join(refused, "; "); got != c.want || (out.Results[0].Error != nil) != (got != "") || !slices.Equal(asked, c.asked) {
				t.Errorf("refused %q, want %q; the controller is asked for %q, want %q", got, c.want, asked, c.asked)
			}
		})
	}
}

// TestUpdateOfManyTasks: much that runs is one request, and what is refused is left out of it.
func TestUpdateOfManyTasks(t *testing.T) {
	d := start(t)
	array := job(0, alice, federation.Running)
	array.Spec.Array, array.Spec.TimeLimit, array.Whole = "200-299", time.Hour, &federation.ArrayWhole{Count: 300, Max: 299, Step: 1, Spread: true}
	id := d.Put(t, array)[0]
	var parts []federation.Job
	for i := range 200 {
		p := job(0, alice, federation.Running)
		p.Spec.TimeLimit, p.Part = time.Hour, &federation.ArrayPart{Array: id, Index: i, Count: 300, Max: 299, Step: 1}
		if i < 100 {
			p.Spec.TimeLimit = 2 * time.Hour // set by an operator
		}
		parts = append(parts, p)
	}
	d.Put(t, parts...)
	for _, c := range []struct{ option, value, refused, asked string }{{"comment", "x", "", ""}, {"time", "90", "100-199", "0-99,200-299"}} {
		var out v1.ActResponse
		as(t, alice, d.Socket, "POST", "/fed/v1/jobs/update", v1.ActRequest{Jobs: []v1.JobRef{{ID: id}}, Change: []sbatch.Change{{Option: c.option, Value: c.value}}}, &out)
		refused := ""
		for _, r := range out.Results[0].Tasks {
			if r.Error != nil {
				refused += r.Tasks
			}
		}
		done := d.Controller.Done()
		last := done[len(done)-1]
		if refused != c.refused || last.Job != id || last.Tasks.Format(0) != c.asked {
			t.Errorf("%s: refused %q, want %q; asked of tasks %q of %d, want %q of %d", c.option, refused, c.refused, last.Tasks.Format(0), last.Job, c.asked, id)
		}
	}
	if n := len(d.Controller.Done()); n != 2 {
		t.Errorf("%d requests", n)
	}
	for body, want := range map[string]string{
		`{"comment":"x"}`:                                      "200",
		`{"time_limit":{"set":true,"number":90}}`:              "200 0-99,200-299: 0; 100-199: 2002",
		`{"comment":"x","admin_comment":"x"}`:                  "500",
		`{"account":"x","time_limit":{"set":true,"number":9}}`: "200 0-199: 2073; 200-299: 0",
	} {
		var out wire.JobUpdateResponse
		got := strconv.Itoa(as(t, alice, d.Socket, "POST", fmt.Sprintf("/slurm/v0.0.42/job/%d", id), rawJSON(body), &out))
		for i, r := range out.Results {
			got += []string{" ", "; "}[min(i, 1)] + strings.TrimPrefix(r.StepID, fmt.Sprintf("%d_", id)) + ": " + strconv.Itoa(r.Code)
		}
		if got != want {
			t.Errorf("slurmrestd's %s: %s, want %s", body, got, want)
		}
	}
}

// An array that has ended is requeued as those of its tasks whose records are still there; a task by its own number, or by its index.
func TestRequeueEndedArray(t *testing.T) {
	d := start(t)
	array := job(0, alice, federation.Failed)
	array.Whole, array.End = &federation.ArrayWhole{Count: 3, Min: 0, Max: 2, Step: 1, Spread: true}, time.Now()
	id := d.Put(t, array)[0]
	var parts []federation.Job
	for i, ago := range []time.Duration{time.Second, 24 * time.Hour, time.Second} {
		p := job(0, alice, federation.Completed)
		p.Part, p.End = &federation.ArrayPart{Array: id, Index: i, Count: 3, Max: 2, Step: 1}, time.Now().Add(-ago)
		parts = append(parts, p)
	}
	ids := d.Put(t, parts...)
	requeue := func(ref v1.JobRef) string {
		var out v1.ActResponse
		as(t, alice, d.Socket, "POST", "/fed/v1/jobs/requeue", v1.ActRequest{Jobs: []v1.JobRef{ref}}, &out)
		if len(out.Results) != 1 || out.Results[0].Error == nil {
			return ""
		}
		return out.Results[0].Error.Text
	}
	state := func(i int) federation.State {
		j, err := d.Store.Job(t.Context(), ids[i])
		if err != nil {
			t.Fatal(err)
		}
		return j.State
	}
	if text := requeue(v1.JobRef{ID: id, Tasks: federation.Tasks(2)}); text != "" || state(2) != federation.Pending || state(0) != federation.Completed {
		t.Fatalf("task 2: %q, %s; task 0 %s", text, state(2), state(0))
	}
	if text := requeue(v1.JobRef{ID: id}); text != "Job is pending execution" || state(0) != federation.Pending || state(1) != federation.Completed {
		t.Errorf("array: %q; task 0 %s, task 1 %s", text, state(0), state(1))
	}
	if text := requeue(v1.JobRef{ID: ids[1]}); text != "Invalid job id specified" {
		t.Errorf("task 1, whose record is gone: %q", text)
	}
}
