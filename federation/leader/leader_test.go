package leader

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// table is a lease in memory. It is slow and fails as faults say: before it does what it was asked, or after.
type table struct {
	mu      sync.Mutex
	lease   Lease
	expires time.Time
	faults  func() (before, after time.Duration, lost bool)
	cut     map[string]bool // daemons that cannot reach it
	gone    map[string]bool // daemons whose connections have ended
}

var errCut = errors.New("connection refused")

func (tb *table) call(ctx context.Context, do func() error) error {
	var before, after time.Duration
	lost := false
	if tb.faults != nil {
		before, after, lost = tb.faults()
	}
	if err := sleep(ctx, before); err != nil {
		return err
	}
	tb.mu.Lock()
	err := do()
	tb.mu.Unlock()
	if lost {
		return errCut
	}
	if sleepErr := sleep(ctx, after); sleepErr != nil {
		return sleepErr
	}
	return err
}

func (tb *table) Take(ctx context.Context, h Holder, ttl time.Duration) (epoch int64, err error) {
	err = tb.call(ctx, func() error {
		if time.Now().Before(tb.expires) {
			return ErrHeld
		}
		epoch, err = tb.take(h, ttl)
		return err
	})
	return epoch, err
}

func (tb *table) TakeFrom(ctx context.Context, from int64, h Holder, ttl time.Duration) (epoch int64, err error) {
	err = tb.call(ctx, func() error {
		if tb.lease.Epoch != from || !tb.gone[tb.lease.Name] {
			return ErrHeld
		}
		epoch, err = tb.take(h, ttl)
		return err
	})
	return epoch, err
}

func (tb *table) take(h Holder, ttl time.Duration) (int64, error) {
	if tb.cut[h.Name] {
		return 0, errCut
	}
	delete(tb.gone, h.Name)
	tb.lease, tb.expires = Lease{Holder: h, Epoch: tb.lease.Epoch + 1}, time.Now().Add(ttl)
	return tb.lease.Epoch, nil
}

func (tb *table) Extend(ctx context.Context, epoch int64, ttl time.Duration) error {
	return tb.call(ctx, func() error {
		switch {
		case tb.cut[tb.lease.Name]:
			return errCut
		case tb.lease.Epoch != epoch || !time.Now().Before(tb.expires):
			return ErrLost
		}
		delete(tb.gone, tb.lease.Name)
		if until := time.Now().Add(ttl); until.After(tb.expires) {
			tb.expires = until
		}
		return nil
	})
}

func (tb *table) Resign(ctx context.Context, epoch int64) error {
	return tb.call(ctx, func() error {
		switch {
		case tb.cut[tb.lease.Name]:
			return errCut
		case tb.lease.Epoch == epoch:
			tb.expires = time.Now()
		}
		return nil
	})
}

func (tb *table) Read(ctx context.Context) (l Lease, err error) {
	err = tb.call(ctx, func() error {
		l = tb.lease
		l.Left, l.Gone = time.Until(tb.expires), tb.gone[l.Name]
		return nil
	})
	return l, err
}

// lead runs an elector in the background. What it returns comes on done.
func lead(ctx context.Context, tb Table, name string) (leads <-chan *Term, done <-chan error) {
	l, d := make(chan *Term, 1), make(chan error, 1)
	go func() {
		e := Elector{Table: tb, Self: Holder{Name: name}, Dead: func(context.Context, Holder) bool { return true }}
		d <- e.Lead(ctx, func(ctx context.Context, term *Term) error {
			l <- term
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	return l, d
}

// Whoever stops says so: the next one leads at once. So it does when a process has ended. Whoever is cut off is followed once its lease is over, and knows that before.
func TestTakeOver(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(tb *table, stop func())
		most time.Duration
		err  error
	}{
		{"stopped", func(_ *table, stop func()) { stop() }, Renew / 4, context.Canceled},
		{"killed", func(tb *table, _ func()) { tb.mu.Lock(); tb.cut["a"], tb.gone["a"] = true, true; tb.mu.Unlock() }, Renew / 4, nil},
		{"cut off", func(tb *table, _ func()) { tb.mu.Lock(); tb.cut["a"] = true; tb.mu.Unlock() }, TTL + Renew/4, ErrLost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := &table{cut: map[string]bool{}, gone: map[string]bool{}}
				ctxA, stopA := context.WithCancel(t.Context())
				defer stopA()
				leadsA, doneA := lead(ctxA, tb, "a")
				<-leadsA
				ctxB, stopB := context.WithCancel(t.Context())
				defer stopB()
				leadsB, doneB := lead(ctxB, tb, "b")
				time.Sleep(time.Minute)
				select {
				case <-leadsB:
					t.Fatal("b leads while a does")
				default:
				}
				began := time.Now()
				tt.end(tb, stopA)
				term := <-leadsB
				if took := time.Since(began); took > tt.most {
					t.Errorf("b led after %v, want %v at most", took, tt.most)
				}
				select {
				case err := <-doneA:
					if !errors.Is(err, tt.err) {
						t.Errorf("a ended with %v, want %v", err, tt.err)
					}
				default:
					if tt.err != nil { // else it is dead
						t.Error("b leads, and a has not ended")
					}
				}
				if term.Epoch != 2 {
					t.Errorf("epoch %d, want 2", term.Epoch)
				}
				stopB()
				<-doneB
			})
		})
	}
}

// What the daemon's work ends with is what Lead returns, and another daemon can lead then.
func TestWorkFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &table{}
		want := errors.New("disk full")
		e := Elector{Table: tb, Self: Holder{Name: "a"}}
		if err := e.Lead(t.Context(), func(context.Context, *Term) error { return want }); !errors.Is(err, want) {
			t.Errorf("got %v", err)
		}
		if l, _ := tb.Read(t.Context()); l.Left > 0 {
			t.Errorf("the lease lasts for %v still", l.Left)
		}
	})
}

// A database that takes seconds for each commit has a leader nonetheless, which stays; one that takes longer than the longest lease allows has none, and that is
// said. When it is fast again leases are as short as before.
func TestSlowDatabase(t *testing.T) {
	for commit, leads := range map[time.Duration]bool{time.Second: true, 4500 * time.Millisecond: true, 10 * time.Second: true, 28 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			var after atomic.Int64 // it is done at once, and known after a commit
			after.Store(int64(commit))
			table := &table{faults: func() (time.Duration, time.Duration, bool) { return 0, time.Duration(after.Load()), false }}
			ctx, stop := context.WithCancel(t.Context())
			var terms, lost atomic.Int32
			var tooSlow atomic.Bool
			var term atomic.Pointer[Term]
			e := Elector{Table: table, Self: Holder{Name: "a"}, Tried: func(err error) { tooSlow.Store(errors.Is(err, errSlow)) }}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for ctx.Err() == nil {
					if err := e.Lead(ctx, func(ctx context.Context, t *Term) error { terms.Add(1); term.Store(t); <-ctx.Done(); return nil }); errors.Is(err, ErrLost) {
						lost.Add(1)
					}
				}
			}()
			time.Sleep(10 * time.Minute)
			if leads != (terms.Load() == 1 && lost.Load() == 0 && term.Load().Trusted()) || leads == tooSlow.Load() {
				t.Errorf("%v a commit: %d terms, %d lost, too slow: %v", commit, terms.Load(), lost.Load(), tooSlow.Load())
			}
			after.Store(0)
			time.Sleep(5 * time.Minute)
			if left := time.Until(term.Load().Until()); lost.Load() > 0 || !term.Load().Trusted() || left > TTL {
				t.Errorf("%v a commit, and fast again: %d lost, the lease lasts %v", commit, lost.Load(), left)
			}
			after.Store(int64(2 * time.Second)) // a jump as high as a lease of the usual length has room for
			time.Sleep(time.Minute)
			if lost.Load() > 0 || !term.Load().Trusted() {
				t.Errorf("two seconds a commit at once: %d lost", lost.Load())
			}
			stop()
			<-ended
		})
	}
}
