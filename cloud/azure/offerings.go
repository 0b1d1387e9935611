package azure

import (
	"context"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/sbatch"
)

// groupMost is how many machines a single placement group has at most.
const groupMost = 100

// size is a size of machines as ResourceSKUs describes it.
type size struct {
	name, family string
	zones        []string // numbers
	cpus, gpus   int
	mem          sbatch.MemMiB
	arch         string
	rdma, spot   bool
	premium      bool   // it can have premium disks
	accelerated  bool   // network
	barred       string // why this subscription cannot have it; ""
}

// memory is what Azure was asked some hours ago.
type memory struct {
	mu   sync.Mutex
	at   time.Time
	skus map[string]*size
}

const remember = 6 * time.Hour

// known are the sizes of the location.
func (p *Provider) known(ctx context.Context) (map[string]*size, error) {
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	if p.memory.skus != nil && p.now().Sub(p.memory.at) < remember {
		return p.memory.skus, nil
	}
	filter := "location eq '" + p.cfg.Location + "'"
	list, err := pages(ctx, p.skus.NewListPager(&armcompute.ResourceSKUsClientListOptions{Filter: &filter}), func(r armcompute.ResourceSKUsClientListResponse) []*armcompute.ResourceSKU {
		return r.Value
	})
	if err != nil {
		return nil, err
	}
	skus := map[string]*size{}
	for _, s := range list {
		if str(s.ResourceType) == "virtualMachines" {
			skus[str(s.Name)] = sizeOf(s)
		}
	}
	p.memory.at, p.memory.skus = p.now(), skus
	return skus, nil
}

func sizeOf(s *armcompute.ResourceSKU) *size {
	z := &size{name: str(s.Name), family: str(s.Family), arch: "x86_64"}
	for _, l := range s.LocationInfo {
		for _, zone := range l.Zones {
			z.zones = append(z.zones, *zone)
		}
	}
	slices.Sort(z.zones)
	for _, r := range s.Restrictions {
		switch {
		case r.Type == nil:
		case *r.Type == armcompute.ResourceSKURestrictionsTypeLocation && r.ReasonCode != nil:
			z.barred = string(*r.ReasonCode)
		case *r.Type == armcompute.ResourceSKURestrictionsTypeZone && r.RestrictionInfo != nil:
			z.zones = slices.DeleteFunc(z.zones, func(zone string) bool {
				return slices.ContainsFunc(r.RestrictionInfo.Zones, func(barred *string) bool { return *barred == zone })
			})
		}
	}
	for _, c := range s.Capabilities {
		value := str(c.Value)
		yes := strings.EqualFold(value, "True")
		switch str(c.Name) {
		case "vCPUs":
			z.cpus, _ = strconv.Atoi(value)
		case "GPUs":
			z.gpus, _ = strconv.Atoi(value)
		case "MemoryGB":
			gib, _ := strconv.ParseFloat(value, 64)
			z.mem = sbatch.MemMiB(gib * 1024 * 95 / 100) // the kernel and firmware keep some
		case "CpuArchitectureType":
			if strings.EqualFold(value, "Arm64") {
				z.arch = "arm64"
			}
		case "RdmaEnabled":
			z.rdma = yes
		case "LowPriorityCapable":
			z.spot = yes
		case "PremiumIO":
			z.premium = yes
		case "AcceleratedNetworkingEnabled":
			z.accelerated = yes
		}
	}
	return z
}

// Offerings are made from Azure's description of the wanted sizes, by zone and market. A size that the subscription cannot have, or whose price is not known, is
// left out, and logged.
func (p *Provider) Offerings(ctx context.Context) ([]provider.Offering, error) {
	skus, err := p.known(ctx)
	if err != nil {
		return nil, err
	}
	var all []provider.Offering
	for _, name := range p.cfg.wanted(skus) {
		z := skus[name]
		if z.barred != "" {
			p.log.Warn("the subscription cannot have this size: it is not offered", "size", name, "why", z.barred)
			continue
		}
		if why := p.cfg.undriven(name, z.arch, z.gpus); why != "" {
			p.log.Warn("the default image has no driver for this size: it is not offered (name an image for it in images)", "size", name, "why", why)
			continue
		}
		for _, market := range provider.Rented(p.cfg.Markets) {
			if market == provider.Spot && !z.spot {
				continue
			}
			for _, zone := range p.cfg.zonesOf(z) {
				o := p.offering(z, zone, market)
				if p.price(&o) {
					all = append(all, o)
				}
			}
		}
	}
	reserved, err := p.reserved(ctx, skus)
	if err != nil {
		return nil, err
	}
	all = append(all, reserved...)
	slices.SortFunc(all, func(a, b provider.Offering) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// wanted are the known sizes that the configuration names, sorted.
func (c *Config) wanted(known map[string]*size) (names []string) {
	for name := range known {
		if slices.ContainsFunc(c.Sizes, func(z string) bool { ok, _ := path.Match(z, name); return ok }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// zonesOf are the zones in which a size is offered; "" is none, and Azure's choice.
func (c *Config) zonesOf(z *size) []string {
	var zones []string
	for _, n := range z.zones {
		if len(c.Zones) == 0 || slices.Contains(c.Zones, n) {
			zones = append(zones, c.Location+"-"+n)
		}
	}
	if len(z.zones) == 0 || c.AnyZone {
		zones = append(zones, "")
	}
	return zones
}

// zoneNumber is Azure's word for a zone: "2" of "eastus-2".
func zoneNumber(zone string) string { return zone[strings.LastIndex(zone, "-")+1:] }

// offering describes one kind of machine, without its price.
func (p *Provider) offering(z *size, zone string, market provider.Market) provider.Offering {
	where := zone
	if where == "" {
		where = p.cfg.Location
	}
	o := provider.Offering{
		ID: z.name + "/" + where + "/" + string(market), Type: z.name, Region: p.cfg.Location, Zone: zone, Market: market, Arch: z.arch, CPUs: z.cpus, Mem: z.mem,
		Features: []string{z.name}, Boot: p.cfg.Boot, Queue: createMost, Quota: z.family,
	}
	if market == provider.Spot {
		o.Interrupts, o.Quota = p.cfg.SpotInterrupts, "lowPriorityCores" // of all families together
		o.Features = append(o.Features, "spot")
	}
	if z.rdma {
		o.MaxGang = groupMost
		o.Features = append(o.Features, "infiniband")
	}
	o.GPUs, o.GPUType = z.gpus, accelerator(z)
	if o.GPUs == 0 {
		o.GPUType = ""
	} else if short, _, two := strings.Cut(o.GPUType, "-"); two && (short == "a100" || short == "v100") {
		o.Features, o.GPUType = append(o.Features, o.GPUType), short
	}
	return o
}

// accelerator is the GPU of a size by the name that sites use, from the table, or else from the size's own name: Standard_ND96isr_H100_v5.
func accelerator(z *size) string {
	if shape, ok := prices.ShapeOf(prices.Azure, z.name); ok {
		if shape.Count < 1 {
			return shape.Accelerator + "-" + strconv.Itoa(int(math.Round(shape.AccelGiB))) + "gb"
		}
		return shape.Accelerator
	}
	part := strings.Split(z.name, "_")
	if len(part) < 4 {
		return "gpu"
	}
	return strings.ToLower(part[len(part)-2])
}

// price sets what an offering costs; false: nobody knows.
func (p *Provider) price(o *provider.Offering) bool {
	contract, _ := provider.Choose(p.cfg.Contract, o.Type)
	q, ok := p.cfg.Prices.Contracted(prices.Key{Cloud: prices.Azure, Type: o.Type, Region: o.Region, Market: o.Market}, contract, p.now())
	if !ok {
		p.log.Warn("no price is known: the size is not offered (set its price)", "size", o.Type, "market", o.Market)
		return false
	}
	o.Price, o.PricedAt, o.PriceFrom = q.PerHour, q.At, q.From
	return true
}
