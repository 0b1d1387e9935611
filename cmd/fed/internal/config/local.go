package config

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"fsub/cloud/local"
	"fsub/cloud/local/lan"
	"fsub/sbatch"
)

// KindLocal is the kind of a pool of this machine.
const KindLocal = "local"

var localKind = kind{
	name: KindLocal,
	here: true,
	section: func(s *Site) section {
		if s.Local == nil {
			return nil
		}
		return s.Local
	},
}

// Local is a pool of processes on this machine.
type Local struct {
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
	// Network of the nodes. namespace: one of its own for each, on a bridge with masquerade; the
	// daemon does not start where that does not work. host: this machine's. auto, the default:
	// namespace where root runs the daemon and packets get through, else host; "fed pool list"
	// shows which and why.
	Network string `yaml:"network,omitempty"`
	// Private range of at least a /20, ADDRESS/BITS, for networks of the nodes. Not set: what is
	// free of 10.254.0.0/16, 172.30.0.0/16 and 192.168.192.0/18.
	Subnet string `yaml:"subnet,omitempty"`
}

func (l *Local) check() error {
	switch {
	case l.Nodes < 0 || l.Nodes > 4096 || l.CPUs < 0 || l.Mem < 0 || l.GPUs < 0:
		return errors.New("local: nodes (at most 4096), cpus, mem_mib and gpus are not negative")
	case !number(l.Price):
		return fmt.Errorf("local: price is %v: dollars per hour, not negative", l.Price)
	case !slices.Contains([]string{"", string(local.NetworkAuto), string(local.NetworkHost), string(local.NetworkNamespace)}, l.Network):
		return fmt.Errorf("local: invalid network %q: want auto, host or namespace", l.Network)
	case l.GPUType != "" && !NameForm.MatchString(l.GPUType):
		return fmt.Errorf("local: invalid gpu_type %q", l.GPUType)
	}
	if _, err := l.Subnets(); err != nil {
		return fmt.Errorf("local: subnet: %w", err)
	}
	return nil
}

// Subnets are the ranges of nodes' addresses; nil: the defaults.
func (l *Local) Subnets() ([]netip.Prefix, error) {
	if l.Subnet == "" {
		return nil, nil
	}
	p, err := netip.ParsePrefix(l.Subnet)
	if err != nil {
		return nil, fmt.Errorf("%q: want ADDRESS/BITS", l.Subnet)
	}
	return []netip.Prefix{p}, lan.CheckRange(p)
}

func (l *Local) paths() []*string { return nil }
