package health

import (
	"slices"
	"time"

	"fsub/federation"
)

// Merge is o with the drains that are wanted and that its site does not show yet, so that nothing more is placed there. Without any it is o
// itself; o is not changed.
func Merge(o *federation.Observation, wanted map[string]*federation.NodeRecord, mark string, now time.Time) *federation.Observation {
	merged := o
	for i := range o.Nodes {
		r := wanted[o.Nodes[i].Name]
		if r.Wants(now) != federation.WishDrain {
			continue
		}
		switch ConditionOf(&o.Nodes[i]) {
		case Drained, DownDrained:
			continue
		}
		if merged == o {
			c := *o
			c.Nodes = slices.Clone(o.Nodes)
			merged = &c
		}
		n := &merged.Nodes[i]
		n.State = append(slices.Clone(n.State), "DRAIN")
		n.Unconfirmed = true
		if n.Reason == "" {
			n.Reason = r.Text(mark)
		}
	}
	return merged
}

// Word is what a history of the node tells of its state: nothing that goes with the jobs that run there.
func Word(n *federation.Node) string {
	has := func(s string) bool { return slices.Contains(n.State, s) }
	drained := has("DRAIN") || has("DRAINED") || has("DRAINING")
	if n.Rented != nil && has("POWERED_DOWN") && !drained { // there is no machine, and whether there could be one is not a state of it
		return "UP"
	}
	word := "UP"
	switch {
	case n.Rented != nil && has("POWERED_DOWN"):
		return "DRAIN"
	case has("DOWN"):
		word = "DOWN"
	case has("NOT_RESPONDING"):
		word = "NOT_RESPONDING"
	case has("FAIL") || has("FAILING"):
		word = "FAIL"
	case has("MAINTENANCE") || has("MAINT"):
		word = "MAINT"
	case drained:
		return "DRAIN"
	}
	if drained {
		word += "+DRAIN"
	}
	return word
}
