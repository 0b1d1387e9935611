package azure

import (
	"context"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"fsub/cloud/provider"
)

// blockEnds is how long before its end the machines of a block are given back: Azure's own lead is not documented.
const blockEnds = 30 * time.Minute

// reserved offers what the configured capacity reservation groups hold. It is paid for whether it is used or not, so that one machine more costs nothing.
func (p *Provider) reserved(ctx context.Context, skus map[string]*size) ([]provider.Offering, error) {
	var offers []provider.Offering
	for _, group := range p.cfg.Reservations {
		list, err := pages(ctx, p.reservations.NewListByCapacityReservationGroupPager(p.cfg.ResourceGroup, group, nil),
			func(r armcompute.CapacityReservationsClientListByCapacityReservationGroupResponse) []*armcompute.CapacityReservation {
				return r.Value
			})
		if err != nil {
			if provider.AsError(err).Kind == provider.KindNotFound {
				p.log.Warn("there is no such capacity reservation group: it is not offered", "group", group)
				continue
			}
			return nil, err
		}
		for _, r := range list {
			if o, ok := p.reservation(group, r, skus); ok {
				offers = append(offers, o)
			}
		}
	}
	return offers, nil
}

func (p *Provider) reservation(group string, r *armcompute.CapacityReservation, skus map[string]*size) (o provider.Offering, ok bool) {
	if r.SKU == nil || r.Properties == nil || str(r.Properties.ProvisioningState) != "Succeeded" || !strings.EqualFold(str(r.Location), p.cfg.Location) {
		return o, false
	}
	z := skus[str(r.SKU.Name)]
	if z == nil {
		p.log.Warn("the reservation's size is not known here: it is not offered", "reservation", str(r.Name), "size", str(r.SKU.Name))
		return o, false
	}
	zone, market := "", provider.Reserved
	if len(r.Zones) > 0 {
		zone = p.cfg.Location + "-" + str(r.Zones[0])
	}
	var until time.Time
	if s := r.Properties.ScheduleProfile; s != nil {
		start, err := time.Parse(time.DateOnly, str(s.Start))
		if err == nil && p.now().Before(start) {
			return o, false // not yet
		}
		if end, err := time.Parse(time.DateOnly, str(s.End)); err == nil {
			market, until = provider.Block, end.Add(-blockEnds)
			if !p.now().Before(until) {
				return o, false
			}
		}
	}
	o = p.offering(z, zone, market)
	o.ID += "/" + group
	o.Reservation, o.Until = group+"/"+str(r.Name), until
	if r.SKU.Capacity != nil {
		o.Max = int(*r.SKU.Capacity)
	}
	o.PricedAt, o.PriceFrom = p.now(), "paid for with "+o.Reservation
	return o, true
}

// reservationGroup is the group of Offering.Reservation.
func reservationGroup(reservation string) string {
	group, _, _ := strings.Cut(reservation, "/")
	return group
}
