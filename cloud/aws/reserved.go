package aws

import (
	"context"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/prices"
	"fsub/cloud/provider"
)

// reservations are the configured ones that are active in this region.
func (r *regional) reservations(ctx context.Context, p *Provider) ([]types.CapacityReservation, error) {
	if len(p.cfg.Reservations) == 0 {
		return nil, nil
	}
	// Not by ID: the whole call would fail for one that is gone or in another region, and there is
	// no filter for IDs.
	in := &ec2.DescribeCapacityReservationsInput{Filters: []filter{{Name: sdk.String("state"), Values: []string{string(types.CapacityReservationStateActive)}}}}
	var found []types.CapacityReservation
	for pages := ec2.NewDescribeCapacityReservationsPaginator(r.ec2, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, refused(err)
		}
		for _, one := range page.CapacityReservations {
			if slices.Contains(p.cfg.Reservations, sdk.ToString(one.CapacityReservationId)) {
				found = append(found, one)
			}
		}
	}
	return found, nil
}

// blockEnds is how long before its end EC2 begins to end the machines of a capacity block.
const blockEnds = 30 * time.Minute

// reserved offers what is reserved and active. It is paid for whether it is used or not, so that
// one machine more costs nothing.
func (p *Provider) reserved(r *regional, c *catalog, all []types.CapacityReservation) []provider.Offering {
	var offers []provider.Offering
	for _, res := range all {
		zone, id := sdk.ToString(res.AvailabilityZone), sdk.ToString(res.CapacityReservationId)
		info, ok := c.types[sdk.ToString(res.InstanceType)]
		if res.State != types.CapacityReservationStateActive {
			continue
		}
		if !ok || len(c.places(string(info.InstanceType), zone)) == 0 {
			p.log.Warn("the reservation's zone has no subnet of ours, or its type is not known: it is not offered", "reservation", id, "zone", zone)
			continue
		}
		market := provider.Reserved
		if res.ReservationType == types.CapacityReservationTypeCapacityBlock {
			market = provider.Block
		}
		q := prices.Price{At: p.now(), From: "paid for with " + id}
		o := p.offering(r, &info, zone, market, q, int(sdk.ToInt32(res.TotalInstanceCount)))
		o.ID += "/" + id
		o.Reservation = id
		if o.Until = sdk.ToTime(res.EndDate); market == provider.Block && !o.Until.IsZero() {
			o.Until = o.Until.Add(-blockEnds)
		}
		offers = append(offers, o)
	}
	return offers
}
