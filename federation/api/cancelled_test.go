package api_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/slurm/wire"
	"fsub/testbed/apitest"
)

func setOf(t testing.TB, text string) federation.TaskSet {
	t.Helper()
	a, err := federation.ReadArray(text)
	if err != nil {
		t.Fatal(err)
	}
	return a.Set()
}

// cancelledArray is an array of n tasks of which all but the last were cancelled by name, the second and the fourth by themselves.
func cancelledArray(t testing.TB, n int) federation.Job {
	a := job(0, alice, federation.Pending)
	a.Spec.Array = fmt.Sprint(n - 1)
	a.Whole = &federation.ArrayWhole{Count: n, Max: n - 1, Step: 1, Spread: true}
	for i, tasks := range []string{"1,3", fmt.Sprintf("0,2,4-%d", n-2)} {
		a.Whole = a.Whole.WithCancelled(federation.CancelledTasks{Tasks: setOf(t, tasks), End: time.Now().Add(time.Duration(i) * time.Second), Cancel: true, CancelBy: bob})
	}
	return a
}

// TestCancelledTasks: few tasks that were cancelled while they waited are listed one by one, and many as one.
func TestCancelledTasks(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	id := d.Put(t, cancelledArray(t, 1000))[0]
	want := fmt.Sprintf("%[1]d_1 CANCELLED; %[1]d_3 CANCELLED; %[1]d_[0,2,4-998] CANCELLED; %[1]d_[999] PENDING", id)
	text := func(list []wire.Job) string {
		var out []string
		for _, j := range list {
			task := fmt.Sprintf("[%s]", j.ArrayTaskString)
			if j.ArrayTaskID.Set {
				task = fmt.Sprint(j.ArrayTaskID.Number)
			}
			out = append(out, fmt.Sprintf("%d_%s %s", j.ArrayJobID.Number, task, j.State[0]))
		}
		return strings.Join(out, "; ")
	}
	if got := text(jobs(t, c, "/jobs")); got != want {
		t.Errorf("GET /jobs: %s\nwant %s", got, want)
	}
	_, _, rows, err := readQueue(d.Socket, "")
	if got := text(rows); err != nil || len(rows) != 4 || !strings.Contains(got, "_[0,2,4-998] CANCELLED") || !strings.Contains(got, "_[999] PENDING") {
		t.Errorf("the queue: %s %v", got, err)
	}
	if _, _, rows, err = readQueue(d.Socket, fmt.Sprintf("?job_id=%d_1&live=1", id)); err != nil || len(rows) != 1 || rows[0].ArrayTaskString != "999" {
		t.Errorf("what lives of task 1: %s %v", text(rows), err)
	}
	var db wire.DBJobsResponse
	if err := c.Do(t.Context(), "GET", "/slurmdb/v0.0.42/jobs?start_time=1", nil, &db); err != nil || len(db.Jobs) != 4 || db.Jobs[2].KillRequestUser != "bob" ||
		db.Jobs[2].Array.Task != "0,2,4-998" || db.Jobs[0].Array.TaskID.Value() != 1 || db.Jobs[3].KillRequestUser != "" {
		t.Errorf("accounting: %v %+v", err, db.Jobs)
	}
	rec, err := c.Job(t.Context(), id)
	if err != nil || len(rec.Tasks) > 0 || len(rec.Job.Whole.Cancelled) != 2 || rec.Job.Whole.Cancelled[1].Tasks.Len() != 997 {
		t.Errorf("the job's record: %+v %v", rec, err)
	}
	// They have ended: a cancel has nothing to do, and more of them than a request may name are one.
	for ref, number := range map[string]int{"1": wire.ErrAlreadyDone, "0-998": wire.ErrAlreadyDone, "0-999": 0, "999": 0, "1000": wire.ErrJobID} {
		var resp v1.ActResponse
		if code := as(t, alice, d.Socket, "POST", "/fed/v1/jobs/cancel", v1.ActRequest{Jobs: []v1.JobRef{{ID: id, Tasks: setOf(t, ref)}}}, &resp); code != http.StatusOK {
			t.Fatalf("cancel of %s: status %d", ref, code)
		}
		if got := resp.Results[0].Error; (got == nil) != (number == 0) || got != nil && got.Number != number {
			t.Errorf("cancel of %s: %+v, want error %d", ref, got, number)
		}
	}
}

// TestCancelOfManyByName: of tasks that wait any number may be cancelled by name, for nothing is done to each of them.
func TestCancelOfManyByName(t *testing.T) {
	d := start(t)
	a := job(0, alice, federation.Pending)
	a.Spec.Array, a.Whole = "0-999999", &federation.ArrayWhole{Count: 1_000_000, Max: 999_999, Step: 1, Spread: true}
	id := d.Put(t, a)[0]
	for verb, want := range map[string]int{"cancel": http.StatusOK, "hold": http.StatusBadRequest} {
		var resp v1.ActResponse
		if code := as(t, alice, d.Socket, "POST", "/fed/v1/jobs/"+verb, v1.ActRequest{Jobs: []v1.JobRef{{ID: id, Tasks: setOf(t, "0-999998")}}}, &resp); code != want {
			t.Errorf("%s: status %d, want %d", verb, code, want)
		}
	}
}

// TestListingsGrow: what a listing allocates for four times as many tasks is four times as much at most, whatever has become of them; of those that were cancelled by name
// while they waited it is no more.
func TestListingsGrow(t *testing.T) {
	paths := []string{"/fed/v1/queue", "/fed/v1/jobs", "/fed/v1/job/%d", "/fed/v1/job/%d/explain", "/fed/v1/accounting", "/slurm/v0.0.43/jobs", "/slurm/v0.0.43/jobs/state", "/slurm/v0.0.43/job/%d",
		"/slurmdb/v0.0.43/jobs?start_time=1"}
	type kind struct {
		n   int
		put func(d *apitest.Daemon, n int) federation.JobID
	}
	for name, k := range map[string]kind{
		"cancelled": {5000, func(d *apitest.Daemon, n int) federation.JobID { return d.Put(t, cancelledArray(t, n))[0] }},
		"recorded": {250, func(d *apitest.Daemon, n int) federation.JobID { // as earlier versions have written what was cancelled
			a := job(0, alice, federation.Pending)
			a.Spec.Array, a.Whole = fmt.Sprint(n), &federation.ArrayWhole{Count: n + 1, Max: n, Step: 1, Spread: true}
			id := d.Put(t, a)[0]
			b := &journal.Batch{}
			for i := range n {
				b.Tasks = append(b.Tasks, &federation.Task{Job: id, Index: i, State: federation.Cancelled, End: time.Now(), Cancel: true, CancelBy: alice})
			}
			if err := d.Store.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			return id
		}},
	} {
		n := k.n
		few, many := start(t), start(t)
		ids := []federation.JobID{k.put(few, n), k.put(many, 4*n)}
		for _, path := range paths {
			var bytes [2]uint64
			for i, d := range []*apitest.Daemon{few, many} {
				at := strings.Replace(path, "%d", ids[i].String(), 1)
				read(t, d, at) // what is kept from then on
				if err := touch(t, d, ids[i]); err != nil {
					t.Fatal(err)
				}
				bytes[i] = allocated(func() { read(t, d, at) })
			}
			t.Logf("%-10s %-36s %9d bytes, %9d", name, path, bytes[0], bytes[1])
			most := 5*bytes[0] + 1<<20
			if name == "cancelled" {
				most = 2*bytes[0] + 1<<20
			}
			if bytes[1] > most {
				t.Errorf("%s %s: %d bytes for %d tasks, %d for %d", name, path, bytes[0], n, bytes[1], 4*n)
			}
		}
	}
}

// touch writes a job as it is.
func touch(t testing.TB, d *apitest.Daemon, id federation.JobID) error {
	j, err := d.Store.Job(t.Context(), id)
	if err != nil {
		return err
	}
	return d.Store.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&j}})
}

func read(t testing.TB, d *apitest.Daemon, path string) {
	t.Helper()
	h := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", d.Socket) }}}
	resp, err := h.Get("http://fsub" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n == 0 || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: status %d, %d bytes, %v", path, resp.StatusCode, n, err)
	}
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
