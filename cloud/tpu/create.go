package tpu

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	tpuapi "google.golang.org/api/tpu/v2alpha1"

	"fsub/cloud/google"
	"fsub/cloud/provider"
)

// launch is all that a gang's request says, before it is put into Google's words.
type launch struct {
	r      *provider.Request
	slice  slice
	count  int // slices
	name   string
	note   string
	parent string
}

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// prepare checks a request.
func (p *Provider) prepare(r *provider.Request) (*launch, error) {
	o := &r.Offering
	hosts := max(o.Hosts, 1)
	switch {
	case !tokenForm.MatchString(r.Token) || r.Count < 1 || len(r.Names) != r.Count || slices.Contains(r.Names, ""):
		return nil, provider.Invalid("a gang of %d with %d names and token %q", r.Count, len(r.Names), r.Token)
	case r.Count%hosts != 0:
		return nil, provider.Invalid("%d hosts are not a whole number of slices of %d", r.Count, hosts)
	case r.Near:
		return nil, provider.Invalid("the hosts of a slice are near to each other, and slices cannot be")
	case !slices.Contains(p.zones, o.Zone):
		return nil, provider.Invalid("zone %q is not configured", o.Zone)
	}
	typ := o.Type
	if parts := strings.SplitN(typ, "-", 3); len(parts) == 3 { // NAME-COUNT-TOPOLOGY
		typ = parts[0] + ":" + parts[2]
	}
	s, err := parseSlice(typ)
	if err != nil {
		return nil, provider.Invalid("%v", err)
	}
	l := &launch{r: r, slice: s, count: r.Count / hosts, name: p.gangName(r.Token), parent: p.location(o.Zone)}
	l.note, err = p.note(r)
	return l, err
}

// Create asks for a queued resource with one node for each slice, or looks how it stands: one call while it is queued.
func (p *Provider) Create(ctx context.Context, r provider.Request) ([]provider.Instance, error) {
	l, err := p.prepare(&r)
	if err != nil {
		return nil, err
	}
	made, err := p.ask(ctx, l)
	if err == nil {
		return made, nil
	}
	err = google.Without(refused(err), r.Boot.Token)
	switch provider.AsError(err).Kind {
	case provider.KindUnavailable, provider.KindThrottled, provider.KindConflict, provider.KindPending: // it may exist
	default:
		if left := p.drop(ctx, l.queued()); left != nil {
			p.log.Warn("a queued resource is not deleted yet", "name", l.name, "err", left)
		}
	}
	return nil, err
}

// queued is the full name of the gang's queued resource.
func (l *launch) queued() string { return l.parent + "/queuedResources/" + l.name }

func (p *Provider) ask(ctx context.Context, l *launch) ([]provider.Instance, error) {
	q, err := p.api.QueuedResources.Get(l.queued()).Context(ctx).Do()
	if isKind(err, provider.KindNotFound) {
		var op *tpuapi.Operation
		op, err = p.api.QueuedResources.Create(l.parent, p.queuedResource(l)).QueuedResourceId(l.name).RequestId(google.RequestID(p.cfg.Federation, p.cfg.Site, l.r.Token)).Context(ctx).Do()
		if isKind(err, provider.KindNotFound) { // the zone, the network or the runtime is not there
			e := *provider.AsError(refused(err))
			e.Kind = provider.KindInvalid
			return nil, &e
		}
		if err != nil && !isKind(err, provider.KindConflict) {
			return nil, err
		}
		q, err = p.api.QueuedResources.Get(l.queued()).Context(ctx).Do()
		switch {
		case !isKind(err, provider.KindNotFound):
		case op == nil || op.Done && op.Error == nil: // the operation is that of the first time, and what it made is gone
			return nil, &provider.Error{Kind: provider.KindConflict, Scope: provider.ScopeOffering, Text: "the slices of this token have ended"}
		case op.Done:
			return nil, failed(op.Error)
		default: // it is not shown yet
			return nil, &provider.Error{Kind: provider.KindPending, Scope: provider.ScopeOffering, Code: "CREATING", Text: "the slice is queued: Google does not show it yet"}
		}
	}
	if err != nil {
		return nil, err
	}
	if said, _ := readNote(specOf(q).Description); said.Request != requestHash(l.r) {
		return nil, &provider.Error{Kind: provider.KindConflict, Scope: provider.ScopeOffering, Text: "the token was used for another request"}
	}
	return p.stands(ctx, l, q.State)
}

// stands is what the state of a queued resource means to who has asked for it.
func (p *Provider) stands(ctx context.Context, l *launch, s *tpuapi.QueuedResourceState) ([]provider.Instance, error) {
	if s == nil {
		s = &tpuapi.QueuedResourceState{}
	}
	by := s.State
	if s.StateInitiator != "" {
		by += " by " + s.StateInitiator
	}
	switch {
	case s.State == "ACTIVE":
		return p.made(ctx, l)
	case s.State == "FAILED":
		if s.FailedData != nil {
			return nil, failed(s.FailedData.Error)
		}
		return nil, failed(nil)
	case waits(s.State):
		return nil, &provider.Error{Kind: provider.KindPending, Scope: provider.ScopeOffering, Code: s.State, Text: "the slice is queued: " + by}
	case s.State == "SUSPENDING" || s.State == "SUSPENDED": // its nodes were there, and were taken back or deleted
		return p.made(ctx, l)
	}
	return nil, &provider.Error{Kind: provider.KindConflict, Scope: provider.ScopeOffering, Code: s.State, Text: "the request was withdrawn: " + by}
}

// made returns the hosts of the gang's nodes, in the order of Request.Names.
func (p *Provider) made(ctx context.Context, l *launch) ([]provider.Instance, error) {
	nodes, err := p.nodes(ctx, l.r.Offering.Zone)
	if err != nil {
		return nil, err
	}
	list := make([]provider.Instance, 0, l.r.Count)
	hosts := max(l.r.Offering.Hosts, 1)
	for i := range l.count {
		name := nodeName(l.name, i, l.count)
		at := slices.IndexFunc(nodes, func(n *tpuapi.Node) bool { return google.Base(n.Name) == name })
		if at >= 0 {
			list = append(list, hostsOf(nodes[at])...)
			continue
		}
		for w := range hosts { // it has ended, and is not shown any more
			list = append(list, provider.Instance{ID: instanceID(l.r.Offering.Zone, name, w), Token: l.r.Token, Name: l.r.Names[i*hosts+w], Offering: l.r.Offering.ID,
				State: provider.InstanceEnded, Reason: "it has ended"})
		}
	}
	if !slices.ContainsFunc(list, func(m provider.Instance) bool { return m.State != provider.InstanceEnded }) {
		return nil, &provider.Error{Kind: provider.KindConflict, Scope: provider.ScopeOffering, Text: "the slices of this token have ended"}
	}
	return list, nil
}

// queuedResource is a gang's request in Google's words.
func (p *Provider) queuedResource(l *launch) *tpuapi.QueuedResource {
	o := &l.r.Offering
	labels := maps.Clone(p.cfg.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[google.LabelFederation], labels[google.LabelSite] = google.LabelValue(p.cfg.Federation), google.LabelValue(string(p.cfg.Site))
	node := &tpuapi.Node{
		Description: l.note, Labels: labels, RuntimeVersion: p.runtime(l.slice.gen.Name), Metadata: map[string]string{"startup-script": l.r.Boot.Script()},
		NetworkConfig: &tpuapi.NetworkConfig{EnableExternalIps: !p.cfg.NoAddress, Network: p.network(), Subnetwork: p.subnetwork(o.Region)},
	}
	if node.AcceleratorConfig = (&tpuapi.AcceleratorConfig{Type: configType[l.slice.gen.Name], Topology: l.slice.shape.String()}); l.slice.name() == l.slice.typ() {
		node.AcceleratorConfig, node.AcceleratorType = nil, l.slice.typ()
	}
	if p.cfg.ServiceAccount != "" {
		node.ServiceAccount = &tpuapi.ServiceAccount{Email: p.cfg.ServiceAccount, Scope: []string{tpuapi.CloudPlatformScope}}
	}
	spec := &tpuapi.NodeSpec{Parent: l.parent, NodeId: l.name, Node: node}
	if l.count > 1 {
		spec.NodeId, spec.MultiNodeParams = "", &tpuapi.MultiNodeParams{NodeCount: int64(l.count), NodeIdPrefix: l.name}
	}
	q := &tpuapi.QueuedResource{Tpu: &tpuapi.Tpu{NodeSpec: []*tpuapi.NodeSpec{spec}}, QueueingPolicy: &tpuapi.QueueingPolicy{ValidUntilDuration: seconds(o.Queue)}}
	switch o.Market {
	case provider.Spot:
		q.Spot = &tpuapi.Spot{}
	case provider.Flex:
		q.ProvisioningModel, q.RunDuration = "FLEX_START", &tpuapi.RunDuration{MaxRunDuration: seconds(p.flexRun(l.r))}
	case provider.Reserved:
		q.Guaranteed, q.ReservationName = &tpuapi.Guaranteed{Reserved: true}, o.Reservation
	default:
		q.Guaranteed = &tpuapi.Guaranteed{}
	}
	return q
}

// The bounds of the time for which Google rents slices of the market flex.
const (
	flexLeast = 10 * time.Minute
	flexMost  = 7 * 24 * time.Hour
)

// flexRun is for how long a slice of the market flex is asked for. The shorter it is, the sooner Google has it.
func (p *Provider) flexRun(r *provider.Request) time.Duration {
	if r.Run == 0 {
		return p.cfg.FlexRun
	}
	return min(max(r.Run, flexLeast), p.cfg.FlexRun)
}

// runtime is the version that hosts of a generation boot.
func (p *Provider) runtime(generation string) string {
	return cmp.Or(p.cfg.Runtime[generation], runtimes[generation])
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }

func (p *Provider) network() string {
	switch {
	case p.cfg.Network == "" && p.cfg.Subnetwork != "":
		return ""
	case p.cfg.Network == "":
		return "default"
	}
	return p.cfg.Network
}

func (p *Provider) subnetwork(region string) string {
	if p.cfg.Subnetwork == "" || strings.Contains(p.cfg.Subnetwork, "/") {
		return p.cfg.Subnetwork
	}
	return "projects/" + p.cfg.Project + "/regions/" + region + "/subnetworks/" + p.cfg.Subnetwork
}
