// Package driver is what a driver can do beyond [federation.Driver], each ability an interface of its own: see [Abilities]. Those that use one ask
// [AbilitiesOf] for it.
package driver

import (
	"context"
	"io"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/heartbeat"
	"fsub/federation/idle"
	"fsub/federation/usage"
)

// Abilities are what a driver can do beyond [Driver]: nil is what it cannot. One that it has may still return
// ErrInvalid: this site cannot, and nothing was done.
type Abilities struct {
	Requeue     Requeuer
	Suspend     Suspender
	Update      Updater
	Ranker      Ranker
	Notify      Notifier
	Run         Runner
	Measure     Measurer
	Use         UseTeller
	Beats       BeatTeller
	Steps       StepTeller
	SignalStep  StepSignaller
	Connect     Connector
	Srun        *Srun // nil: users do not call a srun of the site's
	Pools       PoolTeller
	Nodes       NodeSetter
	Reboot      Rebooter
	Reserve     Reserver
	Accounts    Accountant
	AccountTree AccountKeeper
	Check       Checker
	// Calls is how often the site may be called in a second, and how much of that is used now, from 0 to 1.
	Calls func() (perSecond, used float64)
	// Limits maps the name of a conformance test to the reason why the site cannot pass it. The suite prints the
	// reasons instead of running those tests.
	Limits func() map[string]string
}

// AbilitiesOf asks a driver for its abilities, if it has any. They do not change. A driver that wraps another has
// an Abilities of its own, which passes on what it does not do itself: a type that embeds a Driver hides them
// otherwise.
func AbilitiesOf(d federation.Driver) Abilities {
	if a, ok := d.(interface{ Abilities() Abilities }); ok {
		return a.Abilities()
	}
	return Abilities{}
}

// Requeuer puts a job back into its site's queue, as scontrol requeue does: what runs is stopped, the job keeps
// its number and is a restart more. Of an array only the given tasks, if there are any. ErrConflict: it waits
// already, or is ending.
type Requeuer interface {
	Requeue(ctx context.Context, ref federation.JobRef, tasks []int) error
}

// AccountKeeper reads and changes the accounting of its site.
type AccountKeeper interface {
	// ReadAccounts tells what the site's accounting has now: all of it, or an error.
	ReadAccounts(ctx context.Context) (*accounts.Import, error)
	// Sacctmgr carries out one command in the words of sacctmgr. ErrInvalid: this site cannot be told. A command that has nothing to change is no error.
	Sacctmgr(ctx context.Context, words []string) error
}

// NodeSetter drains nodes of its site and resumes them, as package federation/health decides by a fresh look at each: what others have said of
// a node stands. It takes as few calls as the site can. To repeat an order is no error.
type NodeSetter interface {
	// SetNodes returns those nodes for which the order was not carried out, each with the reason: ErrConflict (somebody else's word
	// stands, or it cannot be done just now), ErrNotFound (the site has no such node), ErrDenied. An error is about all of them.
	SetNodes(ctx context.Context, o NodeOrder) (left map[string]error, err error)
}

// NodeOrder is what is wanted of nodes of one site.
type NodeOrder struct {
	Wish  federation.NodeWish
	Nodes []string
	Text  string // reason of a drain, see [NodeRecord.Text]; of a resume that of the drain which it ends
	Mark  string // the federation's name: reasons that begin with it and a colon are ours
}

// Suspender stops the processes of a job that runs, and lets them go on. Either returns once that is sure to be
// done, also by a later daemon; the job's state tells of it. A job that is suspended already, or has been resumed,
// is no error. ErrConflict: it does not run, or is ending.
type Suspender interface {
	Suspend(ctx context.Context, ref federation.JobRef) error
	Resume(ctx context.Context, ref federation.JobRef) error
}

// Updater changes a job at its site from what before asks for to what after does. Job.Partition of both is the
// partition that the job has, or is to have, there. as is the site's user with whose rights that is to be done, "" for all that the federation may
// there: what slurmctld's own administrator changes is exempt from the limits of its user. ErrConflict: the job has started, and that cannot be changed
// any more; any other refusal is the site's word about what is asked for. In each case nothing, or only a part of
// it, was changed.
type Updater interface {
	Update(ctx context.Context, ref federation.JobRef, as string, before, after *federation.Job) error
}

// Ranker changes where a job that waits stands in its site's queue.
type Ranker interface {
	// SetNice gives a job a nice in place of the one that it has there: its priority falls by what that is more. ErrConflict: it does not wait any more.
	SetNice(ctx context.Context, ref federation.JobRef, nice int64) error
}

// Notifier is a driver that knows by itself when Jobs or Observe would tell something new. The controller then
// looks at once instead of waiting for its next round.
type Notifier interface {
	// Notify has f called, soon after each change, from any goroutine. f returns at once. It is called before Run.
	Notify(f func(News))
}

// News says what has changed at a site.
type News struct{ Jobs, Nodes bool }

// Measurer is a driver whose site can tell what jobs used.
type Measurer interface {
	// Measured returns what the site's accounting knows of jobs that it has seen end, an array by its tasks. A job that is not in the result
	// is not known to have ended there yet.
	Measured(ctx context.Context, refs []federation.JobRef) (map[federation.JobID][]usage.Usage, error)
}

// UseTeller is a driver whose site can tell how busy jobs keep what they hold while they run.
type UseTeller interface {
	// Use returns the newest readings of jobs. A job that is not in the result is not known to use anything, nor to be idle. A driver that cannot read
	// at all, as it is not configured to, returns none.
	Use(ctx context.Context, jobs []Running) (map[federation.JobID]idle.Use, error)
}

// BeatTeller is a driver whose site reads the heartbeats that jobs write while they run (#FSUB --heartbeat).
type BeatTeller interface {
	// Beats returns the newest heartbeats of jobs: of each that runs, of as many of its nodes as have written any.
	Beats(ctx context.Context, jobs []federation.JobRef) (heartbeat.Of, error)
	// BeatsEvery is how often there are new ones.
	BeatsEvery() time.Duration
}

// Running is a job that runs, with what it holds.
type Running struct {
	federation.JobRef
	Nodes string // hostlist
	GPUs  int
}

// StepTeller is a driver that knows the steps of its jobs while they run.
type StepTeller interface {
	// Steps are the steps of jobs, of the given ones or of all (nil), in order of job and number: those of srun
	// that run now, or with ended every step that the job's last run has had so far, its batch script's too. It
	// comes from memory: of jobs that have ended long ago there are none.
	Steps(jobs []federation.JobID, ended bool) []LiveStep
}

// StepSignaller is a driver that can signal single steps of jobs that run at its site.
type StepSignaller interface {
	// SignalStep sends a signal to the step of that number ("0"), or kills it, and returns when that was passed
	// on. It is not repeated. ErrNotFound: no such step runs. ErrUnavailable: it may have been done, or not.
	SignalStep(ctx context.Context, job federation.JobID, step string, s StepSignal) error
}

// Connector is a driver that reaches what runs at its site.
type Connector interface {
	// Connect opens a connection to the step service of the job's first machine, which does all that the job's user may do there; it is the caller's to see that it is him. It
	// speaks as package fsub/cloud/steps/wire says. ErrConflict: the job does not run. ErrUnavailable: its machine does not answer.
	Connect(ctx context.Context, job federation.JobID) (Tunnel, error)
}

// Srun is the site's own srun, as users call it.
type Srun struct {
	Host    string   // where they log in for it, by ssh; "": it is on the daemon's machine
	Command []string // program, with its first arguments; nil: the one that PATH has
}

// Tunnel is a connection that can be closed for writing alone.
type Tunnel interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// StepSignal is what scancel asks of a step.
type StepSignal struct {
	Name string // "USR1" or a number; "": kill it
	By   uint32 // the user whom the books show for that
}

// LiveStep is a step of a job.
type LiveStep struct {
	Job    federation.JobID
	Number federation.JobID // the job's, see [Job.Number]; 0: its ID
	usage.Step
	Limit    time.Duration // its own; 0: none
	SrunHost string        // where the srun runs that it was started with
	SrunPID  int
}

// Runner is a driver with loops of its own, which the daemon runs for as long as it lives. Run returns when ctx is
// done, or with the error that keeps the site from working at all.
type Runner interface {
	Run(ctx context.Context) error
}
