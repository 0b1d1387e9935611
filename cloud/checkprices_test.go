package cloud

import (
	"strings"
	"testing"
	"time"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation/driver"
)

// TestCheckPrices: prices that may have changed are told, with the oldest; what has no price says nothing.
func TestCheckPrices(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	list := provider.Offering{Type: "g2", Market: provider.OnDemand, PricedAt: now.AddDate(0, 0, -3), PriceFrom: "retail price list"}
	spot := provider.Offering{Type: "a3", Market: provider.Spot, PricedAt: now.AddDate(0, 0, -3), PriceFrom: "table"}
	for _, c := range []struct {
		offers []provider.Offering
		want   driver.CheckResult
		detail string
	}{
		{[]provider.Offering{list}, driver.CheckOK, "retail price list"},
		{[]provider.Offering{list, spot}, driver.CheckWarning, "1 of 2 prices may have changed; the oldest, of 2026-11-20: a3 (table)"},
		{[]provider.Offering{{Type: "local"}}, "", ""},
	} {
		var got driver.SiteCheck
		for _, k := range checkPrices(c.offers, prices.MaxAge{}, now) {
			got = k
		}
		if got.Result != c.want || !strings.Contains(got.Detail, c.detail) || got.Result == driver.CheckWarning && got.Advice == "" {
			t.Errorf("%+v", got)
		}
	}
}
