package aws

import (
	"testing"

	"fsub/cloud/provider"
)

func TestQuotaOf(t *testing.T) {
	for typ, want := range map[string][2]string{ // on demand, spot
		"c7i.large": {"Standard", "Standard"}, "im4gn.large": {"Standard", "Standard"}, "t3.micro": {"Standard", "Standard"}, "z1d.large": {"Standard", "Standard"}, "hpc7a.96xlarge": {"HPC", "HPC"},
		"g6.xlarge": {"G and VT", "G and VT"}, "gr6.4xlarge": {"G and VT", "G and VT"}, "vt1.3xlarge": {"G and VT", "G and VT"}, "p4d.24xlarge": {"P", "P"}, "p5.48xlarge": {"P", "P5"}, "inf2.xlarge": {"Inf", "Inf"}, "trn2.48xlarge": {"Trn", "Trn"},
		"dl1.24xlarge": {"DL", "DL"}, "d3.xlarge": {"Standard", "Standard"}, "u-6tb1.metal": {"High Memory", "High Memory"}, "x2gd.large": {"X", "X"}, "mac2.metal": {"", ""}, "quantum1.large": {"", ""},
	} {
		if got := [2]string{quotaOf(typ, provider.OnDemand), quotaOf(typ, provider.Spot)}; got != want {
			t.Errorf("%s: %v, want %v", typ, got, want)
		}
		if got := quotaOf(typ, provider.Block) + quotaOf(typ, provider.Reserved); got != "" {
			t.Errorf("%s: a reservation counts to %s", typ, got)
		}
	}
}
