package azure

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	"golang.org/x/sync/errgroup"

	"fsub/cloud/provider"
)

// deleteAtOnce bounds the calls that Delete makes at a time.
const deleteAtOnce = 8

// Delete ends machines: those of a Uniform set with one call, others with one each. All that can be ended is, whatever becomes of the others. It does not wait for
// the operations: List shows what is left.
func (p *Provider) Delete(ctx context.Context, ids []provider.InstanceID) error {
	sets := map[string][]*string{}
	var g errgroup.Group
	g.SetLimit(deleteAtOnce)
	seen := map[provider.InstanceID]bool{}
	for _, id := range ids {
		set, member, ours := setOf(id)
		switch {
		case !ours || seen[id]:
		case uniform(set):
			sets[set] = append(sets[set], &member)
		default:
			g.Go(func() error {
				_, err := p.vms.BeginDelete(ctx, p.cfg.ResourceGroup, string(id), &armcompute.VirtualMachinesClientBeginDeleteOptions{ForceDeletion: ptr(true)})
				return unlessGone(err)
			})
		}
		seen[id] = true
	}
	for set, members := range sets {
		g.Go(func() error {
			_, err := p.sets.BeginDeleteInstances(ctx, p.cfg.ResourceGroup, set, armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: members},
				&armcompute.VirtualMachineScaleSetsClientBeginDeleteInstancesOptions{ForceDeletion: ptr(true)})
			if err := unlessGone(err); err == nil || provider.AsError(err).Kind != provider.KindInvalid {
				return err
			}
			return p.deleteEach(ctx, set, members) // one of them has gone
		})
	}
	return g.Wait()
}

// deleteEach ends machines of a set one by one: one that Azure does not know has the whole call refused.
func (p *Provider) deleteEach(ctx context.Context, set string, members []*string) error {
	var first error
	for _, m := range members {
		_, err := p.setVMs.BeginDelete(ctx, p.cfg.ResourceGroup, set, *m, &armcompute.VirtualMachineScaleSetVMsClientBeginDeleteOptions{ForceDeletion: ptr(true)})
		if err := unlessGone(err); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// deleteSet begins to delete a set with all that is in it. One that is not there is no error.
func (p *Provider) deleteSet(ctx context.Context, name string) error {
	_, err := p.sets.BeginDelete(ctx, p.cfg.ResourceGroup, name, &armcompute.VirtualMachineScaleSetsClientBeginDeleteOptions{ForceDeletion: ptr(true)})
	return unlessGone(err)
}

// Withdraw deletes a set that is still being made, or could not be. One that is complete is no request any more.
func (p *Provider) Withdraw(ctx context.Context, token string) error {
	for _, prefix := range []string{flexiblePrefix, uniformPrefix} {
		name := p.setName(prefix, token)
		got, err := p.sets.Get(ctx, p.cfg.ResourceGroup, name, nil)
		if err == nil && stateOf(&got.VirtualMachineScaleSet) != "Succeeded" {
			err = p.deleteSet(ctx, name)
		}
		if err := unlessGone(err); err != nil {
			return err
		}
	}
	return nil
}

// unlessGone is what a call was refused for, unless what it is about is not there.
func unlessGone(err error) error {
	if err = refused(err); err == nil || provider.AsError(err).Kind == provider.KindNotFound {
		return nil
	}
	return err
}
