package tpu

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
)

// Config is what to rent, and where. It holds no credential.
type Config struct {
	Site       federation.SiteName
	Federation string // the label by which our nodes are known from others': not empty

	Project string
	Zones   []string // "us-west4-a"; TPUs are in few zones
	// Slices are what may be rented: accelerator types ("v5litepod-16", "v5p-256"), or a generation and a topology ("v5p:4x4x16") for other shapes than the
	// best of their size.
	Slices  []string
	Markets []provider.Market // OnDemand, Spot, Flex; none: OnDemand
	// Reservations are full names, projects/P/locations/ZONE/reservations/NAME: every slice is offered in the reservation's zone out of it too.
	Reservations []string
	Prices       map[string]federation.Dollars // on demand per hour of one chip, by generation, where a contract makes it another than the list's

	Network, Subnetwork string            // names; neither: "default"
	NoAddress           bool              // hosts have no public address
	Runtime             map[string]string // runtime version by generation; default as Google's documentation has them
	ServiceAccount      string            // e-mail address of the hosts' rights, and so of every job on them; "": none of ours
	Labels              map[string]string

	SpotInterrupts float64       // expected interruptions of a slice per hour; default 0.05
	Boot           time.Duration // from the end of the queue to the agents' first word; default 4 min
	// Queue is for how long Google may look for an on-demand or spot slice; default 10 min. FlexQueue and FlexRun are for the market Flex: 2 h, and 24 h (at most 7 days).
	Queue, FlexQueue, FlexRun time.Duration

	CredentialsFile string // of a service account; "": where Google's own tools look
	Endpoint        string // stands in for tpu.googleapis.com, without authentication

	Catalogue *prices.Catalogue // nil: the table alone
	HTTP      *http.Client      // nil: the SDK's, with credentials
	Logger    *slog.Logger      // nil: slog.Default()
	Now       func() time.Time  // nil: time.Now
}

// Boot is what TPU hosts need in their boot data (cloud.Config.Boot).
func Boot() agentapi.Boot { return agentapi.Boot{Metadata: "gce", PowerOff: true} }

var (
	zoneForm        = regexp.MustCompile(`^[a-z]+-[a-z]+\d+-[a-z]$`)
	reservationForm = regexp.MustCompile(`^projects/[^/]+/locations/([^/]+)/reservations/[^/]+$`)
)

// check refuses what cannot work, and fills in defaults.
func (c *Config) check() error {
	switch {
	case c.Site == "" || c.Federation == "":
		return fmt.Errorf("tpu: the site and the federation need names: slices are known by them")
	case c.Project == "" || strings.ContainsAny(c.Project, "/ "):
		return fmt.Errorf("tpu: project %q: give the ID of the project that pays (gcloud projects list)", c.Project)
	case len(c.Zones) == 0:
		return fmt.Errorf("tpu: no zones: TPUs are in few of them (gcloud compute tpus locations list)")
	case len(c.Slices) == 0:
		return fmt.Errorf("tpu: no slices: give accelerator types, such as v5litepod-16")
	case c.FlexRun != 0 && (c.FlexRun < flexLeast || c.FlexRun > 7*24*time.Hour) || c.Queue < 0 || c.FlexQueue < 0:
		return fmt.Errorf("tpu: flex-start slices run from 10 minutes to 7 days, not %s", c.FlexRun)
	}
	for _, z := range c.Zones {
		if !zoneForm.MatchString(z) {
			return fmt.Errorf("tpu: zone %q: give it as Google does: us-west4-a", z)
		}
	}
	for _, s := range c.Slices {
		if _, err := parseSlice(s); err != nil {
			return fmt.Errorf("tpu: %w", err)
		}
	}
	for _, r := range c.Reservations {
		if !reservationForm.MatchString(r) {
			return fmt.Errorf("tpu: reservation %q: give its full name: projects/P/locations/ZONE/reservations/NAME", r)
		}
	}
	if len(c.Markets) == 0 {
		c.Markets = []provider.Market{provider.OnDemand}
	}
	for _, m := range c.Markets {
		if m != provider.OnDemand && m != provider.Spot && m != provider.Flex {
			return fmt.Errorf("tpu: market %q: on-demand, spot or flex (reservations are listed by their names)", m)
		}
	}
	c.SpotInterrupts = cmp.Or(c.SpotInterrupts, 0.05)
	c.Boot = cmp.Or(c.Boot, 4*time.Minute)
	c.Queue, c.FlexQueue, c.FlexRun = cmp.Or(c.Queue, 10*time.Minute), cmp.Or(c.FlexQueue, 2*time.Hour), cmp.Or(c.FlexRun, 24*time.Hour)
	c.Logger = cmp.Or(c.Logger, slog.Default()).With("site", c.Site)
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}
