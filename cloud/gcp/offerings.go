package gcp

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"

	"fsub/cloud/google"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/sbatch"
)

// catalogTTL is how long machine types and zones are taken to stay as they are.
const catalogTTL = 6 * time.Hour

// compactMost is how many machines can be near to each other: a policy takes 1500, and a call makes fewer.
const compactMost = mostMachines

// memory holds the machine types. Its mutex is held while they are fetched: others wait for the one answer.
type memory struct {
	mu   sync.Mutex
	at   time.Time
	last []*computepb.MachineType // that are wanted, in our zones
}

// Offerings are made from the machine types of the zones, by market. One without a known price is left out, and logged: it would seem to cost nothing.
func (p *Provider) Offerings(ctx context.Context) ([]provider.Offering, error) {
	reserved, err := p.reservations.list(ctx)
	if err != nil {
		return nil, err
	}
	types, err := p.machineTypes(ctx, reserved)
	if err != nil {
		return nil, err
	}
	var all []provider.Offering
	for _, t := range types {
		if p.cfg.wanted(t.GetName()) == "" {
			continue // of a reservation alone
		}
		for _, market := range p.cfg.Markets {
			q, ok := p.price(t.GetName(), google.Base(t.GetZone()), market)
			if !ok {
				p.log.Warn("no price is known: the type is not offered (set its price)", "type", t.GetName(), "zone", google.Base(t.GetZone()), "market", market)
				continue
			}
			all = append(all, p.offering(t, market, q, 0))
		}
	}
	all = append(all, p.reserved(types, reserved)...)
	slices.SortFunc(all, func(a, b provider.Offering) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

func (p *Provider) price(typ, zone string, market provider.Market) (prices.Price, bool) {
	contract, _ := provider.Choose(p.cfg.Contract, typ)
	return p.cfg.Prices.Contracted(prices.Key{Cloud: prices.Google, Type: typ, Region: p.cfg.Region, Zone: zone, Market: market}, contract, p.now())
}

// machineTypes returns the types of our zones that are wanted or reserved: at most catalogTTL old, or the last ones if no newer ones can be had.
func (p *Provider) machineTypes(ctx context.Context, reserved []*reservation) ([]*computepb.MachineType, error) {
	m := &p.kept
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != nil && p.now().Sub(m.at) < catalogTTL {
		return m.last, nil
	}
	found, err := p.learn(ctx, reserved)
	if err != nil && m.last == nil {
		return nil, err
	}
	if err != nil {
		p.log.Warn("machine types could not be read again: the old ones are kept", "err", err)
		return m.last, nil
	}
	m.last, m.at = found, p.now()
	p.describe(found)
	return found, nil
}

// describe says what the types hold, so that Google's price list can be asked for them. It has no price of what shares its cores.
func (p *Provider) describe(types []*computepb.MachineType) {
	shapes := map[string]prices.Shape{}
	for _, t := range types {
		if len(t.Accelerators) == 0 && !t.GetIsSharedCpu() {
			shapes[t.GetName()] = prices.Shape{CPUs: int(t.GetGuestCpus()), MemGiB: float64(t.GetMemoryMb()) / 1024}
		}
	}
	p.cfg.Prices.Describe(prices.Google, shapes)
}

func (p *Provider) learn(ctx context.Context, reserved []*reservation) ([]*computepb.MachineType, error) {
	zones := p.cfg.Zones
	if len(zones) == 0 {
		region, err := p.api.regions.Get(ctx, &computepb.GetRegionRequest{Project: p.cfg.Project, Region: p.cfg.Region}, once)
		if err != nil {
			return nil, refused(err)
		}
		for _, z := range region.GetZones() {
			zones = append(zones, google.Base(z))
		}
	}
	var patterns []string
	for _, t := range p.cfg.Types {
		patterns = append(patterns, strings.ReplaceAll(regexp.QuoteMeta(t), `\*`, `.*`))
	}
	for _, r := range reserved {
		patterns = append(patterns, regexp.QuoteMeta(google.Base(r.GetSpecificReservation().GetInstanceProperties().GetMachineType())))
	}
	slices.Sort(patterns)
	patterns = slices.Compact(patterns)
	it := p.api.types.AggregatedList(ctx, &computepb.AggregatedListMachineTypesRequest{
		Project: p.cfg.Project, MaxResults: proto.Uint32(pageSize), Filter: proto.String(fmt.Sprintf(`name eq "%s"`, strings.Join(patterns, "|"))),
	}, once)
	found := []*computepb.MachineType{}
	err := each(it.Next, func(zone compute.MachineTypesScopedListPair) error {
		if !slices.Contains(zones, google.Base(zone.Key)) {
			return nil
		}
		if err := unread(zone.Key, zone.Value.GetWarning()); err != nil {
			return err
		}
		for _, t := range zone.Value.GetMachineTypes() {
			if t.GetZone() == "" {
				t.Zone = proto.String(google.Base(zone.Key))
			}
			found = append(found, t)
		}
		return nil
	})
	for _, t := range p.cfg.Types {
		if err == nil && !slices.ContainsFunc(found, func(m *computepb.MachineType) bool { return p.cfg.wanted(m.GetName()) == t }) {
			p.log.Warn("the region has no such machine type", "region", p.cfg.Region, "type", t)
		}
	}
	return found, err
}

// offering describes one kind of machine.
func (p *Provider) offering(t *computepb.MachineType, market provider.Market, q prices.Price, most int) provider.Offering {
	zone := google.Base(t.GetZone())
	o := provider.Offering{
		ID: t.GetName() + "/" + zone + "/" + string(market), Type: t.GetName(), Region: p.cfg.Region, Zone: zone, Market: market, Max: most,
		CPUs: int(t.GetGuestCpus()), Mem: sbatch.MemMiB(int64(t.GetMemoryMb()) * 95 / 100), // the kernel and firmware keep some
		Arch: "x86_64", Features: []string{t.GetName()}, Price: q.PerHour, Least: time.Minute, PricedAt: q.At, PriceFrom: q.From, Boot: p.cfg.Boot,
	}
	if t.GetArchitecture() == "ARM64" {
		o.Arch = "arm64"
	}
	for _, a := range t.Accelerators {
		name, memory := gpuName(a.GetGuestAcceleratorType())
		o.GPUs, o.GPUType = o.GPUs+int(a.GetGuestAcceleratorCount()), name
		if name == "a100" {
			o.Features = append(o.Features, name+"-"+cmp.Or(memory, "40gb"))
		}
	}
	switch market {
	case provider.Spot:
		o.Interrupts = p.cfg.SpotInterrupts
		o.Features = append(o.Features, "spot")
	case provider.Flex:
		o.Queue, o.Run = p.cfg.FlexQueue, p.cfg.FlexRun
		o.Features = append(o.Features, "flex")
	}
	if compact(t.GetName()) {
		if o.MaxGang = most; most == 0 {
			o.MaxGang = compactMost
		}
	}
	return o
}

// compact reports whether a type can have a compact placement policy: those that are made for jobs of several machines.
func compact(typ string) bool {
	family, _, _ := strings.Cut(typ, "-")
	return slices.Contains([]string{"a2", "a3", "a4", "a4x", "g2", "g4", "c2", "c2d", "c3", "c3d", "c4", "c4d", "h3", "h4d"}, family)
}

// memorySuffix is what Google's names of GPUs end with: nvidia-h100-80gb.
var memorySuffix = regexp.MustCompile(`-(\d+gb)$`)

// gpuName is Google's name of a GPU as sites write it, and the memory that it names.
func gpuName(s string) (name, memory string) {
	name = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(s), "nvidia-"), "tesla-"), "-vws")
	if m := memorySuffix.FindStringSubmatch(name); m != nil {
		name, memory = strings.TrimSuffix(name, m[0]), m[1]
	}
	return strings.TrimSuffix(name, "-mega"), memory
}
