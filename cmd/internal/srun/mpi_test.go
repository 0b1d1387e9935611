package srun

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fsub/cloud/agentapi"
)

// libraries of MPI and of PMI, as Debian has them: how a program is built with each, how srun starts it, and what the library must be told on one machine that
// plays two.
var libraries = []struct {
	name, source string
	compile      []string
	mpi, env     string
}{
	// Over TCP UCX 1.13 hangs in MPI_Finalize now and then, under mpiexec too.
	{"MPICH by PMI-1", "ring.c", []string{"mpicc.mpich"}, "pmi2", "export UCX_TLS=sm,self"},
	{"Open MPI by PMIx", "ring.c", []string{"mpicc.openmpi"}, "pmix", "export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_btl=self,vader,tcp OMPI_MCA_pml=ob1"},
	{"Slurm's library by PMI-2", "pmi2.c", []string{"cc", "-l:libpmi2.so.0"}, "pmi2", ":"},
}

// TestMPI: unchanged programs find each other over the nodes; one that aborts takes all along.
func TestMPI(t *testing.T) {
	for _, l := range libraries {
		t.Run(l.name, func(t *testing.T) {
			g := newGang(t, 3, 2)
			if _, err := exec.LookPath(l.compile[0]); err != nil {
				t.Skip("SKIPPED: ", err, ": run testbed/setup/setup.sh test")
			}
			program := filepath.Join(g.dir, "program")
			args := append([]string{"-o", program, filepath.Join("testdata", l.source)}, l.compile[1:]...)
			if out, err := exec.Command(l.compile[0], args...).CombinedOutput(); err != nil {
				if strings.Contains(string(out), "cannot find -l:") {
					t.Skipf("SKIPPED: %s: run testbed/setup/setup.sh test", out)
				}
				t.Fatalf("%v: %s", err, out)
			}
			os.Chmod(program, 0o755)
			for _, how := range []string{"-n5", "-n5 -m cyclic", "-N1 -n2"} {
				n := 5
				if strings.HasPrefix(how, "-N1") {
					n = 2
				}
				var want []string
				for r := range n {
					want = append(want, fmt.Sprintf("%d of %d: %d", r, n, n*(n+1)/2))
				}
				out, errs, code := g.shell(t, fmt.Sprintf("%s; srun %s --mpi=%s ./program", l.env, how, l.mpi))
				if sorted(out) != strings.Join(want, "\n") || code != 0 {
					t.Errorf("srun %s: %d %q\n%s", how, code, sorted(out), errs)
				}
			}
			out, errs, code := g.shell(t, fmt.Sprintf("%s; srun -n5 --mpi=%s ./program abort", l.env, l.mpi))
			if want := map[string]int{"pmi2": 137, "pmix": 3}[l.mpi]; code != want || !strings.Contains(errs, "slurmstepd: error: *** STEP 4711.3 ON n1 CANCELLED AT ") {
				t.Errorf("abort: %d, want %d: %q\n%s", code, want, out, errs)
			}
		})
	}
}

// TestMPIFolder: tasks have a folder for files that they share, which goes with the step; and nothing of another server that they were started under.
func TestMPIFolder(t *testing.T) {
	g := newGang(t, 2)
	out, errs, code := g.shell(t, `export PMIX_SERVER_URI41=other; srun -n2 --mpi=pmix bash -c '[ -d $PMIX_SERVER_TMPDIR ] && touch $PMIX_SERVER_TMPDIR/$PMIX_RANK && echo $PMIX_SERVER_TMPDIR$PMIX_SERVER_URI41' | uniq`)
	dir := strings.TrimSpace(out)
	if !strings.Contains(filepath.Base(dir), "pmix.4711.0.") || code != 0 {
		t.Fatalf("%d %q %s", code, out, errs)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left behind: %v", dir, err)
	}
}

// TestDefaultMPI: a pool can have a default, as Slurm has; it holds for an srun that says nothing.
func TestDefaultMPI(t *testing.T) {
	g := newGangOf(t, func(l *agentapi.Launch) { l.MPI = "pmi2" }, []int{2})
	out, errs, code := g.shell(t, `srun -n2 bash -c 'echo $PMI_SIZE $SLURM_MPI_TYPE'; srun -n1 --mpi=none bash -c 'echo none $PMI_SIZE $SLURM_MPI_TYPE'; SLURM_MPI_TYPE=pmix srun -n1 bash -c 'echo $PMIX_RANK $PMI_SIZE $SLURM_MPI_TYPE'`)
	if out != "2 pmi2\n2 pmi2\nnone\n0 pmix\n" || code != 0 {
		t.Errorf("%d %q %s", code, out, errs)
	}
}

// TestManyRanks: a fence of 64 ranks on 8 nodes, each of which has what all have put.
func TestManyRanks(t *testing.T) {
	g := newGang(t, 8, 8, 8, 8, 8, 8, 8, 8)
	out, errs, code := g.shell(t, `srun -n64 --mpi=pmi2 bash -c 'ask() { echo "cmd=$*" >&$PMI_FD; read -r -u $PMI_FD a; }; ask init pmi_version=1 pmi_subversion=1
		for round in 1 2; do ask put kvsname=x key=k$round-$PMI_RANK value=$((PMI_RANK*round)); ask barrier_in
			sum=0; for ((i = 0; i < PMI_SIZE; i++)); do ask get kvsname=x key=k$round-$i; sum=$((sum+${a##*value=})); done; echo $sum; done; ask finalize' | sort | uniq -c | xargs`)
	if out != "64 2016 64 4032\n" || errs != "" || code != 0 {
		t.Errorf("%d %q %s", code, out, errs)
	}
}
