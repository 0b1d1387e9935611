package config

import (
	"errors"
	"fmt"
	"path/filepath"

	"fsub/federation"
)

// Power is what the electricity of the sites costs, and its carbon. Placement counts it; nobody is billed for it.
type Power struct {
	// CSV file with the header site,hour,usd_per_kwh,g_per_kwh (grams of CO2 equivalent). An hour is a time (2026-11-22T14:00Z), one of each day in UTC
	// (0 to 23), or * for all others; a site * is any without its own line. It is read again when it changes.
	File string `yaml:"file,omitempty"`
	// Dollars that a tonne of CO2 is reckoned to cost.
	CarbonPrice float64 `yaml:"carbon_price,omitempty"`
	// Watts of the data centre for each watt of its machines, by site. 1 if not set.
	PUE map[federation.SiteName]float64 `yaml:"pue,omitempty"`
	// Watts of one unit, by TRES: gres/gpu:h100, cpu. Not set: what data sheets say.
	Watts map[string]float64 `yaml:"watts,omitempty"`
}

func (p *Power) check() error {
	if p.File == "" {
		if p.CarbonPrice != 0 || len(p.PUE) > 0 || len(p.Watts) > 0 {
			return errors.New("power: set file, which says what electricity costs")
		}
		return nil
	}
	if !filepath.IsAbs(p.File) {
		return fmt.Errorf("power: invalid file %q: want an absolute path", p.File)
	}
	if !number(p.CarbonPrice) {
		return fmt.Errorf("power: carbon_price is %v: it must be a number and not negative", p.CarbonPrice)
	}
	for site, v := range p.PUE {
		if !number(v) || v < 1 {
			return fmt.Errorf("power: pue: that of %s is %v: it is 1 or more", site, v)
		}
	}
	for tres, v := range p.Watts {
		if !number(v) {
			return fmt.Errorf("power: watts: that of %s is %v: it must be a number and not negative", tres, v)
		}
	}
	return nil
}
