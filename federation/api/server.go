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

	"fsub/accounting/report"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/queue"
	"fsub/federation/api/restd"
	"fsub/federation/api/signin"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/ended"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/quota"
	"fsub/federation/records"
	"fsub/federation/reports"
	"fsub/federation/share"
)

// Store is what a Server needs of a store.
type Store interface {
	submission.Store
	ended.Counter
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
		lister:   &restd.Lister{Store: c.Store, Usage: c.Usage, Steps: c.Steps, Users: who.Users, All: all, Now: c.Now, Keep: c.MinJobAge, Cluster: c.Federation, Starts: c.Controller.Starts, Spendings: c.Controller.Spendings, Idle: c.Idle},
		gate:     &submission.Gate{Store: c.Store, Controller: c.Controller, Now: c.Now, Federation: c.Federation, Limits: bounds, Mail: c.Mail},
		logs:     logs{store: c.Store, reader: c.Logs, sites: all},
		pools:    rented{all: c.Pools, store: c.Store, sites: all, now: c.Now},
		offers:   offers{Prices: c.Prices},
		watch:    watch{store: c.Store},
		audit:    auditLog{Store: c.Store},
		accounts: &c.Accounts,
		nodes:    nodes{Store: c.Store, Sites: all, Wake: c.Controller.Wake, Now: c.Now, Mark: c.Federation, Reboots: c.Reboots, Rules: c.Health},
		sites:    sites{Store: c.Store, Sites: all, Wake: c.Controller.Wake, Now: c.Now, Check: c.CheckSite, Add: c.AddSite, Change: c.UpdateSite, Calls: c.Calls, Fragments: c.Fragments, Idle: c.Idle},
		rules:    rules{Store: c.Store, Report: c.Health, Faults: c.Faults, Sites: all, Wake: c.Controller.Wake, Now: c.Now},

		stopping: make(chan struct{}),
	}
	s.daemons = daemons{all: c.Daemons, store: c.Store}
	s.books = books{Books: c.Books, Check: c.CheckBooks, Biller: c.Bills, Open: c.OpenSums, Budgets: c.Budgets, Stand: c.BudgetsStand, Closed: c.Accounts.Closed, Wake: c.Controller.Wake, Sites: all, Now: c.Now}
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
	s.jobs = &operations{Who: who.User, Spent: s.lister.Spent, Store: c.Store, Actions: s.actions, Controller: c.Controller, Now: c.Now, Log: c.Logger, AskAbove: c.AskAbove, Rate: c.OperationRate}
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
	go func() { _ = s.queue.Follow(ctx) }() // before anybody asks: of a hundred thousand jobs that takes a second or two. The next caller is told of a failure
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
