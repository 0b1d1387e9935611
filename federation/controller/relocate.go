package controller

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/place"
)

const (
	// mostAttempts is how many attempts a job has at most of which the last was not the choice of a user or an operator: then it stays where it waits.
	mostAttempts = 4
	// moveLooks bounds the jobs that are looked at in one go.
	moveLooks = 100
)

// relocation has jobs that wait move to where they would start sooner.
type relocation struct {
	now       func() time.Time
	t         Timing
	log       *slog.Logger
	margin    decision.Dollars // see place.Policy.MoveMargin
	sites     *roster
	runs      *runTimes
	queue     *queue
	moves     *moves
	forecasts *forecasts
	next      time.Time
}

// reconcile has jobs that wait at sites which others use too move to where they would start sooner by more than the policy's margin. A job is left alone for
// Timing.MoveAfter after each attempt was made, twice as long after every further one. The move itself is a request like an operator's.
func (rl *relocation) reconcile() {
	now := rl.now()
	if rl.margin < 0 || now.Before(rl.next) || rl.moves.any() && now.Before(rl.next.Add(time.Minute)) {
		return
	}
	looks := moveLooks
	for _, s := range rl.sites.all {
		if s.Outlook == nil || !s.Answering {
			continue
		}
		rl.next = now.Add(outlookEvery)
		var free map[federation.JobID]time.Time
		for _, id := range slices.Sorted(maps.Keys(s.jobs)) {
			j := s.jobs[id]
			if looks == 0 {
				return
			}
			if !rl.mayMove(j, now) {
				continue
			}
			looks--
			if free == nil {
				free = rl.forecasts.freeAt(s.Name)
			}
			left := rl.forecasts.left(s, j, free[j.ID])
			if left == nil || left.P50 < rl.t.MoveAfter/10 {
				continue
			}
			var b *place.Better
			if f := rl.queue.world.Guard(func() {
				b = rl.queue.world.Better(place.Waiting{Job: &j.Job, Refused: j.refused, Expected: rl.runs.expected(&j.Job)}, s.Name, j.att.Partition, left)
			}); f != nil {
				rl.log.Error("placement failed", "job", j.ID, "err", f)
				return
			}
			if b != nil {
				rl.moves.start(j, fmt.Sprintf("%s would start it within %s (p90), %s in %s (p50, %s); that saves %s", b.Site, b.P90.Round(time.Second), s.Name, left.P50.Round(time.Second), left.Of,
					accounting.MoneyOf(float64(b.Saves)).USD()))
			}
		}
	}
}

// any reports whether any job is being moved: what it will take elsewhere is not known to placement yet.
func (mv *moves) any() bool {
	for _, a := range mv.asks.open {
		if a.Kind == action.Move {
			return true
		}
	}
	return false
}

// mayMove reports whether a job waits at a site for nodes alone, and has done so for long enough.
func (rl *relocation) mayMove(j *job, now time.Time) bool {
	a := j.att
	if j.State != federation.Pending || a == nil || a.State != federation.AttemptSubmitted || j.inFlight() || j.Cancel || j.Held != federation.NotHeld || j.whole != nil || j.leader != nil || j.pack != nil || len(j.Spec.Het) > 0 ||
		a.Number >= mostAttempts || rl.moves.moving(j) {
		return false
	}
	return now.Sub(a.Created) >= rl.t.MoveAfter<<(a.Number-1)
}

// asksAt is what the queue of the site where a job waits sees of it.
func (fc *forecasts) asksAt(s *site, j *job) decision.QueueAsk {
	q := decision.QueueAsk{User: s.user(&j.Job).Name, Account: cmp.Or(j.att.Held.SiteAccount, j.Account), Partition: j.att.Partition, Limit: j.Needs().TimeLimit}
	if len(j.att.Decision.Offers) > 0 {
		o := j.att.Decision.Offers[0]
		q.Nodes, q.GPUs = o.Nodes, o.GPUs
	}
	for i := range s.Seen.Waiting {
		if w := &s.Seen.Waiting[i]; w.Job == j.ID {
			q.Nodes, q.CPUs, q.Limit = w.Nodes, w.CPUs, w.Limit
		}
	}
	return q
}
