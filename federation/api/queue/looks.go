package queue

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// looks are those at the store: one at a time, each for all who have asked before it began.
type looks struct {
	turn  chan struct{} // holds one while somebody looks
	begun atomic.Int64  // how many have begun
	last  int64         // which of them was the last that ended well; for who has the turn

	asOf   atomic.Pointer[time.Time] // when that began; nil: none has ended well
	failed atomic.Bool               // the newest has not
}

// share has look be called, unless another call that has begun since has ended well.
func (l *looks) share(ctx context.Context, look func() error) error {
	begun := l.begun.Load()
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	if l.last > begun {
		return nil
	}
	this, now := l.begun.Add(1), time.Now()
	if err := look(); err != nil {
		if ctx.Err() == nil { // else nobody waits for more, which says nothing of the store
			l.failed.Store(true)
		}
		return err
	}
	l.last = this
	l.asOf.Store(&now)
	l.failed.Store(false)
	return nil
}

// Fails reports whether the newest look at the store has failed.
func (l *looks) Fails() bool { return l.failed.Load() }

// Behind reports whether more is to be read than a list could wait for: it is under way, or the database does not answer.
func (l *looks) Behind() bool { return l.Lag() > readsWithin }

// Lag is how old what was read is at most: the time since all was read that there was.
func (l *looks) Lag() time.Duration {
	at := l.asOf.Load()
	if at == nil {
		return math.MaxInt64
	}
	return time.Since(*at)
}
