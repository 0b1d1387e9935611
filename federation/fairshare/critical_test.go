package fairshare

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/sbatch"
)

// Of jobs of a user that count alike those with the longest path stand first, whatever comes, leaves, lengthens or ages; and the places of each user's jobs are those that they
// have without it: so nothing changes for others.
func TestCriticalPathsExchangePlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := map[federation.JobID]time.Duration{}
		policy, books := Default(), tree(&testing.T{})
		policy.MaxAge = rapid.SampledFrom([]time.Duration{time.Hour, 7 * 24 * time.Hour}).Draw(t, "max age")
		if rapid.Bool().Draw(t, "work") {
			policy = ShortFirst()
		}
		without := New(policy, books)
		policy.CriticalPath = true
		with := New(policy, books)
		with.Paths(func(id federation.JobID) time.Duration { return left[id] })
		now := start
		with.Pass(now, nil)
		without.Pass(now, nil)
		var jobs []*federation.Job
		all := map[federation.JobID]*federation.Job{}
		for i := range rapid.IntRange(2, 40).Draw(t, "steps") {
			switch k := rapid.IntRange(0, 9).Draw(t, "what"); {
			case k < 6 || len(jobs) == 0:
				j := job(i+1, rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "user"), "")
				j.Submit = now.Add(-time.Duration(rapid.IntRange(0, 100).Draw(t, "minutes")) * time.Minute)
				j.Spec = &sbatch.Spec{QOS: rapid.SampledFrom([]string{"", "high"}).Draw(t, "qos"), TimeLimit: time.Hour}
				if rapid.IntRange(0, 4).Draw(t, "grouped") > 0 {
					j.Spec.Fed = &sbatch.Fed{Group: "g"}
				}
				left[j.ID] = time.Duration(rapid.IntRange(0, 5).Draw(t, "left")) * time.Hour
				jobs, all[j.ID] = append(jobs, j), j
			case k < 7:
				at := rapid.IntRange(0, len(jobs)-1).Draw(t, "leaves")
				// The one that has left took its place with it: without paths another job had that.
				gone, n := jobs[at], with.Order(jobs[at], nil)
				other := slices.IndexFunc(jobs, func(j *federation.Job) bool { return j.User == gone.User && without.Order(j, nil) == n })
				if other < 0 {
					t.Fatalf("nobody has the place of job %d without paths", gone.ID)
				}
				if other != at { // so that the same places are left on both sides
					continue
				}
				with.Left(gone.ID)
				without.Left(gone.ID)
				jobs = slices.Delete(jobs, at, at+1)
			case k < 8:
				id := jobs[rapid.IntRange(0, len(jobs)-1).Draw(t, "changes")].ID
				left[id] = time.Duration(rapid.IntRange(0, 5).Draw(t, "now left")) * time.Hour
				with.Arrange([]federation.JobID{id})
			default:
				now = now.Add(time.Duration(rapid.IntRange(1, 200).Draw(t, "pass")) * time.Minute)
				with.Pass(now, nil)
				without.Pass(now, nil)
			}
			was := map[federation.JobID]int64{}
			for _, j := range jobs {
				was[j.ID] = with.Order(j, nil)
			}
			told := with.Arrange(nil)
			places := func(s *Shares, user string) (n []int64) {
				for _, j := range jobs {
					if j.User == user {
						n = append(n, s.Order(j, nil))
					}
				}
				slices.Sort(n)
				return n
			}
			for _, user := range []string{"alice", "bob"} {
				if a, b := places(with, user), places(without, user); !slices.Equal(a, b) {
					t.Fatalf("the places of %s are %v, without paths %v", user, a, b)
				}
			}
			rows := map[string][]*federation.Job{}
			for _, j := range jobs {
				if now := with.Order(j, nil); now != was[j.ID] && !slices.Contains(told, j.ID) {
					t.Fatalf("job %d has been moved from %d to %d, and nobody is told", j.ID, was[j.ID], now)
				}
				if j.Spec.Fed == nil {
					if with.Order(j, nil) != without.Order(j, nil) {
						t.Fatalf("job %d has no group, and another place", j.ID)
					}
					continue
				}
				k := fmt.Sprint(j.User, j.Spec.QOS)
				rows[k] = append(rows[k], j)
			}
			for _, row := range rows {
				slices.SortFunc(row, func(a, b *federation.Job) int {
					return cmp.Or(cmp.Compare(with.Order(b, nil), with.Order(a, nil)), cmp.Compare(left[b.ID], left[a.ID]))
				})
				for i := 1; i < len(row); i++ {
					if left[row[i-1].ID] < left[row[i].ID] {
						t.Fatalf("job %d with %v left stands before job %d with %v", row[i-1].ID, left[row[i-1].ID], row[i].ID, left[row[i].ID])
					}
				}
			}
		}
	})
}

// A user's 100,000 jobs may start, all at once; ten of them leave and ten come in each round.
func BenchmarkArrange100K(b *testing.B) {
	const jobs = 100_000
	policy := Default()
	policy.CriticalPath = true
	s := New(policy, tree(b))
	s.Paths(func(id federation.JobID) time.Duration { return time.Duration(id*7919%100_003) * time.Second })
	s.Pass(start, nil)
	spec := &sbatch.Spec{Fed: &sbatch.Fed{Group: "g"}}
	add := func(id int) {
		s.Order(&federation.Job{ID: federation.JobID(id), User: "alice", Submit: start, Spec: spec}, nil)
	}
	for id := range jobs {
		add(id + 1)
	}
	s.Arrange(nil)
	next, moved := jobs+1, 0
	for b.Loop() {
		for range 10 {
			s.Bound(federation.JobID(next - jobs))
			add(next)
			next++
		}
		moved += len(s.Arrange(nil))
	}
	b.ReportMetric(float64(moved)/float64(b.N), "moved/op")
}
