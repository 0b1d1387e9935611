package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"fsub/federation"
	"fsub/federation/share"
)

const (
	// maxQueue bounds the writes that wait for the next transaction; further callers block.
	maxQueue = 4096
	// maxGroup bounds the writes that share a transaction, and with it how long the first of them waits for the last.
	maxGroup = 512
	// groupTime is after how long a transaction takes no more of them, so that a user's one write is not behind a hundred of another's.
	groupTime = 5 * time.Millisecond
	// large is from how many bytes on a write shares no transaction with others that would wait for it: jobs may bring megabytes.
	large = 64 << 10
	// largeGroup is how many bytes of large writes share a transaction, beyond the last of them.
	largeGroup = 512 << 10
)

var errClosed = fmt.Errorf("%w: the store is closed", federation.ErrUnavailable)

// ours is the user whose writes are the daemon's own.
const ours = -1

// write is one caller's change: all of it becomes durable or nothing.
type write struct {
	ctx  context.Context
	user int64 // whose it is; ours: the daemon's own
	size int
	ids  int             // job IDs that it takes
	do   func(*tx) error // may be called twice: what it did the first time is rolled back then
	err  error           // why it failed alone
	done chan error      // holds one

	fate atomic.Int32 // begun or withdrawn; 0: it waits
}

const (
	begun = 1 + iota
	withdrawn
)

func (p *write) run(t *tx) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if !p.fate.CompareAndSwap(0, begun) && p.fate.Load() == withdrawn {
		return context.Canceled // nobody waits for it
	}
	return p.do(t)
}

// Bounds of how long somebody's request waits for the store: after the first it gives its turn back, for others to work meanwhile; after the second
// it is refused.
const (
	keepsTurn = 50 * time.Millisecond
	storeWait = 20 * time.Second
	// awayPause is between two tries of a request while the database is away.
	awayPause = 100 * time.Millisecond
)

var errSlow = fmt.Errorf("%w: the store is busy; nothing was done: %w", federation.ErrUnavailable, context.DeadlineExceeded)

// writer owns the connection that writes. One round of it:
//
//  1. Wait for a write.
//  2. Begin a transaction and do it, and those that have queued up by then, one of each user and then the next: nobody waits for more to come.
//  3. If one has failed by its own fault, roll back and do them again, now each inside a savepoint to which a failure is
//     rolled back. (Savepoints for all from the start would take a fifth of the throughput; such failures are rare.)
//  4. Store the counters, commit (one fsync), answer all.
//
// While it commits, the writes of the next round queue up: the longer an fsync takes, the more of them share the next one. Large ones have a queue and transactions of their own,
// at most one between two of the others. If the
// database itself fails, all of the round are told so and the counters go back to what is stored.
type writer struct {
	tx      *tx
	queue   *line
	large   chan *write
	closing chan struct{} // closed: take no more
	stopped chan struct{} // closed: all that was taken is answered
	once    sync.Once
	metrics *metrics
	wal     *checkpointer // of SQLite

	groupTime, storeWait time.Duration
	slow                 func() error // what a request is told that has waited for so long
}

// startWriter has t do what is submitted.
func startWriter(t *tx, c Config, wal *checkpointer) *writer {
	w := &writer{
		tx:      t,
		queue:   newLine(maxQueue),
		large:   make(chan *write, maxQueue),
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
		metrics: newMetrics(c.Metrics),
		wal:     wal,

		groupTime: groupTime, storeWait: storeWait, slow: func() error { return errSlow },
	}
	go w.run()
	return w
}

// Close refuses further writes and waits for those that were taken.
func (w *writer) Close() error {
	w.once.Do(func() { close(w.closing) })
	<-w.stopped
	return w.tx.db.close()
}

// submit has do done in the next transaction and waits until it is durable or refused. Cancelling ctx keeps a write that has
// not begun from being done, and never leaves its outcome open: of one that has begun an answer is waited for. A request of somebody's waits
// for storeWait at most until it begins.
func (w *writer) submit(ctx context.Context, do func(*tx) error) error {
	return w.submitOf(ctx, ours, 0, do)
}

// submitOf is submit for a user, of about so many bytes.
func (w *writer) submitOf(ctx context.Context, user int64, size int, do func(*tx) error) error {
	return w.put(ctx, &write{user: user, size: size, do: do})
}

// put is submit for a write that says more of itself. While the database is away somebody's request is tried again and again.
func (w *writer) put(ctx context.Context, p *write) error {
	if !share.Asked(ctx) {
		return w.putOnce(ctx, p, nil, nil)
	}
	slow := time.After(keepsTurn)
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.storeWait)
	defer cancel()
	late := waiting.Done()
	for {
		err := w.putOnce(ctx, p, slow, late)
		if !mayPass(err) {
			return err
		}
		select {
		case <-time.After(awayPause):
		case <-slow:
			share.Idle(ctx)
		case <-late:
			return err
		case <-w.closing:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// putOnce is put in one transaction. After slow the request gives its turn back, after late it is refused; nil: never.
func (w *writer) putOnce(ctx context.Context, p *write, slow <-chan time.Time, late <-chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.ctx, p.done, p.err = ctx, make(chan error, 1), nil
	p.fate.Store(0)
	select {
	case <-w.closing:
		return errClosed
	default:
	}
	if err := w.add(ctx, p, late); err != nil {
		return err
	}
	gone := ctx.Done()
	for {
		select {
		case err := <-p.done:
			return err
		case <-w.stopped:
			select {
			case err := <-p.done:
				return err
			default: // queued after the last round
				return errClosed
			}
		case <-slow:
			share.Idle(ctx) // not taken again: another may hold it and wait for a lock that ctx's request has
		case <-gone:
			if p.fate.CompareAndSwap(0, withdrawn) {
				return ctx.Err()
			}
			gone = nil
		case <-late:
			if p.fate.CompareAndSwap(0, withdrawn) {
				return w.slow()
			}
			if w.tx.shared != nil { // it may wait for a standby for hours
				return ErrOpen
			}
		}
	}
}

// add has p wait for the writer.
func (w *writer) add(ctx context.Context, p *write, late <-chan struct{}) error {
	if p.size < large {
		return w.queue.add(ctx, w.closing, late, w.slow, p)
	}
	select {
	case w.large <- p:
		return nil
	case <-w.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return w.slow()
	}
}

func (w *writer) run() {
	defer close(w.stopped)
	for closing := false; !closing || w.queue.waiting()+len(w.large) > 0; {
		var heavy *write
		select {
		case <-w.queue.came:
		case heavy = <-w.large:
		case <-w.closing:
			closing = true
		}
		w.round(w.queue.next, min(w.queue.waiting(), maxGroup), math.MaxInt, w.groupTime)
		w.round(func() *write {
			if p := heavy; p != nil {
				heavy = nil
				return p
			}
			select {
			case p := <-w.large:
				return p
			default:
				return nil
			}
		}, maxGroup, largeGroup, math.MaxInt64)
	}
}

// round does what next gives in one transaction and answers each write once: at most so many, and none after so many bytes or so long.
func (w *writer) round(next func() *write, most, bytes int, long time.Duration) {
	p := next()
	if p == nil {
		return
	}
	began := time.Now()
	var group []*write
	err := w.tx.transaction(func() error {
		for ; p != nil; p = next() {
			group = append(group, p)
			if err := p.run(w.tx); err != nil {
				return err
			}
			if bytes -= p.size; bytes <= 0 || len(group) >= most || time.Since(began) >= long {
				return nil
			}
		}
		return nil
	})
	if len(group) == 0 { // the transaction could not begin: that meets all who wait
		for group = append(group, p); len(group) < most; group = append(group, p) {
			if p = next(); p == nil {
				break
			}
		}
	}
	if errors.Is(err, errAgain) {
		err = again(func() error { return w.tx.transaction(func() error { return w.tx.all(group) }) })
	}
	if err != nil && !errors.Is(err, federation.ErrUnavailable) {
		err = again(func() error { return w.tx.apart(group) })
	}
	if err != nil {
		w.metrics.failures.Inc()
	}
	w.metrics.group.Observe(float64(len(group)))
	w.metrics.commit.Observe(time.Since(began).Seconds())
	for _, p := range group {
		if err != nil {
			p.err = err
		}
		p.done <- p.err
	}
	if w.wal != nil {
		w.wal.committed()
	}
}
