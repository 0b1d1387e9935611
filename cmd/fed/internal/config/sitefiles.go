package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"fsub/federation"
)

// Sites that were added while the daemon ran are files in its state directory, one for each, with what stands in the configuration below its dash.

// StateFiles are the files of the state directory that a daemon cannot do without, by their names below it: keys, certificates, and sites that were added.
func (c *Config) StateFiles() (names []string, err error) {
	for _, pattern := range []string{"*.key", "*.crt", "sites/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(c.StateDir, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			name, err := filepath.Rel(c.StateDir, path)
			if err != nil {
				return nil, err
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// SiteFile reports whether one of [Config.StateFiles] is that of a site.
func SiteFile(name string) bool { return strings.HasPrefix(name, "sites/") }

func (c *Config) siteDir() string { return filepath.Join(c.StateDir, "sites") }

// ParseSite reads the description of one Slurm site.
func ParseSite(text string) (s Site, err error) {
	if err := yaml.UnmarshalWithOptions([]byte(text), &s, yaml.DisallowUnknownField()); err != nil && !errors.Is(err, io.EOF) {
		return s, yamlError(err)
	}
	if s.Kind == kindSlurm {
		s.Kind = ""
	}
	if s.Rented() {
		return s, fmt.Errorf("site %s is of kind %s: add it to the configuration and restart the daemon", s.Name, s.Kind)
	}
	s.setDefaults()
	if !NameForm.MatchString(string(s.Name)) {
		return s, fmt.Errorf("invalid name %q: want at most 40 letters, digits, '.', '_' and '-'", s.Name)
	}
	if err = s.check(); err == nil {
		err = s.checkCommon()
	}
	return s, err
}

// ReadSiteFiles adds the sites that were added while a daemon ran. One that the configuration has too counts as written there.
func (c *Config) ReadSiteFiles() error {
	files, err := filepath.Glob(filepath.Join(c.siteDir(), "*.yaml"))
	if err != nil {
		return err
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read a site that was added: %w", err)
		}
		s, err := ParseSite(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !c.hasSite(s) {
			s.Added = true
			c.Sites = append(c.Sites, s)
		}
	}
	return c.check()
}

func (c *Config) hasSite(s Site) bool {
	for i := range c.Sites {
		if c.Sites[i].Name == s.Name {
			return true
		}
	}
	return false
}

// Configures reports whether a site stands in the configuration itself.
func (c *Config) Configures(name federation.SiteName) bool {
	return slices.ContainsFunc(c.Sites, func(s Site) bool { return s.Name == name && !s.Added })
}

func (c *Config) siteFile(name federation.SiteName) string {
	return filepath.Join(c.siteDir(), string(name)+".yaml")
}

// ReadSiteFile reads the description of a site that was added.
func (c *Config) ReadSiteFile(name federation.SiteName) (s Site, err error) {
	text, err := os.ReadFile(c.siteFile(name))
	if err != nil {
		return s, fmt.Errorf("read the description of site %s: %w", name, err)
	}
	return ParseSite(string(text))
}

// ChangedSite is the description of a site with other values of some keys, each KEY=VALUE.
func ChangedSite(s Site, set []string) (string, error) {
	for _, word := range set {
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" {
			return "", fmt.Errorf("invalid change %q: want KEY=VALUE, with a key of sites in the configuration", word)
		}
		if err := yaml.UnmarshalWithOptions([]byte(key+": "+value), &s, yaml.DisallowUnknownField()); err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("invalid change %q: %w", word, yamlError(err))
		}
	}
	text, err := yaml.Marshal(s)
	return string(text), err
}

// WriteSiteFile keeps the description of a site, so that it is there whole or not at all.
func (c *Config) WriteSiteFile(s *Site) error {
	text, err := yaml.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.siteDir(), 0o700); err != nil {
		return err
	}
	path := c.siteFile(s.Name)
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
