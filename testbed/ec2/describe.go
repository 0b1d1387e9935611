package ec2

import (
	"cmp"
	"slices"
	"time"

	"fsub/testbed/ec2/model"
)

// shown returns the instances that a listing sees now, oldest first, and their states: as they were Config.Lag ago.
func (c *Cloud) shown() (list []*instance, state []string) {
	at := time.Now().Add(-c.cfg.Lag)
	for _, in := range c.order {
		if s := in.seen(at); s != "" {
			list, state = append(list, in), append(state, s)
		}
	}
	return list, state
}

// describeInstances pages by instance: a reservation whose instances lie on both sides of a page's end is shown on both pages, as Amazon does.
func (c *Cloud) describeInstances(args model.Doc) (model.Doc, error) {
	ids := args.Strs("InstanceIds")
	if len(ids) > 0 && args.Has("MaxResults") {
		return nil, refuse("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	list, state, err := c.wanted(ids)
	if err != nil {
		return nil, err
	}
	if err := dryRun(args); err != nil {
		return nil, err
	}
	after, size, err := cursor(args, 5, 1000)
	if err != nil {
		return nil, err
	}
	// Filters are held to what there is also where there are no instances.
	if _, err := (row{field: c.instanceFields(&instance{launch: &launch{typ: &Type{}}}, "")}).pass(args.Docs("Filters")); err != nil {
		return nil, err
	}
	var reservations []model.Doc
	var last *launch
	var n int
	for i, in := range list {
		if in.seq <= after {
			continue
		}
		ok, err := row{field: c.instanceFields(in, state[i]), tags: in.tags}.pass(args.Docs("Filters"))
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if n == size {
			return model.Doc{"Reservations": reservations, "NextToken": writeToken(after)}, nil
		}
		if in.launch != last {
			reservations = append(reservations, model.Doc{"ReservationId": in.launch.id, "OwnerId": owner, "Instances": []model.Doc{}})
		}
		last, after, n = in.launch, in.seq, n+1
		r := reservations[len(reservations)-1]
		r["Instances"] = append(r["Instances"].([]model.Doc), c.describe(in, state[i]))
	}
	return model.Doc{"Reservations": reservations}, nil
}

// wanted returns the instances with these IDs, or all. One that a listing does not see (yet) is unknown.
func (c *Cloud) wanted(ids []string) ([]*instance, []string, error) {
	list, state := c.shown()
	if len(ids) == 0 {
		return list, state, nil
	}
	found, err := c.named(ids)
	if err != nil {
		return nil, nil, err
	}
	var states []string
	for _, in := range found {
		i := slices.Index(list, in)
		if i < 0 {
			return nil, nil, refuse("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", in.id)
		}
		states = append(states, state[i])
	}
	return found, states, nil
}

// cursor reads the number after which a page begins, and its size.
func cursor(args model.Doc, least, most int) (after, size int, err error) {
	first := model.Doc{}
	if args.Has("MaxResults") {
		first["MaxResults"] = args.Int("MaxResults")
	}
	if _, size, _, err = page(first, most, least, most); err != nil {
		return 0, 0, err
	}
	if token := args.Str("NextToken"); token != "" {
		after, err = readToken(token)
	}
	return after, size, err
}

func (c *Cloud) instanceFields(in *instance, state string) map[string]string {
	l := in.launch
	f := map[string]string{
		"instance-id": in.id, "instance-state-name": state, "instance-state-code": itoa(stateCode[state]), "instance-type": l.typ.Name, "availability-zone": l.zone,
		"availability-zone-id": c.zoneID(l.zone), "client-token": l.token, "image-id": l.image, "reservation-id": l.id, "owner-id": owner, "architecture": l.typ.Arch,
		"private-ip-address": in.addr, "subnet-id": cmp.Or(l.subnet, c.subnetIn(l.zone)), "vpc-id": vpcID, "instance-lifecycle": "", "placement-group-name": "",
		"capacity-reservation-id": "", "state-reason-code": in.code, "launch-time": in.launched.Format("2006-01-02T15:04:05.000Z"), "tenancy": "default",
	}
	if l.market != onDemand {
		f["instance-lifecycle"] = l.market
	}
	if l.group != nil {
		f["placement-group-name"] = l.group.name
	}
	if l.reservation != nil {
		f["capacity-reservation-id"] = l.reservation.id
	}
	return f
}
