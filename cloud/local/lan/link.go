package lan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/vishvananda/netlink"
)

// device is the host's end of the link to a machine.
func (n *LAN) device(addr string) string {
	b := netip.MustParseAddr(addr).As4()
	return fmt.Sprintf("%s-%x", n.bridge[:8], binary.BigEndian.Uint32(b[:])&(1<<(32-n.Subnet().Bits())-1))
}

// errOwn: a machine's process may have ended, and its number be another's by now.
var errOwn = errors.New("the namespace to link is the host's own: its process has ended")

// Link connects a network namespace, which gets the address on an eth0. The host's own is refused.
func (n *LAN) Link(addr string, namespace *os.File) error {
	own, err := sameNamespace(namespace)
	if err != nil {
		return err
	}
	if own {
		return errOwn
	}
	n.Unlink(addr) // of a machine before, whose namespace takes a moment to go
	bridge, err := netlink.LinkByName(n.bridge)
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.MasterIndex = n.device(addr), bridge.Attrs().MTU, bridge.Attrs().Index
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerMTU, veth.PeerNamespace = "eth0", uint32(attrs.MTU), netlink.NsFd(int(namespace.Fd()))
	veth.PeerHardwareAddr = hardware(addr)
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	if err := netlink.LinkSetUp(veth); err != nil {
		return fmt.Errorf("link up: %w", err)
	}
	shared := readSysctls()
	err = within(namespace, func() error {
		if err := up("lo", "", nil); err != nil {
			return err
		}
		writeSysctls(shared)
		if err := up("eth0", netip.PrefixFrom(netip.MustParseAddr(addr), n.Subnet().Bits()).String(), n.Addr(1).AsSlice()); err != nil {
			return err
		}
		awaitCarrier("eth0")
		return nil
	})
	awaitCarrier(attrs.Name)
	return err
}

// awaitCarrier waits for what the kernel does a moment after both ends of a link have come up;
// before that it drops packets, and their senders try again only a second later.
func awaitCarrier(name string) {
	for range 500 {
		link, err := netlink.LinkByName(name)
		if err != nil || link.Attrs().OperState == netlink.OperUp {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// hardware is the hardware address that goes with an address: others remember it for some time, and
// would look for the next machine of the address where the last one was.
func hardware(addr string) net.HardwareAddr {
	ip := netip.MustParseAddr(addr).As4()
	return net.HardwareAddr{2, 'f', ip[0], ip[1], ip[2], ip[3]} // 2: of nobody's manufacture
}

// up brings a link of this namespace up, with an address and a way out.
func up(name, addr string, gateway []byte) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	if addr != "" {
		a, err := netlink.ParseAddr(addr)
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(link, a); err != nil {
			return fmt.Errorf("address %s of %s: %w", addr, name, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("%s up: %w", name, err)
	}
	if gateway == nil {
		return nil
	}
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: gateway}); err != nil {
		return fmt.Errorf("default route: %w", err)
	}
	return nil
}

// Unlink takes a machine's link away. It goes by itself too, a little after the machine.
func (n *LAN) Unlink(addr string) {
	if !n.Has(addr) {
		return
	}
	link, err := netlink.LinkByName(n.device(addr))
	if err == nil {
		_ = netlink.LinkDel(link) // it may go by itself just now
	}
}

// sysctls are what a new namespace has as the kernel was built, and machines are to have as the
// host: who may ping, which ports, how large buffers.
var sysctls = []string{"ipv4/ping_group_range", "ipv4/ip_local_port_range", "ipv4/ip_local_reserved_ports", "ipv4/ip_unprivileged_port_start", "ipv4/tcp_rmem", "ipv4/tcp_wmem", "core/somaxconn"}

func readSysctls() map[string][]byte {
	out := map[string][]byte{}
	for _, name := range sysctls {
		if text, err := os.ReadFile("/proc/sys/net/" + name); err == nil {
			out[name] = text
		}
	}
	return out
}

// writeSysctls sets them in this thread's namespace. A machine works without them.
func writeSysctls(values map[string][]byte) {
	for name, text := range values {
		_ = os.WriteFile("/proc/sys/net/"+name, text, 0)
	}
}

// Sweep removes networks without machines whose owners are gone, except the one of this name.
func (n *LAN) Sweep() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return locked(n.sweep)
}

func (n *LAN) sweep() error {
	links, err := again(netlink.LinkList)
	if err != nil {
		return err
	}
	ports, bridges := map[int]bool{}, map[string]bool{n.bridge: true}
	for _, l := range links {
		ports[l.Attrs().MasterIndex] = true
	}
	for _, l := range links {
		a := l.Attrs()
		if !isBridge(l) || a.Name == n.bridge {
			continue
		}
		if ports[a.Index] || owned(a.Alias) {
			bridges[a.Name] = true
			continue
		}
		err = errors.Join(err, netlink.LinkDel(l))
	}
	tables, listErr := tables()
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	for _, t := range tables {
		if !bridges[bridgeOf(t)] {
			err = errors.Join(err, deleteTable(t))
		}
	}
	return errors.Join(err, n.closeUplinks())
}
