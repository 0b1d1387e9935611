package gcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/google"
	"fsub/cloud/kind"
	"fsub/cloud/provider"
	"fsub/federation/decision"
)

// Config is what is rented from Google Compute Engine, in one region. Credentials are found as
// Google's own tools find them, or in the file named here; none stands in this file.
type Config struct {
	google.Section `yaml:",inline"`
	// Region: us-central1.
	Region string `yaml:"region"`
	// Zones, by name. Not set: all of the region.
	Zones []string `yaml:"zones,omitempty"`
	// Machine types: g2-standard-4, or with a star g2-standard-*.
	Types []string `yaml:"types"`
	// Names of reservations of the project, also those of calendar mode, or
	// projects/P/reservations/NAME of another project that shares them; /reservationBlocks/BLOCK behind
	// takes of one block. Offered while they are ready.
	Reservations []string `yaml:"reservations,omitempty"`
	// Dollars per hour on demand by type, or by types with a star, where a contract differs from
	// Google's list, or the type is not in it.
	Contract map[string]decision.Dollars `yaml:"prices,omitempty"`
	// Subnetworks of further interfaces, in order, of machines that are close to each other.
	MoreSubnetworks []string `yaml:"more_subnetworks,omitempty"`
	// Images by type (with stars) or architecture (x86_64, arm64, x86_64/gpu): PROJECT/FAMILY, or
	// projects/PROJECT/global/images/NAME. Not set: Debian 12, and Google's Ubuntu with NVIDIA's
	// driver for GPUs.
	Images map[string]string `yaml:"images,omitempty"`
	// Size of the boot disk. Not set: that of the image, and 100 for the default images, whose own is 10.
	DiskGiB int `yaml:"disk_gib,omitempty"`
	// Type of the boot disk. Not set: pd-balanced, or hyperdisk-balanced where the type takes nothing else.
	DiskType string `yaml:"disk_type,omitempty"`
	// E-mail address of the machines' service account. Every job on the machines can use its rights. None if not set.
	ServiceAccount string `yaml:"service_account,omitempty"`
	// Expected time from the request to the first word of the agent. 90s if not set.
	Boot time.Duration `yaml:"boot,omitempty"`
	// How long machines of the market flex are had at most, from 10m to 168h. 168h if not set. Google is asked for the
	// job's time limit and what its machines take to start.
	FlexRun time.Duration `yaml:"flex_run,omitempty"`
}

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
	typeForm  = regexp.MustCompile(`^[a-z][a-z0-9*-]*$`)
	nameForm  = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	imageForm = regexp.MustCompile(`^(projects/[^/ ]+/global/images/(family/)?[^/ ]+|[a-z][^/ ]*/[a-z][^/ ]*)$`)
)

// Missing implements kind.Settings.
func (*Config) Missing() string {
	return "gcp is missing: at least project, region and the types that may be rented"
}

// Check implements kind.Settings.
func (c *Config) Check(string) error {
	if err := c.CheckSection("gcp"); err != nil {
		return err
	}
	switch {
	case c.Region == "":
		return errors.New("gcp: region is missing: us-central1, for instance")
	case !nameForm.MatchString(c.Region):
		return fmt.Errorf("gcp: invalid region %q: want one such as us-central1 (gcloud compute regions list)", c.Region)
	case len(c.Types) == 0 && len(c.Reservations) == 0:
		return errors.New("gcp: types is missing: the machine types that may be rented")
	case c.DiskGiB < 0 || c.DiskGiB > 65536:
		return fmt.Errorf("gcp: invalid disk_gib %d: want 10 to 65536", c.DiskGiB)
	case c.Boot < 0 || c.FlexRun < 0:
		return errors.New("gcp: boot and flex_run must not be negative")
	case c.FlexRun != 0 && (c.FlexRun < flexLeast || c.FlexRun > flexMost):
		return fmt.Errorf("gcp: invalid flex_run %s: want 10m to 168h", c.FlexRun)
	}
	for _, z := range c.Zones {
		if !strings.HasPrefix(z, c.Region+"-") {
			return fmt.Errorf("gcp: zone %q is not in region %s", z, c.Region)
		}
	}
	for _, t := range c.Types {
		if !typeForm.MatchString(t) || !strings.Contains(t, "-") {
			return fmt.Errorf("gcp: invalid type %q: want it as Google writes it: g2-standard-4, or g2-standard-*", t)
		}
	}
	for _, r := range c.Reservations {
		if !nameForm.MatchString(r) && !sharedForm.MatchString(r) {
			return fmt.Errorf("gcp: invalid reservation %q: want its name, or projects/P/reservations/NAME of another project", r)
		}
	}
	return cmp.Or(provider.CheckPrices("gcp", c.Contract, "types", c.Types), c.checkImages())
}

func (c *Config) checkImages() error {
	for _, key := range slices.Sorted(maps.Keys(c.Images)) {
		if _, ok := defaultImages[key]; !ok && !(typeForm.MatchString(key) && strings.Contains(key, "-")) {
			return fmt.Errorf("gcp: images: invalid key %q: want an architecture (x86_64, arm64, with /gpu for types with GPUs) or types: g2-standard-*", key)
		}
		if !imageForm.MatchString(c.Images[key]) {
			return fmt.Errorf("gcp: invalid image %q: want PROJECT/FAMILY, or projects/PROJECT/global/images/NAME", c.Images[key])
		}
	}
	if len(c.Reservations) > 0 {
		return nil // whose types are not known here
	}
	return provider.CheckImages("gcp", c.Images, "types", c.Types)
}

// Facts implements kind.Settings. The list price of a disk is that of pd-balanced in us-central1, of 2026-06. Each machine's zone says in which region its data lies.
func (c *Config) Facts() kind.Facts {
	f := kind.Facts{Place: "gcp:", DiskGiB: c.DiskGiB, DiskGiBMonth: 0.10, List: c.List(c.Region)}
	if c.DiskGiB == 0 && len(c.Images) == 0 {
		f.DiskGiB = defaultDisk
	}
	if c.Endpoint != "" {
		f.DiskGiBMonth = 0
	}
	return f
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
	c.Boot, c.FlexRun = cmp.Or(c.Boot, 90*time.Second), cmp.Or(c.FlexRun, flexMost)
	return cmp.Or(c.Check(""), c.Complete("gcp"))
}

// wanted is the first of the types in the configuration that a machine type matches; "": none.
func (c *Config) wanted(name string) string {
	i := slices.IndexFunc(c.Types, func(t string) bool { ok, _ := path.Match(t, name); return ok })
	if i < 0 {
		return ""
	}
	return c.Types[i]
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
