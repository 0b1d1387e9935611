package staging_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/staging"
	"fsub/sbatch"
)

func TestTarget(t *testing.T) {
	for _, c := range []struct{ from, to, name, want string }{
		{"results", "", "results/a/b", "results/a/b"},
		{"results", "old", "results/a/b", "old/a/b"},
		{"results", "old/", "results/a/b", "old/results/a/b"},
		{"a/results", "old/", "a/results/b", "old/results/b"},
		{"one.log", "two.log", "one.log", "two.log"},
		{"logs/*.log", "/data/x", "logs/a.log", "/data/x/a.log"},
		{"logs/*/*.log", "x/", "logs/1/a.log", "x/1/a.log"},
		{"*", ".", "a", "a"},
		{".", "x", "./a/b", "x/a/b"},
		{"/data/*.csv", "./", "/data/a.csv", "a.csv"},
		{"../in/f", "f", "../in/f", "f"},
		{"../in/*", "d", "../in/f", "d/f"},
	} {
		if got := (staging.Item{From: c.from, To: c.to}).Target(c.name); got != c.want {
			t.Errorf("%s -> %s: %s goes to %s, want %s", c.from, c.to, c.name, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		from, name string
		want       bool
	}{
		{"results", "results/a", true}, {"results", "results", true}, {"results", "results2/a", false}, {"results", ".bashrc", false},
		{"*", ".bashrc", false}, {".*", ".bashrc", true}, {"*.log", "a.log", true}, {"*.log", "d/a.log", false}, {"d/*", "d/x/y", true},
		{"[!a]*", "b", true}, {"[!a]*", "a", false}, {"[x]", "[x]", true}, {".", ".bashrc", true}, {"a/b", "a", false},
	} {
		if got := (staging.Item{From: c.from}).Names(c.name); got != c.want {
			t.Errorf("%s names %s: %v", c.from, c.name, got)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	for _, f := range []sbatch.Fed{
		{StageIn: []sbatch.Stage{{From: "x", To: "/etc/x"}}},
		{StageIn: []sbatch.Stage{{From: "x", To: "a/../../x"}}},
		{StageIn: []sbatch.Stage{{From: "gs://b/x"}}},
		{StageIn: []sbatch.Stage{{From: "https://"}}},
		{StageOut: []sbatch.Stage{{From: "/etc/passwd"}}},
		{StageOut: []sbatch.Stage{{From: "../x"}}},
		{StageOut: []sbatch.Stage{{From: "*.log", To: "https://x/y"}}},
		{StageOut: []sbatch.Stage{{From: "x", To: "s3://b/y"}}},
		{StageOut: make([]sbatch.Stage, 33)},
	} {
		if p, err := staging.NewPlan(&f); !errors.Is(err, federation.ErrInvalid) {
			t.Errorf("%+v: %+v, %v", f, p, err)
		}
	}
}

func TestSweep(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	now := time.Now()
	jobs := map[federation.JobID]federation.Job{
		30000001: {State: federation.Completed, End: now.Add(-time.Hour)},
		30000002: {State: federation.Running},
		30000003: {State: federation.Failed, End: now.Add(2 * time.Minute)},
	}
	for _, id := range []int{30000001, 30000002, 30000003, 30000004} {
		if err := w.store.Put(ctx, fmt.Sprintf("test/%d/1.x/-/out.0", id), strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.store.Put(ctx, "other/30000001/1.x/-/out.0", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	fail := errors.New("the books cannot be read")
	look := func(_ context.Context, id federation.JobID) (federation.Job, error) {
		j, ok := jobs[id]
		if !ok {
			return j, federation.ErrNotFound
		}
		return j, fail
	}
	if n, err := w.stager.Sweep(ctx, now.Add(time.Minute), look); n != 0 || !errors.Is(err, fail) {
		t.Errorf("removed %d, %v", n, err)
	}
	if n, err := w.stager.Sweep(ctx, now.Add(-time.Minute), look); n != 0 || err != nil {
		t.Errorf("removed %d that are too young, %v", n, err)
	}
	fail = nil
	if n, err := w.stager.Sweep(ctx, now.Add(time.Minute), look); n != 2 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	var left []string
	w.store.List(ctx, "", func(key string, _ time.Time) error { left = append(left, key); return nil })
	if got := strings.Join(left, " "); got != "other/30000001/1.x/-/out.0 test/30000002/1.x/-/out.0 test/30000003/1.x/-/out.0" {
		t.Errorf("left: %s", got)
	}
}
