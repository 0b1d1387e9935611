package federation

import (
	"testing"
	"time"

	"fsub/accounting"
	"fsub/sbatch"
)

// What a job that runs costs is what it holds since it started, with what its runs before came to; at most what its limit allows.
func TestSpending(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start.Add(30 * time.Minute)
	site := &Site{Prices: accounting.Prices{"gres/gpu": 2}, Seen: &Observation{Partitions: []Partition{{Name: "main", DefaultTime: time.Hour}}}}
	for _, c := range []struct {
		name   string
		change func(*Job, *Attempt)
		want   string
	}{
		{"two GPUs", func(*Job, *Attempt) {}, "$2.00 so far, $8.00 at most"},
		{"a run before", func(j *Job, _ *Attempt) { j.Cost = 3 * Dollar }, "$5.00 so far, $11.00 at most"},
		{"rented", func(_ *Job, a *Attempt) { a.Held.PricePerHour = 10 * Dollar }, "$5.00 so far, $20.00 at most"},
		{"no limit", func(j *Job, _ *Attempt) { j.SetSpec(sbatch.Spec{}) }, "$2.00 so far, $4.00 at most"}, // the partition's
		{"next to nothing", func(_ *Job, a *Attempt) { a.Held.TRES, a.Held.PricePerHour = "", 100 }, "<$0.01 so far, <$0.01 at most"},
		{"it waits", func(j *Job, a *Attempt) { j.State, a.Started = Pending, time.Time{} }, ""},
		{"it has ended", func(j *Job, a *Attempt) { j.State, a.State = Completed, AttemptEnded }, ""},
	} {
		j := &Job{State: Running, Start: start, Partition: "main"}
		j.SetSpec(sbatch.Spec{TimeLimit: 2 * time.Hour})
		a := &Attempt{State: AttemptStarted, Started: start, Held: Held{TRES: "cpu=8,gres/gpu=2"}}
		c.change(j, a)
		got := ""
		if s := site.Spending(j, a, now); s != nil {
			got = s.Text()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
