package slurm

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/topology"
)

// Config is all that a Driver needs to know of its site.
type Config struct {
	Name       federation.SiteName
	Federation string // name of the federation: part of every attempt key
	URL        string // "http://host:6820", "https://...", or "unix:/run/slurmrestd/sock"

	// The daemon acts as User, who is SlurmUser or root at a pinned site, with a token that is made from KeyFile (the
	// cluster's jwt_key, HS256) or read from TokenFile. Without either no token is sent: for a unix socket whose
	// slurmrestd runs as SlurmUser. User defaults to "slurm", or to the one that the token names.
	User      string
	KeyFile   string
	TokenFile string
	// TokenCommand is a program with its arguments that prints a token, as "scontrol token" does. It is run again before the token expires, and when the site refuses it.
	// Where its arguments have %u it prints one for the user whose name stands there: jobs are submitted and changed by their users' own tokens, and what is
	// read of all jobs and nodes is read by that of User.
	TokenCommand []string
	// Users are the names of users at the site, by those here, where they differ.
	Users map[string]string

	// For https: the authority that has signed slurmrestd's certificate, or that of a proxy before it, if it is none of the machine's; and what such a
	// proxy knows us by. Files with PEM.
	CAFile, CertFile, CertKeyFile string

	// Mode is how the site carries job IDs: Pinned, Mapped, or "" for what the token is found to allow. A site is mapped in any case if its API
	// version cannot carry a job ID. With a token of neither SlurmUser nor root it runs jobs of the token's user only.
	Mode federation.Mode
	// Settle is how long a submission without a response may still take effect at a mapped site.
	// Only after that it counts as lost. Default 30 s: slurmrestd gives up on a slurmctld that is
	// down after 20. A daemon that has just begun to lead waits for so long too: the lease of the one before
	// and the longest of its calls are over then.
	Settle time.Duration

	// Timeout is that of a read; default 25 s: slurmrestd itself takes 9 to 20 s to find that slurmctld is down. Calls that change
	// something are given three times as long.
	Timeout time.Duration
	RPS     float64 // calls per second, in the long run; default 200
	Burst   int     // calls at once; default 200

	FirstID, LastID federation.JobID // the federated range; default that of package federation

	// The REST API has no switch tree: it comes from Tree, or from TopologyFile (a topology.conf or topology.yaml, or the output of
	// "scontrol show topology"), which is read again when it changes, or from NodeCommand, which is asked for it every ten minutes.
	Tree         topology.Tree
	TopologyFile string

	// DefaultPartition is the partition of jobs that name none. Slurm 24.11 does not tell it.
	DefaultPartition string

	// NoAssociations: everybody may run, whatever slurmdbd's associations say (AccountingStorageEnforce is off).
	NoAssociations bool

	// NodeCommand is a program with its first arguments that does what scontrol does there: "update NodeName=LIST State=STATE Reason=TEXT" is
	// added, "reboot [ASAP] [nextstate=STATE] [reason=TEXT] LIST", or "show topology". It is for API versions that cannot update nodes, and for reboots, for which
	// there is no call. Set, it is used in any case.
	NodeCommand []string
	// ReservationCommand is a program with its first arguments that does what scontrol does there: "create reservation ReservationName=... StartTime=utsSECONDS EndTime=utsSECONDS
	// Nodes=LIST Users=USER Flags=LIST" is added, "update" with the same but for user and flags, or "delete ReservationName=...". It is for API versions before v0.0.43, and for tokens
	// that may not. Set, it is used in any case.
	ReservationCommand []string
	// Srun is how users call the site's srun; nil: they do not.
	Srun *driver.Srun

	// AccountCommand is a program with its first arguments that does what sacctmgr does there. Without it limits cannot be read, and nothing can
	// be changed.
	AccountCommand []string

	// UseCommand is a program with its first arguments that does what sstat does there, for all users. UseExporter is the address of a DCGM exporter; each %n in
	// it is replaced by a node's name. Without either it is not known how busy jobs keep what they hold while they run: slurmrestd tells it of what has ended.
	UseCommand  []string
	UseExporter string

	// Lease is when this daemon ceases to lead others, unless it renews its lease before: nothing is sent after that. Nil: the daemon is alone.
	Lease func() time.Time

	Logger    *slog.Logger      // default: nothing is logged
	Transport http.RoundTripper // for tests; default: made from URL
}

// withDefaults fills what was left out and checks the rest.
func (c Config) withDefaults() (Config, error) {
	if c.Name == "" {
		return c, fmt.Errorf("a site needs a name")
	}
	if !strings.HasPrefix(c.URL, "unix:/") && !strings.HasPrefix(c.URL, "http://") && !strings.HasPrefix(c.URL, "https://") {
		return c, fmt.Errorf("site %s: url %q: write http://HOST:PORT, https://HOST:PORT or unix:/PATH", c.Name, c.URL)
	}
	if c.KeyFile != "" && c.TokenFile != "" || len(c.TokenCommand) > 0 && c.KeyFile+c.TokenFile != "" {
		return c, fmt.Errorf("site %s: set key_file, token_file or token_command, not both", c.Name)
	}
	if EachUser(c.TokenCommand) && (c.User == "" || c.Mode == federation.Pinned) {
		return c, fmt.Errorf("site %s: token_command makes a token for each user (%s): name in user who reads for all, and do not set mode: pinned", c.Name, forUser)
	}
	if c.FirstID == 0 {
		c.FirstID = federation.FirstJobID
	}
	if c.LastID == 0 {
		c.LastID = federation.LastJobID
	}
	if c.FirstID > c.LastID || c.LastID > federation.LastJobID {
		return c, fmt.Errorf("site %s: job IDs %d to %d: want first <= last <= %d (slurmrestd refuses larger ones)", c.Name, c.FirstID, c.LastID, federation.LastJobID)
	}
	if c.Mode != "" && c.Mode != federation.Pinned && c.Mode != federation.Mapped {
		return c, fmt.Errorf("site %s: mode %q: write pinned, mapped, or nothing", c.Name, c.Mode)
	}
	if c.Settle <= 0 {
		c.Settle = 30 * time.Second
	}
	if c.Timeout <= 0 {
		c.Timeout = 25 * time.Second
	}
	if c.RPS <= 0 {
		c.RPS = 200
	}
	if c.Burst <= 0 {
		c.Burst = 200
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// ours reports whether id is in the federated range.
func (c *Config) ours(id int64) bool {
	return id >= int64(c.FirstID) && id <= int64(c.LastID)
}
