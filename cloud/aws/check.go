package aws

import (
	"context"
	"fmt"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/federation/driver"
)

var _ provider.Checker = (*Provider)(nil)

// Check implements [provider.Checker]: the subnets, the images, and whether machines might be started. That is asked as a dry run, for which Amazon
// judges rights, subnet, image and parameters, and starts nothing; stock it does not tell.
func (p *Provider) Check(ctx context.Context) (out []driver.SiteCheck) {
	add := func(name string, err error, advice, format string, args ...any) bool {
		k := driver.SiteCheck{Name: name, Result: driver.CheckOK, Detail: fmt.Sprintf(format, args...)}
		if err != nil {
			k.Result, k.Detail, k.Advice = driver.CheckFailed, err.Error(), advice
		}
		out = append(out, k)
		return err == nil
	}
	offers, err := p.Offerings(ctx)
	if !add("credentials", err, "give the daemon credentials of a role with cloud/aws/policy.json: credentials_file, profile, or the role of its machine", "Amazon takes them") {
		return out
	}
	r := p.region
	c, err := r.known(ctx, p)
	if !add("subnets "+r.Name, err, "name subnets or vpc of that region", "machines go to %d zones", zonesOf(c)) {
		return out
	}
	several := slices.ContainsFunc(offers, func(o provider.Offering) bool { return slices.Contains(o.Features, "efa") })
	out = append(out, p.checkRoutes(ctx, r, c, several))
	if several {
		add("efa "+r.Name, r.groupsForEFA(ctx, anyVPC(c)), "run the command it names, or set security_groups to your own group; jobs of one machine, and others without EFA, need none of that", "the security group lets it through")
	}
	out = append(out, p.checkQuotas(ctx, r.Name, offers)...)
	seen := map[string]bool{}
	for i := range offers {
		o := &offers[i]
		kind := fmt.Sprint(o.Arch, o.GPUs > 0, o.Market)
		if o.Zone == "" || o.Reservation != "" || seen[kind] {
			continue
		}
		seen[kind] = true
		add("start "+o.ID, p.dryRun(ctx, o), "fix what it names: a right (cloud/aws/policy.json), image, subnet, security group, key or instance profile", "it may be started")
	}
	return out
}

// anyVPC is the VPC of the chosen subnets, which are all of one where no security group is configured.
func anyVPC(c *catalog) string {
	for _, s := range c.subnet {
		return s.vpc
	}
	return ""
}

func zonesOf(c *catalog) int {
	if c == nil {
		return 0
	}
	return len(c.subnet)
}

// dryRun asks whether one machine of an offering might be started.
func (p *Provider) dryRun(ctx context.Context, o *provider.Offering) error {
	r := provider.Request{Token: "check", Site: p.cfg.Site, Offering: *o, Count: 1, Names: []string{"check"}, Boot: agentapi.Boot{URL: "https://check", Token: "check"}}
	reg, l, err := p.prepare(ctx, &r)
	if err != nil {
		return err
	}
	in := p.runInput(reg, l)
	in.DryRun = sdk.Bool(true)
	if _, err = reg.ec2.RunInstances(ctx, in); hasCode(err, "DryRunOperation") {
		return nil
	}
	return refused(err)
}
