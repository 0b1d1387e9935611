package simsite

import (
	"fmt"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// Config describes a site. Only Name, Nodes and Partitions must be set.
type Config struct {
	Name    string // Slurm's ClusterName
	Version string // "24.11.5" (default) or "26.05.5": picks the HTTP status of refusals and other quirks
	Seed    uint64
	Clock   Clock // nil: a VirtualClock of its own

	Nodes        []NodeConfig
	Partitions   []PartitionConfig
	Switches     []SwitchConfig
	Users        []UserConfig // none: every user may run, and EnforceAssociations is off
	Reservations []federation.Reservation

	// EnforceAssociations refuses jobs of users without an association (error 2045).
	EnforceAssociations bool
	// EnforcePartLimits refuses jobs beyond a partition's limits; otherwise they wait forever.
	EnforcePartLimits bool

	// JWTKey is the HS256 key. nil: no token is asked for, and the caller is the one whom the header names, or SlurmUser,
	// as behind a unix socket whose slurmrestd runs as SlurmUser.
	JWTKey     []byte
	TokenClock Clock  // what tokens are checked by; nil: Clock
	SlurmUser  string // default "slurm"
	FirstJobID uint32 // default 1
	MaxJobID   uint32 // default 29,999,999: the site's own counter wraps there

	MinJobAge  time.Duration // how long ended jobs stay in the controller's memory; default 300 s
	SaveWindow time.Duration // how long a change may be in memory only; default 5 s
	Completing time.Duration // how long an ended job keeps its nodes as COMPLETING; default: no time
	// Registration is how long after its controller's start a node tells what it runs; until then the controller believes
	// what it had saved. Default 20 s, the least. Slurm does it every 20 pings of SlurmdTimeout/3 each, and at the node's own
	// start: 200 s with a SlurmdTimeout of 30 s, and a controller that is killed again meanwhile begins anew.
	Registration time.Duration
	MaxArraySize int  // default 1001
	MaxScript    int  // bytes; default 4 MiB
	NoDBD        bool // the site has no slurmdbd at all
}

// NodeConfig describes one or more like nodes.
type NodeConfig struct {
	Names    string // hostlist: "a[1-4]"
	CPUs     int
	Mem      sbatch.MemMiB
	GRES     []federation.GRES // Name, Type, Total
	Features []string
}

// PartitionConfig describes a partition. A zero limit means none.
type PartitionConfig struct {
	Name         string
	Nodes        string // hostlist; "" or "ALL": every node
	Default      bool
	State        string // default UP
	MaxTime      time.Duration
	DefaultTime  time.Duration
	MinNodes     int
	MaxNodes     int
	DefMemPerCPU sbatch.MemMiB
	AllowAccounts,
	DenyAccounts []string
	PriorityTier int
	RootOnly     bool // who submits must be root or SlurmUser
}

// SwitchConfig is one switch: a leaf with Nodes or one above with Switches (both hostlists).
type SwitchConfig struct {
	Name     string
	Nodes    string
	Switches string
}

// UserConfig is a user that the site's machines and its accounting know.
type UserConfig struct {
	Name     string
	UID, GID uint32
	// Accounts are the user's associations; the first is the default one. None: the user may not run where
	// associations are enforced.
	Accounts []string
	QOS      []string // beside normal
	Admin    string   // "None" (default), "Operator" or "Administrator"
}

func (c *Config) setDefaults() error {
	if c.Name == "" || len(c.Nodes) == 0 || len(c.Partitions) == 0 {
		return fmt.Errorf("simsite %q: name, nodes and partitions must be given", c.Name)
	}
	def(&c.Version, "24.11.5")
	def(&c.SlurmUser, "slurm")
	def(&c.FirstJobID, 1)
	def(&c.MaxJobID, 29_999_999)
	def(&c.MinJobAge, 300*time.Second)
	def(&c.SaveWindow, 5*time.Second)
	def(&c.Registration, 20*time.Second)
	def(&c.MaxArraySize, 1001)
	def(&c.MaxScript, 4<<20)
	if c.Clock == nil {
		c.Clock = NewVirtualClock(time.Time{})
	}
	if c.TokenClock == nil {
		c.TokenClock = c.Clock
	}
	return nil
}

func def[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}
