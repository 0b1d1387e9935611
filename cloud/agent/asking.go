package agent

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"fsub/cloud/agentapi"
)

const (
	answerTime = 3 * time.Second        // how long an order waits at most for a command that may have asked for it
	idleTime   = time.Second            // how long a command may take to exit after its answer
	readTime   = 100 * time.Millisecond // for the script to go on when the command has exited; slurmctld's SIGTERM comes about as late
)

// asking are the connections of a run's commands that have asked for a change. A command that cancels, requeues or signals its own job is to exit with the answer
// before the job feels it.
type asking struct {
	mu    sync.Mutex
	n     uint64
	conns map[net.Conn]uint64 // the number of the last request of each
	none  chan struct{}       // closed when there are none any more; nil: there are none
}

type connKey struct{}

// watch has a server note its connections here.
func (a *asking) watch(s *http.Server) {
	next := s.Handler
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
	s.ConnState = a.state
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok && r.Method != http.MethodGet && r.Method != http.MethodHead {
			a.begin(c)
		}
		next.ServeHTTP(w, r)
	})
}

func (a *asking) begin(c net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.conns) == 0 {
		a.conns, a.none = map[net.Conn]uint64{}, make(chan struct{})
	}
	a.n++
	a.conns[c] = a.n
}

// state hears that a connection has its answer, or is closed.
func (a *asking) state(c net.Conn, s http.ConnState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, asks := a.conns[c]
	switch {
	case !asks:
	case s == http.StateIdle: // it may be a program that goes on
		time.AfterFunc(idleTime, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.conns[c] == n {
				a.drop(c)
			}
		})
	case s == http.StateClosed, s == http.StateHijacked:
		a.drop(c)
	}
}

// drop forgets a connection. a.mu is held.
func (a *asking) drop(c net.Conn) {
	if delete(a.conns, c); len(a.conns) == 0 {
		close(a.none)
		a.none = nil
	}
}

// answered returns what is closed when the commands that have asked have exited, or do not soon; nil: none has asked.
func (a *asking) answered() <-chan struct{} {
	a.mu.Lock()
	none := a.none
	a.mu.Unlock()
	if none == nil {
		return nil
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		late := time.NewTimer(answerTime)
		defer late.Stop()
		select {
		case <-none:
			time.Sleep(readTime)
		case <-late.C:
		}
	}()
	return answered
}

// held is an order that waits for the answer of a command of the run. Others wait behind it.
type held struct {
	until <-chan struct{} // nil: none waits
	do    func()
}

// hold carries out an order: at once, or when the commands that may have asked for it have their answers.
func (h *held) hold(a *asking, do func()) {
	if h.until = a.answered(); h.until == nil {
		do()
		return
	}
	h.do = do
}

// release carries out the order that waits.
func (h *held) release() {
	h.until = nil
	h.do()
}

// byUser reports whether a stop may have been asked for by a command of the job.
func byUser(s agentapi.Stop) bool { return s.Why == agentapi.WhyCancel || s.Why == agentapi.WhyRequeue }
