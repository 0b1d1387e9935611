package local

import (
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fsub/cloud/local/inside"
	"fsub/cloud/local/lan"
)

// Network is what network machines have.
type Network string

const (
	// NetworkAuto is NetworkNamespace where that works, with a way out and names that resolve; else
	// NetworkHost.
	NetworkAuto      Network = "auto"
	NetworkHost      Network = "host"
	NetworkNamespace Network = "namespace" // one of their own each, on a bridge. Root only
)

// machineNetwork is the network of the machines: a bridge of their own, or the host's.
type machineNetwork struct {
	cfg   *Config
	log   *slog.Logger
	lan   *lan.LAN // nil: no machine is on one
	own   bool     // new machines are on it
	words string   // which one they have
}

// open decides which network new machines have. unused reports whether no machine is on the bridge.
func (n *machineNetwork) open(unused func() bool) error {
	var why error
	switch n.cfg.Network {
	case "", NetworkAuto:
		why = n.mayOwn()
	case NetworkHost:
		why = errors.New("the configuration says so")
	case NetworkNamespace:
		if n.cfg.NoNamespaces {
			return errors.New("a separate network implies a namespace: leave out one of the two")
		}
		if os.Geteuid() != 0 {
			return errors.New("network: namespace takes root; leave it out to use the host's")
		}
	default:
		return fmt.Errorf("invalid network %q: want auto, host or namespace", n.cfg.Network)
	}
	if os.Geteuid() != 0 {
		n.decide(why)
		return nil
	}
	l, err := lan.Open(bridgeOf(n.cfg.Dir), n.cfg.Subnets)
	switch {
	case err != nil && (why == nil && n.cfg.Network == NetworkNamespace):
		return fmt.Errorf("network: %w", err)
	case err != nil && why == nil:
		why = err
	case err == nil && (why == nil || l.Present()):
		n.lan = l // also for machines that have been on it since before
	}
	n.decide(why)
	if n.lan == nil {
		return nil
	}
	if err := errors.Join(n.lan.Sweep(), n.lan.Remove(unused)); err != nil {
		n.log.Warn("networks that earlier daemons left", "err", err)
	}
	return nil
}

// decide enters what was decided: why new machines have the host's network, or nil.
func (n *machineNetwork) decide(why error) {
	if n.own = why == nil; n.own {
		n.words = "their own, out of " + n.lan.Subnet().String()
	} else {
		n.words = "the host's: " + why.Error()
	}
}

// mayOwn says why machines cannot have networks of their own and do with them what they do
// with the host's.
func (n *machineNetwork) mayOwn() error {
	switch {
	case n.cfg.NoNamespaces:
		return errors.New("machines have no namespaces")
	case os.Geteuid() != 0:
		return errors.New("the daemon is not root")
	}
	if _, err := resolvers(resolvFiles); err != nil {
		return err
	}
	return lan.Works()
}

// Network says in words which network machines have, and why.
func (p *Provider) Network() string { return p.net.words }

// Note is what operators see about the machines.
func (p *Provider) Note() string { return "nodes' network: " + p.net.words }

// linked reports whether a machine is on the bridge.
func (n *machineNetwork) linked(m *machine) bool { return n.lan != nil && n.lan.Has(m.Addr) }

// ready makes the network for machines that are about to start, if they use it.
func (n *machineNetwork) ready(machines []machine) error {
	onIt := slices.DeleteFunc(slices.Clone(machines), func(m machine) bool { return isLoopback(m.Addr) || !m.Ended.IsZero() })
	if len(onIt) == 0 {
		return nil
	}
	moved := func(m machine) bool { return !n.linked(&m) }
	if slices.ContainsFunc(onIt, moved) { // of a daemon before this one, which had other addresses
		return lan.ErrMoved
	}
	if err := n.lan.Ensure(); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	if slices.ContainsFunc(onIt, moved) { // another gang uses it
		return lan.ErrMoved
	}
	return nil
}

// link connects the namespace of a machine's process.
func (n *machineNetwork) link(m *machine, pid int) error {
	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return err
	}
	defer ns.Close()
	return n.lan.Link(m.Addr, ns)
}

// keep repairs the network as long as there are machines on it, and removes it when there are none.
func (n *machineNetwork) keep(unused func() bool) error {
	if n.lan == nil {
		return nil
	}
	if unused() {
		return n.lan.Remove(unused)
	}
	return n.lan.Ensure()
}

// freeAddr finds a machine's address: of the bridge's network, or out of a /16 of 127.0.0.0/8 that
// comes from the directory's name, so that providers of several daemons rarely meet. Where they do
// their machines share an address, which does no harm as long as they do not want the same ports.
func (n *machineNetwork) freeAddr(used map[string]bool) (string, error) {
	if n.own {
		for i := uint32(2); i <= n.lan.Last(); i++ {
			if addr := n.lan.Addr(i).String(); !used[addr] {
				return addr, nil
			}
		}
		return "", errors.New("no address is left")
	}
	h := fnv.New32a()
	h.Write([]byte(n.cfg.Dir))
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
	if !p.net.own {
		return "127.0.0.1"
	}
	return p.net.lan.Addr(1).String()
}

// resolvFiles are the host's own file, and those where programs that listen on loopback only, which
// a machine does not share, keep the servers that they ask.
var resolvFiles = []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf", "/run/NetworkManager/no-stub-resolv.conf"}

// resolvers is the resolv.conf of a machine with a network of its own; nil: the host's will do.
func resolvers(files []string) ([]byte, error) {
	for i, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) && i == 0 {
			return nil, nil // names are not resolved that way here
		}
		if err != nil {
			continue
		}
		rest, loopback, servers := withoutLoopback(string(text))
		switch {
		case i == 0 && loopback == 0:
			return nil, nil
		case servers > 0:
			return []byte(rest), nil
		}
	}
	return nil, fmt.Errorf("%s names servers on the loopback interface only, where machines in a separate network do not reach them", files[0])
}

// withoutLoopback leaves out servers on the loopback interface, and counts them and the others.
func withoutLoopback(text string) (rest string, loopback, servers int) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 1 && f[0] == "nameserver" {
			if isLoopback(f[1]) {
				loopback++
				continue
			}
			servers++
		}
		rest += line
	}
	return rest, loopback, servers
}

func isLoopback(addr string) bool {
	a, err := netip.ParseAddr(addr)
	return err == nil && a.IsLoopback()
}

// gateway is a name of the host that is the same on every host: systemd's for the way out.
const gateway = "_gateway"

// hostsFor is the hosts file of a machine with a network of its own: there the host's own name does
// not mean the loopback interface.
func hostsFor(text, host, addr string) string {
	short, _, _ := strings.Cut(host, ".")
	var out, own strings.Builder
	for line := range strings.Lines(text) {
		entry, _, _ := strings.Cut(line, "#")
		f := strings.Fields(entry)
		if len(f) < 2 || !isLoopback(f[0]) {
			out.WriteString(line)
			continue
		}
		kept := f[:1]
		for _, name := range f[1:] {
			if name == host || name == short || short != "" && strings.HasPrefix(name, short+".") {
				own.WriteString(" " + name)
			} else {
				kept = append(kept, name)
			}
		}
		if len(kept) == len(f) {
			out.WriteString(line)
		} else if len(kept) > 1 {
			out.WriteString(strings.Join(kept, "\t") + "\n")
		}
	}
	if out.Len() > 0 && !strings.HasSuffix(out.String(), "\n") {
		out.WriteString("\n")
	}
	names := strings.TrimSpace(own.String())
	if names == "" {
		names = host
	}
	return out.String() + addr + "\t" + names + " " + gateway + "\n"
}

// writeHosts makes the machine's hosts file: the host's, to which the agent adds the names of its gangs.
func (n *machineNetwork) writeHosts(dir string, m *machine) error {
	text, err := os.ReadFile("/etc/hosts")
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("this machine has no /etc/hosts: make one, on which its nodes' can be mounted")
	}
	if err != nil {
		return err
	}
	if n.linked(m) {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		text = []byte(hostsFor(string(text), host, n.lan.Addr(1).String()))
	}
	return writePublic(filepath.Join(dir, inside.HostsFile), text)
}

// writeResolv makes the machine's resolv.conf if it cannot have the host's.
func (n *machineNetwork) writeResolv(dir string, m *machine) (made bool, err error) {
	if !n.linked(m) {
		return false, nil
	}
	text, err := resolvers(resolvFiles)
	if err != nil {
		n.log.Warn("no names resolve in a local machine", "machine", m.ID, "err", err)
	}
	if text == nil {
		return false, nil
	}
	return true, writePublic(filepath.Join(dir, inside.ResolvFile), text)
}
