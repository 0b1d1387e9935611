package ec2_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"fsub/testbed/ec2"
)

// TestRunIsIdempotent: one token, one gang, whatever else.
func TestRunIsIdempotent(t *testing.T) {
	c, client := newCloud(t, ec2.Config{})
	token := func(in *sdk.RunInstancesInput) { in.ClientToken = aws.String("gang-1") }
	first := mustRun(t, client, 2, token)
	again := mustRun(t, client, 2, token)
	if *first[0].InstanceId != *again[0].InstanceId || *first[1].InstanceId != *again[1].InstanceId || c.Live() != 2 {
		t.Errorf("%d instances, %s and then %s", c.Live(), *first[0].InstanceId, *again[0].InstanceId)
	}
	_, err := run(t.Context(), client, 3, token)
	refused(t, "the token with another count", err, "IdempotentParameterMismatch", "inconsistent")
	_, err = client.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{*first[0].InstanceId, *first[1].InstanceId}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "both terminated", func() bool { return slices.Equal(states(t, client), []string{"terminated", "terminated"}) })
	_, err = run(t.Context(), client, 2, token)
	refused(t, "the token of ended instances", err, "IdempotentInstanceTerminated", "terminated")
}

// TestRunIsChecked has one wrong thing in each request.
func TestRunIsChecked(t *testing.T) {
	c, client := newCloud(t, ec2.Config{Profiles: []string{"node"}})
	subnets, err := client.DescribeSubnets(t.Context(), &sdk.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	efa := func(n int) []types.InstanceNetworkInterfaceSpecification {
		var out []types.InstanceNetworkInterfaceSpecification
		for i := range int32(n) {
			out = append(out, types.InstanceNetworkInterfaceSpecification{DeviceIndex: aws.Int32(min(i, 1)), NetworkCardIndex: aws.Int32(i), InterfaceType: aws.String("efa"),
				SubnetId: subnets.Subnets[0].SubnetId, Groups: []string{"sg-0f5ab000000000001"}})
		}
		return out
	}
	for _, w := range []struct {
		what, code, text string
		change           func(*sdk.RunInstancesInput)
	}{
		{"dry", "DryRunOperation", "would have succeeded", func(in *sdk.RunInstancesInput) { in.DryRun = aws.Bool(true) }},
		{"no image", "MissingParameter", "ImageId", func(in *sdk.RunInstancesInput) { in.ImageId = nil }},
		{"image", "InvalidAMIID.NotFound", "ami-00000000000000000", func(in *sdk.RunInstancesInput) { in.ImageId = aws.String("ami-00000000000000000") }},
		{"image form", "InvalidAMIID.Malformed", "debian", func(in *sdk.RunInstancesInput) { in.ImageId = aws.String("debian") }},
		{"architecture", "InvalidParameterValue", "arm64", func(in *sdk.RunInstancesInput) { in.InstanceType = "c7g.large" }},
		{"type", "InvalidParameterValue", "g6.tiny", func(in *sdk.RunInstancesInput) { in.InstanceType = "g6.tiny" }},
		{"type of elsewhere", "Unsupported", "not supported", func(in *sdk.RunInstancesInput) { in.InstanceType = "m1.small" }},
		{"zone", "InvalidParameterValue", "us-east-9a", func(in *sdk.RunInstancesInput) {
			in.Placement = &types.Placement{AvailabilityZone: aws.String("us-east-9a")}
		}},
		{"zone without the type", "Unsupported", "us-east-2a", func(in *sdk.RunInstancesInput) {
			in.InstanceType, in.Placement = "hpc7a.96xlarge", &types.Placement{AvailabilityZone: aws.String("us-east-2a")}
		}},
		{"counts", "InvalidParameterValue", "minCount", func(in *sdk.RunInstancesInput) { in.MinCount = aws.Int32(2) }},
		{"market", "UnsupportedOperation", "spot", func(in *sdk.RunInstancesInput) {
			in.InstanceType, in.InstanceMarketOptions = "hpc7a.96xlarge", &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
		}},
		{"price", "SpotMaxPriceTooLow", "0.01", func(in *sdk.RunInstancesInput) {
			in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot, SpotOptions: &types.SpotMarketOptions{MaxPrice: aws.String("0.01")}}
		}},
		{"volume", "InvalidBlockDeviceMapping", "expect size >= 8GB", func(in *sdk.RunInstancesInput) {
			in.BlockDeviceMappings = []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/xvda"), Ebs: &types.EbsBlockDevice{VolumeSize: aws.Int32(4)}}}
		}},
		{"user data", "InvalidParameterValue", "16384", func(in *sdk.RunInstancesInput) {
			in.UserData = aws.String(base64.StdEncoding.EncodeToString(make([]byte, 16385)))
		}},
		{"user data form", "InvalidParameterValue", "BASE64", func(in *sdk.RunInstancesInput) { in.UserData = aws.String("#!/bin/sh") }},
		{"group", "InvalidPlacementGroup.Unknown", "near", func(in *sdk.RunInstancesInput) { in.Placement = &types.Placement{GroupName: aws.String("near")} }},
		{"security group", "InvalidGroup.NotFound", "sg-1", func(in *sdk.RunInstancesInput) { in.SecurityGroupIds = []string{"sg-1"} }},
		{"subnet", "InvalidSubnetID.NotFound", "subnet-1", func(in *sdk.RunInstancesInput) { in.SubnetId = aws.String("subnet-1") }},
		{"profile", "InvalidParameterValue", "Invalid IAM", func(in *sdk.RunInstancesInput) {
			in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("nodes")}
		}},
		{"key", "InvalidKeyPair.NotFound", "mine", func(in *sdk.RunInstancesInput) { in.KeyName = aws.String("mine") }},
		{"reservation", "InvalidCapacityReservationId.NotFound", "cr-1", func(in *sdk.RunInstancesInput) {
			in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: aws.String("cr-1")}}
		}},
		{"tag", "InvalidParameterValue", "aws:", func(in *sdk.RunInstancesInput) {
			in.TagSpecifications = []types.TagSpecification{{ResourceType: "instance", Tags: []types.Tag{{Key: aws.String("aws:x"), Value: aws.String("y")}}}}
		}},
		{"tagged kind", "InvalidParameterValue", "subnet", func(in *sdk.RunInstancesInput) {
			in.TagSpecifications = []types.TagSpecification{{ResourceType: "subnet", Tags: []types.Tag{{Key: aws.String("x"), Value: aws.String("y")}}}}
		}},
		{"efa", "UnsupportedOperation", "EFA", func(in *sdk.RunInstancesInput) { in.NetworkInterfaces = efa(1) }},
		{"cards", "InvalidParameterValue", "card", func(in *sdk.RunInstancesInput) { in.InstanceType, in.NetworkInterfaces = "p5.48xlarge", efa(33) }},
		{"subnet twice", "InvalidParameterCombination", "instance-level subnet", func(in *sdk.RunInstancesInput) {
			in.InstanceType, in.NetworkInterfaces, in.SubnetId = "p5.48xlarge", efa(1), subnets.Subnets[0].SubnetId
		}},
		{"long token", "InvalidParameterValue", "64", func(in *sdk.RunInstancesInput) { in.ClientToken = aws.String(strings.Repeat("x", 65)) }},
	} {
		_, err := run(t.Context(), client, 1, w.change)
		refused(t, w.what, err, w.code, w.text)
	}
	if c.Live() != 0 {
		t.Errorf("%d instances after refusals", c.Live())
	}
	_, err = client.DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{Filters: []types.Filter{{Name: aws.String("colour"), Values: []string{"red"}}}})
	refused(t, "unknown filter", err, "InvalidParameterValue", "colour")
	in := mustRun(t, client, 1, func(in *sdk.RunInstancesInput) {
		in.InstanceType, in.NetworkInterfaces = "p5.48xlarge", efa(32)
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("node")}
		in.UserData = aws.String(base64.StdEncoding.EncodeToString(make([]byte, 16384)))
	})
	if *in[0].Placement.AvailabilityZone != "us-east-2a" {
		t.Errorf("the subnet's zone: %s", *in[0].Placement.AvailabilityZone)
	}
}

func TestPlacementGroupAndTopology(t *testing.T) {
	c, client := newCloud(t, ec2.Config{})
	ctx := t.Context()
	group, err := client.CreatePlacementGroup(ctx, &sdk.CreatePlacementGroupInput{GroupName: aws.String("gang"), Strategy: types.PlacementStrategyCluster})
	if err != nil || group.PlacementGroup.State != "available" {
		t.Fatal(err, group)
	}
	_, err = client.CreatePlacementGroup(ctx, &sdk.CreatePlacementGroupInput{GroupName: aws.String("gang")})
	refused(t, "a second one", err, "InvalidPlacementGroup.Duplicate", "gang")
	near := func(in *sdk.RunInstancesInput) { in.Placement = &types.Placement{GroupName: aws.String("gang")} }
	mustRun(t, client, 2, near)
	mustRun(t, client, 9, nil)
	_, err = run(ctx, client, 1, func(in *sdk.RunInstancesInput) { near(in); in.InstanceType = "t3.micro" })
	refused(t, "a type that cannot", err, "InvalidParameterCombination", "t3.micro")
	until(t, "they run", func() bool { return len(states(t, client, filter("instance-state-name", "running"))) == 11 })
	topology, err := client.DescribeInstanceTopology(ctx, &sdk.DescribeInstanceTopologyInput{})
	if err != nil || len(topology.Instances) != 11 {
		t.Fatal(err, len(topology.Instances))
	}
	i := topology.Instances
	if cmp.Diff(i[0].NetworkNodes, i[1].NetworkNodes) != "" || len(i[0].NetworkNodes) != 3 || i[0].NetworkNodes[2] == i[2].NetworkNodes[2] || *i[0].GroupName != "gang" {
		t.Errorf("topology: %v %v %v", i[0].NetworkNodes, i[1].NetworkNodes, i[2].NetworkNodes)
	}
	_, err = client.DeletePlacementGroup(ctx, &sdk.DeletePlacementGroupInput{GroupName: aws.String("gang")})
	refused(t, "delete one in use", err, "InvalidPlacementGroup.InUse", "gang")
	if _, err := client.TerminateInstances(ctx, &sdk.TerminateInstancesInput{InstanceIds: []string{c.Instances()[0].ID, c.Instances()[1].ID}}); err != nil {
		t.Fatal(err)
	}
	until(t, "the group can be deleted", func() bool {
		_, err := client.DeletePlacementGroup(ctx, &sdk.DeletePlacementGroupInput{GroupName: aws.String("gang")})
		return err == nil
	})
	_, err = client.DescribePlacementGroups(ctx, &sdk.DescribePlacementGroupsInput{GroupNames: []string{"gang"}})
	refused(t, "the deleted group", err, "InvalidPlacementGroup.Unknown", "gang")
}

func TestLaunchTemplateAndFleet(t *testing.T) {
	c, client := newCloud(t, ec2.Config{})
	ctx := t.Context()
	template, err := client.CreateLaunchTemplate(ctx, &sdk.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("gang"), LaunchTemplateData: &types.RequestLaunchTemplateData{
		ImageId: aws.String(image), InstanceType: "g6.xlarge", UserData: aws.String("IyEvYmluL3NoCg==")}})
	if err != nil {
		t.Fatal(err)
	}
	one := mustRun(t, client, 1, func(in *sdk.RunInstancesInput) {
		in.ImageId, in.LaunchTemplate = nil, &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("gang")}
	})
	if data := instance(c, 0).UserData; data != "#!/bin/sh\n" {
		t.Errorf("user data of %s by template: %q", *one[0].InstanceId, data)
	}
	fleet := func(token string, least int32) *sdk.CreateFleetInput {
		in := &sdk.CreateFleetInput{Type: types.FleetTypeInstant, ClientToken: &token,
			TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: aws.Int32(4), DefaultTargetCapacityType: types.DefaultTargetCapacityTypeSpot},
			SpotOptions:                 &types.SpotOptionsRequest{MinTargetCapacity: &least, SingleInstanceType: aws.Bool(true), SingleAvailabilityZone: aws.Bool(true)},
			LaunchTemplateConfigs:       []types.FleetLaunchTemplateConfigRequest{{LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateId: template.LaunchTemplate.LaunchTemplateId, Version: aws.String("$Latest")}}}}
		for _, typ := range []string{"g6.xlarge", "g5.xlarge"} {
			for _, zone := range []string{"us-east-2a", "us-east-2b"} {
				in.LaunchTemplateConfigs[0].Overrides = append(in.LaunchTemplateConfigs[0].Overrides, types.FleetLaunchTemplateOverridesRequest{InstanceType: types.InstanceType(typ), AvailabilityZone: aws.String(zone)})
			}
		}
		return in
	}
	c.SetStock(ec2.Pool{Type: "g6.xlarge", Zone: "us-east-2a"}, 0)
	c.SetStock(ec2.Pool{Type: "g6.xlarge", Zone: "us-east-2b", Market: "spot"}, 3)
	out, err := client.CreateFleet(ctx, fleet("f1", 4))
	if err != nil || len(out.Instances) != 1 || len(out.Instances[0].InstanceIds) != 4 || out.Instances[0].InstanceType != "g5.xlarge" || len(out.Errors) != 2 {
		t.Fatal(err, out)
	}
	if *out.Errors[0].ErrorCode != "InsufficientInstanceCapacity" || *out.Errors[0].LaunchTemplateAndOverrides.Overrides.AvailabilityZone != "us-east-2a" {
		t.Errorf("errors: %+v", out.Errors[0])
	}
	again, err := client.CreateFleet(ctx, fleet("f1", 4))
	if err != nil || *again.FleetId != *out.FleetId || c.Live() != 5 {
		t.Errorf("again: %v, %d live", err, c.Live())
	}
	c.SetStock(ec2.Pool{Type: "g5.xlarge", Market: "spot"}, 5)
	none, err := client.CreateFleet(ctx, fleet("f2", 4))
	if err != nil || len(none.Instances) != 0 || len(none.Errors) != 4 || c.Live() != 5 {
		t.Errorf("without enough of one kind: %v %+v, %d live", err, none, c.Live())
	}
	some, err := client.CreateFleet(ctx, fleet("f3", 2))
	if err != nil || len(some.Instances) != 1 || len(some.Instances[0].InstanceIds) != 3 {
		t.Errorf("with a smaller minimum: %v %+v", err, some)
	}
	list, err := client.DescribeLaunchTemplates(ctx, &sdk.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"gang"}})
	if err != nil || len(list.LaunchTemplates) != 1 {
		t.Error(err, list)
	}
	if _, err := client.DeleteLaunchTemplate(ctx, &sdk.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("gang")}); err != nil {
		t.Error(err)
	}
	_, err = client.CreateFleet(ctx, fleet("f4", 1))
	refused(t, "a fleet of a deleted template", err, "InvalidLaunchTemplateId.NotFound", "does not exist")
}
