package job

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	"fsub/federation/reasons"
)

func TestEndText(t *testing.T) {
	start := time.Unix(1e9, 0)
	ran := func(s federation.State, exit int32) federation.Job {
		return federation.Job{State: s, ExitStatus: exit, Start: start, End: start.Add(90 * time.Second)}
	}
	for want, r := range map[string]client.JobRecord{
		"":                                      {Job: federation.Job{State: federation.Running, Start: start}},
		"  it ended as COMPLETED after 1m30s\n": {Job: ran(federation.Completed, 0)},
		"  it ended as FAILED, exit code 3 after 1m30s, by what the job did (exit)\n": {Job: ran(federation.Failed, 3<<8),
			Attempts: []federation.Attempt{{Class: federation.ClassNode, Code: "node-fail"}, {Class: federation.ClassUser, Code: "exit"}}},
		"  it ended as NODE_FAIL after 1m30s, by a failure of the node (node-fail)\n": {Job: ran(federation.NodeFail, 0),
			Attempts: []federation.Attempt{{Class: federation.ClassNode, Code: "node-fail"}}},
		"  it ended as FAILED, by signal 9 after 1m30s\n": {Job: ran(federation.Failed, 9)},
		"  it ended as FAILED and never ran: alpha: denied: no such account\n": {Job: federation.Job{State: federation.Failed, Reason: reasons.Account},
			Attempts: []federation.Attempt{{Note: "alpha: denied: no such account"}}},
		"  it ended as CANCELLED and never ran: DependencyNeverSatisfied\n": {Job: federation.Job{State: federation.Cancelled, Reason: reasons.DependencyNever}},
	} {
		if got := endText(&r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
