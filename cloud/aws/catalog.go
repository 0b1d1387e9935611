package aws

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// catalogTTL is how long types, zones, subnets and images are taken to stay as they are.
const catalogTTL = 6 * time.Hour

// catalog is what a region has to rent, as far as it is wanted. Its mutex is held while it is fetched: others wait for the one answer.
type catalog struct {
	mu     sync.Mutex
	at     time.Time
	types  map[string]types.InstanceTypeInfo
	zones  map[string][]string // of a type, names; only those that have a subnet of ours
	subnet map[string]subnet   // by zone
	images map[string]image    // by specification and architecture
}

type subnet struct {
	id, zone, zoneID string
}

// known returns the region's catalog with the types of the reservations, at most catalogTTL old, or the last one if there is no newer to be had.
func (r *regional) known(ctx context.Context, p *Provider, reserved ...types.CapacityReservation) (*catalog, error) {
	c := &r.catalog
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := !c.at.IsZero() && p.now().Sub(c.at) < catalogTTL
	for _, res := range reserved {
		if _, ok := c.types[sdk.ToString(res.InstanceType)]; !ok && p.now().Sub(c.at) > 10*time.Minute {
			fresh = false // it has become active since
		}
	}
	if fresh {
		return c, nil
	}
	err := r.learn(ctx, p, c)
	if err != nil && c.at.IsZero() {
		return nil, err
	}
	if err != nil {
		p.log.Warn("machine types are not known anew: the old ones are kept", "region", r.Name, "err", err)
	}
	return c, nil
}

func (r *regional) learn(ctx context.Context, p *Provider, c *catalog) error {
	subnets, err := r.subnets(ctx)
	if err != nil {
		return err
	}
	reserved, err := r.reservations(ctx, p)
	if err != nil {
		return err
	}
	patterns := p.cfg.patterns()
	for _, res := range reserved {
		patterns = append(patterns, sdk.ToString(res.InstanceType))
	}
	infos, err := r.instanceTypes(ctx, patterns)
	if err != nil {
		return err
	}
	for _, pattern := range patterns {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(infos)), func(t string) bool { ok, _ := path.Match(pattern, t); return ok }) {
			p.log.Warn("the region has no such machine type", "region", r.Name, "type", pattern)
		}
	}
	zones, err := r.zonesOf(ctx, slices.Sorted(maps.Keys(infos)), subnets)
	if err != nil {
		return err
	}
	c.types, c.zones, c.subnet, c.images, c.at = infos, zones, subnets, map[string]image{}, p.now()
	return nil
}

// patterns are the types that are wanted, each once.
func (c *Config) patterns() []string {
	var names []string
	for _, t := range c.Types {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// subnets returns one subnet for each zone: of several the first by ID, so that a request that is sent again says the same.
func (r *regional) subnets(ctx context.Context) (map[string]subnet, error) {
	in := &ec2.DescribeSubnetsInput{}
	switch {
	case len(r.Subnets) > 0:
		in.SubnetIds = r.Subnets
	case r.VPC != "":
		in.Filters = []filter{{Name: sdk.String("vpc-id"), Values: []string{r.VPC}}}
	default:
		in.Filters = []filter{{Name: sdk.String("default-for-az"), Values: []string{"true"}}}
	}
	found := map[string]subnet{}
	for pages := ec2.NewDescribeSubnetsPaginator(r.ec2, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, refused(err)
		}
		for _, s := range page.Subnets {
			one := subnet{sdk.ToString(s.SubnetId), sdk.ToString(s.AvailabilityZone), sdk.ToString(s.AvailabilityZoneId)}
			if len(r.Zones) > 0 && !slices.Contains(r.Zones, one.zone) {
				continue
			}
			if old, ok := found[one.zone]; !ok || one.id < old.id {
				found[one.zone] = one
			}
		}
	}
	if len(found) == 0 {
		return nil, invalid("region %s has no subnet for machines: configure subnets or a vpc, or make the default one with: aws ec2 create-default-vpc", r.Name)
	}
	return found, nil
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

// image is what machines boot.
type image struct {
	id   string // "ami-...", or "resolve:ssm:..." that EC2 itself resolves
	root string // name of the root volume; "" where it is not known
}

// imageSpec is one value of Config.Images, read.
type imageSpec struct {
	id          string
	owner, name string
}

func parseImage(s string) (imageSpec, error) {
	switch owner, name, slash := strings.Cut(s, "/"); {
	case strings.HasPrefix(s, "ami-"), strings.HasPrefix(s, "resolve:ssm:") && len(s) > len("resolve:ssm:"):
		return imageSpec{id: s}, nil
	case slash && owner != "" && name != "" && !strings.Contains(owner, ":"):
		return imageSpec{owner: owner, name: name}, nil
	}
	return imageSpec{}, fmt.Errorf(`aws: image %q: give "ami-...", "resolve:ssm:/PARAMETER" or "OWNER/NAME" (owner self, amazon or an account's number)`, s)
}

// imageFor returns what a type's machines boot.
func (r *regional) imageFor(ctx context.Context, p *Provider, arch string, gpu bool) (image, error) {
	spec, err := parseImage(p.cfg.imageText(&r.Region, arch, gpu))
	if err != nil {
		return image{}, err
	}
	if strings.HasPrefix(spec.id, "resolve:") || spec.id != "" && p.cfg.VolumeGiB == 0 {
		return image{id: spec.id, root: p.cfg.RootDevice}, nil
	}
	c := &r.catalog
	c.mu.Lock()
	defer c.mu.Unlock()
	key := fmt.Sprint(spec, arch)
	if found, ok := c.images[key]; ok {
		return found, nil
	}
	found, err := r.findImage(ctx, spec, arch)
	if err == nil && c.images != nil {
		c.images[key] = found
	}
	return found, err
}

// imageText picks the most particular of the images that are configured. A type with GPUs takes the plain one of its architecture before a default.
func (c *Config) imageText(r *Region, arch string, gpu bool) string {
	for _, images := range []map[string]string{r.Images, c.Images} {
		if gpu && images[arch+"/gpu"] != "" {
			return images[arch+"/gpu"]
		}
		if images[arch] != "" {
			return images[arch]
		}
	}
	if gpu {
		return defaultImages[arch+"/gpu"]
	}
	return defaultImages[arch]
}

func (r *regional) findImage(ctx context.Context, spec imageSpec, arch string) (image, error) {
	in := &ec2.DescribeImagesInput{Filters: []filter{{Name: sdk.String("architecture"), Values: []string{arch}}}}
	if spec.id != "" {
		in.ImageIds = []string{spec.id}
	} else {
		in.Owners = []string{spec.owner}
		in.Filters = append(in.Filters, filter{Name: sdk.String("name"), Values: []string{spec.name}}, filter{Name: sdk.String("state"), Values: []string{"available"}})
	}
	var all []types.Image
	for pages := ec2.NewDescribeImagesPaginator(r.ec2, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return image{}, refused(err)
		}
		all = append(all, page.Images...)
	}
	if len(all) == 0 {
		return image{}, invalid("region %s has no image %s for %s", r.Name, cmp.Or(spec.id, spec.owner+"/"+spec.name), arch)
	}
	// The date is written in ISO 8601: the newest is the greatest. The ID settles a tie.
	newest := slices.MaxFunc(all, func(a, b types.Image) int {
		return cmp.Or(cmp.Compare(sdk.ToString(a.CreationDate), sdk.ToString(b.CreationDate)), cmp.Compare(sdk.ToString(a.ImageId), sdk.ToString(b.ImageId)))
	})
	return image{id: sdk.ToString(newest.ImageId), root: sdk.ToString(newest.RootDeviceName)}, nil
}
