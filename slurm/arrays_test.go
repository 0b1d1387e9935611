package slurm

import (
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// bigArray is an array of which tasks 0 to 24 run and 25 to 29 wait.
func bigArray() (*federation.SiteJob, []row) {
	j := &federation.SiteJob{ID: 30_000_001, SiteJobID: 30_000_001, State: federation.Running, PendingTasks: "25-29"}
	var rows []row
	for i := range 25 {
		j.Tasks = append(j.Tasks, federation.SiteTask{Index: i, SiteJobID: uint32(100 + i), State: federation.Running, Start: time.Unix(1, 0)})
		rows = append(rows, row{id: int64(100 + i), tasks: ranges([]int{i}), state: wire.Strings{"RUNNING"}})
	}
	for i := 25; i < 30; i++ {
		rows = append(rows, row{id: 30_000_001, tasks: ranges([]int{i}), state: wire.Strings{"PENDING"}})
	}
	return j, rows
}

func record(id, array, task int64, state string) wire.Job {
	return wire.Job{JobID: id, ArrayJobID: wire.Num(array), ArrayTaskID: wire.Num(task), State: wire.Strings{state}, Nodes: "n1",
		StartTime: wire.Num(1), EndTime: wire.Num(2)}
}

// TestSmallChange: one task ends and the next starts; a task of the same index belongs to somebody else.
func TestSmallChange(t *testing.T) {
	last, rows := bigArray()
	rows[3].state = wire.Strings{"COMPLETED"}
	rows = slices.Delete(rows, 25, 26) // its new row has a number that nobody knows yet
	loose := map[int][]int64{25: {7, 200}}
	c, ok := smallChange(last, rows, loose)
	slices.Sort(c.ask)
	if !ok || !slices.Equal(c.ask, []int64{7, 103, 200}) || !slices.Equal(c.started, []int{25}) || ranges(c.pending) != "26-29" {
		t.Fatalf("%t %+v", ok, c)
	}
	j, whole := applyChange(last, c, []wire.Job{record(7, 6, 25, "RUNNING"), record(103, 30_000_001, 3, "COMPLETED"), record(200, 30_000_001, 25, "RUNNING")})
	if !whole || len(j.Tasks) != 26 || j.Tasks[3].State != federation.Completed || j.Tasks[25].SiteJobID != 200 || j.PendingTasks != "26-29" {
		t.Errorf("%t %+v", whole, j)
	}
	if last.Tasks[3].State != federation.Running || len(last.Tasks) != 25 {
		t.Error("what was told before has changed")
	}
	if _, whole := applyChange(last, c, []wire.Job{record(103, 30_000_001, 3, "COMPLETED")}); whole {
		t.Error("a started task without a record is not missed")
	}
}

// TestChangesThatAreNotSmall are those where the whole array is asked for.
func TestChangesThatAreNotSmall(t *testing.T) {
	for name, change := range map[string]func([]row) []row{
		"the array's own record is a task now": func(r []row) []row {
			r[29] = row{id: 30_000_001, tasks: "29", state: wire.Strings{"RUNNING"}}
			return r[:29:29]
		},
		"nobody knows where a task went": func(r []row) []row { return r[:29] },
		"a record that was never told":   func(r []row) []row { r[0].id = 999; return r },
		"many at once": func(r []row) []row {
			for i := range r[:20] {
				r[i].state = wire.Strings{"COMPLETED"}
			}
			return r
		},
	} {
		last, rows := bigArray()
		if c, ok := smallChange(last, change(rows), nil); ok {
			t.Errorf("%s: %+v", name, c)
		}
	}
	last, rows := bigArray()
	if c, ok := smallChange(last, rows[5:], nil); !ok || len(c.ask) != 0 {
		t.Errorf("tasks that have only left the memory need no question: %t %+v", ok, c)
	}
}

// TestTaskStartedMeanwhile: the list of waiting tasks was read before the records.
func TestTaskStartedMeanwhile(t *testing.T) {
	waiting := wire.Job{JobID: 30_000_001, ArrayJobID: wire.Num(30_000_001), ArrayTaskString: "26-29", State: wire.Strings{"PENDING"}}
	j := siteJob(name{job: 30_000_001}, 30_000_001, []wire.Job{waiting, record(100, 30_000_001, 25, "RUNNING")}, []int{25, 26, 27, 28, 29})
	if len(j.Tasks) != 1 || j.PendingTasks != "26-29" {
		t.Errorf("%+v", j)
	}
}
