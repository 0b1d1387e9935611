package aws

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/sbatch"
)

// gangs is how many machines are assumed to fit near each other where no count is given: AWS names
// no bound, and answers InsufficientInstanceCapacity beyond it.
const gangs = 1000

// Offerings are made from EC2's description of the wanted types, by zone and market. An offering
// without a known price is left out, and logged: it would seem to cost nothing.
func (p *Provider) Offerings(ctx context.Context) ([]provider.Offering, error) {
	all, err := p.region.offerings(ctx, p)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b provider.Offering) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

func (r *regional) offerings(ctx context.Context, p *Provider) ([]provider.Offering, error) {
	reserved, err := r.reservations(ctx, p)
	if err != nil {
		return nil, err
	}
	c, err := r.known(ctx, p, reserved...)
	if err != nil {
		return nil, err
	}
	names, markets := p.cfg.wanted(c.types), provider.Rented(p.cfg.Markets)
	list := p.list.onDemand(ctx, r.Name, names)
	if slices.Contains(markets, provider.Spot) && len(names) > 0 {
		r.spot(ctx, p, c, names)
	}
	var all []provider.Offering
	for _, name := range names {
		info := c.types[name]
		if why := p.cfg.undriven(name, arch(&info)); why != "" {
			p.log.Warn("the default image has no driver for this type: it is not offered (name an image for it in images)", "type", name, "why", why)
			continue
		}
		for _, market := range markets {
			if !slices.Contains(info.SupportedUsageClasses, types.UsageClassType(market)) {
				continue
			}
			all = append(all, p.inZones(r, c, &info, market, list[name])...)
		}
	}
	return append(all, p.reserved(r, c, reserved)...), nil
}

// wanted are the known types that the configuration names and that can run the agent, sorted.
func (c *Config) wanted(known map[string]types.InstanceTypeInfo) (names []string) {
	for name := range known {
		if info := known[name]; len(c.Arches) > 0 && !slices.Contains(c.Arches, arch(&info)) {
			continue
		}
		if slices.ContainsFunc(c.Types, func(t string) bool { ok, _ := path.Match(t, name); return ok }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// inZones offers a type in each zone, and in any.
func (p *Provider) inZones(r *regional, c *catalog, info *types.InstanceTypeInfo, market provider.Market, list prices.Price) []provider.Offering {
	typ := string(info.InstanceType)
	if contract, ok := provider.Choose(p.cfg.Contract, typ); ok && contract > 0 {
		list = prices.Price{PerHour: contract, At: p.now(), From: "configuration"}
	}
	var all []provider.Offering
	var dearest prices.Price
	for _, zone := range c.zones[typ] {
		q, ok := list, list.PerHour > 0
		if market == provider.Spot {
			if q, ok = p.catalogue.Price(c.spotKey(r.Name, zone, typ)); (!ok || q.Bound) && list.PerHour > 0 {
				q, ok = list, true
				q.From = "on-demand price, the most it can be, " + list.From
			}
		}
		if !ok {
			p.log.Warn("no price is known: the type is not offered (set its price)", "type", typ, "zone", zone, "market", market)
			continue
		}
		if q.PerHour > dearest.PerHour {
			dearest = q
		}
		all = append(all, p.offering(r, info, zone, market, q, 0))
	}
	if p.cfg.AnyZone && len(all) > 1 {
		// Which zone it will be is not known before: it costs no more than the dearest.
		all = append(all, p.offering(r, info, "", market, dearest, 0))
	}
	return all
}

// offering describes one kind of machine. zone "" is any of the region.
func (p *Provider) offering(r *regional, info *types.InstanceTypeInfo, zone string, market provider.Market, q prices.Price, most int) provider.Offering {
	typ := string(info.InstanceType)
	where := zone
	if where == "" {
		where = r.Name
	}
	o := provider.Offering{
		ID: typ + "/" + where + "/" + string(market), Type: typ, Region: r.Name, Zone: zone, Market: market, Arch: arch(info), Max: most,
		Quota: quotaOf(typ, market), Price: q.PerHour, Least: time.Minute, PricedAt: q.At, PriceFrom: q.From, Boot: p.cfg.Boot, Features: []string{typ},
	}
	if info.VCpuInfo != nil {
		o.CPUs = int(sdk.ToInt32(info.VCpuInfo.DefaultVCpus))
	}
	if info.MemoryInfo != nil {
		// The kernel keeps some for itself, and firmware more on large machines. ParallelCluster
		// counts on 95 % too.
		o.Mem = sbatch.MemMiB(sdk.ToInt64(info.MemoryInfo.SizeInMiB) * 95 / 100)
	}
	if sdk.ToBool(info.BareMetal) {
		o.Boot = max(o.Boot, 10*time.Minute)
	}
	if market == provider.Spot {
		o.Interrupts = p.cfg.SpotInterrupts
		o.Features = append(o.Features, "spot")
	}
	if efaInterfaces(info) > 0 {
		o.Features = append(o.Features, "efa")
	}
	if info.PlacementGroupInfo != nil && slices.Contains(info.PlacementGroupInfo.SupportedStrategies, types.PlacementGroupStrategyCluster) {
		if o.MaxGang = most; most == 0 {
			o.MaxGang = gangs
		}
	}
	var more []string
	o.GPUs, o.GPUType, more = accelerators(info)
	o.Features = append(o.Features, more...)
	return o
}

func arch(info *types.InstanceTypeInfo) string {
	if info.ProcessorInfo != nil {
		for _, a := range info.ProcessorInfo.SupportedArchitectures {
			if a == types.ArchitectureTypeX8664 || a == types.ArchitectureTypeArm64 {
				return string(a)
			}
		}
	}
	return string(types.ArchitectureTypeX8664)
}

// accelerators returns the GPUs of a type by the names that sites use (h100, a100, l4), and further
// features: the memory where a name has two sizes, and accelerators that are not GPUs, which a job
// that asks for any GPU must not get.
func accelerators(info *types.InstanceTypeInfo) (count int, gpu string, features []string) {
	if info.GpuInfo != nil {
		for _, g := range info.GpuInfo.Gpus {
			name := acceleratorName(sdk.ToString(g.Name))
			if maker := sdk.ToString(g.Manufacturer); !strings.EqualFold(maker, "NVIDIA") && !strings.EqualFold(maker, "AMD") {
				features = append(features, name)
				continue
			}
			mem := 0
			if g.MemoryInfo != nil {
				mem = (int(sdk.ToInt32(g.MemoryInfo.SizeInMiB)) + 512) / 1024
			}
			n := int(sdk.ToInt32(g.Count))
			if part := sdk.ToFloat64(g.GpuPartitionSize); n == 0 || part > 0 && part < 1 {
				n, name = max(1, int(sdk.ToInt32(g.LogicalGpuCount))), fmt.Sprintf("%s-%dgb", name, mem)
			} else if name == "a100" || name == "v100" {
				features = append(features, fmt.Sprintf("%s-%dgb", name, mem))
			}
			count, gpu = count+n, name
		}
	}
	if info.NeuronInfo != nil {
		for _, d := range info.NeuronInfo.NeuronDevices {
			features = append(features, "neuron", acceleratorName(sdk.ToString(d.Name)))
		}
	}
	return count, gpu, features
}

// acceleratorName is EC2's name as sites write it.
func acceleratorName(s string) string {
	if strings.EqualFold(s, "RTX PRO Server 6000") {
		return "rtx-pro-6000"
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), " ", "-")
}
