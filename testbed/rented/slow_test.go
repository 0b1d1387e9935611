package rented

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

// inStep is a training program in few lines: a rank on each machine, which works for a while, writes its heartbeat, and waits for the others. Node 2 works as long as the second
// argument says, the others as the first one does.
const inStep = `
import os, random, socket, sys, time
rank, ranks, job = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"]), os.environ["SLURM_JOB_ID"]
work = float(sys.argv[2] if rank == 2 else sys.argv[1])
port = 19000 + int(job) * 7 % 1000
if rank == 0:
    s = socket.create_server((os.environ["SLURM_LAUNCH_NODE_IPADDR"], port))
    s.settimeout(120)
    others = [s.accept()[0] for _ in range(ranks - 1)]
else:
    for _ in range(600):
        try:
            others = [socket.create_connection((os.environ["SLURM_LAUNCH_NODE_IPADDR"], port))]
            break
        except OSError:
            time.sleep(0.2)
step, go = 0, b"1"
while go == b"1":
    began = time.monotonic()
    time.sleep(work * random.uniform(0.95, 1.05))
    took = time.monotonic() - began
    step += 1
    with open("beat-%s-%d" % (job, rank), "w") as f:
        f.write("%d %.4f\n" % (step, took))
    if rank == 0:
        if any(c.recv(1) != b"d" for c in others):
            sys.exit("a rank is gone")
        go = b"0" if os.path.exists("stop-" + job) else b"1"
        for c in others:
            c.sendall(go)
    else:
        others[0].sendall(b"d")
        go = others[0].recv(1)
print("rank", rank, "has done", step, "steps")
`

// TestSlowNode: of two gangs on four rented machines each, which go in step, one has a machine that works longer. It is found, by its heartbeats, and told where users and
// operators look; no other machine is, and none of the other gang, which runs as long. FSUB_FULL=1: at the pace that sites have, fifteen minutes and more; else in seconds.
func TestSlowNode(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: python3 is not here")
	}
	pace, every, work, slow, patience, longer := "beats: 300ms", 300*time.Millisecond, "0.05", "0.15", time.Minute, time.Second
	if os.Getenv("FSUB_FULL") != "" {
		pace, every, work, slow, patience, longer = "", 20*time.Second, "0.50", "0.75", 10*time.Minute, 3*time.Minute
	}
	w := newWorld(t, config{pool: "max: 8, idle: 5s", timing: pace})
	if err := os.WriteFile(filepath.Join(w.work, "instep.py"), []byte(inStep), 0o644); err != nil {
		t.Fatal(err)
	}
	w.start()
	gang := func(name, slow string) federation.JobID {
		return w.fsub("#!/bin/bash\n#SBATCH -N 4 --ntasks-per-node=1 -t 60 -o out-%j\n#FSUB --heartbeat=beat-%j-%n\nexec srun python3 instep.py "+work+" "+slow+"\n", "-J", name)
	}
	bad, good := gang("bad", slow), gang("good", work)
	w.eventually("all machines are heard", 2*time.Minute, func() string {
		for _, id := range []federation.JobID{bad, good} {
			if text := w.shown(id); !strings.Contains(text, "heartbeat: 4 nodes write it, with the seconds that a step takes") {
				return text
			}
		}
		return ""
	})
	began := time.Now()
	found := regexp.MustCompile(`\n  heartbeat: (\S+) \(node 2 of the job\) takes ([0-9.]+) times as long for a step as the others, in (\d+) looks of 45, `)
	var said []string
	w.eventually("the slow machine is found", patience, func() string {
		text := w.shown(bad)
		if said = found.FindStringSubmatch(text); said == nil {
			return text
		}
		return ""
	})
	if took := time.Since(began); took < 40*every {
		t.Errorf("it is found after %s, which are no 45 looks", took)
	}
	t.Logf("%s is found %s after all four were heard: %s times as long, in %s looks of 45", said[1], time.Since(began).Round(every/10), said[2], said[3])
	time.Sleep(longer) // in which no other machine is found
	for _, id := range []federation.JobID{bad, good} {
		if err := os.WriteFile(filepath.Join(w.work, "stop-"+id.String()), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if rec := w.await(id, time.Minute); rec.Job.State != federation.Completed || rec.Job.Restarts != 0 {
			t.Errorf("job %d is %s after %d restarts: %s", id, rec.Job.State, rec.Job.Restarts, w.read("out-"+id.String()))
		}
		t.Log(strings.TrimSpace(w.read("out-" + id.String())))
	}
	if text := w.shown(bad); strings.Count(text, "\n  heartbeat: ") != 1 {
		t.Errorf("it is told of others, too:\n%s", text)
	}
	if text := w.shown(good); strings.Contains(text, "as long for a step as the others") || strings.Contains(text, "\n  heartbeat: ") {
		t.Errorf("of the healthy gang it is told:\n%s", text)
	}
	history, err := w.fed("health", "history")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(history, "\tslow") != 1 || !strings.Contains(history, "\tslow-in-gang\tsuspect\tnode aws/"+said[1]+"\t") {
		t.Errorf("the history of health should have %s alone as slow:\n%s", said[1], history)
	}
	w.noMachines(time.Minute)
}

// fed runs a command of fed.
func (w *world) fed(args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(scratch, "fed"), args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + w.work, "FSUB_SOCKET=" + filepath.Join(w.dir, "s")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("fed %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
