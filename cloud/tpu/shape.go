package tpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/api/googleapi"
	tpuapi "google.golang.org/api/tpu/v2alpha1"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation/decision"
	"fsub/sbatch"
	"fsub/sbatch/gres"
	"fsub/topology/torus"
)

// slice is one kind of slice.
type slice struct {
	gen            *torus.Generation
	shape          torus.Shape
	hosts, perHost int
}

// parseSlice reads an accelerator type, or GENERATION:TOPOLOGY.
func parseSlice(text string) (slice, error) {
	name, topology, given := strings.Cut(text, ":")
	if !given {
		g, shape, err := torus.OfType(text)
		if err != nil {
			return slice{}, err
		}
		return newSlice(g, shape)
	}
	g, ok := torus.Lookup(name)
	if !ok {
		return slice{}, fmt.Errorf("slice %q: no TPU generation %q: there are %s", text, name, strings.Join(torus.Names(), ", "))
	}
	shape, err := torus.Parse(topology)
	if err == nil {
		shape, err = g.Check(shape)
	}
	if err != nil {
		return slice{}, err
	}
	return newSlice(g, shape)
}

func newSlice(g *torus.Generation, shape torus.Shape) (slice, error) {
	if configType[g.Name] == "" {
		return slice{}, fmt.Errorf("slices of %s are had through Kubernetes only: the TPU API does not have it", g.Name)
	}
	s := slice{gen: g, shape: shape}
	s.hosts, s.perHost = g.Hosts(shape)
	return s, nil
}

// typ is the accelerator type: what prices and people go by.
func (s slice) typ() string { return s.gen.AcceleratorType(s.shape) }

// name is typ, with the topology behind where that is not the best of its size.
func (s slice) name() string {
	if best, err := s.gen.Best(s.shape.Chips()); err == nil && best == s.shape {
		return s.typ()
	}
	return s.typ() + "-" + s.shape.String()
}

// configType is what the API calls the generations that it has.
var configType = map[string]string{"v2": "V2", "v3": "V3", "v4": "V4", "v5e": "V5LITE_POD", "v5p": "V5P", "v6e": "V6E"}

// runtimes are the versions that cloud.google.com/tpu/docs/runtimes recommends for JAX and PyTorch.
var runtimes = map[string]string{"v2": "tpu-ubuntu2204-base", "v3": "tpu-ubuntu2204-base", "v4": "tpu-ubuntu2204-base", "v5e": "v2-alpha-tpuv5-lite", "v5p": "v2-alpha-tpuv5", "v6e": "v2-alpha-tpuv6e"}

// hostOf is what a host has besides chips, by generation and chips of a host: vCPUs and GiB (machine types ct5lp, ct5p, ct6e and the TPU documentation; as of 2026-06).
var hostOf = map[string]map[int][2]int{
	"v2": {4: {96, 334}}, "v3": {4: {96, 334}}, "v4": {4: {240, 407}}, "v5p": {4: {208, 448}},
	"v5e": {1: {24, 48}, 4: {112, 192}, 8: {224, 384}}, "v6e": {1: {44, 176}, 4: {180, 720}, 8: {180, 1440}},
}

// catalogTTL is how long the zones' accelerator types are taken to stay as they are.
const catalogTTL = 6 * time.Hour

// memory holds the accelerator types by zone.
type memory struct {
	mu    sync.Mutex
	at    time.Time
	zones map[string]map[string]bool
}

// known asks which accelerator types each zone has.
func (p *Provider) known(ctx context.Context) (map[string]map[string]bool, error) {
	m := &p.kept
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.zones != nil && p.now().Sub(m.at) < catalogTTL {
		return m.zones, nil
	}
	zones := map[string]map[string]bool{}
	for _, z := range p.cfg.Zones {
		types := map[string]bool{}
		err := p.api.AcceleratorTypes.List(p.location(z)).PageSize(1000).Pages(ctx, func(page *tpuapi.ListAcceleratorTypesResponse) error {
			for _, t := range page.AcceleratorTypes {
				types[t.Type] = true
			}
			return nil
		})
		var api *googleapi.Error
		if errors.As(err, &api) && api.Code == 404 {
			err = nil // the zone has no TPUs
		}
		if err != nil && m.zones != nil {
			p.log.Warn("accelerator types could not be read again: the old ones are kept", "zone", z, "err", err)
			return m.zones, nil
		}
		if err != nil {
			return nil, refused(err)
		}
		zones[z] = types
	}
	m.zones, m.at = zones, p.now()
	return zones, nil
}

// Offerings are the configured slices in each zone that has their type, by market. One without a known price is left out, and logged.
func (p *Provider) Offerings(ctx context.Context) ([]provider.Offering, error) {
	zones, err := p.known(ctx)
	if err != nil {
		return nil, err
	}
	all := []provider.Offering{}
	for _, text := range p.cfg.Slices {
		s, err := parseSlice(text)
		if err != nil {
			return nil, provider.Invalid("%v", err)
		}
		for _, zone := range p.cfg.Zones {
			if !zones[zone][s.typ()] {
				p.log.Warn("the zone has no such accelerator type: the slice is not offered", "zone", zone, "type", s.typ())
				continue
			}
			for _, market := range p.cfg.Markets {
				chip, ok := p.price(s.gen.Name, zone, market)
				if !ok {
					p.log.Warn("no price is known: the slice is not offered (set its price)", "slice", s.name(), "zone", zone, "market", market)
					continue
				}
				all = append(all, p.offering(s, zone, market, "", chip))
			}
			for _, r := range p.cfg.Reservations {
				if m := reservationForm.FindStringSubmatch(r); m[1] == zone {
					all = append(all, p.offering(s, zone, provider.Reserved, r, prices.Price{At: p.now(), From: "paid for with " + r[strings.LastIndexByte(r, '/')+1:]}))
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b provider.Offering) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(all, func(a, b provider.Offering) bool { return a.ID == b.ID }), nil
}

// price is that of one chip.
func (p *Provider) price(generation, zone string, market provider.Market) (prices.Price, bool) {
	key := prices.Key{Cloud: prices.Google, Type: prices.TPU(generation), Region: regionOf(zone), Zone: zone, Market: market}
	return p.cfg.Prices.Contracted(key, p.cfg.Contract[generation], p.now())
}

func regionOf(zone string) string { return zone[:strings.LastIndexByte(zone, '-')] }

// offering describes one host of a slice.
func (p *Provider) offering(s slice, zone string, market provider.Market, reservation string, chip prices.Price) provider.Offering {
	size := hostOf[s.gen.Name][s.perHost]
	o := provider.Offering{
		ID: s.name() + "/" + zone + "/" + string(market), Type: s.name(), Region: regionOf(zone), Zone: zone, Market: market, Reservation: reservation,
		Hosts: s.hosts, CPUs: size[0], Mem: sbatch.MemMiB(size[1] * 1024 * 95 / 100), Arch: "x86_64",
		GRES:     []gres.Resource{{Name: "tpu", Type: s.gen.Name, Count: s.perHost}},
		Features: []string{s.name(), s.gen.Feature(s.shape)},
		Price:    chip.PerHour * decision.Dollars(s.perHost), PricedAt: chip.At, PriceFrom: chip.From, Boot: p.cfg.Boot, Queue: p.cfg.Queue,
	}
	if o.Hosts == 1 {
		o.Hosts = 0
	}
	switch market {
	case provider.Spot:
		o.Interrupts = p.cfg.SpotInterrupts
		o.Features = append(o.Features, "spot")
	case provider.Flex:
		o.Queue, o.Run = p.cfg.FlexQueue, p.cfg.FlexRun
		o.Features = append(o.Features, "flex")
	case provider.Reserved:
		o.ID += "/" + reservation[strings.LastIndexByte(reservation, '/')+1:]
	}
	return o
}
