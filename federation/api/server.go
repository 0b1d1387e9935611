package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/httpmetrics"
)

// Config is what a Server is made of. Store and Controller are required.
type Config struct {
	Store      federation.Store
	Controller Controller
	Usage      federation.UsageStore // what sites measured of ended jobs; nil: nothing

	// Operators are user names or decimal uids that act as operators. Root and the daemon's own uid are administrators.
	Operators []string

	// Federation is the name that clients see as the cluster's: "fed" if empty.
	Federation string
	// Version is the Slurm version that the API says it is: digits and dots, three parts. "24.11.5" if empty.
	Version string
	// MinJobAge is how long an ended job stays in job listings, as in slurm.conf. 300 s if zero.
	MinJobAge time.Duration
	// MaxArraySize is one more than the highest index of an array's task, as in slurm.conf. The federation's own bound if zero.
	MaxArraySize int

	// Tokens say who calls over TLS; nil: nobody may.
	Tokens *identity.Tokens

	Logger     *slog.Logger          // nil: no logs
	Registerer prometheus.Registerer // nil: no metrics
	Gatherer   prometheus.Gatherer   // what /metrics shows; nil: Registerer, if it can
	Now        func() time.Time      // nil: time.Now
	Users      identity.Users        // nil: the system's user database
	Logs       federation.LogReader  // of jobs at sites that do not see their directory; nil: there are none
	Pools      Pools                 // of rented machines; nil: there are none
	Steps      federation.StepTeller // nil: no site tells of steps while they run
	// StepSignals are the sites that take orders to single steps.
	StepSignals map[federation.SiteName]federation.StepSignaller
	// Suspends are the sites that can suspend jobs.
	Suspends map[federation.SiteName]bool
}

// Server answers the API. It is an http.Handler, but knows a caller only on connections that [Server.Serve] has accepted.
type Server struct {
	cfg     Config
	log     *slog.Logger
	who     *identity.Identity
	users   *identity.Names // of who
	metrics *httpmetrics.Requests
	mux     *http.ServeMux
	started time.Time
	host    string // this machine's name
	marks   marks
	queue   queue
	watch   watch
	events  eventStream
	pools   rented
	large   chan struct{} // bounds the large bodies that are being read
	within  within

	document func() ([]byte, error) // of /fed/v1, made when it is first asked for

	stopping chan struct{} // closed when Serve is told to end: long polls return
	stopOnce sync.Once
}

// NewServer returns a server that is ready to serve. It registers its metrics on c.Registerer.
func NewServer(c Config) *Server {
	setDefaults(&c)
	s := &Server{
		cfg: c,
		log: c.Logger,
		who: identity.New(identity.Config{
			Users: c.Users, Operators: c.Operators, Self: uint32(os.Getuid()), Tokens: c.Tokens, Logger: c.Logger, Now: c.Now,
		}),
		metrics: newMetrics(c.Registerer),
		mux:     http.NewServeMux(),
		started: c.Now(),
		large:   make(chan struct{}, largeBodies),

		stopping: make(chan struct{}),
	}
	s.users = s.who.Users
	s.events = eventStream{store: c.Store, stopping: s.stopping}
	s.pools = rented{all: c.Pools, sites: c.Controller.Sites, now: c.Now}
	s.within = within{store: c.Store, controller: c.Controller}
	s.watch.store = c.Store
	s.document = sync.OnceValues(s.makeDocument)
	s.queue = queue{store: c.Store, view: s.view, now: c.Now, keep: c.MinJobAge}
	s.host, _ = os.Hostname()
	s.routes()
	return s
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
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Serve answers requests on l, a unix socket or a listener of TLS, until ctx ends. It then lets the requests in hand finish, for at most five
// seconds, and returns nil; any other end is an error. It may serve several listeners under one ctx, and not again after that.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler:           s,
		ConnContext:       s.who.ConnContext,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       5 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		// Not ctx itself: a submission in hand is not to be cut off half-way through its commit.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		s.stopOnce.Do(func() { close(s.stopping) })
		c, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- h.Shutdown(c)
	})
	go s.warmQueue(ctx)
	err := h.Serve(s.who.Listen(l))
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if err := <-stopped; err != nil {
		h.Close()
	}
	return nil
}

// routes is the whole surface in one place. Each route counts its requests under its own pattern.
func (s *Server) routes() {
	for _, r := range s.fedRoutes() {
		s.handle(r.Method+" "+r.Path, r.restricted())
	}
	s.slurmRoutes()
	if s.cfg.Gatherer != nil {
		s.mux.Handle("GET /metrics", metricsHandler(s.cfg.Gatherer))
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, errNoRoute(r))
	})
}

// handler answers a request of a known caller. What it returns as error becomes the answer; after it has written
// one itself it returns nil.
type handler func(w http.ResponseWriter, r *http.Request, c identity.Caller) error

// handle adds a route: it identifies the caller, runs h, turns its error into an answer and counts.
func (s *Server) handle(pattern string, h handler) {
	s.handleAs(pattern, h, s.fail)
}

// handleAs is handle with its own way to say that something failed.
func (s *Server) handleAs(pattern string, h handler, fail func(http.ResponseWriter, *http.Request, error) int) {
	observe := s.metrics.Route(strings.TrimSuffix(pattern, "/{$}"))
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		c, err := s.who.Caller(r)
		if err == nil {
			s.within.wait(r, c)
			err = h(w, r, c)
		}
		code := http.StatusOK
		if err != nil {
			code = fail(w, r, err)
		}
		observe(code, time.Since(began))
	})
}

// jobID reads the {id} of a path.
func jobID(r *http.Request) (federation.JobID, error) {
	n, err := strconv.ParseUint(r.PathValue("id"), 10, 32)
	if err != nil || n == 0 {
		return 0, errInvalidJobID
	}
	return federation.JobID(n), nil
}
