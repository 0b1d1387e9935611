package fairshare

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/decision"
	"fsub/sbatch"
)

func TestWork(t *testing.T) {
	likely := &decision.Expected{P50: time.Hour, P90: 4 * time.Hour}
	for name, c := range map[string]struct {
		spec sbatch.Spec
		e    *decision.Expected
		want time.Duration
	}{
		"nothing known":              {sbatch.Spec{}, nil, time.Hour},
		"a limit alone":              {sbatch.Spec{TimeLimit: 6 * time.Hour}, nil, 3 * time.Hour},
		"a forecast alone":           {sbatch.Spec{}, likely, 2 * time.Hour},
		"both":                       {sbatch.Spec{TimeLimit: 16 * time.Hour}, likely, 8 * time.Hour},
		"a limit that says nothing":  {sbatch.Spec{TimeLimit: sbatch.Unlimited}, likely, 2 * time.Hour},
		"one that says little":       {sbatch.Spec{TimeLimit: 365 * 24 * time.Hour}, likely, time.Duration(math.Sqrt(4*14*24) * float64(time.Hour))},
		"two nodes of four GPUs":     {sbatch.Spec{MinNodes: 2, GRES: "gpu:4"}, likely, 16 * time.Hour},
		"tasks of a node's 64 CPUs":  {sbatch.Spec{NTasks: 4, CPUsPerTask: 16}, likely, 8 * time.Hour},
		"fewer CPUs count as a GPU":  {sbatch.Spec{NTasks: 1}, likely, 2 * time.Hour},
		"longer than can be counted": {sbatch.Spec{GRES: "gpu:8"}, &decision.Expected{P50: math.MaxInt64 / 2, P90: math.MaxInt64 / 2}, math.MaxInt64 / 2},
	} {
		j := &federation.Job{Spec: &c.spec}
		if got := Work(j, c.e); math.Abs(got.Seconds()-c.want.Seconds()) > 1 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A job that is expected to take much waits for those that take less, but for none that comes later than MaxAge after it. Its parts add up.
func TestWorkStandsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		empty, _ := accounts.New(nil)
		p := ShortFirst()
		p.MaxAge = time.Duration(rapid.IntRange(1, 200).Draw(t, "most hours")) * time.Hour
		p.Age = p.MaxAge.Seconds()
		s := New(p, &growing{empty})
		one := func(id int) (*federation.Job, *decision.Expected) {
			j := job(id, "alice", "")
			j.Submit = start.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "comes")) * time.Hour)
			lasts := time.Duration(rapid.IntRange(0, 100).Draw(t, "lasts")) * time.Hour
			return j, &decision.Expected{P50: lasts, P90: lasts}
		}
		a, of := one(1)
		b, other := one(2)
		now := start.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "now")) * time.Hour)
		s.Pass(now, nil)
		x, y := s.Order(a, of), s.Order(b, other)
		gap := b.Submit.Sub(a.Submit)
		late := gap + min(4*Work(b, other), p.MaxAge) - min(4*Work(a, of), p.MaxAge)
		oldest := max(now.Sub(a.Submit), now.Sub(b.Submit)) >= p.MaxAge
		switch {
		case gap > p.MaxAge && x < y:
			t.Fatalf("the job that came %v before stands behind", gap)
		case !oldest && late > time.Second && x < y, !oldest && late < -time.Second && x > y:
			t.Fatalf("%v and %v of work, %v apart: they stand at %d and %d", Work(a, of), Work(b, other), gap, x, y)
		}
		sum := 0.0
		for _, p := range s.Parts(a, of) {
			sum += p.Points
		}
		if got := s.Points(a, of); math.Abs(sum-float64(got)) > 1 {
			t.Fatalf("%d points, and parts of %v", got, sum)
		}
	})
}
