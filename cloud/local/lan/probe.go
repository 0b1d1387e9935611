package lan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
)

// Works reports why LANs do not work on this machine: by [WayOut] and [Probe], which is tried once
// in the life of a program.
func Works() error {
	if err := WayOut(); err != nil {
		return err
	}
	return probed()
}

var probed = sync.OnceValue(func() error { return Probe(append(DefaultRanges(), netip.MustParsePrefix("169.254.128.0/17"))) })

// Probe tries all of it with two machines on a LAN, and a host that is only a neighbor of this one
// and does not know the LAN. The machines must reach each other and that host, and it must not
// reach them. Probe leaves nothing. The error says what does not work: a kernel without nf_tables,
// a /proc that cannot be written, a firewall that forwards nothing.
func Probe(ranges []netip.Prefix) error {
	n, err := Open(Name(rand.Uint32()), ranges)
	if err != nil {
		return err
	}
	return locked(func() (err error) { // others may look for free addresses
		defer func() { err = errors.Join(err, n.unmake()) }()
		return n.try()
	})
}

func (n *LAN) unmake() (err error) {
	n.Unlink(n.Addr(2).String()) // they would go by themselves, a little later
	n.Unlink(n.Addr(3).String())
	if link, missing := netlink.LinkByName(n.bridge); missing == nil {
		err = netlink.LinkDel(link)
	}
	return errors.Join(err, deleteTable(tableOf(n.bridge)), n.closeUplinks())
}

func (n *LAN) try() error {
	var ns [3]*os.File // two machines, and the host outside
	for i := range ns {
		var err error
		if ns[i], err = newNamespace(); err != nil {
			return err
		}
		defer ns[i].Close()
	}
	outside, remove, err := neighbour(ns[2], n.ranges, n.Subnet())
	if err != nil {
		return fmt.Errorf("a neighbour to try with: %w", err)
	}
	defer remove()
	if err := n.ensure(); err != nil {
		return err
	}
	one, two := n.Addr(2).String(), n.Addr(3).String()
	if err := errors.Join(n.Link(one, ns[0]), n.Link(two, ns[1])); err != nil {
		return err
	}
	if err := reach(ns[0], ns[1], two); err != nil {
		return fmt.Errorf("machines do not reach each other: %w", err)
	}
	if err := reach(ns[0], ns[2], outside.String()); err != nil {
		return fmt.Errorf("machines have no way out: %w", err)
	}
	return nil
}

// neighbour makes a host of a namespace, at the other end of a link of this one. It has no route
// but to this machine.
func neighbour(namespace *os.File, ranges []netip.Prefix, not netip.Prefix) (addr netip.Addr, remove func(), err error) {
	used, err := taken()
	if err != nil {
		return addr, nil, err
	}
	block, ok := freeBlock(ranges, 30, rand.Uint32(), append(used, not))
	if !ok {
		return addr, nil, errors.New("no addresses are free")
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = fmt.Sprintf("fo%08x", rand.Uint32())
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerNamespace = "eth0", netlink.NsFd(int(namespace.Fd()))
	if err := netlink.LinkAdd(veth); err != nil {
		return addr, nil, err
	}
	remove = func() { _ = netlink.LinkDel(veth) }
	here, there := netip.PrefixFrom(add(block.Addr(), 1), 30), netip.PrefixFrom(add(block.Addr(), 2), 30)
	err = errors.Join(up(attrs.Name, here.String(), nil), within(namespace, func() error {
		err := up("eth0", there.String(), nil)
		awaitCarrier("eth0")
		return err
	}))
	if err != nil {
		remove()
	}
	awaitCarrier(attrs.Name)
	return there.Addr(), remove, err
}

// reachTime is how long a connection on this machine may take: what is lost while a link comes up
// is sent again after one second and after three.
const reachTime = 5 * time.Second

// reach connects from one namespace to an address of another.
func reach(from, to *os.File, addr string) error {
	var l net.Listener
	err := within(to, func() (err error) {
		l, err = net.Listen("tcp4", net.JoinHostPort(addr, "0"))
		return err
	})
	if err != nil {
		return err
	}
	defer l.Close()
	return within(from, func() error {
		c, err := net.DialTimeout("tcp4", l.Addr().String(), reachTime)
		if err == nil {
			err = c.Close()
		}
		return err
	})
}
