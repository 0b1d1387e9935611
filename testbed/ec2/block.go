package ec2

import (
	"fmt"
	"slices"
	"time"

	"fsub/testbed/ec2/model"
)

// offer is a capacity block for sale.
type offer struct {
	id, typ, zone string
	count         int
	hours         int
	start         time.Time
	end           time.Time
}

// blockSizes are the counts of instances and hours that blocks are sold in: whole days to two weeks, then whole weeks to half a year.
func checkBlock(count, hours int) error {
	if !slices.Contains([]int{1, 2, 4, 8, 16, 32, 64}, count) {
		return refuse("InvalidParameterValue", "The instance count %d is not valid: 1, 2, 4, 8, 16, 32 or 64.", count)
	}
	days := hours / 24
	if hours%24 != 0 || days < 1 || days > 182 || days > 14 && days%7 != 0 {
		return refuse("InvalidParameterValue", "The duration of %d hours is not valid: whole days up to 14, then whole weeks up to 26.", hours)
	}
	return nil
}

// describeCapacityBlockOfferings offers a block in each zone that has the type: one from now, and one from tomorrow 11:30 UTC when blocks begin.
func (c *Cloud) describeCapacityBlockOfferings(args model.Doc) (model.Doc, error) {
	t, count, hours := c.types[args.Str("InstanceType")], max(1, args.Int("InstanceCount")), args.Int("CapacityDurationHours")
	if t == nil {
		return nil, refuse("InvalidParameterValue", "Invalid value '%s' for InstanceType.", args.Str("InstanceType"))
	}
	if err := checkBlock(count, hours); err != nil {
		return nil, err
	}
	var rows []row
	for _, zone := range c.cfg.Zones {
		if !t.offered(zone) || !slices.Contains(t.Usage, block) && t.Accelerators == 0 || c.inStock(t.Name, zone, block) < count {
			continue
		}
		now := time.Now().UTC().Truncate(time.Minute)
		first := now.Truncate(24 * time.Hour).Add(35*time.Hour + 30*time.Minute)
		for _, start := range []time.Time{now, first} {
			if r := args.Time("StartDateRange"); !r.IsZero() && start.Before(r) {
				continue
			}
			o := &offer{id: newID("cbo"), typ: t.Name, zone: zone, count: count, hours: hours, start: start,
				end: start.Truncate(24 * time.Hour).Add(time.Duration(hours)*time.Hour + 11*time.Hour + 30*time.Minute)}
			if r := args.Time("EndDateRange"); !r.IsZero() && o.end.After(r) {
				continue
			}
			c.blocks = append(c.blocks, o)
			rows = append(rows, row{doc: c.offerDoc(o, t)})
		}
	}
	return answerList(args, "CapacityBlockOfferings", rows, 1, 1000)
}

func (c *Cloud) offerDoc(o *offer, t *Type) model.Doc {
	fee := fmt.Sprintf("%.4f", 0.7*t.Price*float64(o.count*o.hours))
	return model.Doc{"CapacityBlockOfferingId": o.id, "InstanceType": o.typ, "AvailabilityZone": o.zone, "InstanceCount": o.count, "StartDate": o.start, "EndDate": o.end,
		"CapacityBlockDurationHours": o.hours, "UpfrontFee": fee, "CurrencyCode": "USD", "Tenancy": "default"}
}

func (c *Cloud) purchaseCapacityBlock(args model.Doc) (model.Doc, error) {
	i := slices.IndexFunc(c.blocks, func(o *offer) bool { return o.id == args.Str("CapacityBlockOfferingId") })
	if i < 0 {
		return nil, refuse("InvalidCapacityBlockOfferingId.NotFound", "The Capacity Block offering '%s' does not exist", args.Str("CapacityBlockOfferingId"))
	}
	tags, err := tagsFor(args, "capacity-reservation", "capacity-block")
	if err != nil {
		return nil, err
	}
	if err := dryRun(args); err != nil {
		return nil, err
	}
	o := c.blocks[i]
	c.blocks = slices.Delete(c.blocks, i, i+1)
	r := c.sell(o, tags["capacity-reservation"])
	return model.Doc{"CapacityReservation": c.reservationRow(r).doc, "CapacityBlocks": []model.Doc{c.blockRow(r).doc}}, nil
}

func (c *Cloud) sell(o *offer, tags map[string]string) *reservation {
	r := &reservation{id: newID("cr"), typ: o.typ, zone: o.zone, total: o.count, kind: block, match: "targeted", state: "active", created: time.Now().UTC(),
		start: o.start, end: o.end, blockID: newID("cb")}
	c.reserve(r, tags)
	return r
}

// AddBlock gives the account a capacity block that begins now and ends after d, and returns its reservation's ID. Blocks that are bought last
// for days.
func (c *Cloud) AddBlock(typ, zone string, count int, d time.Duration) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now().UTC()
	return c.sell(&offer{typ: typ, zone: zone, count: count, start: now, end: now.Add(d)}, nil).id
}

func (c *Cloud) blockRow(r *reservation) row {
	return row{
		doc: model.Doc{"CapacityBlockId": r.blockID, "AvailabilityZone": r.zone, "AvailabilityZoneId": c.zoneID(r.zone), "CapacityReservationIds": []string{r.id},
			"StartDate": r.start, "EndDate": r.end, "CreateDate": r.created, "State": r.state},
		field: map[string]string{"capacity-block-id": r.blockID, "availability-zone": r.zone, "state": r.state},
	}
}

func (c *Cloud) describeCapacityBlocks(args model.Doc) (model.Doc, error) {
	var rows []row
	for _, r := range c.reserved {
		if r.kind == block {
			rows = append(rows, c.blockRow(r))
		}
	}
	rows, err := choose(rows, "capacity-block-id", args.Strs("CapacityBlockIds"), "InvalidCapacityBlockId.NotFound", "The Capacity Block '%s' does not exist")
	if err != nil {
		return nil, err
	}
	return answerList(args, "CapacityBlocks", rows, 1, 1000)
}
