package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/health"
	"fsub/federation/lifecycle"
	"fsub/federation/reasons"
)

// moves take jobs away from the sites where they wait, by requests like an operator's.
type moves struct {
	now    func() time.Time
	t      Timing
	log    *slog.Logger
	sites  *roster
	jobs   *jobTable
	batch  *pendingBatch
	agenda *agenda
	queue  *queue
	life   *life
	asks   *asks
	room   *preempts

	to        map[federation.JobID]*destination // of jobs that were moved to some sites
	nextStuck time.Time                         // when to look for jobs that their sites cannot run
}

// ask takes up a request to move a job: operators ask for it, and the controller itself where a site cannot run what it was given.
func (mv *moves) ask(j *job, r action.Request) {
	a, m := &asked{Request: r, stop: true}, r.Move
	switch {
	case m == nil:
		mv.asks.answer(a)
	case !j.live():
		mv.place(j, m, m.From)
		mv.asks.answer(a)
	case m.From != "" && j.att.Site != m.From || slices.Contains(m.To, j.att.Site) || (m.From == "" || m.Stay) && m.Running && j.Restarts > r.Restarts: // it was moved already
		mv.asks.answer(a)
	case j.whole != nil:
		mv.asks.refuse(j, a, fmt.Errorf("%w: an earlier version has handed the array over to %s as a whole", federation.ErrConflict, j.att.Site))
	case j.att.State == federation.AttemptStarted && !m.Running:
		mv.asks.refuse(j, a, errHasStarted(j.att.Site))
	case j.att.State == federation.AttemptStarted && !lifecycle.MayRequeue(&j.Job):
		mv.asks.refuse(j, a, fmt.Errorf("%w: it has started at %s and was submitted with --no-requeue", federation.ErrConflict, j.att.Site))
	default:
		mv.asks.open[j.ID] = a
		if m.For == 0 {
			mv.leave(j, a)
		}
	}
}

// leave begins a move.
func (mv *moves) leave(j *job, a *asked) {
	mv.batch.eventf(j, "to be moved from %s: %s", j.att.Site, whyMoved(&a.Request))
	mv.warn(j, a)
}

// leaveFor begins the move of a job that is to make room for a gang, when all that is asked for in this round is known. Should the gang not wait for it any more, it stays.
func (mv *moves) leaveFor(j *job, a *asked) {
	gang, s := a.Move.For, mv.sites.byName[j.att.Site]
	if s == nil || s.breaker.open {
		return
	}
	switch leaves, before := mv.room.leaves(j, gang, mv.asks.open[gang] == nil); {
	case before:
		a.begun = true
		mv.warn(j, a)
	case leaves:
		a.begun = true
		mv.leave(j, a)
	default:
		mv.batch.eventf(j, "stays at %s: job %s does not wait for its nodes any more", j.att.Site, gang)
		mv.asks.answer(a)
	}
}

// waitsToLeave reports whether a move for a gang has not begun.
func (a *asked) waitsToLeave() bool { return a.Kind == action.Move && a.Move.For != 0 && !a.begun }

// warn has a job that runs write its checkpoint before it is cancelled: it gets its own --signal, and the time that it asks for with that. It may end by itself meanwhile.
func (mv *moves) warn(j *job, a *asked) {
	s := j.Spec.Signal
	if a.Move.Now || j.att.State != federation.AttemptStarted || s == nil || s.Before <= 0 {
		return
	}
	a.warned, a.at = true, mv.now().Add(s.Before)
	sig := endSignal(j)
	mv.batch.eventf(j, "signal %s, to be moved by %s", sig.Name, a.at.UTC().Format(timeOfDay))
	mv.asks.calls.act(j, "signal", func(d federation.Driver, ctx context.Context, ref federation.JobRef) error {
		return d.Signal(ctx, ref, nil, sig)
	})
}

func errHasStarted(site federation.SiteName) error {
	return fmt.Errorf("%w: it has started at %s", federation.ErrConflict, site)
}

// whyMoved is the reason of a request to move a job, or who has asked for it.
func whyMoved(r *action.Request) string {
	if r.Move.Why != "" {
		return r.Move.Why
	}
	return "asked for by " + r.Who()
}

// takeAway cancels an attempt at its site. What must not have started is held first: then it cannot start any more, and can be taken back
// without harm. ErrConflict: it has started.
func takeAway(d federation.Driver, ref federation.JobRef, unstarted bool) func(context.Context) error {
	return func(ctx context.Context) error {
		if unstarted {
			if err := d.Hold(ctx, ref); err != nil {
				if !errors.Is(err, federation.ErrConflict) && !errors.Is(err, federation.ErrNotFound) {
					return err
				}
				sj, unknown := d.Lookup(ctx, ref)
				switch {
				case unknown == nil && sj.State == federation.Cancelled && sj.Start.IsZero(): // before a crash, perhaps, that has lost the reply: its end is told like any other
					return nil
				case errors.Is(unknown, federation.ErrUnavailable): // the same may be true: to refuse the request would lose the job
					return unknown
				}
				return err
			}
		}
		err := d.Cancel(ctx, ref, nil)
		if err != nil && unstarted && !errors.Is(err, federation.ErrUnavailable) { // it stays, and is not to stay held
			err = errors.Join(err, d.Release(ctx, ref))
		}
		return err
	}
}

// takesUnstarted reports whether what a asks for is only to be done to an attempt that has not started.
func (a *asked) takesUnstarted() bool {
	return a.Kind == action.Update || a.Kind == action.Move && !a.Move.Running
}

// inFlight reports whether it is not known yet that the site has the attempt.
func (j *job) inFlight() bool { return j.busy || j.unsure || j.att.State == federation.AttemptIntended }

// putElsewhere returns a job to the queue whose attempt was ended to move it.
func (mv *moves) putElsewhere(j *job, a *asked) {
	from, ran := j.att.Site, !j.att.Started.IsZero()
	if ran {
		j.Restarts++
	}
	mv.batch.eventf(j, "moved from %s: %s", from, whyMoved(&a.Request))
	j.ExitStatus = 0
	j.att.Class, j.att.Code = federation.ClassNone, health.CodeMoved
	mv.batch.attempt(j.att)
	mv.place(j, a.Move, from)
	if a.Move.Stay { // the site remembers its ID
		j.avoid(j.att, mv.now().Add(mv.t.MinJobAge), mv.now())
	}
	mv.asks.answer(a)
	mv.life.requeue(j, reasons.Priority)
}

// movedFor is how long a job stays away from the site that it was moved from.
const movedFor = 10 * time.Minute

// recall keeps a job that waits, for a new daemon, from a site where an attempt at it was, for as long as the site remembers its ID, or it was moved away from there.
func (mv *moves) recall(j *job, a *federation.Attempt) {
	switch {
	case mv.sites.byName[a.Site] == nil || a.State != federation.AttemptEnded:
	case a.Code == health.CodeMoved && (a.Moved == nil || !a.Moved.Stay || !a.Moved.Run.Equal(a.Started)):
		if until := a.Ended.Add(max(movedFor, mv.t.MinJobAge)); mv.now().Before(until) {
			j.leaveOut(decision.Rejection{Site: a.Site, Reason: reasons.Moved, Why: codes.Because(codes.MovedFrom).With(codes.NoteUntil, until.UTC().Format(time.RFC3339))}, until)
		}
	default:
		j.avoid(a, a.Ended.Add(mv.t.MinJobAge), mv.now())
	}
}

// place has a job that waits here placed where a request to move it says.
func (mv *moves) place(j *job, m *action.Relocation, from federation.SiteName) {
	until := mv.now().Add(max(movedFor, mv.t.MinJobAge))
	for _, s := range mv.sites.all {
		no := decision.Rejection{Site: s.Name, Reason: reasons.Moved}
		switch {
		case len(m.To) > 0 && !slices.Contains(m.To, s.Name):
			no.Why = codes.Because(codes.MovedTo, joinSites(m.To))
		case s.Name == from && !m.Stay:
			no.Why = codes.Because(codes.MovedFrom)
		default:
			continue
		}
		no.Why = no.Why.With(codes.NoteUntil, until.UTC().Format(time.RFC3339))
		j.leaveOut(no, until)
	}
	if len(m.To) > 0 {
		mv.to[j.ID] = &destination{to: m.To, from: from, until: until}
	}
	mv.queue.look(j)
	mv.agenda.plan = true
}

func joinSites(names []federation.SiteName) string {
	var out []string
	for _, n := range names {
		out = append(out, string(n))
	}
	return strings.Join(out, ",")
}
