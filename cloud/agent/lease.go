package agent

import (
	"context"
	"sync"
	"time"

	"fsub/cloud/agentapi"
)

// lease is how long the machine may go on without hearing of its daemon. It counts from the beginning of a request that was answered: then, at the
// latest, the daemon knew of the machine.
type lease struct {
	mu     sync.Mutex
	length time.Duration
	until  time.Time
}

func newLease(began time.Time, length time.Duration) *lease {
	l := &lease{}
	l.renew(began, length)
	return l
}

// renew is called with every good answer; length 0 is what it was.
func (l *lease) renew(began time.Time, length time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if length > 0 {
		l.length = length
	}
	if until := began.Add(l.length); until.After(l.until) {
		l.until = until
	}
}

func (l *lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Until(l.until)
}

// third is the part of the lease that a request may take, so that there is time for another.
func (l *lease) third() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.length / 3
}

// watchLease ends the machine when the lease lapses.
func (a *Agent) watchLease(ctx context.Context) {
	for {
		left := a.lease.left()
		if left <= 0 {
			a.endMachine("the lease lapsed: the daemon was not heard", agentapi.WhyLease)
			return
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
}
