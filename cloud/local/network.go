package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// network is a bridge, and a link to each machine's namespace. A link goes with its machine; the bridge when there are no machines.
type network struct {
	bridge string
	subnet netip.Prefix

	mu sync.Mutex
}

// linkBits is the size of a provider's network: 4094 addresses.
const linkBits = 20

func (p *Provider) openNetwork() error {
	switch p.cfg.Network {
	case "", NetworkHost:
		return nil
	case NetworkNamespace:
	default:
		return fmt.Errorf("network: %q is neither host nor namespace", p.cfg.Network)
	}
	if os.Geteuid() != 0 {
		return errors.New("network: namespace takes root; leave it out to use the host's")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return fmt.Errorf("network: namespace takes the program ip (iproute2): %w", err)
	}
	h := fnv.New32a()
	h.Write([]byte(p.cfg.Dir))
	sum := h.Sum32()
	n := &network{bridge: fmt.Sprintf("fl%08x", sum)}
	var err error
	if n.subnet, err = n.choose(sum); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	p.net = n
	return nil
}

// choose returns the bridge's subnet if there is one, else a part of 10.254.0.0/16 that nothing on this machine overlaps with.
func (n *network) choose(sum uint32) (netip.Prefix, error) {
	all, err := net.Interfaces()
	if err != nil {
		return netip.Prefix{}, err
	}
	var taken []netip.Prefix
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil {
			continue // it went meanwhile
		}
		for _, a := range addrs {
			prefix, err := netip.ParsePrefix(a.String())
			if err != nil {
				continue
			}
			if i.Name == n.bridge && prefix.Addr().Is4() {
				return prefix.Masked(), nil
			}
			taken = append(taken, prefix.Masked())
		}
	}
	for try := range uint32(16) {
		block := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 254, byte((sum + try) % 16 << 4), 0}), linkBits)
		if !slices.ContainsFunc(taken, block.Overlaps) {
			return block, nil
		}
	}
	return netip.Prefix{}, errors.New("all of 10.254.0.0/16 is in use; leave network: namespace out")
}

// addr is the n-th address of the subnet.
func (n *network) addr(i uint32) netip.Addr {
	b := n.subnet.Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+i)
	return netip.AddrFrom4(b)
}

// device is the host's end of the link to a machine.
func (n *network) device(addr string) string {
	b := netip.MustParseAddr(addr).As4()
	return fmt.Sprintf("%s-%x", n.bridge[:8], binary.BigEndian.Uint32(b[:])&(1<<(32-linkBits)-1))
}

// ensure makes the bridge.
func (n *network) ensure() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := net.InterfaceByName(n.bridge); err == nil {
		return nil
	}
	return ip("link add "+n.bridge+" type bridge", fmt.Sprintf("addr add %s/%d dev %s", n.addr(1), linkBits, n.bridge), "link set "+n.bridge+" up")
}

// remove takes the bridge away if unused says that no machine needs it.
func (n *network) remove(unused func() bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := net.InterfaceByName(n.bridge); err != nil || !unused() {
		return nil
	}
	return ip("link del " + n.bridge)
}

// inside is what a machine's first process tells ip.
func (n *network) inside(addr string) []string {
	return []string{"link set lo up", fmt.Sprintf("addr add %s/%d dev eth0", addr, linkBits), "link set eth0 up", fmt.Sprintf("route add default via %s", n.addr(1))}
}

// link connects the namespace of a process.
func (n *network) link(addr string, pid int) error {
	dev := n.device(addr)
	n.unlink(addr) // of a machine before, whose namespace takes a moment to go
	return ip(fmt.Sprintf("link add %s type veth peer name eth0 netns %d", dev, pid), fmt.Sprintf("link set %s master %s up", dev, n.bridge))
}

func (n *network) unlink(addr string) {
	if _, err := net.InterfaceByName(n.device(addr)); err == nil {
		_ = ip("link del " + n.device(addr)) // it may go by itself just now
	}
}

func ip(lines ...string) error {
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// freeAddr finds a machine's address: of the bridge's network, or out of a /16 of 127.0.0.0/8 that comes from the directory's name, so that providers of several
// daemons rarely meet. Where they do their machines share an address, which does no harm as long as they do not want the same ports.
func (p *Provider) freeAddr(used map[string]bool) (string, error) {
	if p.net != nil {
		for i := uint32(2); i < 1<<(32-linkBits)-1; i++ {
			if addr := p.net.addr(i).String(); !used[addr] {
				return addr, nil
			}
		}
		return "", errors.New("no address is left")
	}
	h := fnv.New32a()
	h.Write([]byte(p.cfg.Dir))
	block := 1 + h.Sum32()%253 // 127.0 has the resolver's 127.0.0.53
	for n := range 250 * 250 {
		addr := fmt.Sprintf("127.%d.%d.%d", block, n/250, 1+n%250)
		if !used[addr] {
			return addr, nil
		}
	}
	return "", errors.New("no address is left")
}

// HostAddr is where machines reach this host: the bridge's address, or localhost where they share its network.
func (p *Provider) HostAddr() string {
	if p.net == nil {
		return "127.0.0.1"
	}
	return p.net.addr(1).String()
}
