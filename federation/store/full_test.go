package store_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fsub/federation"
	"fsub/federation/store"
	"fsub/sbatch"
)

const fullDir = "STORE_TEST_FULL_DISK"

// TestFullDisk fills a real, small file system. It is mounted by a child in a mount namespace of its own, so that nothing of it
// is left, whatever happens.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv(fullDir); dir != "" {
		if err := syscall.Mount("fsub-test", dir, "tmpfs", 0, "size=4m"); err != nil {
			t.Fatal(err)
		}
		fillDisk(t, dir)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: a full disk. Only root can mount a small file system")
	}
	child := exec.Command(os.Args[0], "-test.run", "^TestFullDisk$")
	child.Env = append(os.Environ(), fullDir+"="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func fillDisk(t *testing.T, dir string) {
	ballast := filepath.Join(dir, "ballast")
	write(t, ballast, make([]byte, 1<<20))
	path := filepath.Join(dir, "fed.db")
	s := open(t, store.Config{Path: path})
	written := createUntilFull(t, s)
	if len(written) == 0 {
		t.Fatal("not one job found room")
	}
	for range 10 { // it stays so, and can be read
		more := &federation.Job{}
		if err := s.CreateJob(ctx, more, &sbatch.Payload{Script: strings.Repeat("x", 200_000)}); err == nil {
			written = append(written, more.ID)
		}
		if _, err := s.Job(ctx, written[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	after := createUntilFull(t, s)
	if len(after) == 0 {
		t.Fatal("there is room again, but not one job was accepted")
	}
	written = append(written, after...)
	t.Logf("%d jobs in all, %d after space was freed", len(written), len(after))
	s.Close()

	s = open(t, store.Config{Path: path})
	jobs, err := s.Jobs(ctx, federation.JobQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != len(written) {
		t.Fatalf("%d jobs are there, %d were acknowledged", len(jobs), len(written))
	}
	for i, j := range jobs {
		if p, err := s.Payload(ctx, j.ID); err != nil || j.ID != written[i] || len(p.Script) < 10_000 {
			t.Fatalf("job %d, acknowledged %d: %v", j.ID, written[i], err)
		}
	}
}

// createUntilFull returns the jobs that were acknowledged.
func createUntilFull(t *testing.T, s *store.Store) (written []federation.JobID) {
	for range 1000 {
		j := &federation.Job{}
		err := s.CreateJob(ctx, j, &sbatch.Payload{Script: strings.Repeat("x", 10_000)})
		if err == nil {
			written = append(written, j.ID)
			continue
		}
		if !errors.Is(err, federation.ErrUnavailable) || !strings.Contains(err.Error(), "no space left") || j.ID != 0 {
			t.Fatalf("full disk: job %d: %v", j.ID, err)
		}
		return written
	}
	t.Fatal("the disk is never full")
	return nil
}
