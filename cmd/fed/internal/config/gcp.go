package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"fsub/cloud/provider"
)

// gcpKind rents machines from Google Compute Engine.
var gcpKind = kind{
	name:    "gcp",
	missing: "gcp is missing: at least project, region and the types that may be rented",
	section: func(s *Site) section {
		if s.GCP == nil {
			return nil
		}
		return s.GCP
	},
}

// GCP is what is rented from Google Compute Engine, in one region. Credentials are found as
// Google's own tools find them, or in the file named here; none stands in this file.
type GCP struct {
	// ID of the project that pays.
	Project string `yaml:"project"`
	// Region: us-central1.
	Region string `yaml:"region"`
	// Zones, by name. Not set: all of the region.
	Zones []string `yaml:"zones,omitempty"`
	// Machine types: g2-standard-4, or with a star g2-standard-*.
	Types []string `yaml:"types"`
	// Markets to rent in: on-demand, spot, flex. on-demand and spot if not set. In flex, Google
	// queues the request until it has all machines, and has them back after flex_run.
	Markets []string `yaml:"markets,omitempty"`
	// Names of reservations of the project, also those of calendar mode, or
	// projects/P/reservations/NAME of another project that shares them; /reservationBlocks/BLOCK behind
	// takes of one block. Offered while they are ready.
	Reservations []string `yaml:"reservations,omitempty"`
	// Dollars per hour on demand by type, or by types with a star, where a contract differs from
	// Google's list, or the type is not in it.
	Prices map[string]float64 `yaml:"prices,omitempty"`
	// Name of the VPC network. default if not set.
	Network string `yaml:"network,omitempty"`
	// Name of the subnetwork in the region. Not set: that of the network.
	Subnetwork string `yaml:"subnetwork,omitempty"`
	// Subnetworks of further interfaces, in order, of machines that are close to each other.
	MoreSubnetworks []string `yaml:"more_subnetworks,omitempty"`
	// Machines have no public address: they reach the daemon within the network, or by Cloud NAT.
	NoAddress bool `yaml:"no_address,omitempty"`
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
	// Further labels of all machines.
	Labels map[string]string `yaml:"labels,omitempty"`
	// Expected interruptions of a spot machine per hour. 0.05 if not set.
	SpotInterrupts float64 `yaml:"spot_interrupts,omitempty"`
	// Expected time from the request to the first word of the agent. 90s if not set.
	Boot time.Duration `yaml:"boot,omitempty"`
	// How long a request of the market flex may be queued. 2h if not set.
	FlexQueue time.Duration `yaml:"flex_queue,omitempty"`
	// How long its machines are had at most, from 10m to 168h. 168h if not set. Google is asked for the
	// job's time limit and what its machines take to start.
	FlexRun time.Duration `yaml:"flex_run,omitempty"`
	// File with a service account's key. Not set: where Google's own tools look.
	CredentialsFile string `yaml:"credentials_file,omitempty"`
	// URL that stands in for compute.googleapis.com, for tests.
	Endpoint string `yaml:"endpoint,omitempty"`
}

// googleMarkets are what a section of Google's may name. Reservations are named one by one.
var googleMarkets = []string{string(provider.OnDemand), string(provider.Spot), string(provider.Flex)}

func (g *GCP) check() error {
	if err := checkGoogle("gcp", g.Project, g.Markets); err != nil {
		return err
	}
	if err := checkPrices("gcp", g.Prices, "types", g.Types); err != nil {
		return err
	}
	if len(g.Reservations) == 0 {
		if err := checkImages("gcp", g.Images, "types", g.Types); err != nil {
			return err
		}
	}
	switch {
	case g.Region == "":
		return errors.New("gcp: region is missing: us-central1, for instance")
	case len(g.Types) == 0 && len(g.Reservations) == 0:
		return errors.New("gcp: types is missing: the machine types that may be rented")
	case g.Boot < 0 || g.FlexQueue < 0 || g.FlexRun < 0 || !number(g.SpotInterrupts):
		return errors.New("gcp: boot, flex_queue, flex_run and spot_interrupts are not negative")
	}
	return nil
}

// checkGoogle checks what the sections of Google's clouds have alike.
func checkGoogle(kind, project string, asked []string) error {
	if project == "" {
		return fmt.Errorf("%s: project is missing: the ID of the project that pays (gcloud projects list)", kind)
	}
	for _, m := range asked {
		if !slices.Contains(googleMarkets, m) {
			return fmt.Errorf("%s: invalid market %q: want on-demand, spot or flex; reservations are listed by their names", kind, m)
		}
	}
	return nil
}

func (g *GCP) paths() []*string { return []*string{&g.CredentialsFile} }
