package rented

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/checkpoints"
	"fsub/testbed/ec2"
)

// TestKept runs jobs that keep their checkpoints on spot machines and on a local pool, none of which sees their files. Machines are taken at random, some without a word, and the
// daemon is killed meanwhile. All finish; none begins with a torn checkpoint or before that of the run before; none runs twice at one time.
func TestKept(t *testing.T) {
	t.Parallel()
	single(t)
	jobs, kills, ticks := 20, 2, 90
	if os.Getenv("FSUB_FULL") != "" {
		jobs, kills, ticks = 200, 20, 150
	}
	p := newPlace(t, config{pool: fmt.Sprintf("max: %d, idle: 2s, markets: [spot]", spotMachines), cloud: ec2.Config{Lead: 4 * time.Second},
		more: "- name: near\n  kind: local\n  filesystems: none\n  scratch: SCRATCH\n  local: {nodes: 1, cpus: 2, mem_mib: 2000, network: host}\n"})
	t.Cleanup(func() { // the disk of a machine goes with it; here all have one
		left, _ := filepath.Glob(filepath.Join(p.disk, "fsub-*"))
		for _, name := range left {
			os.RemoveAll(name)
		}
	})
	see := filepath.Join(p.dir, "see")
	if err := os.Mkdir(see, 0o777); err != nil {
		t.Fatal(err)
	}
	os.Chmod(see, 0o1777)
	var ids []federation.JobID
	for range jobs {
		p.put("job.sh", checkpoints.Script)
		out, errOut, code := p.run("fsub", "--parsable", "job.sh", see, fmt.Sprint(ticks))
		var id federation.JobID
		if _, err := fmt.Sscan(out, &id); err != nil || code != 0 {
			t.Fatalf("fsub: %d %s%s", code, out, errOut)
		}
		ids = append(ids, id)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	stop := make(chan struct{})
	var taking sync.WaitGroup
	var notices, gone int
	taking.Go(func() { notices, gone = p.takeSome(rand.New(rand.NewPCG(seed, 0)), stop) })
	for n := range kills {
		p.await(ids[(n+1)*jobs/(kills+2)], 10*time.Minute)
		p.kill()
		p.start()
	}
	for _, id := range ids {
		if rec := p.await(id, 10*time.Minute); rec.Job.State != federation.Completed {
			t.Errorf("job %d is %s (%s); history: %v", id, rec.Job.State, rec.Job.Reason, rec.Events)
		}
	}
	close(stop)
	taking.Wait()
	var sum checkpoints.Sum
	for _, id := range ids {
		text, _ := os.ReadFile(filepath.Join(see, id.String()))
		if err := sum.Add(string(text), ticks); err != nil {
			t.Errorf("job %d: %v:\n%s", id, err, text)
		}
	}
	t.Logf("%d jobs; %d machines taken with a notice, %d without; the daemon killed %d times; %s", jobs, notices, gone, kills, sum)
	if sum.Resumed == 0 {
		t.Error("no run went on from a checkpoint: this shows nothing")
	}
	p.noMachines(time.Minute)
}

// takeSome takes random machines until stop, most of them with a notice, and returns how many.
func (w *world) takeSome(r *rand.Rand, stop chan struct{}) (notices, gone int) {
	for {
		select {
		case <-stop:
			return notices, gone
		case <-time.After(time.Duration(500+r.IntN(1500)) * time.Millisecond):
		}
		var running []string
		for _, in := range w.cloud.Instances() {
			if in.State == "running" {
				running = append(running, in.ID)
			}
		}
		if r.IntN(spotMachines) >= len(running) {
			continue
		}
		id := running[r.IntN(len(running))]
		switch {
		case r.IntN(3) == 0:
			if w.cloud.Kill(id) == nil {
				gone++
			}
		case w.cloud.SpotNotice(id, 0) == nil:
			notices++
		}
	}
}
