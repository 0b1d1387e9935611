// Package records writes down what a driver must not forget. Whoever changes something under the driver's lock puts it into the open batch; one batch after
// the other goes to the store, each in one commit, and what may follow only once a change is durable is put after it. So nothing waits for the store while
// it holds the lock, and changes that come together share a commit.
package records

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"fsub/federation"
)

// Entity is something that has a record.
type Entity interface {
	// Record is what is to be written of it now. data is written as JSON.
	Record() (r PoolRecord, data any)
}

// Witness is an Entity that does something once its record is durable.
type Witness interface {
	// Written is called under the lock for each entity of a batch that is durable, before what follows the batch.
	Written()
}

// Store is what takes batches, all of one or none: a part of [PoolStore].
type Store interface {
	CommitPool(ctx context.Context, site federation.SiteName, put []PoolRecord) error
}

// Log takes changes to the store. Its methods but for Durable and Run are called under the lock.
type Log struct {
	cfg   Config
	open  *Batch
	wake  chan struct{} // something is in the open batch
	ended chan struct{} // closed when Run has returned
}

// Config is what a log writes, and where.
type Config struct {
	Lock   sync.Locker // what all entities are under
	Site   federation.SiteName
	Store  Store
	Logger *slog.Logger
}

// Batch is what is written together: all changes since the batch before was taken to the store.
type Batch struct {
	order  []Entity
	has    map[Entity]bool
	after  []func()      // run under the lock once the batch is durable
	done   chan struct{} // closed then
	err    error         // of the last try, if it failed; set under the lock
	failed chan struct{} // closed at the first failure
}

func newBatch() *Batch {
	return &Batch{has: map[Entity]bool{}, done: make(chan struct{}), failed: make(chan struct{})}
}

// New makes a log. Nothing is written before Run.
func New(cfg Config) *Log {
	return &Log{cfg: cfg, open: newBatch(), wake: make(chan struct{}, 1), ended: make(chan struct{})}
}

// Put has an entity written with the open batch, as it is when that is taken.
func (l *Log) Put(e Entity) {
	if !l.open.has[e] {
		l.open.has[e] = true
		l.open.order = append(l.open.order, e)
	}
	l.poke()
}

// After has f called, under the lock, when what was put so far is durable. At once, if there is nothing to be written.
func (l *Log) After(f func()) {
	l.open.after = append(l.open.after, f)
	l.poke()
}

// Flush has the open batch taken to the store soon, also if nothing is in it, and returns it.
func (l *Log) Flush() *Batch {
	l.poke()
	return l.open
}

func (l *Log) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Durable waits for a batch, without the lock. ErrUnavailable: it could not be written yet; it still may be.
func (l *Log) Durable(ctx context.Context, b *Batch) error {
	select {
	case <-b.done:
		return nil
	case <-b.failed:
		l.cfg.Lock.Lock()
		defer l.cfg.Lock.Unlock()
		return fmt.Errorf("the pool's records: %w: %w", b.err, federation.ErrUnavailable)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ctx.Err(), federation.ErrUnavailable)
	case <-l.ended:
		return fmt.Errorf("the daemon ends: %w", federation.ErrUnavailable)
	}
}

// Run takes batches to the store, one after the other, until ctx is done. What could not be written is tried again with the next batch.
func (l *Log) Run(ctx context.Context) {
	defer close(l.ended)
	wait := time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		for !l.write(ctx) {
			wait = min(max(2*wait, 50*time.Millisecond), 5*time.Second)
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
		wait = 0
	}
}

// write writes the open batch and reports whether it is durable.
func (l *Log) write(ctx context.Context) bool {
	l.cfg.Lock.Lock()
	b := l.open
	l.open = newBatch()
	put := make([]PoolRecord, 0, len(b.order))
	for _, e := range b.order {
		r, data := e.Record()
		var err error
		if r.Data, err = json.Marshal(data); err != nil {
			panic(fmt.Sprintf("a record cannot be written: %v", err)) // a type without JSON: a defect, found by the first test
		}
		r.Site = l.cfg.Site
		put = append(put, r)
	}
	l.cfg.Lock.Unlock()
	var err error
	if len(put) > 0 {
		err = l.cfg.Store.CommitPool(ctx, l.cfg.Site, put)
	}
	l.cfg.Lock.Lock()
	defer l.cfg.Lock.Unlock()
	if err != nil {
		l.cfg.Logger.Error("write the pool's records", "err", err)
		l.unwritten(b, err)
		return false
	}
	for _, e := range b.order {
		if w, ok := e.(Witness); ok {
			w.Written()
		}
	}
	for _, f := range b.after {
		f()
	}
	close(b.done)
	return true
}

// unwritten puts a batch that could not be written before the open one, and tells those who wait for it.
func (l *Log) unwritten(b *Batch, err error) {
	if b.err == nil {
		close(b.failed)
	}
	b.err = err
	next := l.open
	merged := newBatch()
	for _, e := range append(b.order, next.order...) {
		if !merged.has[e] {
			merged.has[e] = true
			merged.order = append(merged.order, e)
		}
	}
	// Who waits for the open batch goes on waiting for it; what was to follow the failed one follows it.
	next.order, next.has = merged.order, merged.has
	next.after = append(append(b.after, func() { close(b.done) }), next.after...)
}
