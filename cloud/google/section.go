package google

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/kind"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
)

// Section is what the sections of Google's clouds have in common.
type Section struct {
	// ID of the project that pays.
	Project string `yaml:"project"`
	// Markets to rent in: on-demand, spot, flex. on-demand and spot if not set. In flex, Google
	// queues the request until it has all machines, and has them back after flex_run.
	Markets []provider.Market `yaml:"markets,omitempty"`
	// Name of the VPC network. default if not set.
	Network string `yaml:"network,omitempty"`
	// Name of the subnetwork in the region. Not set: that of the network.
	Subnetwork string `yaml:"subnetwork,omitempty"`
	// Machines have no public address: they reach the daemon within the network, or by Cloud NAT.
	NoAddress bool `yaml:"no_address,omitempty"`
	// Further labels of all that is rented.
	Labels map[string]string `yaml:"labels,omitempty"`
	// Expected interruptions of a spot machine or slice per hour, until more is known of its
	// offering (docs/prices.md). 0.05 if not set.
	SpotInterrupts float64 `yaml:"spot_interrupts,omitempty"`
	// How long a request of the market flex may be queued. 2h if not set.
	FlexQueue time.Duration `yaml:"flex_queue,omitempty"`
	// File with a service account's key. Not set: where Google's own tools look.
	CredentialsFile string `yaml:"credentials_file,omitempty"`
	// URL that stands in for Google's, for tests.
	Endpoint string `yaml:"endpoint,omitempty"`

	Site       federation.SiteName `yaml:"-"`
	Federation string              `yaml:"-"` // the label by which what is ours is known from others': not empty

	Prices *prices.Catalogue `yaml:"-"` // nil: the table alone
	HTTP   *http.Client      `yaml:"-"` // nil: the SDK's, with credentials
	Logger *slog.Logger      `yaml:"-"` // nil: slog.Default()
	Now    func() time.Time  `yaml:"-"` // nil: time.Now
}

// defaultInterrupts is the rate of spot interruptions per hour that is assumed where none is configured: a cautious guess, since Google publishes none.
const defaultInterrupts = 0.05

// Boot is what machines of Google need in their boot data (cloud.Config.Boot).
func Boot() agentapi.Boot { return agentapi.Boot{Metadata: "gce", PowerOff: true} }

var labelForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// Paths implements kind.Settings.
func (s *Section) Paths() []*string { return []*string{&s.CredentialsFile} }

// CheckSection checks what is configured, for the section of this name. Reservations are named one by one.
func (s *Section) CheckSection(name string) error {
	switch {
	case s.Project == "":
		return fmt.Errorf("%s: project is missing: the ID of the project that pays (gcloud projects list)", name)
	case strings.ContainsAny(s.Project, "/ "):
		return fmt.Errorf("%s: invalid project %q: want the ID of the project that pays (gcloud projects list)", name, s.Project)
	case s.FlexQueue < 0 || !provider.Amount(s.SpotInterrupts):
		return fmt.Errorf("%s: flex_queue and spot_interrupts must not be negative", name)
	}
	for k, v := range s.Labels {
		if !labelForm.MatchString(k) || strings.HasPrefix(k, "fsub-") || v != LabelValue(v) {
			return fmt.Errorf("%s: invalid label %s=%s: keys and values are up to 63 of small letters, digits, _ and -, and no key begins with fsub-", name, k, v)
		}
	}
	return provider.CheckMarkets(name, s.Markets, []provider.Market{provider.OnDemand, provider.Spot, provider.Flex}, "; reservations are listed by their names")
}

// Complete fills in defaults, and refuses a section that the daemon has not told whose it is.
func (s *Section) Complete(name string) error {
	if s.Site == "" || s.Federation == "" {
		return fmt.Errorf("%s: the site and the federation need names: machines are known by them", name)
	}
	s.Markets = provider.Rented(s.Markets)
	s.SpotInterrupts, s.FlexQueue = cmp.Or(s.SpotInterrupts, defaultInterrupts), cmp.Or(s.FlexQueue, 2*time.Hour)
	s.Logger = cmp.Or(s.Logger, slog.Default()).With("site", s.Site)
	if s.Now == nil {
		s.Now = time.Now
	}
	return nil
}

// Set takes over what the daemon gives a provider.
func (s *Section) Set(by kind.Setup) {
	s.Site, s.Federation, s.Prices, s.Logger = by.Site, by.Federation, by.Prices, by.Logger
}

// List is what the section wants of Google's price list, which is opened with its credentials, or those that Google's own tools find.
func (s *Section) List(regions ...string) *kind.List {
	account := &Account{CredentialsFile: s.CredentialsFile}
	return &kind.List{Cloud: prices.Google, Regions: regions, StandIn: s.Endpoint != "", Named: s.CredentialsFile != "",
		Client: func(ctx context.Context, endpoint string) (*http.Client, error) {
			account.Endpoint = endpoint
			return account.Client(ctx, "https://www.googleapis.com/auth/cloud-billing.readonly")
		}}
}
