package srun

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/cloud/agentapi"
)

// pmixProgram builds testdata/pmix.c in a gang's folder.
func pmixProgram(t *testing.T, g *gang) {
	t.Helper()
	flags, err := exec.Command("pkg-config", "--cflags", "--libs", "pmix").Output()
	if err != nil {
		t.Skip("SKIPPED: PMIx's library is not here: run testbed/setup/setup.sh test: ", err)
	}
	args := append([]string{"-o", filepath.Join(g.dir, "program"), filepath.Join("testdata", "pmix.c")}, strings.Fields(string(flags))...)
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"folder", "folder/in", "outside"} {
		if err := os.Mkdir(filepath.Join(g.dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"folder/a", "folder/in/b", "outside/c"} {
		if err := os.WriteFile(filepath.Join(g.dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../outside", filepath.Join(g.dir, "folder", "link")); err != nil {
		t.Fatal(err)
	}
}

// cleaned fails unless all that testdata/pmix.c wants to be removed is gone, and nothing else.
func (g *gang) cleaned(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"file.*", "folder"} {
		if names, _ := filepath.Glob(filepath.Join(g.dir, pattern)); len(names) > 0 {
			t.Errorf("%q are left behind", names)
		}
	}
	if _, err := os.Stat(filepath.Join(g.dir, "outside", "c")); err != nil {
		t.Error(err)
	}
}

// TestPMIxCleanup: what programs want to be removed when they end is removed with the step, however they end.
func TestPMIxCleanup(t *testing.T) {
	for _, c := range []struct {
		how string
		ok  func(out string, code int) bool
	}{
		{"end", func(out string, code int) bool { return sorted(out) == "0: 0\n1: 0" && code == 0 }},
		{"die", func(out string, code int) bool { return strings.Contains(out, ": 0\n") && code != 0 }}, // who dies first takes the other along
	} {
		t.Run(c.how, func(t *testing.T) {
			g := newGang(t, 2)
			pmixProgram(t, g)
			if out, errs, code := g.shell(t, "srun -n2 --mpi=pmix ./program "+c.how+" $PWD"); !c.ok(out, code) {
				t.Errorf("%d %q\n%s", code, out, errs)
			}
			g.cleaned(t)
		})
	}
}

// TestPMIxCleanupKilled: also if the step's daemon is killed, whose folder goes too.
func TestPMIxCleanupKilled(t *testing.T) {
	g := newGangOf(t, func(l *agentapi.Launch) {
		l.Groups[0].Nodes[0].Name, _ = os.Hostname() // as on a machine of one's own: clients' files are not in the step's folder
	}, []int{2})
	pmixProgram(t, g)
	out, errs, _ := g.shell(t, `srun -n2 --mpi=pmix bash -c 'echo $PPID >daemon.$SLURM_PROCID; echo $$ >task.$SLURM_PROCID; echo $PMIX_SERVER_TMPDIR >dir.$SLURM_PROCID; exec ./program wait $PWD' &
		until [ -e ready.0 -a -e ready.1 ]; do sleep 0.05; done
		ls -d file.* folder $(<dir.0) | wc -l; kill -9 $(<daemon.0) $(<task.0) $(<task.1); wait`) // an agent kills what is left of a run
	if sorted(out) != "0: 0\n1: 0\n4" {
		t.Errorf("%q\n%s", out, errs)
	}
	dir, err := os.ReadFile(filepath.Join(g.dir, "dir.0"))
	if err != nil {
		t.Fatal(err)
	}
	for range 12000 { // the agent's part comes after srun's end; the folder goes last
		if _, err = os.Stat(strings.TrimSpace(string(dir))); err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !os.IsNotExist(err) {
		t.Errorf("%s is left behind: %v", dir, err)
	}
	g.cleaned(t)
}

// TestPMIxOnDemand: what a rank has put is had without a fence, from the other nodes too.
func TestPMIxOnDemand(t *testing.T) {
	g := newGang(t, 2, 2)
	pmixProgram(t, g)
	out, errs, code := g.shell(t, "srun -n4 -m cyclic --mpi=pmix ./program ondemand .")
	if sorted(out) != "0: 0\n1: 0\n2: 0\n3: 0" || code != 0 {
		t.Errorf("%d %q\n%s", code, out, errs)
	}
}
