package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/api/identity/oidc"
	"fsub/federation/api/queue"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/driver"
	"fsub/federation/fairshare"
	"fsub/federation/faults"
	"fsub/federation/fragment"
	"fsub/federation/health"
	"fsub/federation/idle"
	"fsub/federation/jobmail"
	"fsub/federation/place"
	"fsub/federation/quota"
	"fsub/federation/reports"
	"fsub/federation/tunnel"
	"fsub/federation/usage"
	"fsub/federation/webhooks"
)

// Config is what a Server is made of. Store and Controller are required.
type Config struct {
	Store      Store
	Controller Controller
	Usage      usage.Store // what sites measured of ended jobs; nil: nothing
	Deposed    func() bool // another daemon leads by now; nil: there is none
	Daemons    Daemons     // that share the store; nil: there is only this one
	// Leader passes requests on to the daemon that leads, where this one stands by: it answers by itself what [answeredBy] says. Nil: this one leads.
	Leader http.Handler
	// Database names the one that Store is in, where Queue outlives it.
	Database string
	// Ready says why the daemon is not ready to answer; nil: it is whenever it serves.
	Ready func() error
	// Queue is one that servers of this daemon use one after the other: each goes on with what it has read. Nil: the server has its own.
	Queue  *queue.Queue
	Health func() *health.Report // what the rules of health know; nil: there are none
	Faults func() []faults.Fault // what is wrong with the daemon and its sites; nil: nobody looks

	// Operators are user names or decimal uids that act as operators. Root and the daemon's own uid are administrators.
	Operators []string
	// Coordinators knows who coordinates which account; nil: nobody does.
	Coordinators identity.Coordinators
	// Accounts is the account tree, and where sites keep theirs.
	Accounts Accounts
	// FairShare tells how the associations of the tree stand; nil: that is not known.
	FairShare interface{ Standing() []fairshare.Row }

	// Federation is the name that clients see as the cluster's: "fed" if empty.
	Federation string
	// Version is the Slurm version that the API says it is: digits and dots, three parts. "24.11.5" if empty.
	Version string
	// Build names the daemon's build: what /healthz answers. It is written as JSON.
	Build any
	// MinJobAge is how long an ended job stays in job listings, as in slurm.conf. 300 s if zero.
	MinJobAge time.Duration
	// MaxArraySize is one more than the highest index of an array's task, as in slurm.conf. The federation's own bound if zero.
	MaxArraySize int

	// Fragments tells how whole the free GPUs of a site are; nil: that is not known here.
	Fragments func(*federation.Site) []fragment.Score

	// Idle are the running jobs that leave idle what they hold; nil: that is not known here.
	Idle func() []idle.Held

	// AskAbove: people are asked first before something is done to more jobs than that. 20 if zero.
	AskAbove int
	// OperationRate is how many requests a second a site gets of operations on many jobs; nil: 100.
	OperationRate func(federation.SiteName) float64

	// Calls is the budget of calls of a site, nil if it has none; nil: no site has.
	Calls func(federation.SiteName) func() (perSecond, used float64)

	// Limits bound what one user may take up; zero: nothing does.
	Limits submission.Bounds

	// Tokens say who calls over TLS; nil: nobody may.
	Tokens *identity.Tokens
	Munge  *identity.Munge // likewise, on machines with the munge key of a site; nil: nobody may
	// SiteTokens are those of sites that are taken over TLS; nil: none are.
	SiteTokens *identity.SiteTokens
	Provider   *oidc.Verifier // of OpenID, whose ID tokens are taken likewise; nil: none's are
	SignIn     SignIn         // what those get who sign in by it
	// RemoteAddress is where callers over TLS reach the daemons, as a value of FSUB_SOCKET; nil: that is not known.
	RemoteAddress func() string

	Logger     *slog.Logger          // nil: no logs
	Registerer prometheus.Registerer // nil: no metrics
	Gatherer   prometheus.Gatherer   // what /metrics shows; nil: Registerer, if it can
	Now        func() time.Time      // nil: time.Now
	Users      identity.Users        // nil: the system's user database
	Logs       federation.LogReader  // of jobs at sites that do not see their directory; nil: there are none
	Books      ledger.Books          // nil: there is no ledger
	// OpenSums adds up the runs that go on, of those that sees says, as Books adds up those that have ended; nil: that is not known here.
	OpenSums   func(ctx context.Context, q *ledger.SumQuery, sees func(user, account string) bool) ([]ledger.SumRow, error)
	CheckBooks BookChecker             // nil: nobody compares it with what sites say
	Bills      Biller                  // nil: it takes no bills
	Budgets    func() []quota.Standing // nil: there are none
	// BudgetsStand reports whether those are of the account tree as it is now; nil: they are.
	BudgetsStand func() bool
	Reports      *reports.Runner      // makes those that are saved; nil: nothing is saved
	Mail         *jobmail.Rules       // of mail that jobs ask for; nil: none is sent
	Webhooks     func() *webhooks.Hub // delivers events to users' endpoints; nil, or its answer: nothing does
	Pools        Pools                // of rented machines; nil: there are none
	Prices       Prices               // what clouds ask; nil: it is not known
	Steps        driver.StepTeller    // nil: no site tells of steps while they run
	// Reboots is what reboots the nodes of a site, nil if nothing can; nil: no site can.
	Reboots func(federation.SiteName) driver.Rebooter
	// CheckSite tries a site, and AddSite takes one into the federation; nil: that cannot be done.
	CheckSite func(ctx context.Context, site federation.SiteName) ([]driver.SiteCheck, error)
	AddSite   func(ctx context.Context, req v1.AddSite, by audit.Entry) (federation.SiteName, error)
	// UpdateSite changes the description of one that was added; nil: that cannot be done.
	UpdateSite func(ctx context.Context, site federation.SiteName, req v1.UpdateSite, by audit.Entry) error
	// StepSignals are the sites that take orders to single steps.
	StepSignals map[federation.SiteName]driver.StepSignaller
	// Connects are the sites that reach what runs there.
	Connects map[federation.SiteName]driver.Connector
	// Srun is how a user calls the srun of a site whose jobs nothing connects to; nil, or its answer: not at all.
	Srun func(site federation.SiteName, user string) *v1.SiteSrun
	// IdleTunnels ends tunnels into jobs through which nothing passes.
	IdleTunnels tunnel.Idle
	// Suspends are the sites that can suspend jobs.
	Suspends map[federation.SiteName]bool
	Policy   place.Policy // for what-if

	// WebAddress is where browsers reach the daemon's page, https://HOST:PORT; "": nobody signs in there. Web makes of the API the page below /web/ on the socket; nil: there
	// is none.
	WebAddress string
	Web        func(api http.Handler) http.Handler
	Debug      http.Handler // answers below /debug/, whoever asks; nil: nothing does
}

func setDefaults(c *Config) {
	if c.Federation == "" {
		c.Federation = "fed"
	}
	if c.Version == "" {
		c.Version = "24.11.5"
	}
	if c.MinJobAge == 0 {
		c.MinJobAge = 300 * time.Second
	}
	if c.AskAbove == 0 {
		c.AskAbove = 20
	}
	if c.MaxArraySize == 0 {
		c.MaxArraySize = federation.MaxArrayIndex + 1
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Gatherer == nil {
		c.Gatherer, _ = c.Registerer.(prometheus.Gatherer)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Users == nil {
		c.Users = identity.SystemUsers{}
	}
}
