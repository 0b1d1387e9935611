package drivertest

import (
	"fmt"
	"strings"
	"time"

	"fsub/federation"
)

func testMark(s *suite) {
	id := s.submit(s.job("sleep 1", hold))
	first := s.report(nil)
	if j, ok := of(first, id); !ok || j.State != federation.Pending {
		s.Fatalf("with no mark the report tells %+v", j)
	}
	if j, ok := of(s.report(first.Mark), id); ok {
		s.Errorf("nothing has changed, and the report tells %+v", j)
	}
	if err := s.Driver.Release(s.ctx, s.ref(id)); err != nil {
		s.Fatal(err)
	}
	var states []federation.State
	mark := first.Mark
	s.eventually("the mark's reports lead to the job's end", s.Patience, func() string {
		r := s.report(mark)
		mark = r.Mark
		if j, ok := of(r, id); ok {
			states = append(states, j.State)
		}
		if n := len(states); n > 0 && states[n-1] == federation.Completed {
			return ""
		}
		return fmt.Sprint(states)
	})
	if j, ok := of(s.report(mark), id); ok {
		s.Errorf("the end was told, and is told again: %+v", j)
	}
	if j, ok := of(s.report(first.Mark), id); !ok || j.State != federation.Completed {
		s.Errorf("an old mark, used again, does not tell the change: %+v", j)
	}
	if j, ok := of(s.report(nil), id); !ok || j.State != federation.Completed {
		s.Errorf("no mark does not tell all: %+v", j)
	}
}

func testKnown(s *suite) {
	before := s.Now()
	id, never := s.submit(s.job("exit 0", hold)), s.NextID()
	r := s.report(nil)
	if !r.Known[id] || r.Known[never] {
		s.Errorf("known: submitted %t, never submitted %t", r.Known[id], r.Known[never])
	}
	if r.At.Before(before.Add(-time.Second)) || r.At.After(s.Now().Add(time.Second)) {
		s.Errorf("report of %s, asked at %s", r.At, before)
	}
	if r = s.report(r.Mark); !r.Known[id] {
		s.Error("known only when changed")
	}
}

func testExit(s *suite) {
	for _, c := range []struct {
		script string
		state  federation.State
		status int32
	}{
		{"exit 0", federation.Completed, 0},
		{"exit 3", federation.Failed, 3 << 8},
		{"kill -9 $$", federation.Failed, 9},
	} {
		id := s.run(c.script)
		j := s.until(id, "ended", func(j federation.SiteJob) bool { return j.State.Ended() })
		if j.State != c.state || j.ExitStatus != c.status {
			s.Errorf("%s: %s with status %#x, want %s with %#x", c.script, j.State, j.ExitStatus, c.state, c.status)
		}
	}
}

// task returns the record of one task of an array, an empty one if there is none.
func task(j federation.SiteJob, index int) federation.SiteTask {
	for _, t := range j.Tasks {
		if t.Index == index {
			return t
		}
	}
	return federation.SiteTask{}
}

func testArray(s *suite) {
	sub := s.job(`echo "${FSUB_ARRAY_JOB_ID:-$SLURM_ARRAY_JOB_ID} $SLURM_ARRAY_TASK_ID"; sleep 1; exit $((SLURM_ARRAY_TASK_ID == 2))`, func(sub *federation.Submission) {
		sub.Job.Spec.Array, sub.Job.Spec.Output, sub.Job.Held = "0-2", "out-%A_%a", federation.HeldUser
	})
	id := s.submit(sub)
	first := s.report(nil)
	if j, _ := of(first, id); j.State != federation.Pending || j.PendingTasks != "0-2" || len(j.Tasks) != 0 || j.Key != sub.Key {
		s.Fatalf("an array that has not started: %+v", j)
	}
	if err := s.Driver.Release(s.ctx, s.ref(id)); err != nil {
		s.Fatal(err)
	}
	mark, all := first.Mark, map[int]federation.SiteTask{}
	var j federation.SiteJob
	s.eventually("array ended", 2*s.Patience, func() string {
		r := s.report(mark)
		mark = r.Mark
		if c, ok := of(r, id); ok {
			j = c
			for _, t := range c.Tasks {
				all[t.Index] = t
			}
		}
		if j.State.Ended() {
			return ""
		}
		return fmt.Sprintf("%+v", j)
	})
	if len(all) != 3 || j.PendingTasks != "" || j.Key != sub.Key || j.State != s.worst(all) {
		s.Errorf("array ended %s with %d tasks, pending %q, key %q", j.State, len(all), j.PendingTasks, j.Key)
	}
	for i, t := range all {
		if !t.State.Ended() || t.Start.IsZero() || t.End.IsZero() || t.SiteJobID == 0 || t.Nodes == "" {
			s.Errorf("task %d: %+v", i, t)
		}
	}
	if s.ReadFile != nil {
		for i := range 3 {
			if got, want := s.file(fmt.Sprintf("out-%d_%d", id, i)), fmt.Sprintf("%d %d", id, i); got != want {
				s.Errorf("task %d wrote %q, want %q", i, got, want)
			}
		}
		if all[2].ExitStatus != 1<<8 || all[2].State != federation.Failed {
			s.Errorf("task 2: %+v, want exit code 1", all[2])
		}
	}
}

// testManyTasks follows an array to its end: each report has each task once, either waiting or with a record.
func testManyTasks(s *suite) {
	const n = 60
	id := s.submit(s.job("sleep 1", func(sub *federation.Submission) { sub.Job.Spec.Array = fmt.Sprintf("0-%d%%12", n-1) }))
	var mark federation.Mark
	var j federation.SiteJob
	s.eventually("array ended", 4*s.Patience, func() string {
		r := s.report(mark)
		mark = r.Mark
		c, ok := of(r, id)
		if !ok {
			return "no change"
		}
		j = c
		seen := map[int]int{}
		for _, t := range j.Tasks {
			seen[t.Index]++
		}
		if j.PendingTasks != "" {
			waiting, err := federation.ArrayIndices(j.PendingTasks)
			if err != nil {
				s.Fatalf("pending tasks %q: %v", j.PendingTasks, err)
			}
			for _, i := range waiting {
				seen[i]++
			}
		}
		for i := range n {
			if seen[i] != 1 {
				s.Fatalf("task %d is told %d times: pending %q, tasks %+v", i, seen[i], j.PendingTasks, j.Tasks)
			}
		}
		if j.State.Ended() {
			return ""
		}
		return fmt.Sprintf("%s, pending %q", j.State, j.PendingTasks)
	})
	for _, t := range j.Tasks {
		if t.State != federation.Completed || t.Start.IsZero() || t.End.IsZero() {
			s.Errorf("task %+v", t)
		}
	}
	if got := s.lookup(id); got.State != federation.Completed || len(got.Tasks) != n {
		s.Errorf("Lookup: %s with %d tasks", got.State, len(got.Tasks))
	}
}

// worst is the state that an array of these tasks has: FAILED if any has failed.
func (s *suite) worst(tasks map[int]federation.SiteTask) federation.State {
	for _, t := range tasks {
		if t.State == federation.Failed {
			return federation.Failed
		}
	}
	return federation.Completed
}

// testSparseArray: Slurm cuts the list of waiting tasks off after 64 characters.
func testSparseArray(s *suite) {
	var list []string
	for i := range 60 {
		list = append(list, fmt.Sprint(3*i+i%2))
	}
	want := strings.Join(list, ",")
	id := s.submit(s.job("exit 0", func(sub *federation.Submission) { sub.Job.Spec.Array, sub.Job.Held = want, federation.HeldUser }))
	if j := s.lookup(id); j.PendingTasks != want {
		s.Errorf("Lookup: pending tasks %q, want %q", j.PendingTasks, want)
	}
	if j, _ := of(s.report(nil), id); j.PendingTasks != want {
		s.Errorf("Jobs: pending tasks %q, want %q", j.PendingTasks, want)
	}
}
