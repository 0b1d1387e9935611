package scontrol

import "testing"

// TestClusters: without --clusters, and where it names the federation, every site counts; otherwise those that it names.
func TestClusters(t *testing.T) {
	for _, c := range []struct {
		clusters clusters
		query    string
		other    bool
	}{
		{clusters{}, "?sparse=1", true},
		{clusters{named: "fed", sites: []string{}}, "?sparse=1", true},
		{clusters{named: "alpha,beta", sites: []string{"alpha", "beta"}, some: true}, "?sparse=1&cluster=alpha,beta", false},
	} {
		if got := c.clusters.query(); got != c.query {
			t.Errorf("%+v: query %s, want %s", c.clusters, got, c.query)
		}
		if !c.clusters.has("alpha") || c.clusters.has("gamma") != c.other {
			t.Errorf("%+v: alpha %t, gamma %t", c.clusters, c.clusters.has("alpha"), c.clusters.has("gamma"))
		}
	}
}
