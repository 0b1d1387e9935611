package bed

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// childDir names the bed that a child of TestAbandoned brings up.
const childDir = "FSUB_BED_TEST_CHILD"

// TestAbandoned kills a process that has made a temporary bed: the bed is found, and nothing is left of it.
func TestAbandoned(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		leaveBed(t, dir)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: the bed needs root; no real Slurm was tried")
	}
	if testing.Short() {
		t.Skip("SKIPPED: -short; no real Slurm was tried")
	}
	dir, err := os.MkdirTemp("/var/tmp", "fsub-bed-left-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := downAbandoned(context.Background(), dir, io.Discard); err != nil {
			t.Error(err)
		}
	})
	child := exec.Command("/proc/self/exe", "-test.run=^TestAbandoned$")
	child.Env, child.Stderr = append(os.Environ(), childDir+"="+dir), os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		_ = child.Wait()
		t.Fatalf("the child said %q: %v", line, err)
	}
	if left(t, dir) {
		t.Error("the bed of a process that runs is abandoned")
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	if !left(t, dir) {
		t.Fatal("the bed of a process that was killed is not abandoned")
	}
	if err := downAbandoned(t.Context(), dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is left: %v", err)
	}
	if dirs, err := running(); err != nil || slices.Contains(dirs, dir) {
		t.Errorf("it still runs: %v, %v", dirs, err)
	}
}

func left(t *testing.T, dir string) bool {
	t.Helper()
	dirs, err := Abandoned()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(dirs, dir)
}

// leaveBed is the child: it brings a bed up and waits to be killed.
func leaveBed(t *testing.T, dir string) {
	b, err := New(Options{Dir: dir, Cache: os.Getenv("FSUB_BED_CACHE"), Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Up(t.Context(), []string{"alpha"}, os.Stderr); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("up\n")
	select {}
}
