package agentserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"fsub/cloud/agentapi"
)

// served is the server as daemons serve it, on an address of its own.
func (w *world) served(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	w.srv.URL = "http://" + l.Addr().String()
	return l.Addr().String()
}

// TestTooMuchIsRefused: headers and bodies that no agent sends are not read to their end.
func TestTooMuchIsRefused(t *testing.T) {
	w := newWorld(t)
	w.served(t)
	session, hello := w.letIn(t, "gang1"), w.oneTime("aws", "gang1", w.now.Add(time.Hour))
	for path, size := range map[string]int{agentapi.PathHello: maxHello, agentapi.PathPoll: maxPoll, agentapi.PathReport: maxBody} {
		token := session
		if path == agentapi.PathHello {
			token = hello
		}
		if code, _ := w.ask(t, "POST", path, token, `{"x":"`+strings.Repeat("x", size)+`"}`); code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s of %d bytes: %d", path, size, code)
		}
		if code, text := w.ask(t, "POST", path, token, `{"x":"`+strings.Repeat("x", size/2)+`"}`); code != http.StatusOK {
			t.Errorf("%s of %d bytes: %d %s", path, size/2, code, text)
		}
	}
	r, err := http.NewRequest("POST", w.srv.URL+agentapi.PathPoll, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Long", strings.Repeat("x", 2*maxHeader))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a long header: %d", resp.StatusCode)
	}
}

// TestSilentSender: who begins a piece of output and does not go on with it does not hold its file forever; what has come is kept, and it can be sent again.
func TestSilentSender(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.silence = 4 * time.Second
	addr := w.served(t)
	session := w.letIn(t, "gang1")
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST %srun-1/out?offset=0 HTTP/1.1\r\nHost: door\r\nAuthorization: Bearer %s\r\nContent-Length: 10\r\n\r\n12345", agentapi.PathLog, session)
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode < 400 {
		t.Errorf("half a piece was taken: %s", resp.Status)
	}
	if code, text := w.ask(t, "POST", agentapi.PathLog+"run-1/out?offset=5", session, "67890"); code != 200 || w.site.log.String() != "1234567890" {
		t.Errorf("%d %s %q", code, text, w.site.log.String())
	}
}

// TestStrangersBody: who has no token is answered, and does not keep a connection by sending on.
func TestStrangersBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.silence = 4 * time.Second
	c, err := net.Dial("tcp", w.served(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: door\r\nContent-Length: 1000\r\n\r\n{", agentapi.PathPoll)
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute))
	text, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 401 ") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestSlowSender: a piece takes as long as it takes, if only something comes.
func TestSlowSender(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.silence = 4 * time.Second
	w.served(t)
	session := w.letIn(t, "gang1")
	body, in := io.Pipe()
	go func() {
		for range 50 {
			time.Sleep(100 * time.Millisecond)
			fmt.Fprint(in, "x")
		}
		in.Close()
	}()
	r, err := http.NewRequest("POST", w.srv.URL+agentapi.PathLog+"run-1/out?offset=0", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+session)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || w.site.log.Len() != 50 {
		t.Errorf("%s, %d bytes", resp.Status, w.site.log.Len())
	}
}

// TestKeptConnection: an answer after a long pause on a connection is not bound by the time that the one before had.
func TestKeptConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.silence = 3 * time.Second
	w.cfg.PollWait = 4 * time.Second
	w.site.block = true
	addr := w.served(t)
	session := w.letIn(t, "gang1")
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	for range 2 {
		for _, path := range []string{agentapi.PathPoll, agentapi.PathReport} {
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: door\r\nAuthorization: Bearer %s\r\nContent-Length: 2\r\n\r\n{}", path, session)
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			if resp.StatusCode != 200 {
				t.Errorf("%s: %s", path, resp.Status)
			}
		}
	}
}

// TestAtOnce: a job that asks for too much at one time is told so, and keeps nobody else out.
func TestAtOnce(t *testing.T) {
	w := newWorld(t)
	w.runs.most = 3
	first, second := w.letIn(t, "gang1"), w.letIn(t, "gang2")
	hold := make(chan struct{})
	in := make(chan struct{}, 10)
	w.cfg.API = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			in <- struct{}{}
			<-hold
		}
	})
	ended := make(chan int, 3)
	for range 3 {
		go func() {
			code, _ := w.ask(t, "GET", agentapi.PathJob+"run-1/hold", first, "")
			ended <- code
		}()
		<-in
	}
	if code, text := w.ask(t, "GET", agentapi.PathJob+"run-1/x", first, ""); code != 503 || !strings.Contains(text, "3 requests at once") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := w.ask(t, "POST", agentapi.PathPoll, first, "{}"); code != 200 {
		t.Errorf("its machine: %d %s", code, text)
	}
	if code, text := w.ask(t, "GET", agentapi.PathJob+"run-2/x", second, ""); code != 200 {
		t.Errorf("another job: %d %s", code, text)
	}
	close(hold)
	for range 3 {
		if code := <-ended; code != 200 {
			t.Errorf("%d", code)
		}
	}
	if code, text := w.ask(t, "GET", agentapi.PathJob+"run-1/x", first, ""); code != 200 {
		t.Errorf("afterwards: %d %s", code, text)
	}
	if len(w.runs.now)+len(w.machines.now) != 0 {
		t.Errorf("%v and %v are still counted", w.runs.now, w.machines.now)
	}
}

// TestReportsAtOnce: a machine that sends many large reports, and none to its end, is told so, and its output comes all the same.
func TestReportsAtOnce(t *testing.T) {
	w := newWorld(t)
	addr := w.served(t)
	session, other := w.letIn(t, "gang1"), w.letIn(t, "gang2")
	for range tellAtOnce {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: door\r\nAuthorization: Bearer %s\r\nContent-Length: 60000000\r\n\r\n{", agentapi.PathReport, session)
	}
	held := func() int {
		w.tellers.mu.Lock()
		defer w.tellers.mu.Unlock()
		n := 0
		for _, of := range w.tellers.now {
			n += of
		}
		return n
	}
	for deadline := time.Now().Add(time.Minute); held() < tellAtOnce; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d reports are held", held())
		}
	}
	for _, path := range []string{agentapi.PathReport, agentapi.PathPoll} {
		if code, text := w.ask(t, "POST", path, session, "{}"); code != 503 {
			t.Errorf("one more to %s: %d %s", path, code, text)
		}
		if code, text := w.ask(t, "POST", path, other, "{}"); code != 200 {
			t.Errorf("another machine's to %s: %d %s", path, code, text)
		}
	}
	if code, text := w.ask(t, "POST", agentapi.PathLog+"run-1/out?offset=0", session, "x"); code != 200 {
		t.Errorf("output: %d %s", code, text)
	}
}

// TestDaemonsClock: a one-time token ends by the daemon's clock, whatever the machine's is, and a session does not end by any clock.
func TestDaemonsClock(t *testing.T) {
	w := newWorld(t)
	token, session := w.oneTime("aws", "gang1", w.now.Add(time.Hour)), w.letIn(t, "gang1")
	for after, want := range map[time.Duration]int{-24 * time.Hour: 200, 59 * time.Minute: 200, time.Hour: 401, 1000 * time.Hour: 401} {
		w.now = time.Unix(1_000_000, 0).Add(after)
		if code, _ := w.ask(t, "POST", agentapi.PathHello, token, `{"instance":"i-1"}`); code != want {
			t.Errorf("hello after %s: %d, want %d", after, code, want)
		}
		if code, _ := w.ask(t, "POST", agentapi.PathPoll, session, "{}"); code != 200 {
			t.Errorf("poll after %s: %d", after, code)
		}
	}
}
