package local

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fsub/cloud/agentapi"
	"fsub/cloud/kind"
	"fsub/cloud/local/lan"
	"fsub/cloud/provider"
	"fsub/federation/decision"
	"fsub/sbatch"
)

// Settings is a pool of processes on this machine, or on that of another daemon.
type Settings struct {
	// With several daemons: name of the one on whose machine the nodes are (daemons: name).
	Host string `yaml:"host,omitempty"`
	// Number of nodes. 1 if not set.
	Nodes int `yaml:"nodes,omitempty"`
	// CPUs of each node. Not set: this machine's, divided among the nodes.
	CPUs int `yaml:"cpus,omitempty"`
	// MiB of memory of each node. Not set: this machine's, divided among the nodes.
	Mem sbatch.MemMiB `yaml:"mem_mib,omitempty"`
	// GPUs of each node. Not set: this machine's, divided among the nodes. GPUs beyond those are simulated.
	GPUs int `yaml:"gpus,omitempty"`
	// Type of these GPUs. Counts only with gpus.
	GPUType string `yaml:"gpu_type,omitempty"`
	// Dollars per hour of one node.
	Price float64 `yaml:"price,omitempty"`
	// Nodes may be taken back like spot machines, for trying how jobs cope.
	Spot bool `yaml:"spot,omitempty"`
	// Network of the nodes. namespace: a separate one for each, on a bridge with masquerade; the
	// daemon does not start where that does not work. host: this machine's. auto, the default:
	// namespace where root runs the daemon and packets get through, else host; "fed pool list"
	// shows which and why.
	Network string `yaml:"network,omitempty"`
	// Private range of at least a /20, ADDRESS/BITS, for networks of the nodes. Not set: what is
	// free of 10.254.0.0/16, 172.30.0.0/16 and 192.168.192.0/18.
	Subnet string `yaml:"subnet,omitempty"`
}

// Missing implements kind.Settings: without the section the pool has one node with all of this machine.
func (*Settings) Missing() string { return "" }

// Paths implements kind.Settings.
func (*Settings) Paths() []*string { return nil }

// Check implements kind.Settings.
func (s *Settings) Check(string) error {
	switch {
	case s.Nodes < 0 || s.Nodes > 4096 || s.CPUs < 0 || s.Mem < 0 || s.GPUs < 0:
		return errors.New("local: nodes (at most 4096), cpus, mem_mib and gpus must not be negative")
	case !provider.Amount(s.Price):
		return fmt.Errorf("local: invalid price %v: want dollars per hour, not negative", s.Price)
	case !slices.Contains([]string{"", string(NetworkAuto), string(NetworkHost), string(NetworkNamespace)}, s.Network):
		return fmt.Errorf("local: invalid network %q: want auto, host or namespace", s.Network)
	case s.GPUType != "" && strings.ContainsFunc(s.GPUType, notInName):
		return fmt.Errorf("local: invalid gpu_type %q: want letters, digits, '.', '_' and '-'", s.GPUType)
	}
	if _, err := s.subnets(); err != nil {
		return fmt.Errorf("local: subnet: %w", err)
	}
	return nil
}

// subnets are the ranges of nodes' addresses; nil: the defaults.
func (s *Settings) subnets() ([]netip.Prefix, error) {
	if s.Subnet == "" {
		return nil, nil
	}
	p, err := netip.ParsePrefix(s.Subnet)
	if err != nil {
		return nil, fmt.Errorf("%q: want ADDRESS/BITS", s.Subnet)
	}
	return []netip.Prefix{p}, lan.CheckRange(p)
}

// notInName reports whether a name cannot have a letter.
func notInName(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
}

// Facts implements kind.Settings.
func (s *Settings) Facts() kind.Facts {
	return kind.Facts{Here: true, Nodes: max(s.Nodes, 1), Host: s.Host}
}

// Open implements kind.Settings. The machines' directory lies beside the daemon's state, not in it: the users of jobs must get to their scripts there,
// and to nothing of the daemon's.
func (s *Settings) Open(_ context.Context, with kind.Setup) (provider.Provider, agentapi.Boot, error) {
	c := Config{Dir: with.Dir, Agent: with.Agent, Network: Network(s.Network), Logger: with.Logger}
	if with.Settle != nil {
		c.Settle = with.Settle(with.Dir)
	}
	if *s != (Settings{}) {
		c.Shapes = []Shape{s.shape(ThisMachine())}
	}
	var err error
	if c.Subnets, err = s.subnets(); err != nil {
		return nil, agentapi.Boot{}, err
	}
	if err := os.MkdirAll(filepath.Dir(c.Dir), 0o711); err != nil {
		return nil, agentapi.Boot{}, err
	}
	p, err := New(c)
	if err != nil {
		return nil, agentapi.Boot{}, err
	}
	return p, p.Boot(), nil
}

// shape is what each node has: what is not set is an even share of this machine.
func (s *Settings) shape(whole Shape) Shape {
	nodes := max(s.Nodes, 1)
	out := whole
	out.CPUs, out.Mem = max(whole.CPUs/nodes, 1), max(whole.Mem/sbatch.MemMiB(nodes), 1)
	out.GPUs = whole.GPUs / nodes
	if s.CPUs > 0 {
		out.CPUs = s.CPUs
	}
	if s.Mem > 0 {
		out.Mem = s.Mem
	}
	if s.GPUs > 0 {
		out.GPUs, out.GPUType = s.GPUs, s.GPUType
	}
	out.Price, out.Max = decision.Dollars(s.Price), nodes
	if s.Spot {
		out.Market = provider.Spot
	}
	return out
}
