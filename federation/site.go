package federation

import (
	"slices"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/accounting/egress"
	"fsub/accounting/power"
	"fsub/federation/decision"
	"fsub/sbatch"
	"fsub/topology"
)

// FedState is a site's standing in the federation, in the words of Slurm's federations. Only an ACTIVE site gets new jobs.
type FedState string

const (
	FedActive FedState = "ACTIVE"
	// FedInactive: no jobs are accepted or scheduled. What runs there goes on.
	FedInactive FedState = "INACTIVE"
	// FedDrain: no new jobs are accepted. Those that it has run or wait there to their end.
	FedDrain FedState = "DRAIN"
	// FedDrainRemove is DRAIN, and when the last job has ended the site leaves the federation.
	FedDrainRemove FedState = "DRAIN+REMOVE"
	// FedRemoved: it has left. Its history stays.
	FedRemoved FedState = "REMOVED"
)

// Mode is how a site carries federated job IDs. Pinned: the site runs the job under the federated ID itself.
// Mapped: the site gives its own ID and a table joins the two.
type Mode string

const (
	Pinned Mode = "pinned"
	Mapped Mode = "mapped"
)

// Observation is the whole of what a site said of itself in one look. Slices and maps are not changed after it
// was made: it is shared between goroutines.
type Observation struct {
	At      time.Time // when the look began
	Cluster string    // Slurm's ClusterName
	Version string    // "24.11.5"; [OwnVersion] of machines that the federation runs jobs on itself
	Mode    Mode

	Partitions   []Partition
	Nodes        []Node // sorted by name
	Reservations []Reservation
	Licenses     []License    // nil: not told
	Running      []RunningJob // every job that holds nodes, ours and others
	Waiting      []WaitingJob // jobs that wait at the site, ours and others, as far as the site has told of them
	PendingJobs  int          // how many wait in all, ours and others (array tasks count one each)
	Tree         topology.Tree

	// Associations is nil where the site does not keep them or does not enforce them: then everybody may run.
	Associations Associations
	Accounts     []Account // in the order of the site's accounting; nil where Associations is

	// StrictQOS are the QOS that have the site refuse a job which asks for more than they allow (DenyOnLimit), each with the longest time limit of a job; with others it waits.
	StrictQOS map[string]time.Duration

	// OnlyUser is the one user (by the site's name) for whom the site's token acts; "": it acts for all.
	OnlyUser string

	// SlurmUser is the site's user that slurmctld runs as; "": not known. It and root may use partitions that are RootOnly.
	SlurmUser string

	// Accounting is why the site's accounting does not answer; "": it does, or there is none.
	Accounting string

	// NoSlurm: the site is a pool of machines without a slurmctld of its own.
	NoSlurm bool

	// Lacks are the options of sbatch, by name, that the site's interface has no word for: it cannot run a job that needs one.
	Lacks []string

	MaxJobSeen     uint32    // highest job number of the site's own counter in sight: it must stay below the federated range
	CredentialEnds time.Time // when the token that the site knows us by expires; zero: it is renewed here, or does not
	Credential     string    // when what the site knows us by will expire, if that is soon and nothing renews it; "": it will not
	PricedAt       time.Time // when the oldest of the prices was learnt that placement goes by; zero: they have no age
	OldPrices      string    // which of them are so old that they may have changed, in a sentence; "": none
	Warnings       []string  // what the operator should know: an API field ignored, a range too near
}

// Node is the node of that name; nil: there is none.
func (o *Observation) Node(name string) *Node {
	i, ok := slices.BinarySearchFunc(o.Nodes, name, func(n Node, name string) int { return strings.Compare(n.Name, name) })
	if !ok {
		return nil
	}
	return &o.Nodes[i]
}

// Partition is a Slurm partition. A zero limit means none.
type Partition struct {
	Name                        string
	Default                     bool
	Up                          bool          // state UP: accepts and starts jobs
	State                       string        // as the site says it: UP, DOWN, DRAIN, INACTIVE
	MaxTime                     time.Duration // sbatch.Unlimited or a limit
	DefaultTime                 time.Duration // 0: MaxTime applies
	MinNodes                    int
	MaxNodes                    int
	Nodes                       []string // names
	AllowAccounts, DenyAccounts []string
	AllowQOS                    []string
	QOS                         string // whose limits come before those of a job's own; "": none
	DefMemPerCPU, DefMemPerNode sbatch.MemMiB
	PriorityTier                int
	RootOnly                    bool // for root and SlurmUser only
	// MaxStarts is how many of its idle nodes, powered down or not, may be taken into use at the most as things are, where that is fewer than
	// there are: offerings of one pool share what the pool may have. nil: all of them.
	MaxStarts *int
	// Allowances are what a rented pool may spend still: a job that could cost more is not to be started there. nil: no bound.
	Allowances []Allowance
	Topology   string         // the one of the site's topologies that it names (25.05 and later); "": the cluster's default
	Tree       *topology.Tree // how its nodes are wired by that; nil: as the site's
	Info       *PartitionInfo // nil: not told
}

// Node is one compute node as the site reports it.
type Node struct {
	Name                    string
	State                   []string // Slurm's words: IDLE, MIXED, ALLOCATED, DOWN, DRAIN, NOT_RESPONDING, ...
	Reason                  string
	Unconfirmed             bool   // State has a drain of ours that the site does not show yet
	Suspect                 bool   // it has failed jobs, and is avoided for a while
	BadPart                 string // the switch or block above it that gangs are kept off for a while; "": none
	CPUs                    int
	Mem                     sbatch.MemMiB // configured
	TmpDisk                 sbatch.MemMiB // configured: of the file system with temporary files. 0: none, or of a rented node not known
	CPUsUsed                int
	MemUsed                 sbatch.MemMiB // allocated to jobs
	GRES                    []GRES
	Features                []string
	Partitions              []string
	Sockets, Cores, Threads int
	Info                    *NodeInfo // nil: not told
	Rented                  *Rented   // nil: it is not
}

// Usable reports whether new jobs can start on the node: it is up, answers, is not suspected, and is not drained or reserved for
// maintenance. A node of a rented pool that is powered down is one that would be started.
func (n *Node) Usable() bool {
	if n.Suspect {
		return false
	}
	for _, s := range n.State {
		if s == "POWERED_DOWN" && n.Rented != nil {
			continue
		}
		switch s {
		case "DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "NOT_RESPONDING", "UNKNOWN", "FUTURE", "MAINTENANCE", "MAINT",
			"POWERED_DOWN", "POWERING_DOWN", "REBOOT_ISSUED", "REBOOT_REQUESTED", "RESERVED", "INVALID_REG", "ERROR", "PLANNED_MAINT":
			return false
		}
	}
	return true
}

// GRES is one kind of generic resource of a node: gpu of type h100.
type GRES struct {
	Name  string // "gpu"
	Type  string // "h100", or "" where the site gives none
	Total int
	Used  int
}

// OwnVersion is the Version of a site that is no Slurm cluster: machines that are rented, or this one.
const OwnVersion = "fsub"

// RunningJob is one job that holds nodes at a site, as far as placement needs it: what falls free, and when at the latest.
type RunningJob struct {
	Job   JobID     // the site's number of it; a federated ID if it is ours (of an array, the array's ID)
	End   time.Time // start + time limit; zero: no limit
	Nodes []string
	// What it holds on each of its nodes.
	CPUs int
	Mem  sbatch.MemMiB
	GRES []GRES // Used counts

	Stake
}

// WaitingJob is one job that waits at a site.
type WaitingJob struct {
	Job    JobID     // as in RunningJob
	Ours   bool      // it was sent by this federation
	Whole  bool      // it wants its nodes for itself, as far as the site tells
	Idle   bool      // it waits for something other than nodes: it is held, or a dependency, a time or a limit keeps it back
	Start  time.Time // when the site expects to start it; zero: it does not say
	Submit time.Time // zero: it does not say
	Nice   int64     // what its priority is lower by
	// What it asks for, all together.
	Nodes, CPUs int
	GRES        []GRES // Total counts

	Stake
}

// Stake is whose a job at a site is, in the site's names, and how it stands there. A field that the site does not tell is zero.
type Stake struct {
	User, Account, QOS, Partition string
	Priority                      int64
	Limit                         time.Duration // sbatch.Unlimited or a limit
}

// Reservation is a Slurm reservation: nodes that only some may use for some time.
type Reservation struct {
	Name       string
	Start, End time.Time
	Nodes      []string
	Users      []string
	Accounts   []string
	Maint      bool
	// For is the job for which this federation has made it. Placement reserves the nodes itself, so that it does not keep other jobs of ours away. Zero: others have made it.
	For decision.Promised
}

// Associations tells who may run at a site: user name to the accounts of that user there. The first is the default one.
type Associations map[string][]Association

// Association is a user's right to charge an account, in Partition only if that is set.
type Association struct {
	Account   string
	Partition string
	QOS       []string
	Default   bool

	// What people look at.
	ID         int64  // slurmdbd's number
	DefaultQOS string // of the association, "" for none
	Shares     int64  // 0: not told
}

// Account is an account as a site's accounting has it: what its users' associations belong to.
type Account struct {
	Name       string
	Parent     string // "" for root
	ID         int64
	QOS        []string
	DefaultQOS string
	Shares     int64
}

// Site is one member of the federation as placement and people see it: configuration, last good look and health.
type Site struct {
	Name    SiteName
	State   FedState
	Prices  accounting.Prices
	Speed   map[string]float64 // by GPU type ("" for CPU-only work): relative speed, 1 where absent
	Power   *power.Rates       // what its electricity costs from this hour on; nil: not known. It is replaced, not changed
	Data    egress.Site        // where it is, for the data that jobs read
	Backlog int                // jobs of ours that may wait at the site beyond what it can start now; 0: the default
	// AccountBacklog is how many of those may be of an account, by its name at the site. One that is not in it takes no more places at a site which others use too than it leaves free.
	AccountBacklog map[string]int
	// Ahead is how many jobs of ours may wait there because so many are expected to end before others could be sent after them: of short
	// jobs more than the default Backlog. A Backlog that is set counts alone.
	Ahead int
	Users map[string]SiteUser // where names differ at the site
	// Payers tells which account pays for a job; nil: the site's accounting decides. It is replaced, not changed.
	Payers Payers
	// Accounts are those of the federation that have other names at the site.
	Accounts map[string]string
	// FileSystems are the directories of the submit host that the site's nodes have too, with all that is below them. nil: all of
	// them; empty: none.
	FileSystems []string
	Options     []PluginOption // that plugins of the site add to sbatch's

	Seen       *Observation // last good look that has shown something new; nil: none since the daemon started
	SeenAt     time.Time    // when the last good look began
	Pools      []Pool       // of Seen; see place.Pools
	Answering  bool         // the last look was good
	Denied     bool         // it answers and refuses our token: until an operator acts it runs nothing
	Error      string       // why not
	ErrorSince time.Time
	NextTry    time.Time   // while it does not answer: when it is asked again
	Lost       time.Time   // see SiteRecord
	StateWhy   string      // what the operator said who has set State
	Conditions []Condition // what is wrong with it, the worst first. It is replaced, not changed

	// Limited are users who have as many jobs at the site as may be submitted. It is replaced, not changed.
	Limited []Limited
	// NodeNotes say why nodes are not as operators want them, by name: what the site has against it. It is not changed after it was made.
	NodeNotes map[string]string

	// Outlook foretells waits at the site; nil: only jobs of ours use it, or nothing is known. Another one takes its place when more has been seen.
	Outlook decision.Outlook

	// Bound are the attempts of ours that live at the site and are not in Seen.Running yet: intended, or pending there.
	Bound []Bound
	// Ours are attempts of ours that Seen.Running shows, as far as they may have to make room for others.
	Ours []*Job
	// Preempt is who ends jobs there for others.
	Preempt decision.PreemptBy
}

// UserName is the name of a user of this machine at the site.
func (s *Site) UserName(user string) string {
	if u, ok := s.Users[user]; ok && u.Name != "" {
		return u.Name
	}
	return user
}

// Payers tells which account of the federation pays for a job, where the federation has accounts. Values that are equal tell the same.
type Payers interface {
	// Account is the one that a user's job is charged to, which may name one; "": there is none for the user.
	Account(user, named string) string
}

// Limited are the jobs that a site does not take for now because a limit is reached: those of a user that ask for this account and QOS.
type Limited struct {
	User, Account, QOS string
}

// SiteUser is a user's identity at a site where it differs from the one here.
type SiteUser struct {
	Name     string
	UID, GID uint32
}

// Bound is a job that was given to a site and is not among the running jobs that the last observation saw.
type Bound struct {
	Job       *Job
	Units     int // 1; for an array the number of its tasks that are neither ended nor seen to run
	Partition string
	Since     time.Time
	Preempt   *decision.Preemption // of its attempt
}

// Pool is the like nodes of one partition of a site: same CPUs, memory, GRES and features.
type Pool struct {
	Site      SiteName
	Partition string
	Name      string // for people: "main/h100" or "main/cpu16"
	Shape     Node   // the configured side of any of its nodes (no name, no state, nothing used)
	Nodes     []int  // indices into Observation.Nodes
}
