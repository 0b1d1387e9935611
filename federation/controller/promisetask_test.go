package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/driver"
	"fsub/sbatch"
)

// forTask is the site's reservation for a task of an array.
func (k *keeper) forTask(t *testing.T, array federation.JobID, task int) driver.Promise {
	t.Helper()
	p, is := k.resvs[driver.PromiseName("test", decision.Promised{Array: array, Task: task})]
	if !is {
		t.Fatalf("the site has %v, want a reservation for task %d of array %d", k.resvs, task, array)
	}
	return p
}

// The place of a task is held before it is a job of its own and after, by one name, and its job is sent into it.
func TestPlaceOfTaskIsHeld(t *testing.T) {
	b, k := newKeeper(t)
	id := b.submit(func(s *sbatch.Spec) { gang(s); s.Array = "5,7" })
	b.wait(5 * time.Second)
	first, second := k.forTask(t, id, 5), k.forTask(t, id, 7)
	if !first.Start.Equal(k.until) || !second.Start.Equal(first.Start.Add(2*time.Hour)) || len(k.resvs) != 2 || first.User != "alice" {
		t.Fatalf("the site keeps %v, want one from %v and one two hours later", k.resvs, k.until)
	}
	if e := b.ctl.forecasts.waitsNow(id); e.place == nil || e.place.Reservation != first.Name {
		t.Errorf("shown: %+v", e.place)
	}
	made := k.made
	b.restart()
	b.wait(10 * time.Second)
	if k.forTask(t, id, 5); k.made != made || k.removed > 0 {
		t.Errorf("a new daemon has asked for %d more, and removed %d", k.made-made, k.removed)
	}
	k.until = k.until.Add(-20 * time.Minute)
	b.wait(30 * time.Second)
	if p := k.forTask(t, id, 5); !p.Start.Equal(k.until) {
		t.Fatalf("the plan has changed: the site keeps %+v, want the start %v", p, k.until)
	}
	k.until = time.Time{}
	b.wait(15 * time.Second)
	task := b.part(id, 5)
	if k.into[task.ID] != first.Name {
		t.Fatalf("the task was submitted into %q, want %q", k.into[task.ID], first.Name)
	}
	b.restart() // it is a job now
	b.wait(5 * time.Second)
	k.forTask(t, id, 5)
	b.cheap.start(task.ID)
	b.wait(15 * time.Second)
	b.cheap.end(task.ID, federation.Completed)
	b.wait(15 * time.Second)
	if _, left := k.resvs[first.Name]; left {
		t.Fatalf("the task has ended: the site has %v", k.resvs)
	}
	b.request(action.Request{Job: id, Kind: action.Cancel})
	b.wait(15 * time.Second)
	k.none(t, "cancelled")
	events, _ := b.store.Events(t.Context(), id)
	if text := fmt.Sprint(events); strings.Count(text, "cheap holds the place of task 5: reservation "+first.Name+" of n[1-2]") != 1 ||
		strings.Contains(text, "does not hold the place of task 5") {
		t.Errorf("job %d: history %v", id, text)
	}
}

// A task that was split off waits as a job of its own, and keeps its place.
func TestPlaceOfTaskThatIsSplitOff(t *testing.T) {
	b, k := newKeeper(t)
	id := b.submit(func(s *sbatch.Spec) { gang(s); s.Array = "5,7" })
	b.wait(5 * time.Second)
	made := k.made
	tasks := federation.TaskSetOf([]int{5})
	b.request(action.Request{Job: id, Kind: action.Hold, Tasks: tasks})
	b.wait(15 * time.Second)
	if p := k.forTask(t, id, 7); !p.Start.Equal(k.until) || len(k.resvs) != 1 {
		t.Fatalf("task 5 is held: the site has %v", k.resvs)
	}
	b.request(action.Request{Job: id, Kind: action.Release, Tasks: tasks})
	b.wait(30 * time.Second)
	if k.forTask(t, id, 5); len(k.resvs) != 2 || k.made == made {
		t.Fatalf("task 5 is released: the site has %v", k.resvs)
	}
	task := b.part(id, 5)
	b.restart()
	made = k.made
	b.wait(10 * time.Second)
	if k.forTask(t, id, 5); k.made != made {
		t.Errorf("a new daemon has asked for %d more", k.made-made)
	}
	b.request(action.Request{Job: task.ID, Kind: action.Cancel})
	b.request(action.Request{Job: id, Kind: action.Cancel})
	b.wait(15 * time.Second)
	k.none(t, "cancelled")
}

// A user whom the site does not know keeps no others from theirs; that it lets nobody have one it is known to have said when two are refused.
func TestPlaceOfAUserWhomTheSiteDoesNotKnow(t *testing.T) {
	b, k := newKeeper(t)
	k.unknown = "dave"
	of := func(user string) federation.JobID {
		j := federation.Job{User: user, UID: 7001, State: federation.Pending, Submit: b.clock, Spec: &sbatch.Spec{Name: "x", WorkDir: "/"}}
		gang(j.Spec)
		if err := b.store.CreateJob(t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
			t.Fatal(err)
		}
		return j.ID
	}
	dave := of("dave")
	b.wait(5 * time.Second)
	alice := of("alice")
	b.wait(30 * time.Second)
	k.kept(t, alice)
	events, _ := b.store.Events(t.Context(), dave)
	if text := fmt.Sprint(events); strings.Count(text, "does not hold its place") != 1 {
		t.Errorf("history: %v", text)
	}
	k.unknown = ""
	b.wait(10 * time.Minute)
	if len(k.resvs) != 2 {
		t.Errorf("the site knows both: %v", k.resvs)
	}
}

// A reservation that the site has removed for being idle, while the job was on its way, is made again.
func TestPlaceIsMadeAgainForAJobOnItsWay(t *testing.T) {
	b, k := newKeeper(t)
	id := b.submit(gang)
	b.wait(5 * time.Second)
	name := k.kept(t, id).Name
	b.cheap.refuses = fmt.Errorf("%w: no answer", federation.ErrUnavailable)
	k.until = time.Time{}
	b.wait(5 * time.Second)
	if a := b.attempts(id); len(a) != 1 || a[0].State != federation.AttemptIntended {
		t.Fatalf("the job is not on its way: %+v", a)
	}
	delete(k.resvs, name)
	b.wait(30 * time.Second)
	k.kept(t, id)
	b.request(action.Request{Job: id, Kind: action.Cancel})
	b.cheap.refuses = nil
	b.wait(time.Minute)
	k.none(t, "cancelled")
}

// When its job has started, a place that cannot be removed yet ends soon: the job may run elsewhere.
func TestPlaceEndsWhenItsJobHasStarted(t *testing.T) {
	b, k := newKeeper(t)
	id := b.submit(gang)
	b.wait(5 * time.Second)
	k.kept(t, id)
	k.until = time.Time{} // an hour before
	b.wait(5 * time.Second)
	b.cheap.start(id)
	b.wait(30 * time.Second)
	if p := k.kept(t, id); p.Start.After(b.clock) || p.End.After(b.clock.Add(promiseOver)) {
		t.Errorf("the job has started: the site keeps %+v", p)
	}
	made := k.made
	b.wait(2 * time.Minute)
	k.none(t, "two minutes later")
	if k.made != made {
		t.Errorf("it was made %d times more", k.made-made)
	}
}

// A site that is away for a while keeps what it has: the plan of that time says nothing of it, nor does the first one of a daemon that has not heard of all sites.
func TestPlaceOutlivesASiteThatIsAway(t *testing.T) {
	b, k := newKeeper(t)
	id := b.submit(gang)
	b.wait(5 * time.Second)
	p := k.kept(t, id)
	b.with(func(c *Config) { c.Timing.PlanGap = 7 * time.Second })
	for range 5 {
		b.cheap.fail = fmt.Errorf("%w: no route to host", federation.ErrUnavailable)
		b.wait(5 * time.Minute)
		b.cheap.fail = nil
		b.wait(2*time.Minute + time.Second)
		if is := k.kept(t, id); !is.Start.Equal(p.Start) || k.removed > 0 {
			t.Fatalf("it was removed %d times, and is %+v", k.removed, is)
		}
	}
}

// A gang that starts later than planned does not run into the place of the next one: that moves away from it, by more than it takes to start.
func TestPlaceGivesWayToWhatStartsLate(t *testing.T) {
	b, k := newKeeper(t)
	k.until = b.clock.Add(time.Minute).Truncate(time.Second)
	first := b.submit(gang)
	b.wait(2 * time.Second)
	second := b.submit(gang)
	k.until = time.Time{}
	b.wait(5 * time.Second)
	b.want(first, federation.Pending, "", "cheap")
	name := driver.PromiseName("test", decision.Promised{Job: second})
	roomy := 0
	for range 120 { // it waits there for ten minutes
		b.wait(5 * time.Second)
		if p, is := k.resvs[name]; !is || p.Start.Sub(b.clock) >= 2*time.Hour+10*time.Second {
			roomy++
		}
	}
	if made := k.made; roomy < 90 || made > 20 {
		t.Errorf("the first could have started in %d of 120 looks, and %d calls were made", roomy, made)
	}
}

// A refusal of a job that was sent into its place is not for good: another reservation may have been in its way.
func TestPlaceWhoseJobIsRefusedIsTriedAgain(t *testing.T) {
	b, k := newKeeper(t)
	id := b.submit(gang)
	b.wait(5 * time.Second)
	k.kept(t, id)
	b.cheap.refuses = fmt.Errorf("%w: Requested node configuration is not available", federation.ErrCapacity)
	k.until = time.Time{}
	b.wait(5 * time.Second)
	b.want(id, federation.Pending, "", "")
	b.cheap.refuses = nil
	b.wait(time.Minute)
	b.want(id, federation.Pending, "", "cheap")
}
