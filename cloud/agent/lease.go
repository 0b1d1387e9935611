package agent

import (
	"context"
	"sync"
	"time"

	"fsub/cloud/agentapi"
)

// lease is how long the machine may go on without hearing of its daemon. It counts from the
// beginning of a request that was answered: then, at the latest, the daemon knew of the machine.
type lease struct {
	mu     sync.Mutex
	length time.Duration
	until  time.Time
	grace  time.Duration // the longest KillWait of all runs
	dead   *deadman      // nil: there is none
}

// guard has the kernel kill the agent when it should have ended by itself: when its lease has
// lapsed, and what KillWait gives its runs, and a little more.
func (l *lease) guard() (stop func(), err error) {
	d, err := newDeadman()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = d
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.dead = nil
		d.close()
	}, l.arm()
}

// arm is called with the lock held. What it adds is less than what a daemon waits over lease and KillWait.
func (l *lease) arm() error {
	if l.dead == nil {
		return nil
	}
	late := min(max(l.length/3, 3*time.Second), 10*time.Second)
	return l.dead.set(max(time.Until(l.until)+l.grace+late, time.Second))
}

// allow lets a run with a KillWait begin.
func (l *lease) allow(grace time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if grace > l.grace {
		l.grace = grace
		_ = l.arm() // it went before
	}
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
		_ = l.arm() // it went before
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
