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

// TestHome: what leaves the site's cloud, what leaves the store's, and what is kept there; of a site of one's own nothing is assumed.
func TestHome(t *testing.T) {
	s3 := Store{Place: "aws:us-east-1", PerGBMonth: 0.0365, Keep: 20 * time.Hour} // 0.001 for a GB
	two := 0.02
	for _, c := range []struct {
		name  string
		from  Site
		by    Store
		perGB float64
	}{
		{"out of Amazon to a store here", Site{Name: "cloud", Place: "aws:us-east-1"}, Store{}, 0.09},
		{"by a store in the same region", Site{Name: "cloud", Place: "aws:us-east-1"}, s3, 0.09 + 0.001},
		{"by a store in another region", Site{Name: "cloud", Place: "aws:us-west-2"}, s3, 0.02 + 0.09 + 0.001},
		{"from a site of one's own", Site{Name: "alpha"}, Store{}, 0},
		{"from one with a price", Site{Name: "alpha", PerGB: &two}, Store{}, 0.02},
		{"from a site of one's own by a store in a cloud", Site{Name: "alpha"}, s3, 0.09 + 0.001},
	} {
		m, ok := Home(c.from, c.by, 100*GB)
		if ok != (c.perGB > 0) || math.Abs(m.Dollars-100*c.perGB) > 1e-9 || m.Assumed {
			t.Errorf("%s: %+v, %v", c.name, m, ok)
		}
	}
}

func TestText(t *testing.T) {
	if Text(500*GB) != "500 GB" || Text(1536*GB) != "1.5 TB" || Text(12) != "12 B" {
		t.Error(Text(500*GB), Text(1536*GB), Text(12))
	}
}
