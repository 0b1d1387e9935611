package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/health"
	"fsub/federation/place"
	"fsub/federation/reasons"
)

// Explain says why a job is where it is: what placement thought of it when it was bound, or thinks now if it waits. It waits for the round under way, for a moment.
func (v *View) Explain(ctx context.Context, j *federation.Job) decision.Explained {
	if j.Attempt > 0 && (j.Site != "" || j.State.Ended()) {
		if attempts, err := v.store.Attempts(ctx, j.ID); err == nil && len(attempts) > 0 {
			out := decision.Explained{Decision: attempts[len(attempts)-1].Decision}
			if j.State == federation.Pending {
				_, waits := v.askWaits(ctx, j.ID, &out.Decision)
				out.Waits = v.waits(ctx, j, waits)
			}
			if !j.Start.IsZero() && !j.State.Ended() && out.Decision.Expected != nil { // it has passed those that were shorter
				out.Decision.Expected = v.runs.expectedAfter(j, v.now().Sub(j.Start))
			}
			return out
		}
	}
	if j.Whole != nil && j.Whole.Spread && (j.State.Ended() || j.Spec.Array == "") { // its tasks were placed by themselves, and no others are to be
		return decision.Explained{Decision: decision.Decision{Job: j.ID}}
	}
	sites, d := v.shown.Load(), v.Decision(j)
	out := decision.Explained{Decision: d, Components: v.explainComponents(sites, j)}
	if j.State == federation.Pending || j.Whole != nil && j.Whole.Spread && !j.State.Ended() { // or some of its tasks do
		out.Sooner = v.sooner(sites, j, d)
		out.Priority = v.Priority(j)
		out.KeptOff = v.keptOff(&d)
		var waits waitsNow
		out.Holdbacks, waits = v.askWaits(ctx, j.ID, &d)
		out.Waits, out.Path, out.Decision.Place = v.waits(ctx, j, waits), waits.path, waits.place
	}
	// A job that placement would bind may be kept back by something else: a limit, a hold.
	if j.Reason != "" && j.Reason != reasons.None {
		out.Decision.Reason = j.Reason
	} else if len(out.Waits) > 0 {
		out.Decision.Reason = out.Waits[0].Reason
	}
	out.Decision.Bind = false
	return out
}

// keptOff are the switches and blocks that a job is kept off where it may run, with what speaks against them.
func (v *View) keptOff(d *decision.Decision) (all []decision.KeptOff) {
	breakers := v.Health().Breakers
	add := func(o *decision.Offer) {
		for _, k := range o.KeptOff {
			same := func(b decision.KeptOff) bool { return b.Site == k.Site && b.Part == k.Part }
			if i := slices.IndexFunc(all, same); i >= 0 {
				all[i].Nodes, all[i].Needed = max(all[i].Nodes, k.Nodes), all[i].Needed && k.Needed
				continue
			}
			name := health.PartBreaker(k.Site, k.Part)
			if i := slices.IndexFunc(breakers, func(b health.Breaker) bool { return b.Name == name && !b.Open.IsZero() }); i >= 0 {
				k.Until, k.Why = breakers[i].Until, breakers[i].Why
			}
			all = append(all, k)
		}
	}
	for _, o := range d.Offers {
		add(o)
		for i := range o.Parts {
			add(&o.Parts[i])
		}
	}
	return all
}

// Priority is what the place of a waiting job in the queue is made of; nil: its nice alone.
func (v *View) Priority(j *federation.Job) []decision.PriorityPart {
	if v.fairShare == nil {
		return nil
	}
	return v.fairShare.Parts(j, v.runs.expected(j))
}

// Decision is what placement thinks of a job now, as if it were alone.
func (jd *judging) Decision(j *federation.Job) decision.Decision {
	d, err := jd.planFor(jd.shown.Load(), j)
	if err != nil {
		return decision.Decision{Job: j.ID, Reason: cmp.Or(j.Reason, reasons.Priority)}
	}
	return d
}

// explainComponents is what placement says of each component of a job, as if it were a job of its own.
func (jd *judging) explainComponents(sites *viewOfSites, j *federation.Job) (all []decision.Decision) {
	if len(j.Spec.Het) == 0 {
		return nil
	}
	for i := range len(j.Spec.Het) + 1 {
		one := place.Component(j, i)
		d, err := jd.planFor(sites, &one)
		if err != nil {
			return nil
		}
		d.Bind = false
		all = append(all, d)
	}
	return all
}

// waitsIn is how long an explanation waits for the controller's round.
const waitsIn = 3 * time.Second

// askWaits asks the controller what of the account tree keeps a job back, and what else does; nothing where it is busy for too long.
func (v *View) askWaits(ctx context.Context, id federation.JobID, d *decision.Decision) ([]decision.Holdback, waitsNow) {
	ctx, cancel := context.WithTimeout(ctx, waitsIn)
	defer cancel()
	type answer struct {
		holdbacks []decision.Holdback
		waits     waitsNow
	}
	to := make(chan answer, 1)
	if v.afterRound(ctx, func(now *forecasts) { to <- answer{now.holdbacks(id, d), now.waitsNow(id)} }) != nil {
		return nil, waitsNow{}
	}
	a := <-to
	return a.holdbacks, a.waits
}

func (fc *forecasts) holdbacks(id federation.JobID, d *decision.Decision) []decision.Holdback {
	j := fc.jobs.Of(id)
	if j == nil || !j.queued || j.live() {
		return nil
	}
	if fc.limits.book != nil && (isLimit(j.Reason) || j.Reason == reasons.AccountBudget) {
		var o *decision.Offer
		if len(d.Offers) > 0 {
			o = d.Offers[0]
		}
		w := fc.limits.wants(asTask(&j.Job), o)
		if h := fc.limits.book.Holdback(fc.now(), &w, fc.endsBy); h != nil {
			return []decision.Holdback{*h}
		}
	}
	if n := len(j.offers); n > 0 { // of its tasks, the last one that waits
		id = j.offers[n-1].task.ID
	}
	return fc.queue.world.Holdbacks(id)
}

// endsBy is when a job has ended at the latest; zero if nothing says when.
func (fc *forecasts) endsBy(id federation.JobID) time.Time {
	j := fc.jobs.Of(id)
	if j == nil || !j.live() || j.att.State != federation.AttemptStarted || j.att.Started.IsZero() || len(j.att.Decision.Offers) == 0 {
		return time.Time{}
	}
	if w := fc.limits.wants(&j.Job, j.att.Decision.Offers[0]); w.Longest > 0 {
		return j.att.Started.Add(w.Longest)
	}
	return time.Time{}
}
