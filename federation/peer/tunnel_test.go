package peer

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation/tunnel"
)

// hurried are connections of a listener that cuts off readers who are too slow, until they are let.
type hurried struct {
	net.Listener
	let *atomic.Int32
}

type hurriedConn struct {
	*net.UnixConn
	let *atomic.Int32
}

func (c hurriedConn) Unhurried() { c.let.Add(1) }

func (l hurried) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return hurriedConn{c.(*net.UnixConn), l.let}, nil
}

// TestTunnel: a tunnel goes through a daemon that stands by, each direction ends by itself, its reader may take his time, and it ends when another daemon leads.
func TestTunnel(t *testing.T) {
	p := newPair(t, secret, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, err := tunnel.Accept(w)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.WriteString(c, "welcome;")
		io.Copy(c, c)
	}))
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var let atomic.Int32
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() { defer close(served); Serve(ctx, hurried{l, &let}, p.forward) }()
	defer func() { stop(); <-served }()
	open := func() *tunnel.Conn {
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		x, err := tunnel.Open(t.Context(), c, "/x", http.Header{})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	c := open()
	defer c.Close()
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() { c.Write(text); c.CloseWrite() }()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, append([]byte("welcome;"), text...)) {
		t.Errorf("%d bytes came back, want %d: %v", len(got), len("welcome;")+len(text), err)
	}
	if let.Load() != 1 {
		t.Error("a reader who is slow is cut off")
	}
	c = open()
	defer c.Close()
	p.forward.Follow("127.0.0.1:1")
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("with another leader: %v", err)
	}
}
