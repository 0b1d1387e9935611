package bed

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// installFakeCommands gives the bed commands that ask the daemon who they are.
func installFakeCommands(t *testing.T, b *Bed) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fsub")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nexec curl -s --max-time 60 --unix-socket $FSUB_SOCKET http://fsub/\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it replaces them
		if err := b.InstallCommands(file); err != nil {
			t.Fatal(err)
		}
	}
}

// testShare holds that a job can run our commands, and reach a daemon whose socket in FedDir is made after the site started: the daemon is told
// the user whose job it is.
func testShare(t *testing.T, b *Bed, s Site) {
	socket := filepath.Join(b.FedDir(), s.Name+".sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	l.SetDeadline(time.Now().Add(startLimit))
	go answerWithUID(l)
	got := sbatch(t, b, s.Name, fmt.Sprintf("export PATH=%[1]s:$PATH FSUB_SOCKET=%[2]s; squeue; touch %[1]s/x %[3]s/x || echo closed",
		b.BinDir(), socket, b.FedDir()))
	if want := "uid 7001\n"; !strings.HasPrefix(got, want) {
		t.Errorf("the daemon was told %q, want %q", got, want)
	}
	if !strings.HasSuffix(got, "closed\n") {
		t.Errorf("a job can write into the bed's programs or to the daemon's files: %q", got)
	}
}

// answerWithUID tells one HTTP caller who it is, as the kernel says.
func answerWithUID(l *net.UnixListener) {
	c, err := l.AcceptUnix()
	if err != nil {
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	c.Read(make([]byte, 4096))
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			body := fmt.Sprintf("uid %d\n", cred.Uid)
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
		}
	})
}
