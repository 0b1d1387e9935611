package cloud

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"fsub/cloud/output"
	"fsub/federation"
	"fsub/federation/driver"
)

// Driver makes a site of the federation out of a provider's machines. It is made of parts that each keep their own state; all of that is in memory, under one
// lock, and nothing waits while it holds the lock. What must outlast the daemon is written to the store in batches (package records): whoever changes something
// puts it into the open batch, and what may follow only once that is durable is put after it. The life of a job:
//
//  1. Submit (submit.go) puts the job into a batch, and the queue (queue.go, schedule.go) fulfils its claim in the same breath, if there are machines for it: free
//     ones, or a new gang (place.go, grow.go).
//  2. Once that batch is durable Submit returns, Create is called for the new gang (rent.go), and a run whose machines are all there is shown to them.
//  3. Machines say hello (hello.go), and poll (orders.go): further members of a gang are launched first, the head when they have said that they are ready.
//  4. Agents report (report.go). When the head has ended, or a machine has failed (life.go), the rest is stopped; the job has ended when nothing of it
//     lives anywhere (runs.go). Its machines are given to the next job in the same batch.
//     Where the job asks to, it keeps the machines that are left, and begins again with another one (nodeloss.go), or goes on without (shrink.go).
//  5. A look at the clock (tick.go) ends what is idle, late or silent; a listing a minute (sweep.go) finds machines that are gone, or that nobody knows.
//
// A start reads the records and goes on from there: gangs that were asked for are asked for again under their token.
type Driver struct {
	*base
	pools     *pools
	jobs      *jobTable
	fleet     *fleet
	queue     *queue
	scheduler *scheduler
	runs      *runs
	agents    *agents
	rent      *renter
	requests  *requests
	numbers   *numbers
	cool      *cooldowns
	offers    *offers
	sweep     *sweeper
	sweeps    *sweeps
	orphans   *orphans
	starts    *starts
	users     userCache
	output    *output.Files
}

var _ federation.Driver = (*Driver)(nil)

// Abilities is asked by [driver.AbilitiesOf].
func (d *Driver) Abilities() driver.Abilities {
	return driver.Abilities{Requeue: d, Suspend: d, Update: d, Notify: d, Run: d, Measure: d, Use: d, Beats: beatTeller{d}, Steps: d, SignalStep: d, Connect: d, Pools: d, Nodes: d, Check: d, Limits: d.Limits}
}

// New makes a driver. It calls nobody before Run.
func New(cfg Config) (*Driver, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	d := assemble(cfg)
	for _, p := range cfg.Pools {
		d.pools.all = append(d.pools.all, newPool(d.fleet, p))
	}
	if cfg.AgentServer != nil {
		cfg.AgentServer.Add(cfg.Site, d.agents)
	}
	return d, nil
}

// assemble makes the parts of a driver. Each gets those that it needs when it is made, so that none knows one that is made after it.
func assemble(cfg Config) *Driver {
	b := newBase(cfg)
	d := &Driver{base: b, pools: new(pools), starts: &starts{base: b}, sweeps: newSweeps(), requests: newRequests(),
		users:  userCache{users: cfg.Users, mapped: cfg.Mapped, now: cfg.Now},
		output: output.New(output.Config{Dir: cfg.LogDir, Reserve: cfg.LogReserve, Most: cfg.LogMost, User: cfg.LogUser, Keep: cfg.Timing.Logs, Logger: cfg.Logger, Now: cfg.Now})}
	d.jobs = newJobTable(b, d.pools)
	d.queue = newQueue(b, d.pools)
	d.runs = &runs{base: b, queue: d.queue, jobs: d.jobs}
	d.cool = newCooldowns(b, d.pools)
	d.orphans = newOrphans(b, d.pools, d.sweeps)
	d.fleet = newFleet(b, d.pools, d.cool, d.orphans, d.runs, d.sweeps)
	d.numbers = &numbers{base: b, pools: d.pools}
	d.scheduler = &scheduler{base: b, queue: d.queue, fleet: d.fleet, runs: d.runs, numbers: d.numbers, requests: d.requests}
	d.rent = &renter{base: b, starts: d.starts, cool: d.cool, sweeps: d.sweeps, fleet: d.fleet, runs: d.runs, numbers: d.numbers, requests: d.requests,
		scheduler: d.scheduler}
	d.agents = &agents{base: b, fleet: d.fleet, output: d.output, cool: d.cool, runs: d.runs, scheduler: d.scheduler}
	d.offers = newOffers(b, d.starts, d.pools, d.scheduler)
	d.sweep = &sweeper{base: b, starts: d.starts, orphans: d.orphans, fleet: d.fleet, sweeps: d.sweeps, scheduler: d.scheduler}
	return d
}

// Run implements driver.Runner.
func (d *Driver) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer d.bg.Wait()
	defer cancel()
	d.ctx = ctx
	d.jobs.rev = uint64(d.now().UnixMicro()) // a mark of the life before knows less
	d.agents.began = strconv.FormatUint(d.jobs.rev, 36)
	if err := d.output.Make(); err != nil {
		return fmt.Errorf("site %s: the directory of jobs' output: %w", d.cfg.Site, err)
	}
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		err := d.load(ctx)
		if err == nil {
			break
		}
		if errors.Is(err, federation.ErrInvalid) {
			return err
		}
		d.log.Error("read the pool's records", "err", err)
		if !sleep(ctx, wait) {
			return nil
		}
	}
	for _, loop := range []func(context.Context){d.rec.Run, d.offers.follow, d.sweep.list, d.sweep.end, d.rent.serve, d.clock, func(ctx context.Context) { d.news.follow(ctx, d.now) }, d.output.Tidy} {
		d.bg.Go(func() { loop(ctx) })
	}
	d.resume()
	close(d.loaded)
	<-ctx.Done()
	return nil
}

// Limits are what of the conformance suite no rented pool can show.
func (d *Driver) Limits() map[string]string {
	arrays := "a rented pool does not accept whole arrays: each task is submitted as a separate job"
	limits := map[string]string{}
	for _, name := range []string{"SubmitNamesFilesOfTasks", "CancelTask", "ArrayTasks", "ArrayOfManyTasks", "ArrayPendingTasksAreWhole", "LookupForgottenArrayIsInAccounting"} {
		limits[name] = arrays
	}
	if d.cfg.Accounts == nil {
		for _, name := range []string{"SubmitUnknownAccountIsDenied", "SubmitOthersAccountIsDenied"} {
			limits[name] = "no accounts are configured for the pool: everybody may charge any"
		}
	}
	return limits
}

// Agents serves the agents of the site's machines: what New has added to the agent server.
func (d *Driver) Agents() Agents { return d.agents }
