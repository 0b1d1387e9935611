package ec2

import (
	"slices"
	"time"

	"fsub/testbed/ec2/model"
)

// reservation is a capacity reservation: bought on demand, or a capacity block.
type reservation struct {
	id, typ, zone string
	total         int
	kind          string // "default", "capacity-block"
	match         string // "open", "targeted"
	state         string // "active", "expired"
	created       time.Time
	start, end    time.Time // end: zero where it is unlimited
	blockID       string
}

// free is how many more instances it has room for.
func (r *reservation) free(c *Cloud) int {
	n := r.total
	for _, in := range c.order {
		if in.launch.reservation == r && in.alive() {
			n--
		}
	}
	return n
}

// planReservation finds the reservation that a launch is to take its capacity from: the one it names, or an open one that fits.
func (c *Cloud) planReservation(l *launch) error {
	spec := l.args.Sub("CapacityReservationSpecification")
	target := spec.Sub("CapacityReservationTarget")
	id := target.Str("CapacityReservationId")
	switch {
	case target.Has("CapacityReservationResourceGroupArn"):
		return refuse("UnsupportedOperation", "The stand-in knows no groups of capacity reservations")
	case id != "":
		return c.planTarget(l, id)
	case l.market == block:
		return refuse("InvalidParameterCombination", "The market type capacity-block needs the capacity reservation of a Capacity Block as its target.")
	case l.market == spot && spec.Str("CapacityReservationPreference") == "capacity-reservations-only":
		return refuse("InvalidParameterCombination", "Spot instances cannot use capacity reservations.")
	case l.market == spot || spec.Str("CapacityReservationPreference") == "none":
		return nil
	}
	for _, r := range c.reserved {
		if r.state == "active" && r.kind == "default" && r.match == "open" && r.typ == l.typ.Name && (l.zone == "" || l.zone == r.zone) && r.free(c) >= l.args.Int("MinCount") {
			l.reservation, l.zone = r, r.zone
			return nil
		}
	}
	if spec.Str("CapacityReservationPreference") == "capacity-reservations-only" {
		return refuse("ReservationCapacityExceeded", "There is no open capacity reservation with enough capacity for this request.")
	}
	return nil
}

func (c *Cloud) planTarget(l *launch, id string) error {
	i := slices.IndexFunc(c.reserved, func(r *reservation) bool { return r.id == id })
	if i < 0 {
		return refuse("InvalidCapacityReservationId.NotFound", "The capacity reservation '%s' does not exist", id)
	}
	r := c.reserved[i]
	switch {
	case r.state != "active":
		return refuse("InvalidCapacityReservationState", "The capacity reservation '%s' is %s, not active.", id, r.state)
	case r.typ != l.typ.Name:
		return refuse("InvalidParameterCombination", "The instance type %s does not match that of the capacity reservation, %s.", l.typ.Name, r.typ)
	case l.zone != "" && l.zone != r.zone:
		return refuse("InvalidParameterCombination", "The availability zone %s does not match that of the capacity reservation, %s.", l.zone, r.zone)
	case (r.kind == block) != (l.market == block):
		return refuse("InvalidParameterCombination", "The market type %s does not fit a capacity reservation of the type %s.", l.market, r.kind)
	}
	l.reservation, l.zone = r, r.zone
	return nil
}

// reserve enters a reservation, and ends it when it is due. It returns its ID.
func (c *Cloud) reserve(r *reservation) string {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	r.id, r.state, r.match, r.created = newID("cr"), "active", "targeted", r.start
	c.reserved, c.tags[r.id] = append(c.reserved, r), map[string]string{}
	if !r.end.IsZero() {
		c.Later(time.Until(r.end), func() { c.expire(r) })
	}
	return r.id
}

// expire ends a reservation. The instances of a capacity block end with it.
func (c *Cloud) expire(r *reservation) {
	if r.state != "active" {
		return
	}
	r.state = "expired"
	if r.kind != block {
		return
	}
	for _, in := range c.order {
		if in.launch.reservation == r {
			c.end(in, "Server.CapacityBlockExpired", "Capacity Block expired", "")
		}
	}
}

func (c *Cloud) reservationRow(r *reservation) row {
	d := model.Doc{
		"CapacityReservationId": r.id, "OwnerId": owner, "InstanceType": r.typ, "InstancePlatform": "Linux/UNIX", "AvailabilityZone": r.zone, "AvailabilityZoneId": c.zoneID(r.zone),
		"Tenancy": "default", "TotalInstanceCount": r.total, "AvailableInstanceCount": 0, "EbsOptimized": false, "EphemeralStorage": false, "State": r.state, "StartDate": r.start,
		"CreateDate": r.created, "EndDateType": "unlimited", "InstanceMatchCriteria": r.match, "ReservationType": r.kind, "Tags": tagDocs(c.tags[r.id]),
		"CapacityReservationArn": "arn:aws:ec2:" + c.cfg.Region + ":" + owner + ":capacity-reservation/" + r.id,
	}
	if r.state == "active" {
		d["AvailableInstanceCount"] = r.free(c)
	}
	end := ""
	if !r.end.IsZero() {
		d["EndDate"], d["EndDateType"], end = r.end, "limited", r.end.Format(time.RFC3339)
	}
	if r.blockID != "" {
		d["CapacityBlockId"] = r.blockID
	}
	return row{doc: d, tags: c.tags[r.id], field: map[string]string{"instance-type": r.typ, "owner-id": owner, "availability-zone": r.zone, "availability-zone-id": c.zoneID(r.zone),
		"state": r.state, "tenancy": "default", "instance-match-criteria": r.match, "reservation-type": r.kind, "end-date": end, "end-date-type": d.Str("EndDateType"), "id": r.id,
		"instance-platform": "Linux/UNIX", "start-date": r.start.Format(time.RFC3339)}}
}

func (c *Cloud) describeCapacityReservations(args model.Doc) (model.Doc, error) {
	var rows []row
	for _, r := range c.reserved {
		rows = append(rows, c.reservationRow(r))
	}
	rows, err := choose(rows, "id", args.Strs("CapacityReservationIds"), "InvalidCapacityReservationId.NotFound", "The capacity reservation '%s' does not exist")
	if err != nil {
		return nil, err
	}
	return answerList(args, "CapacityReservations", rows, 1, 1000)
}

// AddReservation gives the account a capacity reservation without an end, which only launches that name it take of, and returns its ID.
func (c *Cloud) AddReservation(typ, zone string, count int) string {
	return c.reserve(&reservation{typ: typ, zone: zone, total: count, kind: "default", start: time.Now().UTC()})
}

// AddBlock gives the account a capacity block that begins now and ends after d, and returns its reservation's ID.
func (c *Cloud) AddBlock(typ, zone string, count int, d time.Duration) string {
	now := time.Now().UTC()
	return c.reserve(&reservation{typ: typ, zone: zone, total: count, kind: block, start: now, end: now.Add(d), blockID: newID("cb")})
}
