package gcp

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/google"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
)

// Config is what to rent, and where. It holds no credential.
type Config struct {
	Site       federation.SiteName
	Federation string // the label by which our machines are known from others': not empty

	Project string
	Region  string
	Zones   []string // names ("us-central1-a"); none: all of the region
	Types   []Type   // at least one, or Reservations
	// Contract has on-demand prices per hour of one machine, by type or pattern, where a contract makes them others than the list's: see [provider.Choose].
	Contract map[string]federation.Dollars
	// Reservations are names of reservations of the project, or paths of those of another that shares them (projects/P/reservations/N), with one of their blocks perhaps
	// (/reservationBlocks/B). They are offered while they are ready. One with an end, as calendar mode and future reservations make them, is a block.
	Reservations []string

	// Network is the name or path of the VPC network, Subnetwork that of the subnetwork in the region; neither: "default". MoreSubnetworks are those of
	// further interfaces, in their order, of machines that are put near to each other.
	Network, Subnetwork string
	MoreSubnetworks     []string
	// NoAddress gives machines no public address: they reach the daemon within the network, or by Cloud NAT.
	NoAddress bool

	// Images are what machines boot, by type or pattern ("g2-standard-*"), or by architecture ("x86_64", "arm64"), where "x86_64/gpu" is preferred for types with
	// GPUs. Each is PROJECT/FAMILY, or a path: projects/P/global/images/NAME.
	Images   map[string]string
	DiskGiB  int    // of the boot disk; 0: as the image has it, and 100 for the default images, whose own is 10
	DiskType string // "": hyperdisk-balanced where the type takes nothing else, or pd-balanced
	// ServiceAccount is the e-mail address of the machines' rights, and so of every job on them. "": none.
	ServiceAccount string
	Labels         map[string]string // beyond ours, on all machines

	// SpotInterrupts is how often spot machines are taken back, per hour; default [DefaultInterrupts].
	SpotInterrupts float64
	Boot           time.Duration // from Create to the agent's first word, as expected; default 90 s
	// FlexQueue is for how long Google may queue a flex-start request; default 2 h. FlexRun is for how long its machines are had: 10 min to 7 days; default 7 days.
	FlexQueue, FlexRun time.Duration

	CredentialsFile string // of a service account; "": where Google's own tools look
	// Endpoint stands in for compute.googleapis.com, without authentication.
	Endpoint string

	Prices *prices.Catalogue // nil: the table alone
	HTTP   *http.Client      // nil: the SDK's, with credentials
	Logger *slog.Logger      // nil: slog.Default()
	Now    func() time.Time  // nil: time.Now
}

// Type is a machine type that is wanted.
type Type struct {
	Name    string            // "g2-standard-4", or with * "g2-standard-*"
	Markets []provider.Market // OnDemand, Spot, Flex; none: OnDemand
	Max     int               // machines at one time; 0: no bound
}

// DefaultInterrupts is the rate of spot interruptions per hour that is assumed where none is configured: a cautious guess, since Google publishes none.
const DefaultInterrupts = 0.05

// Boot is what machines of Google need in their boot data (cloud.Config.Boot).
func Boot() agentapi.Boot { return agentapi.Boot{Metadata: "gce", PowerOff: true} }

// Families are documented at cloud.google.com/compute/docs/images/os-details; the accelerator images have NVIDIA's driver.
var defaultImages = map[string]string{
	"x86_64":     "debian-cloud/debian-12",
	"arm64":      "debian-cloud/debian-12-arm64",
	"x86_64/gpu": "ubuntu-os-accelerator-images/ubuntu-accelerator-2204-amd64-with-nvidia-570",
	"arm64/gpu":  "ubuntu-os-accelerator-images/ubuntu-accelerator-2404-arm64-with-nvidia-570",
}

// The bounds of a flex-start request's run, as the documentation of resize requests has them.
const (
	flexLeast = 10 * time.Minute
	flexMost  = 7 * 24 * time.Hour
)

var (
	labelForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	typeForm  = regexp.MustCompile(`^[a-z][a-z0-9*-]*$`)
	nameForm  = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	imageForm = regexp.MustCompile(`^(projects/[^/ ]+/global/images/(family/)?[^/ ]+|[a-z][^/ ]*/[a-z][^/ ]*)$`)
)

// check refuses what cannot work, and fills in defaults.
func (c *Config) check() error {
	switch {
	case c.Site == "" || c.Federation == "":
		return fmt.Errorf("gcp: the site and the federation need names: machines are known by them")
	case c.Project == "" || strings.ContainsAny(c.Project, "/ "):
		return fmt.Errorf("gcp: project %q: give the ID of the project that pays (gcloud projects list)", c.Project)
	case !nameForm.MatchString(c.Region):
		return fmt.Errorf("gcp: region %q: give one, such as us-central1 (gcloud compute regions list)", c.Region)
	case len(c.Types) == 0 && len(c.Reservations) == 0:
		return fmt.Errorf("gcp: no types and no reservations: nothing would be offered")
	case c.DiskGiB < 0 || c.DiskGiB > 65536:
		return fmt.Errorf("gcp: disk of %d GiB: Google has 10 to 65536", c.DiskGiB)
	case c.SpotInterrupts < 0:
		return fmt.Errorf("gcp: %g interruptions per hour", c.SpotInterrupts)
	case c.FlexQueue < 0 || c.FlexRun != 0 && (c.FlexRun < flexLeast || c.FlexRun > flexMost):
		return fmt.Errorf("gcp: flex-start machines run from 10 minutes to 7 days, not %s, and queue for %s", c.FlexRun, c.FlexQueue)
	}
	for _, z := range c.Zones {
		if !strings.HasPrefix(z, c.Region+"-") {
			return fmt.Errorf("gcp: zone %q is not in region %s", z, c.Region)
		}
	}
	for k, v := range c.Labels {
		if !labelForm.MatchString(k) || strings.HasPrefix(k, "fsub-") || v != google.LabelValue(v) {
			return fmt.Errorf("gcp: label %s=%s: keys and values are up to 63 of small letters, digits, _ and -, and no key begins with fsub-", k, v)
		}
	}
	for _, t := range c.Types {
		if err := t.check(); err != nil {
			return err
		}
	}
	for _, r := range c.Reservations {
		if !nameForm.MatchString(r) && !sharedForm.MatchString(r) {
			return fmt.Errorf("gcp: reservation %q: give its name, or of another project projects/P/reservations/NAME", r)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Images)) {
		if _, ok := defaultImages[key]; !ok && !(typeForm.MatchString(key) && strings.Contains(key, "-")) {
			return fmt.Errorf("gcp: image for %q: architectures are x86_64 and arm64, with /gpu behind for types with GPUs; or give types: g2-standard-*", key)
		}
		if !imageForm.MatchString(c.Images[key]) {
			return fmt.Errorf("gcp: image %q: give PROJECT/FAMILY, or projects/PROJECT/global/images/NAME", c.Images[key])
		}
	}
	c.SpotInterrupts = cmp.Or(c.SpotInterrupts, DefaultInterrupts)
	c.Boot = cmp.Or(c.Boot, 90*time.Second)
	c.FlexQueue, c.FlexRun = cmp.Or(c.FlexQueue, 2*time.Hour), cmp.Or(c.FlexRun, flexMost)
	c.Logger = cmp.Or(c.Logger, slog.Default()).With("site", c.Site)
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

func (t Type) check() error {
	if !typeForm.MatchString(t.Name) || !strings.Contains(t.Name, "-") {
		return fmt.Errorf("gcp: type %q: give it as Google does: g2-standard-4, or g2-standard-*", t.Name)
	}
	if t.Max < 0 {
		return fmt.Errorf("gcp: type %s: max is not negative", t.Name)
	}
	for _, m := range t.Markets {
		if m != provider.OnDemand && m != provider.Spot && m != provider.Flex {
			return fmt.Errorf("gcp: type %s: market %q: on-demand, spot or flex (reservations are listed by their names)", t.Name, m)
		}
	}
	return nil
}

// wanted is what the configuration says of a type: the first that fits.
func (c *Config) wanted(name string) (Type, bool) {
	for _, t := range c.Types {
		if ok, _ := path.Match(t.Name, name); ok {
			if len(t.Markets) == 0 {
				t.Markets = []provider.Market{provider.OnDemand}
			}
			return t, true
		}
	}
	return Type{}, false
}

// defaultDisk is how large disks with default images are: these have too little room for jobs.
const defaultDisk = 100

// image is the path of what a machine boots; own: the configuration names it.
func (c *Config) image(o *provider.Offering) (image string, own bool) {
	key := o.Arch
	if o.GPUs > 0 {
		key += "/gpu"
	}
	named, _ := provider.Choose(c.Images, o.Type)
	named = cmp.Or(named, c.Images[key], c.Images[o.Arch])
	image = cmp.Or(named, defaultImages[key])
	if strings.HasPrefix(image, "projects/") {
		return image, named != ""
	}
	project, family, _ := strings.Cut(image, "/")
	return "projects/" + project + "/global/images/family/" + family, named != ""
}
