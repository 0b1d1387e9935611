package tunnel

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Idle ends tunnels through which nothing has passed for some time.
type Idle struct {
	After time.Duration // 0: they are left alone
	Last  []byte        // is sent to a of Join then, unless it does not read what there is
}

// farewellTime bounds how long Last is written.
const farewellTime = time.Second

// Join is [Join] for a tunnel that ends when it is idle.
func (i Idle) Join(ctx context.Context, a, b End) {
	if i.After <= 0 {
		Join(ctx, a, b)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var w watched
	w.touch()
	near := &watchedEnd{End: a, w: &w}
	go func() {
		defer cancel()
		if w.await(ctx, i.After) {
			near.last(i.Last)
		}
	}()
	Join(ctx, near, &watchedEnd{End: b, w: &w})
}

// watched is when bytes passed last, in nanoseconds since began.
type watched struct{ last atomic.Int64 }

var began = time.Now()

func (w *watched) touch() { w.last.Store(int64(time.Since(began))) }

// await waits until nothing has passed for so long. It is false if ctx was done before.
func (w *watched) await(ctx context.Context, idle time.Duration) bool {
	for {
		left := idle - (time.Since(began) - time.Duration(w.last.Load()))
		if left <= 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(left):
		}
	}
}

// watchedEnd is an end whose bytes are watched as they are written.
type watchedEnd struct {
	End
	w  *watched
	mu sync.Mutex // held while something is written
}

// Write implements io.Writer.
func (e *watchedEnd) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.End.Write(p)
	e.w.touch()
	return n, err
}

// last writes what ends the tunnel, if nothing is being written.
func (e *watchedEnd) last(text []byte) {
	if !e.mu.TryLock() {
		return
	}
	defer e.mu.Unlock()
	if d, ok := e.End.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = d.SetWriteDeadline(time.Now().Add(farewellTime))
	}
	_, _ = e.End.Write(text) // who does not read finds out by the end
}
