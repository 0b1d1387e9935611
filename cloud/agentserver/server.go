package agentserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/httpmetrics"
)

// Config configures a Server. Key is required.
type Config struct {
	Key []byte // at least 32 random bytes; with them one can impersonate any machine
	// API is the federation's. It gets the requests of the commands inside jobs, each with a token of the
	// run's owner in X-SLURM-USER-TOKEN, made by Token. nil: such requests are refused.
	API   http.Handler
	Token func(user string, job uint32, until time.Time) string

	// Agent is the path of the agent's binary, for machines that do not have it. "": none is served.
	Agent string
	// URL and Pin are how other machines reach the server, Socket how processes of this one do. At least
	// one of URL and Socket is set.
	URL, Pin, Socket string
	// Others are the URLs of the agent servers of other daemons that share the database, which have the same key and certificate. nil: there are no others.
	Others func() []string

	Epoch    int64         // of the lease under which the daemon leads others; 0: it is alone
	Lease    time.Duration // 2 minutes if zero
	PollWait time.Duration // a quarter of Lease if zero, at most 30 seconds

	Logger     *slog.Logger          // nil: no logs
	Registerer prometheus.Registerer // nil: no metrics
	Now        func() time.Time      // nil: time.Now
}

// Server serves agents. It is an http.Handler.
type Server struct {
	cfg     Config
	log     *slog.Logger
	mux     *http.ServeMux
	metrics *httpmetrics.Requests
	binary  *binary

	machines, runs atOnce        // requests
	tellers        atOnce        // of the machines, those who poll or report
	silence        time.Duration // see silence

	mu    sync.RWMutex
	sites map[federation.SiteName]cloud.Agents
}

var _ cloud.AgentServer = (*Server)(nil)

// New returns a Server. The machines of a site can register after Add.
func New(c Config) (*Server, error) {
	switch {
	case len(c.Key) < 32:
		return nil, fmt.Errorf("agent server: the key has %d bytes, want 32 or more", len(c.Key))
	case c.URL == "" && c.Socket == "":
		return nil, errors.New("agent server: neither URL nor Socket is set: no machine could reach it")
	case c.API != nil && c.Token == nil:
		return nil, errors.New("agent server: API without Token")
	}
	if c.Lease == 0 {
		c.Lease = 2 * time.Minute
	}
	if c.PollWait == 0 {
		c.PollWait = min(c.Lease/4, 30*time.Second)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Server{cfg: c, log: c.Logger, mux: http.NewServeMux(), metrics: newMetrics(c.Registerer), binary: &binary{path: c.Agent},
		sites: map[federation.SiteName]cloud.Agents{}, machines: atOnce{most: machineAtOnce}, runs: atOnce{most: runAtOnce}, tellers: atOnce{most: tellAtOnce}, silence: silence}
	s.routes()
	return s, nil
}

// routes registers all requests that agents can make.
func (s *Server) routes() {
	s.handle("POST "+agentapi.PathHello, s.hello)
	s.handle("POST "+agentapi.PathPoll, s.asMachine(s.poll))
	s.handle("POST "+agentapi.PathReport, s.asMachine(s.report))
	s.handle("POST "+agentapi.PathLog+"{run}/{stream}", s.asMachine(s.logPiece))
	s.handle("POST "+agentapi.PathStream+"{id}", s.asMachine(s.stream))
	s.handle("GET "+agentapi.PathBinary+"{hash}", s.sendBinary)
	s.handle(agentapi.PathJob+"{run}/{path...}", s.asMachine(s.within))
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Add serves the machines of a site from now on. Before that they are told to try again.
func (s *Server) Add(site federation.SiteName, a cloud.Agents) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sites[site] = a
}

// agents returns the driver of a site. While the daemon starts it may not be there yet, and for a site
// that was removed from the configuration it never will be. Only time can tell, and the machine's lease
// measures it.
func (s *Server) agents(site federation.SiteName) (cloud.Agents, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if a := s.sites[site]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("%w: no site %s", federation.ErrUnavailable, site)
}

func siteOf(m cloud.MachineID) federation.SiteName {
	site := string(m)
	if i := strings.LastIndexByte(site, ':'); i >= 0 {
		site = site[:i]
	}
	return federation.SiteName(site)
}

// Servers implements cloud.AgentServer.
func (s *Server) Servers() []string {
	if s.cfg.Others == nil || s.cfg.URL == "" {
		return nil
	}
	return append([]string{s.cfg.URL}, s.cfg.Others()...)
}

// Boot implements cloud.AgentServer. The token expires at b.Expires, which comes from the gang's record. What the
// provider has set of URL, Lease and Agent stays. A machine that cannot power off (PowerOff) is a process
// of this one and uses the socket.
func (s *Server) Boot(site federation.SiteName, gang string, b agentapi.Boot) (agentapi.Boot, error) {
	if b.Expires.IsZero() {
		return agentapi.Boot{}, fmt.Errorf("%w: boot data of gang %s: the token has no expiry", federation.ErrInvalid, gang)
	}
	if b.Lease == 0 {
		b.Lease = s.cfg.Lease
	}
	if b.URL == "" {
		switch {
		case s.cfg.Socket != "" && !b.PowerOff:
			b.URL = "unix:" + s.cfg.Socket
		case s.cfg.URL == "":
			return agentapi.Boot{}, fmt.Errorf("%w: the daemon has no address that other machines can reach; set agents: listen", federation.ErrInvalid)
		case s.cfg.Others != nil:
			b.URL = strings.Join(s.Servers(), ",")
		default:
			b.URL = s.cfg.URL
		}
	}
	if b.Pin == "" && strings.HasPrefix(b.URL, "https://") {
		b.Pin = s.cfg.Pin
	}
	if b.Path == "" && b.Agent == "" {
		hash, err := s.binary.hash()
		if err != nil {
			return agentapi.Boot{}, fmt.Errorf("%w: the agent's binary: %w", federation.ErrInvalid, err)
		}
		b.Agent = hash
	}
	b.Token = s.oneTime(site, gang, b.Expires)
	return b, nil
}

// Serve answers agents on l until ctx ends, and returns nil then. Long polls return at once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		c, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		stopped <- h.Shutdown(c)
	})
	err := h.Serve(l)
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		h.Close() // agents must not wait for a server that has stopped
		return err
	}
	if err := <-stopped; err != nil {
		h.Close() // a log or a command's request that takes longer; both are sent again
	}
	return nil
}
