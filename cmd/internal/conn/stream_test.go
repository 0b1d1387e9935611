package conn

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

func TestStream(t *testing.T) {
	big := strings.Repeat("0123456789", 100_000)
	c := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/length":
			w.Header().Set("Content-Length", strconv.Itoa(len(big)))
			io.WriteString(w, big)
		case "/chunks":
			for i := 0; i < len(big); i += 99_999 {
				io.WriteString(w, big[i:min(i+99_999, len(big))])
				w.(http.Flusher).Flush()
			}
		case "/none":
			w.WriteHeader(204)
		case "/close":
			w.Header().Set("Connection", "close")
			io.WriteString(w, big)
		case "/empty":
			w.Header().Set("Content-Length", "0")
			w.WriteHeader(404)
		}
	}))
	for _, s := range []struct {
		path   string
		status int
		want   string
		keep   bool // the connection serves the next call too
	}{
		{"/length", 200, big, true}, {"/chunks", 200, big, true}, {"/none", 204, "", true}, {"/close", 200, big, false}, {"/empty", 404, "", true},
	} {
		for name, reader := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "data with the end": iotest.DataErrReader,
		} {
			status, body, err := c.Stream(s.path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(reader(body))
			body.Close()
			if err != nil || status != s.status || string(got) != s.want || c.open != s.keep {
				t.Fatalf("%s %s: status %d, %d bytes, open %v, %v", s.path, name, status, len(got), c.open, err)
			}
		}
	}
	// What is not read to its end does not disturb the next call.
	if _, body, err := c.Stream("/length"); err != nil {
		t.Fatal(err)
	} else {
		body.Read(make([]byte, 10))
		body.Close()
	}
	if status, reply, err := c.Do("GET", "/chunks", nil); err != nil || status != 200 || string(reply) != big {
		t.Fatalf("after a stream that was left: status %d, %d bytes, %v", status, len(reply), err)
	}
}

func TestBrokenStreams(t *testing.T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
	} {
		status, body, err := raw(t, answer).Stream("/")
		if err != nil || status != 200 {
			t.Fatalf("%q: status %d, %v", answer, status, err)
		}
		if _, err := io.ReadAll(body); !errors.Is(err, ErrLost) {
			t.Errorf("%q: %v, want ErrLost", answer, err)
		}
		body.Close()
	}
}
