package cloud

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"fsub/cloud/records"
	"fsub/federation"
)

// base is what the parts of a driver share: configuration, clock, log and metrics, the lock that all of their state is under, and where they write down and tell
// what has changed. Nothing waits while it holds the lock.
type base struct {
	cfg     Config
	t       Timing
	log     *slog.Logger
	metrics *metrics
	rec     *records.Log
	news    *news
	asks    asks
	access  *access
	mu      sync.Mutex

	ctx    context.Context // of Run
	bg     sync.WaitGroup
	loaded chan struct{} // closed when Run has read the records
}

var errNotLoaded = fmt.Errorf("the pool's records are not read yet: %w", federation.ErrNotSent)

func newBase(cfg Config) *base {
	b := &base{cfg: cfg, t: cfg.Timing, log: cfg.Logger, metrics: newMetrics(cfg.Registerer, cfg.Site), news: newNews(), access: newAccess(), loaded: make(chan struct{})}
	b.rec = records.New(records.Config{Lock: &b.mu, Site: cfg.Site, Store: cfg.Store, Logger: cfg.Logger})
	return b
}

func (b *base) now() time.Time { return b.cfg.Now().UTC() }

// locked calls f under the lock, which is released also if f panics.
func (b *base) locked(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// put adds an entity to the open batch.
func (b *base) put(e records.Entity) { b.rec.Put(e) }

// recorded puts a machine into the open batch if it has a record by now.
func (b *base) recorded(m *machine) {
	if m.State != machineAsked && m.Instance != "" {
		b.put(m)
	}
}

// after registers f, which is called under the lock once all that was put so far is durable.
func (b *base) after(f func()) { b.rec.After(f) }

// spawn runs f beside the loops, for as long as Run lasts.
func (b *base) spawn(f func(context.Context)) {
	if b.ctx.Err() == nil {
		b.bg.Go(func() { f(b.ctx) })
	}
}

// startTime is how long a call waits for a driver that has just been started.
const startTime = 3 * time.Second

// isLoaded waits for the records to be read, which takes a moment, and fails if it takes longer.
func (b *base) isLoaded(ctx context.Context) error { return wait(ctx, b.loaded, errNotLoaded) }

// wait waits for something that happens once, soon after the start. If it does not, it fails with late.
func wait(ctx context.Context, c chan struct{}, late error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", err, federation.ErrNotSent)
	}
	select {
	case <-c:
		return nil
	default:
	}
	timer := time.NewTimer(startTime)
	defer timer.Stop()
	select {
	case <-c:
		return nil
	case <-timer.C:
		return late
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ctx.Err(), federation.ErrNotSent)
	}
}

// poke wakes a loop.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sleep waits; false: ctx is done.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
