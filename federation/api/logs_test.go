package api_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/client"
	"fsub/federation/api/restd"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/sbatch"
)

func TestOutputFile(t *testing.T) {
	plain := federation.Job{ID: 42, User: "alice", Nodes: "n[3-4]", Spec: &sbatch.Spec{Name: "x", WorkDir: "/home/a b"}}
	part := plain
	part.Part = &federation.ArrayPart{Array: 40, Index: 7}
	array := plain
	array.EditSpec(func(s *sbatch.Spec) { s.Array = "1-9" })
	for _, c := range []struct {
		job        federation.Job
		task       *federation.Task
		output     string
		errors     string
		out, errOf string
	}{
		{plain, nil, "", "", "/home/a b/slurm-42.out", "/home/a b/slurm-42.out"},
		{plain, nil, "o.%j", "/e/%x-%u-%N", "/home/a b/o.42", "/e/x-alice-n3"},
		{plain, nil, "none", "e", "/dev/null", "/home/a b/e"},
		{array, &federation.Task{Index: 3, SiteJobID: 45, Nodes: "n9"}, "", "%j.%N", "/home/a b/slurm-42_3.out", "/home/a b/45.n9"},
		{part, nil, "", "%A_%4a.%j", "/home/a b/slurm-40_7.out", "/home/a b/40_0007.42"},
	} {
		c.job.EditSpec(func(s *sbatch.Spec) { s.Output, s.Error = c.output, c.errors })
		if got := restd.OutputFile(&c.job, c.task, false); got != c.out {
			t.Errorf("%q: %s, want %s", c.output, got, c.out)
		}
		if got := restd.OutputFile(&c.job, c.task, true); got != c.errOf {
			t.Errorf("%q, %q: errors to %s, want %s", c.output, c.errors, got, c.errOf)
		}
	}
}

// fakeLogs is the output of every attempt.
type fakeLogs struct{}

func (fakeLogs) ReadLog(_ context.Context, j *federation.Job, a *federation.Attempt, task int, stderr bool, offset int64, _ int) (federation.LogPart, error) {
	if j.Restarts > 0 {
		return federation.LogPart{}, federation.ErrNotFound
	}
	text := fmt.Sprintf("%d %s %d %v", j.ID, a.Key, task, stderr)
	return federation.LogPart{Text: []byte(text[offset:]), Done: true}, nil
}

func TestLogs(t *testing.T) {
	d := startWith(t, api.Config{Logs: fakeLogs{}})
	d.Controller.SetSites(&federation.Site{Name: "near"}, &federation.Site{Name: "far", FileSystems: []string{"/scratch"}})
	at := func(id federation.JobID, site federation.SiteName, change func(*federation.Job)) {
		j := job(id, alice, federation.Running)
		j.Site, j.Attempt = site, 1
		if change != nil {
			change(&j)
		}
		d.Put(t, j)
		a := federation.Attempt{Job: id, Number: 1, Key: "k" + id.String(), Site: site, State: federation.AttemptStarted}
		if err := d.Store.Commit(t.Context(), &journal.Batch{Attempts: []*federation.Attempt{&a}}); err != nil {
			t.Fatal(err)
		}
	}
	at(30000001, "near", nil)
	at(30000002, "far", nil)
	at(30000003, "far", func(j *federation.Job) { j.Spec.Array = "1-9" })
	at(30000004, "far", func(j *federation.Job) { j.Restarts = 1 })
	c := client.New(d.Socket)
	defer c.Close()
	for _, test := range []struct {
		ref    client.LogRef
		offset int64
		staged bool
		file   string
		text   string
		word   string
	}{
		{client.LogRef{Job: 30000001}, 0, false, "/home/slurm-30000001.out", "", "none"},
		{client.LogRef{Job: 30000002}, 0, true, "/home/slurm-30000002.out", "30000002 k30000002 -1 false", "done"},
		{client.LogRef{Job: 30000002, Stderr: true}, 9, true, "/home/slurm-30000002.out", "k30000002 -1 true", "done"},
		{client.LogRef{Job: 30000003, Task: "4"}, 0, true, "/home/slurm-30000003_4.out", "30000003 k30000003 4 false", "done"},
		{client.LogRef{Job: 30000004}, 0, true, "/home/slurm-30000004.out", "", "none"},
	} {
		l, err := c.Log(t.Context(), test.ref)
		if err != nil {
			t.Fatal(err)
		}
		text, word, err := c.LogText(t.Context(), test.ref, test.offset)
		if l.Staged != test.staged || l.File != test.file || string(text) != test.text || word != test.word || err != nil {
			t.Errorf("%+v: %+v, %q, %s, %v", test.ref, l, text, word, err)
		}
	}
	if _, err := c.Log(t.Context(), client.LogRef{Job: 30000003, Task: "10"}); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("a task that there is not: %v", err)
	}
	for uid, want := range map[uint32]int{bob: 403, alice: 200, olga: 200} {
		for _, path := range []string{"/log", "/log/text"} {
			var out v1.Log
			var into any = &out
			if path == "/log/text" {
				into = nil
			}
			if code := as(t, uid, d.Socket, "GET", "/fed/v1/job/30000002"+path, nil, into); code != want {
				t.Errorf("%s as %s: status %d, want %d", path, testUsers[uid], code, want)
			}
		}
	}
}
