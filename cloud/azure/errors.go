package azure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"fsub/cloud/provider"
)

// meaning is what a code of Azure says about the next call.
type meaning struct {
	kind  provider.ErrorKind
	scope provider.Scope
	after time.Duration // for how long asking again is of no use, where that is known
}

var (
	stockOut    = meaning{kind: provider.KindStockOut, scope: provider.ScopeOffering}
	quota       = meaning{kind: provider.KindQuota, scope: provider.ScopeRegion}
	denied      = meaning{kind: provider.KindDenied, scope: provider.ScopeCloud}
	throttled   = meaning{kind: provider.KindThrottled, scope: provider.ScopeCloud}
	unavailable = meaning{kind: provider.KindUnavailable, scope: provider.ScopeCloud}
	invalidHere = meaning{kind: provider.KindInvalid, scope: provider.ScopeOffering}
	invalidAll  = meaning{kind: provider.KindInvalid, scope: provider.ScopeCloud}
	notFound    = meaning{kind: provider.KindNotFound, scope: provider.ScopeOffering}
	noSize      = meaning{kind: provider.KindStockOut, scope: provider.ScopeOffering, after: time.Hour}
)

// codes are those that callers act on. A failure of an operation comes with status 200: the status says nothing, and is not looked at.
//
// Sources: [k] karpenter-provider-azure, pkg/providers/instance and pkg/fake; [s] SkyPilot, sky/backends/cloud_vm_ray_backend.py; [a] learn.microsoft.com,
// "Resolve common Azure deployment errors" and "Troubleshoot allocation failures"; [t] "Understand how Azure Resource Manager throttles requests"; [r] "REST API error
// codes" of Azure Storage and ARM; [i] Microsoft Entra authentication errors as ARM tells them.
var codes = map[string]meaning{
	"AllocationFailed":                            stockOut, // [k][a]
	"ZonalAllocationFailed":                       stockOut, // [k][a]
	"OverconstrainedAllocationRequest":            stockOut, // [k][a]
	"OverconstrainedZonalAllocationRequest":       stockOut, // [k][a]
	"CapacityReservationCapacityExceeded":         stockOut, // [a]
	"SkuNotAvailable":                             noSize,   // [k][a]
	"ZoneNotAllowedInLocation":                    invalidHere,
	"AvailabilityZoneNotSupported":                invalidHere, // [a]
	"InvalidAvailabilityZone":                     invalidHere,
	"QuotaExceeded":                               quota, // [s][a]
	"ResourceQuotaExceeded":                       quota, // [a]
	"ResourceGroupQuotaExceeded":                  quota, // [a]
	"PublicIPCountLimitReached":                   quota, // [a]
	"StandardSkuPublicIPAddressCountLimitReached": quota,
	"SubnetIsFull":                                {kind: provider.KindQuota, scope: provider.ScopeCloud}, // the only subnet
	"NotEnoughFreeAddressesInSubnet":              {kind: provider.KindQuota, scope: provider.ScopeCloud},
	"SubscriptionNotFound":                        denied, // [a]
	"ReadOnlyDisabledSubscription":                denied, // [s]
	"DisallowedOperation":                         denied, // [a]
	"AuthorizationFailed":                         denied, // [a][i]
	"LinkedAuthorizationFailed":                   denied, // [i] no right to join the subnet
	"AuthenticationFailed":                        denied, // [i]
	"InvalidAuthenticationToken":                  denied, // [i]
	"InvalidAuthenticationTokenTenant":            denied, // [i]
	"ExpiredAuthenticationToken":                  denied, // [i]
	"RequestDisallowedByPolicy":                   denied, // [a]
	"MissingSubscriptionRegistration":             denied, // [a]
	"NoRegisteredProviderFound":                   denied, // [a]
	"ScopeLocked":                                 denied,
	"MarketplacePurchaseEligibilityFailed":        denied,    // [a] the image's terms are not accepted
	"TooManyRequests":                             throttled, // [t]
	"SubscriptionRequestsThrottled":               throttled, // [t]
	"ResourceRequestsThrottled":                   throttled, // [t]
	"ResourceCollectionRequestsThrottled":         throttled, // [t]
	"OperationThrottled":                          throttled,
	"InternalServerError":                         unavailable, // [r]
	"InternalExecutionError":                      unavailable, // [a]
	"InternalOperationError":                      unavailable,
	"NetworkingInternalOperationError":            unavailable,
	"ServiceUnavailable":                          unavailable, // [r]
	"ServerTimeout":                               unavailable,
	"GatewayTimeout":                              unavailable,
	"RetryableError":                              unavailable, // [a]
	"RetryableErrorDueToAnotherOperation":         unavailable, // [a]
	"AnotherOperationInProgress":                  unavailable, // [a]
	"OperationPreempted":                          unavailable,
	"ConflictingServerOperation":                  unavailable,
	"Conflict":                                    unavailable, // [a]
	"ParentResourceNotFound":                      notFound,    // [a]
	"ResourceNotFound":                            notFound,    // [a]
	"NotFound":                                    notFound,    // [a]
	"ResourceGroupNotFound":                       invalidAll,  // [a]
	"ResourceGroupBeingDeleted":                   invalidAll,
	"InvalidResourceReference":                    invalidAll, // [a] the subnet or the security group is not there
	"InvalidSubscriptionId":                       invalidAll, // [a]
	"LocationNotAvailableForResourceType":         invalidAll, // [a]
	"ImageNotFound":                               invalidAll, // [a]
	"PlatformImageNotFound":                       invalidAll,
	"GalleryImageNotFound":                        invalidAll,
	"InvalidImageReference":                       invalidAll,
	"VMImageNotFound":                             invalidAll,
}

// meaningOf judges a code, with Azure's sentence where a code has several meanings.
func meaningOf(code, text string) meaning {
	if m, ok := codes[code]; ok {
		return m
	}
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "quota"): // OperationNotAllowed, InvalidTemplateDeployment, BadRequest: "... exceeding approved Total Regional Cores quota"
		return quota
	case strings.Contains(low, "allocation failed"), strings.Contains(low, "sufficient capacity"):
		return stockOut
	case strings.HasSuffix(code, "LimitReached"), strings.HasSuffix(code, "QuotaExceeded"):
		return quota
	case strings.HasSuffix(code, "Throttled"):
		return throttled
	case code == "":
		return unavailable
	}
	return invalidHere // OperationNotAllowed, InvalidParameter, VMSizeNotSupported, ...
}

// refused makes a provider.Error of what the SDK has returned. No text of it holds a secret.
func refused(err error) error {
	if err == nil {
		return nil
	}
	var known *provider.Error
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: "no answer in time"}
	}
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		code, text := spoken(re)
		m := meaningOf(code, text)
		return &provider.Error{Kind: m.kind, Scope: m.scope, Code: code, Text: scrub(text), After: cmp.Or(retryAfter(re.RawResponse), m.after)}
	}
	var login *azidentity.AuthenticationFailedError
	if errors.As(err, &login) && login.RawResponse != nil || strings.Contains(err.Error(), "failed to acquire a token") {
		return &provider.Error{Kind: provider.KindDenied, Scope: provider.ScopeCloud, Text: "no credentials: " + scrub(err.Error())}
	}
	return &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: scrub(err.Error())}
}

// armError is an error as ARM writes it.
type armError struct {
	Code    string
	Message string
	Details []armError
}

// deepest is the innermost error with a code that is known: ARM wraps what a resource provider says.
func (e *armError) deepest() *armError {
	for i := range e.Details {
		if d := e.Details[i].deepest(); d != nil {
			return d
		}
	}
	if _, ok := codes[e.Code]; ok {
		return e
	}
	return nil
}

// spoken is the code and the sentence of an answer.
func spoken(re *azcore.ResponseError) (code, text string) {
	code = re.ErrorCode
	if re.RawResponse == nil {
		return code, ""
	}
	body, err := runtime.Payload(re.RawResponse)
	if err != nil {
		return code, ""
	}
	var answer struct {
		armError
		Error armError
	}
	if json.Unmarshal(body, &answer) != nil {
		return code, ""
	}
	e := &answer.Error
	if e.Code == "" && e.Message == "" {
		e = &answer.armError
	}
	if d := e.deepest(); d != nil {
		e = d
	}
	return cmp.Or(e.Code, code), e.Message
}

func conflict(format string, args ...any) error {
	return &provider.Error{Kind: provider.KindConflict, Scope: provider.ScopeOffering, Text: fmt.Sprintf(format, args...)}
}

// secretLike is a word that may be a token or a password.
var secretLike = regexp.MustCompile(`[A-Za-z0-9/+=~._-]{60,}|(?i)(client_secret|sig|password)=[^&\s]+`)

// scrub takes out of a text what may be a credential, and what is too long to be read.
func scrub(text string) string {
	text = secretLike.ReplaceAllString(strings.Join(strings.Fields(text), " "), "[...]")
	const most = 500
	if len(text) > most {
		text = text[:most] + " ..."
	}
	return text
}
