package aws

import (
	"context"
	"errors"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"fsub/cloud/leftovers"
	"fsub/cloud/provider"
)

// sweep deletes what belongs to gangs without machines. It logs errors: the machines' listing is
// valid without it.
func (r *regional) sweep(ctx context.Context, p *Provider, listed []provider.Instance) {
	if !r.left.Due(p.now()) {
		return
	}
	all, err := r.findLeft(ctx, p)
	if err != nil {
		p.log.Warn("placement groups and launch templates are not looked through", "region", r.Name, "err", err)
		return
	}
	live := map[string]bool{}
	for _, m := range listed {
		if m.State != provider.InstanceEnded {
			live[m.Token] = true
		}
	}
	for _, one := range r.left.Orphaned(all, live) {
		if err := one.Drop(); err != nil {
			p.log.Warn("what a gang has left cannot be deleted", "region", r.Name, "name", one.Name, "err", err)
		}
	}
}

func (r *regional) findLeft(ctx context.Context, p *Provider) ([]leftovers.Thing, error) {
	ours := []filter{tagFilter(tagFederation, p.cfg.Federation), tagFilter(tagSite, string(p.cfg.Site))}
	groups, err := r.ec2.DescribePlacementGroups(ctx, &ec2.DescribePlacementGroupsInput{Filters: ours})
	if err != nil {
		return nil, refused(err)
	}
	var all []leftovers.Thing
	for _, g := range groups.PlacementGroups {
		if p.others(g.Tags) {
			continue
		}
		name := sdk.ToString(g.GroupName)
		all = append(all, leftovers.Thing{Gang: tagMap(g.Tags)[tagGang], Name: name, Drop: func() error { return r.dropGroup(ctx, name) }})
	}
	for pages := ec2.NewDescribeLaunchTemplatesPaginator(r.ec2, &ec2.DescribeLaunchTemplatesInput{Filters: ours}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, refused(err)
		}
		for _, t := range page.LaunchTemplates {
			if p.others(t.Tags) {
				continue
			}
			name := sdk.ToString(t.LaunchTemplateName)
			all = append(all, leftovers.Thing{Gang: tagMap(t.Tags)[tagGang], Name: name, Drop: func() error { r.dropTemplate(ctx, p, name); return nil }})
		}
	}
	return all, nil
}

// makeGroup makes the gang's placement group, or finds that it is there.
func (r *regional) makeGroup(ctx context.Context, l *launch) error {
	_, err := r.ec2.CreatePlacementGroup(ctx, &ec2.CreatePlacementGroupInput{
		GroupName: sdk.String(l.group), Strategy: types.PlacementStrategyCluster, TagSpecifications: l.specs(types.ResourceTypePlacementGroup),
	})
	if err != nil && !hasCode(err, "InvalidPlacementGroup.Duplicate") {
		return refused(err)
	}
	return nil
}

// dropGroup deletes a placement group, unless machines are in it still.
func (r *regional) dropGroup(ctx context.Context, name string) error {
	_, err := r.ec2.DeletePlacementGroup(ctx, &ec2.DeletePlacementGroupInput{GroupName: sdk.String(name)})
	if err != nil && !hasCode(err, "InvalidPlacementGroup.Unknown", "InvalidPlacementGroup.InUse") {
		return refused(err)
	}
	return nil
}

func (r *regional) dropTemplate(ctx context.Context, p *Provider, name string) {
	_, err := r.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: sdk.String(name)})
	if err != nil && !hasCode(err, "InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateName.NotFound") {
		p.log.Warn("a launch template is not deleted yet", "name", name, "err", refused(err))
	}
}

// cleanUp removes what was made for a gang that does not come to be. After an error that proves
// nothing all stays: the gang may exist.
func (r *regional) cleanUp(ctx context.Context, p *Provider, l *launch, cause error) {
	var e *provider.Error
	if !errors.As(cause, &e) || e.Kind == provider.KindUnavailable || e.Kind == provider.KindThrottled || e.Kind == provider.KindConflict {
		return
	}
	if l.group != "" {
		if err := r.dropGroup(ctx, l.group); err != nil {
			p.log.Warn("a placement group is not deleted yet", "name", l.group, "err", err)
		}
	}
	if l.fleet() {
		r.dropTemplate(ctx, p, p.templateName(l))
	}
}
