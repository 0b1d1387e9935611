package daemon

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/errgroup"

	"fsub/cmd/fed/internal/config"
	"fsub/cmd/fed/internal/logging"
	"fsub/cmd/fed/internal/systemd"
	"fsub/cmd/internal/build"
	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/leader"
	"fsub/federation/peer"
	"fsub/federation/store"
)

// shared is a daemon among several that share a database. It always answers: while another one leads, by itself or through that one.
type shared struct {
	config  *config.Config
	log     *slog.Logger
	keys    *peer.Keys
	forward *peer.Forwarder
	listen  *peer.Listener // for the other daemons, for as long as this one lives
	standby *standby
	debug   http.Handler                        // below /debug/
	answers atomic.Pointer[http.Handler]        // who answers now
	reg     atomic.Pointer[prometheus.Registry] // what /metrics tells
	table   leader.Postgres
	vault   vault
	self    leader.Self
	acked   store.Acknowledgements // while this daemon led
	known   addresses
	hosts   *hosts
	systemd *systemd.Manager
	step    atomic.Pointer[context.CancelCauseFunc] // ends this daemon's term
}

var errSteppedDown = errors.New("an administrator has had it step down")

// Daemons implements [api.Daemons].
func (s *shared) Daemons(ctx context.Context) ([]v1.Daemon, error) {
	members, err := s.table.Members(ctx)
	all := make([]v1.Daemon, len(members))
	for i, m := range members {
		all[i] = v1.Daemon{Name: m.Name, Address: m.Address, Leads: m.Leads, Version: m.Version, Since: m.Since, Silent: m.Age.Seconds(), Slow: m.Slow, Lag: m.Lag}
	}
	return all, err
}

// StepDown implements [api.Daemons].
func (s *shared) StepDown() { (*s.step.Load())(errSteppedDown) }

// live tells the other daemons again and again that this one lives.
func (s *shared) live(ctx context.Context) error {
	tick := time.NewTicker(leader.Renew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), leader.Renew)
			defer cancel()
			return errors.Join(ctx.Err(), s.table.Leave(ending, s.self))
		case <-tick.C:
			if err := s.join(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("the other daemons cannot be told that this one lives", "err", err)
			}
		}
	}
}

// join tells the other daemons that this one lives, and reads where they are.
func (s *shared) join(ctx context.Context) error {
	self := s.self
	self.Lag = s.lag()
	if err := s.table.Join(ctx, self); err != nil {
		return err
	}
	return s.known.read(ctx, s.table, s.self.Name)
}

// openShared reads what the daemons have in common.
func openShared(c *config.Config, db *sql.DB, m *systemd.Manager, log *slog.Logger) (*shared, error) {
	secret, err := os.ReadFile(c.Daemons.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("daemons: secret_file: %w", err)
	}
	keys, err := peer.NewKeys(secret)
	if err != nil {
		return nil, fmt.Errorf("daemons: secret_file: %s: %w", c.Daemons.SecretFile, err)
	}
	sealed, err := leader.NewSealed(db, secret)
	if err != nil {
		return nil, err
	}
	s := &shared{config: c, log: log, keys: keys, forward: peer.NewForwarder(keys, log), table: leader.Postgres{DB: db}, vault: sealed, self: selfOf(c), systemd: m}
	s.forward.Page = c.Web.At()
	s.hosts = newHosts(c, s.table, keys, &s.known, log.With(logging.Component, "sites"))
	reg := newParts(c, log).reg
	s.standby = newStandby(c, reg, s.forward, s, log)
	s.standsBy()
	return s, nil
}

// among runs a daemon that shares its store with others.
func among(ctx context.Context, c *config.Config, reload *reloader, log *slog.Logger) error {
	with := storeConfig(c)
	with.Logger = log
	db, err := whenBack(ctx, log, func() (*sql.DB, error) { return store.OpenLease(ctx, with) })
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := openShared(c, db, reload.systemd, log)
	if err != nil {
		return err
	}
	s.debug = debugging(c, reload.logs, s.metrics())
	if s.listen, err = peer.Listen(c.Daemons.Listen); err != nil {
		return fmt.Errorf("daemons: %w", err)
	}
	defer s.listen.Close()
	if err := s.hosts.start(ctx); err != nil {
		return err
	}
	l, err := listenSocket(c.Socket, s.systemd)
	if err != nil {
		return err
	}
	log.Info("fed serves, with others", "version", Version(), "name", c.Daemons.Named(), "socket", c.Socket, "state", c.StateDir)
	return s.run(ctx, l, func(ctx context.Context, t *leader.Term) error { return s.lead(ctx, t, reload) })
}

// lead opens a daemon and has it work until its term is over.
func (s *shared) lead(ctx context.Context, t *leader.Term, reload *reloader) error {
	files := &sharedFiles{config: s.config, vault: s.vault, epoch: t.Epoch}
	if err := files.fetch(ctx); err != nil {
		return err
	}
	c, err := reload.read()
	if err != nil { // it was changed since this daemon was started, and another one is not to be kept from its jobs by that
		s.log.Error("the configuration was not read again: this daemon leads with the one that it has", "err", err)
		c = reload.now
	}
	if err := c.ReadSiteFiles(); err != nil {
		return err
	}
	p := newParts(&c, s.log)
	p.term, p.shared, p.others, p.known, p.hosts, p.acknowledged = t, files, s, &s.known, s.hosts, &s.acked
	p.queue = s.standby.queue
	p.deposed = func() bool { return ctx.Err() != nil || !t.Trusted() }
	defer p.close()
	if err := p.open(ctx); err != nil {
		return err
	}
	defer func() { s.standby.know(p.ctl.Sites()) }()
	if err := s.standby.reach(ctx); err != nil { // it is tried again when this daemon stands by
		s.log.Debug("the store was not opened for the time after this term", "err", err)
	}
	if err := files.keep(ctx); err != nil {
		return err
	}
	reload.parts, reload.now = p, c
	s.reg.Store(p.reg)
	s.use(p.api)
	s.systemd.Describe(p.summary)
	s.forward.Follow(c.Daemons.At()) // for what has waited
	s.log.Info("this daemon leads", "epoch", t.Epoch, "sites", len(p.sites))
	return p.run(ctx, s.keys.Listen(identity.PerSource(s.listen.Term(), agentsAtOne)), reload.run)
}

func selfOf(c *config.Config) leader.Self {
	host, _ := os.Hostname()
	return leader.Self{Holder: leader.Holder{Name: c.Daemons.Named(), Address: c.Daemons.At()}, Version: build.Read().Version, Place: host + ":" + c.Socket, Since: time.Now(),
		Agents: agentsAt(c), Remote: remoteAt(c)}
}

// use has h answer from the next request on.
func (s *shared) use(h http.Handler) { s.answers.Store(&h) }

// ServeHTTP implements http.Handler.
func (s *shared) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch h := *s.answers.Load(); {
	case r.URL.Path == "/healthz" && r.Method == http.MethodGet: // whatever becomes of the leader
		api.Alive(build.Read()).ServeHTTP(w, r)
	case r.URL.Path == "/readyz" && r.Method == http.MethodGet:
		api.Ready(s.ready).ServeHTTP(w, r)
	case strings.HasPrefix(r.URL.Path, "/debug/"):
		s.debug.ServeHTTP(w, r)
	default:
		h.ServeHTTP(w, r)
	}
}

// ready says why this daemon is not ready to answer. One that leads is.
func (s *shared) ready() error {
	if *s.answers.Load() != http.Handler(s.standby) {
		return nil
	}
	return s.standby.ready()
}

// lag is how many seconds this daemon is behind the one that leads; nil: it leads itself, or knows nothing yet.
func (s *shared) lag() *float64 {
	if s.standby.answers.Load() == nil {
		return nil
	}
	return new(s.standby.queue.Lag().Seconds())
}

// standsBy has this daemon answer as one that does not lead.
func (s *shared) standsBy() {
	s.use(s.standby)
	s.reg.Store(s.standby.reg)
	s.systemd.Describe(func(context.Context) string { return "stands by" })
}

// run answers on the socket until ctx is done, and leads whenever it is this daemon's turn: lead opens a daemon, has it work until its context ends, and closes it.
func (s *shared) run(ctx context.Context, l net.Listener, lead func(context.Context, *leader.Term) error) error {
	if _, err := whenBack(ctx, s.log, func() (struct{}, error) { return struct{}{}, s.join(ctx) }); err != nil {
		return err
	}
	who := identity.New(identity.Config{Users: identity.SystemUsers{}, Operators: s.config.Operators, Self: uint32(os.Geteuid()), Logger: s.log, Now: time.Now})
	pages, err := listenForPage(s.config, s.log)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	context.AfterFunc(ctx, s.standby.leave)
	g.Go(func() error { return peer.Serve(ctx, who.Listen(l), s) })
	if s.config.Metrics != "" {
		g.Go(func() error {
			return serveMetrics(ctx, s.config.Metrics, s.ready, s.metrics())
		})
	}
	g.Go(func() error { return s.serveRemote(ctx) })
	g.Go(func() error { return s.listen.ServeDirect(ctx, s.keys, s.hosts.handler()) })
	pages.serve(ctx, g, s.config, s, s.log)
	g.Go(func() error { return s.live(ctx) })
	g.Go(func() error { return s.turns(ctx, lead) })
	return g.Wait()
}

// metrics are those of the daemon as it is at the time: it leads, or stands by.
func (s *shared) metrics() prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return s.reg.Load().Gather() })
}

// turns leads again and again. A term that ends with the lease is no failure: this daemon stands by then.
func (s *shared) turns(ctx context.Context, lead func(context.Context, *leader.Term) error) error {
	standing := ctx
	e := leader.Elector{Table: s.table, Self: s.self.Holder, Log: s.log.With(logging.Component, "leader"), Dead: s.dead, StandBy: func(l leader.Lease) { s.forward.Follow(l.Address) },
		Tried: func(err error) { s.forward.Explain(store.Explained(err)) }}
	s.standby.begin(ctx)
	defer s.standby.end()
	for {
		term, end := context.WithCancelCause(ctx)
		s.step.Store(&end)
		err := e.Lead(term, func(ctx context.Context, t *leader.Term) error {
			context.AfterFunc(ctx, s.standsBy) // at once: what is under way may take longer to end
			s.forward.Follow("")               // requests wait until this daemon answers them
			s.standby.end()
			defer s.standby.begin(standing)
			return lead(ctx, t)
		})
		end(nil)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case context.Cause(term) == errSteppedDown:
			s.log.Info("this daemon stands by", "because", errSteppedDown)
			s.giveWay(ctx)
		case errors.Is(err, errReplaced):
			s.log.Error("this daemon begins again", "err", err)
		case errors.Is(err, leader.ErrLost):
			s.log.Error("this daemon leads no longer: it stands by", "err", err)
		case errors.Is(err, federation.ErrUnavailable): // the database was lost while it was read, or is short of connections
			s.log.Error("this daemon cannot lead now: it stands by", "err", err)
			s.giveWay(ctx)
		default:
			return err
		}
	}
}

// dead reports whether the process of a daemon has ended for sure: nobody listens at its address, or this process does.
func (s *shared) dead(ctx context.Context, other leader.Holder) bool {
	return other == s.self.Holder || peer.Gone(ctx, other.Address)
}

// giveWay waits until another daemon leads; not for ever, since there may be none by now.
func (s *shared) giveWay(ctx context.Context) {
	s.forward.Follow("")
	for deadline := time.Now().Add(2 * leader.TTL); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(leader.Renew / 10) {
		if l, err := s.table.Read(ctx); err == nil && l.Left > 0 {
			return
		}
	}
}
