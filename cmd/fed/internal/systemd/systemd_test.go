package systemd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

// manager is one whose messages are collected instead of sent.
func manager(watchdog time.Duration) (*Manager, *[]string) {
	var sent []string
	m := &Manager{log: quiet, watchdog: watchdog}
	m.send = func(state string) { sent = append(sent, state) }
	return m, &sent
}

// A daemon is ready when it answers, however late that is; then it lives, says how it is, and stops.
func TestReadyWhenItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, sent := manager(time.Minute)
		m.Describe(func(context.Context) string { return "2 sites" })
		begun := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		go m.Run(ctx, func(ctx context.Context) error {
			if time.Since(begun) > 20*time.Minute {
				return nil
			}
			<-ctx.Done() // the socket is there, and nobody accepts
			return ctx.Err()
		})
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		ready := slices.Index(*sent, "READY=1\nSTATUS=2 sites")
		if ready < 60 || len(*sent)-ready < 10 {
			t.Fatalf("ready after %d of %d messages", ready, len(*sent))
		}
		for i, s := range *sent {
			if i < ready && s != "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=reading the jobs" || i > ready && s != "WATCHDOG=1\nSTATUS=2 sites" {
				t.Errorf("message %d: %q", i, s)
			}
		}
		*sent = nil
		m.Reload(func() { *sent = append(*sent, "reads") })
		if got := *sent; len(got) != 3 || !strings.HasPrefix(got[0], "RELOADING=1\nMONOTONIC_USEC=") || got[1] != "reads" || got[2] != "READY=1" {
			t.Errorf("a reload: %q", got)
		}
		stop()
		synctest.Wait()
		if got := (*sent)[len(*sent)-1]; got != "STOPPING=1" {
			t.Errorf("last: %q", got)
		}
	})
}

// A daemon that does not answer itself any more gets no more time from the watchdog, and gets it again when it does.
func TestHangingDaemonIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, sent := manager(time.Minute)
		var hangs atomic.Bool
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go m.Run(ctx, func(ctx context.Context) error {
			if hangs.Load() {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		time.Sleep(5 * time.Minute)
		hangs.Store(true)
		synctest.Wait()
		*sent = nil
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if len(*sent) > 0 {
			t.Errorf("while it hangs: %q", *sent)
		}
		hangs.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(*sent) == 0 {
			t.Error("silent although it answers again")
		}
	})
}

// A reload before the daemon is ready does not call it ready.
func TestReloadIsNotReady(t *testing.T) {
	m, sent := manager(0)
	did := false
	if m.Reload(func() { did = true }); !did || len(*sent) > 0 {
		t.Errorf("reload: %v, sent %q", did, *sent)
	}
}

// TestPassedSockets runs itself as the process that systemd has started.
func TestPassedSockets(t *testing.T) {
	if os.Getenv("LISTEN_FDS") != "" {
		passed(t)
		return
	}
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	notes, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer notes.Close()
	one, err1 := l.(*net.UnixListener).File()
	two, err2 := tcp.(*net.TCPListener).File()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh", os.Args[0], "-test.run=^TestPassedSockets$", "-test.v")
	cmd.Env = append(os.Environ(), "LISTEN_FDS=2", "NOTIFY_SOCKET="+notes.LocalAddr().String(), "AT="+l.Addr().String(), "TCP="+tcp.Addr().String())
	cmd.ExtraFiles = []*os.File{one, two}
	c, err := net.Dial("unix", l.Addr().String()) // before anybody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
	if word, err := io.ReadAll(c); err != nil || string(word) != "hello" {
		t.Errorf("the waiting caller got %q, %v", word, err)
	}
	buf := make([]byte, 100)
	if n, err := notes.Read(buf); err != nil || string(buf[:n]) != "STATUS=x" {
		t.Errorf("systemd got %q, %v", buf[:n], err)
	}
	if _, err := os.Stat(l.Addr().String()); err != nil {
		t.Errorf("the socket is gone with the process: %v", err)
	}
}

func passed(t *testing.T) {
	socket, tcp := Address{"socket", "unix", os.Getenv("AT")}, Address{"remote: listen", "tcp", os.Getenv("TCP")}
	m, err := Open(quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET"} {
		if v, ok := os.LookupEnv(name); ok {
			t.Errorf("programs that are started would see %s=%s", name, v)
		}
	}
	if err := m.Check(socket, tcp); err != nil {
		t.Error(err)
	}
	if err := m.Check(Address{"socket", "unix", "/elsewhere"}, tcp); err == nil || !strings.Contains(err.Error(), "systemd passes the socket "+socket.At+", and the configuration has socket /elsewhere, remote: listen ") {
		t.Errorf("a socket at another place: %v", err)
	}
	if m.Take("tcp", "127.0.0.1:1") != nil || m.Take("tcp", tcp.At) == nil || m.Take("tcp", tcp.At) != nil {
		t.Error("the TCP socket was taken twice, or under another address")
	}
	l := m.Take("unix", socket.At)
	if l == nil {
		t.Fatal("no socket")
	}
	c, err := l.Accept()
	if err == nil {
		_, err = c.Write([]byte("hello"))
		c.Close()
	}
	if err != nil {
		t.Error(err)
	}
	m.send("STATUS=x")
	l.Close()
}

// A manager that nobody looked for passes nothing and is told nothing.
func TestWithoutSystemd(t *testing.T) {
	var none *Manager
	if none.Describe(nil); none.Take("unix", "/x") != nil {
		t.Error("a socket from nowhere")
	}
	m, err := Open(quiet)
	if err != nil {
		t.Fatal(err)
	}
	m.Run(t.Context(), func(context.Context) error { t.Error("asked"); return nil })
}
