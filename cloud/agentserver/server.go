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
)

// Config is what a Door is made of. Key is required.
type Config struct {
	Key []byte // at least 32 random bytes: whoever has them can be any machine
	// API is the federation's. Requests of the commands inside jobs are passed on to it, each with a token of the run's owner in X-SLURM-USER-TOKEN, made
	// by Token. nil: there are no such commands.
	API   http.Handler
	Token func(user string, until time.Time) string

	// Agent is the path of the agent's binary, which machines fetch that do not have it; "": none can.
	Agent string
	// URL and Pin are how machines elsewhere reach the door, Socket how those do that see this machine's files. At least one of URL and Socket.
	URL, Pin, Socket string

	Lease    time.Duration // 2 minutes if zero
	PollWait time.Duration // a quarter of Lease if zero, at most 30 seconds

	Logger     *slog.Logger          // nil: no logs
	Registerer prometheus.Registerer // nil: no metrics
	Now        func() time.Time      // nil: time.Now
}

// Door lets agents in. It is an http.Handler.
type Door struct {
	cfg     Config
	log     *slog.Logger
	mux     *http.ServeMux
	metrics *metrics
	binary  *binary

	machines, runs atOnce        // requests
	silence        time.Duration // see silence

	mu    sync.RWMutex
	sites map[federation.SiteName]cloud.Agents
}

var _ cloud.Door = (*Door)(nil)

// New makes a Door. No site's machines are let in before Add.
func New(c Config) (*Door, error) {
	switch {
	case len(c.Key) < 32:
		return nil, fmt.Errorf("door: the key has %d bytes, want 32 or more", len(c.Key))
	case c.URL == "" && c.Socket == "":
		return nil, errors.New("door: neither URL nor Socket is set: no machine could reach it")
	case c.API != nil && c.Token == nil:
		return nil, errors.New("door: API without Token")
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
	d := &Door{cfg: c, log: c.Logger, mux: http.NewServeMux(), metrics: newMetrics(c.Registerer), binary: &binary{path: c.Agent},
		sites: map[federation.SiteName]cloud.Agents{}, machines: atOnce{most: machineAtOnce}, runs: atOnce{most: runAtOnce}, silence: silence}
	d.routes()
	return d, nil
}

// routes is all that agents can ask.
func (d *Door) routes() {
	d.handle("POST "+agentapi.PathHello, d.hello)
	d.handle("POST "+agentapi.PathPoll, d.asMachine(d.poll))
	d.handle("POST "+agentapi.PathReport, d.asMachine(d.report))
	d.handle("POST "+agentapi.PathLog+"{run}/{stream}", d.asMachine(d.logPiece))
	d.handle("GET "+agentapi.PathBinary+"{hash}", d.sendBinary)
	d.handle(agentapi.PathJob+"{run}/{path...}", d.asMachine(d.within))
}

// ServeHTTP answers one request.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }

// Add lets the machines of a site in. Before that they are told to ask again.
func (d *Door) Add(site federation.SiteName, a cloud.Agents) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sites[site] = a
}

// agents is the driver of a site. During the daemon's start it may not be there yet, and of a site that was taken out of the
// configuration it never will be; which of these it is only time can tell, and the machine's lease measures it.
func (d *Door) agents(site federation.SiteName) (cloud.Agents, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if a := d.sites[site]; a != nil {
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

// Boot implements cloud.Door. The token's life is b.Expires, which comes from the gang's record. A provider that has set URL, Lease or Agent keeps
// them; a machine that is not alone (PowerOff) sees this machine's files, and uses the socket.
func (d *Door) Boot(site federation.SiteName, gang string, b agentapi.Boot) (agentapi.Boot, error) {
	if b.Expires.IsZero() {
		return agentapi.Boot{}, fmt.Errorf("%w: boot data of gang %s without an end of its token's life", federation.ErrInvalid, gang)
	}
	if b.Lease == 0 {
		b.Lease = d.cfg.Lease
	}
	if b.URL == "" {
		switch {
		case d.cfg.Socket != "" && !b.PowerOff:
			b.URL = "unix:" + d.cfg.Socket
		case d.cfg.URL == "":
			return agentapi.Boot{}, fmt.Errorf("%w: the daemon has no address that machines elsewhere can reach; set remote: listen", federation.ErrInvalid)
		default:
			b.URL, b.Pin = d.cfg.URL, d.cfg.Pin
		}
	}
	if b.Path == "" && b.Agent == "" {
		hash, err := d.binary.hash()
		if err != nil {
			return agentapi.Boot{}, fmt.Errorf("%w: the agent's binary: %w", federation.ErrInvalid, err)
		}
		b.Agent = hash
	}
	b.Token = d.oneTime(site, gang, b.Expires)
	return b, nil
}

// Serve answers agents on l until ctx ends, and returns nil then. Long polls return at once.
func (d *Door) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler:           d,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
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
		h.Close() // agents are not to wait for answers of a door that nobody keeps
		return err
	}
	if err := <-stopped; err != nil {
		h.Close() // a log that goes on, or a command's request: they are sent again
	}
	return nil
}
