package tpu

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	tpuapi "google.golang.org/api/tpu/v2alpha1"

	"fsub/cloud/google"
	"fsub/cloud/provider"
	"fsub/federation/driver"
)

// Role is a custom role with what the daemon's service account needs, as "gcloud iam roles create --file" reads it.
//
//go:embed role.yaml
var Role string

// Check implements provider.Checker: credentials, rights, network, slices with their prices, and runtime versions. It only reads.
func (p *Provider) Check(ctx context.Context) []driver.SiteCheck {
	c, err := p.cfg.account().Check(ctx, p.cfg.Project, "cloud/tpu/role.yaml")
	if err != nil {
		return []driver.SiteCheck{c.Failed("project", "compute", err, "")}
	}
	project, k := c.Describe(ctx)
	rights := slices.DeleteFunc(google.Permissions(Role), func(right string) bool { return strings.HasPrefix(right, "compute.routers.") && !p.cfg.NoAddress })
	out := []driver.SiteCheck{k, c.Rights(ctx, rights)}
	account := p.cfg.ServiceAccount
	if account == "" {
		account = project.DefaultServiceAccount // Google gives it to hosts that ask for none
	}
	if account != "" {
		out = append(out, c.ActAs(ctx, account))
	}
	var regions []string
	for _, zone := range p.cfg.Zones {
		if r := regionOf(zone); !slices.Contains(regions, r) {
			regions = append(regions, r)
			out = append(out, c.Network(ctx, google.Net{Region: r, Network: p.cfg.Network, Subnetwork: p.cfg.Subnetwork, NoAddress: p.cfg.NoAddress})...)
		}
	}
	return append(out, p.checkSlices(ctx, c), p.checkRuntimes(ctx, c), p.checkQuotas(ctx, c))
}

// quotaIDs are the quotas of chips in a zone, as Cloud Quotas names them: on demand, and for spot and flex-start. Older generations are not looked up.
var quotaIDs = map[string][2]string{
	"v5e": {"TPUV5sLitepodPerProjectPerZoneForTPUAPI", "TPUV5sPreemptibleLitepodPerProjectPerZoneForTPUAPI"},
	"v5p": {"TPUV5PPerProjectPerZoneForTPUAPI", "TPUV5PPreemptiblePerProjectPerZoneForTPUAPI"},
	"v6e": {"TPUV6EPerProjectPerZoneForTPUAPI", "TPUV6EPreemptiblePerProjectPerZoneForTPUAPI"},
}

// checkQuotas finds slices of which not even one may be had in any of the zones.
func (p *Provider) checkQuotas(ctx context.Context, c *google.Check) driver.SiteCheck {
	chips := map[string]map[string]int{} // by quota and zone
	var short []string
	for _, text := range p.cfg.Slices {
		s, _ := parseSlice(text) // it was checked
		for _, m := range p.cfg.Markets {
			id := quotaIDs[s.gen.Name][map[provider.Market]int{provider.Spot: 1, provider.Flex: 1}[m]]
			if id == "" || m == provider.Reserved {
				continue
			}
			if chips[id] == nil {
				var err error
				if chips[id], err = c.QuotaOfZones(ctx, "tpu.googleapis.com", id); err != nil {
					k := c.Failed("quotas", "cloudquotas", err, "https://console.cloud.google.com/iam-admin/quotas?service=tpu.googleapis.com&project="+p.cfg.Project)
					k.Result = driver.CheckWarning // nothing but this check needs that API
					return k
				}
			}
			most := 0
			for _, zone := range p.cfg.Zones {
				most = max(most, chips[id][zone])
			}
			if most < s.shape.Chips() {
				short = append(short, fmt.Sprintf("%s: %d chips at most in a zone, %s takes %d", id, most, s.name(), s.shape.Chips()))
			}
		}
	}
	if len(short) == 0 {
		return driver.SiteCheck{Name: "quotas", Result: driver.CheckOK, Detail: "one slice at least of each kind"}
	}
	return driver.SiteCheck{Name: "quotas", Result: driver.CheckWarning, Detail: strings.Join(short, "; "),
		Advice: "ask for more: https://console.cloud.google.com/iam-admin/quotas?service=tpu.googleapis.com&project=" + p.cfg.Project}
}

// checkSlices finds slices that no zone has, and those without a known price.
func (p *Provider) checkSlices(ctx context.Context, c *google.Check) driver.SiteCheck {
	zones, err := p.known(ctx)
	if err != nil {
		return c.Failed("slices", "tpu", err, "gcloud compute tpus locations list --project="+p.cfg.Project)
	}
	var none, unpriced []string
	for _, text := range p.cfg.Slices {
		s, _ := parseSlice(text) // it was checked
		there := false
		for _, zone := range p.cfg.Zones {
			if !zones[zone][s.typ()] {
				continue
			}
			there = true
			for _, m := range p.cfg.Markets {
				if _, ok := p.price(s.gen.Name, zone, m); !ok {
					unpriced = append(unpriced, fmt.Sprintf("%s %s in %s", s.name(), m, zone))
				}
			}
		}
		if !there {
			none = append(none, s.name())
		}
	}
	k := driver.SiteCheck{Name: "slices", Result: driver.CheckOK, Detail: fmt.Sprintf("%d, each in one zone at least", len(p.cfg.Slices))}
	switch {
	case len(none) > 0:
		k.Result, k.Detail = driver.CheckWarning, "no zone has "+strings.Join(none, ", ")
		if k.Advice = "gcloud compute tpus accelerator-types list --zone=" + p.cfg.Zones[0]; len(none) == len(p.cfg.Slices) {
			k.Result = driver.CheckFailed
		}
	case len(unpriced) > 0:
		k.Result, k.Detail = driver.CheckWarning, "no price is known, so that they are not offered: "+strings.Join(unpriced, ", ")
		k.Advice = "give the generation a price in prices, or let the daemon ask Google's price list: see docs/prices.md"
	}
	return k
}

// checkRuntimes looks for what hosts boot.
func (p *Provider) checkRuntimes(ctx context.Context, c *google.Check) driver.SiteCheck {
	k := driver.SiteCheck{Name: "runtimes", Result: driver.CheckOK}
	var wanted []string
	for _, text := range p.cfg.Slices {
		s, _ := parseSlice(text)
		if v := p.runtime(s.gen.Name); !slices.Contains(wanted, v) {
			wanted = append(wanted, v)
		}
	}
	k.Detail = strings.Join(wanted, ", ")
	for _, zone := range p.cfg.Zones {
		var there []string
		err := p.api.RuntimeVersions.List(p.location(zone)).PageSize(1000).Pages(ctx, func(page *tpuapi.ListRuntimeVersionsResponse) error {
			for _, v := range page.RuntimeVersions {
				there = append(there, v.Version)
			}
			return nil
		})
		if err != nil {
			return c.Failed("runtimes", "tpu", err, "gcloud compute tpus locations list --project="+p.cfg.Project)
		}
		for _, v := range wanted {
			if !slices.Contains(there, v) {
				return driver.SiteCheck{Name: "runtimes", Result: driver.CheckFailed, Detail: fmt.Sprintf("%s has no runtime version %s", zone, v),
					Advice: "gcloud compute tpus versions list --zone=" + zone + ", and name one in runtime"}
			}
		}
	}
	return k
}
