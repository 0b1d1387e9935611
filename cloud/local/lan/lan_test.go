package lan

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A host is a network namespace that stands for a machine with LANs, between two networks: a world that is its way out, and an office.
type host struct {
	here, world, office *os.File
}

const worldAddr, officeAddr = "198.51.100.1", "203.0.113.1"

// newHost makes it as a machine comes from the factory: it forwards nothing. World and office know a way to everything by the host, as strangers may who want to use it.
func newHost(t *testing.T) host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: it takes root")
	}
	var all [3]*os.File
	for i := range all {
		ns, err := newNamespace()
		if err != nil {
			t.Skipf("SKIPPED: network namespaces cannot be made here: %v", err)
		}
		t.Cleanup(func() { ns.Close() })
		all[i] = ns
	}
	h := host{all[0], all[1], all[2]}
	forget := func() error { return record(nil) }
	h.do(t, forget) // a namespace that is gone, and had the same number, may have left one
	t.Cleanup(func() { _ = within(h.here, forget) })
	h.do(t, func() error { return up("lo", "", nil) })
	h.cable(t, "world", h.world, "198.51.100.2/24", worldAddr+"/24")
	h.cable(t, "office", h.office, "203.0.113.2/24", officeAddr+"/24")
	h.do(t, func() error { return netlink.RouteAdd(&netlink.Route{Gw: net.ParseIP(worldAddr)}) })
	return h
}

func (h host) cable(t *testing.T, name string, to *os.File, here, there string) {
	t.Helper()
	gateway, err := netip.ParsePrefix(here)
	if err != nil {
		t.Fatal(err)
	}
	h.do(t, func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = name
		veth := netlink.NewVeth(attrs)
		veth.PeerName, veth.PeerNamespace = "eth0", netlink.NsFd(int(to.Fd()))
		return errors.Join(netlink.LinkAdd(veth), up(name, here, nil))
	})
	if err := within(to, func() error { return up("eth0", there, gateway.Addr().AsSlice()) }); err != nil {
		t.Fatal(err)
	}
	h.do(t, func() error { awaitCarrier(name); return nil })
}

// do does something on the host.
func (h host) do(t *testing.T, f func() error) {
	t.Helper()
	if err := within(h.here, f); err != nil {
		t.Fatal(err)
	}
}

// open makes a LAN on the host, with one machine.
func (h host) open(t *testing.T, sum uint32) (n *LAN, machine *os.File) {
	t.Helper()
	machine, err := newNamespace()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { machine.Close() })
	h.do(t, func() (err error) {
		if n, err = Open(Name(sum), nil); err != nil {
			return err
		}
		if err := n.Ensure(); err != nil {
			return err
		}
		return n.Link(n.Addr(2).String(), machine)
	})
	return n, machine
}

// has tells what of LANs the host has.
func (h host) has(t *testing.T) string {
	t.Helper()
	var out string
	h.do(t, func() error {
		links, err := netlink.LinkList()
		if err != nil {
			return err
		}
		var names []string
		for _, l := range links {
			if bridgeName.MatchString(l.Attrs().Name) {
				names = append(names, l.Attrs().Name)
			}
		}
		slices.Sort(names)
		t, err := allTables()
		if err != nil {
			return err
		}
		slices.Sort(t)
		guards, err := guarded()
		if err != nil {
			return err
		}
		w, err := forwards("world")
		out = fmt.Sprintf("%v %v guards %v, world forwards %v", names, t, guards, w)
		return err
	})
	return out
}

func (h host) wants(t *testing.T, when, want string) {
	t.Helper()
	if got := h.has(t); got != want {
		t.Errorf("%s the host has\n%s, want\n%s", when, got, want)
	}
}

const (
	nothing = "[] [] guards [], world forwards false"
	one     = "[fl01000000] [fsub-fl01000000 fsub-forwarding] guards [office world], world forwards true"
)

func TestWayOut(t *testing.T) {
	h := newHost(t)
	h.wants(t, "before,", nothing)
	n, m := h.open(t, 1<<24)
	h.wants(t, "with a machine", one)
	for _, target := range []struct {
		ns   *os.File
		addr string
	}{{h.world, worldAddr}, {h.office, officeAddr}, {h.here, n.Addr(1).String()}} {
		if err := reach(m, target.ns, target.addr); err != nil {
			t.Errorf("the machine does not reach %s: %v", target.addr, err)
		}
	}
	if err := reach(h.here, m, n.Addr(2).String()); err != nil {
		t.Errorf("the host does not reach its machine: %v", err)
	}
	if reach(h.world, m, n.Addr(2).String()) == nil {
		t.Error("the world reaches the machine")
	}
	if reach(h.world, h.office, officeAddr) == nil {
		t.Error("the world reaches the office through the host")
	}
	h.do(t, func() error { return n.Remove(func() bool { return false }) })
	h.wants(t, "in use", one)
	h.do(t, func() error { return n.Remove(func() bool { return true }) })
	h.wants(t, "removed,", nothing)
	h.do(t, func() error { return n.Remove(func() bool { return true }) })
}

// TestRouter: where the host forwards everything, as with Docker, that is nobody's business here.
func TestRouter(t *testing.T) {
	h := newHost(t)
	n, m := h.open(t, 1<<24)
	h.do(t, func() error { return errors.Join(setForwarding("all", true), n.Ensure()) })
	const routed = "[fl01000000] [fsub-fl01000000] guards [], world forwards true"
	h.wants(t, "as a router", routed)
	if err := reach(h.world, h.office, officeAddr); err != nil {
		t.Errorf("a router's strangers are kept off: %v", err)
	}
	if err := reach(m, h.world, worldAddr); err != nil {
		t.Errorf("a router's machine has no way out: %v", err)
	}
	if reach(h.world, m, n.Addr(2).String()) == nil {
		t.Error("the world reaches the machine")
	}
	h.do(t, func() error { return n.Remove(func() bool { return true }) })
	h.wants(t, "removed,", "[] [] guards [], world forwards true")
}

// TestTwo: the one that goes first leaves the other its way out.
func TestTwo(t *testing.T) {
	h := newHost(t)
	a, _ := h.open(t, 1<<24)
	b, m := h.open(t, 2<<24)
	if a.Subnet().Overlaps(b.Subnet()) {
		t.Errorf("%s and %s overlap", a.Subnet(), b.Subnet())
	}
	h.do(t, func() error { return a.Remove(func() bool { return true }) })
	h.wants(t, "with the second", "[fl02000000] [fsub-fl02000000 fsub-forwarding] guards [office world], world forwards true")
	if err := reach(m, h.world, worldAddr); err != nil {
		t.Errorf("the second's machine has no way out: %v", err)
	}
	h.do(t, func() error { return b.Remove(func() bool { return true }) })
	h.wants(t, "removed,", nothing)
}

// TestRepair: tables may be flushed, interfaces come, and a daemon may die at any point.
func TestRepair(t *testing.T) {
	h := newHost(t)
	n, m := h.open(t, 1<<24)
	h.do(t, func() error { return errors.Join(deleteTable(guardTable), deleteTable(tableOf(n.bridge)), n.Ensure()) })
	h.wants(t, "repaired,", one)
	if err := reach(m, h.world, worldAddr); err != nil {
		t.Errorf("no way out: %v", err)
	}
	annex, err := newNamespace()
	if err != nil {
		t.Fatal(err)
	}
	defer annex.Close()
	h.cable(t, "annex", annex, "192.0.2.2/24", "192.0.2.1/24")
	h.do(t, n.Ensure)
	if err := reach(m, annex, "192.0.2.1"); err != nil {
		t.Errorf("no way to an interface that came later: %v", err)
	}
	h.do(t, func() error { // the next daemon
		next, err := Open(Name(1<<24), nil)
		if err == nil && next.Subnet() != n.Subnet() {
			err = fmt.Errorf("the next one has %s, this one %s", next.Subnet(), n.Subnet())
		}
		return errors.Join(err, next.Remove(func() bool { return true }))
	})
	h.wants(t, "removed by the next,", nothing)
}

// TestForgotten: what was changed for the machines' sake is known to the next daemon although nothing but forwarding tells of it any more.
func TestForgotten(t *testing.T) {
	flush := func(n *LAN) error { return errors.Join(deleteTable(guardTable), deleteTable(tableOf(n.bridge))) }
	cut := cutBridge
	yes := func() bool { return true }
	for name, c := range map[string]struct {
		lost func(*LAN) error
		next func(*LAN) error
	}{
		"flushed tables":                {flush, func(n *LAN) error { return errors.Join(n.Ensure(), n.Remove(yes)) }},
		"flushed tables, none made":     {flush, func(n *LAN) error { return n.Remove(yes) }},
		"a death while it was removed":  {cut, func(n *LAN) error { return n.Remove(yes) }},
		"nothing left but the record":   {func(n *LAN) error { return errors.Join(cut(n), flush(n)) }, func(n *LAN) error { return n.Remove(yes) }},
		"nothing left, another's sweep": {func(n *LAN) error { return errors.Join(cut(n), flush(n)) }, func(n *LAN) error { n.bridge = Name(2 << 24); return n.Sweep() }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			n, _ := h.open(t, 1<<24)
			h.do(t, func() error {
				next, err := Open(Name(1<<24), nil)
				return errors.Join(err, c.lost(n), c.next(next))
			})
			h.wants(t, "in the end", nothing)
			h.do(t, func() error {
				if links, err := recorded(); err != nil || links != nil {
					return fmt.Errorf("the record has %v, %v", links, err)
				}
				return nil
			})
		})
	}
}

// TestFind: a network is found, to be removed, as long as anything is left of it; none is chosen where there was none.
func TestFind(t *testing.T) {
	for name, lose := range map[string]func(*LAN) error{
		"all of it": func(*LAN) error { return nil },
		"no tables": func(n *LAN) error { return errors.Join(deleteTable(guardTable), deleteTable(tableOf(n.bridge))) },
		"no bridge": cutBridge,
		"the guard": func(n *LAN) error { return errors.Join(cutBridge(n), deleteTable(tableOf(n.bridge))) },
		"only on record": func(n *LAN) error {
			return errors.Join(cutBridge(n), deleteTable(guardTable), deleteTable(tableOf(n.bridge)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			find := func() (found *LAN) {
				h.do(t, func() (err error) { found, err = Find(Name(1 << 24)); return err })
				return found
			}
			if n := find(); n != nil {
				t.Errorf("before it was made it is found: %v", n.Subnet())
			}
			n, _ := h.open(t, 1<<24)
			if found := find(); found == nil || found.Subnet() != n.Subnet() || !found.Has(n.Addr(2).String()) {
				t.Errorf("%v is not found whole: %v", n.Subnet(), found)
			}
			h.do(t, func() error { return lose(n) })
			found := find()
			if found == nil {
				t.Fatal("what is left of it is not found")
			}
			h.do(t, func() error { return found.Remove(func() bool { return true }) })
			h.wants(t, "in the end", nothing)
			if n := find(); n != nil {
				t.Errorf("removed, it is found: %v", n.Subnet())
			}
		})
	}
}

func cutBridge(n *LAN) error {
	link, err := netlink.LinkByName(n.bridge)
	if err != nil {
		return err
	}
	return netlink.LinkDel(link)
}

// TestFlushedBesideAnother: tables that somebody has flushed are no reason to take forwarding from a network that lives.
func TestFlushedBesideAnother(t *testing.T) {
	h := newHost(t)
	a, m := h.open(t, 1<<24)
	b, _ := h.open(t, 2<<24)
	h.do(t, func() error {
		err := errors.Join(deleteTable(guardTable), deleteTable(tableOf(a.bridge)), deleteTable(tableOf(b.bridge)))
		return errors.Join(err, b.Remove(func() bool { return true }))
	})
	h.wants(t, "before the repair", "[fl01000000] [] guards [], world forwards true")
	h.do(t, a.Ensure)
	h.wants(t, "repaired,", one)
	if err := reach(m, h.world, worldAddr); err != nil {
		t.Errorf("no way out: %v", err)
	}
	h.do(t, func() error { return a.Remove(func() bool { return true }) })
	h.wants(t, "removed,", nothing)
}

// TestAddressesComeAgain: a machine that gets the address of an earlier one is found at once by who has spoken with that.
func TestAddressesComeAgain(t *testing.T) {
	h := newHost(t)
	n, one := h.open(t, 1<<24)
	addr := n.Addr(3).String()
	for range 3 {
		two, err := newNamespace()
		if err != nil {
			t.Fatal(err)
		}
		defer two.Close()
		h.do(t, func() error { return n.Link(addr, two) })
		for _, from := range []*os.File{one, h.here} {
			if err := reach(from, two, addr); err != nil {
				t.Error(err)
			}
		}
		h.do(t, func() error { n.Unlink(addr); return nil })
	}
	h.do(t, func() error { return n.Remove(func() bool { return true }) })
}

// TestLinkOfTheHost: a process whose number is another's by now may be in the host's own namespace, which gets no address of a machine.
func TestLinkOfTheHost(t *testing.T) {
	h := newHost(t)
	n, _ := h.open(t, 1<<24)
	h.do(t, func() error {
		if err := n.Link(n.Addr(3).String(), h.here); !errors.Is(err, errOwn) {
			return fmt.Errorf("error %v, want %v", err, errOwn)
		}
		if link, err := netlink.LinkByName("eth0"); err == nil {
			return fmt.Errorf("the host has a link %v of its own machine", link.Attrs())
		}
		return n.Remove(func() bool { return true })
	})
}

func TestSweep(t *testing.T) {
	h := newHost(t)
	a, m := h.open(t, 1<<24)
	b, _ := h.open(t, 2<<24)
	dead := func() error { // whoever owns them
		for _, n := range []*LAN{a, b} {
			link, err := netlink.LinkByName(n.bridge)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetAlias(link, "1 1 another-boot"); err != nil {
				return err
			}
		}
		return nil
	}
	other, err := Open(Name(3<<24), nil)
	if err != nil {
		t.Fatal(err)
	}
	const two = "[fl01000000 fl02000000] [fsub-fl01000000 fsub-fl02000000 fsub-forwarding] guards [office world], world forwards true"
	h.do(t, func() error { b.Unlink(b.Addr(2).String()); return other.Sweep() })
	h.wants(t, "with owners,", two)
	h.do(t, func() error { return errors.Join(dead(), other.Sweep()) })
	h.wants(t, "without owners, one with a machine,", one)
	if err := reach(m, h.world, worldAddr); err != nil {
		t.Errorf("a machine without a daemon has no way out: %v", err)
	}
	h.do(t, func() error { a.Unlink(a.Addr(2).String()); return other.Sweep() })
	h.wants(t, "without machines,", nothing)
}

// TestSweepOthers: an interface of somebody else may have such a name by chance.
func TestSweepOthers(t *testing.T) {
	h := newHost(t)
	annex, err := newNamespace()
	if err != nil {
		t.Fatal(err)
	}
	defer annex.Close()
	h.cable(t, Name(1<<24), annex, "192.0.2.2/24", "192.0.2.1/24")
	other, err := Open(Name(2<<24), nil)
	if err != nil {
		t.Fatal(err)
	}
	h.do(t, other.Sweep)
	h.wants(t, "with another's interface,", "[fl01000000] [] guards [], world forwards false")
}

// TestMoved: addresses that come into use before the network is made are left to who uses them.
func TestMoved(t *testing.T) {
	h := newHost(t)
	h.do(t, func() error {
		n, err := Open(Name(1<<24), nil)
		if err != nil {
			return err
		}
		first := n.Subnet()
		world, err := netlink.LinkByName("world")
		if err != nil {
			return err
		}
		dst := net.IPNet{IP: first.Addr().AsSlice(), Mask: net.CIDRMask(24, 32)}
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: world.Attrs().Index, Dst: &dst, Table: 77, Scope: unix.RT_SCOPE_LINK}); err != nil {
			return err
		}
		if err := n.Ensure(); !errors.Is(err, ErrMoved) || n.Present() {
			return fmt.Errorf("error %v, want %v", err, ErrMoved)
		}
		if n.Subnet().Overlaps(first) {
			return fmt.Errorf("%s again", first)
		}
		return errors.Join(n.Ensure(), n.Remove(func() bool { return true }))
	})
	h.wants(t, "removed,", nothing)
}

// TestMovedLater: machines at addresses that were chosen anew leave under the host's address, as those before them did.
func TestMovedLater(t *testing.T) {
	h := newHost(t)
	n, _ := h.open(t, 1<<24)
	first := n.Subnet()
	machine, err := newNamespace()
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	h.do(t, func() error {
		bridge, err := netlink.LinkByName(n.bridge)
		if err != nil {
			return err
		}
		world, err := netlink.LinkByName("world")
		if err != nil {
			return err
		}
		dst := net.IPNet{IP: first.Addr().AsSlice(), Mask: net.CIDRMask(24, 32)}
		err = errors.Join(netlink.LinkDel(bridge), netlink.RouteAdd(&netlink.Route{LinkIndex: world.Attrs().Index, Dst: &dst, Table: 77, Scope: unix.RT_SCOPE_LINK}))
		if err != nil {
			return err
		}
		if err := n.Ensure(); !errors.Is(err, ErrMoved) {
			return fmt.Errorf("error %v, want %v", err, ErrMoved)
		}
		return errors.Join(n.Ensure(), n.Link(n.Addr(2).String(), machine))
	})
	if from := h.seen(t, machine); from != "198.51.100.2" {
		t.Errorf("the world sees a machine as %s", from)
	}
	h.do(t, func() error { return n.Remove(func() bool { return true }) })
}

// seen is the address that the world sees a machine with.
func (h host) seen(t *testing.T, machine *os.File) string {
	t.Helper()
	var l net.Listener
	if err := within(h.world, func() (err error) { l, err = net.Listen("tcp4", worldAddr+":0"); return err }); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err := within(machine, func() error {
		c, err := net.DialTimeout("tcp4", l.Addr().String(), reachTime)
		if err == nil {
			defer c.Close()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.RemoteAddr().(*net.TCPAddr).IP.String()
}

// TestProbe: it tells what is so, and leaves nothing.
func TestProbe(t *testing.T) {
	h := newHost(t)
	h.do(t, func() error { return Probe(nil) })
	h.wants(t, "after a probe", nothing)
	// A firewall that forwards nothing, as many have.
	h.do(t, dropForwarded)
	h.do(t, func() error {
		began := time.Now()
		if err := Probe(nil); err == nil {
			return errors.New("no error behind a firewall")
		} else if time.Since(began) < reachTime { // nobody said no: it was dropped
			return fmt.Errorf("refused for another reason: %w", err)
		}
		return deleteTable("firewall")
	})
	h.wants(t, "after a probe", nothing)
}

func TestWhereIPv6IsTheWay(t *testing.T) {
	h := newHost(t)
	h.do(t, WayOut)
	h.do(t, func() error {
		if err := netlink.RouteDel(&netlink.Route{Gw: net.ParseIP(worldAddr)}); err != nil {
			return err
		}
		if err := WayOut(); err != nil {
			return fmt.Errorf("no way out at all: %w", err)
		}
		world, err := netlink.LinkByName("world")
		if err != nil {
			return err
		}
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: world.Attrs().Index, Dst: &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}}); err != nil {
			return err
		}
		if WayOut() == nil {
			return errors.New("IPv6 alone was taken for a way out")
		}
		return nil
	})
}
