package config

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
)

// PriceLists says which price lists of clouds are asked. Amazon's is asked by the sites that rent
// there, Azure's and Google's where a site does. What no list says comes from a dated table.
type PriceLists struct {
	// Lists to ask beyond those of the sites: azure, gcp. Azure's needs no account, Google's a key.
	Ask []string `yaml:"ask,omitempty"`
	// How often.
	Every time.Duration `yaml:"every,omitempty"`
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
func (l PriceLists) IsZero() bool {
	return l.Ask == nil && l.Every == 0 && l.Regions == nil && l.GoogleKeyFile == "" && l.AzureEndpoint == "" && l.GoogleEndpoint == ""
}

func (l *PriceLists) check(sites []Site) error {
	for _, name := range l.Ask {
		if name != prices.Azure && name != prices.Google {
			return fmt.Errorf("price_lists: ask: invalid list %q: want azure or gcp", name)
		}
	}
	switch {
	case l.Every != 0 && l.Every < time.Minute:
		return fmt.Errorf("price_lists: every: %s is less than a minute", l.Every)
	case slices.Contains(l.Ask, prices.Google) && l.GoogleKeyFile == "" && !slices.ContainsFunc(sites, func(s Site) bool { return s.GCP != nil || s.TPU != nil }):
		return errors.New("price_lists: google_key_file is missing: Google's billing catalog asks for an API key")
	}
	return nil
}

// Terms is what a contract makes of a cloud's list prices.
type Terms struct {
	// Shares that are taken off list prices; of several that fit a machine the first counts.
	Discounts []Discount `yaml:"discounts,omitempty"`
	// Machines that are paid for whether they run or not. While one of them is idle, it costs nothing.
	Paid []Paid `yaml:"paid,omitempty"`
	// Size of each machine's disk, and what a GiB of it costs in dollars a month. Not set: the size that
	// the cloud's section sets or the default images get, at the list price of the cloud's usual disk.
	DiskGiB int `yaml:"disk_gib,omitempty"`
	// Dollars per GiB and month.
	DiskGiBMonth float64 `yaml:"disk_gib_month,omitempty"`
}

// Discount is one discount.
type Discount struct {
	// Machine types, with stars: p5.*. Not set: all.
	Types string `yaml:"types,omitempty"`
	// on-demand, spot, flex. Not set: all.
	Markets []string `yaml:"markets,omitempty"`
	// The share: 0.25 is a quarter.
	Off float64 `yaml:"off"`
}

// Paid is a commitment or a contract.
type Paid struct {
	// Name of the contract, as fed explain shows it.
	Name string `yaml:"name"`
	// Machine types, with stars.
	Types string `yaml:"types"`
	// Region. Not set: any.
	Region string `yaml:"region,omitempty"`
	// How many machines are paid for.
	Machines int `yaml:"machines"`
	// The first day on which that is over, by UTC: 2027-06-30. Not set: it is never.
	Until string `yaml:"until,omitempty"`
}

func (p *Paid) until() (time.Time, error) {
	if p.Until == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.DateOnly, p.Until)
}

func (t *Terms) check() error {
	for _, d := range t.Discounts {
		if !(d.Off > 0 && d.Off < 1) {
			return fmt.Errorf("terms: discounts: invalid off %v: want a share such as 0.25", d.Off)
		}
		if _, err := path.Match(d.Types, ""); err != nil {
			return fmt.Errorf("terms: discounts: types %q: %w", d.Types, err)
		}
		for _, m := range d.Markets {
			if m := provider.Market(m); m != provider.OnDemand && m != provider.Spot && m != provider.Flex {
				return fmt.Errorf("terms: discounts: invalid market %q: want on-demand, spot or flex", m)
			}
		}
	}
	for _, p := range t.Paid {
		if _, err := path.Match(p.Types, ""); err != nil || p.Types == "" || p.Name == "" || p.Machines < 1 {
			return fmt.Errorf("terms: paid: %q of %q: want a name, types, and machines from 1", p.Name, p.Types)
		}
		if _, err := p.until(); err != nil {
			return fmt.Errorf("terms: paid: %s: until: invalid day %q: want it as 2027-06-30", p.Name, p.Until)
		}
	}
	if t.DiskGiB < 0 || !number(t.DiskGiBMonth) || (t.DiskGiB == 0) != (t.DiskGiBMonth == 0) {
		return errors.New("terms: disk_gib and disk_gib_month go together and are not negative")
	}
	return nil
}

const hoursOfMonth = 730

// terms are those of the contract.
func (t *Terms) terms() (out prices.Terms) {
	out.Disk = federation.Dollars(float64(t.DiskGiB) * t.DiskGiBMonth / hoursOfMonth)
	for _, d := range t.Discounts {
		one := prices.Discount{Types: d.Types, Off: d.Off}
		for _, m := range d.Markets {
			one.Markets = append(one.Markets, provider.Market(m))
		}
		out.Discounts = append(out.Discounts, one)
	}
	for _, p := range t.Paid {
		until, _ := p.until() // it was checked
		out.Paid = append(out.Paid, prices.Paid{Name: p.Name, Types: p.Types, Region: p.Region, Machines: p.Machines, Until: until})
	}
	return out
}

// ContractTerms are those of the site's contract. Its machines' disks cost what the cloud's list has unless the contract sets that.
func (s *Site) ContractTerms() (t prices.Terms) {
	if s.Terms != nil {
		t = s.Terms.terms()
	}
	if t.Disk == 0 {
		t.Disk = s.diskPrice()
	}
	return t
}

// What a GiB of a machine's disk costs in dollars a month by the clouds' lists of 2026-06: gp3 in us-east-1, pd-balanced in us-central1, and Premium SSD P10 in eastus, which has 128 for $19.71.
const (
	diskOfAmazon    = 0.08
	diskOfGoogle    = 0.10
	diskOfAzure     = 0.154
	defaultDisk     = 100 // GiB of the disks with default images
	defaultOfAzures = 128
)

// Disk is how large a machine's disk is in GiB, and what a GiB of it costs in dollars a month by the cloud's list; 0: it is not known, as with images of one's own. The disk of
// a TPU host is part of its price.
func (s *Site) Disk() (gib int, month float64) {
	size := func(configured, fallback int, images map[string]string) int {
		if configured > 0 || len(images) > 0 {
			return configured
		}
		return fallback
	}
	switch {
	case s.AWS != nil:
		return size(s.AWS.VolumeGiB, defaultDisk, s.AWS.Images), diskOfAmazon
	case s.GCP != nil:
		return size(s.GCP.DiskGiB, defaultDisk, s.GCP.Images), diskOfGoogle
	case s.Azure != nil:
		return size(s.Azure.DiskGiB, defaultOfAzures, s.Azure.Images), diskOfAzure
	}
	return 0, 0
}

// diskPrice is what a machine's disk costs per hour; 0: it is not known how large it is, or what stands in for the cloud has no prices.
func (s *Site) diskPrice() federation.Dollars {
	if s.AWS != nil && s.AWS.Endpoint != "" || s.GCP != nil && s.GCP.Endpoint != "" || s.Azure != nil && s.Azure.Endpoint != "" {
		return 0
	}
	gib, month := s.Disk()
	return federation.Dollars(float64(gib) * month / hoursOfMonth)
}
