package aws

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fsub/cloud/provider"
	"fsub/federation/driver"
	"fsub/testbed/ec2"
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

// fed site test tells how many machines the account's quotas allow, and how to ask for more where that is none.
func TestCheckOfQuotas(t *testing.T) {
	c, url := world(t, ec2.Config{})
	answer := `{"Quotas":[{"QuotaCode":"L-1216C47A","QuotaName":"Standard","Value":64},{"QuotaCode":"L-3819A6DF","QuotaName":"G spot","Value":0}]}`
	quotas := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ListServiceQuotas") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if answer == "" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"AccessDeniedException","Message":"not authorized to perform: servicequotas:ListServiceQuotas"}`)
			return
		}
		fmt.Fprint(w, answer)
	}))
	defer quotas.Close()
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	cfg.PricingEndpoint = quotas.URL
	p := open(t, cfg)
	offers := []provider.Offering{
		{Type: "c7i.large", Region: c.Region(), CPUs: 2, Market: provider.OnDemand, Quota: quotaOf("c7i.large", provider.OnDemand)},
		{Type: "g6.xlarge", Region: c.Region(), CPUs: 4, Market: provider.Spot, Quota: quotaOf("g6.xlarge", provider.Spot)},
		{Type: "m7i.large", Region: "elsewhere", CPUs: 2, Market: provider.OnDemand, Quota: quotaOf("m7i.large", provider.OnDemand)},
	}
	found := p.checkQuotas(t.Context(), c.Region(), offers)
	if len(found) != 2 || found[0].Result != driver.CheckOK || !strings.Contains(found[0].Detail, "64 vCPUs, which is 32 x c7i.large") || strings.Contains(found[0].Detail, "m7i") ||
		found[1].Result != driver.CheckWarning || !strings.Contains(found[1].Advice, "--quota-code L-3819A6DF") {
		t.Errorf("%+v", found)
	}
	answer = ""
	if found := p.checkQuotas(t.Context(), c.Region(), offers); len(found) != 1 || found[0].Result != driver.CheckWarning || !strings.Contains(found[0].Advice, "policy.json") {
		t.Errorf("without the right to look: %+v", found)
	}
}
