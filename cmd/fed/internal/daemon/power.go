package daemon

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"fsub/accounting/power"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	"fsub/federation/controller"
)

// powerFile is the file of rates, read again when it changes.
type powerFile struct {
	cfg config.Power
	log *slog.Logger

	mu     sync.Mutex
	looked time.Time
	stamp  string
	table  power.Table // nil: it could not be read yet
	source string
}

// openPower reads the file, so that a bad one is reported at once. nil: none is configured.
func openPower(cfg config.Power, log *slog.Logger) (*powerFile, error) {
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
