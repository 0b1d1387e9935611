package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"fsub/cloud/prices"
	"fsub/cmd/fed/internal/config"
	"fsub/cmd/fed/internal/logging"
	"fsub/cmd/fed/internal/systemd"
	"fsub/cmd/internal/build"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api"
	"fsub/federation/api/queue"
	"fsub/federation/api/submission"
	"fsub/federation/closing"
	"fsub/federation/controller"
	"fsub/federation/fairshare"
	"fsub/federation/faults"
	"fsub/federation/leader"
	"fsub/federation/ledger"
	"fsub/federation/metrics"
	"fsub/federation/predict"
	"fsub/federation/quota"
	"fsub/federation/reports"
	"fsub/federation/staging"
	"fsub/federation/staging/blobs"
	"fsub/federation/store"
	"fsub/federation/webhooks"
)

// parts are what a daemon is made of. What may be missing is nil then.
type parts struct {
	config *config.Config
	log    *slog.Logger
	reg    *prometheus.Registry
	term   *leader.Term // nil: the store is this daemon's alone
	shared *sharedFiles // nil likewise
	others api.Daemons  // nil likewise
	known  *addresses   // nil likewise
	hosts  *hosts       // nil likewise

	deposed func() bool  // nil likewise
	queue   *queue.Queue // nil likewise

	acknowledged *store.Acknowledgements // nil likewise

	store   *store.Store
	books   *accounts.Books
	shares  *fairshare.Shares
	runs    *predict.Book
	waits   predict.Waits
	told    *predict.Told
	quota   *quota.Book
	objects *blobs.Store // may be missing
	carrier *staging.Stager
	prices  *prices.Catalogue
	power   *powerFile
	remote  *remote // may be missing
	rented  *clouds // may be missing
	sites   []controller.Site
	members members // sites, and those that were added since
	adding  sync.Mutex
	ctl     *controller.Controller
	ledger  *ledger.Collector
	spent   *quota.Reader // tells budgets what is booked
	reports *reports.Runner
	hooks   *webhooks.Hub // may be missing
	notices *notifier
	bounds  atomic.Pointer[submission.Bounds] // in force now
	faults  *faults.Watch
	api     *api.Server
	fleet   *metrics.Fleet
	systemd *systemd.Manager
	debug   http.Handler // below /debug/; nil: [shared] answers there
}

func newParts(c *config.Config, log *slog.Logger) *parts {
	p := &parts{config: c, log: log, reg: prometheus.NewRegistry()}
	p.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildMetric(), ticketsRefused)
	return p
}

// logOf is the logger of a part of the daemon, whose level can be set by this name.
func (p *parts) logOf(component string) *slog.Logger { return p.log.With(logging.Component, component) }

// open makes all parts, each with those that it needs. Call close whatever it returns.
func (p *parts) open(ctx context.Context) (err error) {
	c := p.config
	with := storeConfig(c)
	with.Logger, with.Metrics = p.logOf("store"), p.reg
	if with.Postgres != nil {
		with.Postgres.Seen = readSeen(c, p.log)
	}
	if with.Postgres != nil && p.term != nil {
		with.Postgres.Epoch, with.Postgres.Acknowledged = p.term.Epoch, p.acknowledged
	}
	if p.store, err = p.openStore(ctx, with); err != nil {
		return err
	}
	nameLost(ctx, p.store, p.log)
	if p.books, err = accounts.Open(ctx, p.store, time.Now); err != nil {
		return err
	}
	if p.shares, err = openShares(ctx, &c.Priority, p.books, p.store); err != nil {
		return err
	}
	if p.quota, err = quota.Open(ctx, p.books, c.Priority.HalfLife, p.store, time.Now()); err != nil {
		return err
	}
	p.shares.Late = p.quota.Late
	if p.runs, err = predict.Open(ctx, p.store, c.PlacementPolicy().Share()); err != nil {
		return err
	}
	if p.waits, p.told, err = predict.OpenWaits(ctx, p.store); err != nil {
		return err
	}
	if p.objects, err = openBlobs(ctx, c); err != nil {
		return err
	}
	if err = checkShared(ctx, c, p.objects, p.shared); err != nil {
		return err
	}
	p.carrier = newStager(c, p.objects, p.store, p.members.sees, p.logOf("staging"))
	if p.remote, err = openRemote(c, p.known, p.systemd); err != nil {
		return err
	}
	if p.prices, err = openPrices(c, p.logOf("prices")); err != nil {
		return err
	}
	if p.rented, err = openClouds(p); err != nil {
		return err
	}
	if p.sites, err = openSites(ctx, *c, p.term, p.rented, p.store, p.logOf("sites"), p.reg); err != nil {
		return err
	}
	if p.power, err = openPower(c.Power, p.log); err != nil {
		return err
	}
	for i := range p.sites {
		p.power.joins(&p.sites[i])
	}
	p.members.all = slices.Clone(p.sites)
	p.notices = newNotifier(&c.Health, p.logOf("notices"))
	p.ctl = p.newController()
	p.ledger = newLedger(c, p.sites, p.store, p.logOf("ledger"))
	p.spent = newSpent(ctx, c, p)
	if p.reports, err = newReports(c, p.store, p.logOf("reports")); err != nil {
		return err
	}
	p.faults = p.newFaults()
	if p.api, err = p.newAPI(); err != nil {
		return err
	}
	p.reports.Make = p.api.Report
	if p.hooks, err = p.newHooks(); err != nil {
		return err
	}
	p.fleet = p.newFleet()
	p.reg.MustRegister(p.fleet)
	debug.SetGCPercent(garbageAtFirst)
	return p.api.LoadQueue(ctx, p.ctl.Load)
}

// openStore opens the store. A daemon that is alone waits for its database; one that is to lead others stands by meanwhile.
func (p *parts) openStore(ctx context.Context, with store.Config) (*store.Store, error) {
	open := func() (*store.Store, error) { return store.Open(ctx, with) }
	if p.term != nil {
		return open()
	}
	return whenBack(ctx, p.log, open)
}

func (p *parts) close() {
	p.rented.close()
	if p.objects != nil {
		p.objects.Close()
	}
	if p.store != nil {
		p.store.Close()
	}
}

func (p *parts) newController() *controller.Controller {
	c := p.config
	var stager federation.Stager = p.carrier
	if p.objects == nil {
		stager = staging.None{Stager: p.carrier}
	}
	return controller.Open(controller.Config{
		Federation: c.Federation, Store: p.store, Sites: p.sites, Policy: c.PlacementPolicy(), Runs: p.runs, Waits: p.waits, Told: p.told, FairShare: p.shares, Quota: p.quota, Health: p.store, Rules: c.Health.Effective(), Idle: c.Health.IdleRule(), Moves: c.Moves.Rule(), RerunEarly: c.Health.RerunEarly, Notify: p.notices.tell,
		MaxRequeue: c.RequeueLimit(), KillInvalidDepend: c.KillInvalidDepend, MaxArray: c.MaxArray, Timing: controller.Timing{MoveAfter: c.Policy.MoveAfter}, Restored: p.store.Copied(), Compared: p.store.Compared,
		Priced: p.prices.Accelerators, Environment: traced(c, newInJob(c, p.remote).Environment), Stager: stager, PackFiles: newPackFiles(), Logger: p.logOf("controller"), Registerer: p.reg,
	})
}

func (p *parts) newAPI() (*api.Server, error) {
	c := p.config
	var logs federation.LogReader
	if p.objects != nil {
		logs = p.carrier
	}
	tokens := p.remote.callers()
	if p.rented != nil {
		logs = poolLogs{bySite: p.rented.logs, others: logs}
		if tokens == nil { // the commands inside jobs come through the agent server
			var err error
			if tokens, err = openTokens(c); err != nil {
				return nil, err
			}
		}
	}
	provider, err := c.OIDC.Verifier()
	if err != nil {
		return nil, err
	}
	pools := newPoolBooks(p.sites, p.store, p.log)
	return api.NewServer(api.Config{
		Limits: c.Limits.ForAPI(c),
		Build:  build.Read(), WebAddress: c.Web.At(), Web: pagesOnSocket(c), Debug: p.debug,
		Accounts: p.accounts(), FairShare: p.shares,
		Federation: c.Federation, Policy: c.PlacementPolicy(), Operators: c.Operators, Coordinators: p.books, MinJobAge: c.MinJobAge, MaxArraySize: c.MaxArray, AskAbove: c.AskAbove,
		Store: p.store, Usage: p.store, Books: p.store, Database: p.store.Database(), Deposed: p.deposed, Daemons: p.others, Queue: p.queue, Controller: p.ctl,
		OpenSums: p.openSums, CheckBooks: checker{p.ledger}, Bills: checker{p.ledger}, Budgets: p.quota.Standings, BudgetsStand: p.quota.Stands, Reports: p.reports, Mail: mailRules(c), Webhooks: func() *webhooks.Hub { return p.hooks }, Prices: p.priceBook(),
		Health: p.ctl.Health, Faults: p.faults.Faults, CheckSite: p.checkSite, AddSite: p.addSite, UpdateSite: p.updateSite, Calls: p.members.calls, Fragments: p.ctl.Fragments, Idle: p.ctl.Idle, Reboots: p.members.rebooter,
		OperationRate: func(name federation.SiteName) float64 { return operationRate(c, name) },
		Tokens:        tokens, RemoteAddress: p.remote.reached(), Munge: p.remote.munge(c), SiteTokens: p.remote.siteTokens(c, p.log), Provider: provider,
		SignIn: api.SignIn{Scope: c.OIDC.Scope, Lifetime: c.OIDC.Lifetime},
		Pools:  pools, Steps: pools, StepSignals: pools.signals, Connects: pools.connects, Srun: p.members.srun, IdleTunnels: idleTunnels(c.Limits.IdleSession), Suspends: pools.suspends, Logs: logs, Logger: p.logOf("api"), Registerer: p.reg,
	}), nil
}

// accounts is what the API makes of the account tree.
func (p *parts) accounts() api.Accounts {
	return api.Accounts{Books: p.books, Sites: p.members.keepers, Closed: closing.In(p.store).List}
}

// run lets the parts work, and what else is given, until ctx is done or one of them fails. l is the socket.
func (p *parts) run(ctx context.Context, l net.Listener, also func(context.Context) error) error {
	c := p.config
	g, ctx := errgroup.WithContext(ctx)
	context.AfterFunc(ctx, p.store.Leave) // or this would last as long as the database is away
	g.Go(func() error { return boundGarbage(ctx) })
	g.Go(func() error { return p.ctl.Run(ctx) })
	g.Go(func() error { return p.faults.Run(ctx) })
	g.Go(func() error { return also(ctx) })
	g.Go(func() error { return watchStore(ctx, p.store, p.log) })
	g.Go(func() error { return keepSeen(ctx, c, p.store, p.log) })
	g.Go(func() error { return p.api.Serve(ctx, l) })
	g.Go(func() error { return p.api.Work(ctx) })
	p.rented.serve(ctx, g, p.api)
	if p.remote != nil && p.remote.listener != nil {
		p.log.Info("listening for other machines", "address", p.remote.address)
		g.Go(func() error { return p.api.Serve(ctx, p.remote.listener) })
	}
	g.Go(func() error { return p.api.Queue().KeepUp(ctx) })
	g.Go(func() error { return p.ledger.Run(ctx) })
	g.Go(func() error { return followBooks(ctx, p.spent, p.logOf("ledger")) })
	g.Go(func() error { return p.closer().Run(ctx) })
	g.Go(func() error { return p.fleet.Run(ctx, p.logOf("metrics")) })
	if err := p.runTraces(ctx, g); err != nil {
		return err
	}
	g.Go(func() error { return p.reports.Run(ctx) })
	if err := p.runJobMail(ctx, g); err != nil {
		return err
	}
	if p.hooks != nil {
		g.Go(func() error { return p.hooks.Run(ctx) })
	}
	if c.Books.Sites {
		g.Go(func() error { return directUse(ctx, &c.Priority, p.members.list, p.store, p.shares, p.log) })
	}
	g.Go(func() error { return p.prices.Follow(ctx) })
	g.Go(func() error { return newCollector(&p.members, p.store, p.log).Run(ctx) })
	if p.objects != nil {
		if err := runBlobs(ctx, g, c, p.objects, p.carrier, p.store, p.log); err != nil {
			return err
		}
	}
	if c.KeepEnded > 0 {
		g.Go(func() error { return purge(ctx, p.store.Purge, "jobs", c.KeepEnded, p.log) })
	}
	if keep := cmp.Or(c.KeepHistory, c.KeepEnded); keep > 0 {
		g.Go(func() error { return purge(ctx, p.store.PurgeHistory, "history of nodes and sites", keep, p.log) })
	}
	if c.KeepAudit > 0 {
		g.Go(func() error { return purge(ctx, p.store.PurgeAudit, "audit entries", c.KeepAudit, p.log) })
	}
	if c.Metrics != "" && p.term == nil { // else there is a listener already
		g.Go(func() error { return serveMetrics(ctx, c.Metrics, nil, p.reg) })
	}
	return g.Wait()
}
