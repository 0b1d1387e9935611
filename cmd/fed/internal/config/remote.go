package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"fsub/federation"
)

// Remote is the listener for callers on other machines, such as the commands inside jobs: TLS, with
// a token of their user.
type Remote struct {
	// HOST:PORT to listen on. Not set: closed.
	Listen string `yaml:"listen,omitempty"`
	// HOST:PORT as compute nodes reach it. Not set: that of listen.
	Address string `yaml:"address,omitempty"`
	// PEM file with a certificate. Not set: the daemon makes one, which callers know by its fingerprint.
	Cert string `yaml:"cert_file,omitempty"`
	// PEM file with its key.
	Key string `yaml:"key_file,omitempty"`
}

// checkCallers refuses ways to say who calls that are those of no site, or of no use.
func (c *Config) checkCallers() error {
	return errors.Join(c.checkWay("munge", "a socket of munged", c.Munge), c.checkWay("site_tokens", "a file with the site's key", c.SiteTokens))
}

func (c *Config) checkWay(key, what string, bySite map[federation.SiteName]string) error {
	for site, path := range bySite {
		switch {
		case c.Remote.Listen == "":
			return fmt.Errorf("%s: no other machine reaches this daemon: set remote: listen", key)
		case !slices.ContainsFunc(c.Sites, func(s Site) bool { return s.Name == site }):
			return fmt.Errorf("%s: %s: there is no site of that name", key, site)
		case !filepath.IsAbs(path):
			return fmt.Errorf("%s: %s: invalid path %q: want the absolute path of %s", key, site, path, what)
		}
	}
	return nil
}

func (r *Remote) check() error {
	if r.Listen == "" {
		if *r != (Remote{}) {
			return errors.New("remote: listen is missing: HOST:PORT")
		}
		return nil
	}
	for name, addr := range map[string]string{"listen": r.Listen, "address": r.Address} {
		if _, err := hostPort(addr); addr != "" && err != nil {
			return fmt.Errorf("remote: invalid %s %q: want HOST:PORT", name, addr)
		}
	}
	if (r.Cert == "") != (r.Key == "") {
		return errors.New("remote: cert_file and key_file go together")
	}
	return nil
}
