package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/cloud/agentapi"
	"fsub/cloud/container"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/heartbeat"
	"fsub/sbatch"
)

// Config is a site that is made of rented machines.
type Config struct {
	Site        federation.SiteName
	Provider    provider.Provider
	Store       records.PoolStore
	AgentServer AgentServer  // nil: no machine can register, and none is started
	Pools       []PoolConfig // at least one
	// Boot is what the provider's machines need in their boot data beyond what the agent server fills in: Path, Metadata, PowerOff. The driver
	// sets Lease and Expires.
	Boot agentapi.Boot
	// Secret is the daemon's key, of which the keys of the gangs' steps are made. It is never stored.
	Secret []byte
	// LogDir keeps the output of jobs that is sent by their machines, one directory entry for each run and stream. "": output is not kept.
	LogDir string
	// LogReserve is how many bytes of LogDir's file system output leaves free: it may hold the daemon's books too, and any job can fill a disk; 1 GiB.
	LogReserve uint64
	// LogMost and LogUser bound what is kept of one stream of a run, and of one user's, in bytes. 0: no bound.
	LogMost, LogUser int64
	// Note is what operators are to know of the machines.
	Note string
	// SharesFiles: the machines see the users' files, so that output need not be sent.
	SharesFiles bool
	// Containers is what makes those that jobs ask for; "" is whatever a machine has.
	Containers container.Engine
	// OnlyUser is the one user whose jobs the machines can run, as where the daemon is not root. "": everybody's.
	OnlyUser string
	Users    Users // nil: those of this system
	// Mapped are users who are others on the machines, by their name in the federation. They need not be known to Users.
	Mapped map[string]agentapi.User
	// Accounts are those that jobs may charge, with the users of each. nil: any account by anybody.
	Accounts map[string][]string

	Logger     *slog.Logger          // nil: slog.Default()
	Registerer prometheus.Registerer // nil: metrics are not shown
	Now        func() time.Time      // nil: time.Now
	Timing     Timing
	MaxAge     prices.MaxAge // how old prices may be
	Use        time.Duration // how often machines tell what their runs make use of; 0: not at all
}

// PoolConfig is a pool of machines: one partition of the site.
type PoolConfig struct {
	Name    string
	Default bool
	Select  Selector
	Min     int // machines that are kept though idle
	Max     int // machines at one time; 0: DefaultMax
	Idle    time.Duration
	// Daily and Monthly are what the pool may spend by UTC day and month; 0: no bound. What machines with jobs will cost until the time limits of these counts as
	// spent: a job that could cost more than what is left is not started. When nothing is left idle machines are ended at once; what runs goes on.
	Daily, Monthly federation.Money
	// Shared: a machine runs several jobs at once, also of different users. Else a job has its machines to itself.
	Shared       bool
	Near         bool // machines of one job are put near to each other where the offering can
	MaxTime      time.Duration
	DefaultTime  time.Duration
	DefMemPerCPU sbatch.MemMiB
	Disk         sbatch.MemMiB // of a machine, for jobs that ask for temporary disk; 0: not known
	Features     []string      // beyond those of the offerings
	MPI          string        // how srun starts MPI programs unless told: "pmi2", "pmix"; "", "none": not at all
}

// DefaultMax is how many machines a pool has at one time unless told otherwise.
const DefaultMax = 16

// Selector says which offerings a pool rents. An empty list means any.
type Selector struct {
	Types, Zones []string
	Markets      []provider.Market
}

func (s Selector) takes(o *provider.Offering) bool {
	return (len(s.Types) == 0 || slices.Contains(s.Types, o.Type)) && (len(s.Zones) == 0 || slices.Contains(s.Zones, o.Zone)) &&
		(len(s.Markets) == 0 || slices.Contains(s.Markets, o.Market))
}

// Users looks people up.
type Users interface {
	// Lookup returns a user by the site's name. ErrNotFound: there is none.
	Lookup(ctx context.Context, name string) (agentapi.User, error)
}

// Timing are the waits of a driver. Zero means the default.
type Timing struct {
	Lease    time.Duration // how long a machine goes on without an answer; 90 s
	PollWait time.Duration // how long the agent server holds a poll; 20 s
	Margin   time.Duration // beyond lease and KillWait, until a silent machine is known to run nothing; 15 s
	KillWait time.Duration // between SIGTERM and SIGKILL; 30 s
	Boot     time.Duration // within which a machine must have said hello; 10 min, more where the offering's own is long
	Boots    int           // gangs that a job is tried on before it ends as BOOT_FAIL; 3
	Idle     time.Duration // until an idle machine is ended, where the pool does not say; 5 min
	List     time.Duration // between two listings; 1 min
	ListSoon time.Duration // between two listings while machines start or end; 10 s
	ListLag  time.Duration // how long a new machine may be missing from a listing; 1 min
	Stray    time.Duration // how long a machine of ours that nobody knows is left alone; 2 min
	Offers   time.Duration // between two looks at offerings and prices; 10 min
	Keep     time.Duration // how long an ended job stays in memory; 5 min
	Tick     time.Duration // between two looks at the clock; 1 s
	StockOut time.Duration // first cool-down after a stock-out, doubled with each further one up to an hour; 10 min
	Logs     time.Duration // how long the output of jobs is kept; 30 days
	Again    time.Duration // how long a requeued job waits (Slurm: two minutes); 5 s
	Beats    time.Duration // between two times that a machine tells the heartbeats of its jobs; 20 s
	Overtake time.Duration // how long a job that waits for shared machines lets later ones use the room that they have; 5 min
}

// bootWithin is within what time a machine must have said hello.
func (t Timing) bootWithin(o *provider.Offering) time.Duration { return max(t.Boot, 3*o.Boot) }

func (t Timing) orDefault() Timing {
	set := func(d *time.Duration, def time.Duration) { *d = cmp.Or(*d, def) }
	set(&t.Lease, 90*time.Second)
	set(&t.PollWait, 20*time.Second)
	set(&t.Margin, 15*time.Second)
	set(&t.KillWait, 30*time.Second)
	set(&t.Boot, 10*time.Minute)
	set(&t.Idle, 5*time.Minute)
	set(&t.List, time.Minute)
	set(&t.ListSoon, 10*time.Second)
	set(&t.ListLag, time.Minute)
	set(&t.Stray, 2*time.Minute)
	set(&t.Offers, 10*time.Minute)
	set(&t.Keep, 5*time.Minute)
	set(&t.Tick, time.Second)
	set(&t.StockOut, 10*time.Minute)
	set(&t.Logs, 30*24*time.Hour)
	set(&t.Again, 5*time.Second)
	set(&t.Beats, heartbeat.Every)
	set(&t.Overtake, 5*time.Minute)
	t.Boots = cmp.Or(t.Boots, 3)
	return t
}

var goodName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// check fills in defaults and refuses what cannot work.
func (c *Config) check() error {
	switch {
	case !goodName.MatchString(string(c.Site)):
		return fmt.Errorf("site %q: a site of rented machines has small letters, digits and '-' in its name: it begins the machines' host names", c.Site)
	case c.Provider == nil || c.Store == nil:
		return errors.New("a site of rented machines needs a provider and a store")
	case len(c.Pools) == 0:
		return fmt.Errorf("site %s has no pools", c.Site)
	case len(c.Secret) < 16:
		return fmt.Errorf("site %s: the daemon's key has %d bytes, and needs 16 at least", c.Site, len(c.Secret))
	}
	c.Timing, c.LogReserve = c.Timing.orDefault(), cmp.Or(c.LogReserve, 1<<30)
	c.Pools = slices.Clone(c.Pools)
	seen := map[string]bool{}
	for i := range c.Pools {
		p := &c.Pools[i]
		if !goodName.MatchString(p.Name) || seen[p.Name] {
			return fmt.Errorf("site %s: pool %q: names of pools are unique and have small letters, digits and '-'", c.Site, p.Name)
		}
		seen[p.Name] = true
		p.Max, p.Idle = cmp.Or(p.Max, DefaultMax), cmp.Or(p.Idle, c.Timing.Idle)
		if p.Max < 0 || p.Min < 0 || p.Min > p.Max {
			return fmt.Errorf("site %s: pool %s: min %d and max %d machines", c.Site, p.Name, p.Min, p.Max)
		}
	}
	if !slices.ContainsFunc(c.Pools, func(p PoolConfig) bool { return p.Default }) {
		c.Pools[0].Default = true
	}
	c.Logger = cmp.Or(c.Logger, slog.Default()).With("site", c.Site)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Users == nil {
		c.Users = systemUsers{}
	}
	return nil
}
