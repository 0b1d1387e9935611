package rented

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/ec2"
)

// checkpointing counts to twenty, writes down how far it has come when it is told to go, and begins there the next time. One of ten jobs does not come to its end before it was
// told once: on a busy machine, chance may spare nearly all.
const checkpointing = `#!/bin/bash
#SBATCH -t 5 --requeue --open-mode=append -o /dev/null
exec 9> lock-$SLURM_JOB_ID
flock -n 9 || echo $SLURM_JOB_ID >> twice
n=$(cat checkpoint-$SLURM_JOB_ID 2>/dev/null || echo 0)
echo "begins at $n, restart ${SLURM_RESTART_COUNT:-0}" >> log-$SLURM_JOB_ID
trap 'echo $n > new-$SLURM_JOB_ID; mv new-$SLURM_JOB_ID checkpoint-$SLURM_JOB_ID; echo "goes at $n" >> log-$SLURM_JOB_ID; exit 143' TERM
while [ $n -lt 20 ]; do
	sleep 0.1 9>&- & wait $!
	[ $n = 19 ] && [ $((SLURM_JOB_ID % 10)) = 0 ] && [ ! -e checkpoint-$SLURM_JOB_ID ] || n=$((n + 1))
done
echo "ends at $n" >> log-$SLURM_JOB_ID
`

const spotMachines = 12

// TestSpot runs many jobs that write checkpoints on machines that are taken back at random: all finish, each goes on where its checkpoint was, and none runs twice at one time.
func TestSpot(t *testing.T) {
	t.Parallel()
	jobs := 200
	if testing.Short() {
		jobs = 20
	}
	w := newWorld(t, config{pool: fmt.Sprintf("max: %d, idle: 2s, markets: [spot]", spotMachines), cloud: ec2.Config{Lead: 1500 * time.Millisecond}})
	w.start()
	var ids []federation.JobID
	for range jobs {
		ids = append(ids, w.fsub(checkpointing))
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	stop, taken := make(chan struct{}), make(chan int)
	go func() { taken <- w.takeBack(rand.New(rand.NewPCG(seed, 0)), stop) }()
	for _, id := range ids {
		if rec := w.await(id, 6*time.Minute); rec.Job.State != federation.Completed {
			t.Errorf("job %d is %s (%s); history: %v", id, rec.Job.State, rec.Job.Reason, rec.Events)
		}
	}
	close(stop)
	notices := <-taken
	if twice := w.read("twice"); twice != "" {
		t.Errorf("these ran twice at one time: %s", strings.Fields(twice))
	}
	interrupted := 0
	for _, id := range ids {
		n, err := followed(w.read(fmt.Sprintf("log-%d", id)))
		if err != nil {
			t.Errorf("job %d: %v", id, err)
		}
		interrupted += n
	}
	t.Logf("%d jobs, %d machines taken back, %d jobs interrupted", jobs, notices, interrupted)
	if interrupted < jobs/20 {
		t.Errorf("only %d jobs were interrupted: this shows nothing", interrupted)
	}
	w.noMachines(time.Minute)
}

// takeBack announces the end of a random machine now and then until stop, and returns how often. Where fewer machines run it does so less often, so that each lives as long: the last
// jobs come to their end, too.
func (w *world) takeBack(r *rand.Rand, stop chan struct{}) (n int) {
	for {
		select {
		case <-stop:
			return n
		case <-time.After(time.Duration(100+r.IntN(300)) * time.Millisecond):
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
		if w.cloud.SpotNotice(running[r.IntN(len(running))], 0) == nil {
			n++
		}
	}
}

// followed checks a job's log: each time it begins where its last checkpoint was, once more restarted. It returns how often it was interrupted.
func followed(log string) (interrupted int, err error) {
	at, restart, running := 0, 0, false
	for line := range strings.Lines(log) {
		var n, r int
		switch {
		case scan(line, "begins at %d, restart %d\n", &n, &r):
			if running { // it had no time to say that it goes: it begins at the checkpoint before
				interrupted++
			}
			if n < at || n > at && !running || r < restart { // a machine may go between the checkpoint and the word about it
				return interrupted, fmt.Errorf("it begins at %d as restart %d, after %d as restart %d:\n%s", n, r, at, restart, log)
			}
			restart, running = r+1, true
		case scan(line, "goes at %d\n", &n):
			interrupted++
			at, running = n, false
		case line == "ends at 20\n":
			return interrupted, nil
		default:
			return interrupted, fmt.Errorf("what is %q?", line)
		}
	}
	return interrupted, fmt.Errorf("it has not ended:\n%s", log)
}

func scan(line, format string, args ...any) bool {
	n, err := fmt.Sscanf(line, format, args...)
	return err == nil && n == len(args)
}
