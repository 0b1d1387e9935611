package job

import (
	"bytes"
	"testing"
	"time"

	"fsub/cmd/fed/internal/cli"
	v1 "fsub/federation/api/v1"
	"fsub/federation/spending"
)

func TestJobListOrders(t *testing.T) {
	now := time.Now()
	jobs := []v1.JobLine{
		{ID: 1, User: "bob", State: "RUNNING", Submit: now.Add(-time.Hour), Site: "alpha", Spending: &spending.Spending{SoFar: 280_000, AtMost: 47_540_000}},
		{ID: 2, Array: 2, Tasks: "3-12", User: "alice", State: "RUNNING", Submit: now.Add(-3 * time.Hour)},
		{ID: 9, Array: 2, Tasks: "1", User: "alice", State: "RUNNING", Submit: now.Add(-2 * time.Hour), Site: "alpha", Cost: 1},
	}
	for _, c := range []struct {
		list func(*bytes.Buffer) error
		want string
	}{
		{func(b *bytes.Buffer) error { return countJobs(b, jobs, "user") }, "USER\tJOBS\tPENDING\tRUNNING\tENDED\nalice\t11\t10\t1\t0\nbob\t1\t0\t1\t0\n"},
		{func(b *bytes.Buffer) error {
			return cli.PrintRows(b, &v1.Jobs, jobs, cli.View{Columns: []string{"jobid", "user"}, Sort: "-age", Limit: 2})
		}, "JOBID\tUSER\n2_[3-12]\talice\n2_1\talice\n"},
		{func(b *bytes.Buffer) error {
			return cli.PrintRows(b, &v1.Jobs, jobs, cli.View{Columns: []string{"jobid", "cost", "most"}, Sort: "-cost"})
		}, "JOBID\tCOST\tMOST\n1\t$0.28\t$47.54\n2_1\t<$0.01\t-\n2_[3-12]\t-\t-\n"},
		{func(b *bytes.Buffer) error {
			return cli.PrintRows(b, &v1.Jobs, jobs, cli.View{Columns: []string{"user"}, Sort: "user"})
		}, "USER\nalice\nalice\nbob\n"},
	} {
		var b bytes.Buffer
		if err := c.list(&b); err != nil || b.String() != c.want {
			t.Errorf("%v: %q, want %q", err, b.String(), c.want)
		}
	}
	if err := countJobs(&bytes.Buffer{}, jobs, "moon"); err == nil {
		t.Error("by moon")
	}
	if err := cli.PrintRows(&bytes.Buffer{}, &v1.Jobs, jobs, cli.View{Columns: []string{"moon"}}); err == nil {
		t.Error("column moon")
	}
}
