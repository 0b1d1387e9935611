package controller

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// Jobs that wait at a site which cannot run them, because the nodes that they need are down or drained, are moved to another site that can.

// stuckFor is how long a site must have been unable to run a job before it is moved: nodes that boot are back by then.
const stuckFor = time.Minute

// leaveStuck looks for such jobs, not more often than Timing.PlanAgain.
func (mv *moves) leaveStuck() {
	now := mv.now()
	if now.Before(mv.nextStuck) {
		return
	}
	mv.nextStuck = now.Add(mv.t.PlanAgain)
	for _, s := range mv.sites.all {
		if !s.Answering || s.State != federation.FedActive {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
			j := s.jobs[id]
			if j.State != federation.Pending || j.att.State != federation.AttemptSubmitted || j.Cancel || j.Held != federation.NotHeld || j.whole != nil || j.leader != nil || j.pack != nil {
				continue
			}
			why := mv.cannotRun(s, j)
			switch {
			case why == "":
				j.try().stuck = time.Time{}
			case j.stuck.IsZero():
				j.try().stuck = now
			case now.Sub(j.stuck) >= stuckFor && !mv.moving(j) && mv.elsewhere(j) != "":
				mv.start(j, fmt.Sprintf("%s cannot run it: %s", s.Name, why))
			}
		}
	}
}

// cannotRun says why a site has no nodes that could run a job of ours there, as its nodes are now; "" if it has.
func (mv *moves) cannotRun(s *site, j *job) string {
	d := mv.judge(j)
	if slices.ContainsFunc(d.Offers, func(o *decision.Offer) bool { return o.Site == s.Name }) {
		return ""
	}
	for _, r := range d.Rejections {
		if r.Site == s.Name && (r.Reason == reasons.ReqNodeNotAvail || r.Reason == reasons.PartitionDown) {
			return r.Text()
		}
	}
	return ""
}

// elsewhere is a site other than the one where a job waits that could run it, "" if there is none.
func (mv *moves) elsewhere(j *job) federation.SiteName {
	for _, o := range mv.judge(j).Offers {
		if o.Site != j.att.Site && !j.leavesSite(o.Site, mv.now()) {
			return o.Site
		}
	}
	return ""
}

// judge asks placement where a job could run, whatever is free.
func (mv *moves) judge(j *job) (d decision.Decision) {
	if f := mv.queue.world.Guard(func() { d = mv.queue.world.Judge(&j.Job) }); f != nil {
		mv.log.Error("placement failed", "job", j.ID, "err", f)
	}
	return d
}

// moving reports whether the job is being moved already.
func (mv *moves) moving(j *job) bool {
	a := mv.asks.open[j.ID]
	return a != nil && a.Kind == action.Move
}

// start has a job leave the site where it waits, by a request like an operator's.
func (mv *moves) start(j *job, why string) {
	j.try().stuck = time.Time{}
	mv.batch.request(action.Request{Job: j.ID, Kind: action.Move, Operator: true, Restarts: j.Restarts, At: mv.now().UTC(),
		Move: &action.Relocation{From: j.att.Site, Why: why}})
}
