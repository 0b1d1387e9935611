package controller

import (
	"context"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/federation/health"
	"fsub/federation/lifecycle"
	"fsub/federation/quota"
)

// budgets tells of budgets that are nearly or wholly used up, once in each of their periods, and ends what runs on one that is, where it is set to: the
// job gets a signal to write its checkpoint, its own one of --signal or TERM, and is cancelled when its grace is over.
type budgets struct {
	now    func() time.Time
	log    *slog.Logger
	store  Store
	book   *quota.Book
	notify func(health.Finding)
	sites  *roster
	jobs   *jobTable
	batch  *pendingBatch

	next time.Time
	of   *accounts.Tree                 // that the budgets were of when they were looked at last
	told map[string]bool                // by earlier daemons too; nil: to be read
	ends map[federation.JobID]time.Time // jobs that have got their signal, and when they are cancelled
}

// editedWithin is how soon budgets are looked at when the account tree has changed.
const editedWithin = time.Second

const verbBudget = "budget" // in the audit log

func (b *budgets) reconcile(ctx context.Context) {
	now := b.now()
	if b.book == nil {
		return
	}
	due, tree := b.next, b.book.Tree()
	if b.of != tree { // an edit is to be seen soon
		due = due.Add(editedWithin - quotaAgain)
	}
	if now.Before(due) {
		return
	}
	b.next, b.of = now.Add(quotaAgain), tree
	if b.told == nil && !b.load(ctx) {
		return
	}
	started := map[federation.JobID]time.Time{}
	for _, s := range b.sites.all {
		for id, j := range s.jobs {
			if j.att.State == federation.AttemptStarted && !j.att.Started.IsZero() && !j.Cancel {
				started[id] = j.att.Started
			}
		}
	}
	b.book.Ran(b.lasted(now))
	reached, over := b.book.Levels(now, started)
	for i := range reached {
		b.tell(&reached[i], now)
	}
	for id := range b.ends {
		if _, still := over[id]; !still { // it has ended, or the budget is larger now
			delete(b.ends, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(over)) {
		b.end(b.jobs.Of(id), over[id], now)
	}
}

// lasted are the jobs that run, and for how long. Of an array that was handed over whole nothing is known but its tasks together.
func (b *budgets) lasted(now time.Time) iter.Seq2[federation.JobID, quota.Lasted] {
	return func(yield func(federation.JobID, quota.Lasted) bool) {
		for _, s := range b.sites.all {
			for id, j := range s.jobs {
				if j.att.State != federation.AttemptStarted || j.att.Started.IsZero() || j.whole != nil {
					continue
				}
				ran := j.Suspension().Elapsed(j.att.Started, now, j.State == federation.Suspended)
				if !yield(id, quota.Lasted{Since: j.att.Started, Held: lifecycle.Elapsed(j.att.Started, now), Ran: ran}) {
					return
				}
			}
		}
	}
}

// load reads what earlier daemons have told.
func (b *budgets) load(ctx context.Context) bool {
	acts, err := b.store.Audit(ctx, audit.Query{Verb: verbBudget, Since: b.now().AddDate(-1, 0, -1)})
	if err != nil {
		b.log.Warn("read which budgets were told of", "err", err)
		return false
	}
	b.told = map[string]bool{}
	for _, a := range acts {
		b.told[string(a.Kind)+" "+a.Object+" "+a.After] = true
	}
	return true
}

// tell writes into the audit log that a level was reached, and notifies of it.
func (b *budgets) tell(r *quota.Reached, now time.Time) {
	object := r.Name
	if r.Account != "" {
		object = r.Account + "/" + r.Name
	}
	level := r.Option + " since " + r.Since.Format(time.DateOnly)
	if name := string(r.Kind) + " " + object + " " + level; b.told[name] {
		return
	} else {
		b.told[name] = true
	}
	b.batch.audit(audit.Entry{At: now.UTC(), Who: audit.Daemon, Verb: verbBudget, Kind: audit.Object(r.Kind),
		Object: object, After: level, Why: r.Text})
	b.log.Warn("budget", "level", r.Option, "of", r.Key.String(), "why", r.Text)
	b.batch.finding(health.PastFinding{At: now.UTC(), Rule: r.Option, Act: string(health.ActNotify), Why: r.Text}) // webhooks tell of it
	if b.notify != nil {
		b.notify(health.Finding{At: now.UTC(), Rule: r.Option, Act: health.ActNotify, Why: r.Text})
	}
}

// end has a job that runs come to its end, by requests like an operator's.
func (b *budgets) end(j *job, e quota.Ending, now time.Time) {
	if j == nil || j.leader != nil {
		return
	}
	at, told := b.ends[j.ID]
	r := action.Request{Job: j.ID, Operator: true, At: now.UTC()}
	switch {
	case !told && e.Grace > 0:
		b.ends[j.ID] = now.Add(e.Grace)
		r.Kind, r.Signal = action.Signal, endSignal(j)
		b.batch.eventf(j, "%s: signal %s, to be cancelled at %s", e.Text, r.Signal.Name, now.Add(e.Grace).UTC().Format(time.DateTime))
		b.batch.request(r)
	case !told || !now.Before(at):
		b.ends[j.ID] = now.Add(time.Hour) // it is asked for until it has ended
		r.Kind = action.Cancel
		b.batch.eventf(j, "%s: cancelled", e.Text)
		b.batch.request(r)
	}
}
