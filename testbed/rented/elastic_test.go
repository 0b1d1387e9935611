package rented

import (
	"errors"
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

// What torchrun and JAX do when a machine of their gang is killed, by the scripts of docs/submitting.md. They run real PyTorch and JAX, on CPUs.

// trainTorch counts steps, in which all ranks add up, and begins where its checkpoint is. A rank says where it is each time that it begins.
const trainTorch = `
import os, sys, time
import torch, torch.distributed as dist
job, restart = os.environ["SLURM_JOB_ID"], os.environ.get("SLURM_RESTART_COUNT", "0")
dist.init_process_group("gloo")
with open("ranks-" + job, "a") as f:
    f.write("%s %s %s\n" % (restart, os.environ["SLURM_NODEID"], os.environ["SLURMD_NODENAME"]))
    f.flush()
with open("worlds-" + job, "a") as f:
    f.write("%s %d of %d\n" % (restart, dist.get_rank(), dist.get_world_size()))
step = torch.tensor([int(open("step-" + job).read()) if os.path.exists("step-" + job) else 0])
dist.broadcast(step, 0)
step = int(step)
while True:
    began = time.time()
    total = torch.ones(1)
    with open("/tmp/beat-%s-%s" % (job, os.environ["SLURM_NODEID"]), "w") as f:
        f.write("%d %.3f\n" % (step, time.time() - began + 0.001))
    dist.all_reduce(total)
    if int(total) != dist.get_world_size():
        sys.exit("a rank is missing")
    step += 1
    if dist.get_rank() == 0:
        with open("new-" + job, "w") as f:
            f.write(str(step))
        os.rename("new-" + job, "step-" + job)
    done = torch.tensor([1 if os.path.exists("stop-" + job) else 0])
    dist.all_reduce(done)
    if int(done):
        if dist.get_rank() == 0:
            open("finished-" + job, "w").close()
        break
    time.sleep(0.1)
`

// trainJAX is the same with JAX.
const trainJAX = `
import os, time
import jax
jax.distributed.initialize()
import jax.numpy as jnp
job, restart = os.environ["SLURM_JOB_ID"], os.environ.get("SLURM_RESTART_COUNT", "0")
with open("ranks-" + job, "a") as f:
    f.write("%s %s %s\n" % (restart, os.environ["SLURM_NODEID"], os.environ["SLURMD_NODENAME"]))
with open("worlds-" + job, "a") as f:
    f.write("%s %d of %d\n" % (restart, jax.process_index(), jax.process_count()))
add = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")
step = int(open("step-" + job).read()) if os.path.exists("step-" + job) else 0
while True:
    stop = jnp.array([[float(os.path.exists("stop-" + job)), 1.0]])
    stops, ranks = add(stop)[0].tolist()
    assert ranks == jax.process_count()
    step += 1
    if jax.process_index() == 0:
        with open("new-" + job, "w") as f:
            f.write(str(step))
        os.rename("new-" + job, "step-" + job)
    if stops:
        break
    time.sleep(0.1)
`

// shownScript is a script of docs/submitting.md, which users copy.
func shownScript(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/submitting.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```bash " + regexp.QuoteMeta(name) + "\n(.*?)```").FindSubmatch(page)
	if m == nil {
		t.Fatalf("docs/submitting.md has no %s", name)
	}
	return string(m[1])
}

// python returns the folder of a virtual environment with packages of PyPI. It skips the test where they cannot be had.
func python(t *testing.T, name, versions, packages string) string {
	t.Helper()
	if os.Getenv("FSUB_FULL") == "" || testing.Short() {
		t.Skip("SKIPPED: runs PyTorch and JAX of PyPI on machines that are killed: set FSUB_FULL=1")
	}
	cmd := exec.CommandContext(t.Context(), "./provide.sh", name, versions, packages)
	cmd.Dir = "../frameworks"
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 75:
		t.Skipf("SKIPPED: %s", out)
	case err != nil:
		t.Fatalf("provide.sh %s: %v\n%s", name, err, out)
	}
	return "/var/cache/fsub-frameworks/" + name + "/bin"
}

// TestTrainingLosesAMachine: a job of three machines loses the second while its steps go on. Where it waits it begins again with another one from its checkpoint, all ranks where they were. Where it shrinks
// torchrun goes on with two, in the same run of the script.
func TestTrainingLosesAMachine(t *testing.T) {
	for _, c := range []struct {
		name, script, program string
		restarts              int
		ranks                 int // in the end
	}{
		{"torchrun-wait", "torch-wait.sbatch", trainTorch, 1, 3},
		{"torchrun-shrink", "torch-shrink.sbatch", trainTorch, 0, 2},
		{"jax-wait", "jax-wait.sbatch", trainJAX, 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			bin := ""
			if c.program == trainJAX {
				bin = python(t, "jax", "3.11 3.12 3.13", "jax[cpu]==0.10.2 mpi4py==4.1.2 submitit==1.5.4")
			} else {
				bin = python(t, "elastic", "3.10 3.9", "torch==1.12.1 numpy==1.26.4")
			}
			w := newWorld(t, config{pool: "max: 4, idle: 5s"})
			if err := os.WriteFile(filepath.Join(w.work, "train.py"), []byte(c.program), 0o644); err != nil {
				t.Fatal(err)
			}
			w.start()
			script := strings.Replace(shownScript(t, c.script), "\nsrun", "\nexport PATH="+bin+":$PATH JAX_PLATFORMS=cpu OMP_NUM_THREADS=1\nsrun", 1)
			id := w.fsub(script, "-N", "3", "-t", "15", "--gres=none", "-o", "out-%j", "--open-mode=append")
			said := func() string {
				return w.shown(id) + w.read("worlds-"+id.String()) + tail(filepath.Join(w.work, "out-"+id.String()), 4000)
			}
			nodes := w.lose(id, 5*time.Minute, w.cloud.Kill)
			last := ""
			w.eventually("the steps go on without the lost machine", 5*time.Minute, func() string {
				if rec, err := w.job(id); err == nil && rec.Job.State.Ended() {
					t.Fatalf("it is %s\n%s", rec.Job.State, said())
				}
				want := fmt.Sprintf("%d 0 of %d\n", c.restarts, c.ranks)
				if !strings.Contains(w.read("worlds-"+id.String()), want) {
					return said()
				}
				if last == "" {
					last = w.read("step-" + id.String())
				}
				if now := w.read("step-" + id.String()); now == last {
					return "still at step " + now + "\n" + said()
				}
				return ""
			})
			if err := os.WriteFile(filepath.Join(w.work, "stop-"+id.String()), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			rec := w.await(id, 3*time.Minute)
			if rec.Job.State != federation.Completed || rec.Job.Restarts != c.restarts {
				t.Errorf("it is %s after %d restarts\n%s", rec.Job.State, rec.Job.Restarts, said())
			}
			if again := w.ranks(id, "1"); c.restarts == 1 && strings.Join(again, " ") != strings.Join(nodes, " ") {
				t.Errorf("the ranks are on %v, and were on %v\n%s", again, nodes, said())
			}
			t.Logf("step %s when the steps went on, %s in the end", last, w.read("step-"+id.String()))
		})
	}
}
