package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/spending"
)

// Following is a [Controller] at a daemon that stands by: it knows by the leader's word what listings need. What else is asked of a controller the leader answers.
type Following struct {
	ask       func(ctx context.Context, path, tag string) (*http.Response, error)
	sites     atomic.Pointer[[]*federation.Site]
	tag       string
	starts    remembered[decision.Starts]
	spendings remembered[spending.Spendings]
}

var _ Controller = (*Following)(nil)

// NewFollowing returns a Following that knows nothing yet. ask gets something of the leader, unless it is what tag names.
func NewFollowing(ask func(ctx context.Context, path, tag string) (*http.Response, error)) *Following {
	f := &Following{ask: ask}
	f.sites.Store(new([]*federation.Site))
	f.starts.path, f.spendings.path = pathStarts, pathSpendings
	return f
}

// Update asks the leader how the federation is, and has s answer by that. It is for one goroutine.
func (f *Following) Update(ctx context.Context, s *Server) error {
	var now told
	tag, err := f.get(ctx, pathSites, f.tag, &now)
	if err != nil || tag == f.tag {
		return err
	}
	sites := make([]*federation.Site, len(now.Sites))
	for i := range now.Sites {
		sites[i] = now.Sites[i].site()
	}
	f.sites.Store(&sites)
	f.tag = tag
	s.Tune(now.Operators, s.cfg.Limits)
	return nil
}

// Know has it know the sites as this daemon saw them when it led.
func (f *Following) Know(sites []*federation.Site) { f.sites.Store(&sites) }

// get asks the leader for what is at a path. What it has already, by its tag, stays as it is.
func (f *Following) get(ctx context.Context, path, tag string, out any) (string, error) {
	resp, err := f.ask(ctx, path, tag)
	if err != nil {
		return tag, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNotModified:
		return tag, nil
	case http.StatusOK:
		return resp.Header.Get("ETag"), json.NewDecoder(resp.Body).Decode(out)
	}
	return tag, fmt.Errorf("%w: the leader answers %s with %s", federation.ErrUnavailable, path, resp.Status)
}

// remembered is an answer of the leader that is good for a moment: it may be large, and many ask for it.
type remembered[T any] struct {
	path string
	mu   sync.Mutex
	at   time.Time
	last T
	err  error
}

// rememberFor is how long an answer is good. Starts are expected by a round of the controller, which may have been longer ago.
const rememberFor = time.Second

func (a *remembered[T]) of(ctx context.Context, f *Following) (T, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.at) < rememberFor {
		return a.last, a.err
	}
	var next T
	_, a.err = f.get(ctx, a.path, "", &next)
	a.last, a.at = next, time.Now()
	return a.last, a.err
}

// Sites implements [Controller].
func (f *Following) Sites() []*federation.Site { return *f.sites.Load() }

// Starts implements [Controller].
func (f *Following) Starts(ctx context.Context) (decision.Starts, error) { return f.starts.of(ctx, f) }

// Spendings implements [Controller].
func (f *Following) Spendings(ctx context.Context) (spending.Spendings, error) {
	return f.spendings.of(ctx, f)
}

var errLeaders = fmt.Errorf("%w: this daemon stands by, and the leader answers that", federation.ErrUnavailable)

// The rest is asked on routes that the leader answers.

// Judge implements [Controller].
func (*Following) Judge(*federation.Job) error { return errLeaders }

// Decision implements [Controller].
func (*Following) Decision(*federation.Job) (d decision.Decision) { return d }

// Explain implements [Controller].
func (*Following) Explain(context.Context, *federation.Job) (e decision.Explained) { return e }

// Priority implements [Controller].
func (*Following) Priority(*federation.Job) []decision.PriorityPart { return nil }

// Try implements [Controller].
func (*Following) Try(context.Context, *federation.Job) (t decision.Trial, err error) {
	return t, errLeaders
}

// Wake implements [Controller].
func (*Following) Wake() {}

// LookAt implements [Controller].
func (*Following) LookAt(federation.SiteName) {}

// Settled implements [Controller].
func (*Following) Settled(context.Context, []int64, time.Duration) {}
