package azure

import (
	"strings"
	"testing"

	"fsub/cloud/provider"
	"fsub/federation/decision"
	standin "fsub/testbed/azure"
)

// TestSettings: what cannot be rented is refused when the configuration is read.
func TestSettings(t *testing.T) {
	for says, change := range map[string]func(*Config){
		"subnet is missing":                   func(a *Config) { a.Subnet = "" },
		"sizes is missing":                    func(a *Config) { a.Sizes = nil },
		`invalid market "flex"`:               func(a *Config) { a.Markets = []provider.Market{"flex"} },
		"endpoint needs":                      func(a *Config) { a.Endpoint = "http://x" },
		"invalid price -1 of Standard_D4s_v5": func(a *Config) { a.Contract = map[string]decision.Dollars{"Standard_D4s_v5": -1} },
		"spot_interrupts must not":            func(a *Config) { a.SpotInterrupts = -1 },
		"azure: prices: Standard_D8s_v5 matches none of sizes (Standard_D4s_v5)": func(a *Config) { a.Contract = map[string]decision.Dollars{"Standard_D8s_v5": 1, "Standard_D*_v5": 1} },
		"azure: images: Standard_D8s_v5 is neither":                              func(a *Config) { a.Images = map[string]string{"Standard_D8s_v5": "a:b:c:d", "x86_64": "a:b:c:d"} },
	} {
		a := Config{Subscription: standin.Subscription, ResourceGroup: "g", Location: "eastus", Subnet: "n/m", Sizes: []string{"Standard_D4s_v5"}}
		if err := a.Check(""); err != nil {
			t.Fatal(err)
		}
		change(&a)
		if err := a.Check(""); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
