package ec2

import (
	"fmt"
	"slices"

	"fsub/testbed/ec2/model"
)

// group is a placement group.
type group struct {
	id, name, strategy string
}

func (c *Cloud) planGroup(l *launch) error {
	p := l.args.Sub("Placement")
	name, id := p.Str("GroupName"), p.Str("GroupId")
	if name == "" && id == "" {
		return nil
	}
	for _, g := range c.groups {
		if g.name == name || g.id == id {
			l.group = g
		}
	}
	if l.group == nil {
		return refuse("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", name+id)
	}
	if !slices.Contains(l.typ.Strategies, l.group.strategy) {
		return refuse("InvalidParameterCombination", "%s placement groups are not supported by the '%s' instance type.", l.group.strategy, l.typ.Name)
	}
	return nil
}

func (c *Cloud) createPlacementGroup(args model.Doc) (model.Doc, error) {
	name, strategy := args.Str("GroupName"), args.Str("Strategy")
	str(&strategy, "cluster")
	switch {
	case name == "" || len(name) > 255:
		return nil, refuse("InvalidParameterValue", "Value (%s) for parameter groupName is invalid.", name)
	case c.groups[name] != nil:
		return nil, refuse("InvalidPlacementGroup.Duplicate", "The placement group '%s' already exists.", name)
	}
	tags, err := tagsFor(args, "placement-group")
	if err != nil {
		return nil, err
	}
	if err := dryRun(args); err != nil {
		return nil, err
	}
	g := &group{newID("pg"), name, strategy}
	c.groups[name], c.tags[g.id] = g, clone(tags["placement-group"])
	return model.Doc{"PlacementGroup": c.groupRow(g).doc}, nil
}

func (c *Cloud) groupRow(g *group) row {
	return row{
		doc: model.Doc{"GroupName": g.name, "GroupId": g.id, "State": "available", "Strategy": g.strategy, "Tags": tagDocs(c.tags[g.id]),
			"GroupArn": "arn:aws:ec2:" + c.cfg.Region + ":" + owner + ":placement-group/" + g.name},
		field: map[string]string{"group-name": g.name, "group-id": g.id, "state": "available", "strategy": g.strategy},
		tags:  c.tags[g.id],
	}
}

func (c *Cloud) describePlacementGroups(args model.Doc) (model.Doc, error) {
	var rows []row
	for _, name := range sortedKeys(c.groups) {
		rows = append(rows, c.groupRow(c.groups[name]))
	}
	rows, err := choose(rows, "group-name", args.Strs("GroupNames"), "InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.")
	if err != nil {
		return nil, err
	}
	if rows, err = choose(rows, "group-id", args.Strs("GroupIds"), "InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown."); err != nil {
		return nil, err
	}
	docs, err := filtered(args, rows)
	return model.Doc{"PlacementGroups": docs}, err
}

func (c *Cloud) deletePlacementGroup(args model.Doc) (model.Doc, error) {
	name := args.Str("GroupName")
	g := c.groups[name]
	if g == nil {
		return nil, refuse("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", name)
	}
	for _, in := range c.order {
		if in.launch.group == g && in.state() != terminated {
			return nil, refuse("InvalidPlacementGroup.InUse", "The placement group '%s' is in use and may not be deleted.", name)
		}
	}
	if err := dryRun(args); err != nil {
		return nil, err
	}
	delete(c.groups, name)
	delete(c.tags, g.id)
	return nil, nil
}

// nodes are the network nodes over an instance, widest first. Those of one cluster placement group, and of one capacity block, are under one leaf;
// others are spread over the zone, a few to a leaf.
func (c *Cloud) nodes(in *instance) []string {
	leaf := fmt.Sprint("single/", in.seq/4)
	switch {
	case in.launch.reservation != nil:
		leaf = in.launch.reservation.id
	case in.launch.group != nil && in.launch.group.strategy == "cluster":
		leaf = in.launch.group.id
	}
	return nodesOf(in.launch.zone, leaf)
}

// nodesOf makes names as Amazon's from what they stand for.
func nodesOf(zone, leaf string) []string {
	hash := digest([]byte(leaf))
	name := func(what string) string { return "nn-" + digest([]byte(what))[:17] }
	return []string{name(zone), name(zone + hash[:1]), name(zone + leaf)}
}

func (c *Cloud) describeInstanceTopology(args model.Doc) (model.Doc, error) {
	list, state, err := c.wanted(args.Strs("InstanceIds"))
	if err != nil {
		return nil, err
	}
	var rows []row
	for i, in := range list {
		l := in.launch
		name := ""
		if l.group != nil {
			name = l.group.name
		}
		if names := args.Strs("GroupNames"); state[i] != running || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		doc := model.Doc{"InstanceId": in.id, "InstanceType": l.typ.Name, "GroupName": name, "AvailabilityZone": l.zone, "ZoneId": c.zoneID(l.zone), "NetworkNodes": c.nodes(in)}
		if l.market == block {
			doc["CapacityBlockId"] = l.reservation.blockID
		}
		rows = append(rows, row{doc: doc, field: map[string]string{"availability-zone": l.zone, "instance-type": l.typ.Name, "zone-id": c.zoneID(l.zone)}})
	}
	return answerList(args, "Instances", rows, 1, 100)
}
