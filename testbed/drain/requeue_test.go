package drain

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/bed"
)

// TestRequeueMany: 500 jobs that run at three sites are requeued by their nodes. The commands and the daemon are killed half-way; the same
// commands once more tell of the end. Each job runs again once, under its ID.
func TestRequeueMany(t *testing.T) {
	if !full {
		t.Skip("SKIPPED: needs sites of many nodes and takes a quarter of an hour: FSUB_FULL=1 runs it")
	}
	counts := []int{168, 166, 166}
	const count = 500
	s := storyOfAll(t)
	file := filepath.Join(world.Bed.Home("alice"), "many")
	// The first run of each lasts until it is requeued.
	script := fmt.Sprintf(`id=${FSUB_JOB_ID:-$SLURM_JOB_ID}; grep -qs "^$id " %[1]s; first=$?; echo "$id ${SLURM_RESTART_COUNT:-0}" >> %[1]s; [ $first = 0 ] || exec sleep 3000`, file)
	began := time.Now()
	var wg sync.WaitGroup
	for i, site := range sites {
		wg.Go(func() {
			loop := fmt.Sprintf("for i in $(seq %d); do fsub -Q -J many -t60 -c1 --mem=50 -o /dev/null --fed-sites=%s --wrap '%s' || exit 1; done", counts[i], site, script)
			if out, err := command("alice", "bash", "-c", loop); err != nil {
				t.Errorf("submit: %v: %s", err, out)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() { command("alice", "scancel", "-n", "many") })
	states := func() (n map[federation.State]int) {
		n = map[federation.State]int{}
		for _, where := range [][]string{{"name=many"}, {"name=many", "state=ENDED"}} {
			jobs, err := client.List(context.Background(), s.client, &v1.Jobs, v1.JobQuery{Where: where})
			if err != nil {
				return nil
			}
			for _, j := range jobs {
				n[j.State]++
			}
		}
		return n
	}
	s.eventually("all run", func() string {
		if n := states(); n[federation.Running] != count {
			return fmt.Sprint(n)
		}
		return ""
	})
	t.Logf("%d jobs run, %.0f s after the first was submitted", count, time.Since(began).Seconds())

	requeue := func(ctx context.Context, told func(site, out string, err error)) {
		var wg sync.WaitGroup
		for _, site := range sites {
			wg.Go(func() {
				var out bytes.Buffer
				err := world.Bed.Exec(ctx, bed.Cmd{Site: bed.Login, User: "carol", Stdout: &out, Stderr: &out, Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()},
					Args: []string{"fed", "job", "requeue", "--where", fmt.Sprintf("node=%s/%s[1-%d]", site, site, nodes), "--where", "name=many", "--reason", "new driver", "--yes"}})
				told(site, out.String(), err)
			})
		}
		wg.Wait()
	}
	cut := make(chan struct{})
	began = time.Now()
	ctx, kill := context.WithCancel(t.Context())
	go func() {
		requeue(ctx, func(site, out string, err error) {
			if err == nil {
				t.Errorf("the command of %s came to its end before the daemon was killed: %s", site, out)
			}
		})
		close(cut)
	}()
	settled := 0
	s.eventually("some are requeued", func() string {
		settled = 0
		all, err := client.List(context.Background(), s.client, &v1.Operations, v1.None{})
		if err != nil {
			return err.Error()
		}
		for _, op := range all {
			settled += op.Settled
		}
		if settled < count/10 {
			return fmt.Sprintf("%d are", settled)
		}
		return ""
	})
	world.Daemon.Kill()
	kill()
	<-cut
	if err := world.Daemon.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := 0
	var mu sync.Mutex
	requeue(t.Context(), func(site, out string, err error) {
		if err != nil {
			t.Errorf("%s: %v: %s", site, err, out)
		}
		mu.Lock()
		defer mu.Unlock()
		lines += strings.Count(out, ": requeued\n")
	})
	t.Logf("killed when %d were requeued; %d lines tell of the rest and of these, %.0f s after the first command", settled, lines, time.Since(began).Seconds())
	if lines != count {
		t.Errorf("%d jobs were requeued, of %d", lines, count)
	}
	s.eventually("all have ended", func() string {
		if n := states(); n[federation.Completed] != count {
			return fmt.Sprint(n)
		}
		return ""
	})
	t.Logf("all have run again %.0f s after the first command", time.Since(began).Seconds())
	runs := s.runsIn(file)
	if len(runs) != count {
		t.Errorf("%d jobs have run", len(runs))
	}
	for id, counts := range runs {
		if j := s.job(id); j.Restarts != 1 || strings.Join(counts, " ") != "0 1" {
			t.Errorf("job %s: %d restarts, its runs began with SLURM_RESTART_COUNT %v", strconv.Itoa(int(id)), j.Restarts, counts)
		}
	}
}
