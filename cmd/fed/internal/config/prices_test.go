//go:build !nocloud

package config

import (
	"math"
	"strings"
	"testing"

	"fsub/cloud/aws"
	"fsub/cloud/azure"
	"fsub/cloud/clouds"
	"fsub/cloud/gcp"
	"fsub/cloud/google"
)

// TestDiskPrice: a machine's disk is paid for too, at list prices where the contract sets none, and as far as its size is known.
func TestDiskPrice(t *testing.T) {
	rents := func(kind string, sections clouds.Sections) Site { return Site{Kind: kind, Sections: sections} }
	for _, c := range []struct {
		site Site
		want float64 // a month
	}{
		{rents("aws", clouds.Sections{AWS: &aws.Config{}}), 8}, {rents("aws", clouds.Sections{AWS: &aws.Config{VolumeGiB: 200}}), 16},
		{rents("gcp", clouds.Sections{GCP: &gcp.Config{}}), 10}, {rents("azure", clouds.Sections{Azure: &azure.Config{}}), 19.712}, {rents("tpu", clouds.Sections{}), 0},
		{rents("aws", clouds.Sections{AWS: &aws.Config{Images: map[string]string{"x86_64": "ami-1"}}}), 0}, {rents("gcp", clouds.Sections{GCP: &gcp.Config{Section: google.Section{Endpoint: "http://x"}}}), 0},
		{Site{Kind: "aws", Terms: &Terms{DiskGiB: 50, DiskGiBMonth: 0.2}}, 10},
	} {
		if got := float64(c.site.ContractTerms().Disk) * 730; math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%+v: $%v a month, want %v", c.site, got, c.want)
		}
	}
}

// TestTermsOfAContract: what cannot be a contract is refused, and names itself.
func TestTermsOfAContract(t *testing.T) {
	good := Terms{Discounts: []Discount{{Types: "p5.*", Markets: []string{"spot"}, Off: 0.5}}, DiskGiB: 73, DiskGiBMonth: 1,
		Paid: []Paid{{Name: "plan", Types: "p5.*", Machines: 2, Until: "2027-06-30"}}}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	if out := good.terms(); out.Disk != 0.1 || out.Paid[0].Until.Year() != 2027 || out.Discounts[0].Off != 0.5 {
		t.Errorf("%+v", out)
	}
	for want, bad := range map[string]Terms{
		"invalid off 1.5":         {Discounts: []Discount{{Off: 1.5}}},
		`invalid market "cheap"`:  {Discounts: []Discount{{Off: 0.5, Markets: []string{"cheap"}}}},
		"want a name":             {Paid: []Paid{{Types: "p5.*", Machines: 1}}},
		`invalid day "some day"`:  {Paid: []Paid{{Name: "x", Types: "p5.*", Machines: 1, Until: "some day"}}},
		"go together":             {DiskGiB: 5},
		`types "[": syntax error`: {Discounts: []Discount{{Types: "[", Off: 0.5}}},
	} {
		if err := bad.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", bad, err, want)
		}
	}
}
