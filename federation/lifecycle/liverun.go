package lifecycle

import (
	"slices"
	"strings"
	"time"

	"fsub/federation"
)

// LiveRun is a run that a site's controller may have started and has forgotten: it may still live. Its node knows it until it has registered with the controller again
// and was told to end it. Until then the job is not sent to that site, where the node would refuse it, and slurmctld drain the node with the reason
// "Duplicate jobid".
type LiveRun struct {
	Site  federation.SiteName
	Nodes []string // where it may be; none: anywhere
	Since time.Time
}

const (
	// endsWithin is how long a node may take to register with a controller that has started again (it is asked to after 3 s), and to end what it is told to end.
	endsWithin = 15 * time.Second
	// mostWait bounds the wait for all nodes of a site where nobody knows on which one the run may be: some may be down for good.
	mostWait = 5 * time.Minute
)

// Over reports whether the site has had the time to end the run, and the nodes where it may be have answered since.
func (r *LiveRun) Over(s *federation.Site, now time.Time) bool {
	if now.Sub(r.Since) < endsWithin || !s.Answering || s.SeenAt.Before(r.Since.Add(endsWithin)) {
		return false
	}
	if len(r.Nodes) == 0 && now.Sub(r.Since) >= mostWait {
		return true
	}
	return !slices.ContainsFunc(s.Seen.Nodes, func(n federation.Node) bool {
		return silent(n.State) && (len(r.Nodes) == 0 || slices.Contains(r.Nodes, n.Name))
	})
}

func silent(state []string) bool {
	return slices.ContainsFunc(state, func(word string) bool {
		return strings.HasPrefix(word, "NOT_RESPONDING") || word == "DOWN" || word == "UNKNOWN"
	})
}
