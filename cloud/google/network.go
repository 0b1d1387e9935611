package google

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fsub/federation/driver"
)

// Net is where machines are to be, as the configuration has it.
type Net struct {
	Region              string
	Network, Subnetwork string   // names or paths; neither: "default"
	More                []string // further subnetworks
	NoAddress           bool     // machines have no address that can be reached from outside, or reach the outside
}

// path is the path of something that a configuration may name by its path, or by its name alone.
func (c *Check) path(named string, folder ...string) string {
	if strings.Contains(named, "/") {
		return "/compute/v1/" + named[max(strings.Index(named, "projects/"), 0):]
	}
	return c.compute(append(folder, named)...)
}

// Network says whether machines have a network in the region, whether they may talk to each other there, and whether they get out of it.
func (c *Check) Network(ctx context.Context, n Net) []driver.SiteCheck {
	name := n.Network
	for i, sub := range append([]string{n.Subnetwork}, n.More...) {
		if sub == "" {
			continue
		}
		var s struct{ Network string }
		if err := c.Get(ctx, "compute", c.path(sub, "regions", n.Region, "subnetworks"), &s); err != nil {
			return []driver.SiteCheck{c.Failed("network", "compute", err, fmt.Sprintf("gcloud compute networks subnets list --project=%s --regions=%s", c.Project, n.Region))}
		}
		if i == 0 {
			name = s.Network
		}
	}
	if name == "" {
		name = "default"
	}
	var net struct {
		Name        string
		Subnetworks []string
	}
	if err := c.Get(ctx, "compute", c.path(name, "global", "networks"), &net); err != nil {
		return []driver.SiteCheck{c.Failed("network", "compute", err, fmt.Sprintf("gcloud compute networks create %s --project=%s, or set network or subnetwork", Base(name), c.Project))}
	}
	k := driver.SiteCheck{Name: "network", Result: driver.CheckOK, Detail: net.Name + " in " + n.Region}
	if n.Subnetwork == "" && !slices.ContainsFunc(net.Subnetworks, func(s string) bool { return strings.Contains(s, "/regions/"+n.Region+"/") }) {
		k.Result, k.Detail = driver.CheckFailed, fmt.Sprintf("network %s has no subnetwork in %s", net.Name, n.Region)
		k.Advice = fmt.Sprintf("gcloud compute networks subnets create fsub --project=%s --network=%s --region=%s --range=10.4.0.0/18", c.Project, net.Name, n.Region)
	}
	out := []driver.SiteCheck{k, c.firewall(ctx, net.Name)}
	if n.NoAddress {
		out = append(out, c.wayOut(ctx, net.Name, n.Region))
	}
	return out
}

// firewall says whether machines of a network may talk to each other on all ports.
func (c *Check) firewall(ctx context.Context, network string) driver.SiteCheck {
	var got struct {
		Items []struct {
			Network, Direction string
			Disabled           bool
			Allowed            []struct {
				IPProtocol string
				Ports      []string
			}
		}
	}
	if err := c.Get(ctx, "compute", c.compute("global", "firewalls"), &got); err != nil {
		return c.Failed("firewall", "compute", err, "gcloud compute firewall-rules list")
	}
	for _, rule := range got.Items {
		if rule.Disabled || rule.Direction != "INGRESS" || Base(rule.Network) != network {
			continue
		}
		for _, a := range rule.Allowed {
			if a.IPProtocol == "all" || a.IPProtocol == "tcp" && (len(a.Ports) == 0 || slices.Contains(a.Ports, "0-65535") || slices.Contains(a.Ports, "1-65535")) {
				return driver.SiteCheck{Name: "firewall", Result: driver.CheckOK, Detail: "a rule lets machines talk to each other"}
			}
		}
	}
	return driver.SiteCheck{Name: "firewall", Result: driver.CheckWarning, Detail: "no rule lets machines of " + network + " talk to each other: jobs of several nodes need that (a policy of the organization may)",
		Advice: fmt.Sprintf("gcloud compute firewall-rules create fsub --project=%s --network=%s --source-ranges=10.0.0.0/8 --allow=all", c.Project, network)}
}

// wayOut says whether machines without an address get out of their network.
func (c *Check) wayOut(ctx context.Context, network, region string) driver.SiteCheck {
	var got struct {
		Items []struct {
			Network string
			Nats    []struct{ Name string }
		}
	}
	if err := c.Get(ctx, "compute", c.compute("regions", region, "routers"), &got); err != nil {
		return c.Failed("way out", "compute", err, "gcloud compute routers list")
	}
	for _, r := range got.Items {
		if Base(r.Network) == network && len(r.Nats) > 0 {
			return driver.SiteCheck{Name: "way out", Result: driver.CheckOK, Detail: "Cloud NAT " + r.Nats[0].Name}
		}
	}
	return driver.SiteCheck{Name: "way out", Result: driver.CheckWarning, Detail: fmt.Sprintf("machines have no address, and %s has no Cloud NAT in %s: is there another way from them to the daemon?", network, region),
		Advice: fmt.Sprintf("gcloud compute routers create fsub --network=%s --region=%s; gcloud compute routers nats create fsub --router=fsub --region=%s --auto-allocate-nat-external-ips --nat-all-subnet-ip-ranges", network, region, region)}
}
