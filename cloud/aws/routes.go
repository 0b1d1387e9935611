package aws

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/federation/driver"
)

// waysOut returns what the default routes of subnets lead to: "igw-...", "nat-..."; one without such a route is missing. A subnet that is in no route table
// has its VPC's main one.
func (r *regional) waysOut(ctx context.Context, subnets []subnet) (map[string]string, error) {
	var vpcs []string
	for _, s := range subnets {
		if !slices.Contains(vpcs, s.vpc) {
			vpcs = append(vpcs, s.vpc)
		}
	}
	own, main := map[string]string{}, map[string]string{} // by subnet, by VPC
	in := &ec2.DescribeRouteTablesInput{Filters: []filter{{Name: sdk.String("vpc-id"), Values: vpcs}}}
	for pages := ec2.NewDescribeRouteTablesPaginator(r.ec2, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, refused(err)
		}
		for _, t := range page.RouteTables {
			for _, a := range t.Associations {
				if sdk.ToBool(a.Main) {
					main[sdk.ToString(t.VpcId)] = defaultRoute(t.Routes)
				} else if a.SubnetId != nil {
					own[*a.SubnetId] = defaultRoute(t.Routes)
				}
			}
		}
	}
	out := map[string]string{}
	for _, s := range subnets {
		target, ok := own[s.id]
		if !ok {
			target = main[s.vpc]
		}
		if target != "" {
			out[s.id] = target
		}
	}
	return out, nil
}

// defaultRoute is what a route table's default route leads to; "" where it has none that works.
func defaultRoute(routes []types.Route) string {
	for _, r := range routes {
		if sdk.ToString(r.DestinationCidrBlock) != "0.0.0.0/0" || r.State == types.RouteStateBlackhole {
			continue
		}
		for _, target := range []*string{r.GatewayId, r.NatGatewayId, r.TransitGatewayId, r.NetworkInterfaceId, r.VpcPeeringConnectionId, r.LocalGatewayId, r.CarrierGatewayId, r.CoreNetworkArn} {
			if target != nil {
				return *target
			}
		}
	}
	return ""
}

// internet reports whether a route's target lets only machines out that have a public address.
func internet(target string) bool { return strings.HasPrefix(target, "igw-") }

// noWay is 0 for a subnet whose machines get out of their VPC, and 1 for others.
func noWay(target string, s subnet) int {
	if target == "" || internet(target) && !s.public {
		return 1
	}
	return 0
}

// checkRoutes says whether machines get out of the subnets that are chosen for them. Where the daemon is in their VPC they need not.
func (p *Provider) checkRoutes(ctx context.Context, r *regional, c *catalog, several bool) driver.SiteCheck {
	k := driver.SiteCheck{Name: "way out " + r.Name, Result: driver.CheckOK}
	subnets := slices.SortedFunc(maps.Values(c.subnet), func(a, b subnet) int { return cmp.Compare(a.zone, b.zone) })
	out, err := r.waysOut(ctx, subnets)
	if err != nil {
		k.Result, k.Detail, k.Advice = driver.CheckWarning, err.Error(), "let the daemon's role look: ec2:DescribeRouteTables of cloud/aws/policy.json"
		return k
	}
	var none, hidden, single []string
	for _, s := range subnets {
		name := fmt.Sprintf("%s (%s)", s.id, s.zone)
		switch target := out[s.id]; {
		case target == "":
			none = append(none, name)
		case internet(target) && !s.public:
			hidden = append(hidden, name)
		case internet(target):
			single = append(single, name)
		}
	}
	k.Detail = fmt.Sprintf("machines get out of %d subnets", len(subnets))
	if len(none) > 0 {
		k.Result, k.Detail = driver.CheckWarning, "no default route: "+strings.Join(none, ", ")
	} else if len(hidden) > 0 {
		k.Result, k.Detail = driver.CheckWarning, "an internet gateway, and machines get no public address: "+strings.Join(hidden, ", ")
	} else if several && len(single) > 0 {
		k.Result, k.Detail = driver.CheckWarning, "machines with EFA get no public address, and there is an internet gateway only: "+strings.Join(single, ", ")
	}
	if k.Result == driver.CheckWarning {
		k.Advice = "give the subnet's route table a default route to a NAT gateway, or name other subnets; or have the daemon (agents: address) within that VPC"
	}
	return k
}
