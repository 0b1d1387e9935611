package agent

import (
	"log/slog"
	"testing"
	"time"

	"fsub/cloud/agentapi"
)

// TestInboxNeverWaits: a run that takes nothing keeps nobody who asks it for something, and finds the first that were asked for, and that it is to be suspended.
func TestInboxNeverWaits(t *testing.T) {
	in := newInbox("r1", slog.New(slog.DiscardHandler))
	for n := range 1000 {
		in.stop(agentapi.Stop{Grace: time.Duration(n)})
		in.preempt(time.Now())
		in.signal(agentapi.Signal{Seq: uint64(n)})
		in.limitTo(time.Duration(n))
		in.suspendTo(n%2 == 1)
		in.tellAgain()
	}
	if s, sig, l := <-in.stops, <-in.signals, <-in.limits; s.Grace != 0 || sig.Seq != 0 || l != 0 || !in.suspend.Load() || len(in.pauses) != 1 || len(in.again) != 1 {
		t.Errorf("%+v, %+v, %s, suspended %t", s, sig, l, in.suspend.Load())
	}
}
