package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"fsub/federation"
)

const (
	// maxQueue bounds the writes that wait for the next transaction; further callers block.
	maxQueue = 4096
	// maxGroup bounds the writes that share a transaction, and with it how long the first of them waits for the last.
	maxGroup = 512
	// large is from how many bytes on a write shares no transaction with others that would wait for it: jobs may bring megabytes.
	large = 64 << 10
	// largeGroup is how many bytes of large writes share a transaction, beyond the last of them.
	largeGroup = 512 << 10
)

var errClosed = fmt.Errorf("%w: the store is closed", federation.ErrUnavailable)

// write is one caller's change: all of it becomes durable or nothing.
type write struct {
	ctx  context.Context
	size int
	do   func(*tx) error // may be called twice: what it did the first time is rolled back then
	err  error           // why it failed alone
	done chan error      // holds one
}

func (p *write) run(t *tx) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	return p.do(t)
}

// writer owns the connection that writes. One round of it:
//
//  1. Wait for a write, and take those that have queued up behind it: nobody waits for more to come.
//  2. Begin a transaction and do all of them.
//  3. If one has failed by its own fault, roll back and do them again, now each inside a savepoint to which a failure is
//     rolled back. (Savepoints for all from the start would take a fifth of the throughput; such failures are rare.)
//  4. Store the counters, commit (one fsync), answer all.
//
// While it commits, the writes of the next round queue up: the longer an fsync takes, the more of them share the next one. Large ones have a queue and transactions of their own,
// at most one between two of the others. If the
// database itself fails, all of the round are told so and the counters go back to what is stored.
type writer struct {
	tx      *tx
	queue   chan *write
	large   chan *write
	closing chan struct{} // closed: take no more
	stopped chan struct{} // closed: all that was taken is answered
	once    sync.Once
	metrics *metrics
	wal     *checkpointer
}

func startWriter(ctx context.Context, conn *sql.Conn, c Config) (*writer, error) {
	t, err := newTx(ctx, conn, c.FirstID, c.LastID)
	if err != nil {
		return nil, err
	}
	t.keepChanges, t.keepFor = c.KeepChanges, c.KeepFor
	w := &writer{
		tx:      t,
		queue:   make(chan *write, maxQueue),
		large:   make(chan *write, maxQueue),
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
		metrics: newMetrics(c.Metrics),
		wal:     startCheckpointer(c.Path, c.Volatile, c.Logger),
	}
	go w.run()
	return w, nil
}

// Close refuses further writes and waits for those that were taken.
func (w *writer) Close() error {
	w.once.Do(func() { close(w.closing) })
	<-w.stopped
	return w.tx.close()
}

// submit has do done in the next transaction and waits until it is durable or refused. Cancelling ctx keeps a write that has
// not begun from being done, and never leaves its outcome open: an answer is waited for.
func (w *writer) submit(ctx context.Context, do func(*tx) error) error {
	return w.submitSized(ctx, 0, do)
}

// submitSized is submit of about so many bytes.
func (w *writer) submitSized(ctx context.Context, size int, do func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := &write{ctx: ctx, size: size, do: do, done: make(chan error, 1)}
	queue := w.queue
	if size >= large {
		queue = w.large
	}
	select {
	case <-w.closing:
		return errClosed
	default:
	}
	select {
	case queue <- p:
	case <-w.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-p.done:
		return err
	case <-w.stopped:
	}
	select {
	case err := <-p.done:
		return err
	default: // queued after the last round
		return errClosed
	}
}

func (w *writer) run() {
	defer close(w.stopped)
	group := make([]*write, 0, maxGroup)
	for {
		closing := false
		group, heavy := group[:0], []*write(nil)
		select {
		case p := <-w.queue:
			group = append(group, p)
		case p := <-w.large:
			heavy = append(heavy, p)
		case <-w.closing:
			closing = true
		}
		if group = gather(group, w.queue, maxGroup, math.MaxInt); len(heavy) == 0 {
			heavy = gather(heavy, w.large, maxGroup, largeGroup)
		}
		if closing && len(group) == 0 && len(heavy) == 0 {
			return
		}
		for _, g := range [...][]*write{group, heavy} {
			if len(g) > 0 {
				w.round(g)
			}
		}
		clear(group)
	}
}

// gather adds what is queued already: at most n writes, and none after those that have so many bytes.
func gather(group []*write, queue <-chan *write, n, bytes int) []*write {
	for len(group) < n && bytes > 0 {
		select {
		case p := <-queue:
			group = append(group, p)
			bytes -= p.size
		default:
			return group
		}
	}
	return group
}

// round writes the group in one transaction and answers each of it once.
func (w *writer) round(group []*write) {
	began := time.Now()
	err := w.tx.together(group)
	if err != nil && !errors.Is(err, federation.ErrUnavailable) {
		err = w.tx.apart(group)
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
	w.wal.committed()
}
