package aws

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"fsub/cloud/provider"
)

// runFleet lets AWS choose one of the zones for the whole gang. A fleet needs a launch template:
// its name holds the gang and the hash of the request, so that another request under the same token
// is another fleet request too, which EC2 refuses. It is deleted when the fleet has answered.
func (p *Provider) runFleet(ctx context.Context, reg *regional, l *launch) ([]provider.Instance, error) {
	template := p.templateName(l)
	_, err := reg.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: sdk.String(template), LaunchTemplateData: p.template(reg, l),
		TagSpecifications: l.specs(types.ResourceTypeLaunchTemplate),
	})
	if err != nil && !hasCode(err, "InvalidLaunchTemplateName.AlreadyExistsException", "InvalidLaunchTemplateName.AlreadyExists") {
		return nil, err
	}
	out, err := reg.ec2.CreateFleet(ctx, l.fleetInput(template))
	if err != nil {
		return nil, err
	}
	made, err := p.fleetMade(ctx, reg, l, out)
	if err != nil {
		return nil, err
	}
	reg.dropTemplate(ctx, p, template)
	p.nameFleet(ctx, reg, made)
	return made, nil
}

// template says what RunInstances would, except for what the fleet decides: type, zone and market.
func (p *Provider) template(reg *regional, l *launch) *types.RequestLaunchTemplateData {
	in := p.runInput(reg, l)
	t := &types.RequestLaunchTemplateData{
		ImageId: in.ImageId, UserData: in.UserData, KeyName: in.KeyName, SecurityGroupIds: in.SecurityGroupIds,
		InstanceInitiatedShutdownBehavior: in.InstanceInitiatedShutdownBehavior,
		MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{
			HttpEndpoint:            types.LaunchTemplateInstanceMetadataEndpointStateEnabled,
			HttpTokens:              types.LaunchTemplateHttpTokensStateRequired,
			HttpPutResponseHopLimit: in.MetadataOptions.HttpPutResponseHopLimit,
			InstanceMetadataTags:    types.LaunchTemplateInstanceMetadataTagsStateEnabled,
		},
	}
	// The machines' own tags are the fleet's to give: a key may be given once.
	for _, s := range l.specs(types.ResourceTypeVolume, types.ResourceTypeNetworkInterface) {
		t.TagSpecifications = append(t.TagSpecifications, types.LaunchTemplateTagSpecificationRequest{ResourceType: s.ResourceType, Tags: s.Tags})
	}
	if in.IamInstanceProfile != nil {
		t.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Arn: in.IamInstanceProfile.Arn, Name: in.IamInstanceProfile.Name}
	}
	for _, b := range in.BlockDeviceMappings {
		t.BlockDeviceMappings = append(t.BlockDeviceMappings, types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: b.DeviceName, Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{
			VolumeSize: b.Ebs.VolumeSize, VolumeType: b.Ebs.VolumeType, DeleteOnTermination: b.Ebs.DeleteOnTermination,
		}})
	}
	for _, n := range in.NetworkInterfaces {
		t.NetworkInterfaces = append(t.NetworkInterfaces, types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
			NetworkCardIndex: n.NetworkCardIndex, DeviceIndex: n.DeviceIndex, InterfaceType: n.InterfaceType, Groups: n.Groups, DeleteOnTermination: n.DeleteOnTermination,
		})
	}
	if l.group != "" {
		t.Placement = &types.LaunchTemplatePlacementRequest{GroupName: sdk.String(l.group)}
	}
	return t
}

// overrides are the places that the fleet may choose from.
func (l *launch) overrides() []types.FleetLaunchTemplateOverridesRequest {
	var all []types.FleetLaunchTemplateOverridesRequest
	for _, zone := range l.zones {
		all = append(all, types.FleetLaunchTemplateOverridesRequest{InstanceType: types.InstanceType(l.r.Offering.Type), SubnetId: sdk.String(zone.id)})
	}
	return all
}

func (l *launch) fleetInput(template string) *ec2.CreateFleetInput {
	n := sdk.Int32(int32(l.r.Count))
	in := &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant, ClientToken: sdk.String(l.r.Token),
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: sdk.String(template), Version: sdk.String("1")},
			Overrides:                   l.overrides(),
		}},
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: n, DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand},
		TagSpecifications:           l.specs(types.ResourceTypeFleet, types.ResourceTypeInstance),
	}
	// One type, one zone, all or none.
	if l.r.Offering.Market == provider.Spot {
		in.TargetCapacitySpecification.DefaultTargetCapacityType = types.DefaultTargetCapacityTypeSpot
		in.SpotOptions = &types.SpotOptionsRequest{
			MinTargetCapacity: n, SingleAvailabilityZone: sdk.Bool(true), SingleInstanceType: sdk.Bool(true),
			AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized, InstanceInterruptionBehavior: types.SpotInstanceInterruptionBehaviorTerminate,
		}
		return in
	}
	in.OnDemandOptions = &types.OnDemandOptionsRequest{
		MinTargetCapacity: n, SingleAvailabilityZone: sdk.Bool(true), SingleInstanceType: sdk.Bool(true),
		AllocationStrategy: types.FleetOnDemandAllocationStrategyLowestPrice,
	}
	return in
}

// fleetMade reads the response to a fleet request. An incomplete gang is terminated: the fleet was
// asked for all or none, so this is a fault of the cloud.
func (p *Provider) fleetMade(ctx context.Context, reg *regional, l *launch, out *ec2.CreateFleetOutput) ([]provider.Instance, error) {
	var ids []string
	for _, group := range out.Instances {
		ids = append(ids, group.InstanceIds...)
	}
	if len(ids) == l.r.Count {
		return l.pending(ids), nil
	}
	if len(ids) > 0 {
		if err := reg.terminate(ctx, ids); err != nil {
			return nil, &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeOffering, Text: "part of a fleet was made and cannot be ended", Err: err}
		}
		return nil, &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Text: "part of a fleet was made, and ended again"}
	}
	if err := fleetError(out.Errors); err != nil {
		return nil, err
	}
	// Neither machines nor errors: the answer to a token that was used.
	found, err := p.made(ctx, reg, l, nil)
	if err == nil && len(found) == 0 {
		err = &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeOffering, Text: "the fleet names neither machines nor errors"}
	}
	return found, err
}

// pending returns the machines of a fleet whose IDs are known since a moment ago.
func (l *launch) pending(ids []string) []provider.Instance {
	made := make([]provider.Instance, len(ids))
	for i, id := range ids {
		made[i] = provider.Instance{ID: provider.InstanceID(id), Token: l.r.Token, State: provider.InstancePending, Offering: l.r.Offering.ID}
	}
	l.nameByID(made)
	return made
}

// nameByID gives a fleet's machines their names in the order of their IDs: the same at every look.
func (l *launch) nameByID(made []provider.Instance) {
	slices.SortFunc(made, func(a, b provider.Instance) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for i := range made {
		if i < len(l.r.Names) {
			made[i].Name = l.r.Names[i]
		}
	}
}

// nameFleet writes the names onto the machines, one call for each: in a fleet nothing else tells.
// Without it List has no names, and nothing worse.
func (p *Provider) nameFleet(ctx context.Context, reg *regional, made []provider.Instance) {
	if len(made) == 1 {
		return // its tags say it
	}
	for _, m := range made {
		_, err := reg.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{string(m.ID)}, Tags: sdkTags(map[string]string{tagName: m.Name})})
		if err != nil {
			p.log.Warn("machines of a fleet stay without a name", "err", refused(err))
			return
		}
	}
}

// fleetError is what the zones' errors say together. What no other zone changes comes first:
// permission, then quota. One zone that has none left says more than one that refuses the request
// for a reason of its own.
func fleetError(all []types.CreateFleetError) error {
	var worst error
	rank := len(fleetRank)
	for _, e := range all {
		code := sdk.ToString(e.ErrorCode)
		at := slices.Index(fleetRank, meaningOf(code, 0).kind)
		if at < 0 {
			at = len(fleetRank) - 1
		}
		if at < rank {
			worst, rank = refused(&smithy.GenericAPIError{Code: code, Message: sdk.ToString(e.ErrorMessage)}), at
		}
	}
	return worst
}

var fleetRank = []provider.ErrorKind{provider.KindDenied, provider.KindQuota, provider.KindStockOut, provider.KindThrottled, provider.KindInvalid}

func (p *Provider) templateName(l *launch) string {
	return p.resourceName(l.r.Token) + "-" + l.tags[tagRequest][:8]
}
