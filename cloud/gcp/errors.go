package gcp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/api/googleapi"

	"fsub/cloud/provider"
)

// meaning is what a code of Google says about the next call.
type meaning struct {
	kind  provider.ErrorKind
	scope provider.Scope
}

var (
	stockOut    = meaning{provider.KindStockOut, provider.ScopeOffering}
	zoneFull    = meaning{provider.KindStockOut, provider.ScopeZone}
	quota       = meaning{provider.KindQuota, provider.ScopeRegion}
	denied      = meaning{provider.KindDenied, provider.ScopeCloud}
	throttled   = meaning{provider.KindThrottled, provider.ScopeCloud}
	unavailable = meaning{provider.KindUnavailable, provider.ScopeCloud}
	notYet      = meaning{provider.KindUnavailable, provider.ScopeOffering}
	invalidHere = meaning{provider.KindInvalid, provider.ScopeOffering}
	invalidAll  = meaning{provider.KindInvalid, provider.ScopeCloud}
	notFound    = meaning{provider.KindNotFound, provider.ScopeOffering}
	conflict    = meaning{provider.KindConflict, provider.ScopeOffering}
)

// codes are those that callers act on: codes of operations' errors in capitals, reasons of refused calls in small letters. The stock-outs are what SkyPilot and
// Cluster Toolkit take for such. What is not here is judged by the status that it came with.
var codes = map[string]meaning{
	"ZONE_RESOURCE_POOL_EXHAUSTED":              stockOut,
	"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS": stockOut,
	"RESOURCE_POOL_EXHAUSTED":                   stockOut,
	"STOCKOUT":                                  stockOut,
	"INSUFFICIENT_CAPACITY":                     stockOut,
	"VM_MIN_COUNT_NOT_REACHED":                  stockOut, // of bulkInsert, beside the reason
	"UNSUPPORTED_OPERATION":                     stockOut, // it was preempted while it was made
	"RESERVATION_CAPACITY_EXCEEDED":             stockOut,
	"IP_SPACE_EXHAUSTED":                        zoneFull,
	"IP_SPACE_EXHAUSTED_WITH_DETAILS":           zoneFull,
	"QUOTA_EXCEEDED":                            quota,
	"LIMIT_EXCEEDED":                            quota,
	"PERMISSIONS_ERROR":                         denied,
	"IAM_PERMISSION_DENIED":                     denied,
	"RESOURCE_OPERATION_RATE_EXCEEDED":          throttled,
	"RATE_LIMIT_EXCEEDED":                       throttled,
	"RESOURCE_NOT_READY":                        notYet,
	"RESOURCE_NOT_FOUND":                        notYet, // made a moment ago, and not known everywhere
	"RESOURCE_IN_USE_BY_ANOTHER_RESOURCE":       notYet,
	"INTERNAL_ERROR":                            notYet,
	"RESOURCE_ALREADY_EXISTS":                   conflict,
	"VPC_NOT_FOUND":                             invalidAll,
	"SUBNET_NOT_FOUND_FOR_VPC":                  invalidAll,

	"stockout":                       stockOut,
	"insufficientCapacity":           stockOut,
	"quotaExceeded":                  quota,
	"limitExceeded":                  quota,
	"rateLimitExceeded":              throttled,
	"userRateLimitExceeded":          throttled,
	"concurrentOperationsExceeded":   throttled,
	"resourceOperationRateExceeded":  throttled,
	"forbidden":                      denied,
	"authError":                      denied,
	"insufficientPermissions":        denied,
	"accessNotConfigured":            denied,
	"billingNotEnabled":              denied,
	"resourceNotReady":               notYet,
	"resourceInUseByAnotherResource": notYet,
	"backendError":                   unavailable,
	"internalError":                  unavailable,
	"notFound":                       notFound,
	"alreadyExists":                  conflict,
	"conflict":                       conflict,
	"invalid":                        invalidHere,
	"required":                       invalidHere,
	"badRequest":                     invalidHere,
}

// meaningOf judges a code, or where it says nothing the status.
func meaningOf(code string, status int) meaning {
	if m, ok := codes[code]; ok {
		return m
	}
	switch {
	case strings.Contains(code, "POOL_EXHAUSTED"), strings.Contains(code, "INSUFFICIENT") && strings.Contains(code, "CAPACITY"):
		return stockOut
	case strings.HasSuffix(code, "QUOTA_EXCEEDED"):
		return quota
	case status == http.StatusTooManyRequests:
		return throttled
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return denied
	case status == http.StatusNotFound:
		return notFound
	case status == http.StatusConflict:
		return conflict
	case status == 0 || status >= 500:
		return notYet
	}
	return invalidHere
}

// allRegions is the quota that is one for the whole account.
const allRegions = "GPUS_ALL_REGIONS"

// refused makes a provider.Error of what the SDK has returned.
func refused(err error) error {
	if err == nil {
		return nil
	}
	var known *provider.Error
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: "no answer in time", Err: err}
	}
	var api *googleapi.Error
	if !errors.As(err, &api) {
		m := unavailable
		if strings.Contains(err.Error(), "oauth2") || strings.Contains(err.Error(), "credentials") || strings.Contains(err.Error(), "cannot fetch token") {
			m = denied // nothing was sent: there is nothing to sign with
		}
		return &provider.Error{Kind: m.kind, Scope: m.scope, Text: err.Error(), Err: err}
	}
	code := ""
	if len(api.Errors) > 0 {
		code = api.Errors[0].Reason
	}
	m := meaningOf(code, api.Code)
	if m.kind == provider.KindQuota && strings.Contains(api.Message, allRegions) {
		m.scope = provider.ScopeCloud
	}
	return &provider.Error{Kind: m.kind, Scope: m.scope, Code: code, Text: api.Message, After: provider.RetryAfter(api.Header), Err: err}
}

// rank is which of several errors says most: what no other zone changes comes first.
var rank = []provider.ErrorKind{provider.KindDenied, provider.KindQuota, provider.KindConflict, provider.KindInvalid, provider.KindStockOut, provider.KindThrottled, provider.KindUnavailable}

// failed is what the errors of an operation say together; nil: there are none.
func failed(op *computepb.Operation) error {
	var worst *provider.Error
	at := len(rank)
	for _, e := range op.GetError().GetErrors() {
		m := meaningOf(e.GetCode(), 0)
		for _, d := range e.ErrorDetails {
			if q := d.GetQuotaInfo(); q != nil && strings.Contains(q.GetLimitName()+q.GetMetricName(), "ALL-REGIONS") {
				m.scope = provider.ScopeCloud
			}
		}
		if m.kind == provider.KindQuota && strings.Contains(e.GetMessage(), allRegions) {
			m.scope = provider.ScopeCloud
		}
		n := slices.Index(rank, m.kind)
		// Of two of one kind the one that names more than the count wins.
		if n < at || n == at && worst.Code == "VM_MIN_COUNT_NOT_REACHED" {
			worst, at = &provider.Error{Kind: m.kind, Scope: m.scope, Code: e.GetCode(), Text: e.GetMessage()}, n
		}
	}
	if worst != nil {
		return worst
	}
	if status := int(op.GetHttpErrorStatusCode()); status >= 300 {
		m := meaningOf("", status)
		return &provider.Error{Kind: m.kind, Scope: m.scope, Code: strconv.Itoa(status), Text: op.GetHttpErrorMessage()}
	}
	return nil
}

// isKind reports whether err is a refusal of a kind.
func isKind(err error, kind provider.ErrorKind) bool {
	return err != nil && provider.AsError(refused(err)).Kind == kind
}
