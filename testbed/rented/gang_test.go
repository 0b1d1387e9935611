package rented

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

// waiting has a rank on each of three machines, which runs until the job begins for the second time.
const waiting = `#!/bin/bash
#SBATCH -N 3 --ntasks-per-node=1 -t 5 -o out-%j --open-mode=append
#FSUB --on-node-loss=wait
export TRY=${SLURM_RESTART_COUNT:-0}
srun bash -c 'echo "$TRY $SLURM_NODEID $SLURMD_NODENAME" >> ranks-$SLURM_JOB_ID; [ $TRY = 1 ] || sleep 300'
`

// shrinking goes on without a machine: a step with a rank on each of three, which the loss of one does not end, and then one on those that are left. Its ranks have heartbeats.
const shrinking = `#!/bin/bash
#SBATCH -N 3 --ntasks-per-node=1 -t 5 -o out-%j --open-mode=append
#FSUB --on-node-loss=shrink --heartbeat=beat-%j-%n
srun --no-kill bash -c 'echo "0 $SLURM_NODEID $SLURMD_NODENAME" >> ranks-$SLURM_JOB_ID
  while [ ! -e stop-$SLURM_JOB_ID ]; do sleep 0.2; echo "$((++step)) 0.2" > beat-$SLURM_JOB_ID-$SLURM_NODEID; done'
srun -N 2 bash -c 'echo "1 $SLURM_NODEID $SLURMD_NODENAME" >> ranks-$SLURM_JOB_ID'
srun true && echo "all three" >> ranks-$SLURM_JOB_ID
true
`

// ranks are the nodes of a try in the order of their ranks.
func (w *world) ranks(id federation.JobID, try string) (nodes []string) {
	lines := strings.Split(strings.TrimSpace(w.read(fmt.Sprintf("ranks-%d", id))), "\n")
	slices.Sort(lines)
	for _, line := range lines {
		if f := strings.Fields(line); len(f) == 3 && f[0] == try {
			nodes = append(nodes, f[2])
		}
	}
	return nodes
}

// gang runs a job of three machines and kills the second. It returns their nodes by rank.
func (w *world) gang(script string) (id federation.JobID, nodes []string) {
	w.t.Helper()
	id = w.fsub(script)
	return id, w.lose(id, time.Minute, w.cloud.Kill)
}

// lose waits until a job has begun on three machines, and kills the second. It returns their nodes by rank.
func (w *world) lose(id federation.JobID, patience time.Duration, kill func(instance string) error) (nodes []string) {
	w.t.Helper()
	w.eventually("three ranks run", patience, func() string {
		if nodes = w.ranks(id, "0"); len(nodes) != 3 {
			return fmt.Sprint(nodes)
		}
		return ""
	})
	c := w.client()
	defer c.Close()
	machines, err := c.Machines(context.Background(), "", false)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range machines {
		if m.Name == nodes[1] {
			if err := kill(m.Instance); err != nil {
				w.t.Fatal(err)
			}
			return nodes
		}
	}
	w.t.Fatalf("no machine %s runs", nodes[1])
	return nodes
}

// shown is what fed job show says of a job.
func (w *world) shown(id federation.JobID) string {
	w.t.Helper()
	cmd := exec.Command(filepath.Join(scratch, "fed"), "job", "show", id.String())
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + w.work, "FSUB_SOCKET=" + filepath.Join(w.dir, "s")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("fed job show: %v\n%s", err, out)
	}
	return string(out)
}

// TestGangWaits kills a machine of a running gang, and the daemon with it: the other machines stay, one is rented under the old name, and the script begins again with each node under
// its old rank.
func TestGangWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config{pool: "max: 3, idle: 5s"})
	w.start()
	id, nodes := w.gang(waiting)
	w.kill()
	w.start()
	rec := w.await(id, 2*time.Minute)
	text := w.shown(id)
	if again := w.ranks(id, "1"); rec.Job.State != federation.Completed || rec.Job.Restarts != 1 || !slices.Equal(again, nodes) {
		t.Errorf("it is %s after %d restarts, with the ranks %v, which were %v\n%s", rec.Job.State, rec.Job.Restarts, again, nodes, text)
	}
	if n := len(w.cloud.Instances()); n != 4 {
		t.Errorf("%d machines were rented for a gang of 3 that lost one\n%s", n, text)
	}
	for _, want := range []string{"lost node " + nodes[1], "replaced by another machine of its name", "PREEMPTED: "} {
		if !strings.Contains(text, want) {
			t.Errorf("fed job show does not say %q\n%s", want, text)
		}
	}
	w.noMachines(time.Minute)
}

// TestGangShrinks kills a machine of a running gang that asks to go on without: its step goes on, a later one gets the nodes that are left, and none is replaced.
func TestGangShrinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config{pool: "max: 4, idle: 5s"})
	w.start()
	id, nodes := w.gang(shrinking)
	w.eventually("the loss is told, and the heartbeats of those that are left are heard", time.Minute, func() string {
		rec, err := w.job(id)
		if err != nil || len(rec.Attempts) == 0 || len(rec.Attempts[0].Losses) == 0 {
			return fmt.Sprint(rec, err)
		}
		heard := func(e federation.Event) bool {
			return strings.HasPrefix(e.Text, "heartbeat: ") && strings.HasSuffix(e.Text, " nodes write it, with the seconds that a step takes")
		}
		if !slices.ContainsFunc(rec.Events, heard) {
			return fmt.Sprint(rec.Events)
		}
		return ""
	})
	if err := os.WriteFile(filepath.Join(w.work, fmt.Sprintf("stop-%d", id)), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	rec := w.await(id, 2*time.Minute)
	text := w.shown(id)
	left := []string{nodes[0], nodes[2]}
	if again := w.ranks(id, "1"); rec.Job.State != federation.Completed || rec.Job.Restarts != 0 || !slices.Equal(again, left) {
		t.Errorf("it is %s after %d restarts, with the ranks %v, want %v\n%s\n%s", rec.Job.State, rec.Job.Restarts, again, left, text, w.read("out-"+id.String()))
	}
	if n := len(w.cloud.Instances()); n != 3 || strings.Contains(w.read(fmt.Sprintf("ranks-%d", id)), "all three") {
		t.Errorf("%d machines were rented; a step got the lost node: %s", n, w.read(fmt.Sprintf("ranks-%d", id)))
	}
	if want := "lost node " + nodes[1]; !strings.Contains(text, want) || !strings.Contains(text, "the job went on without") {
		t.Errorf("fed job show does not say %q\n%s", want, text)
	}
	w.noMachines(time.Minute)
}

// elastic is what torchrun is to a job, in few lines: a rank on each node meets the others at the first one, under an ID of the run, and they go in step. A rank that misses
// another one ends with an error, at once: before anybody knows that its machine is gone. The first writes a checkpoint after each step.
const elastic = `
import os, socket, sys, time
rank, ranks, restart = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"]), int(os.environ.get("SLURM_RESTART_COUNT", "0"))
job = os.environ["SLURM_JOB_ID"]
run, port = "%s.%d" % (job, restart), 20000 + (int(job) * 7 + restart) % 1000
step = int(open("step-" + job).read()) if os.path.exists("step-" + job) else 0
with open("ranks-" + job, "a") as f:
    f.write("%d %d %s\n" % (restart, rank, os.environ["SLURMD_NODENAME"]))
class Peer:
    def __init__(self, s):
        self.s, self.lines = s, s.makefile("r")
    def say(self, text):
        self.s.sendall(("%s\n" % text).encode())
    def hear(self):
        text = self.lines.readline()
        if not text:
            sys.exit("rank %d: another rank is gone" % rank)
        return text.strip()
if rank == 0:
    s = socket.create_server((os.environ["SLURM_LAUNCH_NODE_IPADDR"], port))
    s.settimeout(60)
    others = [Peer(s.accept()[0]) for _ in range(ranks - 1)]
    if [c.hear() for c in others] != [run] * len(others):
        sys.exit("a rank of another run")
else:
    for _ in range(300):
        try:
            others = [Peer(socket.create_connection((os.environ["SLURM_LAUNCH_NODE_IPADDR"], port)))]
            break
        except OSError:
            time.sleep(0.2)
    others[0].say(run)
while step < 40 or restart == 0:
    for c in others:
        c.say(step)
    said = [int(c.hear()) for c in others]
    if said != [step] * len(others):
        sys.exit("rank %d is at step %d of run %s, others at %s" % (rank, step, run, said))
    step += 1
    if rank == 0:
        with open("new-" + job, "w") as f:
            f.write(str(step))
        os.rename("new-" + job, "step-" + job)
    time.sleep(0.05)
`

const elasticJob = `#!/bin/bash
#SBATCH -N 3 --ntasks-per-node=1 -t 5 -o out-%j --open-mode=append
#FSUB --on-node-loss=wait
srun python3 elastic.py
`

// TestGangFailsFirst: the ranks of a program that goes in step fail as soon as one of their machines is gone, and the script with them, before the cloud has said anything of it. That
// is not the job's failure: it begins again where its checkpoint was, with another machine.
func TestGangFailsFirst(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: python3 is not here")
	}
	w := newWorld(t, config{pool: "max: 3, idle: 5s"})
	if err := os.WriteFile(filepath.Join(w.work, "elastic.py"), []byte(elastic), 0o644); err != nil {
		t.Fatal(err)
	}
	w.start()
	id, nodes := w.gang(elasticJob)
	rec := w.await(id, 2*time.Minute)
	if again := w.ranks(id, "1"); rec.Job.State != federation.Completed || rec.Job.Restarts != 1 || !slices.Equal(again, nodes) {
		t.Errorf("it is %s after %d restarts, with the ranks %v, which were %v\n%s\n%s", rec.Job.State, rec.Job.Restarts, again, nodes, w.shown(id), w.read("out-"+id.String()))
	}
	if n := len(w.cloud.Instances()); n != 4 {
		t.Errorf("%d machines were rented for a gang of 3 that lost one\n%s", n, w.shown(id))
	}
	w.noMachines(time.Minute)
}
