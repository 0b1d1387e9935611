package lists

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"fsub/cloud/kind"
	"fsub/cloud/prices"
	"fsub/federation/secret"
)

// Config is which price lists of clouds are asked. Those of clouds that sites rent from are asked in any case. What no list says comes from a dated table.
type Config struct {
	// Lists to ask beyond those of the sites: azure, gcp. Azure's needs no account, Google's a key.
	Ask []string `yaml:"ask,omitempty"`
	// How often.
	Every time.Duration `yaml:"every,omitempty"`
	// How old list prices may be: sites that rent by older ones have the condition OLD_PRICES. Not
	// set: 720h, 30 days.
	MaxAge time.Duration `yaml:"max_age,omitempty"`
	// The same of spot prices. Not set: 24h.
	MaxAgeSpot time.Duration `yaml:"max_age_spot,omitempty"`
	// Regions whose prices are wanted: eastus, us-central1. Not set: all of them.
	Regions []string `yaml:"regions,omitempty"`
	// File with an API key of Google Cloud, which its billing catalog asks for. Not set: the
	// credentials of a site of kind gcp or tpu.
	GoogleKeyFile string `yaml:"google_key_file,omitempty"`
	// URL that stands in for Azure's list, for tests.
	AzureEndpoint string `yaml:"azure_endpoint,omitempty"`
	// URL that stands in for Google's list, for tests.
	GoogleEndpoint string `yaml:"google_endpoint,omitempty"`
}

// IsZero reports whether nothing is set.
func (l Config) IsZero() bool {
	return l.Ask == nil && l.Every == 0 && l.MaxAge == 0 && l.MaxAgeSpot == 0 && l.Regions == nil && l.GoogleKeyFile == "" && l.AzureEndpoint == "" && l.GoogleEndpoint == ""
}

// Check says what is wrong. sites is what sites want of price lists.
func (l *Config) Check(sites []*kind.List) error {
	for _, name := range l.Ask {
		if name != prices.Azure && name != prices.Google {
			return fmt.Errorf("price_lists: ask: invalid list %q: want azure or gcp", name)
		}
	}
	switch {
	case l.Every != 0 && l.Every < time.Minute:
		return fmt.Errorf("price_lists: every: %s is less than a minute", l.Every)
	case l.MaxAge < 0 || l.MaxAgeSpot < 0:
		return errors.New("price_lists: max_age and max_age_spot must not be negative")
	case slices.Contains(l.Ask, prices.Google) && l.GoogleKeyFile == "" && !slices.ContainsFunc(sites, func(s *kind.List) bool { return s.Cloud == prices.Google }):
		return errors.New("price_lists: google_key_file is missing: Google's billing catalog asks for an API key")
	}
	return nil
}

// MostAge is how old prices may be, but for sites whose terms say otherwise.
func (l *Config) MostAge() prices.MaxAge {
	return prices.MaxAge{List: l.MaxAge, Spot: l.MaxAgeSpot}.Or(prices.DefaultMaxAge)
}

// demand is what is wanted of one list.
type demand struct {
	asked   bool     // somebody wants it
	regions []string // nil: all that it has
	types   []string
	client  func(ctx context.Context, endpoint string) (*http.Client, error) // of the first site with credentials; nil: no site has any
}

// of adds up what the configuration and the sites want of a cloud's list. endpoint stands in for the list: what stands in for a cloud has no other prices.
func (l *Config) of(cloud, endpoint string, sites []*kind.List) (w demand) {
	all := false
	if slices.Contains(l.Ask, cloud) {
		w.asked, w.regions, all = true, slices.Clone(l.Regions), len(l.Regions) == 0
	}
	named := false
	for _, s := range sites {
		if s.Cloud != cloud || s.StandIn && endpoint == "" {
			continue
		}
		w.asked = true
		if s.Client != nil && (w.client == nil || !named) {
			w.client, named = s.Client, s.Named
		}
		for _, r := range s.Regions {
			if !all && !slices.Contains(w.regions, r) {
				w.regions = append(w.regions, r)
			}
		}
		for _, t := range s.Types {
			if !slices.Contains(w.types, t) {
				w.types = append(w.types, t)
			}
		}
	}
	return w
}

// Open adds the lists that are wanted to a catalogue. It asks nobody yet.
func (l *Config) Open(cat *prices.Catalogue, sites []*kind.List, log *slog.Logger) error {
	if a := l.azure(sites); a != nil {
		cat.Add(a)
	}
	g, err := l.google(sites, log)
	if g != nil {
		g.Types = func() map[string]prices.Shape { return cat.Shapes(prices.Google) }
		cat.Add(g)
	}
	return err
}

// azure is Azure's list; nil: nobody wants it.
func (l *Config) azure(sites []*kind.List) *Azure {
	w := l.of(prices.Azure, l.AzureEndpoint, sites)
	if !w.asked {
		return nil
	}
	types := prices.Types(prices.Azure)
	for _, t := range w.types {
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	return &Azure{Endpoint: l.AzureEndpoint, Regions: w.regions, Types: types}
}

// google is Google's list, which is asked with the key or with the credentials of a site; nil: nobody wants it, or nobody has credentials.
func (l *Config) google(sites []*kind.List, log *slog.Logger) (*Google, error) {
	w := l.of(prices.Google, l.GoogleEndpoint, sites)
	if !w.asked {
		return nil, nil
	}
	list := &Google{Endpoint: l.GoogleEndpoint, Regions: w.regions}
	if l.GoogleKeyFile != "" {
		err := secret.Check(l.GoogleKeyFile)
		var key []byte
		if err == nil {
			key, err = os.ReadFile(l.GoogleKeyFile)
		}
		if err != nil {
			return nil, fmt.Errorf("price_lists: google_key_file: %w", err)
		}
		list.Key = strings.TrimSpace(string(key))
		return list, nil
	}
	err := errors.New("no site that rents there, and no key")
	if w.client != nil {
		list.HTTP, err = w.client(context.Background(), l.GoogleEndpoint)
	}
	if err != nil {
		log.Warn("Google's price list is not asked: prices are those of the table", "err", err)
		return nil, nil
	}
	return list, nil
}
