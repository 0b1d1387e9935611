package controller

import (
	"fmt"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/predict"
	"fsub/federation/quota"
	"fsub/sbatch"
)

// A job that waits for others is foretold to start when those are to end: the parent by its forecast, a child of a child behind both. Where an end is not known, no start is.
func TestStartsOfAChain(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes, b.dear.nodes, b.cheap.shows = 4, 0, true
	b.with(func(c *Config) { c.Runs = predict.New(0.5) })
	hour := func(depends string) func(s *sbatch.Spec) {
		return func(s *sbatch.Spec) { s.Name, s.TimeLimit, s.Dependency = "step", 2*time.Hour, depends }
	}
	parent := b.submit(hour(""))
	b.wait(2 * time.Second)
	b.cheap.start(parent)
	began := b.clock
	child := b.submit(hour(fmt.Sprintf("afterok:%d", parent)))
	grandchild := b.submit(hour(fmt.Sprintf("afterany:%d", child)))
	either := b.submit(hour(fmt.Sprintf("afterany:%d?afterok:%d", grandchild, parent)))
	delayed := b.submit(hour(fmt.Sprintf("after:%d+30", parent)))
	held := b.submit(func(s *sbatch.Spec) { s.Hold = true })
	b.request(action.Request{Job: held, Kind: action.Hold, UID: 7001})
	never := b.submit(hour(fmt.Sprintf("afterok:%d", held)))
	late := b.submit(func(s *sbatch.Spec) { s.Begin = began.Add(5 * time.Hour) })
	b.wait(10 * time.Minute)
	all := b.ctl.forecasts.starts()
	for _, c := range []struct {
		what     string
		id       federation.JobID
		p50, p90 time.Duration // after the parent began; 0: not told
	}{
		// Nothing is known of such jobs: half of what the limit leaves is reckoned with.
		{"child", child, 65 * time.Minute, 2 * time.Hour},
		{"grandchild", grandchild, 125 * time.Minute, 4 * time.Hour},
		{"either", either, 65 * time.Minute, 2 * time.Hour},
		{"delayed", delayed, 30 * time.Minute, 30 * time.Minute},
		{"late", late, 5 * time.Hour, 5 * time.Hour},
		{"held", held, 0, 0},
		{"behind a held one", never, 0, 0},
	} {
		s, told := all[c.id]
		if told != (c.p50 > 0) || told && ((s.At.Sub(began)-c.p50).Abs() > 10*time.Second || (s.Within.Sub(began)-c.p90).Abs() > 10*time.Second || s.Site != "cheap") {
			t.Errorf("%s: it is to start after %s, by %s, at %q: want %s, %s", c.what, s.At.Sub(began), s.Within.Sub(began), s.Site, c.p50, c.p90)
		}
	}
}

// The first task of an array that waits for those of another starts when the first of these is to end.
func TestStartsOfTasks(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes, b.dear.nodes, b.cheap.shows = 4, 0, true
	b.restart()
	array := func(depends string) federation.JobID {
		return b.submit(func(s *sbatch.Spec) { s.Array, s.TimeLimit, s.Dependency = "0-1", 2*time.Hour, depends })
	}
	first := array("")
	b.wait(2 * time.Second)
	for id, j := range b.ctl.sites.byName["cheap"].jobs {
		if j.Part != nil {
			b.cheap.start(id)
		}
	}
	began := b.clock
	corr, whole := array(fmt.Sprintf("aftercorr:%d", first)), b.submit(func(s *sbatch.Spec) { s.Dependency = fmt.Sprintf("afterok:%d", first) })
	b.wait(10 * time.Second)
	all := b.ctl.forecasts.starts()
	for what, id := range map[string]federation.JobID{"aftercorr": corr, "afterok": whole} {
		if s, told := all[id]; !told || (s.At.Sub(began)-time.Hour).Abs() > time.Minute {
			t.Errorf("%s: %v %+v, the tasks began at %s", what, told, s, began)
		}
	}
}

// What has fallen free of a limit since the last plan may be for another job that waits for it: of neither is a start told.
func TestNoStartBehindALimit(t *testing.T) {
	b := newBench(t)
	tree := func(set map[string]string) treeOf {
		empty, _ := accounts.New(nil)
		tree, _, err := empty.Apply([]accounts.Edit{{Op: accounts.Add, Key: accounts.AccountKey("physics"), Set: set}, {Op: accounts.Add, Key: accounts.UserKey("physics", "alice")}}, accounts.Editor{Operator: true})
		if err != nil {
			t.Fatal(err)
		}
		return treeOf{tree}
	}
	b.limited(tree(map[string]string{"GrpJobs": "1"}))
	b.wait(2 * time.Second)
	b.submit(nil)
	b.wait(2 * time.Second)
	second := b.submit(nil)
	b.submit(func(s *sbatch.Spec) { s.Dependency = fmt.Sprintf("afterany:%d", second) })
	b.wait(2 * time.Second)
	b.want(second, federation.Pending, "AssocGrpJobsLimit", "")
	b.ctl.forecasts.limits.book = quota.New(tree(map[string]string{"GrpJobs": "2"}), 0)
	if s := b.ctl.forecasts.starts(); s[second] != (decision.Start{}) || len(s) > 1 {
		t.Errorf("they are to start: %+v", s)
	}
}
