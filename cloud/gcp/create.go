package gcp

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"

	"fsub/cloud/google"
	"fsub/cloud/provider"
)

// launch is all that a gang's request says, before it is put into Google's words.
type launch struct {
	r      *provider.Request
	name   string // of the gang, and of what is made for it
	note   string
	policy string       // placement or workload policy that is made for it; "": none
	of     *reservation // that its machines take of; nil: none
}

// Create starts a gang by bulkInsert, or by a resize request for machines that are queued. The machines' order is that of Request.Names.
func (p *Provider) Create(ctx context.Context, r provider.Request) ([]provider.Instance, error) {
	l, err := p.prepare(&r)
	if err == nil {
		l.of, err = p.reservations.of(ctx, &r.Offering)
	}
	if err != nil {
		return nil, err
	}
	if l.of != nil && (len(l.of.GetResourcePolicies()) > 0 || !l.of.dense()) {
		l.policy = "" // it takes no other than its own
	}
	p.left.Begin(l.name, r.Near || l.flex())
	defer p.left.End(l.name)
	var made []provider.Instance
	if l.flex() {
		made, err = p.queue(ctx, l)
	} else {
		made, err = p.insert(ctx, l)
	}
	if err != nil {
		err = google.Without(refused(err), r.Boot.Token)
		p.cleanUp(ctx, l, err)
		return nil, err
	}
	return made, nil
}

// mostMachines is how many machines one call makes.
const mostMachines = 1000

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// prepare checks a request.
func (p *Provider) prepare(r *provider.Request) (*launch, error) {
	o := &r.Offering
	switch {
	case !tokenForm.MatchString(r.Token) || r.Count < 1 || len(r.Names) != r.Count || slices.Contains(r.Names, ""):
		return nil, provider.Invalid("a gang of %d with %d names and token %q", r.Count, len(r.Names), r.Token)
	case r.Count > mostMachines:
		return nil, provider.Invalid("a gang of %d: Google makes at most %d machines at a time", r.Count, mostMachines)
	case r.Near && o.MaxGang == 0:
		return nil, provider.Invalid("%s has no compact placement", o.Type)
	case o.Region != p.cfg.Region:
		return nil, provider.Invalid("region %s is not configured", o.Region)
	case !typeForm.MatchString(o.Type) || !nameForm.MatchString(o.Zone):
		return nil, provider.Invalid("there is no type %q in zone %q", o.Type, o.Zone)
	}
	l := &launch{r: r}
	l.name = p.cfg.gangName(r.Token, l.flex())
	if r.Near {
		l.policy = l.name
	}
	var err error
	l.note, err = p.cfg.note(r)
	return l, err
}

// flex reports whether Google queues the request.
func (l *launch) flex() bool { return l.r.Offering.Market == provider.Flex }

// insert asks for the machines of a gang at once, all or none.
func (p *Provider) insert(ctx context.Context, l *launch) ([]provider.Instance, error) {
	if l.policy != "" {
		if err := p.makePolicy(ctx, l); err != nil {
			return nil, err
		}
	}
	each := make(map[string]*computepb.BulkInsertInstanceResourcePerInstanceProperties, l.r.Count)
	for i := range l.r.Count {
		each[instanceName(l.name, i)] = &computepb.BulkInsertInstanceResourcePerInstanceProperties{}
	}
	n := proto.Int64(int64(l.r.Count))
	op, err := p.api.instances.BulkInsert(ctx, &computepb.BulkInsertInstanceRequest{
		Project: p.cfg.Project, Zone: l.r.Offering.Zone, RequestId: proto.String(google.RequestID(p.cfg.Federation, p.cfg.Site, l.r.Token)),
		BulkInsertInstanceResourceResource: &computepb.BulkInsertInstanceResource{Count: n, MinCount: n, PerInstanceProperties: each, InstanceProperties: p.cfg.properties(l)},
	}, once)
	if err == nil {
		err = p.done(ctx, op.Proto())
	}
	if isKind(err, provider.KindNotFound) {
		e := *provider.AsError(refused(err)) // the type, the image or the network is not there
		e.Kind = provider.KindInvalid
		return nil, &e
	}
	if err != nil && !isKind(err, provider.KindConflict) {
		return nil, err
	}
	return p.made(ctx, l, err)
}

// made returns the machines that an equal request has made, now or before. cause is an error that may mean that they exist.
func (p *Provider) made(ctx context.Context, l *launch, cause error) ([]provider.Instance, error) {
	made := make([]provider.Instance, l.r.Count)
	for i := range made { // those that have ended and are not shown any more
		name := instanceName(l.name, i)
		made[i] = provider.Instance{ID: instanceID(l.r.Offering.Zone, name), Token: l.r.Token, Name: l.r.Names[i], Offering: l.r.Offering.ID, State: provider.InstanceEnded, Reason: "it has ended"}
	}
	there, other, said := 0, false, notes{}
	it := p.api.instances.List(ctx, &computepb.ListInstancesRequest{
		Project: p.cfg.Project, Zone: l.r.Offering.Zone, MaxResults: proto.Uint32(pageSize), Filter: proto.String(fmt.Sprintf("labels.%s = %q", labelGang, l.name)),
	}, once)
	err := each(it.Next, func(i *computepb.Instance) error {
		_, at, ok := gangOf(i.GetName())
		if other = other || said.read(i.GetDescription()).Request != requestHash(l.r) || !ok || at >= len(made); !other {
			made[at] = said.instance(i)
			there++
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case other:
		return nil, &provider.Error{Kind: provider.KindConflict, Scope: provider.ScopeOffering, Text: "the token was used for another request"}
	case there == 0 && cause != nil:
		return nil, cause
	case there == 0:
		return nil, &provider.Error{Kind: provider.KindConflict, Scope: provider.ScopeOffering, Text: "the machines of this token have ended"}
	}
	return made, nil
}

// properties are what each machine of a gang is made with.
func (c *Config) properties(l *launch) *computepb.InstanceProperties {
	o := &l.r.Offering
	labels := map[string]string{google.LabelFederation: google.LabelValue(c.Federation), google.LabelSite: google.LabelValue(string(c.Site)), labelGang: l.name}
	for k, v := range c.Labels {
		labels[k] = v
	}
	props := &computepb.InstanceProperties{
		Description: proto.String(l.note), MachineType: proto.String(o.Type), Labels: labels,
		Disks: []*computepb.AttachedDisk{{Boot: proto.Bool(true), AutoDelete: proto.Bool(true), InitializeParams: c.disk(o, labels)}},
		Metadata: &computepb.Metadata{Items: []*computepb.Items{
			{Key: proto.String("startup-script"), Value: proto.String(l.r.Boot.Script())},
			{Key: proto.String("block-project-ssh-keys"), Value: proto.String("true")},
		}},
		NetworkInterfaces: c.networks(l), Scheduling: c.scheduling(l),
	}
	if c.ServiceAccount != "" {
		props.ServiceAccounts = []*computepb.ServiceAccount{{Email: proto.String(c.ServiceAccount), Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"}}}
	}
	if l.of != nil {
		props.ReservationAffinity = &computepb.ReservationAffinity{
			ConsumeReservationType: proto.String("SPECIFIC_RESERVATION"), Key: proto.String("compute.googleapis.com/reservation-name"), Values: []string{o.Reservation},
		}
	} else {
		props.ReservationAffinity = &computepb.ReservationAffinity{ConsumeReservationType: proto.String("NO_RESERVATION")}
	}
	switch { // by their names: only here Google takes no URLs
	case l.of != nil && len(l.of.GetResourcePolicies()) > 0:
		props.ResourcePolicies = l.of.policies()
	case l.policy != "" && !l.flex(): // an instance group has it itself
		props.ResourcePolicies = []string{l.policy}
	}
	return props
}

// scheduling says how the machines are paid for. A machine that fails or whose host does is not started again: its job has gone on elsewhere by then.
func (c *Config) scheduling(l *launch) *computepb.Scheduling {
	s := &computepb.Scheduling{AutomaticRestart: proto.Bool(false), OnHostMaintenance: proto.String("TERMINATE")}
	bound := l.of != nil && (l.of.dense() || l.r.Offering.Market == provider.Block)
	switch {
	case l.r.Offering.Market == provider.Spot:
		s.ProvisioningModel, s.InstanceTerminationAction = proto.String("SPOT"), proto.String("DELETE")
	case l.flex():
		s.ProvisioningModel, s.InstanceTerminationAction = proto.String("FLEX_START"), proto.String("DELETE")
		s.MaxRunDuration = &computepb.Duration{Seconds: proto.Int64(int64(c.flexRun(l.r).Seconds()))}
	case bound:
		s.ProvisioningModel, s.InstanceTerminationAction = proto.String("RESERVATION_BOUND"), proto.String("DELETE")
	}
	return s
}

// flexRun is for how long flex-start machines are asked for. The shorter it is, the sooner Google has them.
func (c *Config) flexRun(r *provider.Request) time.Duration {
	if r.Run == 0 {
		return c.FlexRun
	}
	return min(max(r.Run, flexLeast), c.FlexRun)
}

// hyper are the families that take no persistent disks.
var hyper = []string{"a3-ultragpu-", "a4-", "a4x-", "c4-", "c4a-", "c4d-", "g4-", "n4-", "h4d-"}

func (c *Config) disk(o *provider.Offering, labels map[string]string) *computepb.AttachedDiskInitializeParams {
	kind := c.DiskType
	if kind == "" {
		kind = "pd-balanced"
		if slices.ContainsFunc(hyper, func(family string) bool { return strings.HasPrefix(o.Type, family) }) {
			kind = "hyperdisk-balanced"
		}
	}
	image, own := c.image(o)
	d := &computepb.AttachedDiskInitializeParams{SourceImage: proto.String(image), DiskType: proto.String(kind), Labels: labels}
	if size := c.DiskGiB; size > 0 {
		d.DiskSizeGb = proto.Int64(int64(size))
	} else if !own {
		d.DiskSizeGb = proto.Int64(defaultDisk)
	}
	return d
}

func (c *Config) networks(l *launch) []*computepb.NetworkInterface {
	first := &computepb.NetworkInterface{}
	switch {
	case c.Subnetwork != "":
		first.Subnetwork = proto.String(c.subnetPath(c.Subnetwork))
	case strings.Contains(c.Network, "/"):
		first.Network = proto.String(c.Network)
	case c.Network != "":
		first.Network = proto.String("projects/" + c.Project + "/global/networks/" + c.Network)
	default:
		first.Network = proto.String("projects/" + c.Project + "/global/networks/default")
	}
	if !c.NoAddress {
		first.AccessConfigs = []*computepb.AccessConfig{{Name: proto.String("External NAT"), Type: proto.String("ONE_TO_ONE_NAT")}}
	}
	all := []*computepb.NetworkInterface{first}
	if l.r.Near {
		for _, name := range c.MoreSubnetworks {
			all = append(all, &computepb.NetworkInterface{Subnetwork: proto.String(c.subnetPath(name)), NicType: proto.String("GVNIC")})
		}
	}
	return all
}

func (c *Config) subnetPath(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return "projects/" + c.Project + "/regions/" + c.Region + "/subnetworks/" + name
}

func (c *Config) policyPath(name string) string {
	return "projects/" + c.Project + "/regions/" + c.Region + "/resourcePolicies/" + name
}

// done waits until an operation has come to its end, and returns its error.
func (p *Provider) done(ctx context.Context, op *computepb.Operation) (err error) {
	for op.GetStatus() != computepb.Operation_DONE {
		name := op.GetName()
		switch {
		case op.GetZone() != "":
			op, err = p.api.zonal.Wait(ctx, &computepb.WaitZoneOperationRequest{Project: p.cfg.Project, Zone: google.Base(op.GetZone()), Operation: name}, once)
		case op.GetRegion() != "":
			op, err = p.api.regional.Wait(ctx, &computepb.WaitRegionOperationRequest{Project: p.cfg.Project, Region: google.Base(op.GetRegion()), Operation: name}, once)
		default:
			op, err = p.api.global.Wait(ctx, &computepb.WaitGlobalOperationRequest{Project: p.cfg.Project, Operation: name}, once)
		}
		if err != nil {
			if e := provider.AsError(refused(err)); e.Kind != provider.KindThrottled && e.Kind != provider.KindUnavailable {
				// Not to see how it goes proves nothing of how it goes.
				return &provider.Error{Kind: provider.KindUnavailable, Scope: e.Scope, Code: e.Code, Text: "operation " + name + " cannot be read: " + e.Text, Err: err}
			}
			return err
		}
	}
	return failed(op)
}
