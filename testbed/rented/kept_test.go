package rented

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/ec2"
)

// keepsCheckpoints counts to the number that it is given, a tenth of a second each, and writes two files that belong together each thirty ticks; it begins at what they
// say the next time. The directory that it is given is the one thing that the test lets the machine see: what it writes there is for the test alone.
const keepsCheckpoints = `#!/bin/bash
#SBATCH -t 5 --requeue --open-mode=append -n1 -c1
#FSUB --keep=ck --checkpoint=00:00:03
see=$1/$SLURM_JOB_ID
exec 9> $see.lock
flock -n 9 || echo twice >> $see
mkdir -p ck
n=$(cat ck/a 2>/dev/null || echo 0)
[ "$n" = "$(cat ck/b 2>/dev/null || echo 0)" ] || echo torn >> $see
echo "begins at $n" >> $see
save() { echo $n > ck/a.new; mv ck/a.new ck/a; echo $n > ck/b.new; mv ck/b.new ck/b; echo "saved $n" >> $see; }
trap 'save; echo "told at $n" >> $see; exit 143' TERM
while [ $n -lt $2 ]; do
	sleep 0.1 9>&- & wait $!
	n=$((n + 1))
	echo $n > $see.at
	[ $((n % 30)) != 0 ] || { cp $see.at $see.was; save; }
done
echo "ends at $n" >> $see
`

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
		p.put("job.sh", keepsCheckpoints)
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
	var sum resumption
	for _, id := range ids {
		text, _ := os.ReadFile(filepath.Join(see, id.String()))
		if err := sum.add(string(text), ticks); err != nil {
			t.Errorf("job %d: %v:\n%s", id, err, text)
		}
	}
	t.Logf("%d jobs; %d machines taken with a notice, %d without; the daemon killed %d times; %d runs went on from a checkpoint, %d began again at 0; the last checkpoint of a run was lost %d times, more of them %d times",
		jobs, notices, gone, kills, sum.resumed, sum.fresh, sum.last, sum.more)
	if sum.resumed == 0 {
		t.Error("no run went on from a checkpoint: this shows nothing")
	}
	p.noMachines(time.Minute)
}

// resumption adds up what jobs have seen: runs that went on from a checkpoint, and that began at 0 after another run; how often the last checkpoint of a run was not there
// for the next, because the machine went while it was copied, and how often more of them were not.
type resumption struct{ resumed, fresh, last, more int }

// add reads what one job has noted. A run begins at a checkpoint of those before, and never before the one at which the run before began.
func (k *resumption) add(text string, ticks int) error {
	saved := []int{0} // since the run before began, which is the first
	runs, ended := 0, false
	for line := range strings.Lines(text) {
		var n int
		switch {
		case scan(line, "begins at %d\n", &n):
			at := slices.Index(saved, n)
			if at < 0 {
				return fmt.Errorf("run %d begins at %d, the checkpoints since the run before began are %d", runs, n, saved)
			}
			switch lost := len(slices.Compact(slices.Clone(saved[at:]))) - 1; {
			case lost == 1:
				k.last++
			case lost > 1:
				k.more++
			}
			if n > 0 {
				k.resumed++
			} else if runs > 0 {
				k.fresh++
			}
			saved = []int{n}
			runs++
		case scan(line, "saved %d\n", &n):
			saved = append(saved, n)
		case scan(line, "told at %d\n", &n):
		case scan(line, "ends at %d\n", &n) && n == ticks: // and once more, if the machine went before it could say so
			ended = true
		default:
			return fmt.Errorf("%q", line)
		}
	}
	if !ended {
		return fmt.Errorf("it has not ended")
	}
	return nil
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
