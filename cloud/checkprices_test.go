package cloud

import (
	"strings"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// TestCheckPrices: prices that may have changed are told, with the oldest; what has no price says nothing.
func TestCheckPrices(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	list := provider.Offering{Type: "g2", Market: provider.OnDemand, PricedAt: now.AddDate(0, 0, -3), PriceFrom: "retail price list"}
	spot := provider.Offering{Type: "a3", Market: provider.Spot, PricedAt: now.AddDate(0, 0, -3), PriceFrom: "table"}
	for _, c := range []struct {
		offers []provider.Offering
		want   federation.CheckResult
		detail string
	}{
		{[]provider.Offering{list}, federation.CheckOK, "retail price list"},
		{[]provider.Offering{list, spot}, federation.CheckWarning, "1 of 2 may have changed; the oldest: a3 of 3 d ago (table)"},
		{[]provider.Offering{{Type: "local"}}, "", ""},
	} {
		var got federation.SiteCheck
		for _, k := range checkPrices(c.offers, now) {
			got = k
		}
		if got.Result != c.want || !strings.Contains(got.Detail, c.detail) || got.Result == federation.CheckWarning && got.Advice == "" {
			t.Errorf("%+v", got)
		}
	}
}
