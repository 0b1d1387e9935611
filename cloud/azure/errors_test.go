package azure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8/fake"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/federation/decision"
)

// said is an answer of Azure's, as the SDK returns it.
func said(status int, body string) error {
	r := &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}, Request: httptest.NewRequest(http.MethodPut, "https://management.azure.com/x", nil)}
	return runtime.NewResponseError(r)
}

// TestCodes holds what callers act on to what it means, whatever the status: that of an operation's failure is 200.
func TestCodes(t *testing.T) {
	const regional = "Operation could not be completed as it results in exceeding approved Total Regional Cores quota. Additional details - Deployment Model: Resource Manager, Location: eastus, Current Limit: 10"
	for _, c := range []struct{ code, text, want string }{
		{"SkuNotAvailable", "The requested VM size ... is currently not available in location 'eastus'.", "stock-out/offering"},
		{"AllocationFailed", "Allocation failed.", "stock-out/offering"},
		{"ZonalAllocationFailed", "Allocation failed.", "stock-out/offering"},
		{"OverconstrainedZonalAllocationRequest", "Allocation failed.", "stock-out/offering"},
		{"OperationNotAllowed", regional, "quota/region"},
		{"OperationNotAllowed", strings.Replace(regional, "Total Regional", "standardNDSH100v5Family", 1), "quota/region"},
		{"OperationNotAllowed", strings.Replace(regional, "Total Regional", "LowPriority", 1), "quota/region"},
		{"OperationNotAllowed", "The server rejected the request because of a lock.", "invalid/offering"},
		{"QuotaExceeded", "x", "quota/region"},
		{"SubnetIsFull", "x", "quota/cloud"},
		{"AuthorizationFailed", "x", "denied/cloud"},
		{"LinkedAuthorizationFailed", "x", "denied/cloud"},
		{"ExpiredAuthenticationToken", "x", "denied/cloud"},
		{"ReadOnlyDisabledSubscription", "x", "denied/cloud"},
		{"RequestDisallowedByPolicy", "x", "denied/cloud"},
		{"TooManyRequests", "x", "throttled/cloud"},
		{"SubscriptionRequestsThrottled", "x", "throttled/cloud"},
		{"InternalExecutionError", "x", "unavailable/cloud"},
		{"RetryableError", "x", "unavailable/cloud"},
		{"ResourceNotFound", "x", "not-found/offering"},
		{"ResourceGroupNotFound", "x", "invalid/cloud"},
		{"InvalidResourceReference", "x", "invalid/cloud"},
		{"InvalidParameter", "The value Standard_X for the VM size is not valid.", "invalid/offering"},
		{"NeverHeardOfIt", "x", "invalid/offering"},
	} {
		for _, status := range []int{200, 400, 409, 500} {
			for form, body := range map[string]string{
				"plain": `{"error":{"code":%q,"message":%q}}`, "operation": `{"status":"Failed","error":{"code":%q,"message":%q}}`,
				"wrapped": `{"error":{"code":"DeploymentFailed","message":"At least one resource deployment operation failed.","details":[{"code":%q,"message":%q}]}}`,
			} {
				if form == "wrapped" && codes[c.code] == (meaning{}) {
					continue
				}
				e := provider.AsError(refused(said(status, fmt.Sprintf(body, c.code, c.text))))
				if got := string(e.Kind) + "/" + string(e.Scope); got != c.want || e.Code != c.code || e.Text == "" {
					t.Errorf("%s, %s with status %d is %s (%v), want %s", c.code, form, status, got, e, c.want)
				}
			}
		}
	}
	if e := provider.AsError(refused(said(502, "<html>Bad Gateway</html>"))); e.Kind != provider.KindUnavailable && e.Kind != provider.KindInvalid {
		t.Errorf("an answer of a proxy: %v", e)
	}
	if e := provider.AsError(refused(fmt.Errorf("call: %w", context.DeadlineExceeded))); e.Kind != provider.KindUnavailable {
		t.Errorf("%v", e)
	}
	if e := provider.AsError(refused(errors.New("DefaultAzureCredential: failed to acquire a token. Attempted credentials: client_secret=hush"))); e.Kind != provider.KindDenied || strings.Contains(e.Text, "hush") {
		t.Errorf("%v", e)
	}
}

// TestOfficialFakes: a failure as the SDK's own fakes tell it, through the real client.
func TestOfficialFakes(t *testing.T) {
	gone := false
	server := &fake.ServerFactory{
		VirtualMachineScaleSetsServer: fake.VirtualMachineScaleSetsServer{
			BeginCreateOrUpdate: func(_ context.Context, _, _ string, set armcompute.VirtualMachineScaleSet, _ *armcompute.VirtualMachineScaleSetsClientBeginCreateOrUpdateOptions) (
				resp azfake.PollerResponder[armcompute.VirtualMachineScaleSetsClientCreateOrUpdateResponse], errResp azfake.ErrorResponder) {
				resp.AddNonTerminalResponse(http.StatusCreated, nil)
				resp.SetTerminalError(http.StatusOK, "AllocationFailed")
				return resp, errResp
			},
			BeginDelete: func(context.Context, string, string, *armcompute.VirtualMachineScaleSetsClientBeginDeleteOptions) (
				resp azfake.PollerResponder[armcompute.VirtualMachineScaleSetsClientDeleteResponse], errResp azfake.ErrorResponder) {
				gone = true
				resp.SetTerminalResponse(http.StatusNoContent, armcompute.VirtualMachineScaleSetsClientDeleteResponse{}, nil)
				return resp, errResp
			},
			Get: func(context.Context, string, string, *armcompute.VirtualMachineScaleSetsClientGetOptions) (
				resp azfake.Responder[armcompute.VirtualMachineScaleSetsClientGetResponse], errResp azfake.ErrorResponder) {
				errResp.SetResponseError(http.StatusNotFound, "ResourceNotFound")
				return resp, errResp
			},
		},
		ResourceSKUsServer: fake.ResourceSKUsServer{
			NewListPager: func(*armcompute.ResourceSKUsClientListOptions) (resp azfake.PagerResponder[armcompute.ResourceSKUsClientListResponse]) {
				resp.AddPage(http.StatusOK, armcompute.ResourceSKUsClientListResponse{ResourceSKUsResult: armcompute.ResourceSKUsResult{Value: []*armcompute.ResourceSKU{{
					Name: ptr("Standard_D4s_v5"), ResourceType: ptr("virtualMachines"), Capabilities: []*armcompute.ResourceSKUCapabilities{{Name: ptr("vCPUs"), Value: ptr("4")}, {Name: ptr("MemoryGB"), Value: ptr("16")}},
				}}}}, nil)
				return resp
			},
		},
	}
	p := open(t, Config{
		Site: "azure", Federation: "test", Subscription: "11111111-2222-3333-4444-555555555555", ResourceGroup: "fsub", Location: "eastus", Subnet: "net/machines",
		Sizes: []string{"Standard_D4s_v5"}, Contract: map[string]decision.Dollars{"Standard_D4s_v5": 1}, Credential: &azfake.TokenCredential{}, HTTP: &http.Client{Transport: roundTrip{fake.NewServerFactoryTransport(server)}},
	})
	_, err := p.Create(t.Context(), asked(providertest.Offer(t, p, "Standard_D4s_v5/eastus/on-demand"), "fake", 1))
	if e := provider.AsError(err); err == nil || e.Kind != provider.KindStockOut || e.Code != "AllocationFailed" || !gone {
		t.Errorf("%v, deleted: %v", err, gone)
	}
}

// roundTrip makes an http.RoundTripper of one of the fakes.
type roundTrip struct {
	azcore interface {
		Do(*http.Request) (*http.Response, error)
	}
}

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r.azcore.Do(req) }
