package interactive

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestForward reaches a server in a job through a port of this machine: many connections at a time, much in both directions, for the job's owner only.
func TestForward(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: python3 is not here: there is no server for the job")
	}
	w := newWorld(t)
	id := w.job(t, "-N1", "-n1")
	port := freePort(t)
	server := w.as(w.uid, "fed", "attach", id, "python3", "-c", serverText, port)
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	f := w.forward(t, id, "0:"+port)
	until(t, "the server answers", func() bool {
		out, _ := f.curl("/hello").Output()
		return string(out) == "hello /hello"
	})
	t.Run("Large", func(t *testing.T) {
		cmd := f.curl("/sum", "-X", "POST", "-H", "Expect:", "--data-binary", "@-")
		cmd.Stdin = io.LimitReader(zeros{}, 20<<20)
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != fmt.Sprint(20<<20) {
			t.Errorf("%v: %.200q", err, out)
		}
		out, err = f.curl("/large").Output()
		if err != nil || len(out) != 20<<20 {
			t.Errorf("%v: %d bytes", err, len(out))
		}
	})
	t.Run("Many", func(t *testing.T) {
		var cmds []*exec.Cmd
		var outs []*bytes.Buffer
		for i := range 20 {
			cmd, out := f.curl(fmt.Sprintf("/slow/%d", i)), new(bytes.Buffer)
			cmd.Stdout = out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			cmds, outs = append(cmds, cmd), append(outs, out)
		}
		for i, cmd := range cmds {
			if err := cmd.Wait(); err != nil || outs[i].String() != fmt.Sprintf("hello /slow/%d", i) {
				t.Errorf("%v: %q", err, outs[i])
			}
		}
	})
	t.Run("Others", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("SKIPPED: only root can be others")
		}
		if resp, err := http.Get(f.url + "/hello"); err == nil {
			resp.Body.Close()
			t.Errorf("root reaches the job of another: %s", resp.Status)
		}
		out, err := w.as(1, "fed", "forward", id, port).CombinedOutput() // daemon, an operator
		if err == nil || !strings.Contains(string(out), "Invalid user id") {
			t.Errorf("an operator: %v: %s", err, out)
		}
	})
	t.Run("Mistakes", func(t *testing.T) {
		for _, c := range []struct{ args, want string }{
			{"99 8888", "job 99: Invalid job id specified"},
			{id + " http", `invalid port "http": want PORT or LOCAL:PORT`},
			{id + " 8888:0", `invalid port "8888:0"`},
			{id + " " + strings.TrimPrefix(f.url[strings.LastIndexByte(f.url, ':'):], ":"), "address already in use; another port here: fed forward " + id + " 0:"},
		} {
			out, err := w.as(w.uid, "fed", append([]string{"forward"}, strings.Fields(c.args)...)...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("fed forward %s: %v: %s, want %q", c.args, err, out, c.want)
			}
		}
		nobody := w.forward(t, id, "0:"+freePort(t))
		nobody.curl("/").Run()
		until(t, "it says that nothing listens", func() bool {
			return strings.Contains(nobody.said.String(), "nothing answers there: dial tcp 127.0.0.1:")
		})
	})
	t.Run("Ends", func(t *testing.T) {
		again := w.forward(t, id, "0:"+port)
		again.cmd.Process.Signal(syscall.SIGINT)
		if err := again.cmd.Wait(); err != nil {
			t.Errorf("after Ctrl-C: %v: %s", err, again.said)
		}
		if out, err := w.as(w.uid, "scancel", id).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := f.cmd.Wait(); err == nil || !strings.Contains(f.said.String(), "the connection to job "+id+" has ended") {
			t.Errorf("after the job's end: %v: %s", err, f.said)
		}
	})
}

// serverText answers each request in a thread of its own.
const serverText = `
import http.server, sys, time
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/slow"): time.sleep(1)
        self.answer(bytes(20 << 20) if self.path == "/large" else b"hello " + self.path.encode())
    def do_POST(self):
        self.answer(str(len(self.rfile.read(int(self.headers["Content-Length"])))).encode())
    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
`

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// forwarded is a fed forward that runs.
type forwarded struct {
	w    *world
	cmd  *exec.Cmd
	url  string
	said *lockedText
}

func (w *world) forward(t *testing.T, id, ports string) *forwarded {
	t.Helper()
	f := &forwarded{w: w, cmd: w.as(w.uid, "fed", "forward", id, ports), said: new(lockedText)}
	f.cmd.Stderr = f.said
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.cmd.Process.Kill(); f.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	m := regexp.MustCompile(`^(http://127\.0\.0\.1:\d+) is port \d+ of job ` + id + `; Ctrl-C ends it\n$`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("fed forward printed %q, %v: %s", line, err, f.said)
	}
	f.url = m[1]
	return f
}

func (f *forwarded) curl(path string, args ...string) *exec.Cmd {
	cmd := f.w.as(f.w.uid, "fed")
	cmd.Path, cmd.Args = "/usr/bin/curl", append([]string{"curl", "-sS", "-m", "100", f.url + path}, args...)
	return cmd
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// lockedText is what a process has written so far.
type lockedText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String implements fmt.Stringer.
func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
