package ec2

import (
	"cmp"
	"encoding/base64"
	"math"
	"slices"
	"strings"
	"time"

	"fsub/testbed/ec2/model"
)

// The markets.
const (
	onDemand = "on-demand"
	spot     = "spot"
	block    = "capacity-block"
)

// maxUserData is Amazon's bound on user data before it is encoded.
const maxUserData = 16384

// launch is a request for instances that was found good, and how many of them it can have.
type launch struct {
	id          string // the reservation's, "r-..."
	token       string
	typ         *Type
	zone        string
	subnet      string
	market      string
	image       string
	count       int
	group       *group
	reservation *reservation // whose capacity it takes
	userData    []byte
	shutdown    string // stop, terminate
	tags        map[string]string
	metadata    model.Doc // MetadataOptions as asked for
	args        model.Doc
}

// plan checks what RunInstances asks for, against everything but DryRun, and finds a zone for it. Nothing is changed. The lock is held.
func (c *Cloud) plan(args model.Doc) (*launch, error) {
	l := &launch{id: newID("r"), token: args.Str("ClientToken"), args: args, shutdown: "stop", market: onDemand, metadata: args.Sub("MetadataOptions")}
	if s := args.Str("InstanceInitiatedShutdownBehavior"); s != "" {
		l.shutdown = s
	}
	if args.Int("MinCount") < 1 || args.Int("MaxCount") < args.Int("MinCount") {
		return nil, refuse("InvalidParameterValue", "Value (%d) for parameter minCount is invalid. It must be at least 1 and at most maxCount.", args.Int("MinCount"))
	}
	for _, check := range []func(*launch) error{c.planType, c.planImage, c.planUserData, c.planTags, c.planMarket, c.planGroup, c.planNetwork, c.planNames, c.planReservation} {
		if err := check(l); err != nil {
			return nil, err
		}
	}
	return l, c.planZone(l)
}

func (c *Cloud) planType(l *launch) error {
	name := l.args.Str("InstanceType")
	str(&name, "m1.small")
	if l.typ = c.types[name]; l.typ == nil {
		return refuse("Unsupported", "The requested configuration is currently not supported. Please check the documentation for supported configurations.")
	}
	return nil
}

// planImage finds the image, or that which a parameter of the parameter store would name.
func (c *Cloud) planImage(l *launch) error {
	l.image = l.args.Str("ImageId")
	if l.image == "" {
		return refuse("MissingParameter", "The request must contain the parameter ImageId")
	}
	if name, ok := strings.CutPrefix(l.image, "resolve:ssm:"); ok {
		for _, i := range c.cfg.Images {
			if strings.HasSuffix(name, i.Arch) || strings.Contains(name, "/"+i.Arch+"/") || l.typ.Arch == i.Arch {
				l.image = i.ID
			}
		}
	}
	i := slices.IndexFunc(c.cfg.Images, func(i Image) bool { return i.ID == l.image })
	switch {
	case !strings.HasPrefix(l.image, "ami-"):
		return refuse("InvalidAMIID.Malformed", "Invalid id: %q (expecting \"ami-...\")", l.image)
	case i < 0:
		return refuse("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", l.image)
	case c.cfg.Images[i].Arch != l.typ.Arch:
		return refuse("InvalidParameterValue", "The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI. "+
			"Specify an instance type and an AMI that have matching architectures, and try again.", l.typ.Arch, c.cfg.Images[i].Arch)
	}
	return c.cfg.Images[i].fits(l.args.Docs("BlockDeviceMappings"))
}

// fits wants volumes to have room for the image.
func (i *Image) fits(volumes []model.Doc) error {
	least := cmp.Or(i.GiB, 8)
	for _, v := range volumes {
		if disk := v.Sub("Ebs"); disk.Has("VolumeSize") && disk.Int("VolumeSize") < least {
			return refuse("InvalidBlockDeviceMapping", "Volume of size %dGB is smaller than snapshot 'snap-%s', expect size >= %dGB", disk.Int("VolumeSize"), strings.TrimPrefix(i.ID, "ami-"), least)
		}
	}
	return nil
}

func (c *Cloud) planUserData(l *launch) error {
	data, err := base64.StdEncoding.DecodeString(l.args.Str("UserData"))
	if err != nil {
		return refuse("InvalidParameterValue", "Invalid BASE64 encoding of user data")
	}
	if len(data) > maxUserData {
		return refuse("InvalidParameterValue", "User data is limited to 16384 bytes")
	}
	l.userData = data
	return nil
}

func (c *Cloud) planTags(l *launch) (err error) {
	if _, err = tagsFor(l.args, "volume", "network-interface", "spot-instances-request", "instance"); err != nil {
		return err
	}
	l.tags, err = tagsOf(l.args, "instance")
	return err
}

func (c *Cloud) planMarket(l *launch) error {
	options := l.args.Sub("InstanceMarketOptions")
	switch kind := options.Str("MarketType"); kind {
	case "":
	case spot, block:
		l.market = kind
	default:
		return refuse("UnsupportedOperation", "The stand-in knows no market %q", kind)
	}
	if l.market != block && !slices.Contains(l.typ.Usage, l.market) {
		return refuse("UnsupportedOperation", "The instance type %s does not support the purchase option %s.", l.typ.Name, l.market)
	}
	o := options.Sub("SpotOptions")
	if o.Str("SpotInstanceType") == "persistent" {
		return refuse("UnsupportedOperation", "The stand-in knows no persistent spot requests")
	}
	if b := o.Str("InstanceInterruptionBehavior"); b == "stop" || b == "hibernate" {
		return refuse("InvalidParameterCombination", "One-time Spot instance requests can't have the interruption behavior %s", b)
	}
	return nil
}

// planNames checks the names of things that must exist.
func (c *Cloud) planNames(l *launch) error {
	if p := l.args.Sub("IamInstanceProfile"); p != nil {
		name := p.Str("Name")
		if arn := p.Str("Arn"); arn != "" {
			name = arn[strings.LastIndex(arn, "/")+1:]
		}
		if !slices.Contains(c.cfg.Profiles, name) {
			return refuse("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", name)
		}
	}
	if key := l.args.Str("KeyName"); key != "" {
		return refuse("InvalidKeyPair.NotFound", "The key pair '%s' does not exist", key)
	}
	return nil
}

// planZone chooses a zone that has enough, if none was asked for, and says how many the launch gets.
func (c *Cloud) planZone(l *launch) error {
	zones := c.cfg.Zones
	if l.zone != "" {
		zones = []string{l.zone}
	}
	var first error
	for _, zone := range zones {
		n, err := c.available(l, zone)
		if err == nil {
			l.zone, l.count = zone, n
			return nil
		}
		if first == nil || l.zone == "" && codeOf(first) == "Unsupported" {
			first = err
		}
	}
	return first
}

// available returns how many instances of a launch a zone can give, at least MinCount.
func (c *Cloud) available(l *launch, zone string) (int, error) {
	least, n := l.args.Int("MinCount"), l.args.Int("MaxCount")
	if !l.typ.offered(zone) {
		return 0, refuse("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s). "+
			"Please retry your request by not specifying an Availability Zone or choosing another.", l.typ.Name, zone)
	}
	if price := l.args.Sub("InstanceMarketOptions").Sub("SpotOptions").Str("MaxPrice"); price != "" && l.market == spot {
		if now := l.typ.spotPrice(zone); number(price) < now {
			return 0, refuse("SpotMaxPriceTooLow", "Your Spot request price of %s is lower than the minimum required Spot request fulfillment price of %.4f.", price, now)
		}
	}
	if quota, ok := c.Quota(l.market); ok {
		if n = min(n, (quota-c.usedCPUs(l.market))/l.typ.CPUs); n < least {
			return 0, quotaError(l.market, quota)
		}
	}
	if l.reservation != nil {
		if n = min(n, l.reservation.free(c)); n < least {
			return 0, refuse("ReservationCapacityExceeded", "The requested reservation does not have sufficient compatible and available capacity for this request.")
		}
		return n, nil
	}
	if n = min(n, c.inStock(l.typ.Name, zone, l.market)); n < least {
		return 0, stockOut(l.typ.Name, zone, l.market)
	}
	return n, nil
}

// inStock is how many more instances of these there are.
func (c *Cloud) inStock(typ, zone, market string) int {
	return c.InStock(Pool{Type: typ, Zone: zone, Market: market}, func(yield func(Pool) bool) {
		for _, in := range c.order {
			if in.alive() && in.launch.reservation == nil && !yield(in.launch.pool()) {
				return
			}
		}
	})
}

func (l *launch) pool() Pool { return Pool{Type: l.typ.Name, Zone: l.zone, Market: l.market} }

func (c *Cloud) usedCPUs(market string) int {
	n := 0
	for _, in := range c.order {
		if in.alive() && in.launch.market == market {
			n += in.launch.typ.CPUs
		}
	}
	return n
}

func stockOut(typ, zone, market string) error {
	if market == spot {
		return &apiError{500, "InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request."}
	}
	return &apiError{500, "InsufficientInstanceCapacity", "We currently do not have sufficient " + typ + " capacity in the Availability Zone you requested (" + zone +
		"). Our system will be working on provisioning additional capacity."}
}

func quotaError(market string, quota int) error {
	if market == spot {
		return refuse("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
	}
	return refuse("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket that the specified instance "+
		"type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.", quota)
}

// make creates the instances of a launch, pending. The lock is held.
func (c *Cloud) make(l *launch) []*instance {
	var out []*instance
	for i := range l.count {
		c.seq++
		in := &instance{id: newID("i"), seq: c.seq, launch: l, index: i, addr: c.Address(c.seq), launched: time.Now().UTC(), tags: clone(l.tags)}
		in.become(pending)
		c.instances[in.id] = in
		c.order = append(c.order, in)
		out = append(out, in)
	}
	return out
}

// begins lets instances that were made boot. The lock is held.
func (c *Cloud) begins(made []*instance) {
	if len(made) == 0 {
		return
	}
	l := made[0].launch
	die := int(math.Ceil(c.BootOf(l.pool()).Die * float64(len(made))))
	for i, in := range made {
		c.start(in, i >= len(made)-die)
	}
}
