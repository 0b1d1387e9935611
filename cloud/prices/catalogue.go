package prices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"fsub/cloud/provider"
	"fsub/federation/decision"
)

// Source is the price list of a cloud. One that is Lazy() has what it knows learnt when its provider needs that, and is asked here only when somebody says so.
type Source interface {
	Name() string // "Azure's retail price list": unique in its catalogue
	// Prices asks for all of the prices that are wanted. What it returns beside an error counts.
	Prices(ctx context.Context) ([]Price, error)
}

// Config says what a catalogue is made of. The zero value is one that has the tables alone.
type Config struct {
	Sources []Source
	File    string        // keeps what was learnt; "": nothing does
	Every   time.Duration // how often a source is asked; 12 h
	Now     func() time.Time
	Logger  *slog.Logger
}

// Catalogue answers what machines cost. Its methods may be called from several goroutines, and on a nil one: that has the tables alone.
type Catalogue struct {
	cfg Config

	mu      sync.Mutex
	asking  sync.Mutex // held while sources are asked
	known   map[Key]Price
	sources map[string]*Asked
	shapes  map[[2]string]Shape // by cloud and type: see Describe
	unasked map[string]bool     // clouds with types that their source was not asked for yet
	wake    chan struct{}
}

// Asked is how a source has answered.
type Asked struct {
	Source  string    `json:"source"`
	At      time.Time `json:"at"`             // of the last answer; zero: none yet
	Tried   time.Time `json:"tried"`          // of the last call
	Prices  int       `json:"prices"`         // good ones in the last answer
	Refused []Refused `json:"refused"`        // those of it that cannot be true
	Err     string    `json:"error,omitzero"` // why the last call failed
}

// Refused is a price that cannot be true.
type Refused struct {
	Price
	Why string `json:"why"`
}

// New makes a catalogue with what its file has. It asks nobody.
func New(cfg Config) (*Catalogue, error) {
	cfg.Every = cmp.Or(cfg.Every, 12*time.Hour)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	c := &Catalogue{cfg: cfg, known: map[Key]Price{}, sources: map[string]*Asked{}, shapes: map[[2]string]Shape{}, unasked: map[string]bool{}, wake: make(chan struct{}, 1)}
	return c, c.load()
}

// Add has one more source asked.
func (c *Catalogue) Add(s Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cfg.Sources = append(c.cfg.Sources, s)
}

// Price is what a machine costs by all that is known: what the cloud has said, of the zone or else of the region, or the table. The price of a spot machine that nobody
// knows is the on-demand price, which it does not exceed, and says so ([Price].Bound). False: it is not known at all.
func (c *Catalogue) Price(k Key) (Price, bool) {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	return c.price(k)
}

// Contracted is what a machine costs where a contract sets its on-demand price, usd; 0: none does. Other markets but spot have that price. Spot machines are sold at the cloud's own,
// which the contract's bounds where it is not known.
func (c *Catalogue) Contracted(k Key, usd decision.Dollars, now time.Time) (Price, bool) {
	p, ok := c.Price(k)
	switch {
	case usd <= 0 || k.Market == provider.Spot && ok && !p.Bound:
		return p, ok
	case k.Market == provider.Spot:
		return Price{Key: k, PerHour: usd, At: now, From: "on-demand price, the most it can be, configuration", Bound: true}, true
	}
	return Price{Key: k, PerHour: usd, At: now, From: "configuration"}, true
}

func (c *Catalogue) price(k Key) (Price, bool) {
	if p, ok := c.own(k); ok {
		return p, true
	}
	if k.Market != provider.Spot && k.Market != provider.Flex {
		return Price{}, false
	}
	list := k
	list.Market = provider.OnDemand
	p, ok := c.own(list)
	if !ok {
		return Price{}, false
	}
	p.Key, p.Bound = k, true
	p.From = "on-demand price, the most it can be, " + p.From
	return p, true
}

// own is the price of a market itself.
func (c *Catalogue) own(k Key) (Price, bool) {
	region, zone := k, k
	region.Zone, zone.Region = "", "" // the table has Amazon's zones without their regions
	for _, at := range []Key{k, zone, region} {
		if p, ok := c.one(at); ok {
			p.Key = k
			return p, true
		}
	}
	if k.Cloud == AWS && k.Market == provider.OnDemand && k.Region != baseRegion {
		region.Region = baseRegion
		if p, ok := embedded()[region]; ok {
			p.Key, p.From = k, p.From+" for "+baseRegion
			return p, true
		}
	}
	return Price{}, false
}

// baseRegion has the prices that are known of most of Amazon's types. Other regions are up to a third dearer.
const baseRegion = "us-east-1"

// one is the newer of what was learnt and what the table has.
func (c *Catalogue) one(k Key) (Price, bool) {
	p, ok := embedded()[k]
	if c != nil {
		if q, learnt := c.known[k]; learnt && (!ok || q.At.After(p.At)) {
			return q, true
		}
	}
	return p, ok
}

// Learn takes in prices that a cloud has said, but for those that cannot be true: these it returns.
func (c *Catalogue) Learn(list []Price) []Refused {
	c.mu.Lock()
	defer c.mu.Unlock()
	// On-demand prices first: spot prices are compared with them.
	list = slices.SortedStableFunc(slices.Values(list), func(a, b Price) int { return cmp.Compare(rank(a.Market), rank(b.Market)) })
	var refused []Refused
	for _, p := range list {
		var onDemand, before decision.Dollars
		list := p.Key
		list.Market = provider.OnDemand
		if q, ok := c.own(list); ok {
			onDemand = q.PerHour
		}
		if q, ok := c.own(p.Key); ok {
			before = q.PerHour
		}
		if why := Check(&p, onDemand, before); why != "" {
			if !slices.ContainsFunc(refused, func(r Refused) bool { return r.Key == p.Key }) {
				refused = append(refused, Refused{p, why})
			}
			continue
		}
		c.known[p.Key] = p
	}
	return refused
}

func rank(m provider.Market) int {
	if m == provider.OnDemand {
		return 0
	}
	return 1
}

// Refresh asks the sources whose last call is older than the interval, or all of them if now is set. It returns how each has answered, and an error for those
// that did not.
func (c *Catalogue) Refresh(ctx context.Context, now bool) ([]Asked, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	c.mu.Lock()
	sources := slices.Clone(c.cfg.Sources)
	c.mu.Unlock()
	var errs []error
	changed := false
	for _, s := range sources {
		if lazy, ok := s.(interface{ Lazy() bool }); !now && ok && lazy.Lazy() {
			continue
		}
		if !now && !c.described(s) && c.cfg.Now().Sub(c.lastTried(s.Name())) < c.cfg.Every {
			continue
		}
		changed = true
		if err := c.ask(ctx, s); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Name(), err))
		}
	}
	if changed {
		if err := c.save(); err != nil {
			errs = append(errs, err)
		}
	}
	return c.Asked(), errors.Join(errs...)
}

func (c *Catalogue) lastTried(name string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.sources[name]; a != nil {
		return a.Tried
	}
	return time.Time{}
}

// ask asks one source.
func (c *Catalogue) ask(ctx context.Context, s Source) error {
	at := c.cfg.Now().UTC()
	list, err := s.Prices(ctx)
	refused := c.Learn(list)
	for _, r := range refused {
		c.cfg.Logger.Warn("a price is refused: the last good one stays", "source", s.Name(), "type", r.Type, "region", r.Region, "zone", r.Zone, "market", r.Market, "why", r.Why)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.sources[s.Name()]
	if a == nil {
		a = &Asked{Source: s.Name()}
		c.sources[s.Name()] = a
	}
	a.Tried, a.Err = at, ""
	if len(list) > 0 || err == nil {
		a.Prices, a.Refused = c.learnt(list), refused
	}
	if err != nil {
		a.Err = err.Error()
		c.cfg.Logger.Warn("a price list does not answer: prices are from before or from the table", "source", s.Name(), "err", err)
		return err
	}
	a.At = at
	return nil
}

// learnt is how many of the prices are known now as they were said.
func (c *Catalogue) learnt(list []Price) int {
	good := map[Key]bool{}
	for _, p := range list {
		good[p.Key] = good[p.Key] || c.known[p.Key] == p
	}
	n := 0
	for _, ok := range good {
		if ok {
			n++
		}
	}
	return n
}

// Asked is how the sources have answered, by their names.
func (c *Catalogue) Asked() (list []Asked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.cfg.Sources {
		a := Asked{Source: s.Name()}
		if known := c.sources[s.Name()]; known != nil {
			a = *known
		}
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b Asked) int { return strings.Compare(a.Source, b.Source) })
	return list
}

// Follow asks the sources when it is time, until ctx ends.
func (c *Catalogue) Follow(ctx context.Context) error {
	t := time.NewTicker(max(c.cfg.Every/24, time.Minute))
	defer t.Stop()
	for {
		_, _ = c.Refresh(ctx, false) // it has logged what did not answer
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		case <-c.wake:
		}
	}
}
