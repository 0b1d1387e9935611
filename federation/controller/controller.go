// Package controller moves jobs from the queue to the sites and follows them to their end. It is a reconciler: every
// round observes, compares, writes the intent, acts, and writes the result, so that a crash between any two lines is
// repaired by the next round.
//
// [Controller] runs the rounds, in one goroutine. It is made of types with state of their own, of which [Controller.Round] calls
// one after another; parts.go makes them, and says what each needs. Calls to sites fan out and come back
// as values (calls.go). What the API and people see is its [View]. Where a job should run is decided by package
// place; what a site is asked is the business of its Driver.
package controller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/accounting"
	"fsub/accounting/egress"
	"fsub/accounting/power"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/fairshare"
	"fsub/federation/health"
	"fsub/federation/idle"
	"fsub/federation/journal"
	"fsub/federation/move"
	"fsub/federation/pack"
	"fsub/federation/place"
	"fsub/federation/predict"
	"fsub/federation/quota"
)

// Store is what a controller needs of a store.
type Store interface {
	federation.JobStore
	action.Store
	journal.Committer
	journal.Follower
	federation.SiteStore
	federation.NodeStore
	audit.Log
}

// Config is what a controller is made of.
type Config struct {
	Federation string // name of the federation; part of every attempt's key
	Store      Store
	Sites      []Site
	Policy     place.Policy
	Timing     Timing
	Quota      *quota.Book       // limits of the account tree; nil: there are none
	Runs       *predict.Book     // foretells how long jobs run; nil: a share of their time limits is reckoned with
	Waits      predict.Waits     // foretells how long they wait at sites that others use too; nil: only what holds nodes is reckoned with
	Told       *predict.Told     // corrects when jobs are told to start elsewhere; nil: nothing is known yet
	FairShare  *fairshare.Shares // orders the queue; nil: --nice and the order of submission do
	MaxRequeue int               // how often a job is requeued after failures that are not its own; 0: 5, negative: never
	// KillInvalidDepend: a job whose dependency can never be met is cancelled, unless it was submitted with --kill-on-invalid-dep=no; else it waits, unless it says yes.
	KillInvalidDepend bool
	MaxArray          int // one more than the highest index of an array's task; 0: as many as can be read
	Logger            *slog.Logger
	Registerer        prometheus.Registerer // may be nil
	Now               func() time.Time      // nil: time.Now
	// Environment gives a job the environment that it is to have at a site, made of its own; nil: its own. It changes neither argument.
	Environment func(site federation.SiteName, j *federation.Job, env []string) []string
	// Stager carries files to and from sites that do not see a job's working directory; nil: such sites run nothing of it.
	Stager federation.Stager
	// PackFiles are read and written where tasks of an array share a job; nil: each has its own.
	PackFiles pack.Files
	// Health keeps what the rules of health remember; nil: they forget it with the daemon. Rules are those rules; nil: the built-in ones.
	Health health.Store
	Rules  []health.Rule
	// Moves is when running jobs are moved that have said --keep; the zero value: never.
	Moves move.Rule
	// Idle is the rule about jobs that leave idle what they hold; the zero value finds none.
	Idle idle.Rule
	// RerunEarly: what the rules say of early deaths holds for all jobs, not only for those of sbatch --requeue.
	RerunEarly bool
	// Notify is told of drains, held jobs and breakers, from the controller's goroutine; nil: nobody is.
	Notify func(health.Finding)
	// Restored is when the copy was made that the store was restored from; zero: it was not. Jobs are then looked for at the sites before they are bound, and
	// Compared is called when all were.
	Restored time.Time
	Compared func(context.Context) error
	// Priced are the kinds of accelerators that price lists know, in lower case, which are no slips though no site has them; nil: none are. It may be called at any time.
	Priced func() map[string]bool
	// Inline runs every call to a site at once, inside the round that decided it, one after another. Simulations use it:
	// equal seeds give equal histories.
	Inline bool
}

// Site is one member of the federation as configured.
type Site struct {
	Name    federation.SiteName
	Driver  federation.Driver
	Prices  accounting.Prices
	Speed   map[string]float64
	Power   func(now time.Time) *power.Rates // what its electricity costs from then on; nil: not known
	Data    egress.Site                      // where it is, for the data that jobs read
	Backlog int
	// AccountBacklog is as in federation.Site.
	AccountBacklog map[string]int
	Preempt        decision.PreemptBy // who ends jobs there for others
	Users          map[string]federation.SiteUser
	Accounts       map[string]string // as in federation.Site
	// Lifts are the kinds of slurmctld's drains that are ended here once their cause is gone.
	Lifts []health.Lift
	// Promises: the places that are kept for gangs are held there by reservations.
	Promises bool
	// FileSystems and Options are as in federation.Site.
	FileSystems []string
	Options     []federation.PluginOption
}

// Timing are the intervals of the loops. Zero fields take the default in brackets.
type Timing struct {
	Poll       time.Duration // between looks at a site's jobs while some of ours live there [500ms]
	Observe    time.Duration // between looks at a site's nodes [3s]
	Call       time.Duration // how long one call to a site may take [15s]
	Retry      time.Duration // after a failed call; doubles up to RetryMax [500ms]
	RetryMax   time.Duration // [30s]
	Confirm    time.Duration // a job that its site no longer knows is believed to be lost after a second look so much later [2s]
	MinJobAge  time.Duration // how long a site's controller remembers ended jobs, at least [60s]
	PlanAgain  time.Duration // plan without a cause after so long, for waits and limits pass [5s]
	PlanGap    time.Duration // between two plans, at least [5ms]
	MoveAfter  time.Duration // a job that waits at a site that others use is not moved before [10min]
	CancelEach time.Duration // a cancellation is repeated until the end is seen [3s]
}

// backoff is how long to leave a site alone after so many failures in a row.
func (t Timing) backoff(fails int) time.Duration {
	d := t.Retry
	for i := 1; i < fails && d < t.RetryMax; i++ {
		d *= 2
	}
	return min(d, t.RetryMax)
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&t.Poll, 500*time.Millisecond)
	set(&t.Observe, 3*time.Second)
	set(&t.Call, 15*time.Second)
	set(&t.Retry, 500*time.Millisecond)
	set(&t.RetryMax, 30*time.Second)
	set(&t.Confirm, 2*time.Second)
	set(&t.MinJobAge, time.Minute)
	set(&t.PlanAgain, 5*time.Second)
	set(&t.PlanGap, 5*time.Millisecond)
	set(&t.CancelEach, 3*time.Second)
	set(&t.MoveAfter, 10*time.Minute)
	return t
}

// Controller decides. All but its View belongs to the goroutine that calls Round.
type Controller struct {
	*View
	*parts
	cfg     Config
	t       Timing
	log     *slog.Logger
	store   Store
	metrics *metrics
	asides  *aside
	failed  error // why it does nothing any more; nil: it works
}

const defaultMaxRequeue = 5

// New returns a controller that has read the live jobs from the store. It makes no call to any site.
func New(ctx context.Context, cfg Config) (*Controller, error) {
	c := Open(cfg)
	return c, c.Load(ctx, nil)
}

// Open returns a controller that knows its sites and nothing of any job: before all else it is to Load them.
func Open(cfg Config) *Controller {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxRequeue == 0 {
		cfg.MaxRequeue = defaultMaxRequeue
	}
	if cfg.MaxArray == 0 {
		cfg.MaxArray = federation.MaxArrayIndex + 1
	}
	cfg.Timing = cfg.Timing.withDefaults()
	m := newMetrics(cfg.Registerer)
	c := &Controller{View: newView(cfg, m), cfg: cfg, t: cfg.Timing, log: cfg.Logger, store: cfg.Store, metrics: m, asides: newAside(cfg.Logger, m)}
	c.parts = newParts(&c.cfg, c.View, c.asides, m)
	return c
}

// Load reads the live jobs from the store. Others who need them all are given them by also, as federation.JobStore.LiveJobs would: there may be a
// million, and to read them once is enough. Nil: there are no others.
func (c *Controller) Load(ctx context.Context, also func([]federation.Job) error) error {
	if err := c.load(ctx, also); err != nil {
		return err
	}
	c.watch.began = c.now()
	c.publish()
	return nil
}

// load reads what the store has of live jobs, sites and nodes.
func (c *Controller) load(ctx context.Context, also func([]federation.Job) error) error {
	if err := c.inbox.begin(ctx); err != nil {
		return err
	}
	if err := c.loader.load(ctx, also); err != nil {
		return err
	}
	states, err := c.store.SiteState(ctx)
	if err != nil {
		return fmt.Errorf("read the states of the sites: %w", err)
	}
	if err := c.rules.load(ctx); err != nil {
		return err
	}
	if err := c.upkeep.read(ctx, c.cfg.Store, c.now()); err != nil {
		return fmt.Errorf("read what is planned at sites: %w", err)
	}
	c.standings.take(states)
	c.comparing.begin(func(j *job) {
		why := codes.Because(codes.WaitRestoredArray, c.cfg.Restored.UTC().Format(time.RFC3339))
		c.requests.hold(j, action.Request{Job: j.ID, Kind: action.Hold, Operator: true}, why)
	})
	if err := c.standings.recall(ctx); err != nil {
		return fmt.Errorf("read the history of the sites: %w", err)
	}
	return c.nodes.load(ctx, true)
}

// Rounds take a fifth of the time at most while one event follows another: what comes meanwhile is taken together, with one plan and one commit. None waits longer than roundRest for it.
const (
	roundShare = 5
	roundRest  = 200 * time.Millisecond
)

// Run runs rounds until ctx is done, or too many of them have panicked: whenever a result comes in, the store was written to, a site has news, or a time has come.
func (c *Controller) Run(ctx context.Context) error {
	timer, rest := time.NewTimer(0), time.NewTimer(0)
	defer timer.Stop()
	defer rest.Stop()
	for {
		due, rested := false, false
		for !due || !rested {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-c.wake:
				c.agenda.lastRead, due = time.Time{}, true
			case <-c.watch.came:
				due = true
			case <-timer.C:
				due = true
			case r := <-c.calls.results:
				c.calls.back, due = append(c.calls.back, r), true
			case <-rest.C:
				rested = true
			}
		}
		began := time.Now()
		next := c.Round(ctx)
		if c.failed != nil {
			return c.failed
		}
		rest.Reset(min(time.Since(began)*(roundShare-1), roundRest))
		timer.Reset(max(next.Sub(c.now()), 0))
	}
}

// Round takes the federation one step further and returns when the next one is due at the latest. Its steps:
//
//  1. take in the results of calls to sites
//  2. read new jobs, operators' words and users' requests from the store
//  3. carry out the requests as far as no site is needed
//  4. look at the sites whose time has come
//  5. compare sites, and their nodes, with what is wanted of them, and with what the rules of health say
//  6. have sites order our jobs as we do, tell of budgets, end what runs on one that is used up, and have jobs make room for others
//  7. repair: attempts whose fate is unknown are looked up, what failed is repeated; after a restore, so are jobs that may have run since the copy
//  8. plan: find the jobs that new singletons wait for, bind jobs of the queue to sites, have sites hold the places of those that wait, and have those that wait at a site leave
//     it for a better one, as those do that run and have said --keep
//  9. write what is left of the arrays that tasks were taken from
//  10. commit all of this
//  11. make the calls that were decided
//  12. publish the view, and tell those who forecast what the round has left
//
// What a round panics over is put aside (panic.go), and the controller has forgotten the round then.
func (c *Controller) Round(ctx context.Context) (next time.Time) {
	err := c.refresh(ctx)
	if err == nil && !c.asides.stale {
		err = c.guarded(func() {
			c.round(ctx)
			next = c.nextRound()
		})
	}
	if c.failed = err; err != nil || c.asides.stale {
		return c.now().Add(c.t.Retry)
	}
	return next
}

func (c *Controller) round(ctx context.Context) {
	c.takeResults()
	c.takeIn()
	requests := c.readStore(ctx)
	c.requests.carryOutAll(requests)
	c.watch.look()
	c.rules.reconcile()
	c.standings.reconcile(ctx)
	c.nodes.reconcile()
	c.order.reconcile()
	c.budgets.reconcile(ctx)
	c.preempts.reconcile()
	c.orphans.cancelAgain()
	c.requests.repairAsked()
	c.moves.leaveStuck()
	c.moves.freeMoved()
	c.stageOut.again()
	c.copies.reconcile()
	c.idles.reconcile()
	c.heartbeats.reconcile()
	c.packs.reconcile()
	c.repairs.reconcile()
	c.comparing.reconcile(ctx)
	c.depends.findNamesakes()
	c.planner.reconcile()
	c.promises.reconcile()
	c.relocation.reconcile()
	c.departures.reconcile()
	c.arrays.writeShrunk()
	if c.writer.commit(ctx) {
		c.calls.make(ctx)
	}
	c.publish()
	c.answer(c.forecasts)
}

// publish shows the rest of the daemon what the round has left.
func (c *Controller) publish() {
	aside := slices.Sorted(maps.Keys(c.asides.jobs))
	c.metrics.aside.Set(float64(len(aside)))
	c.metrics.queued(c.queue.tasks)
	c.View.publish(c.sites, c.queue.world, aside)
}

// nextRound returns the earliest time at which something is due without any event from outside.
func (c *Controller) nextRound() time.Time {
	now := c.now()
	next := now.Add(c.t.PlanAgain)
	sooner := func(t time.Time) {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	sooner(c.asides.until)
	c.watch.due(sooner)
	c.nodes.due(sooner)
	c.rules.due(sooner)
	c.idles.due(sooner)
	c.heartbeats.due(sooner)
	c.preempts.due(sooner)
	c.promises.due(sooner)
	c.departures.due(sooner)
	if c.agenda.plan && c.watch.looked {
		sooner(c.planner.next)
	}
	if due := c.queue.times.first(); c.watch.looked && !due.IsZero() {
		sooner(later(due, c.planner.next))
	}
	if c.behind {
		sooner(c.published.Add(publishEvery))
	}
	if !c.batch.empty() {
		sooner(now.Add(c.t.Retry))
	}
	if c.tasks.unfinished.more {
		c.agenda.lastRead = time.Time{}
		return now
	}
	if len(c.calls.back) > 0 || len(c.batch.reasons) > 0 && c.batch.empty() {
		return now
	}
	return next
}
