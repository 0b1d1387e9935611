package daemons

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// used is how much time of a processor the daemon has used.
func (d *daemon) used() time.Duration {
	d.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		d.t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err := errors.Join(err1, err2); err != nil {
		d.t.Fatal(err)
	}
	return time.Duration(user+system) * time.Second / 100 // USER_HZ
}

// poll has clients ask the daemons for the queue, each one of them, as fast as they answer, and returns how many answers there were.
func poll(t *testing.T, daemons []*daemon, clients int, long time.Duration) int64 {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	var all sync.WaitGroup
	var answers atomic.Int64
	for i := range clients {
		d := daemons[i%len(daemons)]
		h := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("unix", d.path(d.name+".sock"))
		}}}
		all.Go(func() {
			defer h.CloseIdleConnections()
			for ctx.Err() == nil {
				req, _ := http.NewRequestWithContext(ctx, "GET", "http://fsub/fed/v1/queue", nil)
				resp, err := h.Do(req)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if err == nil && resp.StatusCode == http.StatusOK {
					answers.Add(1)
				} else if ctx.Err() == nil {
					t.Errorf("%s: %v", d.name, err)
					return
				}
			}
		})
	}
	all.Wait()
	return answers.Load()
}

// Polls at daemons that stand by cost the leader nothing.
func TestPollsLeaveTheLeaderAlone(t *testing.T) {
	w := newWorld(t, 3)
	w.write("job.sh", "#!/bin/sh\n#SBATCH --time=5\n#SBATCH --hold\n#SBATCH --array=0-99\n")
	w.stand()
	for range 10 {
		if _, err := w.daemons[0].run("fsub", w.path("job.sh")); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Second
	if os.Getenv("FSUB_FULL") != "" {
		long = 10 * time.Second
	}
	leads := w.leader(w.daemons[0])
	cost := func(at []*daemon) (leader, others time.Duration, answers int64) {
		before := map[*daemon]time.Duration{}
		for _, d := range w.daemons {
			before[d] = d.used()
		}
		answers = poll(t, at, 64, long)
		for _, d := range w.daemons {
			if used := d.used() - before[d]; d == leads {
				leader = used
			} else {
				others += used
			}
		}
		return leader, others, answers
	}
	for _, asked := range []struct {
		who string
		at  []*daemon
	}{{"the leader", []*daemon{leads}}, {"the others", w.others(leads)}, {"all", w.daemons}} {
		leader, others, answers := cost(asked.at)
		t.Logf("64 clients that ask %s: %d answers a second; the leader used %v, the others %v", asked.who, answers*int64(time.Second)/int64(long), leader, others)
		if asked.who == "the others" && leader > others/4 {
			t.Errorf("polls at others have cost the leader %v, and them %v", leader, others)
		}
	}
}

// How far a daemon that stands by is behind while two thousand jobs a second change. It reports; what would take seconds fails.
func TestFollowerKeepsUp(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: reports how far a daemon is behind, in twenty seconds: FSUB_FULL=1 runs it")
	}
	a := newAlike(t)
	var jobs []*federation.Job
	for range 2000 {
		j := &federation.Job{User: "root", State: federation.Pending, Submit: a.now(), Spec: &sbatch.Spec{Name: "a"}}
		if err := a.store.CreateJob(t.Context(), j, &sbatch.Payload{}); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	if err := a.follower.Queue().Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	var all sync.WaitGroup
	changed := 0
	all.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			batch := journal.Batch{Jobs: jobs[i%100*20:][:20]}
			for _, j := range batch.Jobs {
				j.Priority = uint32(i)
			}
			if err := a.store.Commit(t.Context(), &batch); err != nil {
				t.Error(err)
				return
			}
			changed += len(batch.Jobs)
			<-tick.C
		}
	})
	var behind []time.Duration
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		began := time.Now()
		before := a.follower.Queue().Lag()
		if err := a.follower.Queue().Follow(t.Context()); err != nil {
			t.Fatal(err)
		}
		behind = append(behind, before+time.Since(began)) // as it was just before it caught up
		<-tick.C
	}
	all.Wait()
	slices.Sort(behind)
	t.Logf("%d changes a second: behind by at most %v (median), %v (p95), %v", changed/10, behind[len(behind)/2], behind[len(behind)*95/100], behind[len(behind)-1])
	if p95 := behind[len(behind)*95/100]; p95 > 5*time.Second {
		t.Errorf("it does not keep up: %v", p95)
	}
}
