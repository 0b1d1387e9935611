package slurm

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// TestMoreThanThereIsTimeFor: where more jobs have changed than can be read one by one before a look is over, each look reads a part of them, and in the end all are told.
// So it is with those that run.
func TestMoreThanThereIsTimeFor(t *testing.T) {
	const jobs, others, perLook = 240, 2000, time.Second
	f := newFake(t, "v0.0.42")
	var rows wire.JobsStateResponse
	for i := range jobs {
		id := int64(federation.FirstJobID) + int64(i)
		is := wire.Strings{"COMPLETED"}
		if i%2 == 0 {
			is = wire.Strings{"RUNNING"}
		}
		rows.Jobs = append(rows.Jobs, wire.JobStateRow{JobID: wire.Text(fmt.Sprint(id)), State: is})
		f.on(fmt.Sprint("GET /slurm/job/", id), 200, wire.JobsResponse{Jobs: wire.List[wire.Job]{{JobID: id, AdminComment: "f/x", State: is, Nodes: "n1"}}})
	}
	for i := range others {
		rows.Jobs = append(rows.Jobs, wire.JobStateRow{JobID: wire.Text(fmt.Sprint(i + 1)), State: wire.Strings{"COMPLETED"}})
	}
	f.on("GET /slurm/jobs/state/", 200, rows)
	d := f.driver(t, func(c *Config) { c.RPS, c.Burst = 150, 4 })
	began := time.Now()
	look := func(what string, do func(ctx context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), perLook)
		defer cancel()
		if err := do(ctx); time.Since(began) > time.Minute { // a busy machine may have no time for some of them
			t.Fatalf("%s never ends: %v", what, err)
		}
	}
	var last federation.Mark
	told, hold := map[federation.JobID]int{}, map[federation.JobID]bool{}
	looks := 0
	for ; len(told) < jobs; looks++ {
		look("a look at jobs", func(ctx context.Context) error {
			r, err := d.Jobs(ctx, last)
			if err != nil {
				return err
			}
			if last = r.Mark; len(r.Known) != jobs {
				t.Fatalf("%d jobs are known", len(r.Known))
			}
			for _, j := range r.Changed {
				told[j.ID]++
			}
			for _, id := range r.Begun {
				hold[id] = true
			}
			return nil
		})
	}
	for id, n := range told {
		if running := (id-federation.FirstJobID)%2 == 0; n != 1 || hold[id] && !running {
			t.Errorf("job %d is told %d times, has begun: %v", id, n, hold[id])
		}
	}
	if looks < 2 {
		t.Errorf("all were read in %d looks: the test tests nothing", looks)
	}
	d.holders.running = nil // as of jobs of others
	d.holders.begun = begunLongAgo(rows)
	for read := 0; read < jobs/2; {
		look("a look at nodes", func(ctx context.Context) error {
			st, err := d.rights.standing(ctx)
			if err != nil {
				return err
			}
			ctx = calling(ctx, forLooks)
			v, _, err := d.lookAtJobs(ctx, st, &mark{})
			if err != nil {
				return err
			}
			running, _, err := d.holders.look(ctx, st, v)
			if err == nil && len(running) != jobs/2 {
				t.Fatalf("%d hold nodes", len(running))
			}
			read = len(d.holders.running)
			return err
		})
		for id := range d.holders.begun {
			d.holders.begun[id] = time.Unix(1000, 0)
		}
	}
}

// begunLongAgo is as if all had begun so long ago that they are read.
func begunLongAgo(rows wire.JobsStateResponse) begun {
	b := begun{}
	for _, r := range rows.Jobs {
		var id int64
		fmt.Sscan(string(r.JobID), &id)
		b[id] = time.Unix(1000, 0)
	}
	return b
}
