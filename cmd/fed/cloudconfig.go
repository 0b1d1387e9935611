package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"fsub/cloud/local"
	"fsub/cloud/local/lan"
	"fsub/cloud/provider"
	"fsub/sbatch"
)

// The kinds of site.
const (
	kindSlurm = "slurm"
	kindLocal = "local"
	kindAWS   = "aws"
)

// Agents is the daemon's door for the machines that it rents: TLS with a certificate of its own, which machines know by the hash of its key. Machines of a
// local pool need it not: they see the daemon's file system.
type Agents struct {
	Listen  string        `yaml:"listen,omitempty"`  // HOST:PORT; "" is closed
	Address string        `yaml:"address,omitempty"` // HOST:PORT as rented machines reach it; that of listen if not set
	Binary  string        `yaml:"binary,omitempty"`  // path of fed-agent; beside fed if not set
	Lease   time.Duration `yaml:"lease"`             // a machine that has not heard the daemon for so long ends itself
}

// IsZero reports whether all of it is as by default.
func (a Agents) IsZero() bool { return a == defaultAgents() }

func defaultAgents() Agents { return Agents{Lease: 2 * time.Minute} }

func (a *Agents) check() error {
	for name, addr := range map[string]string{"listen": a.Listen, "address": a.Address} {
		if _, _, err := net.SplitHostPort(addr); addr != "" && err != nil {
			return fmt.Errorf("agents: %s: %q is no HOST:PORT", name, addr)
		}
	}
	switch {
	case a.Listen == "" && a.Address != "":
		return errors.New("agents: listen is missing: HOST:PORT")
	case a.Lease < 10*time.Second:
		return fmt.Errorf("agents: lease: %s is less than 10s: a busy minute of the daemon would end jobs", a.Lease)
	}
	return nil
}

// PoolConfig is a pool of machines that can be rented: a partition of its site.
type PoolConfig struct {
	Name         string        `yaml:"name"`
	Default      bool          `yaml:"default,omitempty"`        // of jobs that name no partition; the first pool if none says so
	Types        []string      `yaml:"types,omitempty"`          // of those that the site offers; all if not set
	Zones        []string      `yaml:"zones,omitempty"`          // likewise
	Markets      []string      `yaml:"markets,omitempty"`        // on-demand, spot, reserved, block; likewise
	Min          int           `yaml:"min,omitempty"`            // machines that are kept
	Max          int           `yaml:"max,omitempty"`            // machines at one time
	Idle         time.Duration `yaml:"idle,omitempty"`           // an idle machine above min is let go after so long
	BudgetDay    float64       `yaml:"budget_day,omitempty"`     // dollars (UTC); no job is started that could cost more until its time limit than what is left; jobs that run go on
	BudgetMonth  float64       `yaml:"budget_month,omitempty"`   // likewise
	Shared       *bool         `yaml:"shared,omitempty"`         // a machine runs several jobs at once
	Near         bool          `yaml:"near,omitempty"`           // jobs of several nodes get machines near to each other
	MaxTime      time.Duration `yaml:"max_time,omitempty"`       // of jobs; none if not set
	DefaultTime  time.Duration `yaml:"default_time,omitempty"`   // of jobs that ask for none; max_time if not set
	DefMemPerCPU sbatch.MemMiB `yaml:"def_mem_per_cpu,omitzero"` // MiB, of jobs that ask for no memory in a shared pool
	MPI          string        `yaml:"mpi,omitempty"`            // Slurm's MpiDefault: none, pmi2, pmix
}

var markets = []string{string(provider.OnDemand), string(provider.Spot), string(provider.Reserved), string(provider.Block)}

func (p *PoolConfig) check() error {
	for _, m := range p.Markets {
		if !slices.Contains(markets, m) {
			return fmt.Errorf("markets: %q is none of on-demand, spot, reserved, block", m)
		}
	}
	switch {
	case !slices.Contains([]string{"", "none", "pmi2", "pmix"}, p.MPI):
		return fmt.Errorf("mpi: %q is none of none, pmi2, pmix", p.MPI)
	case !siteName.MatchString(p.Name):
		return fmt.Errorf("name: %q is no name of a partition: letters, digits, '.', '_' and '-', at most 40", p.Name)
	case p.Min < 0 || p.Max < 0 || p.Max > 0 && p.Min > p.Max:
		return fmt.Errorf("min %d and max %d: machines are from 0 up, and min is not more than max", p.Min, p.Max)
	case p.Idle < 0 || p.MaxTime < 0 || p.DefaultTime < 0 || p.DefMemPerCPU < 0:
		return errors.New("idle, max_time, default_time and def_mem_per_cpu are not negative")
	case !number(p.BudgetDay) || !number(p.BudgetMonth):
		return errors.New("budget_day and budget_month are dollars: numbers that are not negative")
	}
	return nil
}

// TimingConfig are the waits of a site whose machines are rented; see cloud.Timing for the defaults.
type TimingConfig struct {
	Boot     time.Duration `yaml:"boot,omitempty"`      // within which a machine must have come in
	List     time.Duration `yaml:"list,omitempty"`      // between two listings of the machines
	ListSoon time.Duration `yaml:"list_soon,omitempty"` // while some start or end
	ListLag  time.Duration `yaml:"list_lag,omitempty"`  // how long a new machine may be missing in them
	Stray    time.Duration `yaml:"stray,omitempty"`     // how long a machine that nobody knows is left alone
	StockOut time.Duration `yaml:"stock_out,omitempty"` // how long is not asked for what was out of stock, at first
	KillWait time.Duration `yaml:"kill_wait,omitempty"` // between SIGTERM and SIGKILL
	Margin   time.Duration `yaml:"margin,omitempty"`    // beyond the lease, until a machine that is silent runs nothing for sure
}

func (t *TimingConfig) check() error {
	for name, d := range map[string]time.Duration{"boot": t.Boot, "list": t.List, "list_soon": t.ListSoon, "list_lag": t.ListLag, "stray": t.Stray,
		"stock_out": t.StockOut, "kill_wait": t.KillWait, "margin": t.Margin} {
		if d < 0 || d > 0 && d < 100*time.Millisecond {
			return fmt.Errorf("timing: %s: %s is less than 100ms", name, d)
		}
	}
	return nil
}

// LocalConfig is a pool of processes on this machine.
type LocalConfig struct {
	Nodes   int           `yaml:"nodes,omitempty"`   // 1 if not set
	CPUs    int           `yaml:"cpus,omitempty"`    // of each node; those of this machine divided among the nodes if not set
	Mem     sbatch.MemMiB `yaml:"mem_mib,omitempty"` // likewise
	GPUs    int           `yaml:"gpus,omitempty"`    // of each node; those of this machine divided among the nodes if not set. What it has is not shared, and what it has not is pretended
	GPUType string        `yaml:"gpu_type,omitempty"`
	Price   float64       `yaml:"price,omitempty"` // dollars per hour of one node
	Spot    bool          `yaml:"spot,omitempty"`  // nodes may be taken back, for trying that
	// Network of the nodes. auto, if not set: one of its own for each, on a bridge with a way out by this machine's address, where root runs the daemon, the kernel and the
	// firewall let packets through, and names resolve there ("fed pool list" says what it came to); else host. host: this machine's own. namespace: one of its own, or the
	// daemon does not start.
	Network string `yaml:"network,omitempty"`
	// Subnet is a private range of at least a /20, ADDRESS/BITS, out of which nodes get addresses for networks of their own. Not set: what is free of 10.254.0.0/16,
	// 172.30.0.0/16 and 192.168.192.0/18.
	Subnet string `yaml:"subnet,omitempty"`
}

func (l *LocalConfig) check() error {
	switch {
	case l.Nodes < 0 || l.Nodes > 4096 || l.CPUs < 0 || l.Mem < 0 || l.GPUs < 0:
		return errors.New("local: nodes (at most 4096), cpus, mem_mib and gpus are not negative")
	case !number(l.Price):
		return fmt.Errorf("local: price is %v: dollars per hour, not negative", l.Price)
	case !slices.Contains([]string{"", string(local.NetworkAuto), string(local.NetworkHost), string(local.NetworkNamespace)}, l.Network):
		return fmt.Errorf("local: network: %q is none of auto, host, namespace", l.Network)
	case l.GPUType != "" && !siteName.MatchString(l.GPUType):
		return fmt.Errorf("local: gpu_type: %q is no name", l.GPUType)
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
		return nil, fmt.Errorf("%q is no ADDRESS/BITS", l.Subnet)
	}
	return []netip.Prefix{p}, lan.CheckRange(p)
}

// AWSConfig is how machines are rented from Amazon, in one region. Credentials are found as Amazon's own tools find them, or in the file named here; none stands in this
// file. See aws.Config for what each key means.
type AWSConfig struct {
	Region          string             `yaml:"region,omitempty"` // that of the environment, or of this machine, if not set
	Zones           []string           `yaml:"zones,omitempty"`  // all of the region that have a subnet if not set
	VPC             string             `yaml:"vpc,omitempty"`    // the default one if not set
	Subnets         []string           `yaml:"subnets,omitempty"`
	SecurityGroups  []string           `yaml:"security_groups,omitempty"`
	Types           []string           `yaml:"types"`             // "g6.xlarge", "g6.*"
	Markets         []string           `yaml:"markets,omitempty"` // on-demand and spot if not set
	AnyZone         bool               `yaml:"any_zone,omitempty"`
	Reservations    []string           `yaml:"reservations,omitempty"` // capacity reservations and blocks, by ID
	Prices          map[string]float64 `yaml:"prices,omitempty"`       // dollars per hour by type, where Amazon's list is not what is paid
	Images          map[string]string  `yaml:"images,omitempty"`       // by architecture: x86_64, arm64, x86_64/gpu
	VolumeGiB       int                `yaml:"volume_gib,omitempty"`
	InstanceProfile string             `yaml:"instance_profile,omitempty"`
	KeyName         string             `yaml:"key_name,omitempty"`
	Tags            map[string]string  `yaml:"tags,omitempty"`
	SpotInterrupts  float64            `yaml:"spot_interrupts,omitempty"` // per hour
	Boot            time.Duration      `yaml:"boot,omitempty"`            // as expected
	Profile         string             `yaml:"profile,omitempty"`
	CredentialsFile string             `yaml:"credentials_file,omitempty"`
	Endpoint        string             `yaml:"endpoint,omitempty"`
	PricingEndpoint string             `yaml:"pricing_endpoint,omitempty"`
}

func (a *AWSConfig) check() error {
	for _, m := range a.Markets {
		if !slices.Contains(markets, m) {
			return fmt.Errorf("aws: markets: %q is none of on-demand, spot, reserved, block", m)
		}
	}
	for t, p := range a.Prices {
		if !number(p) {
			return fmt.Errorf("aws: prices: %s costs %v: a price is a number and not negative", t, p)
		}
	}
	switch {
	case len(a.Types) == 0 && len(a.Reservations) == 0:
		return errors.New("aws: types is missing: the instance types that may be rented")
	case a.Boot < 0 || !number(a.SpotInterrupts):
		return errors.New("aws: boot and spot_interrupts are not negative")
	}
	return nil
}

// rented reports whether the site's machines are made when they are needed.
func (s *SiteConfig) rented() bool { return s.Kind == kindLocal || s.Kind == kindAWS }

// checkRented checks the keys of a site that is no Slurm cluster.
func (s *SiteConfig) checkRented(agents *Agents) error {
	for key, set := range map[string]bool{"url": s.URL != "", "mode": s.Mode != "", "key_file": s.KeyFile != "", "token_file": s.TokenFile != "", "default_partition": s.Partition != "",
		"topology_file": s.Topology != "", "no_associations": s.NoAssociations, "commands": s.Commands != "", "daemon": s.Daemon != "", "plugin_options": len(s.PluginOptions) > 0} {
		if set {
			return fmt.Errorf("%s: this is for Slurm clusters; the site's kind is %s", key, s.Kind)
		}
	}
	names := map[string]bool{}
	for i := range s.Pools {
		p := &s.Pools[i]
		if err := p.check(); err != nil {
			return fmt.Errorf("pools[%d]: %w", i, err)
		}
		if names[p.Name] {
			return fmt.Errorf("pools: there are two named %s", p.Name)
		}
		names[p.Name] = true
	}
	if s.Timing != nil {
		if err := s.Timing.check(); err != nil {
			return err
		}
	}
	switch {
	case (s.Local != nil) && s.Kind != kindLocal || (s.AWS != nil) && s.Kind != kindAWS:
		return fmt.Errorf("local and aws are for sites of these kinds; this one is %s", s.Kind)
	case s.Kind == kindAWS && s.AWS == nil:
		return errors.New("aws is missing: at least the types that may be rented")
	case s.Kind == kindAWS && agents.Listen == "":
		return errors.New("its machines could not reach the daemon: set agents: listen, HOST:PORT")
	case s.Kind == kindAWS:
		return s.AWS.check()
	case s.Local != nil:
		return s.Local.check()
	}
	return nil
}

// agentBinary is where the agent's program lies.
func (c *Config) agentBinary(self string) string {
	if c.Agents.Binary != "" {
		return c.Agents.Binary
	}
	return filepath.Join(filepath.Dir(self), "fed-agent")
}
