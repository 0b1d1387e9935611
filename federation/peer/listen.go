package peer

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// Listener is where the other daemons reach this one. It listens for as long as the daemon's process lives, whether the daemon leads or not: a refused
// connection proves that the process has ended ([Gone]). What comes for the leader while the daemon does not lead is closed, and sent again by its [Forwarder];
// what is for this daemon itself is answered ([Listener.ServeDirect]).
type Listener struct {
	l net.Listener

	mu     sync.Mutex
	term   *termListener // nil: this daemon does not lead
	direct *termListener // for connections to this daemon itself; nil: it takes none
}

// Listen listens on HOST:PORT.
func Listen(address string) (*Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	pl := &Listener{l: l}
	go pl.accept()
	return pl, nil
}

// Close ends it.
func (l *Listener) Close() error { return l.l.Close() }

// Term takes the connections from now on until it is closed: while the daemon leads.
func (l *Listener) Term() net.Listener {
	t := &termListener{of: l, conns: make(chan net.Conn), closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.term = t
	return t
}

func (l *Listener) accept() {
	for {
		c, err := l.l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // there are too many open files
			time.Sleep(again)
			continue
		}
		l.mu.Lock()
		t, own := l.term, l.direct
		l.mu.Unlock()
		if (t == nil || !t.give(c)) && (own == nil || !own.give(c)) {
			c.Close()
		}
	}
}

// termListener is one term's share of a Listener.
type termListener struct {
	of     *Listener
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (t *termListener) give(c net.Conn) bool {
	select {
	case t.conns <- c:
		return true
	case <-t.closed:
		return false
	}
}

// Accept implements net.Listener.
func (t *termListener) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (t *termListener) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

// Addr implements net.Listener.
func (t *termListener) Addr() net.Addr { return t.of.l.Addr() }

// goneTime bounds the question: a kernel that answers does so at once.
const goneTime = 500 * time.Millisecond

// Gone reports whether nobody listens at an address for sure: the kernel of the other machine itself says so, at each IP address that the name has. Whatever
// else may fail, such as a machine that does not answer, proves nothing.
func Gone(ctx context.Context, address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, goneTime)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return false
	}
	for _, a := range addrs {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(a, port))
		if err == nil {
			c.Close()
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return false
		}
	}
	return len(addrs) > 0
}
