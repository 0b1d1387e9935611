package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fsub/testbed/program"
)

// TestMain is also the child that takes turns, as main is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == takeTurnsArg {
		exit(takeTurns(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// TestEveryPart goes through all that make bench measures, in small. What it finds is not looked at: the machine is busy.
func TestEveryPart(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: not root: real Slurm sites need namespaces of their own")
	}
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out real Slurm")
	}
	dir, err := os.MkdirTemp("/var/tmp", "bench")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	programs := filepath.Join(dir, "programs")
	if err := program.Put(programs, "fsub", "fed", "fed-agent"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	o := options{fsub: filepath.Join(programs, "fsub"), fed: filepath.Join(programs, "fed"), bed: filepath.Join(dir, "bed"), sizes: small}
	if err := run(t.Context(), o, strings.Split(allParts, ","), &out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	for _, row := range []string{
		"fsub / sbatch, whole process", "accepted jobs/s", "PostgreSQL with a standby, three daemons / SQLite", "accepted to handed over", "submission, all sites hang", "4 tasks of one array", "4 single jobs",
		"is accepted, median of 5", "squeue of 1", "local: 8 one-second jobs", "local: srun of 8 tasks on 4 nodes", "rest: 1000 jobs, 2 sites",
		"batch: 3000 jobs with 8000 edges",
	} {
		if !strings.Contains(out.String(), row) {
			t.Errorf("no line %q in:\n%s", row, out.String())
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "bed")); err == nil && len(left) > 0 {
		t.Errorf("the bed is still there: %v", left)
	}
}
