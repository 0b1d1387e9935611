package slurm

import (
	"testing"

	"fsub/federation/reasons"
	"fsub/slurm/wire"
)

// As slurmctld 22.05, 24.11 and 26.05 show a job whose prolog has failed: only the description tells it from one that its user holds.
func TestFailedLaunchIsNoHoldOfTheUser(t *testing.T) {
	r := wire.Job{JobID: 7, State: wire.Strings{"PENDING"}, StateReason: "JobHeldUser", StateDescription: "launch failed requeued held", RestartCnt: 1}
	if j := plainJob(name{}, 7, &r); j.Reason != reasons.LaunchHeld {
		t.Errorf("reason %s", j.Reason)
	}
	r.StateDescription = ""
	if j := plainJob(name{}, 7, &r); j.Reason != reasons.HeldUser {
		t.Errorf("reason %s of one that is held", j.Reason)
	}
}
