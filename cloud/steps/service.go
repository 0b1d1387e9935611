package steps

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

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
	keys    *keys
	socket  net.Listener
	ctx     context.Context
	cancel  context.CancelFunc
	table   *table // of the gang's first machine
	memory  *memory
	log     *slog.Logger
	local   atomic.Int32 // step daemons that live on this machine
	daemons sync.Map     // those: *os.Process
}

// helloTimeout bounds what comes before a connection's first frame.
const helloTimeout = 30 * time.Second

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
	ended := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(closeTime): // what hangs in the kernel must not keep the machine
	}
	return err
}

// closeTime bounds Close.
const closeTime = 10 * time.Second

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
	env := []string{SocketEnv + "=" + path}
	if r.Commands != "" {
		env = append(env, CommandsEnv+"="+r.Commands)
	}
	r.Env = append(r.Env[:len(r.Env):len(r.Env)], env...)
	n := &run{Run: r, keys: k, socket: socket, memory: newMemory(), log: s.c.Logger.With("job", l.Job)}
	if l.Group == 0 && l.Node == 0 {
		n.table = newTable(l)
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
	return env, nil
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
	for i := range 1000 { // a daemon ends when its tasks have; one that hangs in the kernel must not hold up the machine
		if r.local.Load() == 0 {
			return
		}
		if i > 300 { // daemons are the user's processes, and may have been stopped
			r.killDaemons()
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.log.Warn("step daemons do not end", "daemons", r.local.Load())
}

// killDaemons kills the step daemons with all that descends from them.
func (r *run) killDaemons() {
	r.daemons.Range(func(p, _ any) bool {
		daemon := p.(*os.Process)
		if daemon.Signal(syscall.Signal(0)) == nil { // the number is its own still
			for _, child := range descendants(daemon.Pid) {
				syscall.Kill(child, syscall.SIGKILL)
			}
			daemon.Kill()
		}
		return true
	})
}

// Local implements [Steps].
func (s *Service) Local(name string) int {
	if r := s.run(name); r != nil {
		return int(r.local.Load())
	}
	return 0
}

// Processes implements [Steps].
func (s *Service) Processes(name string) (pids []int) {
	if r := s.run(name); r != nil {
		r.daemons.Range(func(p, _ any) bool {
			pids = append(pids, p.(*os.Process).Pid)
			return true
		})
	}
	return pids
}

func (s *Service) run(name string) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[name]
}

// accept takes connections of other machines.
func (s *Service) accept() {
	for {
		c, err := accept(s.listener)
		if err != nil {
			return
		}
		s.wg.Go(func() { s.serveNode(c) })
	}
}

// maxSruns is how many of a run's sruns are served at one time; more of them wait. The agent has
// only so many open files, and other runs beside it.
const maxSruns = 4096

// acceptJob takes connections of the job's own srun.
func (s *Service) acceptJob(r *run) {
	room := make(chan struct{}, maxSruns)
	for {
		room <- struct{}{} // the run's end ends those that are served
		c, err := accept(r.socket)
		if err != nil {
			return
		}
		s.wg.Go(func() {
			defer func() { <-room }()
			s.serveJob(r, c.(*net.UnixConn))
		})
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
	h := r.memory.holding()
	defer h.close()
	in := h.frames(wire.NewReader(bufio.NewReaderSize(c, 16<<10)))
	first, err := in.Read()
	switch {
	case errors.Is(err, errMemory):
		wire.NewWriter(c).Write(wire.Refused, 0, []byte(err.Error()))
		linger(c)
	case err != nil || first.Kind != wire.Create:
	case r.table != nil:
		s.serveStep(r, c, in, h, first)
	default:
		s.relay(r, c, in, h, first)
	}
}
