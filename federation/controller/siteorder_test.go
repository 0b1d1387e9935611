package controller

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/sbatch"
)

// atSite is a site's queue of our jobs: what it orders by is its own figure less the nice.
type atSite []waitsThere

func (s atSite) set(want map[federation.JobID]int64) {
	for i := range s {
		if n, ok := want[s[i].ID]; ok {
			s[i].priority += s[i].nice - n
			s[i].nice = n
		}
	}
}

// order are the jobs as the site would start them.
func (s atSite) order() (ids []federation.JobID) {
	all := slices.Clone(s)
	slices.SortFunc(all, func(a, b waitsThere) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.att.SiteJobID, b.att.SiteJobID))
	})
	for _, j := range all {
		ids = append(ids, j.ID)
	}
	return ids
}

// The site's order becomes ours, by an exchange: what stands among others' jobs is as high as before. What users have asked for counts in both.
func TestRankIsAnExchange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all atSite
		var own, ours []int64
		for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			user := rapid.SampledFrom([]int{0, 0, 0, 10, 5000}).Draw(t, "nice")
			base := rapid.Int64Range(20_000, 120_000).Draw(t, "priority")
			if rapid.Bool().Draw(t, "alike") {
				base = 50_000
			}
			added := rapid.SampledFrom([]int64{0, 0, -300, 700}).Draw(t, "added before")
			j := &job{Job: federation.Job{ID: federation.JobID(i + 1), Spec: &sbatch.Spec{Nice: user}}, tried: &tried{}}
			j.att = &federation.Attempt{SiteJobID: uint32(rapid.IntRange(1, 1000).Draw(t, "number"))*16 + uint32(i), Created: time.Unix(int64(i), 0)}
			all = append(all, waitsThere{job: j, priority: base - int64(user) - added, nice: int64(user) + added})
			own = append(own, base-int64(user))
			ours = append(ours, int64(j.ID))
		}
		want := map[federation.JobID]int64{}
		rank(all, want)
		all.set(want)
		if got := all.order(); !slices.IsSortedFunc(got, func(a, b federation.JobID) int { return cmp.Compare(a, b) }) {
			t.Fatalf("the site's order is %v, ours %v", got, ours)
		}
		slices.SortFunc(own, func(a, b int64) int { return cmp.Compare(b, a) })
		slack := (own[0]-own[len(own)-1])/20 + int64(len(own))
		for i := range all {
			if d := own[i] - all[i].priority; d < -slack || d > slack {
				t.Fatalf("job %d has %d, where one of ours had %d", i, all[i].priority, own[i])
			}
		}
		again := map[federation.JobID]int64{}
		if rank(all, again); len(again) > 0 {
			t.Fatalf("what is in order is told again: %v", again)
		}
		last := all[len(all)-1:]
		alone := map[federation.JobID]int64{}
		rank(last, alone)
		last.set(alone)
		if last[0].nice != int64(last[0].Spec.Nice) {
			t.Fatalf("the last one left has nice %d, and its user asked for %d", last[0].nice, last[0].Spec.Nice)
		}
	})
}
