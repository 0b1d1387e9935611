package tpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/google"
	"fsub/cloud/kind"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/topology/torus"
)

// Config is what is rented of Cloud TPU. A slice is as many machines as it has hosts, which come
// and go together: a pool's max must have room for them. Credentials are found as Google's own tools
// find them, or in the file named here; none stands in this file.
type Config struct {
	// ID of the project that pays.
	Project string `yaml:"project"`
	// Zones, by name: TPUs are in few of them (gcloud compute tpus locations list).
	Zones []string `yaml:"zones"`
	// Accelerator types, such as v5litepod-16 or v5p-256; or a generation and a topology, v5p:4x4x16,
	// for another shape than the best of its size.
	Slices []string `yaml:"slices"`
	// Markets to rent in: on-demand, spot, flex. on-demand and spot if not set.
	Markets []provider.Market `yaml:"markets,omitempty"`
	// Full names of reservations, out of which slices are offered in their zone too.
	Reservations []string `yaml:"reservations,omitempty"`
	// Dollars per hour of one chip on demand by generation (v5p), where a contract differs from Google's
	// list. Spot slices cost what Google asks, and at most this where that is not known.
	Contract map[string]decision.Dollars `yaml:"prices,omitempty"`
	// Name of the VPC network. default if not set.
	Network string `yaml:"network,omitempty"`
	// Name of the subnetwork in the zone's region. Not set: that of the network.
	Subnetwork string `yaml:"subnetwork,omitempty"`
	// Hosts have no public address: they reach the daemon within the network, or by Cloud NAT.
	NoAddress bool `yaml:"no_address,omitempty"`
	// Runtime versions by generation. Not set: those that Google recommends for JAX and PyTorch.
	Runtime map[string]string `yaml:"runtime,omitempty"`
	// E-mail address of the hosts' service account. Every job on them can use its rights. Not set: the project's default one.
	ServiceAccount string `yaml:"service_account,omitempty"`
	// Further labels of all slices.
	Labels map[string]string `yaml:"labels,omitempty"`
	// Expected interruptions of a spot slice per hour. 0.05 if not set.
	SpotInterrupts float64 `yaml:"spot_interrupts,omitempty"`
	// Expected time from the slice being there to the first word of its agents. 4m if not set.
	Boot time.Duration `yaml:"boot,omitempty"`
	// How long Google may look for an on-demand or spot slice. 10m if not set.
	Queue time.Duration `yaml:"queue,omitempty"`
	// The same for the market flex. 2h if not set.
	FlexQueue time.Duration `yaml:"flex_queue,omitempty"`
	// How long a slice of the market flex is had at most, from 10m to 168h. 24h if not set. Google is
	// asked for the job's time limit and what the slice takes to start.
	FlexRun time.Duration `yaml:"flex_run,omitempty"`
	// File with a service account's key. Not set: where Google's own tools look.
	CredentialsFile string `yaml:"credentials_file,omitempty"`
	// URL that stands in for tpu.googleapis.com, for tests.
	Endpoint string `yaml:"endpoint,omitempty"`

	Site       federation.SiteName `yaml:"-"`
	Federation string              `yaml:"-"` // the label by which our nodes are known from others': not empty

	Catalogue *prices.Catalogue `yaml:"-"` // nil: the table alone
	HTTP      *http.Client      `yaml:"-"` // nil: the SDK's, with credentials
	Logger    *slog.Logger      `yaml:"-"` // nil: slog.Default()
	Now       func() time.Time  `yaml:"-"` // nil: time.Now
}

// Boot is what TPU hosts need in their boot data (cloud.Config.Boot).
func Boot() agentapi.Boot { return agentapi.Boot{Metadata: "gce", PowerOff: true} }

var (
	zoneForm        = regexp.MustCompile(`^[a-z]+-[a-z]+\d+-[a-z]$`)
	reservationForm = regexp.MustCompile(`^projects/[^/]+/locations/([^/]+)/reservations/[^/]+$`)
)

// Missing implements kind.Settings.
func (*Config) Missing() string {
	return "tpu is missing: at least project, zones and the slices that may be rented"
}

// Paths implements kind.Settings.
func (c *Config) Paths() []*string { return []*string{&c.CredentialsFile} }

// Check implements kind.Settings.
func (c *Config) Check(string) error {
	if err := google.CheckSection("tpu", c.Project, c.Markets); err != nil {
		return err
	}
	switch {
	case len(c.Zones) == 0:
		return errors.New("tpu: zones is missing: us-west4-a, for instance (gcloud compute tpus locations list)")
	case len(c.Slices) == 0:
		return errors.New("tpu: slices is missing: accelerator types, such as v5litepod-16")
	case c.Boot < 0 || c.Queue < 0 || c.FlexQueue < 0 || c.FlexRun < 0 || !provider.Amount(c.SpotInterrupts):
		return errors.New("tpu: boot, queue, flex_queue, flex_run and spot_interrupts must not be negative")
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
	list := &kind.List{Cloud: prices.Google, StandIn: c.Endpoint != "", Named: c.CredentialsFile != "", Client: google.PriceClient(c.CredentialsFile)}
	for _, zone := range c.Zones {
		list.Regions = append(list.Regions, regionOf(zone))
	}
	return kind.Facts{Place: "gcp:", List: list}
}

// Open implements kind.Settings.
func (c *Config) Open(ctx context.Context, s kind.Setup) (provider.Provider, agentapi.Boot, error) {
	own := *c
	own.Site, own.Federation, own.Catalogue, own.Logger = s.Site, s.Federation, s.Prices, s.Logger
	p, err := New(ctx, own)
	return p, Boot(), err
}

// check refuses what cannot work, and fills in defaults.
func (c *Config) check() error {
	if c.Site == "" || c.Federation == "" {
		return errors.New("tpu: the site and the federation need names: slices are known by them")
	}
	if err := c.Check(""); err != nil {
		return err
	}
	c.Markets = provider.Rented(c.Markets)
	c.SpotInterrupts = cmp.Or(c.SpotInterrupts, 0.05)
	c.Boot = cmp.Or(c.Boot, 4*time.Minute)
	c.Queue, c.FlexQueue, c.FlexRun = cmp.Or(c.Queue, 10*time.Minute), cmp.Or(c.FlexQueue, 2*time.Hour), cmp.Or(c.FlexRun, 24*time.Hour)
	c.Logger = cmp.Or(c.Logger, slog.Default()).With("site", c.Site)
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}
