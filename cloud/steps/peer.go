package steps

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/steps/wire"
)

// serveNode is a connection of another machine: a step to start here, or a request of an srun there.
func (s *Service) serveNode(c net.Conn) {
	defer c.Close()
	var r *run
	config := &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		if r = s.runByName(h.ServerName); r == nil {
			return nil, errors.New("no such gang here")
		}
		return r.keys.config(), nil
	}}
	t := tls.Server(c, config)
	t.SetDeadline(time.Now().Add(helloTimeout))
	if err := t.HandshakeContext(s.ctx); err != nil {
		s.c.Logger.Warn("a connection for steps was refused", "from", c.RemoteAddr(), "err", err)
		return
	}
	stop := context.AfterFunc(r.ctx, func() { c.Close() })
	defer stop()
	h := r.memory.holding()
	defer h.close()
	in := h.frames(wire.NewReader(bufio.NewReaderSize(t, 16<<10)))
	first, err := in.Read()
	t.SetDeadline(time.Time{})
	switch {
	case errors.Is(err, errMemory):
		wire.NewWriter(t).Write(wire.Refused, 0, []byte(err.Error()))
		linger(t)
	case err != nil:
		r.log.Warn("a connection for steps broke", "from", c.RemoteAddr(), "err", err)
	case first.Kind == wire.Launch:
		s.startNode(r, t, in, first)
		linger(t)
	case first.Kind == wire.Create && r.table != nil:
		s.serveStep(r, t, in, h, first)
		linger(t)
	}
}

// linger waits for the other side to close: a connection that is closed while something of the
// other side is still unread is reset, and what was written last is lost.
func linger(t interface {
	net.Conn
	CloseWrite() error
}) {
	t.CloseWrite()
	t.SetReadDeadline(time.Now().Add(helloTimeout))
	io.Copy(io.Discard, t)
}

func (s *Service) runByName(name string) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		if r.keys.name == name {
			return r
		}
	}
	return nil
}

// relay passes an srun of this machine on to the first one.
func (s *Service) relay(r *run, c net.Conn, in *wire.Reader, h *holding, first wire.Frame) {
	out := wire.NewWriter(c)
	leader, err := s.dial(r, r.Launch.Groups[0].Nodes[0].Steps)
	if err != nil {
		out.Write(wire.Refused, 0, []byte("the first node of the job does not answer: "+err.Error()))
		return
	}
	defer leader.Close()
	to := wire.NewWriter(leader)
	if to.Write(first.Kind, first.N, first.Payload) != nil {
		return
	}
	s.wg.Go(func() {
		defer leader.Close()
		pass(to, in)
	})
	pass(out, h.frames(wire.NewReader(bufio.NewReaderSize(leader, 64<<10))))
}

// pass copies frames until an end.
func pass(to *wire.Writer, from *wire.Reader) {
	for {
		f, err := from.Read()
		if err != nil || to.Write(f.Kind, f.N, f.Payload) != nil {
			return
		}
	}
}

// dial connects to the service of another node of the gang.
func (s *Service) dial(r *run, addr string) (net.Conn, error) {
	if addr == "" {
		return nil, errors.New("it takes no steps")
	}
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: helloTimeout}, Config: r.keys.config()}
	return d.DialContext(r.ctx, "tcp", addr)
}

// peer is the user on the other side of a unix socket.
func peer(c *net.UnixConn) (uid uint32, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	err2 := raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid = cred.Uid
		}
	})
	return uid, errors.Join(err, err2)
}
