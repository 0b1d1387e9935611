package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// sendBatch submits lines as the user of this process, and returns the status with the lines of the answer.
func sendBatch(t *testing.T, d *apitest.Daemon, key string, body io.Reader, length int64) (int, []v1.BatchJob, v1.Error) {
	t.Helper()
	h := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", d.Socket) }}}
	defer h.CloseIdleConnections()
	req, err := http.NewRequest("POST", "http://fsub/fed/v1/jobs/submit", body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = length
	req.Header.Set("Idempotency-Key", key)
	resp, err := h.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		var e v1.ErrorResponse
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return resp.StatusCode, nil, e.Error
	}
	var jobs []v1.BatchJob
	for line := range bytes.Lines(text) {
		var j v1.BatchJob
		if err := json.Unmarshal(line, &j); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		jobs = append(jobs, j)
	}
	return 200, jobs, v1.Error{}
}

func submitLines(t *testing.T, d *apitest.Daemon, key string, lines ...string) (int, []v1.BatchJob, v1.Error) {
	t.Helper()
	body := strings.Join(lines, "\n")
	return sendBatch(t, d, key, strings.NewReader(body), int64(len(body)))
}

// line is an entry of a batch.
func line(name, dependency, more string) string {
	text := fmt.Sprintf(`{"name":%q,"spec":{"name":%q,"work_dir":"/w","dependency":%q},"payload":{"script":"#!/bin/sh\n","argv":["a"],"environment":["A=b"]}%s}`, name, name, dependency, more)
	return strings.Replace(text, `"name":"","`, `"`, 1)
}

// Jobs that are submitted together name each other, in any order of lines, and get numbers in an order in which each comes after those that it depends on.
func TestBatch(t *testing.T) {
	d := start(t)
	before := d.Put(t, job(0, alice, federation.Running))[0]
	if err := d.Server.Queue().Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	status, jobs, e := submitLines(t, d, "k",
		line("eval", fmt.Sprintf("afterok:@train:@sweep_7,afterany:%d", before), ""),
		line("", "after:@train+5", ""), "",
		line("train", "aftercorr:@sweep", `,"payload_of":""`),
		`{"name":"sweep","spec":{"work_dir":"/w","array":"0-9","fed":{"group":"g"}},"payload":{"script":"#!/bin/sh\necho shared\n","environment":["S=1"]}}`,
		`{"name":"like","spec":{"work_dir":"/w","fed":{"group":"g"}},"payload":{"argv":["own"]},"payload_of":"sweep"}`)
	if status != 200 || len(jobs) != 6 {
		t.Fatalf("%d %+v %+v", status, jobs, e)
	}
	if last := jobs[5]; last.Jobs != 5 || last.Mark == 0 || last.Again {
		t.Errorf("the last line is %+v", last)
	}
	ids := map[string]federation.JobID{}
	for i, name := range []string{"eval", "", "train", "sweep", "like"} {
		if ids[name] = jobs[i].JobID; jobs[i].Name != name || jobs[i].JobID == 0 {
			t.Errorf("line %d of the answer is %+v", i, jobs[i])
		}
	}
	for name, want := range map[string]string{
		"eval": fmt.Sprintf("afterok:%d:%d_7,afterany:%d", ids["train"], ids["sweep"], before), "": fmt.Sprintf("after:%d+5", ids["train"]), "train": fmt.Sprintf("aftercorr:%d", ids["sweep"]), "sweep": "",
	} {
		j, err := d.Store.Job(t.Context(), ids[name])
		if err != nil {
			t.Fatal(err)
		}
		if j.Spec.Dependency != want || want != "" && j.Reason != reasons.Dependency || j.User != "root" {
			t.Errorf("%q is %+v with dependency %q, want %q", name, j, j.Spec.Dependency, want)
		}
	}
	if ids["sweep"] > ids["train"] || ids["train"] > ids["eval"] || ids["train"] > ids[""] {
		t.Errorf("a job has a lower number than one that it depends on: %v", ids)
	}
	if p, err := d.Store.Payload(t.Context(), ids["train"]); err != nil || !slices.Equal(p.Environment, []string{"A=b", fmt.Sprintf("SLURM_JOB_DEPENDENCY=aftercorr:%d", ids["sweep"])}) {
		t.Errorf("a job learns of its dependency by %q, %v", p.Environment, err)
	}
	p, err := d.Store.Payload(t.Context(), ids["like"])
	if err != nil {
		t.Fatal(err)
	}
	want := sbatch.Payload{Script: "#!/bin/sh\necho shared\n", Argv: []string{"own"}, Environment: []string{"S=1", "FSUB_GROUP=g"}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("payload_of (-want +got):\n%s", diff)
	}
	again, known, _ := submitLines(t, d, "k", line("eval", "", ""), line("", "", ""), line("train", "", ""), line("a", "", ""), line("b", "", ""))
	if again != 200 || known[0].JobID != ids["eval"] || known[4].JobID != ids["like"] || !known[5].Again || known[5].Mark != 0 {
		t.Errorf("the same key: %d, %+v", again, known)
	}
	if status, _, e := submitLines(t, d, "k", line("x", "", "")); status != 400 || !strings.Contains(e.Detail, "a batch of 5 jobs was submitted under this key, and this one has 1") {
		t.Errorf("the same key and fewer jobs: %d, %+v", status, e)
	}
}

// What is wrong with a line is told with its number and its name, and nothing is stored.
func TestBatchIsRefused(t *testing.T) {
	d := start(t)
	ok := line("ok", "", "")
	for _, c := range []struct {
		name  string
		lines []string
		want  string
		wrong []int // lines
	}{
		{"unknown name", []string{ok, "", line("b", "afterok:@prp", "")}, `line 3 (b): dependency "afterok:@prp" names "prp", which is no entry of the batch`, []int{3}},
		{"two unknown names", []string{line("a", "afterok:@x", ""), ok, line("", "afterok:@y", "")}, `line 1 (a): `, []int{1, 3}},
		{"ring", []string{ok, line("b", "afterok:@d", ""), line("c", "afterok:@b", ""), line("d", "afterany:@c,after:@ok", "")}, "line 2 (b): the dependencies form a ring, so none of its jobs could ever start: b -> d -> c -> b; take one", []int{2}},
		{"itself", []string{line("b", "afterok:@b", "")}, "line 1 (b): the dependencies form a ring", []int{1}},
		{"twice the same name", []string{ok, line("b", "", ""), line("ok", "", "")}, "line 3 (ok): the name ok is that of line 1, too", []int{3}},
		{"bad name", []string{line("a b", "", "")}, `line 1 (a b): invalid name "a b": want 1 to 128 letters`, []int{1}},
		{"dependency that cannot be read", []string{ok, line("b", "afterok:@ok,soon:@ok", "")}, `line 2 (b): invalid dependency "afterok:@ok,soon:@ok"`, []int{2}},
		{"a name that cannot stand there", []string{ok, line("b", "singleton:@ok", "")}, `line 2 (b): invalid dependency "singleton:@ok"`, []int{2}},
		{"unknown job", []string{ok, line("b", "afterok:@ok:4711", "")}, "line 2 (b): job 4711 is not known", []int{2}},
		{"the number that stands for names meanwhile", []string{line("b", "afterok:99999999", "")}, "line 1 (b): job 99999999 is not known", []int{1}},
		{"no JSON", []string{ok, "{"}, "line 2: unexpected end of JSON input", []int{2}},
		{"no script", []string{ok, `{"spec":{"work_dir":"/w"},"payload":{"script":""}}`}, "line 2: Job script not specified", []int{2}},
		{"payload of nobody", []string{line("b", "", `,"payload_of":"ok"`), ok}, `line 1 (b): payload_of: no entry before this one has the name "ok"`, []int{1}},
		{"components", []string{`{"spec":{"work_dir":"/w","het":[{"work_dir":"/w"}]},"payload":{"script":"#!/bin/sh\n"}}`}, "line 1: a job with components is submitted by itself", []int{1}},
		{"nice", []string{ok, `{"name":"n","spec":{"work_dir":"w"},"payload":{"script":"#!/bin/sh\n"}}`}, "line 2 (n): work_dir must be an absolute path", []int{2}},
		{"nothing", []string{"", ""}, "the batch has no entry", nil},
	} {
		status, jobs, e := submitLines(t, d, "", c.lines...)
		var wrong []int
		for _, l := range e.Lines {
			wrong = append(wrong, l.Line)
		}
		if status != 400 || jobs != nil || !strings.HasPrefix(e.Detail, c.want) || !cmp.Equal(wrong, c.wrong) {
			t.Errorf("%s: %d, %q of lines %v, want %q of %v", c.name, status, e.Detail, wrong, c.want, c.wrong)
		}
		if wrong != nil && !strings.HasSuffix(e.Detail, "; nothing of the batch is submitted") {
			t.Errorf("%s: %q", c.name, e.Detail)
		}
	}
	stored, err := d.Store.Jobs(t.Context(), federation.JobQuery{})
	if err != nil || len(stored) != 0 {
		t.Errorf("%d jobs of refused batches are stored, %v", len(stored), err)
	}
}

// The states of many jobs, and of the tasks of arrays, come with a mark from which events go on.
func TestStates(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	failed := job(0, alice, federation.Failed)
	failed.ExitStatus = 7 << 8
	array := job(0, alice, federation.Pending)
	array.Spec = &sbatch.Spec{Array: "3-9"}
	array.Whole = &federation.ArrayWhole{Count: 10, Max: 9, Spread: true, Cancelled: []federation.CancelledTasks{{Tasks: federation.Tasks(2)}}}
	ids := d.Put(t, failed, job(0, alice, federation.Running), array)
	for i, state := range []federation.State{federation.Completed, federation.Failed} {
		p := job(0, alice, state)
		p.Part = &federation.ArrayPart{Array: ids[2], Index: i, Count: 10}
		if p.ExitStatus = 0; state == federation.Failed {
			p.ExitStatus = 256
		}
		d.Put(t, p)
	}
	got, err := client.Post[v1.StatesResponse](t.Context(), c, "/fed/v1/jobs/states", v1.StatesRequest{Jobs: []federation.JobID{ids[1], 5, ids[0], ids[2]}, Tasks: true})
	if err != nil {
		t.Fatal(err)
	}
	exit := func(n int32) *int32 { return &n }
	want := v1.StatesResponse{
		States: []v1.JobState{{JobID: ids[1], Name: "j", State: federation.Running}, {JobID: ids[0], Name: "j", State: federation.Failed, Exit: exit(7 << 8)}, {JobID: ids[2], State: federation.Pending, Tasks: []v1.TasksState{
			{Tasks: "2", State: federation.Cancelled, Exit: exit(0)}, {Tasks: "0", State: federation.Completed, Exit: exit(0)}, {Tasks: "1", State: federation.Failed, Exit: exit(256)}, {Tasks: "3-9", State: federation.Pending},
		}}},
		Unknown: []federation.JobID{5}, Mark: got.Mark,
	}
	if diff := cmp.Diff(want, got); diff != "" || got.Mark == 0 {
		t.Errorf("mark %d, (-want +got):\n%s", got.Mark, diff)
	}
	if err := c.Do(t.Context(), "POST", "/fed/v1/jobs/states", map[string]any{"jobs": make([]int, 100_001)}, nil); err == nil {
		t.Error("100,001 jobs in one request are answered")
	}
}

// An entry may be a call in sbatch's words, as a submission of one job: it shares the script and the environment of an earlier one as they were given.
func TestBatchOfCalls(t *testing.T) {
	d := start(t)
	const first = `{"name":"a","spec":{},"call":{"dir":"/w","args":["--job-name=one","--mem=5G"]},"payload":{"script":"#!/bin/sh\n#SBATCH --time=7\n","environment":["A=b","SBATCH_OPEN_MODE=append"]}}`
	status, jobs, e := submitLines(t, d, "", first,
		`{"spec":{},"call":{"dir":"/x","args":["--time=9","--dependency=afterok:@a"]},"payload":{},"payload_of":"a"}`)
	if status != 200 || len(jobs) != 3 {
		t.Fatalf("%d %+v %+v", status, jobs, e)
	}
	for i, want := range []struct {
		dir, dependency string
		limit           time.Duration
	}{{"/w", "", 7 * time.Minute}, {"/x", fmt.Sprintf("afterok:%d", jobs[0].JobID), 9 * time.Minute}} {
		j, err := d.Store.Job(t.Context(), jobs[i].JobID)
		if err != nil {
			t.Fatal(err)
		}
		if j.Spec.WorkDir != want.dir || j.Spec.Dependency != want.dependency || j.Spec.TimeLimit != want.limit || j.Spec.OpenMode == "" {
			t.Errorf("job %d is %+v", i, j.Spec)
		}
		if p, err := d.Store.Payload(t.Context(), j.ID); err != nil || !slices.Contains(p.Environment, "A=b") || !strings.HasPrefix(p.Script, "#!/bin/sh\n#SBATCH") {
			t.Errorf("job %d has payload %+v, %v", i, p, err)
		}
	}
	for call, want := range map[string]string{
		`{"dir":"/w","args":["--mem=lots"]}`:  "line 2 (b)",
		`{"dir":"w"}`:                         "want the absolute path of a directory",
		`{"dir":"/w","args":["--test-only"]}`: "a batch submits its jobs",
	} {
		status, _, e := submitLines(t, d, "", first, fmt.Sprintf(`{"name":"b","spec":{},"call":%s,"payload":{"script":"#!/bin/sh\n"}}`, call))
		if said := fmt.Sprintf("%+v", e); status != 400 || !strings.Contains(said, want) {
			t.Errorf("%s: %d %s, want %q", call, status, said, want)
		}
	}
}
