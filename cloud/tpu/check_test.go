package tpu

import (
	"strings"
	"testing"

	"fsub/federation/driver"
	"fsub/testbed/gce"
)

// TestCheck: a project in which all is well, and what may be missing on the first day.
func TestCheck(t *testing.T) {
	c, cfg := world(t, gce.Config{})
	cfg.Markets, cfg.Slices, cfg.Contract = cfg.Markets[:2], cfg.Slices[:2], nil
	results := func(cfg Config) map[string]driver.SiteCheck {
		found := map[string]driver.SiteCheck{}
		for _, k := range open(t, cfg).Check(t.Context()) {
			found[k.Name] = k
			if k.Detail == "" || k.Result != driver.CheckOK && k.Advice == "" {
				t.Errorf("%+v tells too little", k)
			}
		}
		return found
	}
	for name, k := range results(cfg) {
		if k.Result != driver.CheckOK {
			t.Errorf("%s: %+v", name, k)
		}
	}
	c.SetQuota("spot", 8)
	c.Withhold("tpu.nodes.create", "iam.serviceAccounts.actAs")
	cfg.Slices = append(cfg.Slices, "v6e-16", "v4-8192")
	cfg.Runtime = map[string]string{"v5e": "v2-gone"}
	got := results(cfg)
	for name, want := range map[string]string{
		"rights": "lacks tpu.nodes.create", "service account": "1-compute@developer", "slices": "no zone has v4-8192", "runtimes": "no runtime version v2-gone", "quotas": "TPUV6EPreemptiblePerProjectPerZoneForTPUAPI: 8 chips at most in a zone, v6e-16 takes 16",
	} {
		if k := got[name]; k.Result == driver.CheckOK || !strings.Contains(k.Detail, want) {
			t.Errorf("%s: %+v", name, k)
		}
	}
}
