package srun

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"fsub/cloud/steps/wire"
)

// caught are the signals that mean something to a step.
var caught = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
	syscall.SIGCONT, syscall.SIGPIPE, syscall.SIGWINCH}

// catchSignals passes signals on to the tasks, in srun's way.
func (s *session) catchSignals() (stop func()) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, caught...)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-c:
				s.signalled(sig.(syscall.Signal))
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(c); close(done) }
}

func (s *session) signalled(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil { // it waits for CPUs
		if sig != syscall.SIGCONT && sig != syscall.SIGWINCH {
			s.info("Cancelled pending job step with signal " + signalNumber(sig))
			go s.out.Write(wire.Kill, 0, nil)
		}
		return
	}
	switch sig {
	case syscall.SIGINT:
		s.interrupted()
	case syscall.SIGQUIT:
		s.info("Quit")
		s.abort()
	case syscall.SIGTERM, syscall.SIGHUP:
		s.abort()
	case syscall.SIGCONT:
		s.info("got SIGCONT")
	case syscall.SIGPIPE:
	case syscall.SIGWINCH:
		if s.first.pty {
			if size, err := winsize(s.stdin); err == nil {
				go s.out.WriteJSON(wire.Window, 0, size)
			}
		}
	default:
		go s.out.Write(wire.Signal, uint32(sig), nil)
	}
}

// interrupted: the first Ctrl-C tells how it stands, a second one within a second ends the step.
func (s *session) interrupted() {
	now := time.Now()
	if s.first.noStatus || s.first.quit || now.Sub(s.lastInt) <= time.Second {
		s.info("sending Ctrl-C to StepId=" + s.name())
		go s.out.Write(wire.Signal, uint32(syscall.SIGINT), nil)
		s.info("forcing job termination")
		s.abortWords()
		grace := time.Duration(s.layout.GraceMS) * time.Millisecond
		time.AfterFunc(min(grace, time.Second), func() { s.out.Write(wire.Kill, 0, nil) })
		return
	}
	s.lastInt = now
	s.info("interrupt (one more within 1 sec to abort)")
	s.sayStates()
}

// abort kills the step.
func (s *session) abort() {
	if s.aborted {
		return
	}
	s.info("forcing job termination")
	s.abortWords()
	s.kill(0)
}

func signalNumber(sig syscall.Signal) string {
	n := int(sig)
	if n < 10 {
		return string(rune('0' + n))
	}
	return string(rune('0'+n/10)) + string(rune('0'+n%10))
}
