package ec2_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/testbed/ec2"
)

func TestReservations(t *testing.T) {
	c, client := newCloud(t, ec2.Config{})
	ctx := t.Context()
	made, err := client.CreateCapacityReservation(ctx, &sdk.CreateCapacityReservationInput{InstanceType: aws.String("p5.48xlarge"), InstanceCount: aws.Int32(2),
		AvailabilityZone: aws.String("us-east-2b"), InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix, InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted})
	if err != nil {
		t.Fatal(err)
	}
	id := made.CapacityReservation.CapacityReservationId
	c.SetStock(ec2.Pool{Type: "p5.48xlarge"}, 0)
	target := func(in *sdk.RunInstancesInput) {
		in.InstanceType = "p5.48xlarge"
		in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: id}}
	}
	if in := mustRun(t, client, 2, target); *in[0].CapacityReservationId != *id || *in[0].Placement.AvailabilityZone != "us-east-2b" {
		t.Errorf("%+v", in[0])
	}
	_, err = run(ctx, client, 1, target)
	refused(t, "a third", err, "ReservationCapacityExceeded", "capacity")
	_, err = run(ctx, client, 1, func(in *sdk.RunInstancesInput) { in.InstanceType = "p5.48xlarge" })
	refused(t, "one without the reservation", err, "InsufficientInstanceCapacity", "p5.48xlarge")
	list, err := client.DescribeCapacityReservations(ctx, &sdk.DescribeCapacityReservationsInput{Filters: []types.Filter{filter("state", "active")}})
	if err != nil || len(list.CapacityReservations) != 1 || *list.CapacityReservations[0].AvailableInstanceCount != 0 || *list.CapacityReservations[0].TotalInstanceCount != 2 {
		t.Fatal(err, list)
	}
	tree, err := client.DescribeCapacityReservationTopology(ctx, &sdk.DescribeCapacityReservationTopologyInput{})
	if err != nil || len(tree.CapacityReservations) != 1 || len(tree.CapacityReservations[0].NetworkNodes) != 3 {
		t.Fatal(err, tree)
	}
	if _, err := client.CancelCapacityReservation(ctx, &sdk.CancelCapacityReservationInput{CapacityReservationId: id}); err != nil {
		t.Fatal(err)
	}
	_, err = run(ctx, client, 1, target)
	refused(t, "the cancelled one", err, "InvalidCapacityReservationState", "cancelled")
}

// TestCapacityBlocks runs in virtual time: the end of a block ends its instances.
func TestCapacityBlocks(t *testing.T) { synctest.Test(t, testCapacityBlocks) }

func testCapacityBlocks(t *testing.T) {
	c, client := virtualCloud(t, ec2.Config{})
	ctx := t.Context()
	_, err := client.DescribeCapacityBlockOfferings(ctx, &sdk.DescribeCapacityBlockOfferingsInput{InstanceType: aws.String("p5.48xlarge"), InstanceCount: aws.Int32(2), CapacityDurationHours: aws.Int32(25)})
	refused(t, "25 hours", err, "InvalidParameterValue", "25")
	offers, err := client.DescribeCapacityBlockOfferings(ctx, &sdk.DescribeCapacityBlockOfferingsInput{InstanceType: aws.String("p5.48xlarge"), InstanceCount: aws.Int32(2), CapacityDurationHours: aws.Int32(24)})
	if err != nil || len(offers.CapacityBlockOfferings) == 0 || *offers.CapacityBlockOfferings[0].UpfrontFee == "" {
		t.Fatal(err, offers)
	}
	bought, err := client.PurchaseCapacityBlock(ctx, &sdk.PurchaseCapacityBlockInput{CapacityBlockOfferingId: offers.CapacityBlockOfferings[0].CapacityBlockOfferingId,
		InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix})
	if err != nil || bought.CapacityReservation.ReservationType != "capacity-block" {
		t.Fatal(err, bought)
	}
	id := bought.CapacityReservation.CapacityReservationId
	block := func(in *sdk.RunInstancesInput) {
		in.InstanceType, in.InstanceMarketOptions = "p5.48xlarge", &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
		in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: id}}
	}
	if in := mustRun(t, client, 2, block); in[0].InstanceLifecycle != "capacity-block" {
		t.Errorf("%+v", in[0])
	}
	_, err = run(ctx, client, 1, func(in *sdk.RunInstancesInput) { block(in); in.InstanceMarketOptions = nil })
	refused(t, "on demand in a block", err, "InvalidParameterCombination", "capacity-block")
	blocks, err := client.DescribeCapacityBlocks(ctx, &sdk.DescribeCapacityBlocksInput{})
	if err != nil || len(blocks.CapacityBlocks) != 1 || blocks.CapacityBlocks[0].CapacityReservationIds[0] != *id {
		t.Fatal(err, blocks)
	}
	short := c.AddBlock("p5.48xlarge", "us-east-2a", 1, time.Hour)
	id = &short
	mustRun(t, client, 1, block)
	time.Sleep(time.Hour + time.Second)
	if got := c.Instances()[2].State; got != "terminated" || c.Live() != 2 {
		t.Errorf("the instance of a block that is over is %s, %d live", got, c.Live())
	}
}
