package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// turn lets the sites of a bench run what they have: what runs ends as says, what waits starts. It returns how many ran.
func (b *bench) turn(says func(federation.Job) federation.State) int {
	b.t.Helper()
	ran := 0
	for _, s := range []*fakeSite{b.cheap, b.dear} {
		for id, sj := range s.jobs {
			switch sj.State {
			case federation.Running:
				ran++
				s.end(id, says(b.job(id)))
			case federation.Pending:
				s.start(id)
			}
		}
	}
	b.rounds(4)
	return ran
}

func wellDone(federation.Job) federation.State { return federation.Completed }

// An array that no site can start all of runs at both, each task once, never more than its limit at once, whatever dies.
func TestSpreadArray(t *testing.T) {
	for _, limit := range []int{0, 5} {
		b := newBench(t)
		id := b.submit(func(s *sbatch.Spec) {
			s.Array = "1-29:2"
			if limit > 0 {
				s.Array = fmt.Sprintf("1-29:2%%%d", limit)
			}
		})
		b.rounds(4)
		most, sites := 0, map[federation.SiteName]int{}
		for n := 0; !b.job(id).State.Ended(); n++ {
			if n == 100 {
				t.Fatalf("limit %d: does not end; left %q", limit, b.job(id).Spec.Array)
			}
			live := 0
			for _, p := range b.partsOf(id) {
				if !p.State.Ended() && p.Attempt > 0 {
					live++
				}
			}
			most = max(most, live)
			b.turn(wellDone)
			if n%3 == 1 {
				b.restart()
				b.rounds(4)
			}
		}
		if limit > 0 && most != limit || most < 5 {
			t.Errorf("limit %d: at most %d tasks at once", limit, most)
		}
		var indices, last []int
		for _, p := range b.partsOf(id) {
			indices = append(indices, p.Part.Index)
			sites[p.Site]++
			w := *p.Part
			w.Index = 0
			if w.Last {
				last = append(last, p.Part.Index)
				w.Last = false
			}
			if p.State != federation.Completed || p.Attempt != 1 || w != (federation.ArrayPart{Array: id, Count: 15, Min: 1, Max: 29, Step: 2, Limit: limit}) {
				t.Errorf("task %d: %s after %d attempts, part of %+v", p.Part.Index, p.State, p.Attempt, w)
			}
		}
		slices.Sort(indices)
		if len(last) != 1 {
			t.Errorf("limit %d: %d tasks have the array's own number", limit, len(last))
		}
		if want, _ := federation.ArrayIndices("1-29:2"); !slices.Equal(indices, want) {
			t.Errorf("limit %d: tasks %v", limit, indices)
		}
		if len(sites) != 2 {
			t.Errorf("limit %d: ran at %v, want both sites", limit, sites)
		}
		if j := b.job(id); j.State != federation.Completed || j.Start.IsZero() || j.End.IsZero() {
			t.Errorf("limit %d: array %s from %v to %v", limit, j.State, j.Start, j.End)
		}
	}
}

// TestLimitOfSplitArray: the limit of an array can be changed when all of its tasks are jobs of their own, and tasks that it kept waiting start.
func TestLimitOfSplitArray(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Array = "0-3%1" })
	b.rounds(4)
	limit := func(n string) {
		b.request(action.Request{Job: id, Kind: action.Update, UID: 7001, Change: []sbatch.Change{{Option: "array-limit", Key: "ArrayTaskThrottle", Value: n}}})
		b.rounds(6)
	}
	for _, kind := range []action.Kind{action.Hold, action.Release} { // which splits them off
		b.request(action.Request{Job: id, Tasks: federation.Tasks(1, 2), Kind: kind, UID: 7001})
		b.request(action.Request{Job: id, Tasks: federation.Tasks(3), Kind: kind, UID: 7001})
		b.rounds(4)
	}
	if j := b.job(id); j.Spec.Array != "" || b.live() != 1 {
		t.Fatalf("%q waits, %d live: this shows nothing", j.Spec.Array, b.live())
	}
	for _, c := range []struct {
		limit string
		live  int
	}{{"2", 2}, {"0", 4}} {
		if limit(c.limit); b.live() != c.live || fmt.Sprint(b.job(id).Whole.Limit) != c.limit {
			t.Errorf("limit %s: %d tasks live, want %d; the array says %d", c.limit, b.live(), c.live, b.job(id).Whole.Limit)
		}
	}
}

// What is asked of single tasks, or of all, reaches those that run, those that are bound and those that wait.
func TestSpreadRequests(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Array = "0-19" })
	b.rounds(4)
	b.turn(wellDone) // some run now
	bound := b.partsOf(id)
	if len(bound) == 0 || len(bound) == 20 {
		t.Fatalf("%d tasks are bound, want some", len(bound))
	}
	running, waiting := bound[0].Part.Index, 19
	b.request(action.Request{Job: id, Tasks: federation.Tasks(running, waiting), Kind: action.Cancel, UID: 7001})
	b.request(action.Request{Job: id, Tasks: federation.Tasks(18), Kind: action.Hold, UID: 7001})
	b.rounds(6)
	if p := b.part(id, running); p.State != federation.Cancelled {
		t.Errorf("task %d that ran is %s", running, p.State)
	}
	j := b.job(id)
	task, cancelled := j.CancelledTask(waiting)
	if !cancelled || task.State != federation.Cancelled || !task.Cancel || task.CancelBy != 7001 || task.End.IsZero() || len(j.Whole.Cancelled) != 1 {
		t.Errorf("tasks that were cancelled while they waited: %+v", j.Whole.Cancelled)
	}
	if p := b.part(id, 18); p.Held != federation.HeldUser || p.State != federation.Pending {
		t.Errorf("task 18: held %q, %s", p.Held, p.State)
	}
	for range 40 {
		b.turn(wellDone)
	}
	if j := b.job(id); j.State.Ended() {
		t.Fatalf("the array is %s, and task 18 is held", j.State)
	}
	b.restart()
	b.request(action.Request{Job: id, Kind: action.Release, UID: 7001})
	for range 6 {
		b.turn(wellDone)
	}
	if j := b.job(id); j.State != federation.Cancelled { // two of its tasks were
		t.Errorf("in the end the array is %s", j.State)
	}

	id = b.submit(func(s *sbatch.Spec) { s.Array = "0-99" })
	b.rounds(4)
	b.turn(wellDone)
	b.cheap.fail, b.dear.fail = federation.ErrUnavailable, federation.ErrUnavailable // what runs there is not stopped yet
	for range 2 {                                                                    // an operator may ask again, after a restart too
		b.request(action.Request{Job: id, Kind: action.Cancel, UID: 0, Operator: true})
		b.rounds(2)
		b.restart()
	}
	b.cheap.fail, b.dear.fail = nil, nil
	b.wait(5 * time.Second)
	j = b.job(id)
	if j.State != federation.Cancelled || j.Spec.Array == "" {
		t.Errorf("cancelled as a whole: %s, %q never began", j.State, j.Spec.Array)
	}
	for _, p := range b.partsOf(id) {
		if !p.State.Ended() {
			t.Errorf("task %d is still %s", p.Part.Index, p.State)
		}
	}
}

// Each task of an array with aftercorr waits for the task of its own index.
func TestAfterCorr(t *testing.T) {
	b := newBench(t)
	first := b.submit(func(s *sbatch.Spec) { s.Array = "0-3" })
	b.rounds(2)
	second := b.submit(func(s *sbatch.Spec) { s.Array, s.Dependency = "0-3", fmt.Sprintf("aftercorr:%d", first) })
	b.rounds(4)
	if n := len(b.partsOf(second)); n != 0 {
		t.Fatalf("%d tasks are bound before any of the first array has ended", n)
	}
	b.tasks(first, federation.Running, federation.Completed, federation.Failed, federation.Running)
	b.rounds(4)
	if got := b.partsOf(second); len(got) != 1 || got[0].Part.Index != 1 {
		t.Fatalf("bound: %v, want task 1", got)
	}
	b.restart()
	b.rounds(4)
	b.tasks(first, federation.Completed, "", "", federation.Completed)
	b.rounds(4)
	for range 6 {
		b.turn(wellDone)
	}
	var ran []int
	for _, p := range b.partsOf(second) {
		ran = append(ran, p.Part.Index)
	}
	slices.Sort(ran)
	if j := b.job(second); !slices.Equal(ran, []int{0, 1, 3}) || j.State.Ended() || j.Reason != reasons.DependencyNever {
		t.Errorf("ran %v, the array is %s %s", ran, j.State, j.Reason)
	}
}

// An array of which one task can never start waits for a dependency as long as another may still start.
func TestAfterCorrReason(t *testing.T) {
	b := newBench(t)
	first := b.submit(func(s *sbatch.Spec) { s.Array = "0-1" })
	b.rounds(2)
	second := b.submit(func(s *sbatch.Spec) { s.Array, s.Dependency = "0-1", fmt.Sprintf("aftercorr:%d", first) })
	b.rounds(4)
	for _, c := range []struct {
		zero, one federation.State
		reason    reasons.Reason
	}{
		{federation.Running, federation.Failed, reasons.Dependency},
		{federation.Failed, "", reasons.DependencyNever},
	} {
		b.tasks(first, c.zero, c.one)
		b.rounds(4)
		if j := b.job(second); j.Reason != c.reason {
			t.Errorf("after %s and %s it waits for %s, want %s", c.zero, c.one, j.Reason, c.reason)
		}
	}
}

// TestAfterCorrOfNoTask: a task of whose index the other array has none waits for all of it, as if by afterok.
func TestAfterCorrOfNoTask(t *testing.T) {
	for _, c := range []struct {
		one  federation.State
		want int // tasks that run
	}{{federation.Completed, 3}, {federation.Failed, 1}} {
		b := newBench(t)
		first := b.submit(func(s *sbatch.Spec) { s.Array = "0-1" })
		b.rounds(2)
		second := b.submit(func(s *sbatch.Spec) { s.Array, s.Dependency = "0-2", fmt.Sprintf("aftercorr:%d", first) })
		b.tasks(first, federation.Completed, c.one)
		for range 6 {
			b.turn(wellDone)
		}
		if ran := b.partsOf(second); len(ran) != c.want {
			t.Errorf("task 1 of the first is %s: %d tasks of the second ran, want %d", c.one, len(ran), c.want)
		}
	}
}

// TestAfterArray: what is to start after an array waits until each of its tasks has started.
func TestAfterArray(t *testing.T) {
	b := newBench(t)
	first := b.submit(func(s *sbatch.Spec) { s.Array = "0-2%1" })
	b.rounds(2)
	second := b.submit(func(s *sbatch.Spec) { s.Dependency = fmt.Sprintf("after:%d", first) })
	for n := range 3 {
		b.rounds(4)
		if j := b.job(second); j.Attempt != 0 {
			t.Fatalf("it is bound after %d tasks", n)
		}
		b.turn(wellDone) // one starts
		if n < 2 {
			b.turn(wellDone) // and ends
		}
	}
	b.rounds(6)
	if j := b.job(second); j.Attempt == 0 {
		t.Errorf("it waits for %s when all tasks have started", j.Reason)
	}
}

// With --kill-on-invalid-dep a task that can never start ends, and the others do not.
func TestAfterCorrKills(t *testing.T) {
	b := newBench(t)
	first := b.submit(func(s *sbatch.Spec) { s.Array = "0-2" })
	b.rounds(2)
	second := b.submit(func(s *sbatch.Spec) {
		s.Array, s.Dependency, s.More = "0-2", fmt.Sprintf("aftercorr:%d", first), &sbatch.More{KillOnInvalidDep: sbatch.Yes}
	})
	b.tasks(first, federation.Completed, federation.Failed, federation.Completed)
	for range 8 {
		b.turn(wellDone)
	}
	j := b.job(second)
	if task, cancelled := j.CancelledTask(1); !j.State.Ended() || len(b.partsOf(second)) != 2 || !cancelled || task.Cancel || len(j.Whole.Cancelled) != 1 {
		t.Errorf("the array is %s, %d of its tasks have run, the others are %+v", j.State, len(b.partsOf(second)), j.Whole.Cancelled)
	}
}

// A requeued task keeps its number and may run elsewhere; it counts against the limit only while it is at a site.
func TestSpreadTaskIsRequeued(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Array = "0-11%6" })
	b.rounds(4)
	once := map[int]bool{}
	for range 20 {
		b.turn(func(j federation.Job) federation.State {
			if j.Part != nil && !once[j.Part.Index] {
				once[j.Part.Index] = true
				return federation.NodeFail
			}
			return federation.Completed
		})
		b.wait(5e9)
	}
	j := b.job(id)
	parts := b.partsOf(id)
	if j.State != federation.Completed || len(parts) != 12 {
		t.Fatalf("array %s with %d parts", j.State, len(parts))
	}
	for _, p := range parts {
		if p.Restarts != 1 || p.Attempt < 2 { // one more where the site still has the earlier one
			t.Errorf("task %d: %d restarts, %d attempts", p.Part.Index, p.Restarts, p.Attempt)
		}
	}
}

// TestSpreadReasons: an array whose tasks have all begun waits for nothing, and one that has ended says why, not what it once waited for.
func TestSpreadReasons(t *testing.T) {
	for name, c := range map[string]struct {
		end    federation.State
		cancel bool
		state  federation.State
		reason reasons.Reason
	}{
		"done":      {federation.Completed, false, federation.Completed, reasons.None},
		"failed":    {federation.Failed, false, federation.Failed, reasons.NonZeroExit},
		"cancelled": {federation.Completed, true, federation.Cancelled, reasons.None},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			id := b.submit(func(s *sbatch.Spec) { s.Array = "0-5" })
			b.rounds(4)
			if c.cancel { // while some wait still
				b.request(action.Request{Job: id, Kind: action.Cancel, UID: 7001})
			}
			for n := 0; !b.job(id).State.Ended(); n++ {
				if n == 100 {
					t.Fatalf("does not end: %+v", b.job(id))
				}
				for _, s := range []*fakeSite{b.cheap, b.dear} {
					for _, sj := range s.jobs {
						if sj.State == federation.Pending {
							sj.Reason = reasons.Resources
						} else if sj.State == federation.Running && c.end == federation.Failed {
							sj.Reason = reasons.NonZeroExit
						}
					}
				}
				b.turn(func(federation.Job) federation.State { return c.end })
				if j := b.job(id); j.Spec.Array == "" && !j.Cancel && j.Reason != reasons.None && !j.State.Ended() {
					t.Errorf("all of its tasks have begun, and it is %s (%s)", j.State, j.Reason)
				}
			}
			if j := b.job(id); j.State != c.state || j.Reason != c.reason {
				t.Errorf("it ended %s (%s), not %s (%s)", j.State, j.Reason, c.state, c.reason)
			}
		})
	}
}

// Where there is room for all tasks of a large array they are bound in one go, though placement knows of some of them at a time.
func TestLargeArrayIsBoundAtOnce(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes = 2 * tasksAhead
	b.wait(4 * time.Second) // they are seen
	id := b.submit(func(s *sbatch.Spec) { s.Array, s.GPUsPerNode = fmt.Sprint("1-", 3*tasksAhead), "1" })
	b.rounds(10)
	if n := len(b.partsOf(id)); n != 3*tasksAhead {
		t.Errorf("%d of %d tasks are bound after two seconds", n, 3*tasksAhead)
	}
}

// TestCancelTakesNoIDs: tasks that are cancelled before they start take no numbers that jobs could have.
func TestCancelTakesNoIDs(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Array = "0-9999"; s.Begin = b.now().Add(time.Hour) })
	b.rounds(2)
	tasks, _ := federation.ReadArray("0-9998")
	b.request(action.Request{Job: id, Tasks: tasks.Set(), Kind: action.Cancel, UID: 1000})
	b.rounds(50)
	if array := b.job(id).Spec.Array; array != "9999" {
		t.Fatalf("%s still waits", array)
	}
	if next := b.submit(func(*sbatch.Spec) {}); next > id+1000 {
		t.Errorf("the job after %d is %d", id, next)
	}
}

// TestAllThatWait: what is done to all tasks of an array that wait, by name, is done to their record: they become no jobs.
func TestAllThatWait(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Array = "0-9999" })
	b.rounds(4)
	begun := len(b.partsOf(id))
	j := b.job(id)
	waiting := j.Waiting()
	if begun == 0 || waiting.Len() != 10_000-begun {
		t.Fatalf("%d tasks have begun, %d wait: this shows nothing", begun, waiting.Len())
	}
	ask := func(kind action.Kind, change ...sbatch.Change) {
		b.request(action.Request{Job: id, Tasks: waiting, Kind: kind, UID: 7001, Change: change, At: b.now()})
		b.rounds(2)
	}
	ask(action.Hold)
	if j := b.job(id); j.Held != federation.HeldUser {
		t.Errorf("held %q", j.Held)
	}
	ask(action.Update, sbatch.Change{Key: "Comment", Option: "comment", Value: "x"})
	if j := b.job(id); j.Spec.Comment != "x" {
		t.Errorf("comment %q", j.Spec.Comment)
	}
	ask(action.Release)
	if j := b.job(id); j.Held != federation.NotHeld {
		t.Errorf("held %q after the release", j.Held)
	}
	ask(action.Hold)
	if n := len(b.partsOf(id)); n != begun {
		t.Errorf("%d tasks are jobs, want %d as before", n, begun)
	}
	ask(action.Cancel)
	for _, p := range b.partsOf(id) {
		if p.Cancel {
			t.Errorf("task %d is cancelled, and was not meant", p.Part.Index)
		}
	}
	for n := 0; !b.job(id).State.Ended() && n < 100; n++ {
		b.turn(wellDone)
	}
	if j := b.job(id); j.State != federation.Cancelled || len(b.partsOf(id)) != begun {
		t.Errorf("then it is %s, with %d tasks that are jobs", j.State, len(b.partsOf(id)))
	}
}

// TestManyTasksByName: what is done to very many single tasks takes several rounds, also over a restart, and what was asked for after it comes after it.
func TestManyTasksByName(t *testing.T) {
	b := newBench(t)
	id := b.submit(func(s *sbatch.Spec) { s.Array = "0-9999"; s.Begin = b.now().Add(time.Hour) })
	b.rounds(2)
	array, _ := federation.ReadArray("1000-2999")
	other := b.submit(func(s *sbatch.Spec) { s.Array = "0-9"; s.Begin = b.now().Add(time.Hour) })
	b.rounds(1)
	b.request(action.Request{Job: id, Tasks: array.Set(), Kind: action.Hold, UID: 7001})
	b.request(action.Request{Job: id, Tasks: federation.Tasks(2999), Kind: action.Release, UID: 7001})
	b.request(action.Request{Job: other, Tasks: federation.Tasks(3), Kind: action.Hold, UID: 7001})
	b.rounds(1)
	if n := len(b.partsOf(id)); n == 0 || n > tasksARound {
		t.Fatalf("%d tasks in a round", n)
	}
	if n := len(b.partsOf(other)); n != 1 {
		t.Errorf("another array waits for it: %d tasks", n)
	}
	b.rounds(2)
	b.restart()
	b.rounds(40)
	held := 0
	for _, p := range b.partsOf(id) {
		if p.Held == federation.HeldUser {
			held++
		}
	}
	if n := len(b.partsOf(id)); n != 2000 || held != 1999 || b.part(id, 2999).Held != federation.NotHeld {
		t.Errorf("%d tasks are jobs, %d of them held, the last one %q", n, held, b.part(id, 2999).Held)
	}
	array, _ = federation.ReadArray("3000-4999")
	b.request(action.Request{Job: id, Tasks: array.Set(), Kind: action.Cancel, UID: 7001})
	b.rounds(40)
	if j := b.job(id); j.Spec.Array != "0-999,5000-9999" {
		t.Errorf("%s still waits", j.Spec.Array)
	}
	if left, err := b.store.Requests(t.Context(), 0); err != nil || len(left) > 0 {
		t.Errorf("requests %+v are not done, %v", left, err)
	}
}

// TestQueuedCountsTasks: the metric of waiting jobs counts each task of an array, whether or not it has a record of its own.
func TestQueuedCountsTasks(t *testing.T) {
	b := newBench(t)
	later := func(s *sbatch.Spec) { s.Begin = b.now().Add(time.Hour) }
	wants := func(n float64, when string) {
		t.Helper()
		b.wait(publishEvery)
		b.rounds(10)
		if got := testutil.ToFloat64(b.ctl.metrics.queued_); got != n {
			t.Errorf("%s: %v are counted, want %v", when, got, n)
		}
	}
	single := b.submit(later)
	id := b.submit(func(s *sbatch.Spec) { later(s); s.Array = "0-999" })
	wants(1001, "a job and an array of 1000")
	some, _ := federation.ReadArray("0-4")
	rest, _ := federation.ReadArray("5-998")
	b.request(action.Request{Job: id, Tasks: some.Set(), Kind: action.Hold, UID: 1000})
	wants(1001, "five tasks are held by themselves")
	b.request(action.Request{Job: id, Tasks: rest.Set(), Kind: action.Cancel, UID: 1000})
	wants(7, "all but six tasks are cancelled")
	b.restart()
	wants(7, "after a restart")
	b.request(action.Request{Job: id, Kind: action.Cancel, UID: 1000})
	b.request(action.Request{Job: single, Kind: action.Cancel, UID: 1000})
	wants(0, "all are cancelled")
}
