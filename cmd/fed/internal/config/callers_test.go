package config

import (
	"strings"
	"testing"

	"fsub/federation"
)

// A munge key is that of a site, and of use only where other machines can call.
func TestMunge(t *testing.T) {
	good := func() Config {
		c := Default()
		c.Remote.Listen = ":6829"
		c.Sites = []Site{{Name: "alpha"}}
		c.Munge = map[federation.SiteName]string{"alpha": "/run/munge-alpha/munge.socket.2"}
		return c
	}
	c := good()
	if err := c.checkCallers(); err != nil {
		t.Error(err)
	}
	for says, change := range map[string]func(*Config){
		"set remote: listen":            func(c *Config) { c.Remote.Listen = "" },
		"there is no site of that name": func(c *Config) { c.Sites[0].Name = "beta" },
		"want the absolute path":        func(c *Config) { c.Munge["alpha"] = "munge.socket.2" },
		`alpha: invalid path "": want `: func(c *Config) { c.Munge["alpha"] = "" },
	} {
		c := good()
		change(&c)
		if err := c.checkCallers(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
