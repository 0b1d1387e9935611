package aws

import (
	"context"
	"errors"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"fsub/cloud/provider"
)

// topologyMost is how many machines EC2 takes in one question.
const topologyMost = 100

// Topology returns the three layers of network nodes of each machine, widest first; those of an
// UltraServer have its ID behind them. EC2 tells of running machines of its larger types only, and
// some minutes after their start.
func (p *Provider) Topology(ctx context.Context, ids []provider.InstanceID) (map[provider.InstanceID][]string, error) {
	found := map[provider.InstanceID][]string{}
	for batch := range slices.Chunk(names(ids), topologyMost) {
		if err := p.region.topology(ctx, batch, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (r *regional) topology(ctx context.Context, ids []string, found map[provider.InstanceID][]string) error {
	if len(ids) == 0 {
		return nil
	}
	err := r.askTopology(ctx, ids, found)
	unknown, bad := unknownIn(err)
	if !unknown {
		return refused(err)
	}
	// Some have ended since. EC2 names them; where it does not, each half is asked.
	if len(ids) == 1 {
		return nil
	}
	if rest := without(ids, bad); len(rest) < len(ids) {
		return r.topology(ctx, rest, found)
	}
	half := len(ids) / 2
	return errors.Join(r.topology(ctx, ids[:half], found), r.topology(ctx, ids[half:], found))
}

func (r *regional) askTopology(ctx context.Context, ids []string, found map[provider.InstanceID][]string) error {
	for pages := ec2.NewDescribeInstanceTopologyPaginator(r.ec2, &ec2.DescribeInstanceTopologyInput{InstanceIds: ids}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, i := range page.Instances {
			nodes := slices.Clone(i.NetworkNodes)
			if block := sdk.ToString(i.CapacityBlockId); block != "" {
				nodes = append(nodes, block)
			}
			if len(nodes) > 0 {
				found[provider.InstanceID(sdk.ToString(i.InstanceId))] = nodes
			}
		}
	}
	return nil
}
