package controller

import (
	"fmt"
	"slices"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
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

// takeShrunk takes in which nodes a running job does not have any more where its site tells of no losses: Slurm takes those that are down from a job with --no-kill.
func (rp *reports) takeShrunk(s *site, j *job, sj *federation.SiteJob) {
	a := j.att
	if do, _ := j.Spec.NodeLoss(); do != sbatch.LossShrink || len(sj.Losses) > 0 || a.Nodes == sj.Nodes || a.State != federation.AttemptStarted || sj.State != federation.Running ||
		!sj.Start.Equal(a.Started) {
		return
	}
	before, bad := hostlist.Expand(a.Nodes)
	now, err := hostlist.Expand(sj.Nodes)
	if bad != nil || err != nil || len(now) == 0 || slices.ContainsFunc(now, func(n string) bool { return !slices.Contains(before, n) }) {
		return
	}
	a.Losses = slices.Clip(a.Losses)
	for _, node := range before {
		if slices.Contains(now, node) {
			continue
		}
		l := federation.NodeLoss{Node: node, At: rp.now().UTC(), Why: fmt.Sprintf("%s shows the job without it", s.Name), Shrunk: true}
		if a.Losses = append(a.Losses, l); len(a.Losses) > mostLosses {
			a.Losses = a.Losses[1:]
		}
		rp.batch.eventf(j, "lost node %s (%s): it goes on without", l.Node, l.Why)
	}
}

// mostLosses bounds the losses that are kept of an attempt.
const mostLosses = 50

// newNode names the node that came in the place of a lost one: often another machine has its name.
func newNode(l federation.NodeLoss) string {
	if l.By == l.Node {
		return "another machine of its name"
	}
	return "node " + l.By
}
