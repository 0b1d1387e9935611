// Package munged runs real munged for tests, each with a key of its own: [Start].
package munged

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// bed is where Slurm of the test bed is installed, munged beside it.
const bed = "/var/cache/fsub-bed/*-1"

// Start runs a munged with a key until the test ends, and returns its socket, which every user may use. The test is skipped where there is none.
func Start(t testing.TB, key string) (socket string) {
	t.Helper()
	program := find("munged")
	if program == nil {
		t.Skip("SKIPPED: no munged: install Debian's munge, or run bin/bed up --install-only")
	}
	dir, err := os.MkdirTemp("", "munged") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := func(name string) string { return filepath.Join(dir, name) }
	for len(key) < 32 {
		key += "."
	}
	if err := os.WriteFile(path("key"), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	socket = path("munge.socket.2") // as at its usual place
	var said bytes.Buffer
	cmd := exec.Command(program[0], append(program[1:], "--foreground", "--force", "--num-threads=2", "--origin=127.0.0.1", "--key-file="+path("key"), "--socket="+socket,
		"--pid-file="+path("pid"), "--seed-file="+path("seed"))...)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { cmd.Process.Signal(os.Interrupt); <-ended })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("unix", socket)
		if err == nil {
			c.Close()
			return socket
		}
		select {
		case why := <-ended:
			ended <- why
			t.Fatalf("munged: %v\n%s", why, &said)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal(fmt.Errorf("munged does not listen: %w", err))
		}
	}
}

// Tool is the command munge that belongs to the munged that Start runs, as the first words of a command line.
func Tool(t testing.TB) []string {
	t.Helper()
	program := find("munge")
	if program == nil {
		t.Fatal("there is a munged, and no munge beside it")
	}
	return program
}

// find is how a program of the system's munge is called, or of that of the test bed: with the bed's own loader and libraries, which may be of another release.
func find(name string) []string {
	if _, err := exec.LookPath("munged"); err == nil {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}
		}
		return nil
	}
	if found, _ := filepath.Glob(bed + "/usr/*bin/" + name); len(found) > 0 {
		root := filepath.Dir(filepath.Dir(filepath.Dir(found[0])))
		loaders, _ := filepath.Glob(root + "/usr/lib/*-linux-gnu/ld-linux*.so.*")
		if len(loaders) > 0 {
			return []string{loaders[0], "--library-path", filepath.Dir(loaders[0]), found[0]}
		}
	}
	return nil
}
