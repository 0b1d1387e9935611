package steps

import (
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"fsub/cloud/pmi/pmix"
)

// crowded is a listener of a process that has too many open files for a while.
type crowded struct {
	net.Listener
	failures atomic.Int32 // to come
	conns    chan net.Conn
}

func (l *crowded) Accept() (net.Conn, error) {
	if l.failures.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// TestAcceptAgain: want of open files passes, and MPI tasks that come afterwards are served, until the listener is closed.
func TestAcceptAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &crowded{conns: make(chan net.Conn)}
		l.failures.Store(3)
		p := &pmixServer{l: l, s: pmix.New(pmix.Step{Secret: "s", Hosts: []string{"n1"}, Ranks: [][]int{{0}}}, nil)}
		ended := make(chan struct{})
		go func() {
			p.accept()
			close(ended)
		}()
		here, there := net.Pipe()
		select {
		case l.conns <- there:
		case <-ended:
			t.Fatal("it takes no connections any more")
		}
		here.Close()
		close(l.conns)
		<-ended
	})
}
