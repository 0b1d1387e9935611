package gcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"

	"fsub/cloud/google"
	"fsub/cloud/leftovers"
	"fsub/cloud/provider"
)

// sweep deletes what belongs to gangs without machines. It logs errors: the machines' listing is valid without it.
func (p *Provider) sweep(ctx context.Context, listed []provider.Instance) {
	if !p.left.Due(p.now()) {
		return
	}
	all, err := p.findLeft(ctx)
	if err != nil {
		p.log.Warn("placement policies and instance groups are not looked through", "err", err)
		return
	}
	live := map[string]bool{}
	for _, m := range listed {
		if _, name, ok := place(m.ID); ok {
			gang, _, _ := gangOf(name)
			live[gang] = true
		}
	}
	for _, one := range all { // an instance group whose request is queued has its machines yet to come
		if one.Kind == "group" && !live[one.Gang] {
			if pending, err := p.queued(ctx, one.Zone, one.Name); pending || err != nil {
				live[one.Gang] = true
			}
		}
	}
	for _, one := range p.left.Orphaned(all, live) {
		if err := one.Drop(); err != nil {
			p.log.Warn("what a gang has left cannot be deleted yet", "kind", one.Kind, "name", one.Name, "err", err)
		}
	}
}

// isOurs reports whether a description says that a thing is this site's.
func (c *Config) isOurs(description string) bool {
	var n note
	return json.Unmarshal([]byte(description), &n) == nil && n.Federation == c.Federation && n.Site == string(c.Site)
}

// findLeft returns instance groups before the templates and policies that they use.
func (p *Provider) findLeft(ctx context.Context) (all []leftovers.Thing, err error) {
	add := func(one leftovers.Thing) { all = append(all, one) }
	if err := p.leftGroups(ctx, fmt.Sprintf(`name eq "%s.*"`, flexPrefix), add); err != nil {
		return nil, err
	}
	templates := p.api.templates.List(ctx, &computepb.ListInstanceTemplatesRequest{Project: p.cfg.Project, Filter: proto.String(fmt.Sprintf(`name eq "%s.*"`, flexPrefix))}, once)
	err = each(templates.Next, func(t *computepb.InstanceTemplate) error {
		if p.cfg.isOurs(t.GetDescription()) {
			add(leftovers.Thing{Kind: "template", Gang: t.GetName(), Name: t.GetName(), Drop: func() error { return p.dropTemplate(ctx, t.GetName()) }})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	policies := p.api.policies.List(ctx, &computepb.ListResourcePoliciesRequest{Project: p.cfg.Project, Region: p.cfg.Region, Filter: proto.String(`name eq "fsub.*"`)}, once)
	err = each(policies.Next, func(r *computepb.ResourcePolicy) error {
		if p.cfg.isOurs(r.GetDescription()) {
			add(leftovers.Thing{Kind: "policy", Gang: r.GetName(), Name: r.GetName(), Drop: func() error { return p.dropPolicy(ctx, r.GetName()) }})
		}
		return nil
	})
	return all, err
}

// leftGroups finds this site's instance groups by a filter.
func (p *Provider) leftGroups(ctx context.Context, filter string, add func(leftovers.Thing)) error {
	it := p.api.groups.AggregatedList(ctx, &computepb.AggregatedListInstanceGroupManagersRequest{Project: p.cfg.Project, Filter: proto.String(filter)}, once)
	return each(it.Next, func(zone compute.InstanceGroupManagersScopedListPair) error {
		if err := unread(zone.Key, zone.Value.GetWarning()); err != nil {
			return err
		}
		for _, g := range zone.Value.GetInstanceGroupManagers() {
			if p.cfg.isOurs(g.GetDescription()) {
				where := google.Base(g.GetZone())
				add(leftovers.Thing{Kind: "group", Gang: g.GetName(), Name: g.GetName(), Zone: where, Drop: func() error { return p.dropGroup(ctx, where, g.GetName()) }})
			}
		}
		return nil
	})
}

// makePolicy makes the gang's policy, or finds that it is there: compact placement, or of an instance group one for its workload.
func (p *Provider) makePolicy(ctx context.Context, l *launch) error {
	policy := &computepb.ResourcePolicy{Name: proto.String(l.policy), Description: proto.String(l.note)}
	if l.flex() {
		policy.WorkloadPolicy = &computepb.ResourcePolicyWorkloadPolicy{Type: proto.String("HIGH_THROUGHPUT")}
	} else {
		policy.GroupPlacementPolicy = &computepb.ResourcePolicyGroupPlacementPolicy{Collocation: proto.String("COLLOCATED")}
	}
	op, err := p.api.policies.Insert(ctx, &computepb.InsertResourcePolicyRequest{Project: p.cfg.Project, Region: p.cfg.Region, ResourcePolicyResource: policy}, once)
	if err == nil {
		err = p.done(ctx, op.Proto())
	}
	if isKind(err, provider.KindConflict) {
		return nil
	}
	return err
}

func (p *Provider) dropPolicy(ctx context.Context, name string) error {
	op, err := p.api.policies.Delete(ctx, &computepb.DeleteResourcePolicyRequest{Project: p.cfg.Project, Region: p.cfg.Region, ResourcePolicy: name}, once)
	if err == nil {
		err = p.done(ctx, op.Proto())
	}
	return gone(err)
}

func (p *Provider) dropTemplate(ctx context.Context, name string) error {
	op, err := p.api.templates.Delete(ctx, &computepb.DeleteInstanceTemplateRequest{Project: p.cfg.Project, InstanceTemplate: name}, once)
	if err == nil {
		err = p.done(ctx, op.Proto())
	}
	return gone(err)
}

func (p *Provider) dropGroup(ctx context.Context, zone, name string) error {
	op, err := p.api.groups.Delete(ctx, &computepb.DeleteInstanceGroupManagerRequest{Project: p.cfg.Project, Zone: zone, InstanceGroupManager: name}, once)
	if err == nil {
		err = p.done(ctx, op.Proto())
	}
	return gone(err)
}

// cleanUp removes what was made for a gang that does not come to be. After an error that proves nothing all stays: the gang may exist.
func (p *Provider) cleanUp(ctx context.Context, l *launch, cause error) {
	var e *provider.Error
	if !errors.As(cause, &e) || e.Kind == provider.KindUnavailable || e.Kind == provider.KindThrottled || e.Kind == provider.KindConflict || e.Kind == provider.KindPending {
		return
	}
	var errs []error
	if l.flex() {
		errs = append(errs, p.dropGroup(ctx, l.r.Offering.Zone, l.name), p.dropTemplate(ctx, l.name))
	}
	if l.policy != "" {
		errs = append(errs, p.dropPolicy(ctx, l.policy))
	}
	if err := errors.Join(errs...); err != nil {
		p.log.Warn("what was made for a gang is not deleted yet", "name", l.name, "err", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}
