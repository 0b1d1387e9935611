package tpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/google"
	"fsub/cloud/kind"
	"fsub/cloud/provider"
	"fsub/federation/decision"
	"fsub/topology/torus"
)

// Config is what is rented of Cloud TPU. A slice is as many machines as it has hosts, which come
// and go together: a pool's max must have room for them. Credentials are found as Google's own tools
// find them, or in the file named here; none stands in this file.
type Config struct {
	google.Section `yaml:",inline"`
	// Zones, by name: TPUs are in few of them (gcloud compute tpus locations list).
	Zones []string `yaml:"zones"`
	// Accelerator types, such as v5litepod-16 or v5p-256; or a generation and a topology, v5p:4x4x16,
	// for another shape than the best of its size.
	Slices []string `yaml:"slices"`
	// Full names of reservations, out of which slices are offered in their zone too.
	Reservations []string `yaml:"reservations,omitempty"`
	// Dollars per hour of one chip on demand by generation (v5p), where a contract differs from Google's
	// list. Spot slices cost what Google asks, and at most this where that is not known.
	Contract map[string]decision.Dollars `yaml:"prices,omitempty"`
	// Runtime versions by generation. Not set: those that Google recommends for JAX and PyTorch.
	Runtime map[string]string `yaml:"runtime,omitempty"`
	// E-mail address of the hosts' service account. Every job on them can use its rights. Not set: the project's default one.
	ServiceAccount string `yaml:"service_account,omitempty"`
	// Expected time from the slice being there to the first word of its agents. 4m if not set.
	Boot time.Duration `yaml:"boot,omitempty"`
	// How long Google may look for an on-demand or spot slice. 10m if not set.
	Queue time.Duration `yaml:"queue,omitempty"`
	// How long a slice of the market flex is had at most, from 10m to 168h. 24h if not set. Google is
	// asked for the job's time limit and what the slice takes to start.
	FlexRun time.Duration `yaml:"flex_run,omitempty"`
}

var (
	zoneForm        = regexp.MustCompile(`^[a-z]+-[a-z]+\d+-[a-z]$`)
	reservationForm = regexp.MustCompile(`^projects/[^/]+/locations/([^/]+)/reservations/[^/]+$`)
)

// Missing implements kind.Settings.
func (*Config) Missing() string {
	return "tpu is missing: at least project, zones and the slices that may be rented"
}

// Check implements kind.Settings.
func (c *Config) Check(string) error {
	if err := c.CheckSection("tpu"); err != nil {
		return err
	}
	switch {
	case len(c.Zones) == 0:
		return errors.New("tpu: zones is missing: us-west4-a, for instance (gcloud compute tpus locations list)")
	case len(c.Slices) == 0:
		return errors.New("tpu: slices is missing: accelerator types, such as v5litepod-16")
	case c.Boot < 0 || c.Queue < 0 || c.FlexRun < 0:
		return errors.New("tpu: boot, queue and flex_run must not be negative")
	case c.FlexRun != 0 && (c.FlexRun < flexLeast || c.FlexRun > flexMost):
		return fmt.Errorf("tpu: invalid flex_run %s: want 10m to 168h", c.FlexRun)
	}
	for _, z := range c.Zones {
		if !zoneForm.MatchString(z) {
			return fmt.Errorf("tpu: invalid zone %q: want it as Google writes it: us-west4-a", z)
		}
	}
	for _, s := range c.Slices {
		if _, err := parseSlice(s); err != nil {
			return fmt.Errorf("tpu: %w", err)
		}
	}
	for _, r := range c.Reservations {
		if !reservationForm.MatchString(r) {
			return fmt.Errorf("tpu: invalid reservation %q: want its full name: projects/P/locations/ZONE/reservations/NAME", r)
		}
	}
	return provider.CheckPrices("tpu", c.Contract, "the generations of slices", c.generations())
}

// generations are those of the slices.
func (c *Config) generations() (list []string) {
	for _, s := range c.Slices {
		name, _, _ := strings.Cut(s, ":")
		g, ok := torus.Lookup(name)
		if of, _, err := torus.OfType(s); err == nil {
			g, ok = of, true
		}
		if ok && !slices.Contains(list, g.Name) {
			list = append(list, g.Name)
		}
	}
	return list
}

// Facts implements kind.Settings. The disk of a host is part of its price. Each host's zone says in which region its data lies.
func (c *Config) Facts() kind.Facts {
	var regions []string
	for _, zone := range c.Zones {
		regions = append(regions, regionOf(zone))
	}
	return kind.Facts{Place: "gcp:", List: c.List(regions...)}
}

// Open implements kind.Settings.
func (c *Config) Open(ctx context.Context, s kind.Setup) (provider.Provider, agentapi.Boot, error) {
	own := *c
	own.Set(s)
	p, err := New(ctx, own)
	return p, google.Boot(), err
}

// check refuses what cannot work, and fills in defaults.
func (c *Config) check() error {
	c.Boot, c.Queue, c.FlexRun = cmp.Or(c.Boot, 4*time.Minute), cmp.Or(c.Queue, 10*time.Minute), cmp.Or(c.FlexRun, 24*time.Hour)
	return cmp.Or(c.Check(""), c.Complete("tpu"))
}
