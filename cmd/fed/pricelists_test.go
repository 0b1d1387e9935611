package main

import (
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fsub/cloud/prices"
)

// TestAzureList: Azure's list is asked where somebody names it, and for what sites rent there.
// TestDiskPrice: a machine's disk is paid for too, at list prices where the contract sets none, and as far as its size is known.
func TestDiskPrice(t *testing.T) {
	for _, c := range []struct {
		site SiteConfig
		want float64 // a month
	}{
		{SiteConfig{AWS: &AWSConfig{}}, 8}, {SiteConfig{AWS: &AWSConfig{VolumeGiB: 200}}, 16}, {SiteConfig{GCP: &GCPConfig{}}, 10}, {SiteConfig{Azure: &AzureConfig{}}, 19.712},
		{SiteConfig{AWS: &AWSConfig{Images: map[string]string{"x86_64": "ami-1"}}}, 0}, {SiteConfig{GCP: &GCPConfig{Endpoint: "http://x"}}, 0}, {SiteConfig{TPU: &TPUConfig{}}, 0},
		{SiteConfig{AWS: &AWSConfig{}, Terms: &TermsConfig{DiskGiB: 50, DiskGiBMonth: 0.2}}, 10},
	} {
		if got := float64(c.site.terms().Disk) * 730; math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%+v: $%v a month, want %v", c.site, got, c.want)
		}
	}
}

func TestAzureList(t *testing.T) {
	site := SiteConfig{Azure: &AzureConfig{Location: "westus2", Sizes: []string{"Standard_D4s_v5", "Standard_NC*"}}}
	for _, c := range []struct {
		lists   PriceLists
		sites   []SiteConfig
		want    bool
		regions []string
	}{
		{PriceLists{}, nil, false, nil},
		{PriceLists{}, []SiteConfig{{Azure: &AzureConfig{Endpoint: "http://127.0.0.1:1"}}, {}}, false, nil},
		{PriceLists{}, []SiteConfig{site}, true, []string{"westus2"}},
		{PriceLists{Ask: []string{prices.Azure}}, []SiteConfig{site}, true, nil},
		{PriceLists{Ask: []string{prices.Azure}, Regions: []string{"eastus"}}, []SiteConfig{site, site}, true, []string{"eastus", "westus2"}},
		{PriceLists{Ask: []string{prices.Google}, Regions: []string{"us-central1"}}, nil, false, nil},
	} {
		got := c.lists.azure(c.sites)
		if (got != nil) != c.want || got != nil && !slices.Equal(got.Regions, c.regions) {
			t.Errorf("%+v: %+v", c.lists, got)
		}
		if got != nil && len(c.sites) > 0 && (!slices.Contains(got.Types, "Standard_D4s_v5") || slices.Contains(got.Types, "Standard_NC*")) {
			t.Errorf("types are %v", got.Types)
		}
	}
}

// TestGoogleList: Google's list is asked where somebody names it with a key, and for what sites rent there with their credentials.
func TestGoogleList(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent")
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("k-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gcp, tpu := SiteConfig{GCP: &GCPConfig{Region: "us-central1"}}, SiteConfig{TPU: &TPUConfig{Zones: []string{"us-east5-a", "us-east5-b", "us-central1-a"}}}
	for _, c := range []struct {
		lists   PriceLists
		sites   []SiteConfig
		want    string // the key, "client", or "" where it is not asked
		regions []string
	}{
		{PriceLists{}, []SiteConfig{{}}, "", nil},
		{PriceLists{}, []SiteConfig{gcp}, "", nil}, // there are no credentials
		{PriceLists{}, []SiteConfig{{GCP: &GCPConfig{Region: "us-central1", Endpoint: "http://127.0.0.1:1"}}}, "", nil},
		{PriceLists{GoogleEndpoint: "http://127.0.0.1:1"}, []SiteConfig{gcp, tpu}, "client", []string{"us-central1", "us-east5"}},
		{PriceLists{GoogleKeyFile: key}, []SiteConfig{tpu}, "k-1", []string{"us-east5", "us-central1"}},
		{PriceLists{GoogleKeyFile: key, Ask: []string{prices.Google}}, []SiteConfig{tpu}, "k-1", nil},
	} {
		list, err := c.lists.google(c.sites, slog.New(slog.DiscardHandler))
		got := ""
		if list != nil {
			if got = list.Key; list.HTTP != nil {
				got = "client"
			}
		}
		if err != nil || got != c.want || list != nil && !slices.Equal(list.Regions, c.regions) {
			t.Errorf("%+v: %+v, %v", c.lists, list, err)
		}
	}
}

// TestTermsOfAContract: what cannot be a contract is refused, and names itself.
func TestTermsOfAContract(t *testing.T) {
	good := TermsConfig{Discounts: []DiscountConfig{{Types: "p5.*", Markets: []string{"spot"}, Off: 0.5}}, DiskGiB: 73, DiskGiBMonth: 1,
		Paid: []PaidConfig{{Name: "plan", Types: "p5.*", Machines: 2, Until: "2027-06-30"}}}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	if out := good.terms(); out.Disk != 0.1 || out.Paid[0].Until.Year() != 2027 || out.Discounts[0].Off != 0.5 {
		t.Errorf("%+v", out)
	}
	for want, bad := range map[string]TermsConfig{
		"invalid off 1.5":         {Discounts: []DiscountConfig{{Off: 1.5}}},
		`invalid market "cheap"`:  {Discounts: []DiscountConfig{{Off: 0.5, Markets: []string{"cheap"}}}},
		"want a name":             {Paid: []PaidConfig{{Types: "p5.*", Machines: 1}}},
		`invalid day "some day"`:  {Paid: []PaidConfig{{Name: "x", Types: "p5.*", Machines: 1, Until: "some day"}}},
		"go together":             {DiskGiB: 5},
		`types "[": syntax error`: {Discounts: []DiscountConfig{{Types: "[", Off: 0.5}}},
	} {
		if err := bad.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", bad, err, want)
		}
	}
}
