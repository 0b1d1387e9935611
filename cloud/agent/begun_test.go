package agent

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
)

// TestStopAtTheBegin: a stop that comes before the agent knows of the script's begin does not take its SIGTERM and its time from a script that is at work already.
func TestStopAtTheBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Agent{log: logger(t)}
		r := a.newRun(&agentapi.Launch{Run: "r1"})
		r.p = &keeper.Process{Begun: make(chan struct{}), PID: syscall.Getpid()}
		r.inbox.stop(agentapi.Stop{Why: agentapi.WhyCancel, Grace: time.Minute})
		time.AfterFunc(beginGap/2, func() { close(r.p.Begun) })
		if !r.begun() || r.why != "" {
			t.Fatalf("it is ended, why %q", r.why)
		}
		if s := <-r.inbox.stops; s.Why != agentapi.WhyCancel || s.Grace != time.Minute {
			t.Errorf("it is asked for %+v", s)
		}
	})
}
