package agentserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"fsub/federation"
)

// handler answers a request. An error that it returns becomes the response.
type handler func(w http.ResponseWriter, r *http.Request) error

// status is an error with the HTTP status to respond with.
type status struct {
	code int
	error
}

func (s status) Unwrap() error { return s.error }

// unauthorized is an error whose response makes the machine shut down.
type unauthorized struct{ error }

func (u unauthorized) Unwrap() error { return u.error }

func (s *Server) handle(pattern string, h handler) {
	_, route, _ := strings.Cut(pattern, "/agent/v1/")
	observe := s.metrics.Route(strings.SplitN(route, "/", 2)[0])
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &seenWriter{ResponseWriter: w, rc: http.NewResponseController(w), silence: s.silence}
		_ = seen.rc.SetWriteDeadline(time.Time{}) // of the response before
		_ = seen.rc.SetReadDeadline(time.Now().Add(s.silence))
		if err := h(seen, r); err != nil {
			s.fail(seen, r, err)
		}
		seen.alive() // the rest of the response is sent after this
		observe(seen.code, time.Since(began))
	})
}

// fail responds with an error, also when the request's context is done: the daemon may be stopping and
// not the agent, and a handler that writes nothing responds 200.
func (s *Server) fail(w *seenWriter, r *http.Request, err error) {
	code := codeOf(err)
	if code >= 500 && r.Context().Err() == nil {
		s.log.Warn("agent's request failed", "path", r.URL.Path, "status", code, "err", err)
	}
	if w.code == 0 {
		http.Error(w, err.Error(), code)
	}
}

func codeOf(err error) int {
	var s status
	var u unauthorized
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &s):
		return s.code
	case errors.As(err, &u):
		return http.StatusUnauthorized
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, federation.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, federation.ErrDenied):
		return http.StatusForbidden
	case errors.Is(err, federation.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, federation.ErrConflict):
		return http.StatusConflict
	}
	return http.StatusServiceUnavailable
}

// seenWriter remembers the status of a response and gives up when the client does not read it.
type seenWriter struct {
	http.ResponseWriter
	rc      *http.ResponseController
	silence time.Duration
	code    int
}

// alive gives the client time to read what is written now. The server may first wait for the rest of the
// request, for up to silence.
func (w *seenWriter) alive() { _ = w.rc.SetWriteDeadline(time.Now().Add(2 * w.silence)) }

func (w *seenWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *seenWriter) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	w.alive()
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *seenWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// bodyTime is how long an agent may take to send a JSON body, plus a second for each MiB.
const bodyTime = 30 * time.Second

func readJSON(w http.ResponseWriter, r *http.Request, most int64, into any) error {
	rc := http.NewResponseController(w)
	size := min(max(r.ContentLength, 0), most)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTime + time.Duration(size>>20)*time.Second)) // not every connection has one
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, most)).Decode(into); err != nil {
		return fmt.Errorf("%w: body: %w", federation.ErrInvalid, err)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}
