package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"

	"fsub/cloud/local/inside"
	"fsub/cloud/provider"
)

// daemons are what the test's own binary is besides a machine's agent: a daemon with two machines, which lives until it is killed, and what its reaper calls.
var daemons = map[string]func(dir string) error{
	"-daemon": func(dir string) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		p, err := New(Config{Dir: dir, Agent: self, Settle: []string{self, "-settle", dir}, Shapes: []Shape{{Type: "small", CPUs: 1, Mem: 100, Max: 100}}})
		if err != nil {
			return err
		}
		if _, err := p.Create(context.Background(), request("G1", 2)); err != nil {
			return err
		}
		fmt.Println("created")
		_, err = io.Copy(io.Discard, os.Stdin)
		return errors.Join(errors.New("it was not killed"), err)
	},
	"-settle": func(dir string) error { return Settle(dir, slog.New(slog.DiscardHandler)) },
}

// killedDaemon is a daemon that made machines and was killed. It returns the directory.
func killedDaemon(t *testing.T) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "local")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		killMachines(t, dir)
		eventually(t, "the reaper ends", func() bool { return !hasReaper(t, dir) })
		os.RemoveAll(dir)
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command(self, "-daemon", dir)
	daemon.Stderr = os.Stderr
	in, err := daemon.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	_ = daemon.Process.Kill()
	_ = daemon.Wait()
	if line != "created\n" {
		t.Fatalf("the daemon said %q", line)
	}
	eventually(t, "there is a reaper", func() bool { return hasReaper(t, dir) })
	return dir
}

// hasReaper reports whether a directory has a reaper.
func hasReaper(t *testing.T, dir string) bool {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, inside.ReaperFile), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// killMachines kills the first process of each machine. Where that is not the first of a PID namespace it is a supervisor, which hears SIGTERM and ends what it has.
func killMachines(t *testing.T, dir string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, inside.MachinesDir, "*", inside.ProcessFile))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		proc, err := inside.ParseProcess(strings.TrimSpace(string(text)))
		if err != nil {
			t.Error(err)
			continue
		}
		sig := unix.SIGTERM
		own, _ := os.Readlink("/proc/self/ns/pid")
		if its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", proc.PID)); err == nil && its != own {
			sig = unix.SIGKILL
		}
		if err := proc.Signal(sig); err != nil {
			t.Error(err)
		}
	}
}

// TestDaemonNeverComesBack: what its machines leave on the host goes when the last of them has ended.
func TestDaemonNeverComesBack(t *testing.T) {
	dir := killedDaemon(t)
	eventually(t, "it is refused while machines live", func() bool { // the reaper has the lock now and then
		err := Settle(dir, slog.New(slog.DiscardHandler))
		if err == nil {
			t.Fatal("machines that live were cleared away")
		}
		return strings.Contains(err.Error(), "lives")
	})
	linked := networkOf(t, dir)
	killMachines(t, dir)
	eventually(t, "the reaper ends", func() bool { return !hasReaper(t, dir) })
	if left := networkOf(t, dir); len(left) > 0 {
		t.Errorf("of the network %v there is left %v", linked, left)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "machines", "*")); len(left) > 0 {
		t.Errorf("directories left: %v", left)
	}
	if left := processes(dir); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("mounts left: %v %s", err, mounts)
	}
	if said, err := os.ReadFile(filepath.Join(dir, inside.ReaperLogFile)); err != nil || len(said) > 0 {
		t.Errorf("the reaper said %q, %v", said, err)
	}
	if s := states(list(t, open(t, dir, nil))); s != "G1.0 ended, G1.1 ended" {
		t.Errorf("the next daemon finds %s", s)
	}
}

// TestDaemonComesBack: as long as one is there the traces of its machines are its own to clear away.
func TestDaemonComesBack(t *testing.T) {
	dir := killedDaemon(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	moved, cleared := filepath.Join(t.TempDir(), "moved"), filepath.Join(t.TempDir(), "cleared")
	if err := os.WriteFile(moved, []byte("#!/bin/sh\n\"$1\" -settle \"$2\" && touch \"$3\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := open(t, dir, func(c *Config) { c.Settle = []string{"/bin/sh", moved, self, dir, cleared} }) // its program is elsewhere now
	if s := states(list(t, p)); s != "G1.0 running, G1.1 running" {
		t.Fatal(s)
	}
	killMachines(t, dir)
	if err := Settle(dir, slog.New(slog.DiscardHandler)); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("beside a provider it says %v", err)
	}
	eventually(t, "the machines are ended", func() bool { return states(list(t, p)) == "G1.0 ended, G1.1 ended" })
	if !hasReaper(t, dir) {
		t.Error("the reaper has gone while the daemon lives")
	}
	if err := p.owner.Close(); err != nil { // the daemon ends
		t.Fatal(err)
	}
	eventually(t, "the reaper ends", func() bool { return !hasReaper(t, dir) })
	if _, err := os.Stat(cleared); err != nil {
		t.Errorf("the reaper did not run what the last daemon told it to: %v", err)
	}
}

// TestReaperOfNothing: it ends where its directory has gone.
func TestReaperOfNothing(t *testing.T) {
	dir := t.TempDir()
	if err := inside.Reap(dir); err != nil {
		t.Error(err)
	}
	if err := Settle(dir, nil); err == nil {
		t.Error("a directory of nobody was cleared away")
	}
}

// TestNoReaperOfEndedMachines: to look at what has ended begins nothing.
func TestNoReaperOfEndedMachines(t *testing.T) {
	p := world(t, func(c *Config) { c.Settle = []string{"/nowhere"} })
	if _, err := p.record(request("G1", 1), Shape{}); err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), []provider.InstanceID{"G1.0"}); err != nil {
		t.Fatal(err)
	}
	if s := states(list(t, p)); s != "G1.0 ended" {
		t.Fatal(s)
	}
	if _, err := os.Stat(filepath.Join(p.cfg.Dir, inside.ReaperFile)); !os.IsNotExist(err) {
		t.Errorf("a reaper was begun: %v", err)
	}
}

// TestSettleWithoutNetworks: where root has no rights over the network there was none to clear away, and all else is.
func TestSettleWithoutNetworks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: others have no networks anyway")
	}
	dir := t.TempDir()
	machine := filepath.Join(dir, inside.MachinesDir, "G1.0")
	if err := errors.Join(makeDirs(dir), os.Mkdir(machine, 0o711), os.WriteFile(filepath.Join(dir, inside.OwnersFile), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends, and with it what it lacks
		err := dropCapability(unix.CAP_NET_ADMIN)
		if err == nil {
			err = Settle(dir, slog.New(slog.DiscardHandler))
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(machine); !os.IsNotExist(err) {
		t.Errorf("the machine's directory is there: %v", err)
	}
}

// dropCapability takes a capability from the calling thread.
func dropCapability(n uint) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return err
	}
	data[n/32].Effective &^= 1 << (n % 32)
	return unix.Capset(&head, &data[0])
}

// networkOf is what the host has of the network of a directory's machines.
func networkOf(t *testing.T, dir string) (out []string) {
	t.Helper()
	out = links(&Provider{cfg: &Config{Dir: dir}})
	if os.Geteuid() != 0 {
		return out
	}
	c, err := nftables.New()
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.ListTables()
	if err != nil {
		return out // no nf_tables here
	}
	for _, table := range all {
		if strings.HasSuffix(table.Name, bridgeOf(dir)) {
			out = append(out, table.Name)
		}
	}
	slices.Sort(out)
	return out
}
