package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/accounting/ledger"
	"fsub/accounting/report"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/identity/oidc"
	"fsub/federation/api/queue"
	"fsub/federation/api/restd"
	"fsub/federation/api/signin"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/driver"
	"fsub/federation/fairshare"
	"fsub/federation/faults"
	"fsub/federation/health"
	"fsub/federation/jobmail"
	"fsub/federation/journal"
	"fsub/federation/place"
	"fsub/federation/quota"
	"fsub/federation/records"
	"fsub/federation/reports"
	"fsub/federation/share"
	"fsub/federation/tunnel"
	"fsub/federation/usage"
	"fsub/federation/webhooks"
)

// Store is what a Server needs of a store.
type Store interface {
	submission.Store
	journal.Committer
	journal.Follower
	federation.SiteStore
	federation.NodeStore
	audit.Log
	action.OperationStore
	records.Store
	// HealthFindings returns findings of the rules of health, oldest first.
	HealthFindings(ctx context.Context, q health.FindingQuery) ([]health.KeptFinding, error)
}

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

	Logger     *slog.Logger            // nil: no logs
	Registerer prometheus.Registerer   // nil: no metrics
	Gatherer   prometheus.Gatherer     // what /metrics shows; nil: Registerer, if it can
	Now        func() time.Time        // nil: time.Now
	Users      identity.Users          // nil: the system's user database
	Logs       federation.LogReader    // of jobs at sites that do not see their directory; nil: there are none
	Books      ledger.Books            // nil: there is no ledger
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

// Server answers the API. It is an http.Handler, but knows a caller only on connections that [Server.Serve] has accepted.
type Server struct {
	cfg     Config
	who     *identity.Identity
	bounds  *submission.Holdings
	users   *identity.Names // of who
	started time.Time
	host    string // this machine's name

	router   *answer.Router
	lister   *restd.Lister
	gate     *submission.Gate
	actions  *submission.Actions
	restd    *restd.Server
	logs     logs
	steps    steps
	tunnels  tunnels
	queue    *queue.Queue
	watch    watch
	events   eventStream
	pools    rented
	offers   offers
	nodes    nodes
	audit    auditLog
	accounts *Accounts
	sites    sites
	jobs     *operations
	rules    rules
	daemons  daemons
	books    books
	whatIf   whatIf
	browsers browsers

	document func() ([]byte, error) // of /fed/v1, made when it is first asked for

	operators atomic.Pointer[[]string]
	copies    copies

	stopping chan struct{} // closed when Serve is told to end: long polls return
	stopOnce sync.Once
}

// Tune changes who the operators are and what users may take up, from the next request on.
func (s *Server) Tune(operators []string, bounds submission.Bounds) {
	s.who.SetOperators(operators)
	s.operators.Store(&operators)
	s.bounds.Set(bounds)
}

// NewServer returns a server that is ready to serve. It registers its metrics on c.Registerer.
func NewServer(c Config) *Server {
	setDefaults(&c)
	who := identity.New(identity.Config{
		Users: c.Users, Operators: c.Operators, Self: uint32(os.Getuid()), Coordinators: c.Coordinators, Tokens: c.Tokens, Issued: findIssued(c.Store), Munge: c.Munge, SiteTokens: c.SiteTokens, Provider: c.Provider, Logger: c.Logger, Now: c.Now,
	})
	all := c.Controller.Sites
	bounds := submission.NewHoldings(c.Limits, c.Store, c.Now)
	s := &Server{
		cfg: c, who: who, bounds: bounds, users: who.Users, started: c.Now(),
		lister:   &restd.Lister{Store: c.Store, Usage: c.Usage, Steps: c.Steps, Users: who.Users, All: all, Now: c.Now, Keep: c.MinJobAge, Cluster: c.Federation, Starts: c.Controller.Starts, Spendings: c.Controller.Spendings},
		gate:     &submission.Gate{Store: c.Store, Controller: c.Controller, Now: c.Now, Federation: c.Federation, Limits: bounds, Mail: c.Mail},
		logs:     logs{store: c.Store, reader: c.Logs, sites: all},
		pools:    rented{all: c.Pools, store: c.Store, sites: all, now: c.Now},
		offers:   offers{Prices: c.Prices},
		watch:    watch{store: c.Store},
		audit:    auditLog{Store: c.Store},
		accounts: &c.Accounts,
		nodes:    nodes{Store: c.Store, Sites: all, Wake: c.Controller.Wake, Now: c.Now, Mark: c.Federation, Reboots: c.Reboots, Rules: c.Health},
		sites:    sites{Store: c.Store, Sites: all, Wake: c.Controller.Wake, Now: c.Now, Check: c.CheckSite, Add: c.AddSite, Change: c.UpdateSite, Calls: c.Calls},
		rules:    rules{Store: c.Store, Report: c.Health, Faults: c.Faults, Sites: all, Wake: c.Controller.Wake, Now: c.Now},

		stopping: make(chan struct{}),
	}
	s.daemons = daemons{all: c.Daemons, store: c.Store}
	s.books = books{Books: c.Books, Check: c.CheckBooks, Biller: c.Bills, Budgets: c.Budgets, Stand: c.BudgetsStand, Wake: c.Controller.Wake, Sites: all, Now: c.Now}
	s.whatIf.Foreseer, _ = c.Controller.(foreseer)
	s.whatIf.Policy = c.Policy
	s.browsers.Book, s.browsers.Log, s.browsers.Now, s.browsers.Address = signin.New(c.Store, c.Now), c.Store, c.Now, c.WebAddress
	s.browsers.Provider, s.browsers.SignedIn = c.Provider, who.SignedIn
	s.host, _ = os.Hostname()
	s.router = &answer.Router{
		Mux: http.NewServeMux(), Who: who, Metrics: answer.NewMetrics(c.Registerer), Within: &answer.Within{Store: c.Store, Controller: c.Controller}, Log: c.Logger,
		Deposed: c.Deposed,
		Long:    map[string]bool{"GET /fed/v1/job/{id}/wait": true, "GET /fed/v1/events": true, "POST /fed/v1/job/{id}/tunnel": true},
	}
	s.actions = &submission.Actions{Store: c.Store, Controller: c.Controller, Gate: s.gate, Now: c.Now, Keep: c.MinJobAge, Suspends: c.Suspends, Limits: bounds}
	s.jobs = &operations{Spent: s.lister.Spent, Store: c.Store, Actions: s.actions, Controller: c.Controller, Now: c.Now, Log: c.Logger, AskAbove: c.AskAbove, Rate: c.OperationRate}
	s.restd = &restd.Server{
		Store: c.Store, Lister: s.lister, Gate: s.gate, Actions: s.actions, OrderNodes: s.nodes.Order, Router: s.router, Users: who.Users, Now: c.Now,
		Keep: c.MinJobAge, Version: c.Version, Cluster: c.Federation, Host: s.host, Tree: s.treeAssociations, Sees: s.accounts.Sees,
		QOS: func() []*accounts.Record { return s.accounts.Books.Tree().QOS() },
	}
	s.steps = steps{store: c.Store, teller: c.Steps, signals: c.StepSignals}
	s.sites.Interactive = s.tunnels.reaches
	s.tunnels = tunnels{steps: &s.steps, sites: c.Connects, srun: c.Srun, stopping: s.stopping, slots: share.New(0, tunnelsOfUser), idle: c.IdleTunnels}
	s.events = eventStream{store: c.Store, users: who.Users, stopping: s.stopping}
	s.document = sync.OnceValues(s.makeDocument)
	s.accounts.Members, s.accounts.Users, s.accounts.Ledger = all, who.Users, c.Books
	s.sites.Elsewhere = func(c identity.Caller, site *federation.Site) []string { return s.accounts.Elsewhere(c, site, true) }
	s.queue = s.newQueue(s.submits())
	s.jobs.Queue = s.queue
	if c.Accounts.Books != nil {
		s.gate.Submits, s.gate.Tree = s.queue, c.Accounts.Books
		s.books.Tree = c.Accounts.Books.Tree
	}
	s.operators.Store(&c.Operators)
	s.routes()
	return s
}

// newQueue is the queue, which goes on with what another server of this daemon had.
func (s *Server) newQueue(submits *quota.Submits) *queue.Queue {
	c := queue.Config{Store: s.cfg.Store, Lister: s.lister, Users: s.users, Now: s.cfg.Now, Keep: s.cfg.MinJobAge, Cluster: s.cfg.Federation, Follows: s.cfg.Leader != nil, Database: s.cfg.Database}
	if c.Follows && s.accounts.Books != nil {
		c.ReadTree = s.accounts.Books.Reload
	}
	if s.cfg.Queue == nil {
		return queue.New(c, submits)
	}
	s.cfg.Queue.Use(c, submits)
	return s.cfg.Queue
}

// Resume has the server's queue be its own again after another server of this daemon has used it.
func (s *Server) Resume() { s.newQueue(s.submits()) }

// Queue is what squeue lists.
func (s *Server) Queue() *queue.Queue { return s.queue }

// submits counts the jobs that are submitted for the account tree's limits; nil: there is no tree.
func (s *Server) submits() *quota.Submits {
	if s.accounts.Books == nil {
		return nil
	}
	return quota.NewSubmits(s.accounts.Books)
}

// Report makes a saved report of what its owner may see now.
func (s *Server) Report(ctx context.Context, d *reports.Definition, spec report.Spec, at time.Time) (*report.Table, error) {
	c, err := s.who.User(d.UID)
	if err != nil {
		return nil, err
	}
	if c.Name != d.Owner {
		return nil, fmt.Errorf("%w: uid %d, whose report it was as %s, is %s now", federation.ErrDenied, d.UID, d.Owner, c.Name)
	}
	return s.books.Report(ctx, c, spec, at)
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

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.router.Mux.ServeHTTP(w, r) }

// Serve answers requests on l, a unix socket or a listener of TLS, until ctx ends. It then lets the requests in hand finish, for at most five
// seconds, and returns nil; any other end is an error. It may serve several listeners under one ctx, and not again after that.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler:           s,
		ConnContext:       identity.ConnContext,
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    v1.MaxHeader,
		IdleTimeout:       5 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
		// Not ctx itself: a submission in hand is not to be cut off half-way through its commit.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		s.Leave()
		c, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- h.Shutdown(c)
	})
	go s.queue.Warm(ctx)
	err := h.Serve(s.who.Listen(l))
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if err := <-stopped; err != nil {
		h.Close()
	}
	return nil
}

// Leave ends long polls, since the daemon stops: those who wait ask again, elsewhere.
func (s *Server) Leave() { s.stopOnce.Do(func() { close(s.stopping) }) }

// LoadQueue reads the queue before the server serves: see [queue.Queue.Load].
func (s *Server) LoadQueue(ctx context.Context, live func(context.Context, func([]federation.Job) error) error) error {
	return s.queue.Load(ctx, live)
}

// Work does what was asked for and takes longer than a request, until ctx is done.
func (s *Server) Work(ctx context.Context) error { return s.jobs.Run(ctx) }

// routes is the whole surface in one place. Each route counts its requests under its own pattern.
func (s *Server) routes() {
	if s.cfg.Leader != nil {
		by := &standing{leader: s.cfg.Leader, queue: s.queue}
		s.router.Elsewhere, s.router.Before = by.elsewhere, by.catchUp
	}
	for _, r := range s.fedRoutes() {
		if r.Who == string(v1.ForStrangers) {
			s.router.HandleStranger(r.Method+" "+r.Path, r.handle)
			continue
		}
		s.router.Handle(r.Method+" "+r.Path, r.restricted())
	}
	s.restd.Routes()
	s.router.Mux.Handle("GET /healthz", Alive(s.cfg.Build))
	s.router.Mux.Handle("GET /readyz", Ready(s.cfg.Ready))
	if s.cfg.Debug != nil {
		s.router.Mux.Handle("/debug/", s.cfg.Debug)
	}
	s.daemonRoutes()
	if s.cfg.Web != nil {
		s.router.Mux.Handle(webPath, onSocket(s.who, s.cfg.Web(s)))
	}
	if s.cfg.Gatherer != nil {
		metrics := answer.MetricsHandler(s.cfg.Gatherer)
		onSocket := func(r *http.Request, err error) error { // whoever reaches it is a user of this machine
			if r.TLS != nil {
				return answer.NoRoute(r)
			}
			return err
		}
		s.router.HandleAs("GET /metrics", func(w http.ResponseWriter, r *http.Request, _ identity.Caller) error {
			err := onSocket(r, nil)
			if err == nil {
				metrics.ServeHTTP(w, r)
			}
			return err
		}, func(w http.ResponseWriter, r *http.Request, _ identity.Caller, err error) int {
			err = onSocket(r, err)
			answer.Refusal(w, answer.Status(err), err)
			return answer.Status(err)
		})
	}
	s.router.Mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answer.Refusal(w, http.StatusNotFound, answer.NoRoute(r))
	})
}

// Alive answers GET /healthz: that the daemon serves, and which build it is. Anybody may ask.
func Alive(build any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(struct {
			Status string `json:"status"`
			Build  any    `json:"build,omitempty"`
		}{"ok", build})
	})
}

// Ready answers GET /readyz, by which load balancers choose whom to ask: 503 with the reason while it is not ready. Anybody may ask.
func Ready(not func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		said := struct {
			Status string `json:"status"`
			Why    string `json:"why,omitempty"`
		}{Status: "ready"}
		if not != nil {
			if err := not(); err != nil {
				said.Status, said.Why = "not ready", err.Error()
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}
		_ = json.NewEncoder(w).Encode(said)
	})
}

// jobID reads the {id} of a path.
func jobID(r *http.Request) (federation.JobID, error) {
	n, err := strconv.ParseUint(r.PathValue("id"), 10, 32)
	if err != nil || n == 0 {
		return 0, answer.InvalidJobID
	}
	return federation.JobID(n), nil
}
