package rented

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
)

// boundary is a place at which the daemon can be killed: before or after the n-th call of an action.
type boundary struct {
	action string
	n      int
	after  bool
}

func (b boundary) String() string {
	where := "before"
	if b.after {
		where = "after"
	}
	return fmt.Sprintf("%s_%s_%d", where, b.action, b.n)
}

// gangJob runs on two machines and leaves a line for each time that it began.
const gangJob = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 -t 5 -o out-%j --open-mode=append\necho began >> began-$SLURM_JOB_ID\nsrun hostname | sort\nsleep 0.5\necho ended >> ended-$SLURM_JOB_ID\n"

// rounds submits a job of two machines, sees it to its end, and then the machines to theirs.
func (w *world) round() {
	w.t.Helper()
	id := w.fsub(gangJob)
	rec := w.await(id, 90*time.Second)
	if rec.Job.State != federation.Completed {
		w.t.Errorf("job %d is %s (%s); history: %v", id, rec.Job.State, rec.Job.Reason, rec.Events)
	}
	began, ended := strings.Count(w.read(fmt.Sprintf("began-%d", id)), "began"), strings.Count(w.read(fmt.Sprintf("ended-%d", id)), "ended")
	if began != 1 || ended != 1 {
		w.t.Errorf("job %d began %d times and came to its end %d times", id, began, ended)
	}
	w.noMachines(60 * time.Second)
}

// TestKilledAtEveryCall kills the daemon with SIGKILL before and after each call to the cloud that one life of a gang takes, one after the other, and starts it again. Each time the
// job runs once, on one gang, and no machine is left.
func TestKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	killedAtEveryCall(t, config{pool: "max: 4, idle: 1s"}, "RunInstances", "TerminateInstances")
}

// killedAtEveryCall does that with the calls of one cloud, of which one makes machines and another ends them.
func killedAtEveryCall(t *testing.T, c config, makes, ends string) *world {
	if testing.Short() {
		t.Skip("SKIPPED: takes minutes")
	}
	w := newWorld(t, c)
	counts := map[string]int{}
	var mu sync.Mutex
	w.watch(func(action string, after bool) {
		if after {
			mu.Lock()
			counts[action]++
			mu.Unlock()
		}
	})
	w.start()
	w.round()
	w.stop()
	mu.Lock()
	calls := maps.Clone(counts)
	mu.Unlock()
	if calls[makes] == 0 || calls[ends] == 0 {
		t.Fatalf("one round made the calls %v", calls)
	}
	var all []boundary
	for _, action := range slices.Sorted(maps.Keys(calls)) {
		n := calls[action]
		if !changes(action) {
			n = min(n, 3) // reading is the same each time
			if c.kind != "" && os.Getenv("FSUB_FULL") == "" {
				n = 0 // and the same for each cloud
			}
		}
		for i := range n {
			all = append(all, boundary{action, i + 1, false}, boundary{action, i + 1, true})
		}
	}
	t.Logf("%d boundaries of the calls %v", len(all), calls)
	defer func() { w.t = t }()
	for _, b := range all {
		t.Run(b.String(), func(t *testing.T) {
			w.t = t
			w.killedAt(b)
		})
	}
	return w
}

// changes reports whether an action changes anything.
func changes(action string) bool {
	return !strings.HasPrefix(action, "Describe") && !strings.HasPrefix(action, "GET-") && action != "pricing"
}

func (w *world) watch(f func(action string, after bool)) { w.hook.Store(&f) }

// killedAt starts the daemon, kills it at a boundary, starts it again and sees a round through.
func (w *world) killedAt(b boundary) {
	w.t.Helper()
	seen := 0
	var mu sync.Mutex
	reached := make(chan struct{})
	most := 0
	w.watch(func(action string, after bool) {
		mu.Lock()
		defer mu.Unlock()
		most = max(most, w.rents.Live())
		if action != b.action || after != b.after || seen > b.n {
			return
		}
		if seen++; seen == b.n {
			seen++
			w.kill()
			close(reached)
		}
	})
	w.start()
	restarted, over := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(over) })
	w.t.Cleanup(func() { end(); <-restarted }) // also where this ends early: nobody starts a daemon beside the next one
	go func() {
		defer close(restarted)
		select {
		case <-reached:
			w.start()
		case <-over:
		}
	}()
	id, jobs := w.submitAcrossTheKill()
	rec := w.await(id, 90*time.Second)
	if rec.Job.State != federation.Completed {
		w.t.Errorf("job %d is %s (%s); history: %v", id, rec.Job.State, rec.Job.Reason, rec.Events)
	}
	if began := strings.Count(w.read(fmt.Sprintf("began-%d", id)), "began"); began != 1 {
		w.t.Errorf("job %d began %d times", id, began)
	}
	w.noMachines(60 * time.Second)
	end()
	select {
	case <-reached:
	default:
		w.t.Logf("the boundary was not reached in this round")
	}
	<-restarted
	if most > 2*jobs {
		w.t.Errorf("%d machines were live at one time for %d jobs of two; the daemon's log ends:\n%s", most, jobs, tail(filepath.Join(w.dir, "fed.log"), 5000))
	}
	w.stop()
}

// submitAcrossTheKill submits the job, again if the daemon died before it had answered. It returns how many jobs there may be: one more for each time that the daemon may have accepted
// one and died before it could say so.
func (w *world) submitAcrossTheKill() (id federation.JobID, jobs int) {
	w.t.Helper()
	jobs = 1
	w.eventually("the job is accepted", 30*time.Second, func() string {
		var err error
		if id, err = w.tryFsub(gangJob); err != nil {
			if !strings.Contains(err.Error(), "no daemon answers") {
				jobs++
			}
			return err.Error()
		}
		return ""
	})
	return id, jobs
}
