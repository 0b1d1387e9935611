package node

import (
	"strings"
	"testing"
	"time"

	v1 "fsub/federation/api/v1"
)

// A node that is suspected says so, and a drain that its site was never told of is not shown as done.
func TestNodeWords(t *testing.T) {
	n := v1.Node{State: []string{"IDLE"}, Suspected: &v1.Suspicion{Rule: "node-failed", Until: time.Now().Add(time.Hour)}}
	if text := NodeReason(&n); !strings.HasPrefix(text, "suspected: node-failed until ") {
		t.Errorf("reason %q", text)
	}
	for _, c := range []struct {
		unconfirmed, stale bool
		want               string
	}{{true, true, "IDLE*"}, {true, false, "DRAINED"}, {false, true, "DRAINED*"}} {
		if got := NodeState(&v1.Node{State: []string{"IDLE", "DRAIN"}, Unconfirmed: c.unconfirmed, Stale: c.stale}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
