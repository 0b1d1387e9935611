package sbatch

import (
	"strings"
	"testing"
	"time"
)

// TestNodeLoss: what a job does that loses a node, from all that may say so; what is not a way is refused by its name.
func TestNodeLoss(t *testing.T) {
	for _, c := range []struct {
		args string
		do   string
		wait time.Duration
	}{
		{"", LossRequeue, 0}, {"--no-kill", LossShrink, 0}, {"--no-kill --fed-on-node-loss=requeue", LossRequeue, 0},
		{"--fed-on-node-loss=WAIT", LossWait, DefaultLossWait}, {"--fed-on-node-loss=wait:90", LossWait, 90 * time.Minute},
		{"--fed-on-node-loss=wait:1-00", LossWait, 24 * time.Hour}, {"--fed-on-node-loss=shrink", LossShrink, 0},
	} {
		r, err := Parse(Input{Args: append(strings.Fields(c.args), "--wrap", "true"), Dir: "/", Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if do, wait := r.Spec.NodeLoss(); do != c.do || wait != c.wait {
			t.Errorf("%q: %s %s", c.args, do, wait)
		}
	}
	for _, bad := range []string{"restart", "shrink:5", "wait:", "wait:soon", "wait:0", "wait:UNLIMITED", "wait:1-00:01", "requeue:1", ""} {
		f := Fed{}
		if why := setOnNodeLoss(&f, bad); !strings.Contains(why, "want requeue, wait, wait:TIME") || f.OnNodeLoss != "" {
			t.Errorf("%q: %q, %q", bad, why, f.OnNodeLoss)
		}
	}
	r, err := Parse(Input{Args: []string{"--no-requeue", "--fed-on-node-loss=wait", "--wrap", "true"}, Dir: "/", Now: time.Now()})
	if err != nil || !strings.Contains(r.Spec.InvalidLossOf(), "--no-requeue forbids") {
		t.Errorf("%v", err)
	}
}
