package api

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/health"
)

// What a job has failed by itself is none of its node's failures.
func TestFailuresAreTheNodes(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fails := func(codes ...health.Code) (out []health.Fail) {
		for i, c := range codes {
			out = append(out, health.Fail{At: at.Add(time.Duration(i) * time.Minute), Job: federation.JobID(i + 1), Code: c})
		}
		return out
	}
	known := health.Report{Nodes: []health.NodeState{
		{Node: federation.NodeID{Site: "alpha", Name: "n1"}, Fails: fails(health.CodeNodeFail, health.CodeBus, health.CodeExit)},
		{Node: federation.NodeID{Site: "alpha", Name: "n2"}, Fails: fails(health.CodeExit, health.CodeSignal)},
		{Node: federation.NodeID{Site: "alpha", Name: "n3"}, Fails: fails(health.CodeExit), Until: at.Add(time.Hour), Rule: "black-hole"},
	}}
	known.Nodes[0].Fails[1].Text = "it is told"
	r := &rules{Report: func() *health.Report { return &known }, Now: func() time.Time { return at }}
	got, err := r.Get(nil, identity.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Nodes) != 2 || got.Nodes[0].Failures != 2 || got.Nodes[0].Why != "bus-error: it is told" || !got.Nodes[0].Last.Equal(at.Add(time.Minute)) || got.Nodes[1].Name != "n3" || got.Nodes[1].Failures != 0 {
		t.Errorf("%+v", got)
	}
}

// A node below a switch that gangs are kept off says so, unless it is avoided for its own sake.
func TestNodesBelowABadPart(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	known := health.Report{
		Nodes: []health.NodeState{{Node: federation.NodeID{Site: "alpha", Name: "n2"}, Until: at.Add(time.Hour), Rule: "black-hole"}},
		Breakers: []health.Breaker{
			{Name: "part:alpha/leaf1", Open: at, Until: at.Add(24 * time.Hour), Why: "4 of 4 gangs failed"},
			{Name: "part:alpha/leaf2"}, // reset a moment ago
		}}
	s := &nodes{Rules: func() *health.Report { return &known }, Now: func() time.Time { return at }}
	suspicion := s.suspicions()
	for _, want := range []struct{ name, part, rule string }{{"n1", "leaf1", health.RulePart}, {"n2", "leaf1", "black-hole"}, {"n3", "leaf2", ""}, {"n4", "", ""}} {
		got := suspicion(&memberNode{site: &federation.Site{Name: "alpha"}, node: &federation.Node{Name: want.name, BadPart: want.part}})
		if got == nil && want.rule != "" || got != nil && got.Rule != want.rule {
			t.Errorf("%s: %+v", want.name, got)
		}
		if want.name == "n1" && (got == nil || got.Why != "gangs are kept off leaf1: 4 of 4 gangs failed" || !got.Until.Equal(at.Add(24*time.Hour))) {
			t.Errorf("%+v", got)
		}
	}
}
