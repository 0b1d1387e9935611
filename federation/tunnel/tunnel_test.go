package tunnel

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipe is a joined pair: the two connections of a server, which the test holds the other ends of.
func pipe(t *testing.T, ctx context.Context) (left, right *Conn, joined <-chan struct{}) {
	t.Helper()
	accepted := make(chan *Conn, 2)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !Asked(r) || r.Header.Get("Authorization") != "Bearer x" {
			http.Error(w, "no stream", http.StatusNotFound)
			return
		}
		c, err := Accept(w)
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}))
	t.Cleanup(s.Close)
	open := func(token string) (*Conn, error) {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return Open(t.Context(), c, "/x", http.Header{"Authorization": {"Bearer " + token}})
	}
	if _, err := open("y"); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "no stream") {
		t.Errorf("a refusal: %v", err)
	}
	left, err := open("x")
	if err != nil {
		t.Fatal(err)
	}
	a := <-accepted
	if right, err = open("x"); err != nil {
		t.Fatal(err)
	}
	b, done := <-accepted, make(chan struct{})
	go func() { Join(ctx, a, b); close(done) }()
	return left, right, done
}

// TestJoin: bytes go in both directions, an end is passed on, and what the other side still has to say comes after it.
func TestJoin(t *testing.T) {
	left, right, joined := pipe(t, t.Context())
	want := make([]byte, 3<<20)
	rand.Read(want)
	go func() { left.Write(want); left.CloseWrite() }()
	got, err := io.ReadAll(right)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	io.WriteString(right, "goodbye")
	right.Close()
	if got, err := io.ReadAll(left); string(got) != "goodbye" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	left.Close()
	<-joined
}

// TestJoinEnds: both connections end with the context, or when one breaks.
func TestJoinEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left, right, joined := pipe(t, ctx)
	cancel()
	<-joined
	for _, c := range []net.Conn{left, right} {
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("a connection is open: %d, %v", n, err)
		}
	}
	left, right, joined = pipe(t, t.Context())
	left.Conn.(*net.TCPConn).SetLinger(0)
	left.Close() // a reset
	if n, err := right.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the other side stays: %d, %v", n, err)
	}
	<-joined
}

// TestIdle: a tunnel ends when nothing has passed for some time, in either direction, and its near end reads why. What passes keeps it open.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, a := net.Pipe()
		right, b := net.Pipe()
		done := make(chan struct{})
		go func() { Idle{time.Hour, []byte("enough")}.Join(t.Context(), whole{a}, whole{b}); close(done) }()
		for i := range 4 {
			time.Sleep(50 * time.Minute)
			to, from := left, right
			if i%2 == 1 {
				to, from = right, left
			}
			go io.WriteString(to, "x")
			if n, err := from.Read(make([]byte, 1)); n != 1 || err != nil {
				t.Fatalf("after %d: %d, %v", i, n, err)
			}
		}
		began := time.Now()
		if text, err := io.ReadAll(left); string(text) != "enough" || err != nil || time.Since(began) != time.Hour {
			t.Errorf("after %v: %q, %v", time.Since(began), text, err)
		}
		if _, err := right.Read(make([]byte, 1)); err == nil {
			t.Error("the far end is open")
		}
		<-done
	})
}

// whole is a connection that is closed in both directions at once.
type whole struct{ net.Conn }

func (w whole) CloseWrite() error { return w.Close() }

// TestBackpressure: a side that does not read holds up the one that writes, and costs no memory.
func TestBackpressure(t *testing.T) {
	left, right, _ := pipe(t, t.Context())
	defer right.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	piece, sent := make([]byte, 1<<20), 0
	for sent < 256<<20 {
		left.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
		n, err := left.Write(piece)
		sent += n
		if err != nil {
			break
		}
	}
	runtime.ReadMemStats(&after)
	if sent >= 256<<20 {
		t.Error("256 MiB went to a side that does not read")
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}
