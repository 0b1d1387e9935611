package starts

import (
	"slices"
	"time"
)

// Lag is how old what the daemon knows may be: an answer of squeue --start stands for five seconds, and the sites are looked at every few. What has come about later than that
// before a forecast was not known to it.
const Lag = 8 * time.Second

// Held is for how long a job held a node.
type Held struct {
	Node       string
	Start, End time.Time
}

// Site is what became of a site's nodes.
type Site struct {
	Nodes int
	Held  []Held
}

// Free is the first time from at on when so many nodes can be free at once by what holds them then; others that come later are not looked at.
func (s *Site) Free(nodes int, at time.Time) time.Time {
	until := map[string]time.Time{}
	for _, h := range s.Held {
		if h.Start.Before(at.Add(-Lag)) && h.End.After(at) && h.End.After(until[h.Node]) {
			until[h.Node] = h.End
		}
	}
	idle := s.Nodes - len(until)
	if nodes <= idle {
		return at
	}
	ends := make([]time.Time, 0, len(until))
	for _, end := range until {
		ends = append(ends, end)
	}
	slices.SortFunc(ends, time.Time.Compare)
	return ends[nodes-idle-1]
}
