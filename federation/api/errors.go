package api

import (
	"encoding/json"
	"errors"
	"net/http"

	"fsub/federation"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// Slurm's numbers and sentences of what this package refuses by itself.
var (
	errInvalidJobID = slurmErr(federation.ErrNotFound, wire.ErrJobID)
	errDenied       = slurmErr(federation.ErrDenied, wire.ErrAccess)
	errNotYourJob   = slurmErr(federation.ErrDenied, wire.ErrUserID)
	errAlreadyDone  = slurmErr(federation.ErrConflict, wire.ErrAlreadyDone)
	errJobFinished  = slurmErr(federation.ErrConflict, wire.ErrJobFinished)
	errNotPending   = slurmErr(federation.ErrConflict, wire.ErrNotPending)
	errNotSuspended = slurmErr(federation.ErrConflict, wire.ErrNotSuspended)
	// 24.11 says so of every step of a suspended job.
	errStepNotRunning = &federation.SlurmError{Kind: federation.ErrConflict, Number: 4027, Text: "Job step not running"}
	errTryLater       = &federation.SlurmError{Kind: federation.ErrConflict, Number: 2020, Text: "Job can not be altered now, try again later"}
	// What a client of a broken slurmctld sees. The first is said where nothing was written, the second where
	// something may have been: clients retry the first without a thought.
	errNoContact = slurmErr(federation.ErrUnavailable, wire.ErrUnreachable)
	errTimedOut  = &federation.SlurmError{Kind: federation.ErrUnavailable, Number: 5004, Text: "Socket timed out on send/recv operation"}
)

// slurmErr is Slurm's error number with its sentence.
func slurmErr(kind error, number int) *federation.SlurmError {
	return &federation.SlurmError{Kind: kind, Number: number, Text: wire.Strerror(number)}
}

// detailed is e with something for people to look at.
func detailed(e *federation.SlurmError, detail string) *federation.SlurmError {
	d := *e
	d.Detail = detail
	return &d
}

// invalid is a request that cannot be right, with something for people to look at.
func invalid(number int, detail string) error {
	e := slurmErr(federation.ErrInvalid, number)
	e.Detail = detail
	return e
}

// badBody is a request that cannot be read at all.
func badBody(detail string) error { return invalid(wire.ErrConvert, detail) }

type noRouteError struct{ method, path string }

func (e noRouteError) Error() string { return "no such path: " + e.method + " " + e.path }

func errNoRoute(r *http.Request) error { return noRouteError{r.Method, r.URL.Path} }

// ofStore words an error of the store for a caller: what is not there is an unknown job, anything else is an outage.
func ofStore(err error, seen *federation.SlurmError) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, federation.ErrNotFound) {
		return errInvalidJobID
	}
	return outage(seen, err)
}

// outage is cause as callers see it.
func outage(seen *federation.SlurmError, cause error) error { return storeError{seen, cause} }

// storeError is an outage as callers see it, with the cause for the log.
type storeError struct {
	*federation.SlurmError
	cause error
}

func (e storeError) Unwrap() []error { return []error{e.SlurmError, e.cause} }

// status is the HTTP status of an error on /fed/v1.
func status(err error) int {
	var no identity.NoCallerError
	var noRoute noRouteError
	switch {
	case errors.As(err, &no):
		return http.StatusUnauthorized
	case errors.As(err, &noRoute), errors.Is(err, federation.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, federation.ErrInvalid), errors.Is(err, federation.ErrCapacity):
		return http.StatusBadRequest
	case errors.Is(err, federation.ErrDenied):
		return http.StatusForbidden
	case errors.Is(err, federation.ErrConflict):
		return http.StatusConflict
	case errors.Is(err, federation.ErrTrimmed):
		return http.StatusGone
	}
	return http.StatusInternalServerError
}

// wireError is err as /fed/v1 says it.
func wireError(err error) v1.Error {
	var e *federation.SlurmError
	if errors.As(err, &e) {
		return v1.Error{Number: e.Number, Said: e.Said, Text: e.Text, Detail: e.Detail, Alone: e.Alone}
	}
	return v1.Error{Text: err.Error()}
}

func writeError(w http.ResponseWriter, code int, err error) {
	writeJSONStatus(w, code, v1.ErrorResponse{Error: wireError(err)})
}

func writeJSON(w http.ResponseWriter, v any) error {
	writeJSONStatus(w, http.StatusOK, v)
	return nil
}

func writeJSONStatus(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		// Only a programming error can end here: all the shapes are plain.
		code, b = http.StatusInternalServerError, []byte(`{"error":{"text":"answer cannot be written as JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(append(b, '\n'))
}
