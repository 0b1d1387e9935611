package answer

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"fsub/federation"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
)

// Status is the HTTP status of an error on /fed/v1. 500 is a fault of the daemon's own: what it cannot do just now, or a site cannot, is 503.
func Status(err error) int {
	var no identity.NoCallerError
	var noRoute NoRouteError
	switch {
	case errors.As(err, &no):
		return http.StatusUnauthorized
	case errors.As(err, new(identity.EarlyError)):
		return http.StatusTooEarly
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
	case errors.Is(err, federation.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// Refusal answers with err.
func Refusal(w http.ResponseWriter, code int, err error) {
	TryAgain(w, code, err)
	JSONStatus(w, code, v1.ErrorResponse{Error: OnWire(err)})
}

// TryAgain says in the header of an answer when the request is worth another try, where it is.
func TryAgain(w http.ResponseWriter, code int, err error) {
	switch {
	case code != http.StatusServiceUnavailable:
	case errors.Is(err, federation.ErrThrottled):
		w.Header().Set("Retry-After", "1")
	default:
		w.Header().Set("Retry-After", "10")
	}
}

func JSON(w http.ResponseWriter, v any) error {
	JSONStatus(w, http.StatusOK, v)
	return nil
}

func JSONStatus(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		// Only a programming error can end here: all the shapes are plain.
		code, b = http.StatusInternalServerError, []byte(`{"error":{"text":"answer cannot be written as JSON"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(append(b, '\n'))
}
