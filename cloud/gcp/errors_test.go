package gcp

import (
	"strings"
	"testing"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/api/googleapi"
	"google.golang.org/protobuf/proto"

	"fsub/cloud/google"
	"fsub/cloud/provider"
	"fsub/federation/decision"
)

// TestOperationErrors: of several errors of an operation the one that says most counts.
func TestOperationErrors(t *testing.T) {
	for _, c := range []struct {
		codes []string
		text  string
		want  meaning
	}{
		{[]string{"ZONE_RESOURCE_POOL_EXHAUSTED"}, "", stockOut},
		{[]string{"VM_MIN_COUNT_NOT_REACHED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"}, "", stockOut},
		{[]string{"VM_MIN_COUNT_NOT_REACHED", "QUOTA_EXCEEDED"}, "Quota 'NVIDIA_L4_GPUS' exceeded", quota},
		{[]string{"QUOTA_EXCEEDED"}, "Quota 'GPUS_ALL_REGIONS' exceeded", meaning{provider.KindQuota, provider.ScopeCloud}},
		{[]string{"UNSUPPORTED_OPERATION"}, "Instance was preempted while it was created", stockOut},
		{[]string{"PERMISSIONS_ERROR", "QUOTA_EXCEEDED"}, "", denied},
		{[]string{"RESOURCE_NOT_READY"}, "", notYet},
		{[]string{"RESOURCE_OPERATION_RATE_EXCEEDED"}, "", throttled},
		{[]string{"SOMETHING_NEW"}, "", notYet},
		{[]string{"NEW_KIND_OF_POOL_EXHAUSTED"}, "", stockOut},
	} {
		op := &computepb.Operation{Error: &computepb.Error{}, HttpErrorStatusCode: proto.Int32(503)}
		for _, code := range c.codes {
			op.Error.Errors = append(op.Error.Errors, &computepb.Errors{Code: proto.String(code), Message: proto.String(c.text)})
		}
		e := provider.AsError(failed(op))
		if e.Kind != c.want.kind || e.Scope != c.want.scope {
			t.Errorf("%v: %s of scope %s, want %v", c.codes, e.Kind, e.Scope, c.want)
		}
		if len(c.codes) == 2 && e.Code == "VM_MIN_COUNT_NOT_REACHED" {
			t.Errorf("%v: the count says less than the reason", c.codes)
		}
	}
	if err := failed(&computepb.Operation{}); err != nil {
		t.Errorf("no error: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		status int
		reason string
		want   meaning
	}{
		{403, "rateLimitExceeded", throttled}, {403, "quotaExceeded", quota}, {403, "forbidden", denied}, {401, "", denied}, {429, "", throttled}, {404, "", notFound},
		{409, "alreadyExists", conflict}, {400, "invalid", invalidHere}, {400, "resourceNotReady", notYet}, {503, "backendError", unavailable}, {500, "", notYet}, {400, "someNewReason", invalidHere},
	} {
		err := &googleapi.Error{Code: c.status, Message: "words"}
		if c.reason != "" {
			err.Errors = []googleapi.ErrorItem{{Reason: c.reason}}
		}
		if e := provider.AsError(refused(err)); e.Kind != c.want.kind || e.Scope != c.want.scope || e.Text != "words" {
			t.Errorf("%d %s: %+v", c.status, c.reason, e)
		}
	}
}

func TestConfig(t *testing.T) {
	good := Config{Section: google.Section{Site: "s", Federation: "f", Project: "p"}, Region: "us-central1", Types: []string{"g2-standard-4"}}
	for want, spoil := range map[string]func(*Config){
		"project":  func(c *Config) { c.Project = "" },
		"region":   func(c *Config) { c.Region = "" },
		"zone":     func(c *Config) { c.Zones = []string{"us-east1-b"} },
		"type":     func(c *Config) { c.Types = []string{"G2"} },
		"market":   func(c *Config) { c.Markets = []provider.Market{provider.Block} },
		"image":    func(c *Config) { c.Images = map[string]string{"x86_64": "debian"} },
		"label":    func(c *Config) { c.Labels = map[string]string{"Team": "x"} },
		"flex_run": func(c *Config) { c.FlexRun = 1 },
		"types is": func(c *Config) { c.Types = nil },
		"n2-* matches none of types (g2-standard-4)": func(c *Config) { c.Contract = map[string]decision.Dollars{"n2-*": 1} },
	} {
		c := good
		spoil(&c)
		if err := c.Check(""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := good.check(); err != nil {
		t.Error(err)
	}
}
