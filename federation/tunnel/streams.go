package tunnel

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// Streams is how many connections share one: the configuration of yamux at both ends of a forwarded port. Its own log stays empty: what fails shows in the streams.
func Streams() *yamux.Config {
	c := yamux.DefaultConfig()
	c.LogOutput = io.Discard
	c.AcceptBacklog = 64
	c.EnableKeepAlive = false // the tunnel below notices who is gone
	c.StreamOpenTimeout = time.Minute
	return c
}

// Stdio is a connection that reads from one and writes to another. It is closed by the end of its reader.
func Stdio(in io.Reader, out io.Writer) io.ReadWriteCloser { return stdio{in, out} }

type stdio struct {
	io.Reader
	io.Writer
}

// Close implements io.Closer. It closes what can be closed, so that who reads there is told.
func (s stdio) Close() error {
	for _, end := range []any{s.Reader, s.Writer} {
		if c, ok := end.(io.Closer); ok {
			c.Close()
		}
	}
	return nil
}

// Pipe copies in both directions until both have ended, and closes both.
func Pipe(a, b net.Conn) {
	var both sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
			return
		}
		_ = to.Close() // of a yamux stream that is its end for writing alone
	}
	both.Go(func() { pass(a, b) })
	both.Go(func() { pass(b, a) })
	both.Wait()
	a.Close()
	b.Close()
}
