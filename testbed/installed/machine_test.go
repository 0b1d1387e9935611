package installed

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 3 * time.Minute

// machine is one with systemd. It ends with the test.
type machine struct {
	t   *testing.T
	pid string // of its first process
}

// boot starts a machine that sees the folder shared under its own name.
func boot(t *testing.T, shared string) *machine {
	t.Helper()
	if _, err := os.Stat("/lib/systemd/systemd"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no systemd: install Debian's package systemd")
		}
		t.Skip("NOT RUN: no systemd: install Debian's package systemd")
	}
	dir, err := os.MkdirTemp("", "fsub-machine-")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command("./machine.sh", dir, shared)
	cmd.Env = append(os.Environ(), "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	m := &machine{t: t}
	t.Cleanup(func() {
		if m.pid != "" {
			out, _ := m.try("journalctl -u fed --no-pager -n 50")
			if t.Failed() {
				t.Logf("the daemon's log ends:\n%s", out)
			}
		}
		cmd.Process.Signal(unix.SIGKILL) // unshare, which takes the machine with it
		<-ended
		clear(dir)
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid)); err == nil {
			m.pid = strings.TrimSpace(string(children))
		}
		if m.pid != "" {
			if out, _ := m.try("systemctl is-system-running"); strings.HasPrefix(out, "running") || strings.HasPrefix(out, "degraded") {
				return m
			}
		}
		select {
		case <-ended:
			m.pid = ""
			t.Skipf("NOT RUN: this kernel lets no systemd run in namespaces:\n%s", log.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("systemd does not come up:\n%s", log.String())
		}
	}
}

// clear removes the control groups of a machine that has ended, from the innermost.
func clear(dir string) {
	for _, h := range []string{"systemd", "unified", "."} {
		top := filepath.Join("/sys/fs/cgroup", h, filepath.Base(dir))
		for range 10 { // of processes that the kernel still ends
			exec.Command("find", top, "-depth", "-type", "d", "-delete").Run()
			if _, err := os.Stat(top); err != nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	os.RemoveAll(dir)
}

// command is a shell command on the machine, as a user.
func (m *machine) command(ctx context.Context, user, line string) *exec.Cmd {
	args := []string{"-t", m.pid, "-m", "-p", "-u", "-i", "-C", "--", "env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C"}
	if user != "" {
		args = append(args, "runuser", "-u", user, "--")
	}
	return exec.CommandContext(ctx, "nsenter", append(args, "/bin/sh", "-c", line)...)
}

func (m *machine) try(line string) (string, error) {
	out, err := m.command(context.Background(), "", line).CombinedOutput()
	return string(out), err
}

func (m *machine) run(line string) string {
	m.t.Helper()
	out, err := m.try(line)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}

// write writes a file on the machine.
func (m *machine) write(path, text string) {
	m.t.Helper()
	cmd := m.command(m.t.Context(), "", "mkdir -p $(dirname "+path+") && cat >"+path)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("write %s: %v\n%s", path, err, out)
	}
}

// await runs a command again and again until it prints want.
func (m *machine) await(want, line string) {
	m.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		out, err := m.try(line)
		if err == nil && strings.Contains(out, want) {
			return
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("%s does not say %q: %v\n%s", line, want, err, out)
		}
	}
}
