package agent

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/cloud/agentapi"
)

// TestBeatFile: what a job's program writes is its step and how long that took; a file that is touched tells when, one that is being written is read again, and what is no file of the user's is not read.
func TestBeatFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "beat")
	now := time.Now()
	write := func(text string, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	f := &beatFile{path: path, node: 3}
	b := beats{runs: map[string]*beatFile{"r": f}}
	is := func(what string, step int64, work, age time.Duration) {
		t.Helper()
		f.look()
		if got := b.read(now); len(got) != 1 || got[0].Node != 3 || got[0].Step != step || got[0].Work != work || got[0].Age.Round(time.Second) != age {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if f.look(); len(b.read(now)) != 0 {
		t.Error("there is no file yet")
	}
	write("", time.Minute)
	is("touched", 0, 0, time.Minute)
	write("7 0.5\n", 50*time.Second)
	f.look()
	write("7 0.5\n8 1.5", 45*time.Second)
	is("two looks", 8, time.Second, 45*time.Second)
	write("", 40*time.Second)
	f.look()
	write("9 2\n", 40*time.Second) // within the same tick
	is("a file that was being written", 9, 2*time.Second, 40*time.Second)
	is("nothing new", 9, 0, 40*time.Second)
	write("epoch two\n", 30*time.Second)
	is("no number", 9, 0, 30*time.Second)
	write(strings.Repeat("x", 1<<20)+"\n10\n", 20*time.Second)
	is("a log that grows", 10, 0, 20*time.Second)
	os.Remove(path)
	if err := os.Symlink("/etc/passwd", path); err != nil {
		t.Fatal(err)
	}
	is("a link", 10, 0, 20*time.Second)
	os.Remove(path)
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	is("a pipe", 10, 0, 20*time.Second)
}

// TestBeatFileIsTheUsers: the agent, which is root, reads nothing that the job's user cannot.
func TestBeatFileIsTheUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can become another user")
	}
	dir := t.TempDir()
	for d := dir; d != "/" && d != "/tmp"; d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	path := filepath.Join(dir, "beat")
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o604: true} {
		if err := os.WriteFile(path, []byte("3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		f := &beatFile{path: path, as: &agentapi.User{Name: "nobody", UID: 65534, GID: 65534}}
		if f.look(); (f.step == 3) != want {
			t.Errorf("%o: step %d", mode, f.step)
		}
	}
}
