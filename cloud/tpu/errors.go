package tpu

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/api/googleapi"
	tpuapi "google.golang.org/api/tpu/v2alpha1"

	"fsub/cloud/provider"
)

// refused makes a provider.Error of what the client has returned.
func refused(err error) error {
	if err == nil {
		return nil
	}
	var known *provider.Error
	if errors.As(err, &known) {
		return known
	}
	e := &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: err.Error(), Err: err}
	var api *googleapi.Error
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		e.Text = "no answer in time"
		return e
	case !errors.As(err, &api):
		if strings.Contains(e.Text, "oauth2") || strings.Contains(e.Text, "credentials") {
			e.Kind = provider.KindDenied // nothing was sent: there is nothing to sign with
		}
		return e
	}
	e.Code, e.Text = strconv.Itoa(api.Code), api.Message
	text := strings.ToLower(api.Body + api.Message)
	switch api.Code {
	case http.StatusTooManyRequests:
		if e.Kind = provider.KindThrottled; strings.Contains(text, "quota") && !strings.Contains(text, "rate") {
			e.Kind, e.Scope = provider.KindQuota, provider.ScopeRegion
		}
	case http.StatusUnauthorized, http.StatusForbidden:
		if e.Kind = provider.KindDenied; strings.Contains(text, "ratelimitexceeded") {
			e.Kind = provider.KindThrottled
		}
	case http.StatusNotFound:
		e.Kind, e.Scope = provider.KindNotFound, provider.ScopeOffering
	case http.StatusConflict:
		e.Kind, e.Scope = provider.KindConflict, provider.ScopeOffering
	case http.StatusBadRequest:
		e.Kind, e.Scope = provider.KindInvalid, provider.ScopeOffering
	}
	return e
}

// failed is what the error of a queued resource means: google.rpc codes. 8 is no capacity in the zone, or a quota; 9 no reserved capacity; 3 that the slice was
// preempted while it was made. Whatever it is, this request will never be served.
func failed(s *tpuapi.Status) error {
	e := &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Code: "FAILED", Text: "the queued resource has failed"}
	if s == nil {
		return e
	}
	e.Code, e.Text = strconv.FormatInt(s.Code, 10), s.Message
	text := strings.ToLower(s.Message)
	switch {
	case s.Code == 7 || s.Code == 16:
		e.Kind, e.Scope = provider.KindDenied, provider.ScopeCloud
	case s.Code == 8 && strings.Contains(text, "quota"):
		if e.Kind, e.Scope = provider.KindQuota, provider.ScopeRegion; strings.Contains(text, "in zone") {
			e.Scope = provider.ScopeZone
		}
	case s.Code == 5, s.Code == 3 && !strings.Contains(text, "preempt"):
		e.Kind = provider.KindInvalid
	}
	return e
}

// isKind reports whether err is a refusal of a kind.
func isKind(err error, kind provider.ErrorKind) bool {
	return err != nil && provider.AsError(refused(err)).Kind == kind
}
