package controller

import (
	"slices"
	"testing"
	"time"

	"fsub/federation"
)

// Half of the nodes are silent: that is told once it has lasted, and not of nodes that were just resumed.
func TestSilentNodesAreToldAfterAWhile(t *testing.T) {
	b := newBench(t)
	b.wait(time.Second)
	silent := func() bool {
		for _, s := range b.ctl.Sites() {
			if s.Name == "cheap" {
				return slices.ContainsFunc(s.Conditions, func(c federation.Condition) bool { return c.Name == federation.CondNodesSilent })
			}
		}
		return false
	}
	mark := func(on bool) {
		b.cheap.down = map[string]bool{"n1": on, "n2": on}
	}
	mark(true)
	b.wait(20 * time.Second)
	if silent() {
		t.Error("told after 20 s")
	}
	b.wait(30 * time.Second)
	if !silent() {
		t.Error("not told after 50 s")
	}
	mark(false)
	b.wait(20 * time.Second)
	if silent() {
		t.Error("still told")
	}
	b.wish(federation.WishResume, nil, "n1", "n2")
	mark(true)
	b.wait(2 * time.Minute)
	if silent() {
		t.Error("told of nodes that were just resumed")
	}
}
