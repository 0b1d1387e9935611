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
