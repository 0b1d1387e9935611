package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"fsub/cloud/provider"
	"fsub/federation"
)

// TestCodes holds every code that callers act on to what it means. The lists are those of the programs named, as they were read.
func TestCodes(t *testing.T) {
	const stock, full, quota, denied, throttled = "stock-out/offering", "stock-out/zone", "quota/region", "denied/cloud", "throttled/cloud"
	for want, list := range map[string]string{
		// AWS ParallelCluster: what it takes for insufficient capacity.
		stock: `InsufficientInstanceCapacity InsufficientHostCapacity InsufficientReservedInstanceCapacity SpotMaxPriceTooLow Unsupported UnfulfillableCapacity
			InsufficientCapacity InsufficientReservedInstancesCapacity InsufficientCapacityOnHost ReservationCapacityExceeded
			InvalidCapacityReservationState.Unavailable InvalidCapacityReservationId.NotFound InvalidCapacityReservationIdNotFoundException
			Server.InsufficientInstanceCapacity InsufficientTypeCapacityOfTheFuture`,
		full: `InsufficientFreeAddressesInSubnet InsufficientVolumeCapacity InsufficientAddressCapacity`,
		// Karpenter counts these as capacity too; they are the account's.
		quota: `VcpuLimitExceeded MaxSpotInstanceCountExceeded MaxFleetCountExceeded InstanceLimitExceeded VolumeLimitExceeded MaxIOPSLimitExceeded
			NetworkInterfaceLimitExceeded PlacementGroupLimitExceeded SomethingLimitExceeded Client.VcpuLimitExceeded`,
		denied: `AuthFailure UnauthorizedOperation UnrecognizedClientException InvalidClientTokenId SignatureDoesNotMatch IncompleteSignature ExpiredToken
			ExpiredTokenException RequestExpired AccessDenied AccessDeniedException OptInRequired Blocked MissingAuthenticationToken InvalidAccessKeyId`,
		"denied/region":   `PendingVerification AuthFailure.ServiceLinkedRoleCreationNotPermitted`,
		"denied/offering": `OperationNotPermitted`,
		throttled: `RequestLimitExceeded Throttling ThrottlingException ThrottledException RequestThrottled RequestThrottledException TooManyRequestsException
			EC2ThrottledException BandwidthLimitExceeded SlowDown PriorRequestNotComplete TransactionInProgressException`,
		"unavailable/cloud":    `InternalError InternalFailure ServiceUnavailable Unavailable ServerInternal RequestTimeout`,
		"unavailable/offering": `InvalidPlacementGroup.Unknown InvalidLaunchTemplateName.NotFoundException`,
		"not-found/offering":   `InvalidInstanceID.NotFound InvalidInstanceID.Malformed`,
		"conflict/offering":    `IdempotentParameterMismatch IdempotentInstanceTerminated`,
		"invalid/cloud":        `InvalidAMIID.NotFound InvalidAMIID.Malformed InvalidKeyPair.NotFound InvalidGroup.NotFound DefaultVpcDoesNotExist InvalidUserData.Malformed`,
		"invalid/zone":         `InvalidSubnetID.NotFound`,
		"invalid/offering": `InvalidParameterValue InvalidParameterCombination MissingParameter UnknownParameter UnsupportedOperation InvalidBlockDeviceMapping
			InvalidFleetConfiguration NeverHeardOfIt`,
	} {
		for code := range strings.FieldsSeq(list) {
			// Status 400 is the worst case: InsufficientInstanceCapacity comes with 500, RequestLimitExceeded with 503.
			err := refused(answer(code, "Some words.", 400, nil))
			var e *provider.Error
			if !errors.As(err, &e) {
				t.Fatalf("%s: %v", code, err)
			}
			if got := fmt.Sprintf("%s/%s", e.Kind, e.Scope); got != want {
				t.Errorf("%s is %s, want %s", code, got, want)
			}
			if e.Code != code || e.Text != "Some words." {
				t.Errorf("%s became %q, %q", code, e.Code, e.Text)
			}
		}
	}
}

// answer is what the SDK returns for an error answer.
func answer(code, text string, status int, header http.Header) error {
	resp := &http.Response{StatusCode: status, Header: header}
	return &smithy.OperationError{ServiceID: "EC2", OperationName: "RunInstances", Err: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: resp}, Err: &smithy.GenericAPIError{Code: code, Message: text}}}
}

// TestUnknownCodes are judged by the status they came with.
func TestUnknownCodes(t *testing.T) {
	for status, want := range map[int]provider.ErrorKind{
		400: provider.KindInvalid, 401: provider.KindDenied, 403: provider.KindDenied, 429: provider.KindThrottled, 500: provider.KindUnavailable, 503: provider.KindUnavailable,
	} {
		if m := meaningOf("NeverHeardOfIt", status); m.kind != want {
			t.Errorf("status %d: %s, want %s", status, m.kind, want)
		}
	}
	if m := meaningOf("InsufficientInstanceCapacity", 500); m != stockOut {
		t.Errorf("a stock-out with status 500 is %v", m)
	}
}

// TestErrorsOfTheWay: what is not an answer of AWS proves nothing, unless nothing was sent.
func TestErrorsOfTheWay(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for _, c := range []struct {
		err  error
		kind provider.ErrorKind
		is   error
	}{
		{errors.New("read tcp 10.0.0.1:443: connection reset by peer"), provider.KindUnavailable, federation.ErrUnavailable},
		{fmt.Errorf("operation error EC2: RunInstances, %w", ctx.Err()), provider.KindUnavailable, context.DeadlineExceeded},
		{errors.New("operation error EC2: RunInstances, get identity: get credentials: failed to refresh cached credentials, no EC2 IMDS role found"), provider.KindDenied, federation.ErrDenied},
	} {
		var e *provider.Error
		err := refused(c.err)
		if !errors.As(err, &e) || e.Kind != c.kind || !errors.Is(err, c.is) {
			t.Errorf("%v became %v, want %s and %v", c.err, err, c.kind, c.is)
		}
	}
	if refused(nil) != nil {
		t.Error("no error became one")
	}
	known := &provider.Error{Kind: provider.KindConflict}
	if !errors.Is(refused(fmt.Errorf("again: %w", known)), federation.ErrConflict) {
		t.Error("an error that was judged is judged anew")
	}
}

func TestRetryAfter(t *testing.T) {
	var e *provider.Error
	err := refused(answer("RequestLimitExceeded", "Request limit exceeded.", 503, http.Header{"Retry-After": {"7"}}))
	if !errors.As(err, &e) || e.After != 7*time.Second {
		t.Errorf("%v: After %v", err, e.After)
	}
}

// TestScrub: AWS repeats what it was sent in some refusals. The secrets here are those of AWS's own examples.
func TestScrub(t *testing.T) {
	const (
		secret  = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
		session = "FwoGZXIvYXdzEBYaDKKXampleSessionTokenThatIsRatherLong0123456789abcdefghijklmnop=="
		key     = "AKIAIOSFODNN7EXAMPLE"
	)
	for _, text := range []string{
		"The request signature we calculated does not match the signature you provided.\n\nThe Canonical String for this request should have been\n'POST\n/\n\nhost:ec2.amazonaws.com\nx-amz-security-token:" + session + "'",
		"The security token " + session + " is expired",
		"The access key " + key + " does not exist",
		"You are not authorized to perform this operation. Encoded authorization failure message: " + strings.Repeat("q3bLmIyfuZ", 60),
		"profile has aws_secret_access_key " + secret,
		"X-Amz-Security-Token: abc",
	} {
		err := refused(answer("SignatureDoesNotMatch", text, 403, nil))
		var e *provider.Error
		errors.As(err, &e)
		all := fmt.Sprintf("%v\n%+v\n%#v\n%v", err, e, e.Text, e.Err)
		for _, bad := range []string{secret, session, key, "q3bLmIyfuZ", "oken: abc"} {
			if strings.Contains(all, bad) {
				t.Errorf("%q can be read in %s", bad, all)
			}
		}
	}
	plain := "We currently do not have sufficient p5.48xlarge capacity in the Availability Zone you requested (us-east-1a). User: arn:aws:sts::123456789012:assumed-role/fsub/i-0123456789abcdef0"
	if got := scrub(plain); got != plain {
		t.Errorf("%q was made of %q", got, plain)
	}
	if got := scrub(strings.Repeat("a b ", 1000)); len(got) > 600 {
		t.Errorf("a text of %d characters is left", len(got))
	}
}
