//go:build remote

package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"fsub/cmd/internal/conn/far"
)

// findServers has c connect to what the environment and the files of this machine name, if anything.
func (c *Conn) findServers(env []string) {
	at, err := find(env)
	if err != nil {
		c.fault = err
	} else if len(at.Servers) > 0 {
		c.use(at)
	}
}

// dial connects as [far.Dial] says. It takes at most within; timeout bounds each send and each wait after that.
func dial(address, ca string, within, timeout time.Duration) (io.ReadWriteCloser, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	c, err := far.Dial(ctx, address, ca)
	if err != nil {
		return nil, err
	}
	return &timed{c, timeout}, nil
}

// credential has munged make a credential for one request to the daemon that has shown its certificate.
func (c *Conn) credential() (string, error) {
	print := far.Fingerprint(c.tls.(*timed).Conn.(*tls.Conn))
	name, value, err := far.Credential(c.site, c.munged, print, c.timeout)
	return name + ": " + value + "\r\n", err
}

// timed bounds each send and each wait.
type timed struct {
	net.Conn
	timeout time.Duration
}

func (t *timed) Read(p []byte) (int, error) {
	if err := t.SetReadDeadline(time.Now().Add(t.timeout)); err != nil {
		return 0, err
	}
	return t.Conn.Read(p)
}

func (t *timed) Write(p []byte) (int, error) {
	if err := t.SetWriteDeadline(time.Now().Add(t.timeout)); err != nil {
		return 0, err
	}
	return t.Conn.Write(p)
}

// untimed is the connection without its time-outs. A daemon that is gone without a word is noticed in about five seconds.
func untimed(c io.ReadWriteCloser) io.ReadWriteCloser {
	t, ok := c.(*timed)
	if !ok {
		return c
	}
	_ = t.SetDeadline(time.Time{})
	if s, ok := t.Conn.(*tls.Conn); ok {
		if tcp, ok := s.NetConn().(*net.TCPConn); ok {
			_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3}) // it works without
		}
	}
	return t.Conn
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// answered reports whether the daemon may have answered although it did not take all that was sent.
func answered(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
