package steps

import (
	"errors"
	"log/slog"
	"os/exec"
	"syscall"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/steps/wire"
)

// SocketEnv names the variable by which a job's srun finds its machine's Service.
const SocketEnv = wire.SocketEnv

// CommandsEnv names the variable that tells [Run.Commands] of the machine where a process runs.
const CommandsEnv = "FSUB_COMMANDS"

// Config is what a Service needs of its agent.
type Config struct {
	Addr   string // where other nodes reach it: IP:PORT, port 0 for any
	Logger *slog.Logger
	// Daemon is the command line of a program that calls [Daemon]: the agent's own, by a word of
	// its own: {"/proc/self/exe", "step-daemon"}.
	Daemon []string
}

// Run is a run of a job on this machine.
type Run struct {
	Launch *agentapi.Launch
	// Dir is the run's own directory; its user must be able to search it. The socket is made in it.
	Dir string
	// Env is what all processes of the run on this machine have over the environment that srun was
	// called with (sockets of this machine's agent, say). SocketEnv and CommandsEnv are added to it.
	Env []string
	// Join are files that the number of each step daemon is written to before it starts anything:
	// cgroup.procs of the run's cgroups of version 1.
	Join []string
	// Commands is the folder of srun, scontrol ... on this machine. In PATH of the tasks here it
	// takes the place of the one of the machine that srun was called on, and is first where that
	// one is not. "": none.
	Commands string
	// Images is where images that were fetched for the run's user are kept, for other runs too. "": in Dir.
	Images string
	// Prepare is called with the command of each step daemon before it starts, to put it into a
	// cgroup or to say how a user is become. nil: the Service sets the Credential of Launch.User
	// where it is root.
	Prepare func(*exec.Cmd)
}

// ErrNoStep: no step of that number runs.
var ErrNoStep = errors.New("no such step runs")

// Stop is why and how all steps of a run are ended.
type Stop struct {
	Why   agentapi.Why
	Grace time.Duration // between SIGTERM and SIGKILL
}

// Steps is the part of a Service that the agent uses; a Service is made by [New].
type Steps interface {
	// Addr is IP:PORT for Hello.Steps.
	Addr() string
	// AddRun lets the processes of a run's user start steps. On the first machine of the gang it
	// must be called before the batch script starts, on the others before the machine reports that
	// it is ready. It returns variables for the run's environment.
	AddRun(r Run) (env []string, err error)
	// RemoveRun kills what the run's steps have on this machine and forgets it. It returns when
	// nothing of them lives, or after 10 s.
	RemoveRun(run string)
	// Local is how many steps have processes on this machine.
	Local(run string) int
	// Processes are the numbers of the processes on this machine under which the tasks of the run's steps are.
	Processes(run string) []int
	// Signal sends a signal to the steps of a run on all nodes; step "" is every step. On the first
	// machine only. ErrNoStep: the step does not run.
	Signal(run, step string, sig syscall.Signal) error
	// Cancel kills a step at once, as scancel does for the user by. On the first machine only.
	// ErrNoStep: it does not run.
	Cancel(run, step string, by uint32) error
	// Pause has the time limits that steps of a run have of their own stand still, also those of
	// steps that begin later, until Resume lets them go on. On the first machine only.
	Pause(run string)
	Resume(run string)
	// Stop ends the steps of a run on all nodes, in srun's words for why. On the first machine
	// only. It does not wait.
	Stop(run string, s Stop)
	// Lose has nodes of a run count as lost: what steps have there, and for steps to come. On the first machine only. It does not wait.
	Lose(run string, nodes []string)
	// Status is the run's steps so far, ended ones too. On the first machine only.
	Status(run string) []agentapi.Step
	// Close ends everything.
	Close() error
}
