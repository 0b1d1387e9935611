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

// testShare holds that a job can run a program of BinDir, and reach a daemon whose socket in FedDir is made after the site started: the daemon
// is told the user whose job it is.
func testShare(t *testing.T, b *Bed, s Site) {
	tool, socket := filepath.Join(b.BinDir(), "tool-"+s.Name), filepath.Join(b.FedDir(), s.Name+".sock")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\nexec curl -s --max-time 60 --unix-socket "+socket+" http://fsub/\n"), 0o755); err != nil {
		t.Fatal(err)
	}
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
	got := sbatch(t, b, s.Name, fmt.Sprintf("PATH=%s:$PATH; tool-%s; touch %s/x %s/x || echo closed", b.BinDir(), s.Name, b.BinDir(), b.FedDir()))
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
