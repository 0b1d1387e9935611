package srun

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fsub/testbed/bed"
)

// TestReal asks the real srun (24.11) for the words of TestWords: all scripts within one job of a site of its own, or of the bed that FSUB_BED names if that is up.
func TestReal(t *testing.T) {
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("SKIPPED: -short, or not root: the real srun needs a site in namespaces")
	}
	b := realSite(t)
	dir := filepath.Join(b.Home("alice"), "srun-"+strconv.Itoa(os.Getpid()))
	alice, err := bed.FindUser("alice")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write := func(name, text string) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		os.Chown(filepath.Dir(file), alice.UID, alice.UID)
	}
	job := "#!/bin/bash\n"
	for i, c := range words {
		if c.differs != "" {
			continue
		}
		write(fmt.Sprint(i, "/script"), c.script)
		job += fmt.Sprintf("cd %s/%d; timeout 120 bash script >out 2>errs; echo -n $? >code; echo $SLURM_JOB_ID >job; "+
			"squeue -hs -j $SLURM_JOB_ID -o %%i | grep -v batch | xargs -r scancel\n", dir, i)
	}
	write("job", job)
	os.Chown(dir, alice.UID, alice.UID)
	var said bytes.Buffer
	err = b.Exec(t.Context(), bed.Cmd{Site: "alpha", User: "alice", Dir: dir, Stdout: &said, Stderr: &said,
		Args: []string{"sbatch", "--wait", "-N2", "-n4", "-t60", "-J", "test", "--mem=1000", "-w", "alpha[1-2]", "-o", dir + "/log", dir + "/job"}})
	if err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	for i, c := range words {
		if c.differs == "" {
			t.Run(c.name, func(t *testing.T) {
				compareReal(t, filepath.Join(dir, strconv.Itoa(i)), c.script, c.out, c.errs, c.code)
			})
		}
	}
}

// realSite has site alpha up.
func realSite(t *testing.T) *bed.Bed {
	if lent := os.Getenv("FSUB_BED"); lent != "" {
		b, err := bed.Open(lent)
		if err == nil {
			_, err = b.Output(t.Context(), "alpha", "alice", "sinfo", "-h")
		}
		if err == nil {
			return b
		}
	}
	dir, err := os.MkdirTemp("/var/tmp", "fsub-srun-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := bed.New(bed.Options{Dir: filepath.Join(dir, "bed"), Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Down(context.Background(), nil, true, io.Discard); err != nil {
			t.Error(err)
		}
	})
	if err := b.Up(t.Context(), []string{"alpha"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	return b
}

// compareReal reads what a script said within a real job.
func compareReal(t *testing.T, dir, script, out, errs string, code int) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	job := strings.TrimSpace(read("job"))
	ours := strings.NewReplacer("slurmstepd-alpha1:", "slurmstepd:", "slurmstepd-alpha2:", "slurmstepd:", "alpha", "n", job, "4711")
	gotOut, gotErrs := sorted(ours.Replace(read("out"))), settle(passing(ours.Replace(read("errs"))))
	if strings.Contains(errs, gaveUp) { // whether a real srun comes to say this depends on how soon its tasks die
		aborted := regexp.MustCompile(`(?m)^srun: Job step aborted(: .*)?\n`)
		gotErrs, errs = aborted.ReplaceAllString(gotErrs, ""), aborted.ReplaceAllString(errs, "")
	}
	if gotOut != out || gotErrs != errs || read("code") != strconv.Itoa(code) {
		t.Errorf("%s\nreal %s, %q, %q\nours %d, %q, %q", script, read("code"), gotOut, gotErrs, code, out, errs)
	}
}

// gaveUp is what srun says to the first Ctrl-C.
const gaveUp = "srun: interrupt (one more within 1 sec to abort)"

// passing drops what depends on whether the step before is quite over, and what a real srun that gives up still hears from its tasks, or does not.
func passing(errs string) (kept string) {
	gives := strings.Contains(errs, gaveUp)
	for line := range strings.Lines(errs) {
		late := gives && (strings.HasPrefix(line, "slurmstepd: error: ***") || strings.HasSuffix(line, ": Interrupt\n"))
		// The node is heard once more after a task of it was killed; tasks may be at work before srun knows of it.
		early := strings.HasPrefix(line, "srun: error: IO: Hey, you told me node ") || strings.HasSuffix(line, " aborted before step completely launched.\n")
		what, _, dated := strings.Cut(line, " CANCELLED AT ")
		twice := dated && strings.Contains(kept, what) // now and then, on a busy machine
		if !late && !early && !twice && !strings.HasPrefix(line, "srun: Step created for ") {
			kept += line
		}
	}
	return kept
}
