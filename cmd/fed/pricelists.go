package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"path/filepath"
	"slices"
	"time"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	v1 "fsub/federation/api/v1"

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

func (l *PriceLists) check(sites []SiteConfig) error {
	for _, name := range l.Ask {
		if name != prices.Azure && name != prices.Google {
			return fmt.Errorf("price_lists: ask: invalid list %q: want azure or gcp", name)
		}
	}
	switch {
	case l.Every != 0 && l.Every < time.Minute:
		return fmt.Errorf("price_lists: every: %s is less than a minute", l.Every)
	case slices.Contains(l.Ask, prices.Google) && l.GoogleKeyFile == "" && !slices.ContainsFunc(sites, func(s SiteConfig) bool { return s.GCP != nil || s.TPU != nil }):
		return errors.New("price_lists: google_key_file is missing: Google's billing catalog asks for an API key")
	}
	return nil
}

// TermsConfig is what a contract makes of a cloud's list prices.
type TermsConfig struct {
	// Shares that are taken off list prices; of several that fit a machine the first counts.
	Discounts []DiscountConfig `yaml:"discounts,omitempty"`
	// Machines that are paid for whether they run or not. While one of them is idle, it costs nothing.
	Paid []PaidConfig `yaml:"paid,omitempty"`
	// Size of each machine's disk, and what a GiB of it costs in dollars a month. Not set: the size that
	// the cloud's section sets or the default images get, at the list price of the cloud's usual disk.
	DiskGiB int `yaml:"disk_gib,omitempty"`
	// Dollars per GiB and month.
	DiskGiBMonth float64 `yaml:"disk_gib_month,omitempty"`
}

// DiscountConfig is one discount.
type DiscountConfig struct {
	// Machine types, with stars: p5.*. Not set: all.
	Types string `yaml:"types,omitempty"`
	// on-demand, spot, flex. Not set: all.
	Markets []string `yaml:"markets,omitempty"`
	// The share: 0.25 is a quarter.
	Off float64 `yaml:"off"`
}

// PaidConfig is a commitment or a contract.
type PaidConfig struct {
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

func (p *PaidConfig) until() (time.Time, error) {
	if p.Until == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.DateOnly, p.Until)
}

func (t *TermsConfig) check() error {
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
func (t *TermsConfig) terms() (out prices.Terms) {
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

// openPrices makes the catalogue of prices. It asks nobody yet.
func openPrices(c *Config, log *slog.Logger) (*prices.Catalogue, error) {
	l := &c.PriceLists
	cat, err := prices.New(prices.Config{File: filepath.Join(c.StateDir, "prices.json"), Every: l.Every, Logger: log})
	if err != nil {
		return nil, err
	}
	if list := l.azure(c.Sites); list != nil {
		cat.Add(list)
	}
	list, err := l.google(c.Sites, log)
	if err != nil {
		return nil, err
	}
	if list != nil {
		list.Types = func() map[string]prices.Shape { return cat.Shapes(prices.Google) }
		cat.Add(list)
	}
	return cat, nil
}

// priceBook tells of prices.
type priceBook struct{ cat *prices.Catalogue }

// Offers are those that a query asks for.
func (b priceBook) Offers(q v1.OfferQuery) (out []v1.Offer, err error) {
	var ask prices.Ask
	switch {
	case q.GPU != "" && q.TPU != "":
		return nil, errors.New("give a GPU or a TPU, not both")
	case q.TPU != "":
		ask, err = prices.ParseAsk(q.TPU, true)
	case q.GPU != "":
		ask, err = prices.ParseAsk(q.GPU, false)
	}
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"", prices.AWS, prices.Google, prices.Azure}, q.Cloud) {
		return nil, fmt.Errorf("invalid cloud %q: want aws, gcp or azure", q.Cloud)
	}
	if !slices.Contains([]string{"", string(provider.OnDemand), string(provider.Spot), string(provider.Flex)}, q.Market) {
		return nil, fmt.Errorf("invalid market %q: want on-demand, spot or flex", q.Market)
	}
	ask.Cloud, ask.Region, ask.Market = q.Cloud, q.Region, provider.Market(q.Market)
	now := time.Now()
	for _, o := range b.cat.Offers(ask) {
		if q.Limit > 0 && len(out) == q.Limit {
			break
		}
		out = append(out, v1.Offer{Cloud: o.Cloud, Type: o.Type, Region: o.Region, Zone: o.Zone, Market: string(o.Market), Accelerator: o.Shape.Accelerator, Count: o.Shape.Count,
			CPUs: o.Shape.CPUs, MemGiB: o.Shape.MemGiB, Machines: o.Machines, USD: float64(o.PerHour), Total: float64(o.Total), PricedAt: o.At.UTC(), From: o.From,
			Stale: o.Stale(now), Age: o.Age(now)})
	}
	return out, nil
}

// Refresh asks the price lists now.
func (b priceBook) Refresh(ctx context.Context) (out []v1.PriceList) {
	asked, _ := b.cat.Refresh(ctx, true) // each says itself why it does not answer
	for _, a := range asked {
		l := v1.PriceList{Name: a.Source, Prices: a.Prices, Error: a.Err}
		if !a.At.IsZero() {
			l.At = &a.At
		}
		for _, r := range a.Refused {
			l.Refused = append(l.Refused, v1.RefusedPrice{Cloud: r.Cloud, Type: r.Type, Region: r.Region, Zone: r.Zone, Market: string(r.Market), USD: finite(float64(r.PerHour)), Why: r.Why})
		}
		out = append(out, l)
	}
	return out
}

// finite is f as JSON can have it.
func finite(f float64) float64 {
	if !number(f) {
		return 0
	}
	return f
}
