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

// Agents is the listener for the agents of rented machines: TLS with a certificate of the daemon's own, which machines know by
// the hash of its key. The machines of a local pool do not need it: they share the daemon's file system.
type Agents struct {
	// HOST:PORT to listen on. Not set: closed.
	Listen string `yaml:"listen,omitempty"`
	// HOST:PORT as rented machines reach it. Not set: that of listen.
	Address string `yaml:"address,omitempty"`
	// Path of the fed-agent program. Not set: beside fed.
	Binary string `yaml:"binary,omitempty"`
	// A machine that has not heard the daemon for so long ends its job and itself.
	Lease time.Duration `yaml:"lease"`
}

// IsZero reports whether all of it is as by default.
func (a Agents) IsZero() bool { return a == defaultAgents() }

func defaultAgents() Agents { return Agents{Lease: 2 * time.Minute} }

func (a *Agents) check() error {
	for name, addr := range map[string]string{"listen": a.Listen, "address": a.Address} {
		if _, _, err := net.SplitHostPort(addr); addr != "" && err != nil {
			return fmt.Errorf("agents: invalid %s %q: want HOST:PORT", name, addr)
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

// PoolConfig is a partition of a site of rented machines.
type PoolConfig struct {
	// Name of the partition.
	Name string `yaml:"name"`
	// Partition of jobs that name none. The first pool if none says so.
	Default bool `yaml:"default,omitempty"`
	// Machine types, of those that the site offers. All if not set.
	Types []string `yaml:"types,omitempty"`
	// Zones, of those that the site offers. All if not set.
	Zones []string `yaml:"zones,omitempty"`
	// Markets to rent in: on-demand, spot, reserved, block. All that the site offers if not set.
	Markets []string `yaml:"markets,omitempty"`
	// Machines that are always kept.
	Min int `yaml:"min,omitempty"`
	// Machines at one time. No bound if not set.
	Max int `yaml:"max,omitempty"`
	// An idle machine above min is released after this time.
	Idle time.Duration `yaml:"idle,omitempty"`
	// Dollars per UTC day. No job starts that could cost more than what is left before it reaches its time limit; running jobs finish.
	BudgetDay float64 `yaml:"budget_day,omitempty"`
	// Dollars per UTC month, likewise.
	BudgetMonth float64 `yaml:"budget_month,omitempty"`
	// A machine runs several jobs at once, of anybody. Not set: true for kind local, false for others.
	Shared *bool `yaml:"shared,omitempty"`
	// Machines of a job with several nodes are close to each other.
	Near bool `yaml:"near,omitempty"`
	// Longest time limit of a job. None if not set.
	MaxTime time.Duration `yaml:"max_time,omitempty"`
	// Time limit of jobs that ask for none. max_time if not set.
	DefaultTime time.Duration `yaml:"default_time,omitempty"`
	// MiB per CPU of jobs that ask for no memory in a shared pool.
	DefMemPerCPU sbatch.MemMiB `yaml:"def_mem_per_cpu,omitzero"`
	// Default of srun --mpi, like MpiDefault in slurm.conf: none, pmi2, pmix.
	MPI string `yaml:"mpi,omitempty"`
}

var markets = []string{string(provider.OnDemand), string(provider.Spot), string(provider.Reserved), string(provider.Block)}

func (p *PoolConfig) check() error {
	for _, m := range p.Markets {
		if !slices.Contains(markets, m) {
			return fmt.Errorf("invalid market %q: want on-demand, spot, reserved or block", m)
		}
	}
	switch {
	case !slices.Contains([]string{"", "none", "pmi2", "pmix"}, p.MPI):
		return fmt.Errorf("invalid mpi %q: want none, pmi2 or pmix", p.MPI)
	case !siteName.MatchString(p.Name):
		return fmt.Errorf("invalid partition name %q: want at most 40 letters, digits, '.', '_' and '-'", p.Name)
	case p.Min < 0 || p.Max < 0 || p.Max > 0 && p.Min > p.Max:
		return fmt.Errorf("min %d and max %d: machines are from 0 up, and min is not more than max", p.Min, p.Max)
	case p.Idle < 0 || p.MaxTime < 0 || p.DefaultTime < 0 || p.DefMemPerCPU < 0:
		return errors.New("idle, max_time, default_time and def_mem_per_cpu are not negative")
	case !number(p.BudgetDay) || !number(p.BudgetMonth):
		return errors.New("budget_day and budget_month are dollars: numbers that are not negative")
	}
	return nil
}

// TimingConfig holds the intervals of a site of rented machines; see cloud.Timing for the defaults.
type TimingConfig struct {
	// A machine must register within this time.
	Boot time.Duration `yaml:"boot,omitempty"`
	// Between two listings of the machines.
	List time.Duration `yaml:"list,omitempty"`
	// The same while machines start or end.
	ListSoon time.Duration `yaml:"list_soon,omitempty"`
	// How long a new machine may be missing in listings.
	ListLag time.Duration `yaml:"list_lag,omitempty"`
	// An unknown machine is terminated after this time.
	Stray time.Duration `yaml:"stray,omitempty"`
	// First pause after an offering was out of stock; it grows.
	StockOut time.Duration `yaml:"stock_out,omitempty"`
	// Between SIGTERM and SIGKILL, like KillWait in slurm.conf.
	KillWait time.Duration `yaml:"kill_wait,omitempty"`
	// How long after its lease a silent machine is taken to run nothing any more.
	Margin time.Duration `yaml:"margin,omitempty"`
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
	// Network of the nodes. namespace: one of its own for each, on a bridge with masquerade; the daemon does not start where that does not
	// work. host: this machine's. auto, the default: namespace where root runs the daemon and packets get through, else host; "fed pool
	// list" shows which and why.
	Network string `yaml:"network,omitempty"`
	// Private range of at least a /20, ADDRESS/BITS, for networks of the nodes. Not set: what is free of 10.254.0.0/16, 172.30.0.0/16 and
	// 192.168.192.0/18.
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

// AWSConfig is what is rented from Amazon, in one region. Credentials are found as Amazon's own tools find them, or in the file named
// here; none stands in this file.
type AWSConfig struct {
	// Region. Not set: that of the environment, or of the machine that runs the daemon.
	Region string `yaml:"region,omitempty"`
	// Zones, by name. Not set: all of the region that have a subnet.
	Zones []string `yaml:"zones,omitempty"`
	// ID of the VPC. The default one if not set.
	VPC string `yaml:"vpc,omitempty"`
	// IDs of subnets. Not set: the default ones of the VPC.
	Subnets []string `yaml:"subnets,omitempty"`
	// IDs of security groups. Not set: the VPC's default one.
	SecurityGroups []string `yaml:"security_groups,omitempty"`
	// Instance types: g6.xlarge, or with a star g6.*.
	Types []string `yaml:"types"`
	// Markets to rent in. on-demand and spot if not set.
	Markets []string `yaml:"markets,omitempty"`
	// Offer each type also in whichever zone Amazon finds it, all machines of a job in one.
	AnyZone bool `yaml:"any_zone,omitempty"`
	// IDs of capacity reservations and capacity blocks (cr-...), offered while they are active.
	Reservations []string `yaml:"reservations,omitempty"`
	// Dollars per hour by type, where a contract differs from Amazon's list.
	Prices map[string]float64 `yaml:"prices,omitempty"`
	// Images by architecture (x86_64, arm64, x86_64/gpu): ami-..., resolve:ssm:/PARAMETER, or OWNER/NAME* for the newest that matches. Not set:
	// Amazon Linux 2023, and AWS's deep learning base image for GPUs.
	Images map[string]string `yaml:"images,omitempty"`
	// Size of the root volume. Not set: that of the image.
	VolumeGiB int `yaml:"volume_gib,omitempty"`
	// Name or ARN of the instance profile. Every job on the machines can use its credentials.
	InstanceProfile string `yaml:"instance_profile,omitempty"`
	// Name of an EC2 key pair that may log in by ssh.
	KeyName string `yaml:"key_name,omitempty"`
	// Further tags of all that is made.
	Tags map[string]string `yaml:"tags,omitempty"`
	// Expected interruptions of a spot machine per hour. 0.05 if not set.
	SpotInterrupts float64 `yaml:"spot_interrupts,omitempty"`
	// Expected time from the request to the first word of the agent. 90s if not set.
	Boot time.Duration `yaml:"boot,omitempty"`
	// Profile in Amazon's shared configuration files.
	Profile string `yaml:"profile,omitempty"`
	// File with credentials, as Amazon's own tools write it. Not set: where these look.
	CredentialsFile string `yaml:"credentials_file,omitempty"`
	// URL that stands in for EC2, for tests.
	Endpoint string `yaml:"endpoint,omitempty"`
	// URL that stands in for Amazon's price list, for tests.
	PricingEndpoint string `yaml:"pricing_endpoint,omitempty"`
}

func (a *AWSConfig) check() error {
	for _, m := range a.Markets {
		if !slices.Contains(markets, m) {
			return fmt.Errorf("aws: invalid market %q: want on-demand, spot, reserved or block", m)
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
