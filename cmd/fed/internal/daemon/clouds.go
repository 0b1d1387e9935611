package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/agentserver"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/driver"
	"fsub/federation/secret"
)

// clouds are the sites of rented machines, and the server for the agents on them.
type clouds struct {
	server    *agentserver.Server
	key       []byte
	prices    *prices.Catalogue
	listeners []net.Listener
	deposed   func() bool // nil: the daemon is alone
	shared    bool        // with other daemons
	hosts     *hosts      // nil: it is not
	epoch     int64       // of its lease
	api       later
	running   []driver.Runner
	risks     []siteRisks                                  // of sites that are in a cloud
	logs      map[federation.SiteName]federation.LogReader // of sites that do not share the users' files
}

// later is a handler that is known only when others have been made that need it. Before that it is not there.
type later struct{ h atomic.Pointer[http.Handler] }

func (l *later) set(h http.Handler) { l.h.Store(&h) }

func (l *later) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := l.h.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	http.Error(w, "the daemon is starting", http.StatusServiceUnavailable)
}

// openClouds opens the agent server if a site needs one, and returns nil if none does. Its keys are
// made once and kept in the state directory. term is that of a daemon that leads others; nil: it is alone.
func openClouds(p *parts) (_ *clouds, err error) {
	c := p.config
	if !rents(c) {
		return nil, nil
	}
	cl := &clouds{prices: p.prices, deposed: p.deposed, shared: p.known != nil, hosts: p.hosts, epoch: p.term.Under(), logs: map[federation.SiteName]federation.LogReader{}}
	defer func() {
		if err != nil {
			cl.close()
			err = fmt.Errorf("agents: %w", err)
		}
	}()
	keyFile := filepath.Join(c.StateDir, "agents.key")
	if cl.key, err = secretFile(keyFile); err == nil {
		err = secret.Check(keyFile)
	}
	if err != nil {
		return nil, err
	}
	tokens, err := openTokens(c)
	if err != nil {
		return nil, err
	}
	binary, err := findAgent(c)
	if err != nil {
		return nil, err
	}
	socket, err := filepath.Abs(filepath.Join(c.StateDir, "agents.sock")) // nodes have directories of their own
	if err != nil {
		return nil, err
	}
	l, err := listenPrivate(socket)
	if err != nil {
		return nil, err
	}
	cl.listeners = append(cl.listeners, l)
	dc := agentserver.Config{Key: cl.key, API: &cl.api, Token: inRun(tokens), Agent: binary, Socket: socket, Epoch: p.term.Under(), Lease: c.Agents.Lease, Logger: p.logOf("agents"), Registerer: p.reg}
	if p.known != nil {
		dc.Others = p.known.agents
	}
	if c.Agents.Listen != "" {
		if dc.URL, dc.Pin, err = cl.listenTLS(c); err != nil {
			return nil, err
		}
	}
	cl.server, err = agentserver.New(dc)
	return cl, err
}

// listenTLS makes the agent server listen on the network. It returns its URL and the pin of its certificate.
func (cl *clouds) listenTLS(c *config.Config) (url, pin string, err error) {
	certFile, keyFile := filepath.Join(c.StateDir, "agents.crt"), filepath.Join(c.StateDir, "agents-tls.key")
	cert, err := agentserver.Certificate(certFile, keyFile)
	if err == nil {
		err = secret.Check(keyFile)
	}
	if err != nil {
		return "", "", err
	}
	if pin, err = agentserver.Pin(cert); err != nil {
		return "", "", err
	}
	l, err := net.Listen("tcp", c.Agents.Listen)
	if err != nil {
		return "", "", err
	}
	cl.listeners = append(cl.listeners, tls.NewListener(identity.PerSource(l, agentsAtOne), &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}))
	address := c.Agents.Address
	if address == "" {
		address = l.Addr().String()
	}
	return "https://" + address, pin, nil
}

// inRun makes tokens for the commands inside a job on a rented machine.
func inRun(tokens *identity.Tokens) func(user string, job uint32, until time.Time) string {
	return func(user string, job uint32, until time.Time) string {
		return tokens.MakeFor(user, &identity.JobClaim{Job: job}, until)
	}
}

// serve lets agents in and runs the sites until ctx ends. It returns at once.
func (cl *clouds) serve(ctx context.Context, g *errgroup.Group, srv http.Handler) {
	if cl == nil {
		return
	}
	cl.api.set(srv)
	for _, l := range cl.listeners {
		g.Go(func() error { return cl.server.Serve(ctx, l) })
	}
	for _, r := range cl.running {
		g.Go(func() error { return r.Run(ctx) })
	}
}

// close closes the listeners, which serve has closed when it has run.
func (cl *clouds) close() {
	if cl == nil {
		return
	}
	for _, l := range cl.listeners {
		l.Close()
	}
}

// useEvery is how often agents tell how busy their jobs are; 0: nobody asks.
func useEvery(c *config.Config) time.Duration {
	if r := c.Health.IdleRule(); !r.Off() {
		return r.Every()
	}
	return 0
}

// open makes the driver of a rented site.
func (cl *clouds) open(ctx context.Context, c *config.Config, s *config.Site, st records.PoolStore, log *slog.Logger, reg prometheus.Registerer) (*cloud.Driver, error) {
	p, boot, err := cl.provider(ctx, c, s, log)
	if err != nil {
		return nil, err
	}
	mapped, err := s.MappedUsers()
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", s.Name, err)
	}
	d, err := cloud.New(cloud.Config{
		Note: noteOf(p), Mapped: mapped, Site: s.Name, Provider: cl.wrap(p, s, log, reg), Store: st, AgentServer: cl.server, Pools: poolsOf(s), Boot: boot, Secret: cl.key,
		LogDir: cl.logDir(c, s.Name), SharesFiles: s.FileSystems == nil, OnlyUser: onlyUser(s), Logger: log, Registerer: reg,
		LogMost: c.Limits.LogMiB << 20, LogUser: c.Limits.LogUserMiB << 20,
		Use: useEvery(c), Timing: timingOf(s, c.Agents.Lease), MaxAge: c.MaxPriceAge(s), Containers: s.Engine(),
	})
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", s.Name, err)
	}
	cl.running = append(cl.running, d)
	if in, _, ok := strings.Cut(s.Facts().Place, ":"); ok {
		cl.risks = append(cl.risks, siteRisks{in, d.Risks})
	}
	if s.FileSystems != nil {
		cl.logs[s.Name] = d
	}
	return d, nil
}

// provider is what rents the machines of a site, or starts them, on this daemon's machine or another's.
func (cl *clouds) provider(ctx context.Context, c *config.Config, s *config.Site, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	if s.Here() && cl.hosts != nil {
		return cl.hosts.there(ctx, s, cl.epoch)
	}
	return OpenProvider(ctx, c, s, cl.key, cl.prices, log)
}

// logDir is where the output of a site's jobs is kept while they run. Not beside a daemon that may lead no more in a moment: where machines see none of the
// users' files, jobs send it to the store of blobs, which all daemons have.
func (cl *clouds) logDir(c *config.Config, site federation.SiteName) string {
	if cl.shared {
		return ""
	}
	return filepath.Join(c.StateDir, "logs", string(site))
}

// noteOf is what a provider has to say of its machines.
func noteOf(p provider.Provider) string {
	if p, ok := p.(interface{ Note() string }); ok {
		return p.Note()
	}
	return ""
}

// rents reports whether there is a site whose machines are made when they are needed.
func rents(c *config.Config) bool {
	for i := range c.Sites {
		if c.Sites[i].Rented() {
			return true
		}
	}
	return false
}

// findAgent returns the path of the agent's program, which must be there.
func findAgent(c *config.Config) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(c.AgentBinary(self))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the program of machines' agents: %w; put fed-agent there, or name it as agents: binary", err)
	}
	return path, nil
}

// openTokens makes the tokens of the commands inside jobs, with the key of the remote listener.
func openTokens(c *config.Config) (*identity.Tokens, error) {
	path := filepath.Join(c.StateDir, "token.key")
	key, err := secretFile(path)
	if err == nil {
		err = secret.Check(path)
	}
	if err != nil {
		return nil, err
	}
	return identity.NewTokens(key), nil
}

// listenPrivate opens a socket for this user alone.
func listenPrivate(path string) (net.Listener, error) {
	if err := makeRoom(path); err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
