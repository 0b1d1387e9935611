package spending

import (
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/sbatch"
)

// What a job that runs costs is what it holds since it started, with what its runs before came to; at most what its limit allows.
func TestSpending(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start.Add(30 * time.Minute)
	site := &federation.Site{Prices: accounting.Prices{"gres/gpu": 2}, Seen: &federation.Observation{Partitions: []federation.Partition{{Name: "main", DefaultTime: time.Hour}}}}
	for _, c := range []struct {
		name   string
		change func(*federation.Job, *federation.Attempt)
		want   string
	}{
		{"two GPUs", func(*federation.Job, *federation.Attempt) {}, "$2.00 so far, $8.00 at most"},
		{"a run before", func(j *federation.Job, _ *federation.Attempt) { j.Cost = 3 * federation.Dollar }, "$5.00 so far, $11.00 at most"},
		{"rented", func(_ *federation.Job, a *federation.Attempt) { a.Held.PricePerHour = 10 * federation.Dollar }, "$5.00 so far, $20.00 at most"},
		{"no limit", func(j *federation.Job, _ *federation.Attempt) { j.SetSpec(sbatch.Spec{}) }, "$2.00 so far, $4.00 at most"}, // the partition's
		{"next to nothing", func(_ *federation.Job, a *federation.Attempt) { a.Held.TRES, a.Held.PricePerHour = "", 100 }, "<$0.01 so far, <$0.01 at most"},
		{"it waits", func(j *federation.Job, a *federation.Attempt) { j.State, a.Started = federation.Pending, time.Time{} }, ""},
		{"it has ended", func(j *federation.Job, a *federation.Attempt) {
			j.State, a.State = federation.Completed, federation.AttemptEnded
		}, ""},
	} {
		j := &federation.Job{State: federation.Running, Start: start, Partition: "main"}
		j.SetSpec(sbatch.Spec{TimeLimit: 2 * time.Hour})
		a := &federation.Attempt{State: federation.AttemptStarted, Started: start, Held: federation.Held{TRES: "cpu=8,gres/gpu=2"}}
		c.change(j, a)
		got := ""
		if s := Of(site, j, a, now); s != nil {
			got = s.Text()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
