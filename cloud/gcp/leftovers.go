package gcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"

	"fsub/cloud/google"
	"fsub/cloud/provider"
)

// sweepEvery is the least time between two looks for policies, instance groups and templates without machines. One goes at the second look that finds it so.
const sweepEvery = 2 * time.Minute

// leftovers is what there may be besides machines. After the start of the daemon, and whenever a gang has made such a thing, List looks for them until none is left.
type leftovers struct {
	mu      sync.Mutex
	busy    map[string]int // names of gangs that are being made
	clear   bool           // nothing is left
	at      time.Time      // of the last look
	orphans map[string]bool
}

// begin says that the gang's things are needed, whatever the listing shows.
func (l *leftovers) begin(gang string, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy == nil {
		l.busy = map[string]int{}
	}
	l.busy[gang]++
	if more {
		l.clear = false
	}
}

func (l *leftovers) end(gang string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[gang]--; l.busy[gang] == 0 {
		delete(l.busy, gang)
	}
}

// due reports whether it is time for a look.
func (l *leftovers) due(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clear || !l.at.IsZero() && now.Sub(l.at) < sweepEvery {
		return false
	}
	l.at = now
	return true
}

// left is one policy, instance group or template, named as its gang.
type left struct {
	kind, name, zone string
	drop             func() error
}

// sweep deletes what belongs to gangs without machines. It logs errors: the machines' listing is valid without it.
func (p *Provider) sweep(ctx context.Context, listed []provider.Instance) {
	if !p.left.due(p.now()) {
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
		if one.kind == "group" && !live[one.name] {
			if pending, err := p.queued(ctx, one.zone, one.name); pending || err != nil {
				live[one.name] = true
			}
		}
	}
	for _, one := range p.left.orphaned(all, live) {
		if err := one.drop(); err != nil {
			p.log.Warn("what a gang has left cannot be deleted yet", "kind", one.kind, "name", one.name, "err", err)
		}
	}
}

// orphaned returns those that were without machines at the last look and are so now, and remembers for the next look.
func (l *leftovers) orphaned(all []left, live map[string]bool) []left {
	l.mu.Lock()
	defer l.mu.Unlock()
	var twice []left
	seen := map[string]bool{}
	for _, one := range all {
		if live[one.name] || l.busy[one.name] > 0 {
			continue
		}
		if l.orphans[one.name] {
			twice = append(twice, one)
		}
		seen[one.name] = true
	}
	l.orphans = seen
	l.clear = len(all) == 0 && len(l.busy) == 0
	return twice
}

// isOurs reports whether a description says that a thing is this site's.
func (p *Provider) isOurs(description string) bool {
	var n note
	return json.Unmarshal([]byte(description), &n) == nil && n.Federation == p.cfg.Federation && n.Site == string(p.cfg.Site)
}

// findLeft returns instance groups before the templates and policies that they use.
func (p *Provider) findLeft(ctx context.Context) (all []left, err error) {
	add := func(one left) { all = append(all, one) }
	if err := p.leftGroups(ctx, fmt.Sprintf(`name eq "%s.*"`, flexPrefix), add); err != nil {
		return nil, err
	}
	templates := p.api.templates.List(ctx, &computepb.ListInstanceTemplatesRequest{Project: p.cfg.Project, Filter: proto.String(fmt.Sprintf(`name eq "%s.*"`, flexPrefix))}, once)
	err = each(templates.Next, func(t *computepb.InstanceTemplate) error {
		if p.isOurs(t.GetDescription()) {
			add(left{"template", t.GetName(), "", func() error { return p.dropTemplate(ctx, t.GetName()) }})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	policies := p.api.policies.List(ctx, &computepb.ListResourcePoliciesRequest{Project: p.cfg.Project, Region: p.cfg.Region, Filter: proto.String(`name eq "fsub.*"`)}, once)
	err = each(policies.Next, func(r *computepb.ResourcePolicy) error {
		if p.isOurs(r.GetDescription()) {
			add(left{"policy", r.GetName(), "", func() error { return p.dropPolicy(ctx, r.GetName()) }})
		}
		return nil
	})
	return all, err
}

// leftGroups finds this site's instance groups by a filter.
func (p *Provider) leftGroups(ctx context.Context, filter string, add func(left)) error {
	it := p.api.groups.AggregatedList(ctx, &computepb.AggregatedListInstanceGroupManagersRequest{Project: p.cfg.Project, Filter: proto.String(filter)}, once)
	return each(it.Next, func(zone compute.InstanceGroupManagersScopedListPair) error {
		if err := unread(zone.Key, zone.Value.GetWarning()); err != nil {
			return err
		}
		for _, g := range zone.Value.GetInstanceGroupManagers() {
			if p.isOurs(g.GetDescription()) {
				where := google.Base(g.GetZone())
				add(left{"group", g.GetName(), where, func() error { return p.dropGroup(ctx, where, g.GetName()) }})
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
