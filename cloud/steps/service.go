package steps

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/agentapi"
	"fsub/cloud/steps/wire"
)

// Service is the step service of one machine. It implements [Steps].
type Service struct {
	c        Config
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu   sync.Mutex
	runs map[string]*run // by the run's ID
}

// run is a run on this machine.
type run struct {
	Run
	keys   *keys
	socket net.Listener
	ctx    context.Context
	cancel context.CancelFunc
	books  *books // of the gang's first machine
	log    *slog.Logger
	local  atomic.Int32 // step daemons that live on this machine
}

// helloTimeout bounds what comes before a connection's first frame.
const helloTimeout = 10 * time.Second

// New listens for the services of other machines.
func New(c Config) (*Service, error) {
	if len(c.Daemon) == 0 {
		return nil, errors.New("steps: no command line for step daemons")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for steps: %w", err)
	}
	s := &Service{c: c, listener: l, runs: map[string]*run{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(s.accept)
	return s, nil
}

// Addr is IP:PORT.
func (s *Service) Addr() string { return s.listener.Addr().String() }

// Close kills what all runs' steps have on this machine.
func (s *Service) Close() error {
	s.mu.Lock()
	var names []string
	for name := range s.runs {
		names = append(names, name)
	}
	s.mu.Unlock()
	for _, name := range names {
		s.RemoveRun(name)
	}
	s.cancel()
	err := s.listener.Close()
	s.wg.Wait()
	return err
}

// AddRun implements [Steps].
func (s *Service) AddRun(r Run) ([]string, error) {
	l := r.Launch
	if l == nil || l.Group >= len(l.Groups) || l.Node >= len(l.Groups[l.Group].Nodes) {
		return nil, errors.New("steps: the run does not say which of its nodes this is")
	}
	k, err := newKeys(l.Key, l.Run)
	if err != nil {
		return nil, fmt.Errorf("steps of run %s: %w", l.Run, err)
	}
	path := filepath.Join(r.Dir, "steps")
	socket, err := listenUnix(path, int(l.User.UID))
	if err != nil {
		return nil, fmt.Errorf("steps of run %s: %w", l.Run, err)
	}
	env := SocketEnv + "=" + path
	r.Env = append(r.Env[:len(r.Env):len(r.Env)], env)
	n := &run{Run: r, keys: k, socket: socket, log: s.c.Logger.With("job", l.Job)}
	if l.Group == 0 && l.Node == 0 {
		n.books = newBooks(l)
	}
	n.ctx, n.cancel = context.WithCancel(s.ctx)
	s.mu.Lock()
	old := s.runs[l.Run]
	if old == nil {
		s.runs[l.Run] = n
	}
	s.mu.Unlock()
	if old != nil {
		socket.Close()
		return nil, fmt.Errorf("steps: run %s is here already", l.Run)
	}
	s.wg.Go(func() { s.acceptJob(n) })
	return []string{env}, nil
}

// RemoveRun implements [Steps].
func (s *Service) RemoveRun(name string) {
	s.mu.Lock()
	r := s.runs[name]
	delete(s.runs, name)
	s.mu.Unlock()
	if r == nil {
		return
	}
	r.cancel()
	r.socket.Close()
	for range 1000 { // a daemon ends when its tasks have; one that hangs in the kernel must not hold up the machine
		if r.local.Load() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.log.Warn("step daemons do not end", "daemons", r.local.Load())
}

// Local implements [Steps].
func (s *Service) Local(name string) int {
	if r := s.run(name); r != nil {
		return int(r.local.Load())
	}
	return 0
}

func (s *Service) run(name string) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[name]
}

// accept takes connections of other machines.
func (s *Service) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() { s.serveNode(c) })
	}
}

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
	in := wire.NewReader(bufio.NewReaderSize(t, 16<<10))
	first, err := in.Read()
	t.SetDeadline(time.Time{})
	switch {
	case err != nil:
		r.log.Warn("a connection for steps broke", "from", c.RemoteAddr(), "err", err)
	case first.Kind == wire.Launch:
		s.startNode(r, t, in, first)
		linger(t)
	case first.Kind == wire.Create && r.books != nil:
		s.serveStep(r, t, in, first)
		linger(t)
	}
}

// linger waits for the other side to close: a connection that is closed while something of the other side is still unread is reset, and what
// was written last is lost.
func linger(t *tls.Conn) {
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

// acceptJob takes connections of the job's own srun.
func (s *Service) acceptJob(r *run) {
	for {
		c, err := r.socket.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() { s.serveJob(r, c.(*net.UnixConn)) })
	}
}

// serveJob is an srun on this machine. Steps are the first machine's to make.
func (s *Service) serveJob(r *run, c *net.UnixConn) {
	defer c.Close()
	if uid, err := peer(c); err != nil || uid != r.Launch.User.UID && uid != uint32(os.Geteuid()) {
		r.log.Warn("a process of another user asked for a step", "uid", uid, "err", err)
		return
	}
	stop := context.AfterFunc(r.ctx, func() { c.Close() })
	defer stop()
	in := wire.NewReader(bufio.NewReaderSize(c, 16<<10))
	first, err := in.Read()
	if err != nil || first.Kind != wire.Create {
		return
	}
	if r.books != nil {
		s.serveStep(r, c, in, first)
		return
	}
	s.relay(r, c, in, first)
}

// relay passes an srun of this machine on to the first one.
func (s *Service) relay(r *run, c net.Conn, in *wire.Reader, first wire.Frame) {
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
	pass(out, wire.NewReader(bufio.NewReaderSize(leader, 64<<10)))
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

// Signal implements [Steps].
func (s *Service) Signal(name, step string, sig syscall.Signal) error {
	r := s.run(name)
	if r == nil || r.books == nil {
		return fmt.Errorf("steps: run %s is not led here", name)
	}
	for _, a := range r.books.live(step) {
		a.toNodes(wire.Signal, uint32(sig), nil)
	}
	return nil
}

// Stop implements [Steps].
func (s *Service) Stop(name string, stop Stop) {
	if r := s.run(name); r != nil && r.books != nil {
		r.books.close()
		for _, a := range r.books.live("") {
			a.stop(stop)
		}
	}
}

// Status implements [Steps].
func (s *Service) Status(name string) []agentapi.Step {
	if r := s.run(name); r != nil && r.books != nil {
		return r.books.status()
	}
	return nil
}
