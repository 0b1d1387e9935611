package gcp

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"

	"fsub/cloud/google"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
)

// reservation is one that is configured and ready.
type reservation struct {
	*computepb.Reservation
	path string // as it is configured, and as machines ask for it: a name, or one of another project that shares it, with a block perhaps
}

// dense reports whether its machines are near to each other, as Google makes it for calendar mode, future reservations and whole blocks.
func (r *reservation) dense() bool { return r.GetDeploymentType() == "DENSE" }

// policies are the names of the resource policies that it was made with. Its machines must have these, and no others.
func (r *reservation) policies() (names []string) {
	for _, p := range r.GetResourcePolicies() {
		names = append(names, google.Base(p))
	}
	slices.Sort(names)
	return names
}

// near reports whether machines of it can be near to each other: by its own policies, or by one that the daemon makes, which only dense ones take.
func (r *reservation) near() bool { return r.dense() || len(r.GetResourcePolicies()) > 0 }

// sharedForm is a reservation of a project, with a block perhaps: projects/P/reservations/N/reservationBlocks/B.
var sharedForm = regexp.MustCompile(`^projects/([^/ ]+)/reservations/([a-z][-a-z0-9]*)(/reservationBlocks/[a-z][-a-z0-9]*)?$`)

// owner is the project and the name of a configured reservation.
func (c *Config) owner(path string) (project, name string) {
	if m := sharedForm.FindStringSubmatch(path); m != nil {
		return m[1], m[2]
	}
	return c.Project, path
}

// reservations are the configured ones.
type reservations struct {
	cfg    *Config
	client *compute.ReservationsClient

	mu    sync.Mutex
	ready []*reservation // as they were listed last
}

// list asks which reservations are ready.
func (rs *reservations) list(ctx context.Context) ([]*reservation, error) {
	var found []*reservation
	wanted := map[string][]string{} // by project
	for _, path := range rs.cfg.Reservations {
		project, _ := rs.cfg.owner(path)
		wanted[project] = append(wanted[project], path)
	}
	for project, paths := range wanted {
		it := rs.client.AggregatedList(ctx, &computepb.AggregatedListReservationsRequest{Project: project}, once)
		err := each(it.Next, func(zone compute.ReservationsScopedListPair) error {
			if err := unread(zone.Key, zone.Value.GetWarning()); err != nil {
				return err
			}
			for _, r := range zone.Value.GetReservations() {
				for _, path := range paths {
					if _, name := rs.cfg.owner(path); name == r.GetName() && r.GetStatus() == "READY" && r.GetSpecificReservation().GetInstanceProperties() != nil {
						found = append(found, &reservation{r, path})
					}
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b *reservation) int { return strings.Compare(a.path+a.GetZone(), b.path+b.GetZone()) })
	rs.mu.Lock()
	rs.ready = found
	rs.mu.Unlock()
	return found, nil
}

// of is the reservation that an offering's machines take of; nil: none.
func (rs *reservations) of(ctx context.Context, o *provider.Offering) (*reservation, error) {
	if o.Reservation == "" {
		return nil, nil
	}
	find := func(all []*reservation) *reservation {
		i := slices.IndexFunc(all, func(r *reservation) bool { return r.path == o.Reservation && google.Base(r.GetZone()) == o.Zone })
		if i < 0 {
			return nil
		}
		return all[i]
	}
	rs.mu.Lock()
	r := find(rs.ready)
	rs.mu.Unlock()
	if r != nil {
		return r, nil
	}
	all, err := rs.list(ctx)
	if r = find(all); err == nil && r == nil {
		err = &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Text: "the reservation " + o.Reservation + " is not there or not ready in " + o.Zone}
	}
	return r, err
}

// reserved offers what is reserved and ready. It is paid for whether it is used or not, so that one machine more costs nothing.
func (p *Provider) reserved(types []*computepb.MachineType, all []*reservation) []provider.Offering {
	var offers []provider.Offering
	for _, r := range all {
		name := google.Base(r.GetSpecificReservation().GetInstanceProperties().GetMachineType())
		i := slices.IndexFunc(types, func(t *computepb.MachineType) bool {
			return t.GetName() == name && google.Base(t.GetZone()) == google.Base(r.GetZone())
		})
		if i < 0 {
			p.log.Warn("the reservation is in none of our zones, or its type is not known: it is not offered", "reservation", r.path, "zone", google.Base(r.GetZone()), "type", name)
			continue
		}
		market := provider.Reserved
		until, err := time.Parse(time.RFC3339, r.GetDeleteAtTime())
		if err == nil {
			market = provider.Block
		}
		o := p.offering(types[i], market, prices.Price{At: p.now(), From: "paid for with " + r.GetName()}, int(r.GetSpecificReservation().GetCount()))
		o.ID += "/" + google.Base(r.path)
		o.Reservation, o.Until = r.path, until.UTC()
		if market == provider.Reserved {
			o.Until = time.Time{}
		}
		if !r.near() {
			o.MaxGang = 0
		}
		offers = append(offers, o)
	}
	return offers
}
