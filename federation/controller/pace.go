package controller

import (
	"slices"
	"time"
)

// pace is how fast short jobs of ours end at a site. From the end of a job until the site has another in its stead it takes a look at the
// site's jobs, one at its nodes, a plan and a submission: whatever may end meanwhile should wait there already.
type pace struct{ ends []paceEnd }

type paceEnd struct {
	at time.Time
	n  float64 // how much of a job it is expected to end in paceAhead
}

const (
	paceWindow = 10 * time.Second // what counts
	paceAhead  = 4 * time.Second  // what others should wait for
	paceStep   = 16               // what waits there is counted so, for each change means a new plan
)

// ended notes the end of a job that has run so long.
func (p *pace) ended(now time.Time, ran time.Duration) {
	p.ends = append(p.ends, paceEnd{now, min(1, paceAhead.Seconds()/max(ran, time.Second).Seconds())})
}

// ahead is how many jobs should wait at the site.
func (p *pace) ahead(now time.Time) int {
	p.ends = slices.DeleteFunc(p.ends, func(e paceEnd) bool { return now.Sub(e.at) > paceWindow })
	if len(p.ends) == 0 {
		return 0
	}
	sum := 0.0
	for _, e := range p.ends {
		sum += e.n
	}
	span := max(now.Sub(p.ends[0].at), time.Second)
	return int(sum/span.Seconds()*paceAhead.Seconds()) / paceStep * paceStep
}
