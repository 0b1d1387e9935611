package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"fsub/cloud/agentapi"
	"fsub/cloud/local"
	"fsub/cloud/local/lan"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/sbatch"
)

// kindLocal is the kind of a pool of this machine.
const kindLocal = "local"

var localKind = kind{
	name: kindLocal,
	here: true,
	open: openLocal,
	section: func(s *SiteConfig) section {
		if s.Local == nil {
			return nil
		}
		return s.Local
	},
}

// LocalConfig is a pool of processes on this machine.
type LocalConfig struct {
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

func (l *LocalConfig) check() error {
	switch {
	case l.Nodes < 0 || l.Nodes > 4096 || l.CPUs < 0 || l.Mem < 0 || l.GPUs < 0:
		return errors.New("local: nodes (at most 4096), cpus, mem_mib and gpus are not negative")
	case !number(l.Price):
		return fmt.Errorf("local: price is %v: dollars per hour, not negative", l.Price)
	case !slices.Contains([]string{"", string(local.NetworkAuto), string(local.NetworkHost), string(local.NetworkNamespace)}, l.Network):
		return fmt.Errorf("local: invalid network %q: want auto, host or namespace", l.Network)
	case l.GPUType != "" && !siteName.MatchString(l.GPUType):
		return fmt.Errorf("local: invalid gpu_type %q", l.GPUType)
	}
	if _, err := l.subnets(); err != nil {
		return fmt.Errorf("local: subnet: %w", err)
	}
	return nil
}

// subnets are the ranges of nodes' addresses; nil: the defaults.
func (l *LocalConfig) subnets() ([]netip.Prefix, error) {
	if l.Subnet == "" {
		return nil, nil
	}
	p, err := netip.ParsePrefix(l.Subnet)
	if err != nil {
		return nil, fmt.Errorf("%q: want ADDRESS/BITS", l.Subnet)
	}
	return []netip.Prefix{p}, lan.CheckRange(p)
}

func (l *LocalConfig) paths() []*string { return nil }

// openLocal makes the pool of this machine. Its machines have their directories beside the daemon's
// state, not in it: the users of jobs must get to their scripts there, and to nothing of the daemon's.
func openLocal(_ context.Context, c *Config, s *SiteConfig, _ *prices.Catalogue, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	binary, err := findAgent(c)
	if err != nil {
		return nil, agentapi.Boot{}, err
	}
	dir, err := filepath.Abs(filepath.Join(c.StateDir+"-machines", string(s.Name)))
	if err != nil {
		return nil, agentapi.Boot{}, err
	}
	k := local.Config{Dir: dir, Agent: binary, Settle: settleCommand(dir), Logger: log}
	if err := os.MkdirAll(filepath.Dir(k.Dir), 0o711); err != nil {
		return nil, agentapi.Boot{}, err
	}
	if l := s.Local; l != nil {
		k.Network = local.Network(l.Network)
		if k.Subnets, err = l.subnets(); err != nil {
			return nil, agentapi.Boot{}, err
		}
		shape := l.shape(local.ThisMachine())
		k.Shapes = []local.Shape{shape}
	}
	p, err := local.New(k)
	if err != nil {
		return nil, agentapi.Boot{}, err
	}
	return p, p.Boot(), nil
}

// shape is what each of the nodes is said to have: what is not said is an even share of this machine.
func (l *LocalConfig) shape(whole local.Shape) local.Shape {
	nodes := max(l.Nodes, 1)
	out := whole
	out.CPUs, out.Mem = max(whole.CPUs/nodes, 1), max(whole.Mem/sbatch.MemMiB(nodes), 1)
	out.GPUs = whole.GPUs / nodes
	if l.CPUs > 0 {
		out.CPUs = l.CPUs
	}
	if l.Mem > 0 {
		out.Mem = l.Mem
	}
	if l.GPUs > 0 {
		out.GPUs, out.GPUType = l.GPUs, l.GPUType
	}
	out.Price, out.Max = federation.Dollars(l.Price), nodes
	if l.Spot {
		out.Market = provider.Spot
	}
	return out
}
