package cloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// Driver makes a site of the federation out of a provider's machines.
//
// Its state is in memory, under one lock; nothing waits while it holds the lock. What must outlast the daemon is written to the store in
// pages (books.go): whoever changes something puts it on the open page, and what may follow only once that is durable is put after it. The life of a job:
//
//  1. Submit (submit.go) puts the job on a page, and schedule (schedule.go) finds machines for it in the same breath: free ones, or a new gang.
//  2. Once that page is durable Submit returns, Create is called for the new gang (gang.go), and a run whose machines are all there is shown to them.
//  3. Machines say hello (orders.go), and poll: further members of a gang are launched first, the head when they have said that they are ready.
//  4. Agents report (report.go). When the head has ended, or a machine has failed (machine.go), the rest is stopped; the job has ended when
//     nothing of it lives anywhere (run.go). Its machines are given to the next job on the same page.
//  5. A look at the clock (tick.go) ends what is idle, late or silent; a listing a minute (sweep.go) finds machines that are gone, or that nobody knows.
//
// A start reads the records and goes on from there: gangs that were asked for are asked for again under their token.
type Driver struct {
	cfg     Config
	t       Timing
	log     *slog.Logger
	metrics *metrics
	ctx     context.Context // of Run
	began   string          // names this life of the daemon
	loaded  chan struct{}   // closed when Run has read the books
	asked   chan struct{}   // closed when the cloud was asked for its offerings once
	written chan struct{}   // something is on the open page
	look    chan struct{}   // the cloud should be listed soon
	ender   chan struct{}   // there are machines to be deleted
	news    news
	users   userCache
	logs    logs
	bg      sync.WaitGroup

	mu       sync.Mutex
	page     *page
	jobs     map[federation.JobID]*job
	newest   *job // of the list by rev
	rev      uint64
	known    map[federation.JobID]bool // of jobs; nil: to be made anew. Shared, so never changed
	payloads int                       // bytes of payloads in memory
	begins   map[*job]bool             // that wait for their time
	ended    []*job                    // in memory, the first to end first
	pools    []*pool
	gangs    map[string]*gang // by token
	machines map[MachineID]*machine
	names    map[string]*machine
	classes  map[string]*class
	trying   []*class // that may find machines now
	cool     map[string]*coolDown
	numbers  []int64 // of gangs to come
	drawing  bool
	draws    int // since the last look at the clock
	strays   map[provider.InstanceID]*stray
	settled  map[provider.InstanceID]bool // that have ended and are in the books, for as long as they are listed
	rest     time.Time                    // the cloud is left alone until then; set before anybody looks
	offered  error                        // of the last look at what can be rented
	priced   bool                         // one look was good
}

var (
	_ federation.Driver    = (*Driver)(nil)
	_ federation.Notifier  = (*Driver)(nil)
	_ federation.Runner    = (*Driver)(nil)
	_ federation.Requeuer  = (*Driver)(nil)
	_ federation.Measurer  = (*Driver)(nil)
	_ federation.Limited   = (*Driver)(nil)
	_ federation.LogReader = (*Driver)(nil)
	_ Agents               = (*Driver)(nil)
)

var errNotLoaded = fmt.Errorf("the pool's books are not read yet: %w", federation.ErrNotSent)

// New makes a driver. It calls nobody before Run.
func New(cfg Config) (*Driver, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	d := &Driver{cfg: cfg, t: cfg.Timing, log: cfg.Logger, metrics: newMetrics(cfg.Registerer, cfg.Site), loaded: make(chan struct{}), asked: make(chan struct{}),
		written: make(chan struct{}, 1), look: make(chan struct{}, 1), ender: make(chan struct{}, 1), page: newPage(),
		jobs: map[federation.JobID]*job{}, begins: map[*job]bool{}, gangs: map[string]*gang{}, machines: map[MachineID]*machine{}, names: map[string]*machine{},
		classes: map[string]*class{}, cool: map[string]*coolDown{}, strays: map[provider.InstanceID]*stray{}, settled: map[provider.InstanceID]bool{}, offered: errNotLoaded}
	d.users.users, d.users.now = cfg.Users, cfg.Now
	d.news.wake = make(chan struct{}, 1)
	for _, p := range cfg.Pools {
		d.pools = append(d.pools, newPool(d, p))
	}
	if cfg.Door != nil {
		cfg.Door.Add(cfg.Site, d)
	}
	return d, nil
}

// Run implements federation.Runner.
func (d *Driver) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer d.bg.Wait()
	defer cancel()
	d.ctx = ctx
	d.rev = uint64(d.now().UnixMicro()) // a mark of the life before knows less
	d.began = strconv.FormatUint(d.rev, 36)
	if d.cfg.LogDir != "" {
		if err := os.MkdirAll(d.cfg.LogDir, 0o700); err != nil {
			return fmt.Errorf("site %s: the directory of jobs' output: %w", d.cfg.Site, err)
		}
	}
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		err := d.load(ctx)
		if err == nil {
			break
		}
		if errors.Is(err, federation.ErrInvalid) {
			return err
		}
		d.log.Error("read the pool's books", "err", err)
		if !sleep(ctx, wait) {
			return nil
		}
	}
	for _, loop := range []func(context.Context){d.write, d.offerings, d.list, d.end, d.clock, d.tellNews, d.tidyLogs} {
		d.bg.Go(func() { loop(ctx) })
	}
	d.resume()
	close(d.loaded)
	<-ctx.Done()
	return nil
}

// spawn runs f beside the loops, for as long as Run lasts.
func (d *Driver) spawn(f func(context.Context)) {
	if d.ctx.Err() == nil {
		d.bg.Go(func() { f(d.ctx) })
	}
}

// startTime is how long a call waits for a driver that has just been started.
const startTime = 3 * time.Second

// isLoaded waits for the books to be read, which takes a moment, and fails if it takes longer.
func (d *Driver) isLoaded(ctx context.Context) error { return d.wait(ctx, d.loaded, errNotLoaded) }

// wait waits for something that happens once, soon after the start. If it does not, it fails with late.
func (d *Driver) wait(ctx context.Context, c chan struct{}, late error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", err, federation.ErrNotSent)
	}
	select {
	case <-c:
		return nil
	default:
	}
	timer := time.NewTimer(startTime)
	defer timer.Stop()
	select {
	case <-c:
		return nil
	case <-timer.C:
		return late
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ctx.Err(), federation.ErrNotSent)
	}
}

func (d *Driver) now() time.Time { return d.cfg.Now().UTC() }

// poke has a loop look at once.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Limits implements federation.Limited: what of the conformance suite no rented pool can show.
func (d *Driver) Limits() map[string]string {
	arrays := "a rented pool takes no array whole: each task comes as a job of its own (TasksOnly)"
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
