package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/controller"
	"fsub/federation/move"
	"fsub/federation/place"
	"fsub/federation/predict"
	"fsub/federation/reasons"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/testbed/simsite"
)

// Config is one history.
type Config struct {
	Seed  uint64
	Jobs  int
	Dir   string // where the store is kept, for as long as the run lasts
	Sites []Site

	// MaxTasks makes every fourth job an array of up to so many tasks; 0: none. Not together with killed controllers: what those
	// forget of an array is not compared task by task.
	MaxTasks int

	Mapped  bool          // the sites give numbers of their own
	MeanGap time.Duration // between two submissions
	// Mean times between faults; 0: none of that kind.
	Crash      time.Duration // of the daemon, at any of its steps
	DieAt      int           // the step at which the first daemon dies, and no later one; 0: none
	DieAfter   bool          // it dies after the effect of that step
	Controller time.Duration // of a site's slurmctld, within its save window
	Accounting time.Duration // of a site's slurmdbd, which is back after some time
	// Mean time between a user's requeues of jobs that run; 0: none.
	Requeue time.Duration
	// Preempt: there are jobs of two QOS, and those of one make room for those of the other.
	Preempt bool
	// Moves: running jobs keep their checkpoints, and leave before the maintenances that there are now and then, or for gangs. See departures.go.
	Moves bool
	// Promises: the sites hold the places of gangs; they are of 25.05 or later.
	Promises bool
	// Caps are limits of the account whose jobs these are; nil: it has none. See caps.go.
	Caps map[string]string
	// Away is the mean time between outages in which a site does not answer, though its jobs go on; 0: there are none.
	Away time.Duration
	// Chances of what may go wrong with one request to a site.
	Loss Loss

	// Crowd gives the sites jobs that are not ours, when they have been made; then waits are foretold there, as many of ours wait there as there are, and they may move.
	Crowd func(sites []*simsite.Site) error

	Limit  time.Duration // of virtual time; a history that takes longer has lost something
	Logger *slog.Logger
}

// Loss are chances, from 0 to 1, for each call to a driver.
type Loss struct {
	Request float64 // never arrives, and the caller cannot know
	Refused float64 // never arrives, and the caller knows
	Reply   float64 // arrives and acts; the reply is lost
}

// Site is a simulated site with what the federation is told of it.
type Site struct {
	Config simsite.Config
	Prices map[string]float64
	// Driver makes the site's driver.
	Driver func(*simsite.Site) (federation.Driver, error)
}

// Report is what a history came to.
type Report struct {
	Submitted, Completed int
	Tasks, Parts         int // of arrays; those of them that were bound one by one
	Runs                 int // starts of jobs at nodes, over all sites
	Reruns               int // of them, those after the first of a job
	SiteReruns           int // of them, those of one attempt whose first start a killed controller lost before anybody had seen it
	Crashes              int // of the daemon
	Kills                int // of slurmctlds
	Lost                 int // requests and replies
	Asked                int // requeues by users
	Seized               int // attempts that others had to make room for
	Charges              int // runs that were charged for
	Moved                int // attempts that were ended because their jobs would start sooner elsewhere
	Departed             int // running jobs that were moved by the planner
	MadeRoom             int // of them, those for gangs
	Emptied              int // of them, those from nodes that an operator empties
	Reserved             int // times that a site was to make a reservation or to change one
	Outages              int // of sites that did not answer
	Waited               int // jobs that waited for a limit when all that it bore had ended
	AtLimit              int // how much of the limit was used at most, in percent
	Rounds               int
	Virtual              time.Duration
}

// start is when every history begins.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is a history in progress.
type world struct {
	cfg     Config
	rng     *rand.Rand
	clock   *simsite.VirtualClock
	sites   []*simsite.Site
	store   *store.Store
	life    *life
	ctl     *controller.Controller
	wrapped []controller.Site
	report  Report

	acked      []federation.JobID
	limits     map[federation.JobID]int              // of arrays that have one
	arrays     map[federation.JobID]federation.JobID // by the jobs that have run: the array that one is a part of, or 0
	nextSubmit time.Time
	nextKill   time.Time
	nextDBD    time.Time

	nextRequeue time.Time
	asked       map[federation.JobID]int // how often a requeue was asked for

	dbdBack  map[*simsite.Site]time.Time
	ctldBack map[*simsite.Site]time.Time

	tree     *accounts.Tree // nil: there are neither QOS nor limits
	lifted   bool           // the limits are gone
	nextAway time.Time
	back     map[federation.SiteName]time.Time // of sites that do not answer
	gpus     map[federation.JobID]int64        // that jobs ask for
	ended    int

	nextMaint time.Time
}

// Run plays one history to its end and reports what it came to. The error says what went wrong, with the seed.
func Run(ctx context.Context, cfg Config) (Report, error) {
	w := &world{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 1)), clock: simsite.NewVirtualClock(start),
		asked: map[federation.JobID]int{}, limits: map[federation.JobID]int{}, arrays: map[federation.JobID]federation.JobID{},
		dbdBack: map[*simsite.Site]time.Time{}, ctldBack: map[*simsite.Site]time.Time{}, back: map[federation.SiteName]time.Time{}, gpus: map[federation.JobID]int64{}}
	if w.cfg.Logger == nil {
		w.cfg.Logger = slog.New(slog.DiscardHandler)
	}
	err := w.play(ctx)
	w.report.Virtual = w.clock.Now().Sub(start)
	if err != nil {
		err = fmt.Errorf("seed %d, after %s of virtual time: %w", cfg.Seed, w.report.Virtual.Round(time.Millisecond), err)
	}
	return w.report, err
}

func (w *world) play(ctx context.Context) error {
	if err := w.build(ctx); err != nil {
		return err
	}
	defer w.store.Close()
	for {
		done, err := w.settled(ctx)
		if err != nil {
			return err
		}
		if done && w.ended >= w.cfg.Jobs {
			if err := w.checkPromises(ctx); err != nil {
				return err
			}
			return w.checkAll(ctx)
		}
		next, err := w.round(ctx)
		if err != nil {
			return err
		}
		if w.clock.Now().Sub(start) > w.cfg.Limit {
			return fmt.Errorf("%d of %d jobs have not ended: %w", w.cfg.Jobs-w.ended, w.cfg.Jobs, w.unfinished(ctx))
		}
		w.advance(next)
	}
}

func (w *world) build(ctx context.Context) error {
	var err error
	w.store, err = store.Open(ctx, store.Config{Path: filepath.Join(w.cfg.Dir, "sim.db"), Volatile: true})
	if err != nil {
		return err
	}
	for i, s := range w.cfg.Sites {
		c := s.Config
		c.Clock, c.Seed = w.clock, w.cfg.Seed+uint64(i)*1000
		site, err := simsite.New(c)
		if err != nil {
			return err
		}
		d, err := s.Driver(site)
		if err != nil {
			return err
		}
		w.sites = append(w.sites, site)
		w.wrapped = append(w.wrapped, controller.Site{Name: federation.SiteName(c.Name), Driver: &lossy{Driver: d, name: federation.SiteName(c.Name), w: w}, Prices: s.Prices, Promises: w.cfg.Promises})
	}
	if w.cfg.Crowd != nil {
		if err := w.cfg.Crowd(w.sites); err != nil {
			return err
		}
	}
	w.nextSubmit = w.clock.Now()
	w.nextKill, w.nextDBD, w.nextAway = w.draw(w.cfg.Controller), w.draw(w.cfg.Accounting), w.draw(w.cfg.Away)
	if w.tree, err = w.rules(); err != nil {
		return err
	}
	return w.boot(ctx)
}

// boot starts a new life of the daemon over what the store has.
func (w *world) boot(ctx context.Context) error {
	w.life = &life{after: func() bool { return w.rng.IntN(2) == 0 }, steps: -1}
	if w.cfg.Crash > 0 {
		// One round makes about ten steps and there are two or so a second.
		w.life.steps = 1 + int(w.rng.ExpFloat64()*w.cfg.Crash.Seconds()*20)
	}
	if w.cfg.DieAt > 0 && w.report.Crashes == 0 {
		w.life.steps, w.life.after = w.cfg.DieAt, func() bool { return w.cfg.DieAfter }
	}
	sites := make([]controller.Site, len(w.wrapped))
	for i, s := range w.wrapped {
		s.Driver = &mortalDriver{Driver: s.Driver, life: w.life}
		sites[i] = s
	}
	policy, waits := place.DefaultPolicy(), predict.Waits(nil)
	if w.cfg.Crowd != nil {
		policy.Backlog, waits = 2*w.cfg.Jobs, predict.Waits{} // no user has more than half of it
	}
	book, err := w.book(ctx)
	if err != nil {
		return err
	}
	var moves move.Rule
	if w.cfg.Moves {
		moves = departing()
	}
	w.ctl, err = controller.New(ctx, controller.Config{
		Federation: "sim", Store: &mortalStore{Store: w.store, life: w.life}, Sites: sites, Policy: policy, Waits: waits,
		Logger: w.cfg.Logger, Now: w.clock.Now, Inline: true, MaxRequeue: 1000, Quota: book, Moves: moves,
	})
	if errors.Is(err, errDead) {
		w.report.Crashes++
		return w.boot(ctx)
	}
	return err
}

// round lets the daemon live for one round, or die in it, and returns when something is due next.
func (w *world) round(ctx context.Context) (time.Time, error) {
	if err := w.submitDue(ctx); err != nil {
		return time.Time{}, err
	}
	w.faultsDue()
	if err := w.requeueDue(ctx); err != nil {
		return time.Time{}, err
	}
	if w.cfg.Caps != nil && !w.lifted && w.clock.Now().Sub(start) > liftAfter {
		if err := w.lift(ctx); err != nil {
			return time.Time{}, err
		}
	}
	if err := w.maintain(ctx); err != nil {
		return time.Time{}, err
	}
	next := w.ctl.Round(ctx)
	w.report.Rounds++
	if w.life.dead {
		w.report.Crashes++
		if err := w.boot(ctx); err != nil {
			return next, err
		}
		next = w.clock.Now()
	}
	return next, w.checkStep(ctx)
}

// advance moves the clock on to the next thing that is due.
func (w *world) advance(next time.Time) {
	for _, t := range []time.Time{w.nextKill, w.nextDBD, w.nextAway} {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	if len(w.acked) < w.cfg.Jobs && w.nextSubmit.Before(next) {
		next = w.nextSubmit
	}
	d := max(next.Sub(w.clock.Now()), time.Millisecond)
	w.clock.Advance(d)
	for _, s := range w.sites {
		s.Advance(0)
	}
}

// draw returns a time of the next fault of a kind, zero if there is to be none.
func (w *world) draw(mean time.Duration) time.Time {
	if mean <= 0 {
		return time.Time{}
	}
	return w.clock.Now().Add(time.Duration(w.rng.ExpFloat64() * float64(mean)))
}

// submitDue submits the jobs whose time has come, as the API would: what CreateJob has returned for is acknowledged.
func (w *world) submitDue(ctx context.Context) error {
	for len(w.acked) < w.cfg.Jobs && !w.clock.Now().Before(w.nextSubmit) {
		spec := w.drawSpec()
		j := federation.Job{
			User: "alice", UID: 7001, GID: 7001, State: federation.Pending, Reason: reasons.Priority, Submit: w.clock.Now(),
			Spec: &spec,
		}
		p := sbatch.Payload{
			Script:      fmt.Sprintf("#!/bin/sh\n#SIM run=%s exit=0\n", time.Duration(w.rng.Float64()*float64(w.longest())).Round(time.Millisecond)),
			Environment: []string{"PATH=/usr/bin:/bin"},
		}
		if err := w.store.CreateJob(ctx, &j, &p); err != nil {
			return err
		}
		w.acked = append(w.acked, j.ID)
		if limit := federation.ArrayLimit(j.Spec.Array); limit > 0 {
			w.limits[j.ID] = limit
		}
		w.report.Submitted++
		w.nextSubmit = w.nextSubmit.Add(time.Duration(w.rng.ExpFloat64() * float64(w.cfg.MeanGap)))
	}
	return nil
}

func (w *world) drawSpec() sbatch.Spec {
	s := sbatch.Spec{Name: "sim", WorkDir: "/home/alice", TimeLimit: time.Hour, GPUsPerNode: fmt.Sprint(1 + w.rng.IntN(4)), MinNodes: 1, MaxNodes: 1}
	if w.rng.IntN(10) == 0 || w.cfg.Promises && w.rng.IntN(4) == 0 {
		s.MinNodes, s.MaxNodes = 2, 2
	}
	if w.cfg.MaxTasks > 0 && w.rng.IntN(4) == 0 {
		s.Array = w.drawArray()
	}
	if w.rng.IntN(4) == 0 {
		no := false
		s.Requeue = &no
	}
	if w.cfg.Caps != nil {
		s.TimeLimit = time.Minute
	}
	w.rank(&s)
	w.keep(&s)
	return s
}

// calmAfter is how long after the last submission controllers are killed no more. A site that is killed every minute never
// finds out what became of jobs whose end it lost.
const calmAfter = 2 * time.Minute

// faultsDue lets happen at the sites what is due.
func (w *world) faultsDue() {
	now := w.clock.Now()
	if len(w.acked) == w.cfg.Jobs && now.Sub(w.nextSubmit) > calmAfter {
		w.nextKill = time.Time{}
	}
	if !w.nextKill.IsZero() && !now.Before(w.nextKill) {
		w.nextKill = w.draw(w.cfg.Controller)
		s := w.sites[w.rng.IntN(len(w.sites))]
		if w.ctldBack[s].IsZero() {
			w.report.Kills++
			s.KillController(simsite.CrashOptions{ForgetEnded: w.rng.IntN(8) == 0, KeepChanges: w.rng.IntN(2) == 0})
			w.ctldBack[s] = now.Add(time.Duration(w.rng.IntN(5000)) * time.Millisecond)
		}
	}
	if !w.nextDBD.IsZero() && !now.Before(w.nextDBD) {
		w.nextDBD = w.draw(w.cfg.Accounting)
		s := w.sites[w.rng.IntN(len(w.sites))]
		s.SetSlurmdbd(false)
		w.dbdBack[s] = now.Add(time.Duration(w.rng.IntN(20000)) * time.Millisecond)
	}
	w.awayDue(now)
	for _, s := range w.sites {
		if t := w.ctldBack[s]; !t.IsZero() && !now.Before(t) {
			s.StartController()
			delete(w.ctldBack, s)
		}
		if t := w.dbdBack[s]; !t.IsZero() && !now.Before(t) {
			s.SetSlurmdbd(true)
			delete(w.dbdBack, s)
		}
	}
}
