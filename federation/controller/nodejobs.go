package controller

import (
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/health"
	"fsub/slurm/hostlist"
)

// What drains do with the jobs that run on their nodes, once the sites show them. Those that are moved see drainmoves.go.

// countJobs notes what the site's drains do with jobs.
func (n *siteNodes) countJobs() {
	n.jobs = map[string]bool{}
	for _, r := range n.wanted {
		if r.Wish == federation.WishDrain {
			n.jobs[r.Jobs] = true
		}
	}
}

// drained are the nodes that the site shows as drained, and that are to be rid of their jobs in this way.
func (n *siteNodes) drained(by action.Kind, now time.Time) map[string]*federation.NodeRecord {
	if n.raw == nil || !n.jobs[string(by)] {
		return nil
	}
	found := map[string]*federation.NodeRecord{}
	for i := range n.raw.Nodes {
		r := n.wanted[n.raw.Nodes[i].Name]
		if r.Wants(now) != federation.WishDrain || r.Jobs != string(by) {
			continue
		}
		if is := health.ConditionOf(&n.raw.Nodes[i]); is == health.Drained || is == health.DownDrained {
			found[r.Node.Name] = r
		}
	}
	return found
}

// drainOf is the drain of one of some nodes, by the site's own names; nil: none of them is drained.
func drainOf(drained map[string]*federation.NodeRecord, list string) *federation.NodeRecord {
	names, _ := hostlist.Expand(list)
	for _, name := range names {
		if r := drained[name]; r != nil {
			return r
		}
	}
	return nil
}

// requeue asks for the requeue of the jobs of ours that run on drained nodes, once each. A job of sbatch --no-requeue ends by itself.
func (ns *nodes) requeue(s *site, n *siteNodes, drained map[string]*federation.NodeRecord) {
	ask := func(j *job, r *federation.NodeRecord, k jobTask, restarts int, tasks federation.TaskSet) {
		if last, ok := n.requeued[k]; ok && last >= restarts {
			return
		}
		n.requeued[k] = restarts
		ns.batch.eventf(j, "requeued because node %s is drained by %s: %s", r.Node, r.Owner, r.Reason)
		ns.batch.request(action.Request{Job: j.ID, Tasks: tasks, Kind: action.Requeue, Operator: true, Restarts: j.Restarts, At: ns.now().UTC()})
	}
	for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
		j := s.jobs[id]
		if j.Spec.Requeue != nil && !*j.Spec.Requeue || j.leader != nil {
			continue
		}
		if j.whole == nil {
			if r := drainOf(drained, j.Nodes); r != nil && j.State.Started() {
				ask(j, r, jobTask{id, -1}, j.Restarts, federation.TaskSet{})
			}
			continue
		}
		for _, index := range slices.Sorted(maps.Keys(j.tasks)) {
			t := j.tasks[index]
			if r := drainOf(drained, t.Nodes); r != nil && t.State.Started() {
				ask(j, r, jobTask{id, index}, t.Restarts, federation.Tasks(index))
			}
		}
	}
	maps.DeleteFunc(n.requeued, func(k jobTask, _ int) bool { return s.jobs[k.job] == nil })
}
