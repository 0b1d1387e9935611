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
	id := aws.String(c.AddReservation("p5.48xlarge", "us-east-2b", 2))
	c.SetStock(ec2.Pool{Type: "p5.48xlarge"}, 0)
	target := func(in *sdk.RunInstancesInput) {
		in.InstanceType = "p5.48xlarge"
		in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: id}}
	}
	if in := mustRun(t, client, 2, target); *in[0].CapacityReservationId != *id || *in[0].Placement.AvailabilityZone != "us-east-2b" {
		t.Errorf("%+v", in[0])
	}
	_, err := run(ctx, client, 1, target)
	refused(t, "a third", err, "ReservationCapacityExceeded", "capacity")
	_, err = run(ctx, client, 1, func(in *sdk.RunInstancesInput) { in.InstanceType = "p5.48xlarge" })
	refused(t, "one without the reservation", err, "InsufficientInstanceCapacity", "p5.48xlarge")
	list, err := client.DescribeCapacityReservations(ctx, &sdk.DescribeCapacityReservationsInput{Filters: []types.Filter{filter("state", "active")}})
	if err != nil || len(list.CapacityReservations) != 1 || *list.CapacityReservations[0].AvailableInstanceCount != 0 || *list.CapacityReservations[0].TotalInstanceCount != 2 {
		t.Fatal(err, list)
	}
}

// TestCapacityBlocks runs in virtual time: the end of a block ends its instances.
func TestCapacityBlocks(t *testing.T) { synctest.Test(t, testCapacityBlocks) }

func testCapacityBlocks(t *testing.T) {
	c, client := virtualCloud(t, ec2.Config{})
	ctx := t.Context()
	id := aws.String(c.AddBlock("p5.48xlarge", "us-east-2a", 2, 24*time.Hour))
	block := func(in *sdk.RunInstancesInput) {
		in.InstanceType, in.InstanceMarketOptions = "p5.48xlarge", &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
		in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: id}}
	}
	if in := mustRun(t, client, 2, block); in[0].InstanceLifecycle != "capacity-block" {
		t.Errorf("%+v", in[0])
	}
	_, err := run(ctx, client, 1, func(in *sdk.RunInstancesInput) { block(in); in.InstanceMarketOptions = nil })
	refused(t, "on demand in a block", err, "InvalidParameterCombination", "capacity-block")
	short := c.AddBlock("p5.48xlarge", "us-east-2a", 1, time.Hour)
	id = &short
	mustRun(t, client, 1, block)
	time.Sleep(time.Hour + time.Second)
	if got := c.Instances()[2].State; got != "terminated" || c.Live() != 2 {
		t.Errorf("the instance of a block that is over is %s, %d live", got, c.Live())
	}
}
