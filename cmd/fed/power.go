package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"fsub/accounting/power"
	"fsub/federation"
	"fsub/federation/controller"
)

// Power is what the electricity of the sites costs, and its carbon. Placement counts it; nobody is billed for it.
type Power struct {
	// CSV file with the header site,hour,usd_per_kwh,g_per_kwh (grams of CO2 equivalent). An hour is a time (2026-11-22T14:00Z), one of each day in UTC
	// (0 to 23), or * for all others; a site * is any that has no line of its own. It is read again when it changes.
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

// powerFile is the file of rates, read again when it changes.
type powerFile struct {
	cfg Power
	log *slog.Logger

	mu     sync.Mutex
	looked time.Time
	stamp  string
	table  power.Table // nil: it could not be read yet
	source string
}

// openPower reads the file, so that a bad one is reported at once. nil: none is configured.
func openPower(cfg Power, log *slog.Logger) (*powerFile, error) {
	if cfg.File == "" {
		return nil, nil
	}
	f := &powerFile{cfg: cfg, log: log}
	return f, f.read()
}

func (f *powerFile) read() error {
	st, err := os.Stat(f.cfg.File)
	if err != nil {
		return fmt.Errorf("power: %w", err)
	}
	stamp := fmt.Sprint(st.ModTime().UnixNano(), st.Size())
	if stamp == f.stamp {
		return nil
	}
	in, err := os.Open(f.cfg.File)
	if err != nil {
		return fmt.Errorf("power: %w", err)
	}
	defer in.Close()
	t, err := power.Read(in)
	if err != nil {
		return fmt.Errorf("power: %s: %w", f.cfg.File, err)
	}
	f.table, f.stamp, f.source = t, stamp, filepath.Base(f.cfg.File)+" of "+st.ModTime().UTC().Format(time.DateOnly)
	return nil
}

// powerAge is how often the file is looked at.
const powerAge = 30 * time.Second

// at are a site's rates from now on, nil if the file says nothing of it.
func (f *powerFile) at(site federation.SiteName, now time.Time) *power.Rates {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.looked) >= powerAge {
		f.looked = now
		if err := f.read(); err != nil { // what was read last counts on
			f.log.Warn("the rates of electricity cannot be read", "err", err)
		}
	}
	from, hours := f.table.At(string(site), now)
	if hours == nil {
		return nil
	}
	return &power.Rates{From: from, Hours: hours, Tonne: f.cfg.CarbonPrice, PUE: f.cfg.PUE[site], Watts: f.cfg.Watts, Source: f.source}
}

// joins has the controller count the electricity of a site.
func (f *powerFile) joins(s *controller.Site) {
	if f != nil {
		s.Power = func(now time.Time) *power.Rates { return f.at(s.Name, now) }
	}
}
