package gcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cloud.google.com/go/compute/apiv1/computepb"

	"fsub/cloud/google"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation/driver"
)

// Check implements provider.Checker: credentials, rights, network, types, images and quotas. It only reads.
func (p *Provider) Check(ctx context.Context) []driver.SiteCheck {
	c, err := p.cfg.account().Check(ctx, p.cfg.Project, "cloud/gcp/role.yaml")
	if err != nil {
		return []driver.SiteCheck{c.Failed("project", "compute", err, "")}
	}
	project, k := c.Describe(ctx)
	out := []driver.SiteCheck{k, c.Rights(ctx, p.needs())}
	if p.cfg.ServiceAccount != "" {
		out = append(out, c.ActAs(ctx, p.cfg.ServiceAccount))
	}
	out = append(out, c.Network(ctx, google.Net{Region: p.cfg.Region, Network: p.cfg.Network, Subnetwork: p.cfg.Subnetwork, More: p.cfg.MoreSubnetworks, NoAddress: p.cfg.NoAddress})...)
	reserved, err := p.reservations.list(ctx)
	if err != nil {
		return append(out, c.Failed("reservations", "compute", err, "gcloud compute reservations list"))
	}
	types, err := p.machineTypes(ctx, reserved)
	if err != nil {
		return append(out, c.Failed("types", "compute", err, "gcloud compute regions list"))
	}
	return append(out, p.checkTypes(types), p.checkImages(ctx, c, types), p.checkQuotas(ctx, c, project, types))
}

// needs are the permissions of the role that this configuration takes.
func (p *Provider) needs() []string {
	flex := slices.Contains(p.cfg.Markets, provider.Flex)
	return slices.DeleteFunc(google.Permissions(Role), func(right string) bool {
		switch {
		case strings.HasPrefix(right, "compute.instanceGroup"), strings.HasPrefix(right, "compute.instanceTemplates."):
			return !flex
		case strings.HasSuffix(right, ".useExternalIp"):
			return p.cfg.NoAddress
		case strings.HasPrefix(right, "compute.routers."):
			return !p.cfg.NoAddress
		case right == "compute.instances.setServiceAccount":
			return p.cfg.ServiceAccount == ""
		}
		return false
	})
}

// checkTypes finds types that no zone has, and those without a known price.
func (p *Provider) checkTypes(types []*computepb.MachineType) driver.SiteCheck {
	var none []string
	for _, want := range p.cfg.Types {
		if !slices.ContainsFunc(types, func(t *computepb.MachineType) bool { return p.cfg.wanted(t.GetName()) == want }) {
			none = append(none, want)
		}
	}
	unpriced := map[string]bool{}
	for _, t := range types {
		if p.cfg.wanted(t.GetName()) == "" {
			continue
		}
		for _, m := range p.cfg.Markets {
			if _, known := p.price(t.GetName(), google.Base(t.GetZone()), m); !known {
				unpriced[t.GetName()+" "+string(m)] = true
			}
		}
	}
	k := driver.SiteCheck{Name: "types", Result: driver.CheckOK, Detail: fmt.Sprintf("%d in the zones", len(types))}
	switch {
	case len(none) > 0:
		k.Result, k.Detail = driver.CheckWarning, "not in the zones: "+strings.Join(none, ", ")
		k.Advice = fmt.Sprintf("where are they? gcloud compute machine-types list --project=%s --filter=name=%s", p.cfg.Project, none[0])
		if len(types) == 0 {
			k.Result = driver.CheckFailed
		}
	case len(unpriced) > 0:
		k.Result, k.Detail = driver.CheckWarning, "no price is known, so that they are not offered: "+strings.Join(slices.Sorted(maps.Keys(unpriced)), ", ")
		k.Advice = "give them a price in prices, or let the daemon ask Google's price list: see docs/prices.md"
	}
	return k
}

// checkImages looks for what machines boot.
func (p *Provider) checkImages(ctx context.Context, c *google.Check, types []*computepb.MachineType) driver.SiteCheck {
	images := map[string]bool{}
	for _, t := range types {
		o := p.offering(t, provider.OnDemand, prices.Price{}, 0)
		image, _ := p.cfg.image(&o)
		images[image] = true
	}
	all := slices.Sorted(maps.Keys(images))
	for _, image := range all {
		var got struct{ Name, Status string }
		err := c.Get(ctx, "compute", "/compute/v1/"+image, &got)
		project := strings.Split(image, "/")[1]
		if err != nil {
			k := c.Failed("images", "compute", err, "gcloud compute images list --project="+project+" --no-standard-images")
			k.Detail = image + ": " + k.Detail
			return k
		}
		if got.Status != "READY" {
			return driver.SiteCheck{Name: "images", Result: driver.CheckFailed, Detail: fmt.Sprintf("%s is %s", got.Name, got.Status), Advice: "wait until it is made, or name another in images"}
		}
	}
	return driver.SiteCheck{Name: "images", Result: driver.CheckOK, Detail: fmt.Sprintf("%d that machines boot", len(all))}
}

// checkQuotas finds types of which not even one machine more may be had.
func (p *Provider) checkQuotas(ctx context.Context, c *google.Check, project google.Project, types []*computepb.MachineType) driver.SiteCheck {
	var region struct{ Quotas []google.Quota }
	if err := c.Get(ctx, "compute", "/compute/v1/projects/"+p.cfg.Project+"/regions/"+p.cfg.Region, &region); err != nil {
		return c.Failed("quotas", "compute", err, "is there such a region? gcloud compute regions list")
	}
	left := map[string]int{}
	for _, q := range append(region.Quotas, project.Quotas...) {
		left[q.Metric] = int(q.Limit - q.Usage)
	}
	short := map[string]bool{}
	for _, t := range types {
		if p.cfg.wanted(t.GetName()) == "" {
			continue
		}
		for _, m := range p.cfg.Markets {
			for metric, n := range quotasOf(t, m) {
				if have, known := left[metric]; known && have < n {
					short[fmt.Sprintf("%s: %d left, %s takes %d", metric, have, t.GetName(), n)] = true
				}
			}
		}
	}
	if len(short) == 0 {
		return driver.SiteCheck{Name: "quotas", Result: driver.CheckOK, Detail: "one machine at least of each type, as far as the region tells"}
	}
	return driver.SiteCheck{Name: "quotas", Result: driver.CheckWarning, Detail: strings.Join(slices.Sorted(maps.Keys(short)), "; "),
		Advice: "ask for more: https://console.cloud.google.com/iam-admin/quotas?project=" + p.cfg.Project}
}

// quotasOf is what one machine takes of the region's and the project's quotas, by their metrics. Quotas of spot and flex-start machines begin with PREEMPTIBLE_, as far as
// there are such; otherwise they count to the usual ones. The newest GPUs have quotas that this API does not tell.
func quotasOf(t *computepb.MachineType, m provider.Market) map[string]int {
	before := ""
	if m == provider.Spot || m == provider.Flex {
		before = "PREEMPTIBLE_"
	}
	family, _, _ := strings.Cut(t.GetName(), "-")
	takes := map[string]int{before + "CPUS": int(t.GetGuestCpus())}
	if slices.Contains([]string{"a2", "c2", "c2d", "c3", "e2", "m1", "m2", "m3", "n2", "n2d", "t2a", "t2d"}, family) && before == "" {
		takes = map[string]int{strings.ToUpper(family) + "_CPUS": int(t.GetGuestCpus())}
	}
	for _, a := range t.Accelerators {
		name, memory := gpuName(a.GetGuestAcceleratorType())
		n := int(a.GetGuestAcceleratorCount())
		metric := "NVIDIA_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if name == "a100" && memory == "80gb" {
			metric += "_80GB"
		}
		takes[before+metric+"_GPUS"], takes["GPUS_ALL_REGIONS"] = n, n
	}
	return takes
}
