package provider

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"fsub/federation"
	"fsub/federation/driver"
)

// WrapConfig says how a Provider is called.
type WrapConfig struct {
	Site federation.SiteName // label of the metrics
	// RPS bounds calls per second, after a burst of Burst. A call waits for its turn. 0: no bound.
	RPS   float64
	Burst int
	// Retries is how often a call is made again after KindUnavailable. Create is, with the same token: that is safe; what it does after any other error is not
	// for a wrapper to decide.
	Retries int
	Timeout time.Duration // of one call; 0: none but the caller's
	// Deposed reports that another daemon leads: no call is made any more. nil: there is no other.
	Deposed func() bool

	Registerer prometheus.Registerer // nil: metrics are not shown
	Logger     *slog.Logger          // nil: slog.Default()
	Now        func() time.Time      // nil: time.Now
}

// The waits between tries, and how long nothing is asked of a cloud that throttles, unless it says itself. Both double.
const (
	retryFirst    = 500 * time.Millisecond
	throttleFirst = 2 * time.Second
	throttleMost  = time.Minute
)

// Wrap returns p with a rate limit, few retries, a pause when the cloud throttles, a log and metrics. What p can do beyond a Provider ([Topologist]) the
// result can too.
//
// While the pause lasts every call fails at once with KindThrottled and the rest of the pause in After: a storm of refusals costs a bounded number of calls.
func Wrap(p Provider, cfg WrapConfig) Provider {
	w := &wrapper{p: p, cfg: cfg, metrics: newCallMetrics(cfg)}
	if w.cfg.Logger == nil {
		w.cfg.Logger = slog.Default()
	}
	if w.cfg.Now == nil {
		w.cfg.Now = time.Now
	}
	if cfg.RPS > 0 {
		w.limit = rate.NewLimiter(rate.Limit(cfg.RPS), max(1, cfg.Burst))
	}
	if t, ok := p.(Topologist); ok {
		return &topologist{w, t}
	}
	return w
}

// wrapper is a Provider around another.
type wrapper struct {
	p       Provider
	cfg     WrapConfig
	limit   *rate.Limiter // nil: none
	metrics callMetrics

	mu     sync.Mutex
	pause  time.Duration // of the last throttling; 0: the last answer was none
	closed time.Time     // until then nothing is asked
}

// topologist is a wrapper around a Provider that knows where its machines are.
type topologist struct {
	*wrapper
	t Topologist
}

func (w *wrapper) Offerings(ctx context.Context) ([]Offering, error) {
	return call(ctx, w, "offerings", w.p.Offerings)
}

func (w *wrapper) Create(ctx context.Context, r Request) ([]Instance, error) {
	return call(ctx, w, "create", func(ctx context.Context) ([]Instance, error) {
		same := r // a Provider that changes its request must not change the next try
		same.Names = slices.Clone(r.Names)
		return w.p.Create(ctx, same)
	})
}

func (w *wrapper) Withdraw(ctx context.Context, token string) error {
	_, err := call(ctx, w, "withdraw", func(ctx context.Context) (struct{}, error) { return struct{}{}, w.p.Withdraw(ctx, token) })
	return err
}

func (w *wrapper) List(ctx context.Context) ([]Instance, error) {
	return call(ctx, w, "list", w.p.List)
}

func (w *wrapper) Delete(ctx context.Context, ids []InstanceID) error {
	_, err := call(ctx, w, "delete", func(ctx context.Context) (struct{}, error) { return struct{}{}, w.p.Delete(ctx, ids) })
	return err
}

// Check implements [Checker], for a Provider that does.
func (w *wrapper) Check(ctx context.Context) []driver.SiteCheck {
	if c, ok := w.p.(Checker); ok {
		return c.Check(ctx)
	}
	return nil
}

// Console implements [Consoler], for a Provider that does.
func (w *wrapper) Console(ctx context.Context, id InstanceID) (string, error) {
	c, ok := w.p.(Consoler)
	if !ok {
		return "", nil
	}
	return call(ctx, w, "console", func(ctx context.Context) (string, error) { return c.Console(ctx, id) })
}

func (t *topologist) Topology(ctx context.Context, ids []InstanceID) (map[InstanceID][]string, error) {
	return call(ctx, t.wrapper, "topology", func(ctx context.Context) (map[InstanceID][]string, error) { return t.t.Topology(ctx, ids) })
}

// call makes one call, and makes it again as long as it is unavailable and tries are left. Every method may be: Create by its token, Delete since it is
// idempotent, the others change nothing.
func call[T any](ctx context.Context, w *wrapper, method string, f func(context.Context) (T, error)) (T, error) {
	wait := retryFirst
	for try := 0; ; try++ {
		result, err := once(ctx, w, method, f)
		if kindOf(err) != KindUnavailable || try >= w.cfg.Retries || ctx.Err() != nil {
			return result, err
		}
		w.cfg.Logger.Debug("the cloud is asked again", "site", w.cfg.Site, "method", method, "err", err)
		if waitFor(ctx, wait) != nil {
			return result, err
		}
		wait *= 2
	}
}

func once[T any](ctx context.Context, w *wrapper, method string, f func(context.Context) (T, error)) (T, error) {
	var none T
	if err := w.turn(ctx); err != nil {
		w.metrics.refused(method)
		return none, err
	}
	if w.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.cfg.Timeout)
		defer cancel()
	}
	if w.cfg.Deposed != nil && w.cfg.Deposed() {
		return none, &Error{Kind: KindUnavailable, Scope: ScopeCloud, Text: "this daemon leads no longer: it asks nothing"}
	}
	began := w.cfg.Now()
	result, err := f(ctx)
	kind := kindOf(err)
	w.metrics.call(method, kind, w.cfg.Now().Sub(began))
	w.heard(method, kind, err)
	return result, err
}

// turn waits for the rate limit. While the cloud wants to be left alone it returns an error at once.
func (w *wrapper) turn(ctx context.Context) error {
	if err := w.left(); err != nil || w.limit == nil {
		return err
	}
	now := w.cfg.Now()
	r := w.limit.ReserveN(now, 1)
	if err := waitFor(ctx, r.DelayFrom(now)); err != nil {
		r.CancelAt(w.cfg.Now())
		return &Error{Kind: KindUnavailable, Scope: ScopeCloud, Text: "the caller did not wait for its turn", Err: err}
	}
	return w.left() // others may have been throttled meanwhile
}

// left is the error of a call that is not made, nil if it can be.
func (w *wrapper) left() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if rest := w.closed.Sub(w.cfg.Now()); rest > 0 {
		return &Error{Kind: KindThrottled, Scope: ScopeCloud, Text: "the cloud has refused calls as too many: it is left alone", After: rest}
	}
	return nil
}

// heard draws the conclusions of an answer.
func (w *wrapper) heard(method string, kind ErrorKind, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kind != KindThrottled {
		if kind != KindUnavailable { // that says nothing about the rate
			w.pause = 0
		}
		return
	}
	if w.pause *= 2; w.pause == 0 {
		w.pause = throttleFirst
	}
	w.pause = min(w.pause, throttleMost)
	rest := w.pause
	rest = max(rest, AsError(err).After)
	if until := w.cfg.Now().Add(rest); until.After(w.closed) {
		w.closed = until
	}
	w.cfg.Logger.Warn("the cloud throttles: it is left alone for a while", "site", w.cfg.Site, "method", method, "for", rest)
}

// kindOf is the kind of an error; "" for nil.
func kindOf(err error) ErrorKind {
	if err == nil {
		return ""
	}
	return AsError(err).Kind
}

func waitFor(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
