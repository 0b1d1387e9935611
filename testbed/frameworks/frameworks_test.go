package frameworks

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// framework is one way to start a program on the nodes of a job.
type framework struct {
	name  string
	needs need
	// start is a script for fsub, or a program of Python that submits by itself.
	start string
	// times is how often the job starts four processes on two nodes.
	times int
	// ordinary: it refuses to work for root.
	ordinary bool
	// slow ones take a minute, which a plain test run does not have.
	slow bool
}

var all = []framework{
	{"openmpi", openMPI, "openmpi.sbatch", 3, true, false},
	{"openmpi-srun", openMPI, "openmpi-srun.sbatch", 2, true, false},
	{"openmpi-pool", openMPI, "openmpi-pool.sbatch", 1, true, false},
	{"openmpi-ssh", openMPI, "openmpi-ssh.sbatch", 1, true, false},
	{"openmpi5", openMPI5, "openmpi5.sbatch", 2, false, false},
	{"openmpi5-srun", openMPI5, "openmpi5-srun.sbatch", 1, false, false},
	{"mpich", mpich, "mpich.sbatch", 2, false, false},
	{"mpich-srun", mpich, "mpich-srun.sbatch", 2, false, false},
	{"mpi4py", openMPI.and(jax), "mpi4py.sbatch", 1, false, false},
	{"jax", jax, "jax.sbatch", 1, false, false},
	{"submitit", jax, "with_submitit.py", 1, false, false},
	{"torchrun", torch, "torchrun.sbatch", 3, false, false},
	{"lightning", torch, "lightning.sbatch", 1, false, false},
	{"lightning-requeue", torch, "requeue.sbatch", 1, false, true},
	{"deepspeed", openMPI.and(torch).and(pdsh), "deepspeed.sbatch", 3, false, true},
	{"ray", ray, "ray.sbatch", 1, false, true},
}

const ranks, nodes = 4, 2

func TestFrameworks(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: frameworks are tried without it")
	}
	for _, place := range places() {
		t.Run(place, func(t *testing.T) {
			for _, f := range all {
				t.Run(f.name, func(t *testing.T) { f.run(t, place) })
			}
		})
	}
	if len(places()) < 3 {
		t.Log("SKIPPED: machines on the host's network and the EC2 stand-in: they take FSUB_FULL=1 and root")
	}
}

// run runs the framework's script at a place, and holds that its processes found each other.
func (f framework) run(t *testing.T, place string) {
	if f.slow && os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes a minute: FSUB_FULL=1 runs it")
	}
	path := f.needs.provide(t)
	w := needWorld(t)
	dir := w.jobDir(t, f, place)
	out, err := w.submit(t, f, place, dir, path)
	text, _ := os.ReadFile(filepath.Join(dir, "out"))
	out += string(text)
	if err != nil {
		t.Fatalf("%s: %v\n%s", f.start, err, out)
	}
	if wrong := check(out, f.times); wrong != "" {
		t.Errorf("%s: %s\n%s", f.start, wrong, out)
	}
}

// submit runs the script, or the program that submits by itself, and returns what that says when the job has ended.
func (w *world) submit(t *testing.T, f framework, place, dir string, path []string) (string, error) {
	cmd := w.command("fsub", "--wait", "--output", "out", f.start)
	if filepath.Ext(f.start) == ".py" {
		cmd = exec.Command(filepath.Join(path[0], "python3"), f.start)
	}
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + strings.Join(append(path, w.bin, "/usr/local/bin:/usr/bin:/bin"), ":"), "HOME=" + dir, "FSUB_SOCKET=" + filepath.Join(w.dir, "s"),
		"FSUB_SITES=" + place, "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "TORCH_EXTENSIONS_DIR=" + filepath.Join(cache, "torch-extensions")}
	if place == "hostnet" || os.Geteuid() != 0 {
		cmd.Env = append(cmd.Env, oneInterface()...)
	}
	if os.Geteuid() == 0 {
		if f.ordinary {
			cmd.SysProcAttr = asNobody
		} else {
			for _, of := range []string{"OMPI", "PRTE"} { // PyPI's Python may be root's own
				cmd.Env = append(cmd.Env, of+"_ALLOW_RUN_AS_ROOT=1", of+"_ALLOW_RUN_AS_ROOT_CONFIRM=1")
			}
		}
	}
	timer := time.AfterFunc(10*time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// oneInterface has Open MPI 4 and 5 use the interface of the default route only, as their documentation says for machines with bridges: it would use all that are up, and those
// of other tests go away in the middle.
func oneInterface() []string {
	routes, _ := os.ReadFile("/proc/net/route")
	for route := range strings.Lines(string(routes)) {
		if f := strings.Fields(route); len(f) > 7 && f[1] == "00000000" && f[7] == "00000000" {
			return []string{"OMPI_MCA_btl_tcp_if_include=" + f[0], "OMPI_MCA_oob_tcp_if_include=" + f[0], "PRTE_MCA_prte_if_include=" + f[0]}
		}
	}
	return nil
}

// line is what a rank says; python -u, which launchers call, writes the end of the line by itself.
var line = regexp.MustCompile(`rank (\d+) of (\d+) on (\S+): sum (\d+)`)

// check says what is wrong with the lines that the ranks printed.
func check(out string, times int) string {
	seen, on := map[int]int{}, map[string]int{}
	for _, m := range line.FindAllStringSubmatch(out, -1) {
		rank, _ := strconv.Atoi(m[1])
		if m[2] != strconv.Itoa(ranks) || m[4] != strconv.Itoa(ranks*(ranks+1)/2) {
			return fmt.Sprintf("%q, want %d ranks", m[0], ranks)
		}
		seen[rank]++
		on[m[3]]++
	}
	for rank := range ranks {
		if seen[rank] != times {
			return fmt.Sprintf("rank %d spoke %d times, want %d", rank, seen[rank], times)
		}
	}
	if hosts := slices.Sorted(maps.Keys(on)); len(hosts) != nodes || on[hosts[0]] != on[hosts[1]] {
		return fmt.Sprintf("ranks on the hosts %v, want %d, as many on each", on, nodes)
	}
	return ""
}
