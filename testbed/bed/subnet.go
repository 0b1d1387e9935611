package bed

import (
	"fmt"
	"hash/fnv"
	"net/netip"
)

// DefaultDir is where a bed lives unless the caller says otherwise. It has the first subnet.
const DefaultDir = "/var/lib/fsub-bed"

// A bed owns one /24. Each site has a /30 of it: the host's end of the link, then the site's.

// defaultSubnet derives a bed's subnet from its directory, so that beds in different directories do not meet.
// try counts up when the machine already uses that subnet.
func defaultSubnet(dir string, try int) netip.Prefix {
	n := 0
	if dir != DefaultDir {
		h := fnv.New32a()
		h.Write([]byte(dir))
		n = 1 + int(h.Sum32()%250)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 255, byte((n + try) % 256), 0}), 24)
}

// parseSubnet reads the --subnet option.
func parseSubnet(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil || !p.Addr().Is4() || p.Bits() != 24 || p.Masked() != p {
		return netip.Prefix{}, fmt.Errorf("bad subnet %q: give an unused IPv4 /24, such as 10.255.7.0/24", s)
	}
	return p, nil
}

// link is the addressing of one site's veth pair.
type link struct {
	Device   string // the host's end; the site's end is eth0
	HostAddr netip.Addr
	SiteAddr netip.Addr
}

func siteLink(subnet netip.Prefix, index int) link {
	b := subnet.Addr().As4()
	addr := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{b[0], b[1], b[2], byte(4*index + n)}) }
	return link{
		Device:   fmt.Sprintf("fb%02x%02x%02x-%d", b[0], b[1], b[2], index), // at most 15 bytes
		HostAddr: addr(1),
		SiteAddr: addr(2),
	}
}
