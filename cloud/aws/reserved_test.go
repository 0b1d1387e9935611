package aws

import (
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	sdkec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/provider"
	"fsub/cloud/providertest"
	"fsub/testbed/ec2"
)

func TestReservations(t *testing.T) {
	c, url := world(t, ec2.Config{})
	cfg := standIn(c, url, credentials(t, c.AccessKey(), c.SecretKey()))
	block := c.AddBlock("p5.48xlarge", "us-east-2a", 2, 24*time.Hour)
	admin := open(t, cfg).regions[0].ec2
	out, err := admin.CreateCapacityReservation(t.Context(), &sdkec2.CreateCapacityReservationInput{
		InstanceType: sdk.String("c7i.large"), AvailabilityZone: sdk.String("us-east-2b"), InstanceCount: sdk.Int32(2), InstancePlatform: "Linux/UNIX",
		InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted})
	if err != nil {
		t.Fatal(err)
	}
	kept := sdk.ToString(out.CapacityReservation.CapacityReservationId)
	cfg.Types, cfg.Reservations = nil, []string{block, kept}
	p := open(t, cfg)
	const target = "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"
	for id, want := range map[string]map[string]string{
		"p5.48xlarge/us-east-2a/block/" + block: {target: block, "InstanceMarketOptions.MarketType": "capacity-block"},
		"c7i.large/us-east-2b/reserved/" + kept: {target: kept, "InstanceMarketOptions.MarketType": ""},
	} {
		o := providertest.Offer(t, p, id)
		token := "g-" + o.Reservation
		if _, err := p.Create(t.Context(), gang(o, token, 2)); err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		wants(t, last(t, c, "RunInstances"), want)
		// It is full now: that is a stock-out of this offering.
		if _, err := p.Create(t.Context(), gang(o, token+"-more", 1)); providertest.KindOf(err) != provider.KindStockOut {
			t.Errorf("one more of %s: %v", id, err)
		}
	}
}
