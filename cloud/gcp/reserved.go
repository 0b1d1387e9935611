package gcp

import (
	"context"
	"slices"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"

	"fsub/cloud/google"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
)

// reservations are the configured ones that are ready.
func (p *Provider) reservations(ctx context.Context) ([]*computepb.Reservation, error) {
	if len(p.cfg.Reservations) == 0 {
		return nil, nil
	}
	var found []*computepb.Reservation
	it := p.api.reservations.AggregatedList(ctx, &computepb.AggregatedListReservationsRequest{Project: p.cfg.Project}, once)
	err := each(it.Next, func(zone compute.ReservationsScopedListPair) error {
		if err := unread(zone.Key, zone.Value.GetWarning()); err != nil {
			return err
		}
		for _, r := range zone.Value.GetReservations() {
			if slices.Contains(p.cfg.Reservations, r.GetName()) && r.GetStatus() == "READY" && r.GetSpecificReservation().GetInstanceProperties() != nil {
				found = append(found, r)
			}
		}
		return nil
	})
	return found, err
}

// reserved offers what is reserved and ready. It is paid for whether it is used or not, so that one machine more costs nothing.
func (p *Provider) reserved(types []*computepb.MachineType, all []*computepb.Reservation) []provider.Offering {
	var offers []provider.Offering
	for _, r := range all {
		name := google.Base(r.GetSpecificReservation().GetInstanceProperties().GetMachineType())
		i := slices.IndexFunc(types, func(t *computepb.MachineType) bool {
			return t.GetName() == name && google.Base(t.GetZone()) == google.Base(r.GetZone())
		})
		if i < 0 {
			p.log.Warn("the reservation is in none of our zones, or its type is not known: it is not offered", "reservation", r.GetName(), "zone", google.Base(r.GetZone()), "type", name)
			continue
		}
		market := provider.Reserved
		until, err := time.Parse(time.RFC3339, r.GetDeleteAtTime())
		if err == nil {
			market = provider.Block
		}
		o := p.offering(types[i], market, prices.Price{At: p.now(), From: "paid for with " + r.GetName()}, int(r.GetSpecificReservation().GetCount()))
		o.ID += "/" + r.GetName()
		o.Reservation, o.Until = r.GetName(), until.UTC()
		if market == provider.Reserved {
			o.Until = time.Time{}
		}
		offers = append(offers, o)
	}
	return offers
}
