package gcp

import (
	"context"
	"encoding/json"
	"errors"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"

	"fsub/cloud/leftovers"
	"fsub/cloud/provider"
)

// queue asks for machines that Google queues until it has all of them (dynamic workload scheduler, flex-start): a template, an instance group of size 0, and a
// resize request, all under the gang's name. While it is queued each look is one call.
func (p *Provider) queue(ctx context.Context, l *launch) ([]provider.Instance, error) {
	request, err := p.resize(ctx, l)
	if isKind(err, provider.KindNotFound) {
		if err = p.makeQueue(ctx, l); err == nil {
			request, err = p.resize(ctx, l)
		}
	}
	if err != nil {
		return nil, err
	}
	var said note
	if json.Unmarshal([]byte(request.GetDescription()), &said); said.Request != requestHash(l.r) {
		return nil, &provider.Error{Kind: provider.KindConflict, Scope: provider.ScopeOffering, Text: "the token was used for another request"}
	}
	switch state := request.GetState(); state {
	case "SUCCEEDED":
		return p.made(ctx, l, nil)
	case "FAILED":
		return nil, queueFailed(request)
	case "CANCELLED":
		return nil, &provider.Error{Kind: provider.KindConflict, Scope: provider.ScopeOffering, Code: state, Text: "the request was withdrawn"}
	}
	text := "queued"
	for _, e := range request.GetStatus().GetLastAttempt().GetError().GetErrors() {
		text = "queued; the last attempt: " + e.GetMessage()
	}
	return nil, &provider.Error{Kind: provider.KindPending, Scope: provider.ScopeOffering, Code: request.GetState(), Text: text}
}

func queueFailed(request *computepb.InstanceGroupManagerResizeRequest) error {
	op := &computepb.Operation{Error: &computepb.Error{}}
	for _, e := range request.GetStatus().GetError().GetErrors() {
		op.Error.Errors = append(op.Error.Errors, &computepb.Errors{Code: e.Code, Message: e.Message})
	}
	if err := failed(op); err != nil && !isKind(err, provider.KindUnavailable) {
		return err
	}
	// It will never come to be, whatever the reason.
	return &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Code: request.GetState(), Text: "the queued request has failed"}
}

func (p *Provider) resize(ctx context.Context, l *launch) (*computepb.InstanceGroupManagerResizeRequest, error) {
	return p.api.resizes.Get(ctx, &computepb.GetInstanceGroupManagerResizeRequestRequest{
		Project: p.cfg.Project, Zone: l.r.Offering.Zone, InstanceGroupManager: l.name, ResizeRequest: l.name,
	}, once)
}

// makeQueue makes what is not there yet of template, policy, instance group and resize request.
func (p *Provider) makeQueue(ctx context.Context, l *launch) error {
	if l.policy != "" {
		if err := p.makePolicy(ctx, l); err != nil {
			return err
		}
	}
	zone := l.r.Offering.Zone
	template, err := p.api.templates.Insert(ctx, &computepb.InsertInstanceTemplateRequest{
		Project: p.cfg.Project, InstanceTemplateResource: &computepb.InstanceTemplate{Name: proto.String(l.name), Description: proto.String(l.note), Properties: p.cfg.properties(l)},
	}, once)
	if err == nil {
		err = p.done(ctx, template.Proto())
	}
	if err != nil && !isKind(err, provider.KindConflict) {
		return err
	}
	manager := &computepb.InstanceGroupManager{
		Name: proto.String(l.name), Description: proto.String(l.note), BaseInstanceName: proto.String(l.name), TargetSize: proto.Int32(0),
		InstanceTemplate: proto.String("projects/" + p.cfg.Project + "/global/instanceTemplates/" + l.name),
		// A machine that fails is not made anew: its gang ends with it.
		InstanceLifecyclePolicy: &computepb.InstanceGroupManagerInstanceLifecyclePolicy{DefaultActionOnFailure: proto.String("DO_NOTHING")},
		UpdatePolicy:            &computepb.InstanceGroupManagerUpdatePolicy{Type: proto.String("OPPORTUNISTIC")},
	}
	if l.policy != "" {
		manager.ResourcePolicies = &computepb.InstanceGroupManagerResourcePolicies{WorkloadPolicy: proto.String(p.cfg.policyPath(l.policy))}
	}
	group, err := p.api.groups.Insert(ctx, &computepb.InsertInstanceGroupManagerRequest{Project: p.cfg.Project, Zone: zone, InstanceGroupManagerResource: manager}, once)
	if err == nil {
		err = p.done(ctx, group.Proto())
	}
	if err != nil && !isKind(err, provider.KindConflict) {
		return err
	}
	request := &computepb.InstanceGroupManagerResizeRequest{
		Name: proto.String(l.name), Description: proto.String(l.note), RequestedRunDuration: &computepb.Duration{Seconds: proto.Int64(int64(p.cfg.flexRun(l.r).Seconds()))},
	}
	for i := range l.r.Count {
		request.Instances = append(request.Instances, &computepb.PerInstanceConfig{Name: proto.String(instanceName(l.name, i))})
	}
	op, err := p.api.resizes.Insert(ctx, &computepb.InsertInstanceGroupManagerResizeRequestRequest{
		Project: p.cfg.Project, Zone: zone, InstanceGroupManager: l.name, InstanceGroupManagerResizeRequestResource: request,
	}, once)
	if err == nil {
		err = p.done(ctx, op.Proto())
	}
	if isKind(err, provider.KindConflict) {
		return nil
	}
	return err
}

// Withdraw cancels a resize request that is queued, and deletes what was made for it. Its zone is found by its name.
func (p *Provider) Withdraw(ctx context.Context, token string) error {
	name := p.cfg.gangName(token, true)
	var found []leftovers.Thing
	err := p.leftGroups(ctx, "name = "+name, func(one leftovers.Thing) { found = append(found, one) })
	for _, one := range found {
		if err == nil {
			err = p.cancel(ctx, one.Zone, name)
		}
		if err != nil {
			break
		}
		if pending, listed := p.queued(ctx, one.Zone, name); listed != nil || pending {
			return errors.Join(listed, errIf(pending, &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeOffering, Text: "the request is being made just now"}))
		}
	}
	return err
}

func errIf(yes bool, err error) error {
	if yes {
		return err
	}
	return nil
}

// cancel takes a resize request back. One that is over cannot be cancelled any more.
func (p *Provider) cancel(ctx context.Context, zone, name string) error {
	op, err := p.api.resizes.Cancel(ctx, &computepb.CancelInstanceGroupManagerResizeRequestRequest{Project: p.cfg.Project, Zone: zone, InstanceGroupManager: name, ResizeRequest: name}, once)
	if err == nil {
		err = p.done(ctx, op.Proto())
	}
	if isKind(err, provider.KindNotFound) || isKind(err, provider.KindInvalid) {
		return nil
	}
	return refused(err)
}

// queued reports whether an instance group has a resize request that may make machines yet.
func (p *Provider) queued(ctx context.Context, zone, name string) (pending bool, err error) {
	it := p.api.resizes.List(ctx, &computepb.ListInstanceGroupManagerResizeRequestsRequest{Project: p.cfg.Project, Zone: zone, InstanceGroupManager: name}, once)
	err = each(it.Next, func(r *computepb.InstanceGroupManagerResizeRequest) error {
		pending = pending || r.GetState() == "ACCEPTED" || r.GetState() == "CREATING"
		return nil
	})
	if isKind(err, provider.KindNotFound) {
		return false, nil
	}
	return pending, err
}
