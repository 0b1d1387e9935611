package config

import (
	"errors"
	"slices"
	"strings"
	"time"

	"fsub/topology/torus"
)

// tpuKind rents slices of Cloud TPU from Google.
var tpuKind = kind{
	name:    "tpu",
	missing: "tpu is missing: at least project, zones and the slices that may be rented",
	section: func(s *Site) section {
		if s.TPU == nil {
			return nil
		}
		return s.TPU
	},
}

// TPU is what is rented of Cloud TPU. A slice is as many machines as it has hosts, which come
// and go together: a pool's max must have room for them. Credentials are found as Google's own tools
// find them, or in the file named here; none stands in this file.
type TPU struct {
	// ID of the project that pays.
	Project string `yaml:"project"`
	// Zones, by name: TPUs are in few of them (gcloud compute tpus locations list).
	Zones []string `yaml:"zones"`
	// Accelerator types, such as v5litepod-16 or v5p-256; or a generation and a topology, v5p:4x4x16,
	// for another shape than the best of its size.
	Slices []string `yaml:"slices"`
	// Markets to rent in: on-demand, spot, flex. on-demand and spot if not set.
	Markets []string `yaml:"markets,omitempty"`
	// Full names of reservations, out of which slices are offered in their zone too.
	Reservations []string `yaml:"reservations,omitempty"`
	// Dollars per hour of one chip on demand by generation (v5p), where a contract differs from Google's
	// list. Spot slices cost what Google asks, and at most this where that is not known.
	Prices map[string]float64 `yaml:"prices,omitempty"`
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
}

func (u *TPU) check() error {
	if err := checkGoogle("tpu", u.Project, u.Markets); err != nil {
		return err
	}
	if err := checkPrices("tpu", u.Prices, "the generations of slices", u.generations()); err != nil {
		return err
	}
	switch {
	case len(u.Zones) == 0:
		return errors.New("tpu: zones is missing: us-west4-a, for instance")
	case len(u.Slices) == 0:
		return errors.New("tpu: slices is missing: accelerator types, such as v5litepod-16")
	case u.Boot < 0 || u.Queue < 0 || u.FlexQueue < 0 || u.FlexRun < 0 || !number(u.SpotInterrupts):
		return errors.New("tpu: boot, queue, flex_queue, flex_run and spot_interrupts are not negative")
	}
	return nil
}

// generations are those of the slices. Of what is no slice there is none: it is refused later, with the reason.
func (u *TPU) generations() (list []string) {
	for _, s := range u.Slices {
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

func (u *TPU) paths() []*string { return []*string{&u.CredentialsFile} }
