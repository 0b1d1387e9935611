package config

import (
	"math"
	"strings"
	"testing"
)

// TestAzureList: Azure's list is asked where somebody names it, and for what sites rent there.
// TestDiskPrice: a machine's disk is paid for too, at list prices where the contract sets none, and as far as its size is known.
func TestDiskPrice(t *testing.T) {
	for _, c := range []struct {
		site Site
		want float64 // a month
	}{
		{Site{AWS: &AWS{}}, 8}, {Site{AWS: &AWS{VolumeGiB: 200}}, 16}, {Site{GCP: &GCP{}}, 10}, {Site{Azure: &Azure{}}, 19.712},
		{Site{AWS: &AWS{Images: map[string]string{"x86_64": "ami-1"}}}, 0}, {Site{GCP: &GCP{Endpoint: "http://x"}}, 0}, {Site{TPU: &TPU{}}, 0},
		{Site{AWS: &AWS{}, Terms: &Terms{DiskGiB: 50, DiskGiBMonth: 0.2}}, 10},
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
