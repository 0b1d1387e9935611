package lifecycle

import (
	"testing"

	"fsub/federation"
	"fsub/sbatch"
)

// TestOutcome: what becomes of a job whose attempt has ended.
func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		name string
		end  End
		want Outcome
	}{
		{"completed", End{State: federation.Completed}, Outcome{State: federation.Completed, Own: true}},
		{"failed by itself", End{State: federation.Failed, Class: federation.ClassUser}, Outcome{State: federation.Failed, Own: true}},
		{"ran out of time", End{State: federation.Timeout, Class: federation.ClassUser}, Outcome{State: federation.Timeout, Own: true}},
		{"its node failed", End{State: federation.NodeFail, Class: federation.ClassNode}, Outcome{Next: Failed, State: federation.NodeFail}},
		{"failed because of its node", End{State: federation.Failed, Class: federation.ClassNode}, Outcome{Next: Failed, State: federation.Failed}},
		{"failed because of its site", End{State: federation.Failed, Class: federation.ClassSite}, Outcome{Next: Failed, State: federation.Failed}},
		{"preempted", End{State: federation.Preempted, Class: federation.ClassPreempt}, Outcome{Next: Failed, State: federation.Preempted}},
		{"cancelled here", End{State: federation.Cancelled, Cancel: true}, Outcome{State: federation.Cancelled}},
		{"cancelled here, its node failed", End{State: federation.NodeFail, Class: federation.ClassNode, Cancel: true}, Outcome{State: federation.Cancelled}},
		{"completed before it could be cancelled", End{State: federation.Completed, Cancel: true}, Outcome{State: federation.Completed, Own: true}},
		{"cancelled to make room", End{State: federation.Preempted, Class: federation.ClassPreempt, Cancel: true, Victim: true}, Outcome{State: federation.Preempted}},
		{"cancelled at its site", End{State: federation.Cancelled}, Outcome{State: federation.Cancelled, Outside: true}},
		{"cancelled to be requeued", End{State: federation.Cancelled, TakeBack: true}, Outcome{Next: PutBack}},
		{"a victim that completed", End{State: federation.Completed, Cancel: true, Victim: true}, Outcome{State: federation.Completed, Own: true}},
	} {
		if got := c.end.Outcome(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestAfterFailure: the requeue rules.
func TestAfterFailure(t *testing.T) {
	no, yes := false, true
	failures := func(n int, class federation.FailureClass) []federation.Attempt {
		all := make([]federation.Attempt, n+1)
		for i := range all {
			all[i] = federation.Attempt{Number: i + 1, Class: class}
		}
		return all
	}
	again := Outcome{Next: Again, Why: "requeued"}
	for _, c := range []struct {
		name     string
		most     int
		restarts int
		requeue  *bool
		cancel   bool
		state    federation.State
		history  []federation.Attempt
		err      error
		want     Outcome
		read     bool // the history
	}{
		{"the first failure", 5, 0, nil, false, federation.NodeFail, nil, nil, again, false},
		{"of a job of --requeue", 5, 0, &yes, false, federation.NodeFail, nil, nil, again, false},
		{"of a job of --no-requeue", 5, 0, &no, false, federation.NodeFail, nil, nil, Outcome{State: federation.NodeFail, Why: "not requeued: --no-requeue"}, false},
		{"of a cancelled job", 5, 0, nil, true, federation.NodeFail, nil, nil, Outcome{State: federation.Cancelled}, false},
		{"of a cancelled job of --no-requeue", 5, 0, &no, true, federation.NodeFail, nil, nil, Outcome{State: federation.Cancelled}, false},
		{"the last one that is allowed", 5, 5, nil, false, federation.NodeFail, failures(4, federation.ClassNode), nil, again, true},
		{"one too many", 5, 5, nil, false, federation.NodeFail, failures(5, federation.ClassSite), nil,
			Outcome{State: federation.NodeFail, Why: "not requeued: it has failed so 5 times already"}, true},
		{"many preemptions are no failures", 5, 9, nil, false, federation.NodeFail, failures(9, federation.ClassPreempt), nil, again, true},
		{"a preemption after many failures", 5, 9, nil, false, federation.Preempted, nil, nil, again, false},
		{"the history cannot be read", 5, 5, nil, false, federation.NodeFail, nil, federation.ErrUnavailable,
			Outcome{State: federation.NodeFail, Why: "not requeued: it has failed so 5 times already"}, true},
		{"never requeued", -1, 0, nil, false, federation.NodeFail, failures(0, federation.ClassNode), nil, Outcome{State: federation.NodeFail, Why: "not requeued: max_requeue is 0"}, true},
	} {
		j := federation.Job{Attempt: len(c.history), Restarts: c.restarts, Cancel: c.cancel, Spec: &sbatch.Spec{Requeue: c.requeue}}
		read := false
		got := Rules{c.most}.AfterFailure(&j, c.state, func() ([]federation.Attempt, error) { read = true; return c.history, c.err })
		if got != c.want || read != c.read {
			t.Errorf("%s: %+v, want %+v; its history was read: %v", c.name, got, c.want, read)
		}
	}
}

// TestMayRunAgain: a lost start counts against the same bound.
func TestMayRunAgain(t *testing.T) {
	no := false
	for _, c := range []struct {
		name string
		j    federation.Job
		want bool
	}{
		{"within the bound", federation.Job{Restarts: 4, Spec: new(sbatch.Spec)}, true},
		{"at the bound", federation.Job{Restarts: 5, Spec: new(sbatch.Spec)}, false},
		{"cancelled", federation.Job{Cancel: true, Spec: new(sbatch.Spec)}, false},
		{"--no-requeue", federation.Job{Spec: &sbatch.Spec{Requeue: &no}}, false},
	} {
		if got := (Rules{5}).MayRunAgain(&c.j); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
