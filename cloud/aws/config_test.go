package aws

import (
	"strings"
	"testing"

	"fsub/cloud/provider"
	"fsub/federation/decision"
)

func TestConfigErrors(t *testing.T) {
	good := func() Config {
		return Config{Site: "aws", Federation: "f", Region: Region{Name: "us-east-2"}, Types: []string{"c7i.large"}}
	}
	for want, spoil := range map[string]func(*Config){
		"need names":       func(c *Config) { c.Federation = "" },
		"types is missing": func(c *Config) { c.Types = nil },
		`type "c7i"`:       func(c *Config) { c.Types[0] = "c7i" },
		`market "cheap"`:   func(c *Config) { c.Markets = []provider.Market{"cheap"} },
		`market "flex"`:    func(c *Config) { c.Markets = []provider.Market{provider.Flex} },
		"invalid price -1": func(c *Config) { c.Contract = map[string]decision.Dollars{"c7i.large": -1} },
		"prices: p5 matches none of types (c7i.large)": func(c *Config) { c.Contract = map[string]decision.Dollars{"p5": 1} },
		"images: g6.xlarge is neither":                 func(c *Config) { c.Images = map[string]string{"g6.xlarge": "ami-1"} },
		`reservation "p5"`:                             func(c *Config) { c.Reservations = []string{"p5"} },
		"does not know its V100":                       func(c *Config) { c.Types = []string{"p3.2xlarge"} },
		`image "whatever"`:                             func(c *Config) { c.Images = map[string]string{"x86_64": "whatever"} },
		`invalid key "sparc"`:                          func(c *Config) { c.Images = map[string]string{"sparc": "ami-1"} },
		`tag "fsub-site"`:                              func(c *Config) { c.Tags = map[string]string{"fsub-site": "x"} },
		`tag "cost center"`:                            func(c *Config) { c.Tags = map[string]string{"cost center": "x"} },
		"invalid volume_gib -1":                        func(c *Config) { c.VolumeGiB = -1 },
		"spot_interrupts must":                         func(c *Config) { c.SpotInterrupts = -2 },
		"SDK's configuration:":                         func(c *Config) { c.Profile = "no-such-profile" },
	} {
		credentials(t, "AKIAIOSFODNN7EXAMPLE", "x")
		c := good()
		spoil(&c)
		if _, err := New(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "aws: ") {
			t.Errorf("%q: %v", want, err)
		}
	}
	for _, images := range []map[string]string{nil, {"p3.*": "ami-1"}, {"x86_64/gpu": "ami-1"}} {
		c := good()
		if c.Images = images; images != nil {
			c.Types = []string{"p3.2xlarge"}
		}
		if _, err := New(t.Context(), c); err != nil {
			t.Errorf("a good one: %v", err)
		}
	}
}
