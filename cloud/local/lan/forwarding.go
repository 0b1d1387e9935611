package lan

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// guardTable keeps strangers from using interfaces that forward for the machines' sake. Its set is
// also the list of them.
const (
	guardTable = "fsub-forwarding"
	guardSet   = "interfaces"
)

func forwardingFile(link string) string { return "/proc/sys/net/ipv4/conf/" + link + "/forwarding" }

// forwards reports whether the host passes on what comes in by an interface. One that has gone does not.
func forwards(link string) (bool, error) {
	text, err := os.ReadFile(forwardingFile(link))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return strings.TrimSpace(string(text)) != "0", err
}

// setForwarding does nothing where it is so already, or the interface has gone.
func setForwarding(link string, on bool) error {
	if is, err := forwards(link); err != nil || is == on {
		return err
	}
	value := "0"
	if on {
		value = "1"
	}
	err := os.WriteFile(forwardingFile(link), []byte(value), 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forwarding of %s: %w", link, err)
	}
	return nil
}

// openUplinks lets answers come in by the interfaces of the machine's routes.
func (n *LAN) openUplinks() error {
	listed, err := guarded()
	if err != nil {
		return err
	}
	noted, err := recorded()
	if err != nil {
		return err
	}
	if all, err := forwards("all"); err != nil || all {
		clear(n.turned)
		err = errors.Join(err, record(nil))
		if listed != nil {
			err = errors.Join(err, deleteTable(guardTable)) // whoever turned it on for all has rules of their own
		}
		return err
	}
	want := map[string]bool{}
	for _, link := range slices.Concat(listed, noted, slices.Collect(maps.Keys(n.turned))) {
		if _, err := os.Stat(forwardingFile(link)); err == nil {
			want[link] = true
		}
	}
	links, err := uplinks()
	if err != nil {
		return err
	}
	for _, link := range links {
		if is, err := forwards(link); err != nil {
			return err
		} else if !is {
			want[link] = true
		}
	}
	list := slices.Sorted(maps.Keys(want))
	if !slices.Equal(list, noted) {
		if err := record(list); err != nil { // before anything is turned on
			return err
		}
	}
	if len(list) > 0 && !slices.Equal(list, listed) {
		if err := writeGuard(list); err != nil {
			return fmt.Errorf("nf_tables: %w", err)
		}
	}
	n.turned = want
	for _, link := range list {
		if err := setForwarding(link, true); err != nil {
			return err
		}
	}
	return nil
}

// closeUplinks restores everything if this was the last LAN.
func (n *LAN) closeUplinks() error {
	left, err := lans()
	if err != nil {
		return err
	}
	listed, err := guarded()
	if err != nil || left {
		clear(n.turned) // they are others' now
		return err
	}
	noted, err := recorded()
	if err != nil {
		return err
	}
	all, err := forwards("all")
	if err != nil {
		return err
	}
	for _, link := range slices.Concat(listed, noted, slices.Collect(maps.Keys(n.turned))) {
		if !all {
			err = errors.Join(err, setForwarding(link, false))
		}
	}
	if err = errors.Join(err, deleteTable(guardTable)); err != nil {
		return err
	}
	clear(n.turned)
	return record(nil)
}

// lans reports whether there are any: bridges, or tables. Either may be missing for a while, until
// its daemon repairs it.
func lans() (bool, error) {
	left, err := tables()
	if err != nil || len(left) > 0 {
		return true, err
	}
	links, err := again(netlink.LinkList)
	return slices.ContainsFunc(links, isBridge), err
}

func isBridge(l netlink.Link) bool {
	return l.Type() == "bridge" && bridgeName.MatchString(l.Attrs().Name)
}

// uplinks are the interfaces that routes use, without loopback and ours.
func uplinks() ([]string, error) {
	routes, err := routes()
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, r := range routes {
		indices := []int{r.LinkIndex}
		for _, hop := range r.MultiPath {
			indices = append(indices, hop.LinkIndex)
		}
		for _, i := range indices {
			if i == 0 || r.Type != unix.RTN_UNICAST {
				continue
			}
			link, err := netlink.LinkByIndex(i)
			if err != nil {
				continue // it has gone
			}
			if name := link.Attrs().Name; name != "lo" && !bridgeName.MatchString(name) {
				found[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// outMTU is how large packets may be that leave by the default route, so that machines never send larger ones.
func outMTU() (int, error) {
	mtu := 1500
	routes, err := routes()
	for _, r := range routes {
		if p, ok := destination(&r); ok && p.Bits() == 0 && r.LinkIndex != 0 {
			if link, err := netlink.LinkByIndex(r.LinkIndex); err == nil && link.Attrs().MTU > 0 {
				mtu = min(mtu, link.Attrs().MTU)
			}
		}
	}
	return mtu, err
}

// guarded returns the interfaces in the guard's set, sorted; nil where there is no guard.
func guarded() ([]string, error) {
	all, err := allTables()
	if err != nil || !slices.Contains(all, guardTable) {
		return nil, err
	}
	c, err := nftables.New()
	if err != nil {
		return nil, err
	}
	t := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: guardTable}
	elements, err := c.GetSetElements(&nftables.Set{Table: t, Name: guardSet, KeyType: nftables.TypeIFName})
	out := []string{}
	for _, e := range elements {
		out = append(out, strings.TrimRight(string(e.Key), "\x00"))
	}
	slices.Sort(out)
	return out, err
}

func writeGuard(links []string) error {
	return replaceTable(guardTable, func(c *nftables.Conn, t *nftables.Table) error {
		set := &nftables.Set{Table: t, Name: guardSet, KeyType: nftables.TypeIFName}
		var elements []nftables.SetElement
		for _, link := range links {
			elements = append(elements, nftables.SetElement{Key: nameKey(link)})
		}
		if err := c.AddSet(set, elements); err != nil {
			return err
		}
		chain := c.AddChain(&nftables.Chain{Name: "forward", Table: t, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter})
		in := []expr.Any{&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1}, &expr.Lookup{SourceRegister: 1, SetName: set.Name, SetID: set.ID}}
		c.AddRule(&nftables.Rule{Table: t, Chain: chain, Exprs: join(in, noAnswer(), verdict(expr.VerdictDrop))})
		return nil
	})
}

// WayOut says why IPv4 is not the way out of this machine. One that has no way out at all is none
// that its machines would miss.
func WayOut() error {
	four, err := routes()
	if err != nil {
		return err
	}
	six, err := again(func() ([]netlink.Route, error) { return netlink.RouteList(nil, netlink.FAMILY_V6) })
	if err != nil {
		return err
	}
	isDefault := func(r netlink.Route) bool {
		return (r.Dst == nil || r.Dst.IP.IsUnspecified()) && r.Type == unix.RTN_UNICAST
	}
	if slices.ContainsFunc(six, isDefault) && !slices.ContainsFunc(four, isDefault) {
		return errors.New("the way out of this machine is IPv6")
	}
	return nil
}
