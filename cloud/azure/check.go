package azure

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"fsub/cloud/provider"
	"fsub/federation/driver"
)

// Check implements provider.Checker: rights, network, sizes and quotas. What it asks to be made or deleted cannot be: a scale set without anything in it, and names that
// nothing has. Azure checks the right to ask first.
func (p *Provider) Check(ctx context.Context) []driver.SiteCheck {
	const nobody = "fsub-check-0"
	group := p.cfg.ResourceGroup
	_, read := p.ourSets(ctx)
	_, write := p.sets.BeginCreateOrUpdate(ctx, group, nobody, armcompute.VirtualMachineScaleSet{}, &armcompute.VirtualMachineScaleSetsClientBeginCreateOrUpdateOptions{IfNoneMatch: ptr("*")})
	if provider.AsError(orNone(write)).Kind == provider.KindInvalid {
		write = nil // it was judged: so it was allowed
	}
	_, end := p.vms.BeginDelete(ctx, group, nobody, nil)
	out := []driver.SiteCheck{
		right("list scale sets", read), right("make scale sets", write), right("delete scale sets", p.deleteSet(ctx, nobody)), right("delete machines", unlessGone(end)),
		p.checkSubnet(ctx),
	}
	skus, err := p.known(ctx)
	out = append(out, right("read sizes", err))
	if err != nil {
		return out
	}
	return append(out, p.checkSizes(skus), p.checkQuotas(ctx, skus))
}

// orNone is err as a provider's, and a harmless one for none.
func orNone(err error) error {
	if err == nil {
		return provider.Invalid("")
	}
	return refused(err)
}

// right is whether a call was allowed.
func right(name string, err error) driver.SiteCheck {
	k := driver.SiteCheck{Name: name, Result: driver.CheckOK, Detail: "allowed"}
	if err == nil {
		return k
	}
	e := provider.AsError(refused(err))
	k.Result, k.Detail = driver.CheckFailed, e.Error()
	switch e.Kind {
	case provider.KindDenied:
		k.Advice = "give the daemon the role of cloud/azure/role.json, and Reader on the subscription: see docs/azure.md"
	case provider.KindInvalid:
		k.Advice = "do the subscription, the resource group and the location exist? az group show -n fsub"
	default:
		k.Advice = "does https://management.azure.com answer from here?"
	}
	return k
}

func (p *Provider) checkSubnet(ctx context.Context) driver.SiteCheck {
	id := strings.Split(p.cfg.subnetID(), "/") // /subscriptions/S/resourceGroups/G/providers/Microsoft.Network/virtualNetworks/N/subnets/M
	if len(id) != 11 {
		return driver.SiteCheck{Name: "subnet", Result: driver.CheckFailed, Detail: p.cfg.Subnet + " is not a subnet's ID", Advice: "set subnet: NETWORK/SUBNET"}
	}
	got, err := p.subnets.Get(ctx, id[4], id[8], id[10], nil)
	if err != nil {
		k := right("subnet", err)
		if provider.AsError(refused(err)).Kind == provider.KindNotFound {
			k.Advice = "az network vnet subnet list -g " + id[4] + " --vnet-name " + id[8]
		}
		return k
	}
	k := driver.SiteCheck{Name: "subnet", Result: driver.CheckOK, Detail: path.Join(id[8], id[10])}
	if (got.Properties == nil || got.Properties.NatGateway == nil) && !p.cfg.PublicIP {
		k.Result, k.Detail = driver.CheckWarning, k.Detail+" has no NAT gateway, and machines get no public address: is there another way from them to the daemon?"
		k.Advice = "give the subnet a NAT gateway (docs/azure.md), or set public_ip: true"
	}
	return k
}

func (p *Provider) checkSizes(skus map[string]*size) driver.SiteCheck {
	wanted := p.cfg.wanted(skus)
	var barred, undriven []string
	for _, name := range wanted {
		if skus[name].barred != "" {
			barred = append(barred, name+" ("+skus[name].barred+")")
		} else if why := p.cfg.undriven(name, skus[name].arch, skus[name].gpus); why != "" {
			undriven = append(undriven, name+" ("+why+")")
		}
	}
	k := driver.SiteCheck{Name: "sizes", Result: driver.CheckOK, Detail: fmt.Sprintf("%d of the region's %d", len(wanted)-len(barred)-len(undriven), len(skus))}
	switch {
	case len(wanted) == len(barred)+len(undriven) && len(p.cfg.Reservations) == 0:
		k.Result, k.Advice = driver.CheckFailed, "which sizes are there? az vm list-skus -l "+p.cfg.Location+" --resource-type virtualMachines -o table"
	case len(barred) > 0:
		k.Result, k.Advice = driver.CheckWarning, "ask Azure's support for access to the sizes in the region"
	}
	if len(undriven) > 0 {
		if k.Detail += "; the default image has no driver for " + strings.Join(undriven, ", "); k.Result == driver.CheckOK {
			k.Result = driver.CheckWarning
		}
		k.Advice = "name an image with their driver in images, under the size or a pattern"
	}
	if len(barred) > 0 {
		k.Detail += "; not for this subscription: " + strings.Join(barred, ", ")
	}
	return k
}

// checkQuotas finds families of which not even one machine more may be had.
func (p *Provider) checkQuotas(ctx context.Context, skus map[string]*size) driver.SiteCheck {
	list, err := pages(ctx, p.usage.NewListPager(p.cfg.Location, nil), func(r armcompute.UsageClientListResponse) []*armcompute.Usage { return r.Value })
	if err != nil {
		return right("quotas", err)
	}
	left := map[string]int{} // by the quota's name in lower case
	for _, u := range list {
		if u.Name != nil && u.Limit != nil && u.CurrentValue != nil {
			left[strings.ToLower(str(u.Name.Value))] = int(*u.Limit) - int(*u.CurrentValue)
		}
	}
	short := map[string]bool{}
	for _, name := range p.cfg.wanted(skus) {
		z := skus[name]
		for _, m := range provider.Rented(p.cfg.Markets) {
			for _, quota := range []string{p.offering(z, "", m).Quota, map[provider.Market]string{provider.OnDemand: "cores"}[m]} {
				if n, known := left[strings.ToLower(quota)]; known && n < z.cpus {
					short[fmt.Sprintf("%s: %d left, %s takes %d", quota, n, name, z.cpus)] = true
				}
			}
		}
	}
	if len(short) == 0 {
		return driver.SiteCheck{Name: "quotas", Result: driver.CheckOK, Detail: "one machine at least of each size"}
	}
	return driver.SiteCheck{Name: "quotas", Result: driver.CheckWarning, Detail: strings.Join(slices.Sorted(maps.Keys(short)), "; "),
		Advice: "ask for more: the portal's Quotas, or az quota; az vm list-usage -l " + p.cfg.Location}
}
