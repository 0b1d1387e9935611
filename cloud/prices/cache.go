package prices

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cached is what the file of a catalogue holds.
type cached struct {
	Prices  []Price           `json:"prices"`
	Sources map[string]*Asked `json:"sources"`
}

// load reads the file. One that is not there is an empty one; one that cannot be read is set aside: prices can be asked for again.
func (c *Catalogue) load() error {
	if c.cfg.File == "" {
		return nil
	}
	data, err := os.ReadFile(c.cfg.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("prices: %w", err)
	}
	var from cached
	if err := json.Unmarshal(data, &from); err != nil {
		c.cfg.Logger.Warn("the file of prices cannot be read: it is set aside", "file", c.cfg.File, "err", err)
		return os.Rename(c.cfg.File, c.cfg.File+".bad")
	}
	for _, p := range from.Prices {
		c.known[p.Key] = p
	}
	for name, a := range from.Sources {
		if a != nil {
			c.sources[name] = a
		}
	}
	return nil
}

// save writes the file as a whole.
func (c *Catalogue) save() error {
	if c.cfg.File == "" {
		return nil
	}
	c.mu.Lock()
	to := cached{Prices: make([]Price, 0, len(c.known)), Sources: c.sources}
	for _, p := range c.known {
		to.Prices = append(to.Prices, p)
	}
	slices.SortFunc(to.Prices, func(a, b Price) int { return a.compare(b) })
	data, err := json.MarshalIndent(to, "", " ")
	c.mu.Unlock()
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(c.cfg.File), ".prices-")
	if err != nil {
		return fmt.Errorf("prices: %w", err)
	}
	defer os.Remove(part.Name())
	_, err = part.Write(data)
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), c.cfg.File)
	}
	if err != nil {
		return fmt.Errorf("prices: %w", err)
	}
	return nil
}

func (k Key) compare(to Price) int {
	a, b := [...]string{k.Cloud, k.Type, k.Region, k.Zone, string(k.Market)}, [...]string{to.Cloud, to.Type, to.Region, to.Zone, string(to.Market)}
	for i := range a {
		if n := strings.Compare(a[i], b[i]); n != 0 {
			return n
		}
	}
	return 0
}
