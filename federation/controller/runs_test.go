package controller

import (
	"math"
	"testing"
	"time"

	"fsub/federation"
)

// costs checks what a job and its only attempt came to.
func (b *bench) costs(id federation.JobID, want float64) federation.Attempt {
	b.t.Helper()
	a := b.attempts(id)
	if len(a) != 1 {
		b.t.Fatalf("%d attempts", len(a))
	}
	if job := b.job(id).Cost; math.Abs(job.Dollars()-want) > 0.01 || job != a[0].Cost {
		b.t.Errorf("the job came to %.4f, its attempt to %.4f, not %.2f", job.Dollars(), a[0].Cost.Dollars(), want)
	}
	return a[0]
}

// A run that the site has ended to queue the job again is kept with what was seen of it, and paid for.
func TestRunsOfASiteThatRequeues(t *testing.T) {
	b := newBench(t)
	b.makeAble()
	id := b.running()
	first := b.job(id).Start
	b.wait(30 * time.Minute)
	b.request(requeue(id))
	b.wait(time.Minute)
	b.restart() // what is known of it is in the books
	b.wait(time.Second)
	b.cheap.start(id)
	b.wait(15 * time.Minute)
	b.cheap.end(id, federation.Completed)
	b.wait(time.Second)
	b.want(id, federation.Completed, "", "cheap")
	a := b.costs(id, 2*0.75) // two GPUs at a dollar an hour
	if len(a.Runs) != 1 || a.Runs[0].State != federation.Requeued || !a.Runs[0].Started.Equal(first) || a.Runs[0].Nodes != "n1" ||
		math.Abs(a.Runs[0].Ended.Sub(first).Minutes()-30) > 0.1 || math.Abs(a.Runs[0].Cost.Dollars()-1) > 0.01 {
		t.Errorf("its runs: %+v", a.Runs)
	}
}

// A site that keeps the runs tells them better, also of a job that it gives back.
func TestRunsThatTheSiteTells(t *testing.T) {
	for _, back := range []bool{false, true} {
		b := newBench(t)
		id := b.running()
		b.wait(10 * time.Minute)
		j := b.cheap.jobs[id]
		run := federation.AttemptRun{State: federation.Requeued, Started: j.Start, Ended: b.clock, Nodes: "m[1-2]", ExitStatus: 15, Cost: 7 * federation.Dollar}
		j.Earlier, j.Restarts, j.State, j.Start, j.Nodes, j.TRES = []federation.AttemptRun{run, run}, 2, federation.Pending, time.Time{}, "", ""
		if back {
			j.Returned = true
			b.wait(time.Second)
			a := b.attempts(id)
			if len(a) == 0 || a[0].State != federation.AttemptWithdrawn || a[0].Cost != 14*federation.Dollar || len(a[0].Runs) != 2 || b.job(id).Restarts != 2 || b.job(id).Cost != 14*federation.Dollar {
				t.Errorf("given back: %+v, %+v", a, b.job(id))
			}
			continue
		}
		b.wait(time.Second)
		b.cheap.start(id)
		j.PricePerHour = 6 * federation.Dollar
		b.wait(10 * time.Minute)
		b.cheap.end(id, federation.Completed)
		b.wait(time.Second)
		if a := b.costs(id, 15); len(a.Runs) != 2 || a.Runs[1] != run || a.Restarts != 2 {
			t.Errorf("%+v", a)
		}
	}
}
