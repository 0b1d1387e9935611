package conn

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// listen starts a server on a new socket and returns a Conn to it.
func listen(t *testing.T, h http.Handler) *Conn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	c := New(path, time.Minute)
	t.Cleanup(c.Close)
	return c
}

// raw starts a server that reads one request's head and then writes answer and closes.
func raw(t *testing.T, answer string) *Conn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			nc.Read(make([]byte, 4096))
			io.WriteString(nc, answer)
			nc.Close()
		}
	}()
	return New(path, time.Minute)
}

// TestLongQuery: a query that a header has no room for is the body of the GET.
func TestLongQuery(t *testing.T) {
	c := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s?%s|%s|%d", r.URL.Path, r.URL.RawQuery, r.Header.Get("Content-Type"), len(body))
	}))
	for query, want := range map[string]string{
		"job_id=1":                           "/jobs?job_id=1||0",
		"job_id=" + strings.Repeat("1", 1e5): "/jobs?|application/x-www-form-urlencoded|100007",
	} {
		if status, reply, err := c.Do("GET", "/jobs?"+query, nil); status != 200 || string(reply) != want || err != nil {
			t.Errorf("%d %.100s %v, want %s", status, reply, err, want)
		}
	}
}

func TestRealServer(t *testing.T) {
	c := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/echo":
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			w.WriteHeader(201)
			w.Write(body)
		case "/chunks":
			for range 3 {
				io.WriteString(w, "part ")
				w.(http.Flusher).Flush()
			}
		case "/none":
			w.WriteHeader(204)
		case "/close":
			w.Header().Set("Connection", "close")
			io.WriteString(w, "bye")
		}
	}))
	big := strings.Repeat("x", 5<<20)
	for _, s := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/echo", "hello", 201, "hello"},
		{"/echo", "", 201, ""},
		{"/echo", big, 201, big},
		{"/chunks", "", 200, "part part part "},
		{"/none", "", 204, ""},
		{"/close", "", 200, "bye"},
		{"/echo", "again", 201, "again"},
	} {
		status, got, err := c.Do("POST", s.path, []byte(s.body))
		if err != nil || status != s.status || string(got) != s.want {
			t.Fatalf("%s: status %d, %d bytes, err %v; want %d, %d bytes", s.path, status, len(got), err, s.status, len(s.want))
		}
	}
}

func TestNobodyListens(t *testing.T) {
	c := New(filepath.Join(t.TempDir(), "none"), 0)
	_, _, err := c.Do("GET", "/", nil)
	var e *Error
	if !errors.Is(err, ErrConnect) || !errors.As(err, &e) || !strings.Contains(e.Detail, "nothing was submitted") {
		t.Fatalf("err %v, detail %+v", err, e)
	}
	if err.Error() != "Unable to contact slurm controller (connect failure)" {
		t.Fatalf("sentence %q", err)
	}
}

// A daemon that has ended is waited for, and what only reads is asked again where it ended before it had answered.
func TestRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listen := func() net.Listener {
		os.Remove(path)
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		return l
	}
	listen().Close()
	tries, srv := 0, &http.Server{}
	var asked atomic.Int64
	old := awaitRestart
	defer func() { awaitRestart = old }()
	awaitRestart = func() {
		if tries++; tries == 3 {
			srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1)%2 == 1 {
					panic(http.ErrAbortHandler)
				}
				io.WriteString(w, "here")
			})
			go srv.Serve(listen())
		}
	}
	defer srv.Close()
	c := New(path, time.Minute)
	defer c.Close()
	if _, reply, err := c.Do("GET", "/", nil); err != nil || string(reply) != "here" || tries != 3 || asked.Load() != 2 {
		t.Errorf("%q, %v after %d tries to connect and %d requests", reply, err, tries, asked.Load())
	}
	if _, body, err := c.Stream("/"); err != nil || asked.Load() != 4 {
		t.Errorf("%v after %d requests", err, asked.Load())
	} else {
		body.Close()
	}
	if _, _, err := c.Do("POST", "/", nil); !errors.Is(err, ErrLost) || asked.Load() != 5 {
		t.Errorf("what may have been carried out: %v after %d requests", err, asked.Load())
	}
}

func TestBrokenAnswers(t *testing.T) {
	for _, answer := range []string{
		"",
		"HTTP/1.1 200 OK\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
		"SSH-2.0-OpenSSH\r\n",
	} {
		_, _, err := raw(t, answer).Do("GET", "/", nil)
		if !errors.Is(err, ErrLost) {
			t.Errorf("%q: err %v, want ErrLost", answer, err)
		}
	}
}

// A daemon need not read a body that it refuses: its answer counts all the same.
func TestAnswerBeforeTheBodyIsRead(t *testing.T) {
	c := raw(t, "HTTP/1.1 400 Bad Request\r\nContent-Length: 8\r\nConnection: close\r\n\r\ntoo long")
	status, body, err := c.Do("POST", "/", make([]byte, 8<<20))
	if err != nil || status != 400 || string(body) != "too long" {
		t.Fatalf("%d %q %v", status, body, err)
	}
}

func TestAnswerUntilClose(t *testing.T) {
	status, body, err := raw(t, "HTTP/1.0 100 Continue\r\n\r\nHTTP/1.0 404 Not Found\r\n\r\nno such job").Do("GET", "/", nil)
	if err != nil || status != 404 || string(body) != "no such job" {
		t.Fatalf("%d %q %v", status, body, err)
	}
}

func TestSilentServerTimesOut(t *testing.T) {
	release := make(chan struct{})
	c := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer close(release)
	c.SetTimeout(20 * time.Millisecond)
	if _, _, err := c.Do("GET", "/", nil); !errors.Is(err, ErrTimeout) {
		t.Fatalf("err %v, want ErrTimeout", err)
	}
}

func TestFromEnv(t *testing.T) {
	if c := FromEnv([]string{"A=b", "FSUB_SOCKET=/x"}); c.path != "/x" {
		t.Fatal(c.path)
	}
	if c := FromEnv([]string{"FSUB_SOCKET="}); c.path != DefaultSocket {
		t.Fatal(c.path)
	}
}

// Of several daemons the first that answers is asked, and then asked again.
func TestSeveralDaemons(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", dir+"/b")
	if err != nil {
		t.Fatal(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "b") }))
	c := FromEnv([]string{"FSUB_SOCKET=" + dir + "/a," + dir + "/b," + dir + "/c"})
	for range 2 {
		if _, reply, err := c.Do("GET", "/", nil); err != nil || string(reply) != "b" {
			t.Errorf("%q, %v", reply, err)
		}
		c.Close()
	}
	l.Close()
	if _, _, err := c.Do("GET", "/", nil); !errors.Is(err, ErrConnect) {
		t.Errorf("nobody answers: %v", err)
	}
}

func FuzzReply(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n")
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")
	f.Fuzz(func(t *testing.T, answer string) {
		c := New("", 0)
		c.fd, c.buf = -1, []byte(answer) // reading on fails, as a broken connection does
		c.receive()
	})
}

// A daemon that the user has started is found where the machine has none; one that the machine has, or that FSUB_SOCKET names, comes first.
func TestOwnSocket(t *testing.T) {
	own := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "own") }))
	theirs := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "theirs") }))
	for _, k := range []struct{ path, want string }{{"/nonexistent/socket", "own"}, {theirs.path, "theirs"}} {
		c := New(k.path, time.Minute)
		c.own = own.path
		if _, reply, err := c.Do("GET", "/", nil); err != nil || string(reply) != k.want {
			t.Errorf("%s: %q, %v", k.path, reply, err)
		}
		c.Close()
	}
	if c := FromEnv([]string{"HOME=/home/x", "FSUB_SOCKET=/y"}); c.own != "" {
		t.Error("FSUB_SOCKET is not the only one")
	}
	if c := FromEnv([]string{"HOME=/home/x"}); c.own != "/home/x/.fsub/fsub.sock" {
		t.Errorf("below the home directory it is %q", c.own)
	}
}

// A request that comes before a daemon that has taken over knows it to be new is sent again with another credential, and no other request is.
func TestTooEarly(t *testing.T) {
	var asked atomic.Int64
	c := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%3 != 0 {
			w.WriteHeader(425)
		}
	}))
	if status, _, err := c.Do("POST", "/", nil); status != 425 || err != nil || asked.Load() != 1 {
		t.Errorf("without munge: status %d, %v, asked %d times", status, err, asked.Load())
	}
	asked.Store(0)
	c.site = "alpha"
	if status, _, err := c.Do("POST", "/", nil); status != 200 || err != nil || asked.Load() != 3 {
		t.Errorf("status %d, %v, asked %d times", status, err, asked.Load())
	}
	status, body, err := c.Stream("/")
	if status != 200 || err != nil || asked.Load() != 6 {
		t.Fatalf("a stream: status %d, %v, asked %d times", status, err, asked.Load())
	}
	body.Close()
}
