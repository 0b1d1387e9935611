package lan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Bits is how large a network is: 4094 addresses.
const Bits = 20

// DefaultRanges are where addresses are looked for: private ones that few use.
func DefaultRanges() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("10.254.0.0/16"), netip.MustParsePrefix("172.30.0.0/16"), netip.MustParsePrefix("192.168.192.0/18")}
}

// CheckRange refuses what cannot be a range of addresses for machines.
func CheckRange(p netip.Prefix) error {
	switch a := p.Addr(); {
	case !p.IsValid() || !a.Is4() || p != p.Masked():
		return fmt.Errorf("invalid IPv4 network %s: want ADDRESS/BITS, such as 10.254.0.0/16", p)
	case p.Bits() > Bits:
		return fmt.Errorf("%s is too small: it takes /%d at least", p, Bits)
	case !a.IsPrivate() && !a.IsLinkLocalUnicast() && !shared.Contains(a):
		return fmt.Errorf("%s is not private: take a part of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10 or 169.254.0.0/16", p)
	}
	return nil
}

var shared = netip.MustParsePrefix("100.64.0.0/10")

// choose takes a block of the ranges that no address and no route of this machine overlaps with.
// Where it begins to look depends on the name, so that two who choose at one moment rarely meet.
func (n *LAN) choose() error {
	used, err := taken()
	if err != nil {
		return err
	}
	h := fnv.New32a()
	h.Write([]byte(n.bridge))
	block, ok := freeBlock(n.ranges, Bits, h.Sum32(), used)
	if !ok {
		return fmt.Errorf("all of %v is in use by routes of this machine: name another range", n.ranges)
	}
	n.subnet.Store(&block)
	return nil
}

// freeBlock is a block of so many bits out of the first range that has one.
func freeBlock(ranges []netip.Prefix, bits int, start uint32, used []netip.Prefix) (netip.Prefix, bool) {
	for _, r := range ranges {
		blocks := uint32(1) << (bits - r.Bits())
		for i := range blocks {
			block := netip.PrefixFrom(add(r.Addr(), (start+i)%blocks<<(32-bits)), bits)
			if !overlaps(block, used) {
				return block, true
			}
		}
	}
	return netip.Prefix{}, false
}

func overlaps(p netip.Prefix, used []netip.Prefix) bool { return slices.ContainsFunc(used, p.Overlaps) }

func add(a netip.Addr, i uint32) netip.Addr {
	b := a.As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+i)
	return netip.AddrFrom4(b)
}

// Addr is the i-th address of the subnet; the first is the bridge's.
func (n *LAN) Addr(i uint32) netip.Addr { return add(n.Subnet().Addr(), i) }

// Last is the number of the last address that a machine can have; the first is 2.
func (n *LAN) Last() uint32 { return 1<<(32-n.Subnet().Bits()) - 2 }

// Has reports whether addr is one of this network.
func (n *LAN) Has(addr string) bool {
	a, err := netip.ParseAddr(addr)
	return err == nil && n.Subnet().Contains(a)
}

// taken are the networks that this machine has or reaches by a route of its own. Routes that stand
// for the rest of the world are not counted: a block of ours is more specific.
func taken() ([]netip.Prefix, error) {
	routes, err := routes()
	if err != nil {
		return nil, err
	}
	var out []netip.Prefix
	for _, r := range routes {
		if p, ok := destination(&r); ok && p.Bits() >= 8 {
			out = append(out, p)
		}
	}
	return out, nil
}

func destination(r *netlink.Route) (netip.Prefix, bool) {
	if r.Dst == nil {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0), true
	}
	p, err := netip.ParsePrefix(r.Dst.String())
	return p, err == nil
}

// routes are those of all tables but the kernel's own of local addresses.
func routes() ([]netlink.Route, error) {
	all, err := again(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
	})
	return slices.DeleteFunc(all, func(r netlink.Route) bool { return r.Table == unix.RT_TABLE_LOCAL }), err
}

// again repeats a listing that others have changed meanwhile.
func again[T any](list func() (T, error)) (out T, err error) {
	for range 10 {
		if out, err = list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	if errors.Is(err, netlink.ErrDumpInterrupted) {
		err = nil // what is there is nearly right, and looked at again
	}
	return out, err
}
