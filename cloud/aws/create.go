package aws

import (
	"context"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
)

// launch is all that a gang's request says, before it is put into the words of RunInstances or of a
// launch template.
type launch struct {
	r        *provider.Request
	tags     map[string]string
	image    image
	info     types.InstanceTypeInfo
	zones    []subnet // where they may be: one, or all of the type's for a fleet
	group    string   // placement group; "": none
	userData string   // base64
}

// Create starts a gang by RunInstances, or by CreateFleet where the offering is of any zone. The
// machines' order is that of Request.Names.
func (p *Provider) Create(ctx context.Context, r provider.Request) ([]provider.Instance, error) {
	reg, l, err := p.prepare(ctx, &r)
	if err != nil {
		return nil, err
	}
	reg.left.Begin(r.Token, l.group != "" || l.fleet())
	defer reg.left.End(r.Token)
	if l.group != "" {
		if err := reg.makeGroup(ctx, l); err != nil {
			return nil, err
		}
	}
	var made []provider.Instance
	if l.fleet() {
		made, err = p.runFleet(ctx, reg, l)
	} else {
		made, err = p.run(ctx, reg, l)
	}
	if hasCode(err, "IdempotentParameterMismatch", "IdempotentInstanceTerminated") {
		// The token is known, and the words differ. They may be the same request: images are looked
		// up by name, and the configuration may have changed since. Or the machines have ended already.
		made, err = p.made(ctx, reg, l, err)
	}
	if err != nil {
		err = refused(err)
		reg.cleanUp(ctx, p, l, err)
		return nil, err
	}
	return made, nil
}

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// prepare checks a request and finds out what it does not say.
func (p *Provider) prepare(ctx context.Context, r *provider.Request) (*regional, *launch, error) {
	o := &r.Offering
	if !tokenForm.MatchString(r.Token) || r.Count < 1 || len(r.Names) != r.Count || slices.Contains(r.Names, "") {
		return nil, nil, invalid("a gang of %d with %d names and token %q", r.Count, len(r.Names), r.Token)
	}
	if r.Near && o.MaxGang == 0 {
		return nil, nil, invalid("%s cannot be put into a placement group", o.Type)
	}
	reg := p.region
	if o.Region != reg.Name {
		return nil, nil, invalid("region %s is not configured", o.Region)
	}
	c, err := reg.known(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	l := &launch{r: r, zones: c.places(o.Type, o.Zone), info: c.types[o.Type]}
	if len(l.zones) == 0 {
		return nil, nil, invalid("%s is not available in %s, or no subnet is configured there", o.Type, o.Zone)
	}
	if l.efa() {
		if err := reg.mayUseEFA(ctx, p, l.zones[0].vpc); err != nil {
			return nil, nil, err
		}
	}
	if l.image, err = reg.imageFor(ctx, p, o.Type, o.Arch, o.GPUs > 0); err != nil {
		return nil, nil, err
	}
	if l.image.gib > 0 && l.image.root == "" {
		return nil, nil, invalid("a volume of %d GiB is asked for, and the name of the image's root volume is not known: set the root device (/dev/xvda for Amazon Linux, /dev/sda1 for Ubuntu)", p.cfg.VolumeGiB)
	}
	if l.tags, err = p.gangTags(r); err != nil {
		return nil, nil, err
	}
	if l.fleet() {
		l.tags[tagFleet] = "yes"
	}
	if l.userData, err = userData(r.Boot); err != nil {
		return nil, nil, err
	}
	if r.Near && o.Market != provider.Block { // the machines of a block are near to each other without a group
		l.group = p.resourceName(r.Token)
	}
	return reg, l, nil
}

// maxUserData is what EC2 takes, before base64.
const maxUserData = 16 << 10

func userData(b agentapi.Boot) (string, error) {
	script := b.Script()
	if len(script) > maxUserData {
		return "", invalid("the boot script has %d bytes, and EC2 takes %d", len(script), maxUserData)
	}
	return base64.StdEncoding.EncodeToString([]byte(script)), nil
}

// resourceName names what is made for one gang besides its machines.
func (p *Provider) resourceName(token string) string {
	return "fsub-" + string(p.cfg.Site) + "-" + token
}

// fleet reports whether AWS chooses the zone.
func (l *launch) fleet() bool { return l.r.Offering.Zone == "" }

// efa reports whether the machines get their fast network, which is of use among near ones only.
func (l *launch) efa() bool { return l.r.Near && efaInterfaces(&l.info) > 0 }

func (l *launch) specs(kinds ...types.ResourceType) []types.TagSpecification {
	var specs []types.TagSpecification
	for _, k := range kinds {
		specs = append(specs, types.TagSpecification{ResourceType: k, Tags: sdkTags(l.tags)})
	}
	return specs
}

// run asks for the machines of a gang in one zone.
func (p *Provider) run(ctx context.Context, reg *regional, l *launch) ([]provider.Instance, error) {
	out, err := reg.ec2.RunInstances(ctx, p.runInput(reg, l))
	if err != nil {
		return nil, err
	}
	return l.inOrder(out.Instances), nil
}

func (p *Provider) runInput(reg *regional, l *launch) *ec2.RunInstancesInput {
	o := &l.r.Offering
	in := &ec2.RunInstancesInput{
		MinCount: sdk.Int32(int32(l.r.Count)), MaxCount: sdk.Int32(int32(l.r.Count)),
		ClientToken: sdk.String(l.r.Token), ImageId: sdk.String(l.image.id), InstanceType: types.InstanceType(o.Type), UserData: sdk.String(l.userData),
		InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorTerminate,
		// Tokens only, so that a job that can be made to fetch an address does not reach the
		// metadata; two hops, for jobs in containers.
		MetadataOptions: &types.InstanceMetadataOptionsRequest{
			HttpEndpoint: types.InstanceMetadataEndpointStateEnabled, HttpTokens: types.HttpTokensStateRequired,
			HttpPutResponseHopLimit: sdk.Int32(2), InstanceMetadataTags: types.InstanceMetadataTagsStateEnabled,
		},
		TagSpecifications: l.specs(types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeNetworkInterface),
	}
	if p.cfg.KeyName != "" {
		in.KeyName = sdk.String(p.cfg.KeyName)
	}
	if profile := p.cfg.InstanceProfile; strings.HasPrefix(profile, "arn:") {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Arn: sdk.String(profile)}
	} else if profile != "" {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: sdk.String(profile)}
	}
	if l.image.gib > 0 {
		in.BlockDeviceMappings = []types.BlockDeviceMapping{{DeviceName: sdk.String(l.image.root), Ebs: &types.EbsBlockDevice{
			VolumeSize: sdk.Int32(int32(l.image.gib)), VolumeType: types.VolumeTypeGp3, DeleteOnTermination: sdk.Bool(true),
		}}}
	}
	if l.group != "" {
		in.Placement = &types.Placement{GroupName: sdk.String(l.group)}
	}
	market(in, o)
	network(in, reg, l)
	return in
}

// market says how the machines are paid for.
func market(in *ec2.RunInstancesInput, o *provider.Offering) {
	switch o.Market {
	case provider.Spot:
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot, SpotOptions: &types.SpotMarketOptions{
			SpotInstanceType: types.SpotInstanceTypeOneTime, InstanceInterruptionBehavior: types.InstanceInterruptionBehaviorTerminate,
		}}
		in.TagSpecifications = append(in.TagSpecifications, types.TagSpecification{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: in.TagSpecifications[0].Tags})
	case provider.Block:
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock}
	}
	if o.Reservation != "" {
		in.CapacityReservationSpecification = &types.CapacityReservationSpecification{
			CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: sdk.String(o.Reservation)},
		}
	}
}

// inOrder are a gang's machines by their place in it.
func (l *launch) inOrder(all []types.Instance) []provider.Instance {
	slices.SortFunc(all, func(a, b types.Instance) int {
		return int(sdk.ToInt32(a.AmiLaunchIndex)) - int(sdk.ToInt32(b.AmiLaunchIndex))
	})
	made, names := make([]provider.Instance, len(all)), nameLists{}
	for i := range all {
		if len(all[i].Tags) == 0 {
			all[i].Tags = sdkTags(l.tags)
		}
		made[i] = names.instance(&all[i])
	}
	return made
}

// made returns the machines that an equal request has made before. cause is why that is asked.
func (p *Provider) made(ctx context.Context, reg *regional, l *launch, cause error) ([]provider.Instance, error) {
	found, err := p.find(ctx, reg, tagFilter(tagSite, string(p.cfg.Site)), tagFilter(tagGang, l.r.Token), tagFilter(tagRequest, l.tags[tagRequest]))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, cause
	}
	if l.fleet() {
		l.nameByID(found)
	} else {
		at := map[string]int{}
		for i, n := range l.r.Names {
			at[n] = i
		}
		slices.SortFunc(found, func(a, b provider.Instance) int { return at[a.Name] - at[b.Name] })
	}
	return found, nil
}
