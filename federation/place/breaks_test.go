package place

import (
	"fmt"
	"testing"
	"time"

	"fsub/federation"
	"fsub/topology"
)

// evenSites are sites of nodes in leaves of four, at the same price.
func evenSites(sites, nodes int) []*federation.Site {
	all := fleet(sites, nodes)
	for _, s := range all {
		s.Prices = all[0].Prices
		paths := map[string]string{}
		for i := range s.Seen.Nodes {
			paths[s.Seen.Nodes[i].Name] = fmt.Sprintf("core:leaf%d", i/4)
		}
		s.Seen.Tree = topology.FromPaths(paths)
	}
	return all
}

// use has some GPUs of a node be in use.
func use(s *federation.Site, node, gpus int) {
	n := &s.Seen.Nodes[node]
	n.GRES[0].Used, n.CPUsUsed, n.State = gpus, 11*gpus, []string{"MIXED"}
}

// startsOn is where a job of some GPUs on one node starts.
func startsOn(t *testing.T, sites []*federation.Site, gpus int) (site federation.SiteName, node string) {
	t.Helper()
	w := newWorldOf(&federation.Snapshot{Now: time.Unix(1e9, 0), Sites: sites, Jobs: []*federation.Job{gpuJob(1, 1, 1, gpus, time.Hour)}}, DefaultPolicy())
	w.OnStart(func(_ *federation.Job, at federation.SiteName, held federation.RunningJob) {
		site, node = at, held.Nodes[0]
	})
	w.Plan()
	return site, node
}

// TestSmallJobsSpareWholeLeaves: a job of one GPU breaks into the leaf of which least is free, and into no node that is
// free where it can have part of another one for as much.
func TestSmallJobsSpareWholeLeaves(t *testing.T) {
	sites := evenSites(1, 12)
	use(sites[0], 6, 8)
	if _, node := startsOn(t, sites, 1); node != "s00n00004" {
		t.Errorf("it starts on %s, and leaf1 has one free node fewer than the others", node)
	}
	use(sites[0], 9, 7)
	if _, node := startsOn(t, sites, 1); node != "s00n00009" {
		t.Errorf("it starts on %s, and one of s00n00009 has a GPU left", node)
	}
	for part := range 2 { // whichever of the sites would be first
		sites := evenSites(2, 8)
		use(sites[part], 5, 3)
		if site, node := startsOn(t, sites, 2); site != sites[part].Name || node != sites[part].Seen.Nodes[5].Name {
			t.Errorf("it starts on %s of %s, and node 5 of %s is in use already", node, site, sites[part].Name)
		}
		if site, node := startsOn(t, sites, 8); node == sites[part].Seen.Nodes[5].Name {
			t.Errorf("a job of a whole node starts on %s of %s", node, site)
		}
	}
}
