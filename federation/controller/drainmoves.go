package controller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/move"
)

// drainMoves empty the nodes that operators have drained with --move.
type drainMoves struct {
	nodes  *nodes
	looked federation.JobID             // the last job for which placement was asked
	swept  map[federation.SiteName]bool // sites without such nodes, of whose jobs none is said to stay on one
}

// stood is a job that runs, and where.
type stood struct {
	s *site
	j *job
}

func (a stood) id() federation.JobID { return a.j.ID }

// after puts in order what stands in a list, and begins behind a job, so that each pass goes on where the last one has stopped.
func after[T interface{ id() federation.JobID }](all []T, last federation.JobID) []T {
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(a.id(), b.id()) })
	from, _ := slices.BinarySearchFunc(all, last+1, func(a T, id federation.JobID) int { return cmp.Compare(a.id(), id) })
	return slices.Concat(all[from:], all[:from])
}

// rest reports whether there is nothing to do for some sites.
func (d *drainMoves) rest(sites []*site) bool {
	return !slices.ContainsFunc(sites, func(s *site) bool { return !d.swept[s.Name] || d.nodes.of(s.Name).jobs[string(action.Move)] })
}

// leaveDrained moves the jobs that run on such nodes. An operator has said so: neither the sum decides nor what the rule says of windows, and it does not matter when and how often a job was moved before.
// What protects others holds: the bound of moves by the hour, and that there is a place for it. A job that is not moved says why. It returns how many looks are left.
func (dp *departures) leaveDrained(now time.Time, looks int) int {
	d := &dp.emptied
	var all []stood
	why := map[federation.JobID]*federation.NodeRecord{}
	for _, s := range dp.sites.all {
		n := d.nodes.of(s.Name)
		drained := n.drained(action.Move, now)
		if n.raw == nil || len(drained) == 0 && d.swept[s.Name] {
			continue
		}
		d.swept[s.Name] = len(drained) == 0
		for _, j := range s.jobs {
			if j.att == nil || j.pack != nil {
				continue
			}
			r := drainOf(drained, j.att.Nodes)
			switch no := immovable(j); {
			case r == nil || !j.State.Started():
				dp.stays(j, nil, "")
			case no != "":
				dp.stays(j, r, no)
			case dp.quiet(s, j) && !dp.asked(j, now):
				all, why[j.ID] = append(all, stood{s, j}), r
			}
		}
	}
	for _, at := range after(all, d.looked) {
		subject{at.j.ID, at.s.Name}.do(func() { looks -= dp.empty(at, why[at.j.ID], looks > 0, now) })
	}
	return looks
}

// empty moves a job from the node that a record drains, or says why it stays. It returns how often placement was asked, which may be forbidden.
func (dp *departures) empty(at stood, r *federation.NodeRecord, look bool, now time.Time) (looked int) {
	s, j := at.s, at.j
	run := dp.run(s, j, now)
	switch c := run.Checkpoint; {
	case dp.bounds.Left(&dp.rule, now) == 0:
		dp.stays(j, r, fmt.Sprintf("%d jobs have been moved within an hour, and it waits for its turn", dp.rule.PerHour))
		return 0
	case c > 0 && run.Grace == 0 && run.Ran%c >= 2*departEach: // it leaves when it has just written one
		dp.stays(j, r, fmt.Sprintf("it waits for its next checkpoint, at about %s", now.Add(c-run.Ran%c).UTC().Format(timeOfDay)))
		return 0
	case !look:
		return 0
	}
	dp.emptied.looked = j.ID
	rest, ok := dp.compare(s, j, &run, dp.left(j, run.Ran), true, false)
	if !ok {
		dp.stays(j, r, "no other nodes can take it now")
		return 1
	}
	costs := append(run.Costs(&rest.To), move.Dearer(rest.Here, rest.To.Rest)...)
	m := &decision.Moved{Kind: move.Window, Why: fmt.Sprintf("node %s is drained by %s: %s", r.Node, r.Owner, r.Reason), Stay: true, Saves: []decision.Term{}, Costs: costs}
	dp.record(s, j, m, now)
	dp.begin(s, j, m)
	return 1
}

// asked reports whether the run of a job was to be moved already, not long ago.
func (dp *departures) asked(j *job, now time.Time) bool {
	m := j.att.Moved
	return m != nil && m.Run.Equal(j.att.Started) && now.Sub(m.At) < dp.rule.Between
}

// stays says why a job is not moved from a drained node, for the first time in its history, too; nil: it is on none.
func (dp *departures) stays(j *job, r *federation.NodeRecord, why string) {
	text := ""
	if r != nil {
		text = fmt.Sprintf("stays on node %s, which %s drains: %s", r.Node, r.Owner, why)
	}
	if j.att.Stays == text {
		return
	}
	if j.att.Stays == "" {
		dp.batch.eventf(j, "%s", text)
	}
	j.att.Stays = text
	dp.batch.attempt(j.att)
}
