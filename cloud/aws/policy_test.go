package aws

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud/providertest"
	"fsub/testbed/ec2"
)

// TestPolicy: everything that is called is allowed, and nothing is allowed that is never called.
func TestPolicy(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.AnyZone, cfg.Reservations, cfg.Images, cfg.VolumeGiB = true, []string{"cr-0"}, map[string]string{"x86_64": "amazon/al2023-*"}, 30
	cfg.Types, cfg.PricingEndpoint = append(cfg.Types, "p5.48xlarge"), url
	now := time.Now()
	cfg.Now = func() time.Time { return now }
	p := open(t, cfg)
	for _, id := range []string{"c7i.large/us-east-2a/spot", "c7i.large/us-east-2/on-demand"} {
		r := gang(providertest.Offer(t, p, id), "g"+strings.ReplaceAll(id[9:], "/", "-"), 2)
		r.Near = true
		made, err := p.Create(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Topology(t.Context(), idsOf(made)); err != nil {
			t.Fatal(err)
		}
		if err := p.Delete(t.Context(), idsOf(made)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Console(t.Context(), "i-0123456789abcdef0"); err == nil {
		t.Error("a console of no machine")
	}
	p.Check(t.Context())
	providertest.Wait(t, "all ended", func() bool { return c.Live() == 0 })
	for range 3 {
		now = now.Add(2 * time.Minute)
		if _, err := p.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var policy struct {
		Statement []struct{ Action any }
	}
	if err := json.Unmarshal([]byte(Policy), &policy); err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for _, s := range policy.Statement {
		if one, ok := s.Action.(string); ok {
			allowed[one] = true
			continue
		}
		for _, a := range s.Action.([]any) {
			allowed[a.(string)] = true
		}
	}
	called := map[string]bool{"pricing:GetProducts": true, "ssm:GetParameters": true, "iam:PassRole": true, "iam:CreateServiceLinkedRole": true}
	for _, call := range c.Calls() {
		if !strings.Contains(call.Action, ":") {
			call.Action = "ec2:" + call.Action
		}
		called[call.Action] = true
	}
	if !maps.Equal(allowed, called) {
		t.Errorf("allowed %v\ncalled  %v", slices.Sorted(maps.Keys(allowed)), slices.Sorted(maps.Keys(called)))
	}
}
