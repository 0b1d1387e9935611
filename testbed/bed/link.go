package bed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// LinkState is what a site's link to the host does.
type LinkState string

const (
	LinkCut  LinkState = "cut"  // packets vanish: the caller sees time-outs, as with a WAN that is down
	LinkHeal LinkState = "heal" // full speed
	LinkSlow LinkState = "slow" // 1 Mbit/s each way
)

// Link cuts, heals or slows the link between the host and a site. Inside the site everything goes on.
// The site's end is cut, never the host's: without a route the requests, and the tokens in them, would leave by the default route.
func (b *Bed) Link(ctx context.Context, site string, to LinkState) error {
	s, err := b.site(site)
	if err != nil {
		return err
	}
	holder, ok := b.holder(site)
	if !ok {
		return errDown(site)
	}
	st, err := b.loadState()
	if err != nil {
		return err
	}
	device := siteLink(st.Subnet, s.Index).Device
	slow := func(dev string) []string {
		return []string{"tc", "qdisc", "replace", "dev", dev, "root", "tbf", "rate", "1mbit", "burst", "32kbit", "latency", "400ms"}
	}
	switch to {
	case LinkCut:
		return b.inSite(ctx, holder, "ip", "link", "set", "eth0", "down")
	case LinkSlow:
		return errors.Join(b.inSite(ctx, holder, slow("eth0")...), run(ctx, slow(device)...))
	case LinkHeal:
		// a link that was never slowed has no queueing discipline to delete
		b.inSite(ctx, holder, "tc", "qdisc", "del", "dev", "eth0", "root")
		run(ctx, "tc", "qdisc", "del", "dev", device, "root")
		return b.inSite(ctx, holder, "ip", "link", "set", "eth0", "up")
	}
	return fmt.Errorf("unknown link state %q: choose from %s, %s, %s", to, LinkCut, LinkHeal, LinkSlow)
}

// connect joins a new site's network namespace to the host. It may be called again.
func (b *Bed) connect(ctx context.Context, subnet netip.Prefix, s Site, holder procID) error {
	l := siteLink(subnet, s.Index)
	if err := addGuard(ctx, subnet); err != nil {
		return err
	}
	if run(ctx, "ip", "link", "show", "dev", l.Device) != nil {
		if err := run(ctx, "ip", "link", "add", l.Device, "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(holder.PID)); err != nil {
			return fmt.Errorf("make a veth pair (does this kernel have veth?): %w", err)
		}
		if err := run(ctx, "ip", "link", "set", l.Device, "alias", b.linkAlias()); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"ip", "addr", "replace", l.HostAddr.String() + "/30", "dev", l.Device},
		{"ip", "link", "set", l.Device, "up"},
	} {
		if err := run(ctx, args...); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"ip", "link", "set", "lo", "up"},
		{"ip", "addr", "replace", l.SiteAddr.String() + "/30", "dev", "eth0"},
		{"ip", "link", "set", "eth0", "up"},
		// slurmdbd writes each message in two pieces without TCP_NODELAY: with delayed acknowledgements each costs 44 ms
		{"ip", "route", "replace", "local", "127.0.0.1", "dev", "lo", "table", "local", "proto", "kernel", "scope", "host", "src", "127.0.0.1", "quickack", "1"},
	} {
		if err := b.inSite(ctx, holder, args...); err != nil {
			return err
		}
	}
	return nil
}

const guardMetric = "4000000"

// linkAlias marks the links of this bed.
func (b *Bed) linkAlias() string { return "fsub bed " + b.opts.Dir }

// disconnect removes the host's end of a site's link, and with it the site's. The rest went with the namespace.
func (b *Bed) disconnect(ctx context.Context, device string) error {
	shown, err := output(ctx, "ip", "link", "show", "dev", device)
	if err != nil {
		return nil // there is none
	}
	if !strings.Contains(shown+"\n", "alias "+b.linkAlias()+"\n") && strings.Contains(shown, "alias ") {
		return fmt.Errorf("network link %s belongs to another bed: give this one a --subnet of its own", device)
	}
	err = run(ctx, "ip", "link", "del", device)
	if err != nil && run(ctx, "ip", "link", "show", "dev", device) != nil {
		return nil // the kernel removed it meanwhile, with the site's namespace
	}
	return err
}

// addGuard makes a route that ends here: while a site is down, its address must not be sought behind the default route.
func addGuard(ctx context.Context, subnet netip.Prefix) error {
	return run(ctx, "ip", "route", "replace", "unreachable", subnet.String(), "metric", guardMetric)
}

// removeGuard removes it, if it is there.
func removeGuard(ctx context.Context, subnet netip.Prefix) error {
	out, err := output(ctx, "ip", "route", "show", "type", "unreachable", subnet.String())
	if err != nil || strings.TrimSpace(out) == "" {
		return err
	}
	return run(ctx, "ip", "route", "del", "unreachable", subnet.String(), "metric", guardMetric)
}

// freeSubnet returns the first subnet for dir that overlaps with no route of the machine.
func freeSubnet(ctx context.Context, dir string) (netip.Prefix, error) {
	out, err := output(ctx, "ip", "-4", "route", "show", "table", "all")
	if err != nil {
		return netip.Prefix{}, err
	}
	used := routePrefixes(out)
	for try := range 256 {
		if p := defaultSubnet(dir, try); !overlapsAny(p, used) {
			return p, nil
		}
	}
	return netip.Prefix{}, errors.New("every subnet of 10.255.0.0/16 is in use on this machine: name a free IPv4 /24 with --subnet")
}

// routePrefixes reads the destinations out of `ip route show`. The default route is none.
func routePrefixes(out string) []netip.Prefix {
	var ps []netip.Prefix
	lines := bufio.NewScanner(strings.NewReader(out))
	for lines.Scan() {
		for _, word := range strings.Fields(lines.Text()) {
			if word == "dev" || word == "via" {
				break
			}
			if !strings.Contains(word, "/") {
				word += "/32"
			}
			if p, err := netip.ParsePrefix(word); err == nil && p.Bits() > 0 {
				ps = append(ps, p)
				break
			}
		}
	}
	return ps
}

func overlapsAny(p netip.Prefix, used []netip.Prefix) bool {
	for _, u := range used {
		if p.Overlaps(u) {
			return true
		}
	}
	return false
}
