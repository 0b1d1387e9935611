package containers

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestContainers(t *testing.T) {
	w := newWorld(t, "auto")
	signalled := w.signalled(t)
	for _, c := range []struct {
		name, script, out string
		code              int
	}{
		{"script", "#SBATCH --container-image=IMAGE --container-mounts=DIR:DIR\n" +
			"cat /etc/os-release; echo $COLOR $FROM $1 $SLURM_JOB_PARTITION; pwd; [ $SLURM_TASK_PID = $$ ] && echo same; " +
			"until [ \"$(squeue -h -o %T -j $SLURM_JOB_ID)\" = RUNNING ]; do sleep 0.1; done; echo RUNNING; touch DIR/seen; exit 7", // shown a moment later
			"PRETTY_NAME=\"Tiny\"\nimage here one main\n/inside\nsame\nRUNNING\n", 7},
		{"steps of such a script", "#SBATCH --container-image=IMAGE -N2 -n2 --container-writable\nsrun sh -c 'touch /x; cat /etc/os-release; echo $SLURM_PROCID' | sort",
			"0\n1\nPRETTY_NAME=\"Tiny\"\nPRETTY_NAME=\"Tiny\"\n", 0},
		{"steps alone", "#SBATCH -M boxes -N2\nsrun -n2 -N2 --container-image=IMAGE --container-name=c true; srun -n2 -N2 --container-name=c cat /etc/os-release; srun -N1 -n1 sh -c 'echo $COLOR'",
			"PRETTY_NAME=\"Tiny\"\nPRETTY_NAME=\"Tiny\"\njob\n", 0},
		{"what is left behind", "#SBATCH --container-image=IMAGE\nsetsid sleep " + own + "0 >/dev/null 2>&1 &\necho on\n", "on\n", 0},
		{"no such image", "#SBATCH --container-image=/nosuch.sqsh\necho on\n",
			"slurmstepd: error: pyxis: failed to create container filesystem for image: /nosuch.sqsh: no such file on this machine\n", 1},
		{"bad mount", "#SBATCH --container-image=IMAGE --container-mounts=:\necho on\n", "slurmstepd: error: pyxis: --container-mounts: invalid format: :\n", 1},
		{"MPI", "#SBATCH -M boxes -N2 -n2\nsrun --mpi=pmi2 --container-image=IMAGE sh -c '" + askPMI + "' | sort\n" +
			"srun --mpi=pmix --container-image=IMAGE sh -c 'set -- $(env | grep PMIX_SERVER_TMP); touch ${1#*=}/file && echo $PMIX_RANK' | sort",
			"0: cmd=get_result rc=0 value=of1\n1: cmd=get_result rc=0 value=of0\n0\n1\n", 0},
		{"locked memory", "#SBATCH --container-image=IMAGE\nulimit -S -l; ulimit -H -l; srun sh -c 'ulimit -S -l'\n", strings.Repeat(lockable(t), 3), 0},
		{"no container", "echo $COLOR\n", "job\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if out, words, code := w.submit(t, c.script+"\n", "--wait"); out != c.out || code != c.code {
				t.Errorf("%d, %q, not %d, %q; %s", code, out, c.code, c.out, words)
			}
		})
	}
	if _, err := os.Stat(w.dir + "/TestContainers-script/seen"); err != nil {
		t.Error("a file that the script wrote through its mount is not there:", err)
	}
	t.Run("signal before the end", func(t *testing.T) {
		if got := <-signalled; got != "told\n3" {
			t.Errorf("%q", got)
		}
	})
	w.until(t, "nothing is left behind", func() bool { return living("sleep "+own+"0") == 0 })
	t.Run("planner", w.tryPlanner)
	t.Run("cancelled", w.tryCancelled)
}

// signalled begins a job that is to be signalled half a minute after its start, for its container is made by then, and tells what it wrote and how it ended.
func (w *world) signalled(t *testing.T) <-chan string {
	out := make(chan string, 1)
	go func() {
		defer close(out) // it may have ended the test
		text, words, code := w.submit(t, "#SBATCH --container-image=IMAGE --signal=B:USR1@90\ntrap 'echo told; exit 3' USR1\nsleep 200 & wait\n", "--wait", "-t", "2")
		if code != 3 {
			text += words
		}
		out <- text + strconv.Itoa(code)
	}()
	return out
}

// own begins the times that jobs of this process sleep: by them they are found among all processes.
var own = fmt.Sprintf("1%07d", os.Getpid())

// askPMI is a task of an MPI program: two exchange a value through the server of the step.
const askPMI = `
say() { echo "cmd=$*" >&$PMI_FD; read -r answer <&$PMI_FD; }
say init pmi_version=1 pmi_subversion=1
say put kvsname=$PMI_JOBID key=of$PMI_RANK value=of$PMI_RANK
say barrier_in
say get kvsname=$PMI_JOBID key=of$((1 - PMI_RANK))
echo "$PMI_RANK: $answer"
say finalize`

// tryPlanner: a job that asks for a container does not go where none can be made, though that be cheaper.
func (w *world) tryPlanner(t *testing.T) {
	out, words, code := w.submit(t, "#SBATCH --container-image=IMAGE\ntrue\n", "--wait")
	explained, _ := w.command("fed", "explain", strings.TrimPrefix(words, "Submitted batch job ")).CombinedOutput()
	if code != 0 || !strings.Contains(string(explained), "-> boxes") || !strings.Contains(string(explained), "it has no option --container-image") {
		t.Errorf("%d, %s, %s, %s", code, out, words, explained)
	}
	if _, words, code = w.submit(t, "#SBATCH --container-image=IMAGE -M plain\ntrue\n"); code == 0 {
		t.Errorf("a job that no site can run was taken: %s", words)
	}
	if _, words, _ = w.submit(t, "#SBATCH -M plain\nsrun --container-image=IMAGE true 2>refused; true\n", "--wait"); !strings.HasPrefix(words, "Submitted") {
		t.Error(words)
	}
	text, err := os.ReadFile(filepath.Join(w.dir, "TestContainers-planner", "refused"))
	if err != nil || !strings.Contains(string(text), "its machines make no containers") {
		t.Errorf("a step's container where none are made: %v %s", err, text)
	}
}

// tryCancelled: what a container's script has started ends with its job.
func (w *world) tryCancelled(t *testing.T) {
	_, words, _ := w.submit(t, "#SBATCH --container-image=IMAGE\nsrun sleep "+own+"2 &\nsleep "+own+"1 &\nwait\n")
	w.until(t, "both sleep: "+words, func() bool { return living("sleep "+own+"[12]") == 2 })
	if out, err := w.command("scancel", strings.TrimPrefix(words, "Submitted batch job ")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.until(t, "nobody sleeps", func() bool { return living("sleep "+own+"[12]") == 0 })
	left := func() []string { found, _ := filepath.Glob(w.dir + "/state-machines/*/*/run/*"); return found }
	w.until(t, "its folders are gone", func() bool { return len(left()) == 0 })
}
