package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/container/hold"
	"fsub/cloud/steps"
)

// Config is what an Agent is made of. Boot and Dir are required.
type Config struct {
	Boot agentapi.Boot
	// Dir is the agent's own directory: spool, sockets and commands are in it.
	Dir string
	// Program is the binary that is srun, sbatch, squeue ... by name; "": jobs find no commands.
	Program string
	Version string
	// Steps runs the steps of srun. nil: there is no srun.
	Steps  steps.Steps
	Logger *slog.Logger // nil: no logs
	// Alone: this process is nothing but the agent, and may be killed if it does not end its jobs
	// with its lease.
	Alone bool
}

// Agent is one machine's agent.
type Agent struct {
	cfg     Config
	log     *slog.Logger
	server  *server
	lease   *lease
	news    *news
	uses    uses
	beats   beats
	table   gpuTable
	welcome agentapi.Welcome
	hosts   *hosts
	groups  *cgroups
	leftOut sync.Map // groups of users that were reported not to fit this machine

	mu       sync.Mutex
	runs     map[string]*run
	version  uint64             // of the orders that are carried out
	daemon   string             // that gave them
	signals  uint64             // the last one that was sent
	streams  map[string]bool    // IDs of those that were ordered last
	problems []agentapi.Problem // that the last health check found
	missed   []uint64           // those whose step did not run, until the daemon knows it
	notice   *agentapi.Notice
	ending   string        // why the machine ends; "": it does not
	end      chan struct{} // closed when ending is set
	told     chan struct{} // closed when the agent was signalled to stop: the machine shuts down
	look     lookFunc      // for a notice of the provider; nil: there are none
	every    time.Duration
	gap      time.Duration // shutdownGap, but in tests
}

// New makes an Agent. It says nothing before Run.
func New(c Config) (*Agent, error) {
	d, err := newServer(c.Boot)
	if err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, err
	}
	a := &Agent{cfg: c, log: c.Logger, server: d, news: newNews(), runs: map[string]*run{}, end: make(chan struct{}), told: make(chan struct{}), gap: shutdownGap}
	a.hosts = newHosts(hostsFile(c.Boot))
	return a, nil
}

// errNotIn: the machine never became one of the daemon's.
var errNotIn = errors.New("the daemon did not let this machine in")

// Run runs the agent until the machine should end. It returns nil if the machine was told to end or
// lost its daemon; no process of a run lives then.
func (a *Agent) Run(ctx context.Context) error {
	if a.cfg.Alone {
		raiseLimits(syscall.Setrlimit, a.log)
	}
	if err := a.prepare(); err != nil {
		return err
	}
	defer a.groups.close()
	defer hold.Remove(a.images())
	if err := a.hello(ctx); err != nil {
		return fmt.Errorf("%w: %w", errNotIn, err)
	}
	if err := a.settle(); err != nil {
		return err
	}
	if a.cfg.Alone {
		stop, err := a.lease.guard()
		if err != nil {
			return err
		}
		defer stop()
	}
	if a.look == nil {
		a.look, a.every = noticeOf(cmp.Or(a.welcome.Metadata, a.cfg.Boot.Metadata))
	}
	life, stop := context.WithCancel(ctx)
	defer stop()
	var work sync.WaitGroup
	parts := []func(context.Context){a.poll, a.report, a.watchLease, a.watchNotice, a.watchUse, a.watchBeats, a.keepEtc, reapOrphans}
	if cmp.Or(a.welcome.Metadata, a.cfg.Boot.Metadata) != "" { // a machine of a cloud; the nodes of a local pool share one
		parts = append(parts, a.check)
	}
	for _, f := range parts {
		work.Go(func() { f(life) })
	}
	select {
	case <-a.end:
	case <-ctx.Done():
		close(a.told)
		why := agentapi.WhyNode
		if a.announced() {
			why = agentapi.WhyPreempt
		}
		a.endMachine("the agent was told to stop", why)
	}
	a.waitRuns()
	a.lastWords()
	stop()
	work.Wait()
	return nil
}

// prepare makes the agent's directory.
func (a *Agent) prepare() error {
	if err := adopt(); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if err := openWay(a.cfg.Dir); err != nil {
			return err
		}
	}
	for _, d := range []string{"spool", "run"} {
		if err := makeOpen(filepath.Join(a.cfg.Dir, d)); err != nil {
			return err
		}
	}
	a.groups = newCgroups(a.cfg.Boot.Instance, a.log)
	return a.linkCommands()
}

// hello says hello until the daemon lets the machine in.
func (a *Agent) hello(ctx context.Context) error {
	instance, err := a.instance(ctx)
	if err != nil {
		return err
	}
	list := gpus()
	if a.cfg.Boot.PowerOff {
		list = gpusOnceUp(ctx, "/sys/bus/pci/devices")
	}
	h := machine(rand.Text(), instance, a.cfg.Version, list)
	if a.cfg.Steps != nil {
		h.Steps = a.cfg.Steps.Addr()
	}
	until := a.cfg.Boot.Expires
	if until.IsZero() {
		until = time.Now().Add(time.Hour)
	}
	for wait := newBackoff(); ; {
		began := time.Now()
		err := a.server.call(ctx, helloTime, agentapi.PathHello, a.cfg.Boot.Token, h, &a.welcome)
		if err == nil {
			a.lease = newLease(began, a.welcome.Lease)
			a.server.session = a.welcome.Session
			a.server.epoch.Store(a.welcome.Epoch)
			a.log.Info("in", "machine", a.welcome.Machine, "node", a.welcome.Node, "lease", a.welcome.Lease)
			return nil
		}
		if denied(err) || time.Now().After(until) || wait.sleep(ctx) != nil {
			return err
		}
	}
}

// settle gives the machine its name.
func (a *Agent) settle() error {
	if a.cfg.Boot.PowerOff && os.Geteuid() == 0 && a.welcome.Node != "" {
		return setHostname(a.welcome.Node)
	}
	return nil
}

// endMachine stops all runs, and lets Run return when they have ended.
func (a *Agent) endMachine(reason string, why agentapi.Why) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ending != "" {
		return
	}
	a.log.Info("the machine ends", "reason", reason)
	a.ending = reason
	for _, r := range a.runs {
		r.inbox.stop(agentapi.Stop{Why: why, Grace: r.l.KillWait})
	}
	close(a.end)
}

// unkillable is how long after their KillWait runs may take to end. What hangs in the kernel then
// is the machine's to take along: it costs money.
const unkillable = time.Minute

func (a *Agent) waitRuns() {
	a.mu.Lock()
	var runs []*run
	grace := time.Duration(0)
	for _, r := range a.runs {
		runs, grace = append(runs, r), max(grace, r.l.KillWait)
	}
	a.mu.Unlock()
	late := time.After(grace + unkillable)
	for _, r := range runs {
		select {
		case <-r.ended:
		case <-late:
			a.log.Error("the machine ends with a run that does not", "run", r.l.Run)
			return
		}
	}
}
