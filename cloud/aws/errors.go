package aws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"fsub/cloud/provider"
)

// meaning is what a code of AWS says about the next call.
type meaning struct {
	kind  provider.ErrorKind
	scope provider.Scope
}

var (
	stockOut     = meaning{provider.KindStockOut, provider.ScopeOffering}
	zoneFull     = meaning{provider.KindStockOut, provider.ScopeZone}
	quota        = meaning{provider.KindQuota, provider.ScopeRegion}
	denied       = meaning{provider.KindDenied, provider.ScopeCloud}
	throttled    = meaning{provider.KindThrottled, provider.ScopeCloud}
	unavailable  = meaning{provider.KindUnavailable, provider.ScopeCloud}
	invalidHere  = meaning{provider.KindInvalid, provider.ScopeOffering}
	invalidZone  = meaning{provider.KindInvalid, provider.ScopeZone}
	invalidAll   = meaning{provider.KindInvalid, provider.ScopeCloud}
	notFound     = meaning{provider.KindNotFound, provider.ScopeOffering}
	conflict     = meaning{provider.KindConflict, provider.ScopeOffering}
	notYet       = meaning{provider.KindUnavailable, provider.ScopeOffering}
	deniedHere   = meaning{provider.KindDenied, provider.ScopeOffering}
	deniedRegion = meaning{provider.KindDenied, provider.ScopeRegion}
)

// codes are those that callers act on. The stock-outs are the union of what ParallelCluster and
// Karpenter take for such; what is not here is judged by its form and by the status that it came with.
var codes = map[string]meaning{
	"InsufficientInstanceCapacity":            stockOut,
	"InsufficientHostCapacity":                stockOut,
	"InsufficientCapacityOnHost":              stockOut,
	"InsufficientReservedInstanceCapacity":    stockOut,
	"InsufficientReservedInstancesCapacity":   stockOut,
	"InsufficientCapacity":                    stockOut,
	"UnfulfillableCapacity":                   stockOut,
	"SpotMaxPriceTooLow":                      stockOut,
	"ReservationCapacityExceeded":             stockOut,
	"Unsupported":                             stockOut, // "... is not supported in your requested Availability Zone"
	"InvalidCapacityReservationState":         stockOut,
	"InvalidCapacityReservationId.NotFound":   stockOut, // a block that is over
	"CapacityReservationFull":                 stockOut,
	"InsufficientFreeAddressesInSubnet":       zoneFull,
	"InsufficientVolumeCapacity":              zoneFull,
	"InsufficientAddressCapacity":             zoneFull,
	"VcpuLimitExceeded":                       quota,
	"InstanceLimitExceeded":                   quota,
	"MaxSpotInstanceCountExceeded":            quota,
	"MaxFleetCountExceeded":                   quota,
	"MaxSpotFleetRequestCountExceeded":        quota,
	"MaxIOPSLimitExceeded":                    quota,
	"VolumeLimitExceeded":                     quota,
	"NetworkInterfaceLimitExceeded":           quota,
	"PlacementGroupLimitExceeded":             quota,
	"ResourceCountExceeded":                   quota,
	"ServiceQuotaExceededException":           quota,
	"AuthFailure":                             denied,
	"UnauthorizedOperation":                   denied,
	"UnrecognizedClientException":             denied,
	"InvalidClientTokenId":                    denied,
	"InvalidAccessKeyId":                      denied,
	"SignatureDoesNotMatch":                   denied,
	"InvalidSignatureException":               denied,
	"IncompleteSignature":                     denied,
	"MissingAuthenticationToken":              denied,
	"MissingAuthenticationTokenException":     denied,
	"NotAuthorized":                           denied,
	"ExpiredToken":                            denied,
	"ExpiredTokenException":                   denied,
	"TokenRefreshRequired":                    denied,
	"RequestExpired":                          denied,
	"AccessDenied":                            denied,
	"AccessDeniedException":                   denied,
	"OptInRequired":                           denied,
	"Blocked":                                 denied,
	"PendingVerification":                     deniedRegion,
	"OperationNotPermitted":                   deniedHere, // termination protection, ...
	"RequestLimitExceeded":                    throttled,
	"Throttling":                              throttled,
	"ThrottlingException":                     throttled,
	"ThrottledException":                      throttled,
	"RequestThrottled":                        throttled,
	"RequestThrottledException":               throttled,
	"EC2ThrottledException":                   throttled,
	"TooManyRequestsException":                throttled,
	"BandwidthLimitExceeded":                  throttled,
	"SlowDown":                                throttled,
	"PriorRequestNotComplete":                 throttled,
	"TransactionInProgressException":          throttled,
	"InternalError":                           unavailable,
	"InternalFailure":                         unavailable,
	"InternalServerError":                     unavailable,
	"ServerInternal":                          unavailable,
	"ServiceUnavailable":                      unavailable,
	"Unavailable":                             unavailable,
	"RequestTimeout":                          unavailable,
	"RequestTimeoutException":                 unavailable,
	"ConcurrentTagAccess":                     unavailable,
	"InvalidPlacementGroup.Unknown":           notYet, // made a moment ago, and not known everywhere
	"InvalidLaunchTemplateName.NotFound":      notYet,
	"InvalidLaunchTemplateId.NotFound":        notYet,
	"InvalidLaunchTemplateId.VersionNotFound": notYet,
	"InvalidInstanceID.NotFound":              notFound,
	"InvalidInstanceID.Malformed":             notFound,
	"IdempotentParameterMismatch":             conflict,
	"IdempotentInstanceTerminated":            conflict,
	"InvalidAMIID.NotFound":                   invalidAll,
	"InvalidAMIID.Malformed":                  invalidAll,
	"InvalidAMIID.Unavailable":                invalidAll,
	"InvalidKeyPair.NotFound":                 invalidAll,
	"InvalidGroup.NotFound":                   invalidAll,
	"InvalidGroupId.Malformed":                invalidAll,
	"InvalidSecurityGroupID.NotFound":         invalidAll,
	"InvalidIamInstanceProfileArn.Malformed":  invalidAll,
	"InvalidUserData.Malformed":               invalidAll,
	"DefaultVpcDoesNotExist":                  invalidAll,
	"VPCIdNotSpecified":                       invalidAll,
	"InvalidSubnetID.NotFound":                invalidZone,
	"InvalidSubnet":                           invalidZone,
	"InvalidParameterValue":                   invalidHere,
	"InvalidParameterCombination":             invalidHere,
	"InvalidParameter":                        invalidHere,
	"MissingParameter":                        invalidHere,
	"UnknownParameter":                        invalidHere,
	"UnsupportedOperation":                    invalidHere,
	"InvalidBlockDeviceMapping":               invalidHere,
	"InvalidInstanceType":                     invalidHere,
	"InvalidFleetConfiguration":               invalidHere,
	"InvalidFleetConfig":                      invalidHere,
	"ValidationError":                         invalidHere,
	"InvalidParameterException":               invalidHere,
}

// meaningOf judges a code. EC2 writes some codes with and without "Exception" behind, fleets with
// "Client." or "Server." before.
func meaningOf(code string, status int) meaning {
	code = strings.TrimPrefix(strings.TrimPrefix(code, "Client."), "Server.")
	if m, ok := codes[code]; ok {
		return m
	}
	if m, ok := codes[strings.TrimSuffix(code, "Exception")]; ok {
		return m
	}
	switch {
	case strings.HasPrefix(code, "Insufficient") && strings.Contains(code, "Capacity"), strings.HasPrefix(code, "InvalidCapacityReservation"):
		return stockOut
	case strings.HasPrefix(code, "AuthFailure."):
		return deniedRegion // spot or fleets need a service-linked role that cannot be made
	case strings.HasSuffix(code, "LimitExceeded"), strings.HasSuffix(code, "CountExceeded"):
		return quota
	case status == http.StatusTooManyRequests:
		return throttled
	case status >= 500:
		return unavailable
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return denied
	}
	return invalidHere
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
		return &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: "no answer in time", Err: sanitized(err)}
	}
	var status int
	var resp *smithyhttp.ResponseError
	if errors.As(err, &resp) {
		status = resp.HTTPStatusCode()
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		m := meaningOf(api.ErrorCode(), status)
		return &provider.Error{Kind: m.kind, Scope: m.scope, Code: api.ErrorCode(), Text: scrub(api.ErrorMessage()), After: retryAfter(resp), Err: sanitized(err)}
	}
	text := scrub(err.Error())
	m := unavailable
	if strings.Contains(text, "get identity:") || strings.Contains(text, "failed to refresh cached credentials") {
		// Nothing was sent: there is nothing to sign with. Where that is the network's fault, or the service's that gives credentials, it passes.
		m, text = denied, "no credentials: "+text
		if passes(err, status) {
			m = unavailable
		}
	}
	return &provider.Error{Kind: m.kind, Scope: m.scope, Text: text, After: retryAfter(resp), Err: sanitized(err)}
}

// passes reports whether a failure is the network's or a server's, and not what was asked.
func passes(err error, status int) bool {
	var network net.Error
	return status >= 500 || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF)
}

// invalid is a request that this package itself refuses.
func invalid(format string, args ...any) error {
	return &provider.Error{Kind: provider.KindInvalid, Scope: provider.ScopeOffering, Text: fmt.Sprintf(format, args...)}
}

// hasCode reports whether err is AWS's refusal with one of the codes.
func hasCode(err error, codes ...string) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	for _, c := range codes {
		if api.ErrorCode() == c {
			return true
		}
	}
	return false
}
