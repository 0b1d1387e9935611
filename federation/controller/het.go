package controller

import (
	"log/slog"
	"time"

	"fsub/federation"
	"fsub/federation/lifecycle"
)

// A heterogeneous job is placed, submitted, held and cancelled as one: by its first component, the leader. The
// others have numbers and records of their own, which follow what the site says of each; they are never in the
// queue.

// components follow what becomes of their leaders.
type components struct {
	now     func() time.Time
	log     *slog.Logger
	sites   *roster
	jobs    *jobTable
	batch   *pendingBatch
	limits  *limits
	charges *charges
}

// link joins a component with its leader. A leader that is not live has been ended without it, which the store
// does not allow.
func (cp *components) link(j *job) {
	leader := cp.jobs.Of(j.Component.Leader)
	if leader == nil {
		cp.log.Error("component of a job that is not there", "job", j.ID, "leader", j.Component.Leader)
		cp.jobs.Delete(j.ID)
		return
	}
	j.join().leader = leader
	leader.join().others = append(leader.others, j)
}

// report takes in what the site says of a component of its leader's live attempt. It reports whether the component has ended.
func (cp *components) report(s *site, j *job, sj federation.SiteJob) (ended bool) {
	run := j.leader.att.Charged + 1
	cp.limits.charged("", j, &sj)
	if sj.Restarts > j.Restarts {
		cp.charges.component(s, j, run, federation.Requeued, lifecycle.RequeuedAt(&sj, j.Start, cp.now()), federation.PriceTable)
	}
	if !sj.Start.IsZero() {
		j.join().held = sj.Held()
	}
	j.Site, j.Partition, j.Account, j.Nodes = s.Name, sj.Partition, sj.Account, sj.Nodes
	j.State, j.Reason, j.Start, j.Restarts = sj.State, sj.Reason, sj.Start, sj.Restarts
	j.SetSuspension(sj.Suspension)
	if sj.State.Ended() {
		j.ExitStatus = sj.ExitStatus
		cp.charges.component(s, j, run, sj.State, sj.End, federation.PriceTable)
		return true
	}
	cp.batch.job(j)
	return false
}

// endWith charges, with the end of a job, for the components of it that have not been seen to end, and returns them: they end as it does.
func (cp *components) endWith(l *job, at time.Time) (all []*job) {
	for _, j := range l.others {
		if j.State.Ended() {
			continue
		}
		j.ExitStatus = l.ExitStatus
		if s := cp.sites.byName[j.Site]; s != nil && !j.Start.IsZero() {
			if j.State == federation.Suspended { // it was let go on to be ended
				j.SetSuspension(j.Suspension().Resume(at))
			}
			cp.charges.component(s, j, l.att.Charged, l.State, at, federation.PriceTable)
		}
		all = append(all, j)
	}
	return all
}

// follow brings the waiting components in line with their leader: bound, requeued, held or released.
func (cp *components) follow(l *job) {
	for _, j := range l.others {
		if j.State.Ended() {
			continue
		}
		j.Held, j.Holder, j.Cancel, j.CancelBy = l.Held, l.Holder, l.Cancel, l.CancelBy
		if l.State == federation.Pending {
			if s := cp.sites.byName[j.Site]; s != nil && l.att != nil && l.att.State == federation.AttemptEnded { // its own end was not seen
				cp.charges.component(s, j, l.att.Charged, l.att.Final, l.att.Ended, federation.PriceTable)
			} else if l.att != nil && l.att.State.Final() {
				cp.charges.component(s, j, l.att.Charged, federation.NodeFail, cp.now().UTC(), federation.PriceNone)
			}
			j.State, j.Reason, j.Site, j.Partition, j.Nodes, j.Start, j.Pause = federation.Pending, l.Reason, l.Site, "", "", time.Time{}, nil
		}
		cp.batch.job(j)
	}
}
