package controller

import (
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/slurm/hostlist"
)

// A ghost is a run that a site's controller may have started and has forgotten. Its node still knows it until it has registered with the controller
// again and was told to end it. Until then the job is not sent to that site, where the node would refuse it, and slurmctld drain the node
// with the reason "Duplicate jobid".
type ghost struct {
	site  federation.SiteName
	nodes []string // where it may be; none: anywhere
	since time.Time
}

const (
	// ghostFor is how long a node may take to register with a controller that has started again (it is asked to after 3 s), and to end what it
	// is told to end.
	ghostFor = 15 * time.Second
	// ghostMost bounds the wait for all nodes of a site where nobody knows on which one the run may be: some may be down for good.
	ghostMost = 5 * time.Minute
	ghostLook = 5 * time.Second
)

// haunt notes that a run of an attempt that was forgotten may still live.
func (j *job) haunt(a *federation.Attempt, since time.Time) {
	nodes, _ := hostlist.Expand(a.Nodes) // the site's own
	j.hinder().ghost = &ghost{site: a.Site, nodes: nodes, since: since}
}

// gone reports whether the site has had the time to end the run, and the nodes where it may be have answered since.
func (g *ghost) gone(s *site, now time.Time) bool {
	if now.Sub(g.since) < ghostFor || !s.Answering || s.SeenAt.Before(g.since.Add(ghostFor)) {
		return false
	}
	if len(g.nodes) == 0 && now.Sub(g.since) >= ghostMost {
		return true
	}
	for i := range s.Seen.Nodes {
		n := &s.Seen.Nodes[i]
		silent := slices.ContainsFunc(n.State, func(word string) bool {
			return strings.HasPrefix(word, "NOT_RESPONDING") || word == "DOWN" || word == "UNKNOWN"
		})
		if silent && (len(g.nodes) == 0 || slices.Contains(g.nodes, n.Name)) {
			return false
		}
	}
	return true
}
