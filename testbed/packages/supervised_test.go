package packages

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/program"
	"fsub/testbed/simsite"
)

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 3 * time.Minute

// supervisor is systemd as far as a daemon sees it: it has the socket, starts the daemon, and is told how that is.
type supervisor struct {
	t                *testing.T
	bin, dir, socket string
	listener         *os.File // of the socket
	notes            *net.UnixConn
	cmd              *exec.Cmd
	ended            chan struct{}
}

func supervise(t *testing.T) *supervisor {
	t.Helper()
	dir, err := os.MkdirTemp("", "fed") // the path of a socket is short, that of a test's directory may not be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &supervisor{t: t, bin: filepath.Join(dir, "bin"), dir: dir, socket: filepath.Join(dir, "fsub.sock")}
	check(t, program.Put(s.bin, "fed", "fsub"))
	key := []byte(rand.Text())
	site, err := simsite.New(simsite.Config{Name: "alpha", Clock: simsite.RealClock{}, JWTKey: key,
		Nodes:      []simsite.NodeConfig{{Names: "a[1-2]", CPUs: 16, Mem: 64000, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 4}}}},
		Partitions: []simsite.PartitionConfig{{Name: "main", Default: true}}})
	check(t, err)
	rest, err := net.Listen("unix", filepath.Join(dir, "rest"))
	check(t, err)
	go site.Serve(t.Context(), rest)
	check(t, os.WriteFile(filepath.Join(dir, "key"), key, 0o600))
	check(t, os.WriteFile(filepath.Join(dir, "fed.yaml"), fmt.Appendf(nil, "federation: test\nsocket: %s\nstate_dir: state\nsites:\n"+
		"  - {name: alpha, url: \"unix:%s\", key_file: key, no_associations: true}\n", s.socket, rest.Addr()), 0o644))

	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.socket, Net: "unix"})
	check(t, err)
	s.listener, err = l.File()
	check(t, err)
	s.notes, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	check(t, err)
	t.Cleanup(func() { s.end(syscall.SIGKILL); l.Close(); s.listener.Close(); s.notes.Close() })
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts the daemon, as systemd does.
func (s *supervisor) start() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "fed.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	check(s.t, err)
	defer log.Close()
	s.cmd = exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh", filepath.Join(s.bin, "fed"), "serve", "--config", filepath.Join(s.dir, "fed.yaml"))
	s.cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "NOTIFY_SOCKET="+s.notes.LocalAddr().String(), "WATCHDOG_USEC=400000")
	s.cmd.ExtraFiles, s.cmd.Stdout, s.cmd.Stderr = []*os.File{s.listener}, log, log
	check(s.t, s.cmd.Start())
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) { cmd.Wait(); close(ended) }(s.cmd, s.ended)
}

// end sends the daemon a signal, and waits until it has ended.
func (s *supervisor) end(sig os.Signal) {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(sig)
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Errorf("fed does not end on %s", sig)
	}
	s.cmd = nil
}

// until reads what the daemon says until it says want, and returns that.
func (s *supervisor) until(want string) string {
	s.t.Helper()
	buf := make([]byte, 4096)
	s.notes.SetReadDeadline(time.Now().Add(patience))
	for {
		n, err := s.notes.Read(buf)
		if err != nil {
			log, _ := os.ReadFile(filepath.Join(s.dir, "fed.log"))
			s.t.Fatalf("the daemon does not say %q: %v\n%s", want, err, log)
		}
		if said := string(buf[:n]); strings.Contains(said, want) {
			return said
		}
	}
}

// fsub submits a job that stays in the queue. It returns its ID.
func (s *supervisor) fsub() (string, error) {
	cmd := exec.Command(filepath.Join(s.bin, "fsub"), "--parsable", "--hold", "--wrap=true")
	cmd.Env = append(os.Environ(), "FSUB_SOCKET="+s.socket)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("fsub: %w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// TestRestartRefusesNobody: systemd has the socket. Whoever submits while the daemon restarts waits, and has his job once.
func TestRestartRefusesNobody(t *testing.T) {
	s := supervise(t)
	s.start()
	if said := s.until("READY=1"); !strings.Contains(said, "STATUS=1 sites") {
		t.Errorf("ready: %q", said)
	}
	ctx, stop := context.WithCancel(t.Context())
	var submitters sync.WaitGroup
	var mu sync.Mutex
	ids := map[string]int{}
	for range 4 {
		submitters.Go(func() {
			for ctx.Err() == nil {
				id, err := s.fsub()
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ids[id]++
				mu.Unlock()
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(ids)
	}
	more := func() {
		for had := count(); count() < had+8 && !t.Failed(); {
			time.Sleep(time.Millisecond)
		}
	}
	for range 3 {
		more()
		s.end(syscall.SIGTERM)
		s.until("STOPPING=1")
		s.start()
		s.until("READY=1")
	}
	more()
	stop()
	submitters.Wait()

	cmd := exec.Command(filepath.Join(s.bin, "fed"), "job", "list", "--columns", "jobid")
	cmd.Env = append(os.Environ(), "FSUB_SOCKET="+s.socket)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if there := len(strings.Fields(string(out))) - 1; there != len(ids) { // one is the header
		t.Errorf("%d jobs were submitted, and %d are there", len(ids), there)
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d submissions were told %s", n, id)
		}
	}
	if _, err := os.Lstat(s.socket); err != nil {
		t.Errorf("the daemon has removed systemd's socket: %v", err)
	}
}

// TestReload: a reload is told when it begins and when it ends; of a broken configuration too, for the daemon goes on.
func TestReload(t *testing.T) {
	s := supervise(t)
	s.start()
	s.until("READY=1")
	for range 2 {
		s.cmd.Process.Signal(syscall.SIGHUP)
		if said := s.until("RELOADING=1"); !strings.Contains(said, "\nMONOTONIC_USEC=") {
			t.Errorf("reload: %q", said)
		}
		s.until("READY=1")
		check(t, os.WriteFile(filepath.Join(s.dir, "fed.yaml"), []byte("frob: ["), 0o644))
	}
	if _, err := s.fsub(); err != nil {
		t.Error(err)
	}
}

// TestStopped: the watchdog hears nothing of a process that stands still, and hears again of it.
func TestStopped(t *testing.T) {
	s := supervise(t)
	s.start()
	s.until("WATCHDOG=1")
	s.cmd.Process.Signal(syscall.SIGSTOP)
	stat := fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid)
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(stat)
		check(t, err)
		if strings.Contains(string(text), ") T ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not stop: %s", text)
		}
	}
	buf := make([]byte, 4096)
	for err := error(nil); err == nil; { // what it has said before
		s.notes.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		_, err = s.notes.Read(buf)
	}
	s.notes.SetReadDeadline(time.Now().Add(2 * time.Second)) // five times the watchdog's time
	if n, err := s.notes.Read(buf); err == nil {
		t.Errorf("a stopped daemon says %q", buf[:n])
	}
	s.cmd.Process.Signal(syscall.SIGCONT)
	s.until("WATCHDOG=1")
}

// TestAnotherSocket: a socket unit and a configuration that do not agree are told apart at once.
func TestAnotherSocket(t *testing.T) {
	s := supervise(t)
	path := filepath.Join(s.dir, "fed.yaml")
	text, err := os.ReadFile(path)
	check(t, err)
	check(t, os.WriteFile(path, []byte(strings.Replace(string(text), s.socket, s.dir+"/other.sock", 1)), 0o644))
	s.start()
	<-s.ended
	log, err := os.ReadFile(filepath.Join(s.dir, "fed.log"))
	if want := "systemd passes the socket " + s.socket + ", and the configuration has socket " + s.dir + "/other.sock: make ListenStream= of the socket unit and the configuration the same"; err != nil || !strings.Contains(string(log), want) {
		t.Errorf("%v\n%s", err, log)
	}
}
