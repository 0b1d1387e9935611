package depend

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
)

// Whatever jobs come, change and end, in whatever order, the paths are those that are found by walking along each of them; and Settle tells of all that have changed.
func TestPathsAreTheLongest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type job struct {
			takes time.Duration
			on    []federation.JobID
		}
		all, p, told := map[federation.JobID]job{}, NewPaths(), map[federation.JobID]time.Duration{}
		var walk func(id federation.JobID) time.Duration
		walk = func(id federation.JobID) time.Duration {
			longest := time.Duration(0)
			for other, j := range all {
				if slices.Contains(j.on, id) {
					longest = max(longest, walk(other))
				}
			}
			return all[id].takes + longest
		}
		some := func(label string) (federation.JobID, bool) {
			if len(all) == 0 {
				return 0, false
			}
			return rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(t, label), true
		}
		next := federation.JobID(1)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			takes := time.Duration(rapid.IntRange(0, 9).Draw(t, "takes")) * time.Hour
			draw := func(below federation.JobID) (on []federation.JobID) {
				for id := range all {
					if id < below {
						on = append(on, id)
					}
				}
				slices.Sort(on)
				if len(on) > 0 {
					on = rapid.SliceOfN(rapid.SampledFrom(on), 0, 3).Draw(t, "on")
				}
				return on
			}
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				all[next] = job{takes, draw(next)}
				p.Set(next, takes, all[next].on)
				next++
			case 2:
				if id, ok := some("changed"); ok {
					all[id] = job{takes, draw(id)}
					p.Set(id, takes, append([]federation.JobID{id, id + 100}, all[id].on...)) // neither counts
				}
			case 3:
				if id, ok := some("foretold"); ok {
					all[id] = job{takes, all[id].on}
					p.Takes(id, takes)
				}
			default:
				if id, ok := some("ended"); ok {
					delete(all, id)
					delete(told, id)
					p.Drop(id)
				}
			}
			if !rapid.Bool().Draw(t, "settle") {
				continue
			}
			for _, id := range p.Settle() {
				told[id] = p.Left(id)
			}
			for id := range all {
				if want := walk(id); p.Left(id) != want || told[id] != want {
					t.Fatalf("from job %d on it takes %v, was told to be %v, want %v", id, p.Left(id), told[id], want)
				}
			}
		}
	})
}

// A workflow of 100,000 jobs with 300,000 dependencies. "comes" is all of it at once; "ends" is what a round pays when ten of its jobs have ended and ten have come that wait for three others each.
func BenchmarkPaths(b *testing.B) {
	const jobs = 100_000
	r := rand.New(rand.NewPCG(1, 2))
	add := func(p *Paths, id federation.JobID) {
		var on []federation.JobID
		for range 3 {
			on = append(on, max(1, id-1-federation.JobID(r.IntN(3000))))
		}
		p.Set(id, time.Duration(1+r.IntN(1000))*time.Second, on)
	}
	fill := func() *Paths {
		p := NewPaths()
		for id := range federation.JobID(jobs) {
			add(p, id+1)
		}
		return p
	}
	b.Run("comes", func(b *testing.B) {
		for b.Loop() {
			fill().Settle()
		}
	})
	b.Run("ends", func(b *testing.B) {
		p := fill()
		p.Settle()
		first, next := federation.JobID(1), federation.JobID(jobs+1)
		for b.Loop() {
			for range 10 {
				p.Drop(first)
				add(p, next)
				first++
				next++
			}
			p.Settle()
		}
	})
}
