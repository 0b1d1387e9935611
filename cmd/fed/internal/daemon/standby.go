package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"fsub/cmd/fed/internal/config"
	"fsub/cmd/internal/build"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api"
	"fsub/federation/api/queue"
	"fsub/federation/peer"
	"fsub/federation/store"
)

// How often a daemon that stands by reads the log of changes, and asks the leader how the sites are; and when it is too far behind to be ready.
const (
	followEvery = 100 * time.Millisecond
	updateEvery = time.Second
	readyWithin = time.Second
)

// standby answers while another daemon leads: by itself what takes the store and its copy of the queue alone, and through the leader the rest. The queue is the
// daemon's for as long as it runs: each of its terms begins with it, and leaves it as it is then.
type standby struct {
	config  *config.Config
	log     *slog.Logger
	reg     *prometheus.Registry
	metrics registered // of server
	forward *peer.Forwarder
	others  api.Daemons
	queue   *queue.Queue

	answers atomic.Pointer[api.Server] // nil: it does not know enough, or this daemon leads

	// Of the goroutine that follows, while there is one.
	store   *store.Store // nil: not reached yet
	books   *accounts.Books
	server  *api.Server // over store; nil: there is none
	sites   *api.Following
	known   atomic.Bool // the sites are
	failure string      // what was logged last

	stop  context.CancelFunc
	ended chan struct{}
}

func newStandby(c *config.Config, reg *prometheus.Registry, forward *peer.Forwarder, others api.Daemons, log *slog.Logger) *standby {
	return &standby{config: c, log: log, reg: reg, forward: forward, others: others, queue: queue.New(queue.Config{}, nil), sites: api.NewFollowing(forward.Get)}
}

// ServeHTTP implements http.Handler.
func (b *standby) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s := b.answers.Load(); s != nil {
		s.ServeHTTP(w, r)
		return
	}
	b.forward.ServeHTTP(w, r)
}

// ready says why this daemon is not ready to answer.
func (b *standby) ready() error {
	if b.answers.Load() == nil {
		return errors.New("this daemon stands by, and has not read the queue yet")
	}
	if lag := b.queue.Lag(); lag > readyWithin {
		return fmt.Errorf("this daemon stands by, and is %s behind: the database does not answer, or it is too slow", lag.Round(time.Millisecond))
	}
	return nil
}

// leave ends long polls, since the daemon stops.
func (b *standby) leave() {
	if s := b.answers.Load(); s != nil {
		s.Leave()
	}
}

// begin has the daemon follow the one that leads, until end.
func (b *standby) begin(ctx context.Context) {
	ctx, b.stop = context.WithCancel(ctx)
	b.ended = make(chan struct{})
	go func() {
		defer close(b.ended)
		b.run(ctx)
	}()
}

// end gives the queue away.
func (b *standby) end() {
	b.stop()
	<-b.ended
	b.answers.Store(nil)
}

func (b *standby) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := b.follow(ctx); ctx.Err() == nil && err.Error() != b.failure {
			b.failure = err.Error()
			b.log.Info("this daemon passes all requests on, until it can answer some by itself", "because", err)
		}
		select {
		case <-time.After(updateEvery):
		case <-ctx.Done():
		}
	}
}

// follow keeps up with the store and with the sites until ctx is done, or the store is in another database.
func (b *standby) follow(ctx context.Context) error {
	if b.server != nil {
		b.server.Resume()
	} else if err := b.open(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.followSites(ctx) })
	g.Go(func() error { return b.followQueue(ctx) })
	g.Go(func() error { return watchStore(ctx, b.store, b.log) })
	g.Go(func() error { return keepSeen(ctx, b.config, b.store, b.log) })
	err := g.Wait()
	if errors.Is(err, errReplaced) {
		b.answers.Store(nil)
		b.server = nil
		b.metrics.end()
		b.store.Close()
		b.store = nil
	}
	return err
}

// reach opens the store for the time when this daemon stands by. One that leads does so early: it stands by also when it has lost the database, and lists the jobs that it
// knows of.
func (b *standby) reach(ctx context.Context) error {
	if b.store != nil {
		return nil
	}
	with := storeConfig(b.config)
	with.Logger = b.log
	st, err := store.OpenReader(ctx, with)
	if err != nil {
		return err
	}
	if b.books, err = accounts.Open(ctx, st, time.Now); err != nil {
		st.Close()
		return err
	}
	b.store = st
	return nil
}

func (b *standby) open(ctx context.Context) error {
	if err := b.reach(ctx); err != nil {
		return err
	}
	c, st := b.config, b.store
	b.metrics.Registerer = b.reg
	b.server = api.NewServer(api.Config{
		Leader: b.forward, Queue: b.queue, Database: st.Database(), Ready: b.ready, Controller: b.sites, Daemons: b.others,
		Store: st, Usage: st, Books: st, Accounts: api.Accounts{Books: b.books}, Coordinators: b.books, WebAddress: c.Web.At(), Web: pagesOnSocket(c),
		Limits: c.Limits.ForAPI(c), Build: build.Read(), Federation: c.Federation, Operators: c.Operators, MinJobAge: c.MinJobAge, MaxArraySize: c.MaxArray, AskAbove: c.AskAbove,
		Logger: b.log, Registerer: &b.metrics,
	})
	return nil
}

// followQueue reads the log of changes again and again. While the database does not answer the queue is as it was.
func (b *standby) followQueue(ctx context.Context) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		_ = b.queue.Follow(ctx) // where it fails, the queue says so with each list
		if b.known.Load() && b.queue.Complete() && b.answers.Load() == nil {
			b.answers.Store(b.server)
			b.failure = ""
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// followSites asks the leader again and again how the sites are.
func (b *standby) followSites(ctx context.Context) error {
	tick := time.NewTicker(updateEvery)
	defer tick.Stop()
	for {
		asking, cancel := context.WithTimeout(ctx, 10*updateEvery)
		if b.sites.Update(asking, b.server) == nil {
			b.known.Store(true)
		}
		cancel()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// know has it know the sites as a term of this daemon saw them last.
func (b *standby) know(sites []*federation.Site) {
	for _, s := range sites {
		if s.Seen == nil {
			return
		}
	}
	b.sites.Know(sites)
	b.known.Store(true)
}
