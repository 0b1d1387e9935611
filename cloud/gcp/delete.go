package gcp

import (
	"context"
	"slices"

	"cloud.google.com/go/compute/apiv1/computepb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"fsub/cloud/provider"
)

// deleteAtOnce is how many calls are made at a time: Google ends one instance with each.
const deleteAtOnce = 16

// Delete ends machines, those of an instance group with one call for each group. All that can be ended is, whatever becomes of the others.
func (p *Provider) Delete(ctx context.Context, ids []provider.InstanceID) error {
	var g errgroup.Group
	g.SetLimit(deleteAtOnce)
	groups := map[[2]string][]string{}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		zone, name, ok := place(id)
		if !ok {
			continue // no machine has such an ID
		}
		if gang, _, ours := gangOf(name); ours && len(gang) > len(flexPrefix) && gang[:len(flexPrefix)] == flexPrefix {
			key := [2]string{zone, gang}
			groups[key] = append(groups[key], "zones/"+zone+"/instances/"+name)
			continue
		}
		g.Go(func() error {
			_, err := p.api.instances.Delete(ctx, &computepb.DeleteInstanceRequest{Project: p.cfg.Project, Zone: zone, Instance: name}, once)
			return gone(err)
		})
	}
	for key, paths := range groups {
		g.Go(func() error { // by itself the group would make them anew
			_, err := p.api.groups.DeleteInstances(ctx, &computepb.DeleteInstancesInstanceGroupManagerRequest{
				Project: p.cfg.Project, Zone: key[0], InstanceGroupManager: key[1],
				InstanceGroupManagersDeleteInstancesRequestResource: &computepb.InstanceGroupManagersDeleteInstancesRequest{Instances: paths, SkipInstancesOnValidationError: proto.Bool(true)},
			}, once)
			return gone(err)
		})
	}
	return g.Wait()
}

// gone is the error of a deletion: what is not there is deleted.
func gone(err error) error {
	if isKind(err, provider.KindNotFound) {
		return nil
	}
	return refused(err)
}
