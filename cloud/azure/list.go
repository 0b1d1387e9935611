package azure

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"

	"fsub/cloud/provider"
)

// List asks for the sets of the resource group, and for the machines of all Flexible ones with one call more; each Uniform set is one more. Where a machine's
// address is not known yet it asks for the network interfaces. It deletes sets of ours that have no machines and are not needed any more.
func (p *Provider) List(ctx context.Context) ([]provider.Instance, error) {
	sets, err := p.ourSets(ctx)
	if err != nil {
		return nil, err
	}
	var found []provider.Instance
	flexible := false
	for name, set := range sets {
		if !uniform(name) {
			flexible = true
			continue
		}
		some, err := p.members(ctx, set)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	if flexible {
		some, err := pages(ctx, p.vms.NewListPager(p.cfg.ResourceGroup, nil), func(r armcompute.VirtualMachinesClientListResponse) (list []provider.Instance) {
			for _, vm := range r.Value {
				if set := sets[setOfVM(vm)]; set != nil {
					list = append(list, flexibleMember(set, vm))
				}
			}
			return list
		})
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	if err := p.address(ctx, found); err != nil {
		return nil, err
	}
	p.sweep(ctx, sets, found)
	return found, nil
}

// pages reads all pages of a listing.
func pages[R, T any](ctx context.Context, pager *runtime.Pager[R], of func(R) []T) (all []T, err error) {
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, refused(err)
		}
		all = append(all, of(page)...)
	}
	return all, nil
}

// ourSets are the sets of this federation's site, by name in lower case: Azure does not keep the case of names everywhere.
func (p *Provider) ourSets(ctx context.Context) (map[string]*armcompute.VirtualMachineScaleSet, error) {
	list, err := pages(ctx, p.sets.NewListPager(p.cfg.ResourceGroup, nil), func(r armcompute.VirtualMachineScaleSetsClientListResponse) []*armcompute.VirtualMachineScaleSet {
		return r.Value
	})
	sets := map[string]*armcompute.VirtualMachineScaleSet{}
	for _, set := range list {
		if str(set.Tags[tagFederation]) == p.cfg.Federation && str(set.Tags[tagSite]) == string(p.cfg.Site) {
			sets[strings.ToLower(str(set.Name))] = set
		}
	}
	return sets, err
}

// members are the machines of one set, by their names.
func (p *Provider) members(ctx context.Context, set *armcompute.VirtualMachineScaleSet) (found []provider.Instance, err error) {
	name := str(set.Name)
	if uniform(name) {
		found, err = pages(ctx, p.setVMs.NewListPager(p.cfg.ResourceGroup, name, nil), func(r armcompute.VirtualMachineScaleSetVMsClientListResponse) (list []provider.Instance) {
			for _, vm := range r.Value {
				var state *string
				var made *time.Time
				if vm.Properties != nil {
					state, made = vm.Properties.ProvisioningState, vm.Properties.TimeCreated
				}
				list = append(list, member(set, vm.Name, state, made))
			}
			return list
		})
	} else {
		filter := "'virtualMachineScaleSet/id' eq '" + p.cfg.id("Microsoft.Compute/virtualMachineScaleSets", name) + "'"
		found, err = pages(ctx, p.vms.NewListPager(p.cfg.ResourceGroup, &armcompute.VirtualMachinesClientListOptions{Filter: &filter}), func(r armcompute.VirtualMachinesClientListResponse) (list []provider.Instance) {
			for _, vm := range r.Value {
				list = append(list, flexibleMember(set, vm))
			}
			return list
		})
	}
	slices.SortFunc(found, func(a, b provider.Instance) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return found, err
}

func flexibleMember(set *armcompute.VirtualMachineScaleSet, vm *armcompute.VirtualMachine) provider.Instance {
	if vm.Properties == nil {
		return member(set, vm.Name, nil, nil)
	}
	return member(set, vm.Name, vm.Properties.ProvisioningState, vm.Properties.TimeCreated)
}

// setOfVM is the name of the set that a machine is in, in lower case.
func setOfVM(vm *armcompute.VirtualMachine) string {
	if vm.Properties == nil || vm.Properties.VirtualMachineScaleSet == nil {
		return ""
	}
	return strings.ToLower(path.Base(str(vm.Properties.VirtualMachineScaleSet.ID)))
}

// member is a machine as Azure shows it.
func member(set *armcompute.VirtualMachineScaleSet, name, state *string, made *time.Time) provider.Instance {
	m := provider.Instance{ID: provider.InstanceID(str(name)), Token: str(set.Tags[tagGang]), Offering: str(set.Tags[tagOffering])}
	if made != nil {
		m.Launched = *made
	}
	switch str(state) {
	case "", "Creating":
		m.State = provider.InstancePending
	case "Deleting":
		m.State = provider.InstanceEnding
	case "Failed": // it is there, and paid for
		m.State, m.Reason = provider.InstanceRunning, "Failed"
	default:
		m.State = provider.InstanceRunning
	}
	return m
}

// address gives machines their addresses. One never changes.
func (p *Provider) address(ctx context.Context, found []provider.Instance) error {
	p.mu.Lock()
	known := p.addrs
	p.mu.Unlock()
	plain, sets := false, map[string]bool{}
	for i := range found {
		m := &found[i]
		if m.Addr = known[m.ID]; m.Addr != "" || m.State != provider.InstanceRunning {
			continue
		}
		if set, _, _ := setOf(m.ID); uniform(set) {
			sets[set] = true
		} else {
			plain = true
		}
	}
	addrs := map[string]string{} // by the machine's ID, in lower case
	note := func(list []*armnetwork.Interface) []struct{} {
		for _, nic := range list {
			if nic.Properties == nil || nic.Properties.VirtualMachine == nil {
				continue
			}
			for _, ip := range nic.Properties.IPConfigurations {
				if ip.Properties != nil && str(ip.Properties.PrivateIPAddress) != "" {
					addrs[strings.ToLower(str(nic.Properties.VirtualMachine.ID))] = str(ip.Properties.PrivateIPAddress)
				}
			}
		}
		return nil
	}
	if plain {
		if _, err := pages(ctx, p.nics.NewListPager(p.cfg.ResourceGroup, nil), func(r armnetwork.InterfacesClientListResponse) []struct{} { return note(r.Value) }); err != nil {
			return err
		}
	}
	for set := range sets {
		pager := p.nics.NewListVirtualMachineScaleSetNetworkInterfacesPager(p.cfg.ResourceGroup, set, nil)
		if _, err := pages(ctx, pager, func(r armnetwork.InterfacesClientListVirtualMachineScaleSetNetworkInterfacesResponse) []struct{} {
			return note(r.Value)
		}); err != nil {
			return err
		}
	}
	next := map[provider.InstanceID]string{}
	for i := range found {
		m := &found[i]
		if m.Addr == "" {
			set, n, _ := setOf(m.ID)
			id := p.cfg.id("Microsoft.Compute/virtualMachines", string(m.ID))
			if uniform(set) {
				id = p.cfg.id("Microsoft.Compute/virtualMachineScaleSets", set) + "/virtualMachines/" + n
			}
			m.Addr = addrs[strings.ToLower(id)]
		}
		if m.Addr != "" {
			next[m.ID] = m.Addr
		}
	}
	p.mu.Lock()
	p.addrs = next
	p.mu.Unlock()
	return nil
}

// sweep deletes sets without machines whose token cannot come again. It logs errors: the listing is valid without it.
func (p *Provider) sweep(ctx context.Context, sets map[string]*armcompute.VirtualMachineScaleSet, found []provider.Instance) {
	used := map[string]bool{}
	for _, m := range found {
		set, _, _ := setOf(m.ID)
		used[strings.ToLower(set)] = true
	}
	for name, set := range sets {
		until, err := time.Parse(time.RFC3339, str(set.Tags[tagUntil]))
		if used[name] || err == nil && p.now().Before(until) || stateOf(set) == "Deleting" {
			continue
		}
		if err := p.deleteSet(ctx, str(set.Name)); err != nil {
			p.log.Warn("an empty scale set cannot be deleted", "name", str(set.Name), "err", err)
		}
	}
}
