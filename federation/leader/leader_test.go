package leader

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
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
		if tb.cut[h.Name] {
			return errCut
		}
		if time.Now().Before(tb.expires) {
			return ErrHeld
		}
		tb.lease = Lease{Holder: h, Epoch: tb.lease.Epoch + 1}
		tb.expires = time.Now().Add(ttl)
		epoch = tb.lease.Epoch
		return nil
	})
	return epoch, err
}

func (tb *table) Extend(ctx context.Context, epoch int64, ttl time.Duration) error {
	return tb.call(ctx, func() error {
		switch {
		case tb.cut[tb.lease.Name]:
			return errCut
		case tb.lease.Epoch != epoch || !time.Now().Before(tb.expires):
			return ErrLost
		}
		tb.expires = time.Now().Add(ttl)
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
		l.Left = time.Until(tb.expires)
		return nil
	})
	return l, err
}

// reign is a time for which a daemon trusted its lease.
type reign struct {
	who         string
	epoch       int64
	from, until time.Time
}

// Whatever the database's answers take, and however many of them are lost: never do two daemons trust their leases at one time.
func TestOneLeadsAtATime(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 1))
				tb := &table{cut: map[string]bool{}}
				tb.faults = func() (before, after time.Duration, lost bool) {
					tb.mu.Lock()
					defer tb.mu.Unlock()
					draw := func() time.Duration {
						if rng.IntN(8) == 0 {
							return time.Duration(rng.Int64N(int64(8 * time.Second)))
						}
						return time.Duration(rng.Int64N(int64(20 * time.Millisecond)))
					}
					return draw(), draw(), rng.IntN(10) == 0
				}
				ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
				defer stop()
				var mu sync.Mutex
				var reigns []reign
				var wg sync.WaitGroup
				for _, name := range []string{"a", "b", "c"} {
					wg.Go(func() {
						for ctx.Err() == nil {
							e := Elector{Table: tb, Self: Holder{Name: name}}
							e.Lead(ctx, func(ctx context.Context, term *Term) error {
								r := reign{who: name, epoch: term.Epoch, from: time.Now()}
								for term.Trusted() && ctx.Err() == nil {
									time.Sleep(10 * time.Millisecond)
									if term.Trusted() {
										r.until = time.Now()
									}
								}
								if r.until.IsZero() {
									return ctx.Err()
								}
								mu.Lock()
								reigns = append(reigns, r)
								mu.Unlock()
								return ctx.Err()
							})
						}
					})
				}
				wg.Wait()
				if len(reigns) < 5 {
					t.Fatalf("only %d terms: the faults were too mild, or nobody leads", len(reigns))
				}
				slices.SortFunc(reigns, func(a, b reign) int { return a.from.Compare(b.from) })
				for i := 1; i < len(reigns); i++ {
					if a, b := reigns[i-1], reigns[i]; b.from.Before(a.until) || b.epoch <= a.epoch {
						t.Errorf("%s (epoch %d) led until %v, %s (epoch %d) from %v", a.who, a.epoch, a.until, b.who, b.epoch, b.from)
					}
				}
			})
		})
	}
}

// lead runs an elector in the background. What it returns comes on done.
func lead(ctx context.Context, tb Table, name string) (leads <-chan *Term, done <-chan error) {
	l, d := make(chan *Term, 1), make(chan error, 1)
	go func() {
		e := Elector{Table: tb, Self: Holder{Name: name}}
		d <- e.Lead(ctx, func(ctx context.Context, term *Term) error {
			l <- term
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	return l, d
}

// Whoever stops says so: the next one leads at once. Whoever is cut off is followed once its lease is over, and knows that before.
func TestTakeOver(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(tb *table, stop func())
		most time.Duration
		err  error
	}{
		{"stopped", func(_ *table, stop func()) { stop() }, Renew / 4, context.Canceled},
		{"cut off", func(tb *table, _ func()) { tb.mu.Lock(); tb.cut["a"] = true; tb.mu.Unlock() }, TTL + Renew/4, ErrLost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tb := &table{cut: map[string]bool{}}
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
					t.Error("b leads, and a has not ended")
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
