package answer

import (
	"encoding/json"
	"errors"
	"net/http"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/api/refusal"
	v1 "fsub/federation/api/v1"
)

// status is the HTTP status of an error on /fed/v1.
func status(err error) int {
	var no identity.NoCallerError
	var noRoute refusal.NoRouteError
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

func Refusal(w http.ResponseWriter, code int, err error) {
	JSONStatus(w, code, v1.ErrorResponse{Error: refusal.OnWire(err)})
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
