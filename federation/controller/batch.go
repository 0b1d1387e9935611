package controller

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/predict"
)

// pendingBatch gathers what a round writes. A job that is written twice in a round is written once, as it is at the end. Nothing is added but by its methods.
type pendingBatch struct {
	jobs     map[*job]bool
	attempts map[*federation.Attempt]bool
	tasks    map[*federation.Task]bool
	specs    map[*job]bool
	rows     journal.Batch
	packs    map[federation.JobID]*job // of which nothing is written: what they are follows from the attempts of their tasks
	now      func() time.Time
	log      *slog.Logger

	reasons []*job // jobs of which only the reason for waiting has changed, to be written with this round or a later one; see job.unsaid

	written   []*job         // in order
	taskMoves []journal.Move // those of jobs follow from what is written
}

func newPendingBatch(packs map[federation.JobID]*job, now func() time.Time, log *slog.Logger) *pendingBatch {
	b := &pendingBatch{packs: packs, now: now, log: log}
	b.clear()
	return b
}

// clear forgets what is written.
func (b *pendingBatch) clear() {
	*b = pendingBatch{packs: b.packs, now: b.now, log: b.log, reasons: b.reasons, jobs: map[*job]bool{}, attempts: map[*federation.Attempt]bool{}, tasks: map[*federation.Task]bool{}, specs: map[*job]bool{}}
}

// eventf adds a line to the job's history.
func (b *pendingBatch) eventf(j *job, format string, args ...any) {
	n := 0
	if j.att != nil {
		n = j.att.Number
	}
	b.event(federation.Event{Job: j.ID, Attempt: n, At: b.now().UTC(), Text: fmt.Sprintf(format, args...)})
}

// advance changes the state of the job's attempt; a change that is not allowed is a defect and is logged.
func (b *pendingBatch) advance(j *job, to federation.AttemptState) {
	if err := j.att.Move(to); err != nil {
		b.log.Error("attempt", "err", err)
		return
	}
	b.attempt(j.att)
}

// reasonsAtOnce is how many jobs are written in a round for their reason alone. Where those of a million change at once, as in the first plan after a site has gone, others who
// write would wait for seconds, and who reads the log would get all of it in one piece.
const reasonsAtOnce = 10_000

// reason has a job be written of which only the reason for waiting has changed: soon.
func (b *pendingBatch) reason(j *job) {
	if !j.unsaid && !b.jobs[j] {
		j.unsaid = true
		b.reasons = append(b.reasons, j)
	}
}

// addReasons adds some of the jobs that are to be written for their reason, but those that the controller has no longer.
func (b *pendingBatch) addReasons(jobs *jobTable) {
	n := 0
	for _, j := range b.reasons {
		if len(b.written) >= reasonsAtOnce {
			break
		}
		if n++; j.unsaid && jobs.Of(j.ID) == j {
			b.job(j)
		}
	}
	if b.reasons = b.reasons[n:]; len(b.reasons) == 0 {
		b.reasons = nil
	}
}

func (b *pendingBatch) job(j *job) {
	j.unsaid = false
	if j.pack == nil && !b.jobs[j] {
		b.jobs[j] = true
		b.rows.Jobs = append(b.rows.Jobs, &j.Job)
		b.written = append(b.written, j)
	}
}

// create writes a job that the store does not have yet.
func (b *pendingBatch) create(j *job) {
	b.jobs[j] = true
	b.rows.Create = append(b.rows.Create, &j.Job)
	b.written = append(b.written, j)
}

// spec has the job's Spec written too. The job itself must be in the batch as well.
func (b *pendingBatch) spec(j *job) {
	if !b.specs[j] {
		b.specs[j] = true
		b.rows.Specs = append(b.rows.Specs, &j.Job)
	}
}

func (b *pendingBatch) attempt(a *federation.Attempt) {
	if b.packs[a.Job] == nil && !b.attempts[a] {
		b.attempts[a] = true
		b.rows.Attempts = append(b.rows.Attempts, a)
	}
}

func (b *pendingBatch) task(t *federation.Task) {
	if !b.tasks[t] {
		b.tasks[t] = true
		b.rows.Tasks = append(b.rows.Tasks, t)
	}
}

// taskMoved tells of a task that was something else before.
func (b *pendingBatch) taskMoved(was, t *federation.Task) {
	before := journal.JobStage{State: was.State, Restarts: was.Restarts, Ran: !was.Start.IsZero()}
	for _, what := range journal.MovesOf(before, journal.JobStage{State: t.State, Restarts: t.Restarts, Ran: !t.Start.IsZero()}) {
		b.taskMoves = append(b.taskMoves, journal.Move{Job: t.Job, Task: t.Index, What: what, State: t.State, From: was.State, Reason: t.Reason, Exit: t.ExitStatus})
	}
}

// tasksCancelled tells of tasks of an array that have been cancelled while they waited.
func (b *pendingBatch) tasksCancelled(array federation.JobID, tasks federation.TaskSet) {
	m := journal.Move{Job: array, Task: -1, What: journal.MoveEnd, State: federation.Cancelled}
	if tasks.Len() > 1 {
		m.Tasks = tasks
	}
	for i := range tasks.All() {
		if tasks.Len() == 1 {
			m.Task = i
		}
		break
	}
	b.taskMoves = append(b.taskMoves, m)
}

// records are what is written.
func (b *pendingBatch) records() *journal.Batch {
	b.rows.Moves = b.moves()
	return &b.rows
}

// moves are what has become of jobs and tasks since the last commit. An array ends after its tasks.
func (b *pendingBatch) moves() []journal.Move {
	moves := slices.Clone(b.taskMoves)
	for _, endOfArray := range []bool{false, true} {
		for _, j := range b.written {
			if (j.Whole != nil && j.State.Ended()) != endOfArray {
				continue
			}
			for _, what := range journal.MovesOf(j.stored, journal.StageOf(&j.Job)) {
				moves = append(moves, journal.Move{Job: j.ID, Task: -1, What: what, State: j.State, From: j.stored.State, Reason: j.Reason, Site: j.Site, Exit: j.ExitStatus})
			}
		}
	}
	return moves
}

func (b *pendingBatch) empty() bool { return b.rows.Empty() }

// What is appended as it is.

func (b *pendingBatch) charge(k federation.Charge)       { add(&b.rows.Charges, k) }
func (b *pendingBatch) done(seq int64)                   { add(&b.rows.Done, seq) }
func (b *pendingBatch) node(r federation.NodeRecord)     { add(&b.rows.Nodes, r) }
func (b *pendingBatch) nodeEvent(e federation.NodeEvent) { add(&b.rows.NodeEvents, e) }
func (b *pendingBatch) siteEvent(e federation.SiteEvent) { add(&b.rows.SiteEvents, e) }
func (b *pendingBatch) audit(e audit.Entry)              { add(&b.rows.Audit, e) }
func (b *pendingBatch) health(r health.Record)           { add(&b.rows.Health, r) }

// event and request are about each task of a pack.

func (b *pendingBatch) event(e federation.Event) {
	p := b.packs[e.Job]
	if p == nil {
		add(&b.rows.Events, e)
		return
	}
	for _, m := range p.pack.members {
		e.Job, e.Attempt = m.ID, m.Attempt
		add(&b.rows.Events, e)
	}
}

func (b *pendingBatch) request(r action.Request) {
	p := b.packs[r.Job]
	if p == nil {
		add(&b.rows.Requests, r)
		return
	}
	for _, m := range p.pack.members {
		r.Job, r.Restarts = m.ID, m.Restarts
		add(&b.rows.Requests, r)
	}
}

func (b *pendingBatch) finding(f health.PastFinding) {
	add(&b.rows.Findings, f)
}
func (b *pendingBatch) length(l predict.RunLength)   { add(&b.rows.Lengths, l) }
func (b *pendingBatch) waits(all []predict.PastWait) { add(&b.rows.Waits, all...) }

func add[T any](to *[]T, more ...T) { *to = append(*to, more...) }
