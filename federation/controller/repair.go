package controller

import (
	"context"
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/federation/lifecycle"
	"fsub/federation/reasons"
)

// repairs find out what has become of attempts whose fate is unknown, and repeat what had no effect.
type repairs struct {
	now       func() time.Time
	t         Timing
	sites     *roster
	jobs      *jobTable
	batch     *pendingBatch
	calls     *calls
	life      *life
	reports   *reports
	attempts  *attempts
	comparing *comparing
}

// reconcile finds the attempts whose fate is unknown and the cancellations that have no effect yet, and acts on them.
func (re *repairs) reconcile() {
	now := re.now()
	for _, j := range re.attention() {
		if s := re.sites.byName[j.att.Site]; s != nil && !s.breaker.open && !j.busy && !now.Before(j.retry) {
			subject{j.ID, s.Name}.do(func() { re.repairOne(j, s, now) })
		}
	}
}

// repairOne goes on with one attempt.
func (re *repairs) repairOne(j *job, s *site, now time.Time) {
	switch {
	case j.unsure || j.lostStart || !j.missing.IsZero():
		re.lookup(j, s)
	case j.Cancel && j.ending: // a thousand of them take a while
	case j.Cancel && !now.Before(j.cancelAt):
		try := j.try()
		try.cancelAt, try.ending = now.Add(re.t.CancelEach), true
		re.calls.act(j, "cancel", func(d federation.Driver, ctx context.Context, ref federation.JobRef) error {
			return d.Cancel(ctx, ref, nil)
		})
	case j.heldThere && j.Held == federation.NotHeld && !now.Before(j.releaseAt):
		j.try().releaseAt = now.Add(re.t.CancelEach)
		re.calls.act(j, "release", federation.Driver.Release)
	case j.tellHold && !now.Before(j.tellHoldAt):
		re.tellHold(j)
	}
}

// tellHold tells the site again whether the job is held: it did not answer when that changed.
func (re *repairs) tellHold(j *job) {
	j.try().tellHold = false
	switch {
	case j.State != federation.Pending:
	case j.Held != federation.NotHeld:
		re.calls.act(j, "hold", federation.Driver.Hold)
	default:
		re.calls.act(j, "release", federation.Driver.Release)
	}
}

// attention lists the live jobs for which repair may have something to do, in order of ID.
func (re *repairs) attention() []*job {
	var out []*job
	for _, s := range re.sites.all {
		for _, j := range s.jobs {
			if j.unsure || j.Cancel || j.lostStart || j.heldThere || j.tellHold || !j.missing.IsZero() {
				out = append(out, j)
			}
		}
	}
	sortByID(out)
	return out
}

func (re *repairs) lookup(j *job, s *site) {
	j.try().busy = true
	kind, ref, d := lookedUp{job: j.ID, attempt: j.att.Number, confirm: j.lostStart}, j.Ref(j.att), s.driver
	re.calls.add(s, kind, func(ctx context.Context) any {
		r := kind
		r.found, r.err = d.Lookup(ctx, ref)
		return r
	})
}

// takeLookedUp decides over an attempt whose fate was unknown, from all that the site knows of its ID.
func (re *repairs) takeLookedUp(s *site, r lookedUp) {
	j := re.jobs.Of(r.job)
	if j == nil || j.att == nil || j.att.Number != r.attempt || j.att.State.Final() {
		return
	}
	j.try().busy = false
	k := j.known(s)
	switch k.AfterLookup(&lifecycle.Answer{Found: r.found, Err: r.err, Confirm: r.confirm}) {
	case lifecycle.Nothing:
		re.attempts.later(j, s, r.err)
	case lifecycle.LostItsStart:
		re.reports.loseStart(s, j, r.found)
	case lifecycle.IsThere:
		j.try().fails = 0
		re.reports.report(s, j, r.found)
	case lifecycle.RemembersLast:
		re.attempts.remembered(s, j, fmt.Errorf("%w: %s, %s, until MinJobAge has passed", federation.ErrRemembered, r.found.Key, r.found.State))
	case lifecycle.NeverArrived:
		if j.Cancel || re.settled(s, j) {
			re.again(j, s)
		}
	case lifecycle.WasLost:
		re.lost(j, s, r.err == nil && k.Is(&r.found) && r.found.State.Started())
	}
}

// settled reports whether an ID that the site does not hold now has been free for long enough. If not, it is looked for again.
func (re *repairs) settled(s *site, j *job) bool {
	if !ranHere(s, j) {
		return true
	}
	now := re.now()
	if j.free.IsZero() {
		j.try().free = now
	}
	if left := freeFor - now.Sub(j.free); left > 0 {
		j.try().retry = now.Add(left)
		return false
	}
	return true
}

// again submits an attempt of unknown fate once more, under the same key.
func (re *repairs) again(j *job, s *site) {
	j.try().unsure = false
	if j.Cancel {
		re.life.finishAttempt(j, federation.AttemptWithdrawn, "cancelled before it reached the site")
		re.life.end(j, federation.Cancelled, reasons.None, re.now())
		return
	}
	if j.whole != nil {
		re.life.finishAttempt(j, federation.AttemptWithdrawn, "its tasks are submitted one by one")
		re.life.backToQueue(j, reasons.Priority)
		return
	}
	if re.comparing.holds(j) { // a later attempt may have run elsewhere
		re.life.finishAttempt(j, federation.AttemptWithdrawn, "not known there after a restore of the store")
		re.life.backToQueue(j, reasons.Restored)
		return
	}
	if j.att.Tries > 0 {
		re.batch.eventf(j, "%s does not know it: submitted again", s.Name)
	}
	re.attempts.submit(j)
}

// lost deals with an attempt that the site had acknowledged and does not know any more, or knows only from accounting as not ended.
func (re *repairs) lost(j *job, s *site, startedByAccounting bool) {
	now := re.now()
	if j.missing.IsZero() {
		j.try().missing = now
	}
	m := lifecycle.Missing{Since: j.missing, Last: j.lastKnown, Acked: j.att.Acked, Created: j.att.Created}
	if at := m.BelievedAt(re.t.Confirm, re.t.MinJobAge); now.Before(at) {
		j.try().retry = at
		return
	}
	if m.Restored(re.t.MinJobAge, sinceSaved) {
		s.wentBack(now, "it does not know job %s any more, which it had taken at %s", j.ID, j.att.Acked.Format(time.RFC3339))
	}
	started := startedByAccounting || j.att.State == federation.AttemptStarted
	j.mayLive(j.att, now)
	re.life.lose(j, started, health.CodeForgotten, lostNote(s.Name, started))
}

func lostNote(s federation.SiteName, started bool) string {
	if started {
		return fmt.Sprintf("the controller of %s lost the job after it had started", s)
	}
	return fmt.Sprintf("the controller of %s lost the job; nothing says that it had started", s)
}
