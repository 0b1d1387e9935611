package controller

import (
	"slices"

	"fsub/federation"
)

// takeLosses takes in which nodes a job has lost at its site without its end, and which came in their place.
func (rp *reports) takeLosses(j *job, sj *federation.SiteJob) {
	if len(sj.Losses) == 0 {
		return
	}
	known := j.att.Losses
	for _, l := range sj.Losses {
		at := slices.IndexFunc(known, func(k federation.NodeLoss) bool { return k.Node == l.Node && k.At.Equal(l.At) })
		if at < 0 {
			then := "its other nodes are kept for it until another one has come"
			if l.Shrunk {
				then = "it goes on without"
			}
			rp.batch.eventf(j, "lost node %s (%s): %s", l.Node, l.Why, then)
		}
		if l.By != "" && (at < 0 || known[at].By == "") {
			rp.batch.eventf(j, "%s came in the place of node %s", newNode(l), l.Node)
		}
	}
	j.att.Losses = slices.Clone(sj.Losses)
}

// newNode names the node that came in the place of a lost one: often another machine has its name.
func newNode(l federation.NodeLoss) string {
	if l.By == l.Node {
		return "another machine of its name"
	}
	return "node " + l.By
}
