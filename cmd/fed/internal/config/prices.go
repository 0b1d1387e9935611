package config

import (
	"errors"
	"fmt"
	"path"
	"time"

	"fsub/cloud/kind"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation/decision"
)

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
	// How old list prices may be before the site has the condition OLD_PRICES.
	// Not set: as price_lists has it.
	MaxAge time.Duration `yaml:"max_age,omitempty"`
	// The same of spot prices.
	MaxAgeSpot time.Duration `yaml:"max_age_spot,omitempty"`
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
		return errors.New("terms: disk_gib and disk_gib_month go together and must not be negative")
	}
	if t.MaxAge < 0 || t.MaxAgeSpot < 0 {
		return errors.New("terms: max_age and max_age_spot must not be negative")
	}
	return nil
}

const hoursOfMonth = 730

// terms are those of the contract.
func (t *Terms) terms() (out prices.Terms) {
	out.Disk = decision.Dollars(float64(t.DiskGiB) * t.DiskGiBMonth / hoursOfMonth)
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
		f := s.Facts()
		t.Disk = f.DiskGiBMonth * decision.Dollars(f.DiskGiB) / hoursOfMonth
	}
	return t
}

// MaxPriceAge is how old the prices of a site's machines may be.
func (c *Config) MaxPriceAge(s *Site) prices.MaxAge {
	if s.Terms == nil {
		return c.PriceLists.MostAge()
	}
	return prices.MaxAge{List: s.Terms.MaxAge, Spot: s.Terms.MaxAgeSpot}.Or(c.PriceLists.MostAge())
}

// Lists are what sites want of price lists.
func (c *Config) Lists() (all []*kind.List) {
	for i := range c.Sites {
		if l := c.Sites[i].Facts().List; l != nil {
			all = append(all, l)
		}
	}
	return all
}
