package egress

import (
	"math"
	"testing"
	"time"
)

func TestBetween(t *testing.T) {
	free, two := 0.0, 0.02
	for _, c := range []struct {
		name     string
		from, to Site
		perGB    float64
		detail   string
		took     time.Duration
	}{
		{"out of Amazon", Site{Place: "aws:us-east-1"}, Site{Name: "alpha"}, 0.09, "100 GB from aws:us-east-1 at $0.09/GB, Skyplane's table of Amazon's prices of 2023-04-27", 859 * time.Second},
		{"to another region", Site{Place: "aws:us-east-1"}, Site{Name: "cloud", Place: "aws:us-west-2", Gbit: 10}, 0.02, "", 86 * time.Second},
		{"to the nearest one", Site{Place: "aws:us-east-1"}, Site{Place: "aws:us-east-2"}, 0.01, "", 859 * time.Second},
		{"to another cloud", Site{Place: "gcp:us-central1"}, Site{Place: "aws:us-east-2"}, 0.12, "", 859 * time.Second},
		{"within Europe", Site{Place: "azure:westeurope"}, Site{Place: "azure:northeurope"}, 0.02, "", 859 * time.Second},
		{"out of Brazil", Site{Place: "azure:brazilsouth"}, Site{Place: "azure:eastus2"}, 0.16, "", 859 * time.Second},
		{"by contract", Site{Name: "cloud", Place: "aws:us-east-1", PerGB: &two}, Site{Name: "alpha"}, 0.02, "100 GB from cloud at $0.02/GB, as configured", 859 * time.Second},
		{"for nothing", Site{Name: "beta", PerGB: &free}, Site{Name: "alpha"}, 0, "", 859 * time.Second},
		{"nobody has said", Site{Name: "beta"}, Site{Name: "alpha"}, 0.12, "100 GB from beta at $0.12/GB, assumed: no price set", 859 * time.Second},
		{"a cloud without prices", Site{Place: "aws:moon-1"}, Site{Name: "alpha"}, 0.12, "100 GB from aws:moon-1 at $0.12/GB, assumed: no price set", 859 * time.Second},
	} {
		m, ok := Between(c.from, c.to, 100*GB)
		if !ok || math.Abs(m.Dollars-100*c.perGB) > 1e-9 || c.detail != "" && m.Detail != c.detail || m.Took != c.took {
			t.Errorf("%s: %+v, %v", c.name, m, ok)
		}
	}
	for _, c := range [][2]Site{{{Name: "alpha"}, {Name: "alpha", Place: "aws:us-east-1"}}, {{Place: "gcp:us-east1"}, {Name: "cloud", Place: "gcp:us-east1"}}} {
		if m, ok := Between(c[0], c[1], GB); ok {
			t.Errorf("%v: %+v", c, m)
		}
	}
}

func TestText(t *testing.T) {
	if Text(500*GB) != "500 GB" || Text(1536*GB) != "1.5 TB" || Text(12) != "12 B" {
		t.Error(Text(500*GB), Text(1536*GB), Text(12))
	}
}
