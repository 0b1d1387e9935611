// Package tunnel carries bytes in both directions over a connection that began as an HTTP/1.1 request: [Open] asks for one, [Accept] takes it over at the server,
// and [Join] connects two of them. What the bytes mean is the ends' business: nothing here reads or logs them. A side that does not read holds up the other one,
// and no more than two buffers are in memory.
package tunnel

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Protocol is what a request asks to be upgraded to.
const Protocol = "fsub-tunnel"

// ErrNone: the server has no such tunnel. To ask again is of no use.
var ErrNone = errors.New("no such tunnel")

// answerTime bounds the answer to a request for a tunnel, longer than a server waits for the other end.
const answerTime = 30 * time.Second

// Conn is a connection that was taken over. Its reader may hold what came with the request.
type Conn struct {
	net.Conn
	in *bufio.Reader // nil: it is empty
}

func (c *Conn) Read(p []byte) (int, error) {
	if c.in != nil {
		if c.in.Buffered() > 0 {
			return c.in.Read(p)
		}
		c.in = nil
	}
	return c.Conn.Read(p)
}

// WriteTo is for [io.Copy], which lets the kernel copy from what is not wrapped.
func (c *Conn) WriteTo(w io.Writer) (n int64, err error) {
	if c.in != nil {
		if n, err = io.CopyN(w, c.in, int64(c.in.Buffered())); err != nil {
			return n, err
		}
		c.in = nil
	}
	more, err := io.Copy(w, c.Conn)
	return n + more, err
}

// CloseWrite tells the other side that nothing more comes.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// Asked reports whether a request asks for a tunnel.
func Asked(r *http.Request) bool {
	return r.ProtoMajor == 1 && strings.EqualFold(r.Header.Get("Upgrade"), Protocol)
}

// Accept answers a request that asks for a tunnel, and takes its connection over.
func Accept(w http.ResponseWriter) (*Conn, error) {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("take the connection over: %w", err)
	}
	Settle(c)
	if _, err := io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+Protocol+"\r\n\r\n"); err != nil {
		c.Close()
		return nil, err
	}
	return &Conn{c, rw.Reader}, nil
}

// Settle prepares a server's connection for a tunnel: it ends the deadlines and the bounds on how slowly the client reads, and has the kernel notice a client that is gone.
func Settle(c net.Conn) {
	unhurry(c)
	_ = c.SetDeadline(time.Time{})
	keepAlive(c)
}

// Open asks the server at the other side of c for a tunnel. An answer other than 101 is an error with the server's text, ErrNone for 404. c is closed
// where it fails.
func Open(ctx context.Context, c net.Conn, path string, header http.Header) (*Conn, error) {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	_ = c.SetDeadline(time.Now().Add(answerTime))
	r, err := http.NewRequest(http.MethodPost, "http://server"+path, nil)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	r.Header = header.Clone()
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", Protocol)
	in := bufio.NewReader(c)
	err = r.Write(c)
	var answer *http.Response
	if err == nil {
		answer, err = http.ReadResponse(in, r)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("ask for a tunnel: %w", err)
	case answer.StatusCode != http.StatusSwitchingProtocols:
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
		if err = fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(text))); answer.StatusCode == http.StatusNotFound {
			err = fmt.Errorf("%w: %w", ErrNone, err)
		}
	default:
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	keepAlive(c)
	return &Conn{c, in}, nil
}

// A side that is gone without a word (a machine that was taken, a network that broke) is noticed within about five seconds.
var alive = net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3}

// keepAlive has the kernel ask whether the other side is there. A unix socket's always is, or is closed.
func keepAlive(c net.Conn) {
	for ; c != nil; c = inner(c) {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetKeepAliveConfig(alive) // it works without
		}
	}
}

// unhurry ends the bounds that a listener has on how slowly its clients read.
func unhurry(c net.Conn) {
	for ; c != nil; c = inner(c) {
		if u, ok := c.(interface{ Unhurried() }); ok {
			u.Unhurried()
		}
	}
}

// inner is the connection that c wraps; nil: none.
func inner(c net.Conn) net.Conn {
	if w, ok := c.(interface{ NetConn() net.Conn }); ok {
		return w.NetConn()
	}
	return nil
}

// End is one side of a tunnel: a connection that can be closed for writing alone.
type End interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// Join passes bytes between a and b until both directions have ended, one has failed, or ctx is done. It closes both.
func Join(ctx context.Context, a, b End) {
	both := func() { a.Close(); b.Close() }
	stop := context.AfterFunc(ctx, both)
	defer stop()
	defer both()
	ended := make(chan error, 2)
	pass := func(to, from End) {
		_, err := io.Copy(to, from)
		ended <- errors.Join(err, to.CloseWrite())
	}
	go pass(a, b)
	go pass(b, a)
	if <-ended != nil {
		both()
	}
	<-ended
}
