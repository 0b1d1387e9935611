package aws

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// catalogTTL is how long types, zones, subnets and images are taken to stay as they are.
const catalogTTL = 6 * time.Hour

// memory holds a region's catalog. Its mutex is held while it is fetched: others wait for the one answer.
type memory struct {
	mu     sync.Mutex
	last   *catalog
	images map[string]image // by specification and architecture, found since the last catalog
	efa    bool             // the security groups let EFA traffic through
}

// catalog is what a region has to rent, as far as it is wanted. It does not change once it was made.
type catalog struct {
	at     time.Time
	types  map[string]types.InstanceTypeInfo
	zones  map[string][]string // of a type, names; only those that have a subnet of ours
	subnet map[string]subnet   // by zone
}

type subnet struct {
	id, zone, zoneID, vpc string
	public                bool // machines with one interface get a public address
}

// known returns the region's catalog with the types of the reservations: at most catalogTTL old, or
// the last one if no newer one can be loaded.
func (r *regional) known(ctx context.Context, p *Provider, reserved ...types.CapacityReservation) (*catalog, error) {
	m := &r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != nil && p.now().Sub(m.last.at) < m.last.goodFor(reserved) {
		return m.last, nil
	}
	c, err := r.learn(ctx, p)
	if err != nil && m.last == nil {
		return nil, err
	}
	if err != nil {
		p.log.Warn("machine types could not be read again: the old ones are kept", "region", r.Name, "err", err)
		return m.last, nil
	}
	m.last, m.images, m.efa = c, map[string]image{}, false
	return c, nil
}

// goodFor is shorter for a catalog that lacks the type of a reservation, which has become active since.
func (c *catalog) goodFor(reserved []types.CapacityReservation) time.Duration {
	for _, res := range reserved {
		if _, ok := c.types[sdk.ToString(res.InstanceType)]; !ok {
			return 10 * time.Minute
		}
	}
	return catalogTTL
}

func (r *regional) learn(ctx context.Context, p *Provider) (*catalog, error) {
	subnets, err := r.subnets(ctx, p)
	if err != nil {
		return nil, err
	}
	reserved, err := r.reservations(ctx, p)
	if err != nil {
		return nil, err
	}
	patterns := p.cfg.patterns()
	for _, res := range reserved {
		patterns = append(patterns, sdk.ToString(res.InstanceType))
	}
	infos, err := r.instanceTypes(ctx, patterns)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(infos))
	for _, pattern := range patterns {
		if !slices.ContainsFunc(names, func(t string) bool { ok, _ := path.Match(pattern, t); return ok }) {
			p.log.Warn("the region has no such machine type", "region", r.Name, "type", pattern)
		}
	}
	zones, err := r.zonesOf(ctx, names, subnets)
	if err != nil {
		return nil, err
	}
	return &catalog{p.now(), infos, zones, subnets}, nil
}

// patterns are the types that are wanted, each once.
func (c *Config) patterns() []string {
	return slices.Compact(slices.Sorted(slices.Values(c.Types)))
}

// subnets returns one subnet for each zone: of several the first by ID of those with a way out, so that
// a request that is sent again says the same.
func (r *regional) subnets(ctx context.Context, p *Provider) (map[string]subnet, error) {
	in := &ec2.DescribeSubnetsInput{}
	switch {
	case len(r.Subnets) > 0:
		in.SubnetIds = r.Subnets
	case r.VPC != "":
		in.Filters = []filter{{Name: sdk.String("vpc-id"), Values: []string{r.VPC}}}
	default:
		in.Filters = []filter{{Name: sdk.String("default-for-az"), Values: []string{"true"}}}
	}
	found := map[string][]subnet{}
	several := false
	for pages := ec2.NewDescribeSubnetsPaginator(r.ec2, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, refused(err)
		}
		for _, s := range page.Subnets {
			one := subnet{sdk.ToString(s.SubnetId), sdk.ToString(s.AvailabilityZone), sdk.ToString(s.AvailabilityZoneId), sdk.ToString(s.VpcId), sdk.ToBool(s.MapPublicIpOnLaunch)}
			if len(r.Zones) > 0 && !slices.Contains(r.Zones, one.zone) {
				continue
			}
			found[one.zone] = append(found[one.zone], one)
			several = several || len(found[one.zone]) > 1
		}
	}
	if len(found) == 0 {
		return nil, invalid("region %s has no subnet for machines: configure subnets or a vpc, or make the default one with: aws ec2 create-default-vpc", r.Name)
	}
	out := map[string]string{}
	if several {
		var err error
		if out, err = r.waysOut(ctx, slices.Concat(slices.Collect(maps.Values(found))...)); err != nil {
			p.log.Warn("which subnets have a way out is not known: of several in a zone the first is taken", "region", r.Name, "err", err)
		}
	}
	chosen := map[string]subnet{}
	for zone, all := range found {
		chosen[zone] = slices.MinFunc(all, func(a, b subnet) int {
			return cmp.Or(cmp.Compare(noWay(out[a.id], a), noWay(out[b.id], b)), cmp.Compare(a.id, b.id))
		})
	}
	return chosen, nil
}

// maxFilterValues is how many values EC2 takes for one filter.
const maxFilterValues = 200

func (r *regional) instanceTypes(ctx context.Context, patterns []string) (map[string]types.InstanceTypeInfo, error) {
	found := map[string]types.InstanceTypeInfo{}
	for names := range slices.Chunk(patterns, maxFilterValues) {
		in := &ec2.DescribeInstanceTypesInput{Filters: []filter{{Name: sdk.String("instance-type"), Values: names}}, MaxResults: sdk.Int32(100)}
		for pages := ec2.NewDescribeInstanceTypesPaginator(r.ec2, in); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, refused(err)
			}
			for _, t := range page.InstanceTypes {
				found[string(t.InstanceType)] = t
			}
		}
	}
	return found, nil
}

// zonesOf returns in which of the zones with a subnet each type is offered.
func (r *regional) zonesOf(ctx context.Context, names []string, subnets map[string]subnet) (map[string][]string, error) {
	zones := map[string][]string{}
	for names := range slices.Chunk(names, maxFilterValues) {
		in := &ec2.DescribeInstanceTypeOfferingsInput{
			LocationType: types.LocationTypeAvailabilityZone, MaxResults: sdk.Int32(1000),
			Filters: []filter{{Name: sdk.String("instance-type"), Values: names}},
		}
		for pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(r.ec2, in); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, refused(err)
			}
			for _, o := range page.InstanceTypeOfferings {
				if zone := sdk.ToString(o.Location); subnets[zone].id != "" {
					zones[string(o.InstanceType)] = append(zones[string(o.InstanceType)], zone)
				}
			}
		}
	}
	for _, z := range zones {
		slices.Sort(z)
	}
	return zones, nil
}

// places returns the subnets that offer a type: the zone's, or those of all its zones for "".
func (c *catalog) places(typ, zone string) []subnet {
	var places []subnet
	for _, z := range c.zones[typ] {
		if zone == "" || z == zone {
			places = append(places, c.subnet[z])
		}
	}
	return places
}
