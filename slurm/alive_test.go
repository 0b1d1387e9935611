package slurm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/slurm/wire"
)

// TestEndsThatAreKnown: a controller that remembers thousands of jobs which have ended is asked for the details of those alone that the caller does not know the end of.
func TestEndsThatAreKnown(t *testing.T) {
	const ended, waiting = 2000, 600
	const first = federation.FirstJobID
	f := newFake(t, "v0.0.42")
	var rows wire.JobsStateResponse
	alive := driver.Alive{first: true}
	show := func(id federation.JobID, state string) {
		rows.Jobs = append(rows.Jobs, wire.JobStateRow{JobID: wire.Text(fmt.Sprint(id)), State: wire.Strings{state}})
		f.on(fmt.Sprint("GET /slurm/job/", id), 200, wire.JobsResponse{Jobs: wire.List[wire.Job]{{JobID: int64(id), AdminComment: "f/x", State: wire.Strings{state}}}})
	}
	for i := range ended {
		show(first+federation.JobID(i), "COMPLETED")
	}
	for i := range waiting {
		show(first+federation.JobID(ended+i), "PENDING") // not alive to the caller: a copy of what was given up
	}
	f.on("GET /slurm/jobs/state/", 200, rows)
	d := f.driver(t, nil)
	look := func(m federation.Mark) (told []federation.JobID, next federation.Mark) {
		t.Helper()
		r, err := d.Jobs(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Known) != ended+waiting {
			t.Errorf("%d jobs are known", len(r.Known))
		}
		for _, j := range r.Changed {
			told = append(told, j.ID)
		}
		slices.Sort(told)
		return told, r.Mark
	}
	told, next := look(alive)
	if len(told) != 1+waiting || told[0] != first || told[1] != first+ended {
		t.Errorf("%d are told: %v ...", len(told), told[:min(4, len(told))])
	}
	if f.count("/slurm/v0.0.42/jobs/") != f.count("/jobs/state/") {
		t.Errorf("all jobs are read at once: %v", f.calls[:5])
	}
	rows.Jobs[7].State = wire.Strings{"PENDING"} // somebody requeues one whose end is known
	f.on("GET /slurm/jobs/state/", 200, rows)
	if told, _ := look(next); !slices.Equal(told, []federation.JobID{first + 7}) {
		t.Errorf("told of one that was requeued: %v", told)
	}
	d.queue.bulk.most.Store(1)
	if told, _ := look(nil); len(told) != ended+waiting {
		t.Errorf("with the zero mark %d are told", len(told))
	}
	if !maps.Equal(alive, driver.Alive{first: true}) {
		t.Error("the caller's mark is changed")
	}
}

// TestBulkThatTakesTooLong: where the details of all jobs are not read in time, they are read one by one, and those of fewer are tried at once again.
func TestBulkThatTakesTooLong(t *testing.T) {
	const jobs = 60
	f := newFake(t, "v0.0.42")
	var rows wire.JobsStateResponse
	var all wire.JobsResponse
	for i := range jobs {
		j := wire.Job{JobID: int64(federation.FirstJobID) + int64(i), AdminComment: "f/x", State: wire.Strings{"RUNNING"}}
		rows.Jobs, all.Jobs = append(rows.Jobs, wire.JobStateRow{JobID: wire.Text(fmt.Sprint(j.JobID)), State: j.State}), append(all.Jobs, j)
		f.on(fmt.Sprint("GET /slurm/job/", j.JobID), 200, wire.JobsResponse{Jobs: wire.List[wire.Job]{j}})
	}
	f.on("GET /slurm/jobs/state/", 200, rows)
	f.do("GET /slurm/jobs/", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	d := f.driver(t, nil)
	look := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := d.Jobs(ctx, nil)
		if err == nil && len(r.Changed) != jobs {
			err = fmt.Errorf("%d are told", len(r.Changed))
		}
		return err
	}
	bulks := func() int { return f.count("/jobs/") - f.count("/jobs/state/") }
	if err := look(); !errors.Is(err, federation.ErrUnavailable) || bulks() != 1 {
		t.Fatalf("%d times all at once: %v", bulks(), err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		err := look()
		if err == nil && bulks() == 1 {
			break
		}
		if bulks() > 1 || time.Now().After(deadline) { // a busy machine may have no time for the others
			t.Fatalf("%d times all at once: %v", bulks(), err)
		}
	}
	f.on("GET /slurm/jobs/", 200, all)
	var ids []int64
	for _, j := range all.Jobs {
		ids = append(ids, j.JobID)
	}
	// Where a look needs them all, as at a mapped site, they are still read in one answer.
	singly := f.count("/slurm/v0.0.42/job/")
	if got, _, err := d.queue.runningRecords(t.Context(), ids, jobs, never); err != nil || len(got) != jobs || f.count("/slurm/v0.0.42/job/") != singly {
		t.Errorf("%d are read, %d of them one by one: %v", len(got), f.count("/slurm/v0.0.42/job/")-singly, err)
	}
	d.queue.bulk.most.Store(jobs / 2)
	if d.queue.bulk.suits(jobs, jobs) || !d.queue.bulk.suits(jobs/2, jobs/2) {
		t.Errorf("at most %d at once", d.queue.bulk.most.Load())
	}
	if _, err := d.queue.bulkOf(t.Context(), jobs/2); err != nil || !d.queue.bulk.suits(jobs, jobs) {
		t.Errorf("when it answers in time, at most %d at once: %v", d.queue.bulk.most.Load(), err)
	}
}
