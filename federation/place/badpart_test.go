package place

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
)

// TestGangsAreKeptOffABadPart: nodes below a switch that is blamed for failures get jobs of one node, and gangs only if
// these find no other nodes or name them.
func TestGangsAreKeptOffABadPart(t *testing.T) {
	for _, c := range []struct {
		what  string
		nodes int
		list  string
		bad   bool // it may have nodes of the bad leaf
		said  string
	}{{"a gang", 4, "", false, "leaf0 of s00 (4 nodes)"},
		{"a gang that needs both leaves", 6, "", true, "leaf0 of s00 (4 nodes); it may run there all the same, as it finds too few other nodes"},
		{"a gang that names its nodes", 2, "s00n00000,s00n00001", true, ""},
		{"a job of one node", 1, "s00n00002", true, ""}} {
		sites := evenSites(1, 8)
		for i := range 4 {
			sites[0].Seen.Nodes[i].BadPart = "leaf0"
		}
		j := gpuJob(1, 1, c.nodes, 8, time.Hour)
		j.Spec.NodeList = c.list
		var held []string
		w := newWorldOf(&federation.Snapshot{Now: time.Unix(1e9, 0), Sites: sites, Jobs: []*federation.Job{j}}, DefaultPolicy())
		w.OnStart(func(_ *federation.Job, _ federation.SiteName, h federation.RunningJob) { held = h.Nodes })
		plan := w.Plan()
		if len(held) != c.nodes {
			t.Errorf("%s does not start: %v", c.what, held)
		}
		if bad := slices.ContainsFunc(held, func(n string) bool { return n < "s00n00004" }); bad != c.bad {
			t.Errorf("%s starts on %v", c.what, held)
		}
		var said []string
		for _, k := range plan.Decisions[0].Offers[0].KeptOff {
			said = append(said, k.Text(time.UTC))
		}
		if got := strings.Join(said, ", "); got != c.said {
			t.Errorf("of %s it is said that it is kept off %q, want %q", c.what, got, c.said)
		}
	}
}
