package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/steps"
	"fsub/federation/tunnel"
)

// runSteps are the steps of one run, which the step service runs. Until the service knows the run they do nothing.
type runSteps struct {
	service steps.Steps // nil: there is no srun
	run     string
	log     *slog.Logger
	known   bool   // by the service
	socket  string // of the service, for this run
}

// add makes the run known to the service. It returns what the environment of its processes has for that.
func (s *runSteps) add(r steps.Run) (env []string, err error) {
	if s.service == nil {
		return nil, nil
	}
	env, err = s.service.AddRun(r)
	s.known = err == nil
	for _, e := range env {
		if path, ok := strings.CutPrefix(e, steps.SocketEnv+"="); ok {
			s.socket = path
		}
	}
	return env, err
}

// dial connects to the service, as the run's srun does.
func (s *runSteps) dial() (tunnel.End, error) {
	if s.socket == "" {
		return nil, errNoSteps
	}
	c, err := steps.Dial(s.socket)
	if err != nil {
		return nil, fmt.Errorf("the step service: %w", err)
	}
	return c.(*net.UnixConn), nil
}

// list returns the steps that began.
func (s *runSteps) list() []agentapi.Step {
	if s.service == nil {
		return nil
	}
	return s.service.Status(s.run)
}

// running reports whether a step still runs.
func (s *runSteps) running() bool {
	return s.known && slices.ContainsFunc(s.list(), func(one agentapi.Step) bool { return one.End.IsZero() })
}

// has reports whether a step of that number runs.
func (s *runSteps) has(id string) bool {
	return slices.ContainsFunc(s.list(), func(one agentapi.Step) bool { return one.ID == id && one.End.IsZero() })
}

// local is the number of steps that have tasks on this machine.
func (s *runSteps) local() int {
	if !s.known {
		return 0
	}
	return s.service.Local(s.run)
}

// processes are the step daemons of the run on this machine, under which its tasks are.
func (s *runSteps) processes() []int {
	if s.service == nil {
		return nil
	}
	return s.service.Processes(s.run)
}

// stop ends the steps, and lets no other begin: SIGTERM, and SIGKILL after the grace.
func (s *runSteps) stop(why agentapi.Why, grace time.Duration) {
	if s.known {
		s.service.Stop(s.run, steps.Stop{Why: why, Grace: max(grace, 0)})
	}
}

// pause suspends the time limits of steps, and resume lets them go on.
func (s *runSteps) pause() {
	if s.known {
		s.service.Pause(s.run)
	}
}

func (s *runSteps) resume() {
	if s.known {
		s.service.Resume(s.run)
	}
}

// lose has nodes count as lost that the run goes on without.
func (s *runSteps) lose(nodes []string) {
	if s.service != nil {
		s.service.Lose(s.run, nodes)
	}
}

// signal sends a signal to all steps.
func (s *runSteps) signal(sig syscall.Signal) {
	if !s.known {
		return
	}
	if err := s.service.Signal(s.run, "", sig); err != nil {
		s.log.Warn("signal to steps", "run", s.run, "signal", sig, "err", err)
	}
}

// signalOne sends a signal to one step.
func (s *runSteps) signalOne(order agentapi.Signal, sig syscall.Signal) {
	s.told(order, func() error { return s.service.Signal(s.run, order.Step, sig) })
}

// cancel ends one step.
func (s *runSteps) cancel(order agentapi.Signal) {
	s.told(order, func() error { return s.service.Cancel(s.run, order.Step, order.By) })
}

var errNoSteps = errors.New("this machine runs no steps")

// told carries out an order to one step, and logs why it could not be.
func (s *runSteps) told(order agentapi.Signal, do func() error) {
	err := errNoSteps
	if s.service != nil {
		err = do()
	}
	if err != nil {
		s.log.Info("an order to a step came too late", "run", s.run, "step", order.Step, "signal", order.Name, "err", err)
	}
}
