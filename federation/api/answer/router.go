// Package answer is how the API answers requests: a [Router] of handlers that know their caller, bodies of bounded size, refusals with Slurm's
// numbers and sentences, and calls from inside jobs that wait until the daemon knows of the job.
package answer

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/httpmetrics"
)

// Handler answers a request of a known caller. What it returns as error becomes the answer; after it has written
// one itself it returns nil.
type Handler func(w http.ResponseWriter, r *http.Request, c identity.Caller) error

// Router adds routes. It knows who calls, counts, and logs what fails.
type Router struct {
	Mux     *http.ServeMux
	Who     *identity.Identity
	Metrics *httpmetrics.Requests
	Within  *Within
	Log     *slog.Logger

	// Deposed reports that another daemon answers by now; nil: there is no other. What this one cannot do any more is left unanswered, so that it is asked
	// again, there.
	Deposed func() bool

	// Elsewhere is who answers a request on a route instead, nil: nobody does; nil: nothing is answered elsewhere.
	Elsewhere func(pattern string, r *http.Request) http.Handler
	// Before is called before a request on a route is answered, which fails if it does; nil: nothing is.
	Before func(pattern string, r *http.Request) error

	// Long are the patterns of routes that may wait for something to happen. They take up no share of their user's.
	Long      map[string]bool
	inHand    shares
	strangers Strangers
	routes    []string
}

// Routes are those that were added.
func (s *Router) Routes() []string { return s.routes }

// Handle adds a route: it identifies the caller, runs h, turns its error into an answer and counts.
func (s *Router) Handle(pattern string, h Handler) {
	s.HandleAs(pattern, h, s.fail)
}

// Failure answers c's request, or that of an unknown caller, with an error and returns the status.
type Failure func(w http.ResponseWriter, r *http.Request, c identity.Caller, err error) int

// HandleAs is Handle with its own way to say that something failed.
func (s *Router) HandleAs(pattern string, h Handler, fail Failure) {
	s.Mux.HandleFunc(pattern, s.answering(pattern, s.identify, h, fail))
}

// identify is who sent a request, if that caller may send it.
func (s *Router) identify(r *http.Request) (identity.Caller, error) {
	c, err := s.Who.Caller(r)
	if err == nil {
		c, err = s.Within.inside(r, c)
	}
	if err == nil {
		err = scoped(r, c)
	}
	return c, err
}

// answering answers the requests of a route by h, for the caller whom identify finds.
func (s *Router) answering(pattern string, identify func(*http.Request) (identity.Caller, error), h Handler, fail Failure) http.HandlerFunc {
	route := strings.TrimSuffix(pattern, "/{$}")
	s.routes = append(s.routes, route)
	observe := s.Metrics.Route(route)
	h = s.prepared(route, withLongQuery(h))
	return func(w http.ResponseWriter, r *http.Request) {
		if s.Elsewhere != nil {
			if other := s.Elsewhere(route, r); other != nil {
				other.ServeHTTP(w, r)
				return
			}
		}
		began := time.Now()
		c, err := identify(r)
		if err == nil {
			err = s.shared(h, w, r, c)
		}
		code := http.StatusOK
		var cut cutError
		switch {
		case errors.As(err, &cut):
			code = 0
			if cut.cause != nil && r.Context().Err() == nil { // else the caller has gone
				code = http.StatusInternalServerError
				s.LogFailure(r, code, cut.cause)
			}
			observe(code, time.Since(began))
			panic(http.ErrAbortHandler) // the connection breaks
		case err != nil && s.Deposed != nil && errors.Is(err, federation.ErrUnavailable) && s.Deposed():
			observe(0, time.Since(began))
			panic(http.ErrAbortHandler) // the connection breaks
		case err != nil:
			if code = fail(w, r, c, timedOut(r, err)); r.Context().Err() != nil {
				code = 0
			}
		}
		observe(code, time.Since(began))
	}
}

// prepared is h after what is to be done before.
func (s *Router) prepared(route string, h Handler) Handler {
	if s.Before == nil {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		if err := s.Before(route, r); err != nil {
			return err
		}
		return h(w, r, c)
	}
}

// timedOut words the end of a request's time, or of its caller, that a handler has returned as it is.
func timedOut(r *http.Request, err error) error {
	switch ended := r.Context().Err() != nil; {
	case errors.As(err, new(*federation.SlurmError)):
	case errors.Is(err, context.Canceled) && ended:
		return Outage(Detailed(TimedOut, "the caller has closed its connection"), err)
	case errors.Is(err, context.DeadlineExceeded) && !ended:
		return Outage(Detailed(TimedOut, "it has taken too long; try again"), err)
	}
	return err
}

// panicError is a panic of a handler.
type panicError struct {
	value any
	stack []byte
}

func (e panicError) Error() string { return "internal error: the daemon's log has the cause" }

// guarded runs h. A panic becomes an error; if the answer has begun, the error is for the log only and the connection breaks.
func (s *Router) guarded(h Handler, w http.ResponseWriter, r *http.Request, c identity.Caller) (err error) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		err = panicError{value, debug.Stack()}
		if value == http.ErrAbortHandler || w.Header().Get("Content-Type") != "" { // handlers set it before they write
			s.LogFailure(r, http.StatusInternalServerError, err)
			panic(http.ErrAbortHandler)
		}
	}()
	return h(w, r, c)
}

// fail answers a /fed/v1 request with err and returns the status.
func (s *Router) fail(w http.ResponseWriter, r *http.Request, _ identity.Caller, err error) int {
	code := Status(err)
	s.LogFailure(r, code, err)
	Refusal(w, code, err)
	return code
}

// LogFailure logs what is our failure rather than the caller's. A refusal in Slurm's words has none: that a site does not answer, or that a user asks too much, is not to fill the log.
func (s *Router) LogFailure(r *http.Request, code int, err error) {
	if code < 500 || errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return
	}
	var se OutageError
	switch {
	case errors.As(err, &se):
		err = se.Cause
	case errors.As(err, new(*federation.SlurmError)):
		return
	}
	if p, ok := err.(panicError); ok {
		s.Log.Error("panic in a handler", "method", r.Method, "path", r.URL.Path, "err", p.value, "stack", string(p.stack))
		return
	}
	s.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
}
