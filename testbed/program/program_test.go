package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program that is built and one that is taken from a folder say the same; both are for everybody.
func TestPut(t *testing.T) {
	t.Setenv(Folder, "")
	built, taken := t.TempDir(), t.TempDir()
	if err := Put(filepath.Join(built, "bin"), "fsub"); err != nil {
		t.Fatal(err)
	}
	t.Setenv(Folder, filepath.Join(built, "bin"))
	if err := Put(taken, "fsub"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(built, "bin"), taken} {
		if err := Link(dir, "squeue"); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(filepath.Join(dir, "squeue"), "--version").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "slurm ") {
			t.Errorf("squeue --version: %v: %s", err, out)
		}
		if st, err := os.Stat(filepath.Join(dir, "fsub")); err != nil || st.Mode().Perm() != 0o755 {
			t.Errorf("%v, %v, want mode 0755", st, err)
		}
	}
}

func TestPutWhatIsNotThere(t *testing.T) {
	t.Setenv(Folder, t.TempDir())
	if err := Put(t.TempDir(), "fed"); err == nil {
		t.Error("a folder without the program gave one")
	}
	if err := Put(t.TempDir(), "sudo"); err == nil {
		t.Error("another program is none of ours")
	}
}
