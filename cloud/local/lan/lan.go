package lan

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/vishvananda/netlink"

	"fsub/cloud/local/inside"
)

// LAN is one such network.
type LAN struct {
	bridge string
	ranges []netip.Prefix
	subnet atomic.Pointer[netip.Prefix]

	mu     sync.Mutex
	turned map[string]bool // interfaces whose forwarding was turned on; the guard table and the record have them too, as long as nobody takes those away
	gone   bool            // removed, with nothing left
}

// bridgeName is what our bridges are called. The links of machines begin with the first eight letters.
var bridgeName = regexp.MustCompile(`^fl[0-9a-f]{8}$`)

// Name makes the name of a bridge of a number that should be its owner's alone.
func Name(sum uint32) string { return fmt.Sprintf("fl%08x", sum) }

// Open finds the network with a bridge of that name, or chooses addresses for it out of ranges
// ([DefaultRanges] if there are none). It makes nothing.
func Open(name string, ranges []netip.Prefix) (*LAN, error) {
	if !bridgeName.MatchString(name) {
		return nil, fmt.Errorf("invalid name of a bridge: %q", name)
	}
	if len(ranges) == 0 {
		ranges = DefaultRanges()
	}
	n := &LAN{bridge: name, ranges: ranges, turned: map[string]bool{}}
	if old, err := n.present(); err != nil || old.IsValid() {
		n.subnet.Store(&old)
		return n, err
	}
	return n, n.choose()
}

// Find returns the network with a bridge of that name, or with anything else left of it; nil if
// there is none. It chooses no addresses, so that the result can only be removed; if the bridge has
// no address, the network has none. Callers who may not look for tables find a network only if
// there is a bridge.
func Find(name string) (*LAN, error) {
	n := &LAN{bridge: name, turned: map[string]bool{}}
	n.subnet.Store(new(netip.Prefix))
	if n.Present() {
		old, err := n.present()
		n.subnet.Store(&old)
		return n, err
	}
	all, err := allTables()
	if err != nil {
		return nil, nil // without the right to make tables, or without nf_tables, no network was ever made
	}
	if slices.Contains(all, tableOf(name)) || slices.Contains(all, guardTable) {
		return n, nil
	}
	if noted, err := recorded(); err != nil || len(noted) == 0 {
		return nil, err
	}
	return n, nil
}

// Subnet is where the machines' addresses are.
func (n *LAN) Subnet() netip.Prefix { return *n.subnet.Load() }

// ErrMoved: the addresses that were chosen are in use by now, and others have been chosen. Machines
// of the old ones cannot be linked.
var ErrMoved = errors.New("the addresses of the machines' network have come into use elsewhere; others have been chosen")

// Ensure makes what is missing of the network. Call it before machines are linked, and now and
// then: interfaces come and go, and others flush tables.
func (n *LAN) Ensure() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return locked(n.ensure)
}

func (n *LAN) ensure() error {
	n.gone = false
	bridge, err := n.ensureBridge()
	if err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	if err := n.ensureTable(); err != nil {
		return fmt.Errorf("nf_tables: %w", err)
	}
	if err := setForwarding(bridge.Attrs().Name, true); err != nil {
		return err
	}
	return n.openUplinks()
}

func (n *LAN) ensureBridge() (netlink.Link, error) {
	me, err := inside.Look(os.Getpid())
	if err != nil {
		return nil, err
	}
	old, err := n.present()
	if err != nil {
		return nil, err
	}
	if !old.IsValid() {
		if err := n.makeBridge(); err != nil {
			return nil, err
		}
	}
	link, err := netlink.LinkByName(n.bridge)
	if err == nil && link.Attrs().Alias != me.String() {
		err = netlink.LinkSetAlias(link, me.String()) // who sweeps knows by it whether the bridge has an owner
	}
	return link, err
}

func (n *LAN) makeBridge() error {
	if err := deleteTable(tableOf(n.bridge)); err != nil { // of a bridge before, which may have had other addresses
		return err
	}
	taken, err := taken()
	if err != nil {
		return err
	}
	if overlaps(n.Subnet(), taken) {
		if err := n.choose(); err != nil {
			return err
		}
		return ErrMoved
	}
	mtu, err := outMTU()
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = n.bridge, mtu
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil && !errors.Is(err, os.ErrExist) { // one without an address, of a daemon that died
		return err
	}
	link, err := netlink.LinkByName(n.bridge)
	if err != nil {
		return err
	}
	addr, err := netlink.ParseAddr(netip.PrefixFrom(n.Addr(1), n.Subnet().Bits()).String())
	if err != nil {
		return err
	}
	return errors.Join(netlink.AddrReplace(link, addr), netlink.LinkSetUp(link))
}

// present is the subnet of the bridge, if there is one.
func (n *LAN) present() (netip.Prefix, error) {
	link, err := netlink.LinkByName(n.bridge)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return netip.Prefix{}, nil
	}
	if err != nil {
		return netip.Prefix{}, err
	}
	addrs, err := again(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_V4) })
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.IPNet.String()); err == nil {
			return p.Masked(), nil
		}
	}
	return netip.Prefix{}, err
}

// Present reports whether the bridge is there.
func (n *LAN) Present() bool {
	_, err := netlink.LinkByName(n.bridge)
	return err == nil
}

// Remove takes the network away if unused says that no machine needs it, and what a daemon has left
// of it that died while it did so.
func (n *LAN) Remove(unused func() bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	link, err := netlink.LinkByName(n.bridge)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		link, err = nil, nil
	}
	if err != nil || link == nil && n.gone || !unused() {
		return err
	}
	return locked(func() error {
		if link != nil {
			if err := netlink.LinkDel(link); err != nil {
				return err
			}
		}
		err := errors.Join(deleteTable(tableOf(n.bridge)), n.closeUplinks())
		n.gone = err == nil
		return err
	})
}
