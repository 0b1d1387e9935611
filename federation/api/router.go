package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"fsub/federation/api/identity"
	"fsub/httpmetrics"
)

// handler answers a request of a known caller. What it returns as error becomes the answer; after it has written
// one itself it returns nil.
type handler func(w http.ResponseWriter, r *http.Request, c identity.Caller) error

// router adds routes. It knows who calls, counts, and logs what fails.
type router struct {
	mux     *http.ServeMux
	who     *identity.Identity
	metrics *httpmetrics.Requests
	within  *within
	log     *slog.Logger
}

// handle adds a route: it identifies the caller, runs h, turns its error into an answer and counts.
func (s *router) handle(pattern string, h handler) {
	s.handleAs(pattern, h, s.fail)
}

// handleAs is handle with its own way to say that something failed.
func (s *router) handleAs(pattern string, h handler, fail func(http.ResponseWriter, *http.Request, error) int) {
	observe := s.metrics.Route(strings.TrimSuffix(pattern, "/{$}"))
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		c, err := s.who.Caller(r)
		if err == nil {
			s.within.wait(r, c)
			err = h(w, r, c)
		}
		code := http.StatusOK
		if err != nil {
			code = fail(w, r, err)
		}
		observe(code, time.Since(began))
	})
}

// fail answers a /fed/v1 request with err and returns the status.
func (s *router) fail(w http.ResponseWriter, r *http.Request, err error) int {
	code := status(err)
	s.logFailure(r, code, err)
	writeError(w, code, err)
	return code
}

// logFailure logs what is our failure rather than the caller's.
func (s *router) logFailure(r *http.Request, code int, err error) {
	if code < 500 || errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return
	}
	var se storeError
	if errors.As(err, &se) {
		err = se.cause
	}
	s.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
}
