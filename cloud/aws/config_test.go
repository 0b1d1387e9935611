package aws

import (
	"strings"
	"testing"

	"fsub/cloud/provider"
)

func TestConfigErrors(t *testing.T) {
	good := func() Config {
		return Config{Site: "aws", Federation: "f", Regions: []Region{{Name: "us-east-2"}}, Types: []Type{{Name: "c7i.large"}}}
	}
	for want, spoil := range map[string]func(*Config){
		"need names":             func(c *Config) { c.Federation = "" },
		"nothing would be":       func(c *Config) { c.Types = nil },
		`type "c7i"`:             func(c *Config) { c.Types[0].Name = "c7i" },
		`market "cheap"`:         func(c *Config) { c.Types[0].Markets = []provider.Market{"cheap"} },
		"listed by their IDs":    func(c *Config) { c.Types[0].Markets = []provider.Market{provider.Reserved} },
		"not negative":           func(c *Config) { c.Types[0].Max = -1 },
		`reservation "p5"`:       func(c *Config) { c.Reservations = []string{"p5"} },
		"does not know its V100": func(c *Config) { c.Types = []Type{{Name: "p3.2xlarge"}} },
		`image "whatever"`:       func(c *Config) { c.Images = map[string]string{"x86_64": "whatever"} },
		`image for "sparc"`:      func(c *Config) { c.Regions[0].Images = map[string]string{"sparc": "ami-1"} },
		"without a name":         func(c *Config) { c.Regions[0].Name = "" },
		`tag "fsub-site"`:        func(c *Config) { c.Tags = map[string]string{"fsub-site": "x"} },
		`tag "cost center"`:      func(c *Config) { c.Tags = map[string]string{"cost center": "x"} },
		"volume of -1":           func(c *Config) { c.VolumeGiB = -1 },
		"-2 interruptions":       func(c *Config) { c.SpotInterrupts = -2 },
		"SDK's configuration:":   func(c *Config) { c.Profile = "no-such-profile" },
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
			c.Types = []Type{{Name: "p3.2xlarge"}}
		}
		if _, err := New(t.Context(), c); err != nil {
			t.Errorf("a good one: %v", err)
		}
	}
}
