// Package leader decides which of several daemons that share a database plans and speaks to the sites: the one that holds a lease, a row of a table that
// names it, with an epoch that grows with each holder. The database's clock says when a lease is over; no daemon's clock is compared with another's. Before that
// it passes to another daemon only if its holder gives it up, or if the holder's process has ended for sure.
//
// The lease alone protects nothing: a process may be stopped between a look at it and what it does next. So every commit of the leader looks at the row
// again and locks it ([Fence]). The context of the leader's work ends with the trust in its [Term], before the lease does: calls to sites end with it. One of a
// daemon that was stopped in the middle of it may still arrive late; the site refuses what it has already, by the job's ID.
package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Lease times. A daemon that hangs or is cut off is followed by another after TTL at most, one that steps down at once, and one that was killed as soon as that is
// sure ([Elector.Dead]).
const (
	TTL    = 5 * time.Second         // for which a lease is given
	Renew  = 1500 * time.Millisecond // after which it is renewed
	Margin = 500 * time.Millisecond  // by which trust in it ends before it
	// Longest is for how long it is given at most, where the database takes so long to record it that it could not be renewed within TTL.
	Longest = 30 * time.Second
)

var (
	// ErrHeld: another daemon holds the lease.
	ErrHeld = errors.New("another daemon leads")
	// ErrLost: the lease is over, or another daemon has it.
	ErrLost = errors.New("this daemon does not lead any more")
)

// Holder is who holds the lease.
type Holder struct {
	Name    string // of the daemon, unique among those that share the database
	Address string // where it answers; "": on its own machine only
}

// Lease is the lease as the database has it.
type Lease struct {
	Holder
	Epoch int64
	Left  time.Duration // until it is over, by the database's clock; 0 or less: it is over
	Gone  bool          // the connection on which it was renewed last has ended
}

// Table keeps the lease. [Postgres] is one.
type Table interface {
	// Take takes the lease for ttl and returns its new epoch. ErrHeld: another holds it.
	Take(ctx context.Context, h Holder, ttl time.Duration) (epoch int64, err error)
	// TakeFrom takes the lease of an epoch that is not over. ErrHeld: it is another epoch's by now, or the connection of its holder has not ended.
	TakeFrom(ctx context.Context, epoch int64, h Holder, ttl time.Duration) (int64, error)
	// Extend has the lease of an epoch last for ttl from now, or as long as it does if that is longer: its holder may not hear of this, and counts on what it was given before.
	// ErrLost: it is over, or another daemon has it.
	Extend(ctx context.Context, epoch int64, ttl time.Duration) error
	// Resign ends the lease of an epoch now. It is no error if it was over.
	Resign(ctx context.Context, epoch int64) error
	// Read returns the lease as it is.
	Read(ctx context.Context) (Lease, error)
}

// Elector has this daemon lead when no other does.
type Elector struct {
	Table Table
	Self  Holder
	Log   *slog.Logger
	// Times; 0: [TTL], [Renew] and [Margin].
	TTL, Renew, Margin time.Duration
	// Dead reports whether the process of a holder has ended for sure, so that it can use its lease no more. It is asked when the holder's connection to the database
	// has ended. Nil: that is never known.
	Dead func(context.Context, Holder) bool
	// Tried is told how each try to take the lease has ended: nil, ErrHeld, or why the database could not be asked. Nil: nobody is.
	Tried func(error)
	// StandBy is told which other daemon leads, each time that this changes. Nil: nobody is.
	StandBy func(Lease)

	pace pace
}

// Lead waits until this daemon leads, and calls lead with a context that ends with the trust in its lease: its cause is ErrLost then. Once lead has returned
// the lease is given up. It returns what lead has returned, or ctx's error where it never came to lead.
func (e *Elector) Lead(ctx context.Context, lead func(context.Context, *Term) error) error {
	e.complete()
	t, err := e.wait(ctx)
	if err != nil {
		return err
	}
	e.Log.Info("this daemon is to lead", "epoch", t.Epoch, "name", e.Self.Name)
	leading, end := context.WithCancelCause(ctx)
	defer end(nil)
	kept := make(chan struct{})
	keeping, stop := context.WithCancel(leading)
	go func() {
		defer close(kept)
		end(e.keep(keeping, t))
	}()
	err = lead(leading, t)
	stop()
	<-kept
	if resignErr := e.resign(ctx, t.Epoch); resignErr != nil {
		e.Log.Warn("the lease could not be given up: another daemon takes it when it is over", "err", resignErr)
	}
	lost := context.Cause(leading)
	switch {
	case !errors.Is(lost, ErrLost):
		return err
	case err == nil || errors.Is(err, context.Canceled):
		return lost
	}
	return fmt.Errorf("%w: %w", lost, err) // what fails after that fails because of it
}

func (e *Elector) complete() {
	if e.TTL == 0 {
		e.TTL, e.Renew, e.Margin = TTL, Renew, Margin
	}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
}

// wait takes the lease as soon as no other daemon has it.
func (e *Elector) wait(ctx context.Context) (*Term, error) {
	var last Lease
	for {
		began, ttl := time.Now(), e.pace.lease(e.TTL)
		epoch, err := e.take(ctx, &last, ttl)
		var t *Term
		if err == nil {
			e.took(time.Since(began))
			if t = newTerm(epoch, began.Add(e.trusted(ttl))); !t.Trusted() {
				err = fmt.Errorf("%w: it took %s to record who leads", errSlow, time.Since(began).Round(100*time.Millisecond))
			}
		}
		if e.Tried != nil {
			e.Tried(err)
		}
		switch {
		case err == nil:
			return t, nil
		case errors.Is(err, errSlow):
			e.Log.Warn("the lease was granted too late to be trusted; trying again", "epoch", epoch, "err", err)
			e.resign(ctx, epoch)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.Is(err, ErrHeld):
			e.Log.Warn("the lease cannot be asked for; trying again", "err", err)
		}
		if err := sleep(ctx, e.pause(last)); err != nil {
			return nil, err
		}
	}
}

// take takes the lease when it is over, or before that from a holder that has surely ended. It notes in last who has it.
func (e *Elector) take(ctx context.Context, last *Lease, ttl time.Duration) (int64, error) {
	epoch, err := e.Table.Take(ctx, e.Self, ttl)
	if !errors.Is(err, ErrHeld) {
		return epoch, err
	}
	*last = e.tell(ctx, *last)
	if !last.Gone || last.Left <= 0 || e.Dead == nil || !e.Dead(ctx, last.Holder) {
		return 0, err
	}
	e.Log.Info("the daemon that led has ended: its lease is not waited for", "leader", last.Name, "address", last.Address, "epoch", last.Epoch)
	return e.Table.TakeFrom(ctx, last.Epoch, e.Self, ttl)
}

// pause is how long to wait before the lease is asked for again: a holder that steps down is followed within a fifth of a renewal.
func (e *Elector) pause(l Lease) time.Duration {
	pause := e.Renew / 5
	if l.Left > 0 {
		pause = min(pause, l.Left)
	}
	return max(pause, time.Millisecond)
}

// tell says who leads, if that is news.
func (e *Elector) tell(ctx context.Context, last Lease) Lease {
	now, err := e.Table.Read(ctx)
	if err != nil {
		return last
	}
	if now.Epoch != last.Epoch {
		e.Log.Info("this daemon stands by", "leader", now.Name, "address", now.Address, "epoch", now.Epoch)
		if e.StandBy != nil {
			e.StandBy(now)
		}
	}
	return now
}

// keep renews the lease until ctx is done or the term's trust is over. It returns why.
func (e *Elector) keep(ctx context.Context, t *Term) error {
	for {
		if err := sleep(ctx, min(e.Renew, time.Until(t.Until())-2*e.pace.slow)); err != nil {
			return err
		}
		if !t.Trusted() {
			return fmt.Errorf("%w: its lease (epoch %d) could not be renewed in time", ErrLost, t.Epoch)
		}
		began, ttl := time.Now(), e.pace.lease(e.TTL)
		extending, cancel := context.WithDeadline(ctx, t.Until())
		err := e.Table.Extend(extending, t.Epoch, ttl)
		cancel()
		e.took(time.Since(began))
		switch {
		case err == nil:
			t.trust(began.Add(e.trusted(ttl)))
		case errors.Is(err, ErrLost):
			t.trust(time.Time{})
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			e.Log.Warn("the lease could not be renewed; trying again", "err", err, "left", time.Until(t.Until()).Round(time.Millisecond))
			if err := sleep(ctx, min(e.Renew/10, max(time.Until(t.Until()), 0))); err != nil {
				return err
			}
		}
	}
}

// resign gives up the lease, even where ctx is done.
func (e *Elector) resign(ctx context.Context, epoch int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.Renew)
	defer cancel()
	return e.Table.Resign(ctx, epoch)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
