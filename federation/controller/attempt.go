package controller

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/fairshare"
	"fsub/federation/place"
	"fsub/federation/reasons"
)

// refusedFor is how long a site that refused a job is left alone with it. Accounts, limits and nodes change.
const refusedFor = 10 * time.Minute

// attempts are made, and handed over to their sites.
type attempts struct {
	federation string
	now        func() time.Time
	t          Timing
	log        *slog.Logger
	metrics    *metrics
	delivery   *delivery
	sites      *roster
	jobs       *jobTable
	batch      *pendingBatch
	calls      *calls
	limits     *limits
	preempts   *preempts
	upkeep     *upkeep
	fairShare  *fairshare.Shares
	queue      *queue
	arrays     *arrays
	components *components
	life       *life
	rules      *healthRules
	watch      *watch
	promises   *promises
	claimed    int64 // number of the last claim
}

// bind writes the intent to run j where d.Offers[0] says. The submission itself follows the commit.
func (at *attempts) bind(j *job, d decision.Decision) {
	o := d.Offers[0]
	s := at.sites.byName[o.Site]
	now := at.now().UTC()
	number := j.Attempt + 1
	at.claimed = max(at.claimed+1, now.UnixMicro()) // after all that earlier daemons have claimed, too
	d.Claim, d.Place = at.claimed, at.promises.placeOf(promisedTo(&j.Job), o.Site)
	if j.att != nil && j.att.Site != o.Site {
		j.try().older = nil
	}
	here := j.att != nil && j.att.Site == o.Site
	moved := j.lastMove()
	again := here && j.att.State == federation.AttemptRefused
	madeRoom := here && j.att.Class == federation.ClassPreempt || again && j.madeRoom
	if j.try().madeRoom = madeRoom; !again {
		j.tried.remembered = time.Time{}
	}
	j.tried.att = &federation.Attempt{
		Job: j.ID, Number: number, Key: federation.AttemptKey(at.federation, &j.Job, number), Site: o.Site, Partition: o.Partition,
		State: federation.AttemptIntended, Created: now, Decision: cut(d), Held: federation.Held{Account: at.limits.payer(&j.Job)}, Moved: moved,
	}
	j.Attempt, j.Site, j.Partition = number, o.Site, o.Partition
	j.Reason = reasons.Resources
	try := j.try()
	try.unsure, try.missing, try.fails, try.lastKnown, try.retry, try.free, try.tellHold = ranHere(s, j), time.Time{}, 0, time.Time{}, time.Time{}, time.Time{}, false
	s.jobs[j.ID] = j
	at.limits.reserve(j)
	if at.fairShare != nil {
		at.fairShare.Bound(j.ID)
	}
	at.queue.drop(j)
	at.queue.claim(j)
	if j.array != nil {
		at.arrays.moved(j.array)
	}
	at.batch.job(j)
	at.components.follow(j)
	at.batch.attempt(j.att)
	at.preempts.note(j)
	at.preempts.say(j)
	if !j.unsure {
		at.submit(j)
	}
	at.metrics.waits.given(&j.Job, j.att)
	at.log.Debug("job bound", "job", j.ID, "site", o.Site, "pool", o.Pool, "attempt", number, "dollars", float64(o.Total))
}

// keptOffers is how many offers are kept of a decision, the chosen one among them.
const keptOffers = 8

// cut bounds what is kept of a decision: the best offers and as many rejections as a person would read.
func cut(d decision.Decision) decision.Decision {
	d.Offers = append([]*decision.Offer(nil), d.Offers[:min(len(d.Offers), keptOffers)]...)
	d.Rejections = append([]decision.Rejection(nil), d.Rejections[:min(len(d.Rejections), 32)]...)
	return d
}

// submit hands the attempt to its site, after the round's commit. The payload is read only then: it is large, and
// most queued jobs wait long.
func (at *attempts) submit(j *job) {
	s := at.sites.byName[j.att.Site]
	j.try().busy = true
	j.att.Tries++
	at.batch.attempt(j.att)
	copied, payload, packed := j.Job, j.PayloadOf(), at.delivery.pack(j)
	if packed != nil {
		payload = j.array.ID
	}
	place.AtSite(&s.Site, &copied)
	at.upkeep.spare(s.Name, &copied, limitAt(s, &copied, j.att.Partition), at.now())
	kind := submitted{job: j.ID, attempt: j.att.Number}
	sub := federation.Submission{Job: &copied, Key: j.att.Key, Partition: j.att.Partition, Restarts: j.Restarts, User: s.user(&j.Job), First: j.att.Tries == 1, Promise: into(j.att)}
	if offers := j.att.Decision.Offers; len(offers) > 0 {
		sub.Offer, sub.Claims = *offers[0], j.att.Decision.Claims()
	}
	at.rules.avoid(s, &sub)
	d, site, staged := s.driver, federation.Site{Name: s.Name, Options: s.Options, FileSystems: s.FileSystems}, carries(at.delivery.stager, s, sub.Job)
	at.calls.decided = append(at.calls.decided, call{site: s, kind: kind,
		before: func(ctx context.Context) error {
			if err := at.delivery.ready(ctx, &site, staged, &sub, payload); err != nil || packed == nil {
				return err
			}
			return packed(ctx, &sub)
		},
		run: func(ctx context.Context) any {
			r := kind
			r.receipt, r.err = d.Submit(ctx, sub)
			return r
		}})
}

// takeSubmitted takes in what a site answered to a submission. What it acknowledged is not yet safe there: polls
// watch over it.
func (at *attempts) takeSubmitted(s *site, r submitted) {
	j := at.jobs.Of(r.job)
	if j == nil || j.att == nil || j.att.Number != r.attempt {
		return
	}
	a := j.att
	if a.State.Final() { // a poll was faster and has seen its end
		return
	}
	j.try().busy = false
	if r.err != nil {
		at.submitFailed(s, j, r.err)
		return
	}
	a.SiteJobID = r.receipt.SiteJobID
	a.Acked = at.now().UTC()
	if id := r.receipt.SiteJobID; id != 0 && id != uint32(j.Number()) && !r.receipt.Adopted && s.numbers.take(id, at.now()) {
		s.wentBack(at.now(), "it gave the number %d once more", id)
	}
	j.try().seen(at.now())
	if a.State == federation.AttemptIntended { // a poll may have been faster and seen it run
		at.batch.advance(j, federation.AttemptSubmitted)
	}
	if j.pack != nil {
		j.pack.taken(at.batch)
	}
	at.metrics.handedOver(a.Acked.Sub(a.Created))
	if r.receipt.Adopted {
		at.batch.eventf(j, "%s had it already: adopted", s.Name)
	}
	for _, w := range r.receipt.Warnings {
		at.batch.eventf(j, "%s remarked: %s", s.Name, w)
	}
	if j.Held != federation.NotHeld {
		at.calls.act(j, "hold", federation.Driver.Hold)
	}
	s.pollSoon(at.now().Add(at.t.Poll))
	at.batch.attempt(a)
}

// submitFailed follows the policy of each kind of error.
func (at *attempts) submitFailed(s *site, j *job, err error) {
	switch {
	case j.att.State != federation.AttemptIntended: // a poll has seen it there: whatever was refused, it was not this
		j.try().unsure = true
		at.later(j, s, err)
	case errors.As(err, new(packError)):
		at.life.unpack(j, err.Error())
		at.life.finishAttempt(j, federation.AttemptWithdrawn, err.Error())
		at.life.backToQueue(j, reasons.Priority)
	case errors.As(err, new(stageError)):
		at.stageFailed(s, j, err)
	case errors.Is(err, federation.ErrNotSent):
		at.life.finishAttempt(j, federation.AttemptWithdrawn, err.Error())
		at.batch.eventf(j, "never reached %s: %v", s.Name, err)
		at.watch.unreached(s, err)
		at.life.backToQueue(j, reasons.SiteUnavailable)
	case errors.Is(err, federation.ErrRemembered):
		at.remembered(s, j, err)
	case errors.Is(err, federation.ErrInvalid):
		at.refuse(s, j, err, reasons.BadConstraints)
	case errors.Is(err, federation.ErrDenied):
		at.refuse(s, j, err, reasons.Account)
	case errors.Is(err, federation.ErrLimit) && s.hasOthersOf(j):
		at.limited(s, j, err)
	case errors.Is(err, federation.ErrCapacity), errors.Is(err, federation.ErrConflict):
		at.refuse(s, j, err, reasons.Refused)
	default:
		j.try().unsure = true
		at.later(j, s, err)
	}
}

// refuse notes that the site did not take the job: the next site is tried.
func (at *attempts) refuse(s *site, j *job, err error, reason reasons.Reason) {
	at.life.refused(j, err)
	at.batch.eventf(j, "refused by %s: %v", s.Name, err)
	remembered := errors.Is(err, federation.ErrConflict) && j.Attempt > 1 // for a while: it may have been there before
	no := decision.Rejection{Site: s.Name, Reason: reason, Detail: err.Error(), Never: !remembered}
	until := at.now().Add(refusedFor)
	if into(j.att) != "" && errors.Is(err, federation.ErrCapacity) { // another reservation of ours may be in its way that is about to be removed or to move: 24.11 refuses the job then, and does not let it wait
		no.Never, until = false, at.now().Add(2*limitedFor)
	}
	j.leaveOut(no, until)
	if j.array != nil && reason != reasons.Refused { // nor is it asked for the tasks that wait
		j.array.leaveOut(no, until)
		at.arrays.offerAnew(j.array)
	}
	at.life.backToQueue(j, reason)
}

// freeFor is how long an ID is left alone that a slurmctld has just purged: it removes the files of the run before some time later, under the same name. A 24.11 whose new job has lost its
// script by that ends itself ("fatal: Unable to load job batch script").
const freeFor = 10 * time.Second

// ranHere reports whether the site of j's attempt has run j before under the same ID: that must be free before it is submitted there.
func ranHere(s *site, j *job) bool {
	return len(j.older) > 0 && s.remembersIDs()
}

// rememberedFor is how long a site that still remembers the run before of a job is left alone with it, or for a quarter of the time for which it has refused it so
// far. Nothing tells how long it will: MinJobAge of a site's slurm.conf is 5 minutes by default, and may be days.
const rememberedFor = time.Minute

// remembered notes that the site cannot take the job yet. Meanwhile it may run elsewhere.
func (at *attempts) remembered(s *site, j *job, err error) {
	now := at.now()
	if j.remembered.IsZero() {
		j.try().remembered = now
	}
	until := now.Add(max(rememberedFor, now.Sub(j.remembered)/4))
	at.life.refused(j, err)
	at.batch.eventf(j, "%s remembers the run before under the same number: not sent there again before %s", s.Name, until.UTC().Format(timeOfDay))
	j.waitForSite(s.Name, j.madeRoom, until)
	at.life.backToQueue(j, reasons.BeginTime)
}

// limitedFor is how long a site is sent no jobs like one that it has refused because of a limit. That one waits for twice as long: if
// it is too large, and not one too many, the others come to their turn.
const limitedFor = 15 * time.Second

// limited notes that the site takes no more jobs like j until some have ended.
func (at *attempts) limited(s *site, j *job, err error) {
	now := at.now()
	at.life.refused(j, err)
	j.leaveOut(decision.Rejection{Site: s.Name, Reason: reasons.SubmitLimit, Detail: err.Error()}, now.Add(2*limitedFor))
	s.limit(federation.Limited{User: j.User, Account: j.Spec.Account, QOS: j.Spec.QOS}, now.Add(limitedFor))
	at.life.backToQueue(j, reasons.SubmitLimit)
	at.queue.times.add(j, now.Add(limitedFor))
}

// later sets the time of the next try after a call that proved nothing.
func (at *attempts) later(j *job, s *site, err error) {
	j.try().fails++
	j.try().retry = at.now().Add(at.t.backoff(j.fails))
	at.log.Warn("no answer about an attempt", "job", j.ID, "site", s.Name, "attempt", j.att.Number, "err", err)
	if j.fails == 1 {
		at.batch.eventf(j, "no answer from %s, outcome unknown: %v", s.Name, err)
	}
}
