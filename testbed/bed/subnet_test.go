package bed

import (
	"net/netip"
	"testing"
)

func TestSiteLinksDoNotOverlap(t *testing.T) {
	subnet := netip.MustParsePrefix("10.255.255.0/24")
	seen := map[netip.Prefix]bool{}
	for index := 1; index <= 62; index++ {
		l := siteLink(subnet, index)
		p, err := l.HostAddr.Prefix(30)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case seen[p]:
			t.Errorf("index %d shares %s", index, p)
		case !p.Contains(l.SiteAddr) || l.HostAddr == l.SiteAddr:
			t.Errorf("index %d: %s and %s are not the ends of one link", index, l.HostAddr, l.SiteAddr)
		case !subnet.Contains(l.HostAddr) || !subnet.Contains(l.SiteAddr):
			t.Errorf("index %d leaves the subnet: %s", index, p)
		case len(l.Device) > 15:
			t.Errorf("index %d: device name %q is longer than Linux allows", index, l.Device)
		}
		seen[p] = true
	}
}

func TestDefaultSubnet(t *testing.T) {
	if got := defaultSubnet(DefaultDir, 0).String(); got != "10.255.0.0/24" {
		t.Errorf("default bed: %s", got)
	}
	a, b := defaultSubnet("/tmp/a", 0), defaultSubnet("/tmp/b", 0)
	if a == b || a == defaultSubnet(DefaultDir, 0) {
		t.Errorf("beds share a subnet: %s %s", a, b)
	}
	if a == defaultSubnet("/tmp/a", 1) {
		t.Error("the second try is the first one")
	}
}

func TestRoutePrefixes(t *testing.T) {
	used := routePrefixes(`default via 192.0.2.1 dev eth0
10.255.0.4/30 dev fb0aff00-1 proto kernel scope link src 10.255.0.5
unreachable 10.255.48.0/24 metric 4000000
local 10.255.9.1 dev lo table local proto kernel scope host src 10.255.9.1
`)
	for subnet, want := range map[string]bool{
		"10.255.0.0/24": true, "10.255.48.0/24": true, "10.255.9.0/24": true, "10.255.1.0/24": false, "192.0.2.0/24": false,
	} {
		if got := overlapsAny(netip.MustParsePrefix(subnet), used); got != want {
			t.Errorf("%s in use: %v, want %v (routes %v)", subnet, got, want, used)
		}
	}
}

func TestParseSubnet(t *testing.T) {
	for _, bad := range []string{"", "10.255.7.0", "10.255.7.1/24", "10.255.0.0/16", "fd00::/24"} {
		if _, err := parseSubnet(bad); err == nil {
			t.Errorf("parseSubnet(%q) gave no error", bad)
		}
	}
	if _, err := parseSubnet("10.255.7.0/24"); err != nil {
		t.Error(err)
	}
}
