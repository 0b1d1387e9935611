package simsite

import (
	"context"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

func array1(list string, more ...func(*wire.JobDesc)) func(*wire.JobDesc) {
	return func(d *wire.JobDesc) {
		d.Array = list
		for _, f := range more {
			f(d)
		}
	}
}

func TestArrayTasksHaveTheirOwnNumbers(t *testing.T) {
	s := newSite(t)
	s.mustSubmit(t, desc(10*second1, pinned(30000011, "fsub:k"), array1("0-3")))
	j, err := restDriver(t, s).Lookup(context.Background(), federation.JobRef{ID: 30000011})
	if err != nil {
		t.Fatal(err)
	}
	want := []uint32{1, 2, 3, 30000011} // the last task gets the array's own record
	for i, task := range j.Tasks {
		if task.Index != i || task.SiteJobID != want[i] || task.State != federation.Running {
			t.Errorf("task %d: %+v", i, task)
		}
	}
	if len(j.Tasks) != 4 || j.State != federation.Running || j.Key != "fsub:k" {
		t.Errorf("%+v", j)
	}
	s.Advance(10 * second1)
	if runs := s.Runs(30000011); len(runs) != 4 || runs[3].Task != 3 || runs[0].Key != "fsub:k" {
		t.Errorf("runs: %+v", runs)
	}
	if r := s.Records(30000011); len(r) != 4 { // the array's first row has become the last task's
		t.Errorf("%d rows: %+v", len(r), r)
	}
}

func TestArrayLimit(t *testing.T) {
	s := newSite(t)
	id := s.mustSubmit(t, desc(10*second1, array1("0-5:1,9%2")))
	for i := range 4 {
		if p, r := s.Counts(); r != min(2, 7-2*i) || p != max(0, 5-2*i) {
			t.Errorf("after %d rounds: %d running, %d pending", i, r, p)
		}
		s.Advance(10 * second1)
	}
	if n := s.RunCount(id); n != 7 {
		t.Errorf("%d runs", n)
	}
}

func TestArrayCancel(t *testing.T) {
	s := newSite(t)
	ctx, d := context.Background(), restDriver(t, s)
	s.mustSubmit(t, desc(10*second1, pinned(30000011, "k"), array1("0-5%2")))
	if err := d.Cancel(ctx, federation.JobRef{ID: 30000011}, []int{0, 3, 4}); err != nil {
		t.Fatal(err)
	}
	j, _ := d.Lookup(ctx, federation.JobRef{ID: 30000011})
	if j.PendingTasks != "5" || len(j.Tasks) != 3 || j.Tasks[0].State != federation.Cancelled || j.Tasks[2].Index != 2 {
		t.Errorf("%+v", j)
	}
	if err := d.Cancel(ctx, federation.JobRef{ID: 30000011}, nil); err != nil {
		t.Fatal(err)
	}
	if j, _ = d.Lookup(ctx, federation.JobRef{ID: 30000011}); j.State != federation.Cancelled {
		t.Errorf("after cancelling all: %+v", j)
	}
	if n := s.RunCount(30000011); n != 3 {
		t.Errorf("%d runs", n)
	}
}

func TestArrayKeepsItsRecordWhileTasksLive(t *testing.T) {
	s := newSite(t, func(c *Config) { c.MinJobAge = time.Minute })
	d := restDriver(t, s)
	s.mustSubmit(t, desc(50*second1, pinned(30000011, "k"), array1("0-9%1")))
	s.Advance(400 * second1)
	j, err := d.Lookup(context.Background(), federation.JobRef{ID: 30000011})
	if err != nil || j.FromAccounting || len(j.Tasks) != 9 || j.PendingTasks != "9" {
		t.Fatalf("%+v %v", j, err)
	}
	s.Advance(300 * second1)
	if j, err = d.Lookup(context.Background(), federation.JobRef{ID: 30000011}); err != nil || !j.FromAccounting || j.State != federation.Completed || len(j.Tasks) != 10 {
		t.Errorf("%+v %v", j, err)
	}
}
