package steps

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TestKilled: a step daemon that was killed, or whose end nobody could see, may have left something to do.
func TestKilled(t *testing.T) {
	for script, want := range map[string]bool{"exit 0": false, "exit 3": false, "kill -KILL $$": true} {
		cmd := exec.Command("sh", "-c", script)
		_ = cmd.Run()
		if got := killed(cmd.ProcessState); got != want {
			t.Errorf("%s: %v", script, got)
		}
	}
	if !killed(nil) {
		t.Error("a process whose end is not known has done everything")
	}
}

// TestSweepJoins: what a killed step daemon has left to do is done within the run's limits too.
func TestSweepJoins(t *testing.T) {
	dir := t.TempDir()
	join := filepath.Join(dir, "cgroup.procs")
	if err := os.WriteFile(join, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := launch("a", 1, 4)
	s := &Service{c: Config{Daemon: []string{"/bin/sh", "-c", "exit 0"}}}
	s.sweep(&run{Run: Run{Launch: l, Join: []string{join}}, log: slog.New(slog.DiscardHandler)})
	text, err := os.ReadFile(join)
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := strconv.Atoi(string(text)); err != nil || pid < 2 {
		t.Errorf("joined %q", text)
	}
}
