package provider

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"fsub/federation"
)

// scripted answers each call with the next of its errors, and then well.
type scripted struct {
	errs  []error
	calls []string
	asked []Request
	hang  bool // until the call's context ends
}

func (s *scripted) next(ctx context.Context, method string) error {
	s.calls = append(s.calls, method)
	if s.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if len(s.errs) == 0 {
		return nil
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	return err
}

func (s *scripted) Offerings(ctx context.Context) ([]Offering, error) {
	return nil, s.next(ctx, "offerings")
}
func (s *scripted) List(ctx context.Context) ([]Instance, error) {
	return []Instance{{ID: "i-1"}}, s.next(ctx, "list")
}
func (s *scripted) Withdraw(ctx context.Context, _ string) error { return s.next(ctx, "withdraw") }

func (s *scripted) Delete(ctx context.Context, ids []InstanceID) error { return s.next(ctx, "delete") }
func (s *scripted) Create(ctx context.Context, r Request) ([]Instance, error) {
	s.asked = append(s.asked, r)
	r.Names[0] = "spoilt"
	return nil, s.next(ctx, "create")
}

// scriptedTopologist knows where machines are, too.
type scriptedTopologist struct{ *scripted }

func (s scriptedTopologist) Topology(ctx context.Context, ids []InstanceID) (map[InstanceID][]string, error) {
	return map[InstanceID][]string{"i-1": {"nn-1"}}, s.next(ctx, "topology")
}

func failure(kind ErrorKind) *Error { return &Error{Kind: kind, Text: "as the test wants"} }

func TestWrapKeepsTopologist(t *testing.T) {
	if _, ok := Wrap(&scripted{}, WrapConfig{}).(Topologist); ok {
		t.Error("a Provider that knows no topology has become one that does")
	}
	p, ok := Wrap(scriptedTopologist{&scripted{}}, WrapConfig{}).(Topologist)
	if !ok {
		t.Fatal("the wrapped Provider is no Topologist any more")
	}
	if where, err := p.Topology(t.Context(), []InstanceID{"i-1"}); err != nil || where["i-1"][0] != "nn-1" {
		t.Errorf("topology: %v, %v", where, err)
	}
}

func TestWrapRetries(t *testing.T) {
	for _, c := range []struct {
		name  string
		errs  []error
		calls int
		kind  ErrorKind
	}{
		{"good", nil, 1, ""},
		{"unavailable once", []error{failure(KindUnavailable)}, 2, ""},
		{"an error of another sort proves nothing", []error{errors.New("broken pipe")}, 2, ""},
		{"unavailable for ever", []error{failure(KindUnavailable), failure(KindUnavailable), failure(KindUnavailable), failure(KindUnavailable)}, 3, KindUnavailable},
		{"stock-out", []error{failure(KindStockOut)}, 1, KindStockOut},
		{"quota", []error{failure(KindQuota)}, 1, KindQuota},
		{"denied", []error{failure(KindDenied)}, 1, KindDenied},
		{"invalid", []error{failure(KindInvalid)}, 1, KindInvalid},
		{"conflict", []error{failure(KindConflict)}, 1, KindConflict},
		{"throttled", []error{failure(KindThrottled)}, 1, KindThrottled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{errs: c.errs}
				r := Request{Token: "g1", Names: []string{"n1"}}
				_, err := Wrap(s, WrapConfig{Retries: 2}).Create(t.Context(), r)
				if kindOf(err) != c.kind || len(s.calls) != c.calls {
					t.Errorf("%d calls and %v, want %d and %q", len(s.calls), err, c.calls, c.kind)
				}
				for _, asked := range s.asked {
					if asked.Token != "g1" {
						t.Errorf("asked again with token %q", asked.Token)
					}
				}
				if r.Names[0] != "n1" {
					t.Error("the caller's request was changed")
				}
			})
		})
	}
}

// TestWrapSendsTheSameAgain: each try has the request as it was, whatever the Provider does to its copy.
func TestWrapSendsTheSameAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &seen{}
		if _, err := Wrap(s, WrapConfig{Retries: 1}).Create(t.Context(), Request{Names: []string{"n1"}}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.names, []string{"n1", "n1"}) {
			t.Errorf("names of the two tries: %v", s.names)
		}
	})
}

type seen struct {
	scripted
	names []string
}

func (s *seen) Create(ctx context.Context, r Request) ([]Instance, error) {
	s.names = append(s.names, r.Names[0])
	r.Names[0] = "spoilt"
	if len(s.names) == 1 {
		return nil, failure(KindUnavailable)
	}
	return nil, nil
}

// TestWrapStorm: a cloud that throttles forever is asked a bounded number of times, and asked again soon after it has stopped.
func TestWrapStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var many []error
		for range 1000 {
			many = append(many, failure(KindThrottled))
		}
		s := &scripted{errs: many}
		w := Wrap(s, WrapConfig{Retries: 2})
		for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			_, err := w.List(t.Context())
			var e *Error
			if !errors.As(err, &e) || e.Kind != KindThrottled {
				t.Fatalf("in the storm: %v", err)
			}
			if !errors.Is(err, federation.ErrUnavailable) {
				t.Fatalf("%v is not the federation's ErrUnavailable", err)
			}
		}
		if n := len(s.calls); n < 10 || n > 16 {
			t.Errorf("%d calls in ten minutes of a storm; 2+4+...+60+60... s make 14", n)
		}
		s.errs = nil
		time.Sleep(throttleMost)
		if _, err := w.List(t.Context()); err != nil {
			t.Errorf("after the storm: %v", err)
		}
		// The next storm begins with a short pause again.
		s.errs = []error{failure(KindThrottled)}
		w.List(t.Context())
		time.Sleep(throttleFirst)
		if _, err := w.List(t.Context()); err != nil {
			t.Errorf("after one refusal and its pause: %v", err)
		}
	})
}

// TestWrapAfter: the cloud's own wish counts if it is longer.
func TestWrapAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{errs: []error{&Error{Kind: KindThrottled, After: 30 * time.Second}}}
		w := Wrap(s, WrapConfig{})
		w.List(t.Context())
		time.Sleep(29 * time.Second)
		_, err := w.List(t.Context())
		var e *Error
		if !errors.As(err, &e) || e.After != time.Second {
			t.Errorf("a second before: %v, %+v", err, e)
		}
		time.Sleep(time.Second)
		if _, err := w.List(t.Context()); err != nil || len(s.calls) != 2 {
			t.Errorf("after the 30 s: %v, %d calls", err, len(s.calls))
		}
	})
}

func TestWrapRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, began := &scripted{}, time.Now()
		w := Wrap(s, WrapConfig{RPS: 2, Burst: 3})
		for range 7 {
			if _, err := w.List(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("7 calls at 2/s after a burst of 3 took %v, want 2s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := w.Delete(ctx, nil); kindOf(err) != KindUnavailable || len(s.calls) != 7 {
			t.Errorf("a caller who does not wait: %v, %d calls", err, len(s.calls))
		}
	})
}

func TestWrapTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, began := &scripted{hang: true}, time.Now()
		_, err := Wrap(s, WrapConfig{Timeout: 10 * time.Second}).List(t.Context())
		if took := time.Since(began); kindOf(err) != KindUnavailable || took != 10*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestWrapMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		a := Wrap(&scripted{errs: []error{failure(KindStockOut), nil, failure(KindThrottled)}}, WrapConfig{Site: "a", Registerer: reg})
		b := Wrap(&scripted{}, WrapConfig{Site: "b", Registerer: reg})
		a.Create(t.Context(), Request{Names: []string{"n"}})
		a.List(t.Context())
		a.List(t.Context())
		a.List(t.Context())
		b.Delete(t.Context(), nil)
		calls := register(reg, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fsub_cloud_calls_total", Help: "Calls to clouds, by site, method and kind of the answer (ok, or why not).",
		}, []string{"site", "method", "kind"}))
		for labels, want := range map[[3]string]float64{
			{"a", "create", "stock-out"}: 1, {"a", "list", "ok"}: 1, {"a", "list", "throttled"}: 1, {"a", "list", "not-asked"}: 1, {"b", "delete", "ok"}: 1,
		} {
			if got := testutil.ToFloat64(calls.WithLabelValues(labels[:]...)); got != want {
				t.Errorf("%v = %v, want %v", labels, got, want)
			}
		}
	})
}

// A daemon that leads no longer asks nothing, not even what it has waited to ask.
func TestDeposed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{}
		var deposed atomic.Bool
		p := Wrap(s, WrapConfig{RPS: 1, Burst: 1, Deposed: deposed.Load})
		if _, err := p.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Millisecond, func() { deposed.Store(true) })
		if err := p.Delete(t.Context(), nil); kindOf(err) != KindUnavailable || len(s.calls) != 1 {
			t.Errorf("%v; calls %v", err, s.calls)
		}
	})
}
