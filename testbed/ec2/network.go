package ec2

import (
	"slices"
	"strings"

	"fsub/testbed/ec2/model"
)

// The network that every account has in a region: one VPC with one subnet in each zone, and a security group.
const (
	vpcID     = "vpc-0f5ab000000000001"
	groupID   = "sg-0f5ab000000000001"
	gatewayID = "igw-0f5ab000000000001"
)

// subnetIn is a zone's subnet where none was asked for.
func (c *Cloud) subnetIn(zone string) string {
	for _, s := range c.cfg.Subnets {
		if s.Zone == zone {
			return s.ID
		}
	}
	return ""
}

// zoneID is the name of a zone that is the same in every account: "use2-az1".
func (c *Cloud) zoneID(zone string) string {
	f := strings.Split(c.cfg.Region, "-")
	return f[0] + f[1][:1] + f[len(f)-1] + "-az" + itoa(slices.Index(c.cfg.Zones, zone)+1)
}

// planNetwork takes the zone from the subnet or the placement, and checks the interfaces.
func (c *Cloud) planNetwork(l *launch) error {
	interfaces := l.args.Docs("NetworkInterfaces")
	subnet, groups := l.args.Str("SubnetId"), l.args.Strs("SecurityGroupIds")
	if len(interfaces) > 0 {
		switch {
		case subnet != "":
			return refuse("InvalidParameterCombination", "Network interfaces and an instance-level subnet ID may not be specified on the same request")
		case len(groups) > 0 || len(l.args.Strs("SecurityGroups")) > 0:
			return refuse("InvalidParameterCombination", "Network interfaces and an instance-level security groups may not be specified on the same request")
		}
		if err := checkInterfaces(l, interfaces); err != nil {
			return err
		}
		for _, i := range interfaces {
			str(&subnet, i.Str("SubnetId"))
			groups = append(groups, i.Strs("Groups")...)
		}
	}
	for _, g := range append(groups, l.args.Strs("SecurityGroups")...) {
		if g != groupID && g != "default" {
			return refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", g)
		}
	}
	return c.zoneOf(l, subnet)
}

func (c *Cloud) zoneOf(l *launch, subnet string) error {
	zone := l.args.Sub("Placement").Str("AvailabilityZone")
	if id := l.args.Sub("Placement").Str("AvailabilityZoneId"); id != "" {
		for _, z := range c.cfg.Zones {
			if c.zoneID(z) == id {
				zone = z
			}
		}
		str(&zone, id)
	}
	if zone != "" && !slices.Contains(c.cfg.Zones, zone) {
		return refuse("InvalidParameterValue", "Invalid availability zone: [%s]", zone)
	}
	l.zone = zone
	if subnet == "" {
		return nil
	}
	for _, s := range c.cfg.Subnets {
		if s.ID == subnet {
			if zone != "" && s.Zone != zone {
				return refuse("InvalidParameterValue", "Value (%s) for parameter availabilityZone is invalid. Subnet '%s' is in the availability zone %s", zone, subnet, s.Zone)
			}
			l.zone, l.subnet = s.Zone, subnet
			return nil
		}
	}
	return refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", subnet)
}

// checkInterfaces checks what can be wrong with many interfaces: cards that are not there, too many EFAs, a public address.
func checkInterfaces(l *launch, interfaces []model.Doc) error {
	efas := 0
	used := map[[2]int]bool{}
	for _, i := range interfaces {
		card, device := i.Int("NetworkCardIndex"), i.Int("DeviceIndex")
		if strings.HasPrefix(i.Str("InterfaceType"), "efa") {
			efas++
		}
		switch {
		case card >= max(1, l.typ.Cards):
			return refuse("InvalidParameterValue", "Network card index %d is not valid: the instance type %s has %d network cards", card, l.typ.Name, max(1, l.typ.Cards))
		case used[[2]int{card, device}]:
			return refuse("InvalidParameterValue", "Each network interface requires a unique device index on its network card.")
		case i.Bool("AssociatePublicIpAddress") && len(interfaces) > 1:
			return refuse("InvalidParameterCombination", "The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces.")
		}
		used[[2]int{card, device}] = true
	}
	if efas > 0 && l.typ.EFA == 0 {
		return refuse("UnsupportedOperation", "Elastic Fabric Adapter (EFA) is not supported by the instance type %s.", l.typ.Name)
	}
	if efas > l.typ.EFA {
		return refuse("AttachmentLimitExceeded", "The instance type %s supports at most %d EFA interfaces, %d were asked for.", l.typ.Name, l.typ.EFA, efas)
	}
	if !used[[2]int{0, 0}] {
		return refuse("InvalidParameterCombination", "A primary network interface (device index 0) is required.")
	}
	return nil
}

func (c *Cloud) describeSubnets(args model.Doc) (model.Doc, error) {
	var rows []row
	for i, s := range c.cfg.Subnets {
		id, z, cidr := s.ID, s.Zone, "127."+itoa(int(c.Net()))+"."+itoa(16*i)+".0/20"
		if c.tags[id] == nil {
			c.tags[id] = map[string]string{}
		}
		rows = append(rows, row{
			doc: model.Doc{"SubnetId": id, "VpcId": vpcID, "AvailabilityZone": z, "AvailabilityZoneId": c.zoneID(z), "State": "available", "CidrBlock": cidr,
				"AvailableIpAddressCount": 4091, "DefaultForAz": true, "MapPublicIpOnLaunch": !s.NoAddress, "OwnerId": owner, "Tags": tagDocs(c.tags[id])},
			field: map[string]string{"subnet-id": id, "vpc-id": vpcID, "availability-zone": z, "availabilityZone": z, "availability-zone-id": c.zoneID(z), "state": "available",
				"default-for-az": "true", "cidr-block": cidr, "owner-id": owner},
			tags: c.tags[id],
		})
	}
	rows, err := choose(rows, "subnet-id", args.Strs("SubnetIds"), "InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist")
	if err != nil {
		return nil, err
	}
	return answerList(args, "Subnets", rows, 5, 1000)
}

// describeRouteTables shows the VPC's main table, which subnets have that are in no other, and one for each that has a way out of its own or none.
func (c *Cloud) describeRouteTables(args model.Doc) (model.Doc, error) {
	table := func(id, target string, association model.Doc) row {
		routes := []model.Doc{{"DestinationCidrBlock": "127.0.0.0/8", "GatewayId": "local", "State": "active", "Origin": "CreateRouteTable"}}
		if kind, _, _ := strings.Cut(target, "-"); target != "" {
			routes = append(routes, model.Doc{"DestinationCidrBlock": "0.0.0.0/0", map[string]string{"igw": "GatewayId", "nat": "NatGatewayId"}[kind]: target, "State": "active", "Origin": "CreateRoute"})
		}
		association["RouteTableId"], association["AssociationState"] = id, model.Doc{"State": "associated"}
		return row{doc: model.Doc{"RouteTableId": id, "VpcId": vpcID, "OwnerId": owner, "Routes": routes, "Associations": []model.Doc{association}},
			field: map[string]string{"route-table-id": id, "vpc-id": vpcID, "owner-id": owner, "association.subnet-id": association.Str("SubnetId")}}
	}
	rows := []row{table("rtb-0f5ab000000000001", gatewayID, model.Doc{"Main": true})}
	for _, s := range c.cfg.Subnets {
		if s.Route != gatewayID {
			rows = append(rows, table("rtb-"+strings.TrimPrefix(s.ID, "subnet-"), s.Route, model.Doc{"Main": false, "SubnetId": s.ID}))
		}
	}
	return answerList(args, "RouteTables", rows, 5, 100)
}

// describeSecurityGroups shows the VPC's default group as Amazon makes it: all comes in from itself, and all goes out to anywhere.
func (c *Cloud) describeSecurityGroups(args model.Doc) (model.Doc, error) {
	self := model.Doc{"IpProtocol": "-1", "UserIdGroupPairs": []model.Doc{{"GroupId": groupID, "UserId": owner}}}
	out := []model.Doc{{"IpProtocol": "-1", "IpRanges": []model.Doc{{"CidrIp": "0.0.0.0/0"}}}}
	if c.cfg.SelfEgress {
		out = append(out, self)
	}
	rows, err := choose([]row{{doc: model.Doc{"GroupId": groupID, "GroupName": "default", "VpcId": vpcID, "OwnerId": owner, "Description": "default VPC security group",
		"IpPermissions": []model.Doc{self}, "IpPermissionsEgress": out},
		field: map[string]string{"group-id": groupID, "group-name": "default", "vpc-id": vpcID, "owner-id": owner}}},
		"group-id", args.Strs("GroupIds"), "InvalidGroup.NotFound", "The security group '%s' does not exist")
	if err != nil {
		return nil, err
	}
	return answerList(args, "SecurityGroups", rows, 5, 1000)
}
