package controller

import (
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// candidates are the jobs that may be bound: what placement knows of a job is kept in line with what the job is.
type candidates struct {
	sites      *roster
	batch      *pendingBatch
	limits     *limits
	runs       *runTimes
	queue      *queue
	arrays     *arrays
	components *components
	depends    *dependencies
	life       *life
	comparing  *comparing

	killInvalid bool // a job whose dependency can never be met is cancelled, unless it says otherwise
	foreseen    bool // since it was set to false, of some job it has changed whether it can ever start
}

// consider brings what placement knows of a job in line with what the job is now. One that may not be bound is given its reason.
func (cd *candidates) consider(j *job, now time.Time) {
	if j.live() {
		cd.queue.claim(j)
		return
	}
	if !j.queued {
		return
	}
	reason := cd.blocked(j, now)
	if !j.queued { // by its deadline or its dependency
		cd.foreseen = true
		return
	}
	cd.flee(j, now)
	if j.comesBack(now) {
		cd.arrays.withdraw(j)
	}
	if len(j.refused) > 0 {
		cd.queue.times.add(j, j.refusedUntil)
	}
	if reason != "" || j.spreads() {
		cd.queue.world.DropJob(j.ID)
	} else {
		until, spent := j.spent(now)
		if spent {
			cd.queue.times.add(j, until)
		}
		cd.queue.tell(place.Waiting{Job: withKept(j), Refused: j.refused, Expected: cd.runs.expected(&j.Job), Spent: spent})
	}
	switch {
	case reason != "":
		cd.arrays.withdraw(j)
	case j.spreads():
		reason = cd.offer(j, now)
	}
	if reason != "" && !j.State.Ended() {
		cd.setReason(j, reason)
	}
	never := j.depends.reason(now) == reasons.DependencyNever || j.spreads() && reason == reasons.DependencyNever
	cd.foreseen = cd.depends.foresee(j, never && !j.State.Ended()) || cd.foreseen
}

// kills reports whether a job is cancelled if its dependency can never be met.
func (cd *candidates) kills(j *job) bool {
	if m := j.Spec.More; m != nil && m.KillOnInvalidDep != "" {
		return m.KillOnInvalidDep == sbatch.Yes
	}
	return cd.killInvalid
}

// offer offers the tasks of an array that may be bound now, and cancels those that can never start, if the job asks for that.
func (cd *candidates) offer(j *job, now time.Time) reasons.Reason {
	reason, never := cd.arrays.offer(j, now)
	if cd.kills(j) {
		never = slices.DeleteFunc(never, func(index int) bool { return !j.depends.broken(index) })
	} else {
		never = nil
	}
	if len(never) > 0 {
		cd.batch.eventf(j, "tasks %s can never start, for the tasks that they wait for have failed: cancelled", federation.FormatArray(never, 0))
		tasks := federation.TaskSetOf(never)
		cd.life.cancelRest(j, &tasks, nil)
	}
	return reason
}

// blocked says why a job may not be bound yet, "" if it may, and has it considered again when a time that it waits for has come.
func (cd *candidates) blocked(j *job, now time.Time) reasons.Reason {
	if end := j.Spec.Deadline; !end.IsZero() {
		if now.After(end) {
			cd.life.endRest(j, federation.Deadline, reasons.Deadline, now)
			return reasons.Deadline
		}
		cd.queue.times.add(j, end.Add(1))
	}
	switch {
	case j.Held != federation.NotHeld:
		return j.heldReason()
	case now.Before(j.Spec.Begin):
		cd.queue.times.add(j, j.Spec.Begin)
		return reasons.BeginTime
	case cd.comparing.holds(j):
		return reasons.Restored
	case now.Before(j.asideUntil):
		cd.queue.times.add(j, j.asideUntil)
		return reasons.Fault
	}
	if reason := cd.overQuota(j, &j.Job, nil, now); reason != "" {
		return reason
	}
	reason := j.depends.reason(now)
	if next := j.depends.next(now); !next.IsZero() {
		cd.queue.times.add(j, next)
	}
	if reason == reasons.DependencyNever && cd.kills(j) && j.depends.broken(-1) { // as long as only others can never start, that may change
		cd.life.endRest(j, federation.Cancelled, reason, now)
	}
	if limit := j.limit(); reason == "" && limit > 0 && j.array.running() >= limit {
		return reasonTaskLimit
	}
	return reason
}

func (cd *candidates) setReason(j *job, r reasons.Reason) {
	cd.queue.told.Waits(j.ID, r)
	if j.Reason != r {
		j.Reason = r
		if len(j.others) == 0 {
			cd.batch.reason(j)
			return
		}
		cd.batch.job(j)
		cd.components.follow(j)
	}
}

// quotaAgain is when a job that a limit keeps back is looked at again.
const quotaAgain = 15 * time.Second

// overQuota says why the limits of the account tree keep a job from being bound, "" if they do not, and has it considered again. j is what waits: the job, or
// its array. Without an offer only that counts which is known of the job anywhere.
func (cd *candidates) overQuota(j *job, of *federation.Job, o *decision.Offer, now time.Time) reasons.Reason {
	if !cd.limits.hold(of) {
		return ""
	}
	w := cd.limits.wants(of, o)
	no := cd.limits.book.Check(now, &w)
	if no == nil {
		return ""
	}
	cd.queue.times.add(j, now.Add(quotaAgain))
	if j.Reason != no.Reason {
		cd.batch.eventf(j, "waits: %s", no.Public()) // whoever sees the job sees this
	}
	return no.Reason
}

// lookAtLiveRun is how often a site is looked at again where a run of a job may still live.
const lookAtLiveRun = 5 * time.Second

// flee keeps a job from the site where a run of it may still live, for as long as it may.
func (cd *candidates) flee(j *job, now time.Time) {
	r := j.liveRun
	if r == nil {
		return
	}
	s := cd.sites.byName[r.Site]
	if s == nil || r.Over(&s.Site, now) {
		j.hinder().liveRun = nil
		return
	}
	j.leaveOut(decision.Rejection{Site: r.Site, Reason: reasons.Forgotten, Why: codes.Because(codes.Ghost)}, now.Add(lookAtLiveRun))
}
