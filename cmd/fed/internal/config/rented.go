package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"fsub/cloud/provider"
	"fsub/sbatch"
)

// Agents is the listener for the agents of rented machines: TLS with a certificate of the daemon's
// own, which machines know by the hash of its key. The machines of a local pool do not need it:
// they share the daemon's file system.
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
		if _, err := hostPort(addr); addr != "" && err != nil {
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

// Pool is a partition of a site of rented machines.
type Pool struct {
	// Name of the partition.
	Name string `yaml:"name"`
	// Partition of jobs that name none. The first pool if none says so.
	Default bool `yaml:"default,omitempty"`
	// Machine types, of those that the site offers. All if not set.
	Types []string `yaml:"types,omitempty"`
	// Zones, of those that the site offers. All if not set.
	Zones []string `yaml:"zones,omitempty"`
	// Markets to rent in: on-demand, spot, reserved, block, flex. All that the site offers if not set.
	Markets []string `yaml:"markets,omitempty"`
	// Machines that are always kept.
	Min int `yaml:"min,omitempty"`
	// Machines at one time. No bound if not set.
	Max int `yaml:"max,omitempty"`
	// An idle machine above min is released after this time.
	Idle time.Duration `yaml:"idle,omitempty"`
	// Dollars per UTC day. No job starts that could cost more than what is left before it reaches
	// its time limit; running jobs finish.
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

var markets = []string{string(provider.OnDemand), string(provider.Spot), string(provider.Reserved), string(provider.Block), string(provider.Flex)}

func (p *Pool) check() error {
	for _, m := range p.Markets {
		if !slices.Contains(markets, m) {
			return fmt.Errorf("invalid market %q: want on-demand, spot, reserved, block or flex", m)
		}
	}
	switch {
	case !slices.Contains([]string{"", "none", "pmi2", "pmix"}, p.MPI):
		return fmt.Errorf("invalid mpi %q: want none, pmi2 or pmix", p.MPI)
	case !NameForm.MatchString(p.Name):
		return fmt.Errorf("invalid partition name %q: want at most 40 letters, digits, '.', '_' and '-'", p.Name)
	case p.Min < 0 || p.Max < 0 || p.Max > 0 && p.Min > p.Max:
		return fmt.Errorf("min %d and max %d: machines are from 0 up, and min is not more than max", p.Min, p.Max)
	case p.Idle < 0 || p.MaxTime < 0 || p.DefaultTime < 0 || p.DefMemPerCPU < 0:
		return errors.New("idle, max_time, default_time and def_mem_per_cpu must not be negative")
	case !number(p.BudgetDay) || !number(p.BudgetMonth):
		return errors.New("budget_day and budget_month are dollars and must not be negative")
	}
	return nil
}

// Timing holds the intervals of a site of rented machines; see cloud.Timing for the defaults.
type Timing struct {
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
	// How often machines tell the heartbeats of their jobs (#FSUB --heartbeat): a slow node is found by 45 of them. 20 seconds if not set.
	Beats time.Duration `yaml:"beats,omitempty"`
}

func (t *Timing) check() error {
	for name, d := range map[string]time.Duration{"boot": t.Boot, "list": t.List, "list_soon": t.ListSoon, "list_lag": t.ListLag, "stray": t.Stray,
		"stock_out": t.StockOut, "kill_wait": t.KillWait, "margin": t.Margin, "beats": t.Beats} {
		if d < 0 || d > 0 && d < 100*time.Millisecond {
			return fmt.Errorf("timing: %s: %s is less than 100ms", name, d)
		}
	}
	return nil
}

// checkRented checks the keys of a site of rented machines.
func (s *Site) checkRented(agents *Agents) error {
	for key, set := range map[string]bool{"url": s.URL != "", "mode": s.Mode != "", "key_file": s.KeyFile != "", "token_file": s.TokenFile != "", "token_command": len(s.TokenCommand) > 0,
		"ca_file": s.CAFile != "", "client_cert": s.ClientCert != "", "client_key": s.ClientKey != "", "default_partition": s.Partition != "",
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
	if s.Terms != nil {
		if err := s.Terms.check(); err != nil {
			return err
		}
	}
	for _, name := range s.Set() {
		if name != s.Kind {
			return fmt.Errorf("%s is for sites of that kind; this one is %s", name, s.Kind)
		}
	}
	own, facts, set := s.Settings(), s.Facts(), len(s.Set()) > 0
	switch {
	case facts.Here && s.Terms != nil:
		return errors.New("terms: processes of this machine have no contract; set their price")
	case !set && own.Missing() != "":
		return errors.New(own.Missing())
	case !facts.Here && agents.Listen == "":
		return errors.New("its machines could not reach the daemon: set agents: listen, HOST:PORT")
	}
	return own.Check(cmp.Or(agents.Address, agents.Listen))
}

// AgentBinary is where the agent's program lies.
func (c *Config) AgentBinary(self string) string {
	if c.Agents.Binary != "" {
		return c.Agents.Binary
	}
	return filepath.Join(filepath.Dir(self), "fed-agent")
}
