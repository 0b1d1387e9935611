package cloud_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"fsub/cloud/cloudtest"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/reasons"
)

// What was refused is asked for again as soon as an operator says so, also after a restart.
func TestRetry(t *testing.T) {
	bubble(t, func(w *world) {
		refuse := true
		w.cloud.Before = func(op string, _ *provider.Request) error {
			if op == "Create" && refuse {
				return &provider.Error{Kind: provider.KindDenied, Scope: provider.ScopeCloud, Text: "no such role"}
			}
			return nil
		}
		w.ready()
		if got, err := w.driver.Retry(context.Background()); len(got) != 0 || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
		w.wants(w.submit("sleep 5", nil), federation.BootFail, time.Minute)
		time.Sleep(time.Millisecond) // after the call that was refused, by the bubble's clock
		begin := time.Now()
		got, err := w.driver.Retry(context.Background())
		if err != nil || len(got) != 1 || got[0].Reason != reasons.CloudDenied || !strings.Contains(got[0].Detail, "no such role") {
			t.Fatalf("%+v, %v", got, err)
		}
		refuse = false
		w.stop()
		w.ready()
		w.wants(w.submit("sleep 5", nil), federation.Completed, time.Minute)
		if n := w.cloud.Calls("Create", begin); n != 1 {
			t.Errorf("%d calls of Create, want 1", n)
		}
	})
}

// TestCoolDownOverRestarts: what the cloud has refused is not asked for again because the daemon was started anew, and the next refusal's wait is longer than the one before. When it
// can be had again that is known after a restart too.
func TestCoolDownOverRestarts(t *testing.T) {
	for _, c := range refusals {
		if c.err.Kind == provider.KindThrottled || c.err.Kind == provider.KindUnavailable {
			continue // proves nothing: it is asked for again, see TestCrashLoop
		}
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				refuse := true
				w.cloud.Before = func(op string, _ *provider.Request) error {
					if op == "Create" && refuse {
						e := c.err
						return &e
					}
					return nil
				}
				w.ready()
				begin := time.Now()
				w.wants(w.submit("sleep 5", nil), federation.BootFail, time.Minute)
				before := w.driver.Pools()[0].Cooling
				for range 20 {
					w.stop()
					w.ready()
					if j := w.wants(w.submit("sleep 5", nil), federation.BootFail, time.Minute); !j.Returned || j.Reason != c.reason {
						t.Fatalf("after a restart: %+v", j)
					}
					if got := w.driver.Pools()[0].Cooling; len(got) != 1 || got[0] != before[0] {
						t.Fatalf("%+v was %+v", got, before)
					}
					time.Sleep(10 * time.Second)
				}
				if n := w.cloud.Calls("Create", begin); n != 1 {
					t.Errorf("%d calls of Create, want 1", n)
				}
				time.Sleep(time.Until(before[0].Until))
				w.wants(w.submit("sleep 5", nil), federation.BootFail, time.Minute)
				w.stop()
				w.ready()
				if got := w.driver.Pools()[0].Cooling; len(got) != 1 || got[0].Until.Sub(before[0].Until) < 19*time.Minute && c.err.Kind != provider.KindInvalid {
					t.Errorf("the second cool-down after %+v is %+v", before, got)
				}
				refuse = false
				time.Sleep(2 * time.Hour)
				w.wants(w.submit("sleep 5", nil), federation.Completed, time.Minute)
				w.stop()
				w.ready()
				if got := w.driver.Pools()[0].Cooling; len(got) != 0 {
					t.Errorf("%+v is remembered though it could be had", got)
				}
			})
		})
	}
}

// TestCrashLoop: a daemon that is killed again and again, after a second of life or at the answer of the cloud, makes no more calls than one that lives would, but for a few.
func TestCrashLoop(t *testing.T) {
	for name, lives := range map[string]time.Duration{"a moment": 500 * time.Millisecond, "a second": time.Second, "seven seconds": 7 * time.Second} {
		for answer, refusal := range map[string]error{
			"no answer": errLost, "throttled": &provider.Error{Kind: provider.KindThrottled, Scope: provider.ScopeCloud, Text: "slow down"},
			"stock-out": &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Text: "none left"},
		} {
			t.Run(name+", "+answer, func(t *testing.T) {
				bubble(t, func(w *world) {
					w.cloud.Before = func(op string, _ *provider.Request) error {
						if op == "Create" {
							return refusal
						}
						return nil
					}
					w.ready()
					for range 8 {
						w.submit("sleep 5", nil)
					}
					begin := time.Now()
					starts := 0
					for time.Since(begin) < 20*time.Minute {
						w.stop()
						w.start()
						starts++
						time.Sleep(lives)
					}
					// Eight gangs, each asked for at most at the starts 1, 2, and then less and less often until it is too late for its machines.
					if n := w.cloud.Calls("Create", begin); n > 30 || n == 0 {
						t.Errorf("%d calls of Create in 20 minutes and %d starts", n, starts)
					}
					t.Logf("%d starts, calls: %d Create, %d Offerings, %d List", starts, w.cloud.Calls("Create", begin), w.cloud.Calls("Offerings", begin), w.cloud.Calls("List", begin))
					// Of the starts of ten minutes 60 ask what there is; later ones only after a while.
					if n := w.cloud.Calls("Offerings", begin) + w.cloud.Calls("List", begin); n > 200 {
						t.Errorf("%d calls of Offerings and List in 20 minutes and %d starts", n, starts)
					}
				})
			})
		}
	}
}

// flakyStore fails the first time that what machines have cost is read.
type flakyStore struct {
	*cloudtest.Store
	failed bool
}

func (s *flakyStore) PoolHistory(ctx context.Context, site federation.SiteName, kind records.PoolKind, since time.Time, limit int) ([]records.PoolRecord, error) {
	if !s.failed {
		s.failed = true
		return nil, errors.New("the disk is busy")
	}
	return s.Store.PoolHistory(ctx, site, kind, since, limit)
}

// TestBooksReadTwice: books that cannot be read whole at first are read again, and every machine counts once.
func TestBooksReadTwice(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Max = 2
		w.ready()
		id := w.submit("sleep 600", nil)
		w.wants(id, federation.Running, time.Minute)
		w.stop()
		w.cfg.Store = &flakyStore{Store: w.store}
		w.ready()
		if p := w.driver.Pools()[0]; p.Busy != 1 || p.PricePerHour != federation.Dollar {
			t.Errorf("%+v", p)
		}
		w.wants(w.submit("sleep 1", nil), federation.Completed, 2*time.Minute)
		w.wants(id, federation.Completed, 20*time.Minute)
	})
}
