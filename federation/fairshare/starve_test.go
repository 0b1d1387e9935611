package fairshare

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/sbatch"
)

// Of each association one job is put first within StarveAfter, the one that has waited longest; the k-th is when it has waited for k times as long, and an hour each. Those
// put first earlier come first. Whoever is over a soft limit, and who has a priority set by an operator, is not.
func TestStarving(t *testing.T) {
	b := tree(t, accounts.Edit{Op: accounts.Add, Key: accounts.QOSKey("high"), Set: map[string]string{"Priority": "100"}},
		accounts.Edit{Op: accounts.Add, Key: accounts.AccountKey("physics")},
		accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "alice")}, accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "late")},
		accounts.Edit{Op: accounts.Add, Key: accounts.UserKey("physics", "bob")})
	rapid.Check(t, func(t *rapid.T) {
		after := time.Duration(rapid.IntRange(1, 100).Draw(t, "hours")) * time.Hour
		p := Default()
		p.StarveAfter = after
		s := New(p, b)
		s.Late = func(_ time.Time, k accounts.Key) bool { return k.Name == "late" }
		now := start
		s.Pass(now, nil)
		jobs := map[federation.JobID]*federation.Job{}
		position := map[federation.JobID]int{} // how many of its association waited when it came, and itself
		firstAt := map[federation.JobID]time.Time{}
		starts := rapid.IntRange(0, 1).Draw(t, "jobs that are put first start") == 1
		id := 0
		for range rapid.IntRange(10, 150).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "minutes")) * time.Minute)
			for _, user := range []string{"alice", "bob", "late"} {
				for range rapid.IntRange(0, 2).Draw(t, user) {
					id++
					j := job(id, user, "physics")
					j.Submit = now
					if rapid.IntRange(0, 9).Draw(t, "urgent") == 0 {
						j.Spec = &sbatch.Spec{Account: "physics", QOS: "high"}
					}
					if rapid.IntRange(0, 9).Draw(t, "set") == 0 {
						j.Priority = 7
					}
					n := 1
					for _, other := range jobs {
						if other.User == user {
							n++
						}
					}
					jobs[j.ID], position[j.ID] = j, n
					s.Order(j, nil)
				}
			}
			s.Pass(now, nil)
			for _, j := range jobs {
				s.Order(j, nil)
				first := j.Priority == 0 && s.Points(j, nil) > 1<<32
				waited := now.Sub(j.Submit)
				switch {
				case first && j.User == "late":
					t.Fatalf("job %d of a user over his limit is put first", j.ID)
				case first && waited < after:
					t.Fatalf("job %d is put first after %v", j.ID, waited)
				case !first && j.User != "late" && j.Priority == 0 && waited > time.Duration(position[j.ID])*(after+3*time.Hour):
					t.Fatalf("job %d, the %d. of %s, has waited for %v", j.ID, position[j.ID], j.User, waited)
				case first && firstAt[j.ID].IsZero():
					firstAt[j.ID] = now
				}
				if first {
					if got := fmt.Sprint(s.Parts(j, nil)[0].Name); got != "first, after waiting for longer than starve_after" {
						t.Fatalf("%q", got)
					}
				}
			}
			for x, at := range firstAt {
				for y, other := range jobs {
					later, ok := firstAt[y]
					if x != y && jobs[x] != nil && other.Priority == 0 && (!ok || later.After(at)) && s.Order(jobs[x], nil) <= s.Order(other, nil) {
						t.Fatalf("job %d was put first at %v and stands behind job %d (%v)", x, at, y, later)
					}
				}
			}
			if starts {
				for x := range firstAt {
					s.Bound(x)
					s.Left(x)
					delete(firstAt, x)
					delete(jobs, x)
				}
			}
		}
	})
}

// A user's thousands of jobs that have waited too long do not stand before others, but for one of them.
func TestStarvingIsNoWayToTheFront(t *testing.T) {
	s := New(Default(), tree(t))
	s.Pass(start, nil)
	var jobs []*federation.Job
	for i := range 1000 {
		j := job(1+i, "alice", "")
		jobs = append(jobs, j)
		s.Order(j, nil)
	}
	s.Add("alice", federation.Held{TRES: "cpu=1"}, time.Hour, 0, start)
	now := start.Add(8 * 24 * time.Hour)
	bob := job(5000, "bob", "")
	bob.Submit = now
	s.Order(bob, nil)
	s.Pass(now, nil)
	before := 0
	for _, j := range jobs {
		if s.Order(j, nil) > s.Order(bob, nil) {
			before++
		}
	}
	if before != 1 {
		t.Errorf("%d jobs of alice stand before bob's", before)
	}
}

// A job that comes back is no older than it is.
func TestWhoComesBackIsNotPutFirst(t *testing.T) {
	s := New(Default(), tree(t))
	s.Pass(start, nil)
	j := job(1, "alice", "")
	j.Attempt = 1
	for _, c := range []struct {
		after time.Duration
		first bool
	}{{time.Hour, false}, {8 * 24 * time.Hour, true}} {
		s.Order(j, nil)
		s.Pass(start.Add(c.after), nil)
		if first := s.Points(j, nil) > 1<<32; first != c.first {
			t.Errorf("after %v: put first is %t", c.after, first)
		}
	}
}
