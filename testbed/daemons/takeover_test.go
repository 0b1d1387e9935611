package daemons

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/leader"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/testbed/postgres"
	"fsub/testbed/simsite"
)

// fill has so many jobs wait in a database that no daemon uses yet: each wants a node of a partition whose nodes are soon taken.
func fill(t *testing.T, url string, jobs int) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Postgres: &store.Postgres{URL: url}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var wg sync.WaitGroup
	var next atomic.Int64
	for range 256 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(jobs); i = next.Add(1) {
				j := federation.Job{User: "root", State: federation.Pending, Submit: time.Now().UTC(), Spec: &sbatch.Spec{Name: fmt.Sprint("sweep-", i), Partition: "main", MinNodes: 1, NTasks: 64,
					MemPerNode: 1000, TimeLimit: 10 * time.Hour, WorkDir: "/tmp", Output: "/dev/null"}}
				if err := s.CreateJob(context.Background(), &j, &sbatch.Payload{Script: "#!/bin/sh\n#SIM run=10h\n"}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// How long it takes, with 100,000 jobs that wait, from the moment at which the leader is killed, frozen or cut off from the database until the site has a job that was submitted
// then. Bounds are those of a machine of its own; here they are told.
func TestTakeOverTime(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes minutes: FSUB_FULL=1 runs it")
	}
	pg := postgres.Start(t)
	url := pg.URL()
	fill(t, url, manyLive)
	w := newWorld(t, 3, on(pg, url), throughWays)
	w.write("spare.sh", "#!/bin/sh\n#SBATCH --time=5 -p spare --mem=1000\n#SIM run=1s\n")
	w.quiet()
	for _, tt := range []struct {
		name       string
		gone, back func(d *daemon)
		within     time.Duration
	}{
		{"killed", (*daemon).kill, (*daemon).start, 3 * time.Second},
		{"frozen", func(d *daemon) { d.end(syscall.SIGSTOP) }, func(d *daemon) { d.end(syscall.SIGCONT) }, leader.TTL + 3*time.Second},
		{"cut off", func(d *daemon) { d.toDB.cut() }, func(d *daemon) { d.toDB.mend() }, leader.TTL + 3*time.Second},
	} {
		var took []time.Duration
		for range 10 {
			was := w.leader(w.daemons[0])
			asked := w.others(was)[0]
			w.handOver(asked)
			began := time.Now()
			tt.gone(was)
			w.handOver(asked)
			took = append(took, time.Since(began))
			tt.back(was)
			eventually(t, was.name+" answers", func() error { _, err := was.list(); return err })
			time.Sleep(time.Second) // not the moment after a renewal each time
		}
		slices.Sort(took)
		p50, p95 := took[len(took)/2], took[len(took)*95/100]
		t.Logf("%s, %d times: p50 %v, p95 %v; wanted within %v", tt.name, len(took), p50.Round(10*time.Millisecond), p95.Round(10*time.Millisecond), tt.within)
	}
}

// quiet waits until nothing has been written for a while: what the first plan says of each job is, in a commit that may take seconds.
func (w *world) quiet() {
	w.t.Helper()
	last, since := "", time.Now()
	eventually(w.t, "nothing is written", func() error {
		if now := w.pg.ExecIn(path.Base(strings.Split(w.url, "?")[0]), "SELECT max(seq) FROM change_log"); now != last {
			last, since = now, time.Now()
		}
		if still := time.Since(since); still < 15*time.Second {
			return fmt.Errorf("for %v", still)
		}
		return nil
	})
}

// handOver submits a job for which there is room, and waits until the site runs it.
func (w *world) handOver(at *daemon) {
	w.t.Helper()
	out, err := at.run("fsub", "--parsable", w.path("spare.sh"))
	if err != nil {
		w.t.Fatal(err)
	}
	id, err := strconv.ParseUint(out, 10, 32)
	if err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, "the site has the job", func() error {
		err := fmt.Errorf("it does not have %d", id)
		w.site.EachRun(func(r simsite.Run) bool {
			if r.JobID == uint32(id) {
				err = nil
			}
			return err != nil
		})
		return err
	})
}
