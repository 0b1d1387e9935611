package controller

import (
	"slices"

	"fsub/federation"
)

// pendingBatch gathers what a round writes. A job that is written twice in a round is written once, as it is at the end. Nothing is added but by its methods.
type pendingBatch struct {
	jobs     map[*job]bool
	attempts map[*federation.Attempt]bool
	tasks    map[*federation.Task]bool
	specs    map[*job]bool
	order    federation.Batch

	written   []*job            // in order
	taskMoves []federation.Move // those of jobs follow from what is written
}

func newPendingBatch() *pendingBatch {
	return &pendingBatch{jobs: map[*job]bool{}, attempts: map[*federation.Attempt]bool{}, tasks: map[*federation.Task]bool{}, specs: map[*job]bool{}}
}

func (b *pendingBatch) job(j *job) {
	if !b.jobs[j] {
		b.jobs[j] = true
		b.order.Jobs = append(b.order.Jobs, &j.Job)
		b.written = append(b.written, j)
	}
}

// create writes a job that the store does not have yet.
func (b *pendingBatch) create(j *job) {
	b.jobs[j] = true
	b.order.Create = append(b.order.Create, &j.Job)
	b.written = append(b.written, j)
}

// spec has the job's Spec written too. The job itself must be in the batch as well.
func (b *pendingBatch) spec(j *job) {
	if !b.specs[j] {
		b.specs[j] = true
		b.order.Specs = append(b.order.Specs, &j.Job)
	}
}

func (b *pendingBatch) attempt(a *federation.Attempt) {
	if !b.attempts[a] {
		b.attempts[a] = true
		b.order.Attempts = append(b.order.Attempts, a)
	}
}

func (b *pendingBatch) task(t *federation.Task) {
	if !b.tasks[t] {
		b.tasks[t] = true
		b.order.Tasks = append(b.order.Tasks, t)
	}
}

// taskMoved tells of a task that was something else before.
func (b *pendingBatch) taskMoved(was, t *federation.Task) {
	before := federation.JobStage{State: was.State, Restarts: was.Restarts, Ran: !was.Start.IsZero()}
	for _, what := range federation.MovesOf(before, federation.JobStage{State: t.State, Restarts: t.Restarts, Ran: !t.Start.IsZero()}) {
		b.taskMoves = append(b.taskMoves, federation.Move{Job: t.Job, Task: t.Index, What: what, State: t.State, From: was.State, Reason: t.Reason, Exit: t.ExitStatus})
	}
}

// tasksCancelled tells of tasks of an array that have been cancelled while they waited.
func (b *pendingBatch) tasksCancelled(array federation.JobID, tasks federation.TaskSet) {
	m := federation.Move{Job: array, Task: -1, What: federation.MoveEnd, State: federation.Cancelled}
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
func (b *pendingBatch) records() *federation.Batch {
	b.order.Moves = b.moves()
	return &b.order
}

// moves are what has become of jobs and tasks since the last commit.
func (b *pendingBatch) moves() []federation.Move {
	moves := slices.Clone(b.taskMoves)
	for _, j := range b.written {
		for _, what := range federation.MovesOf(j.stored, j.Stage()) {
			moves = append(moves, federation.Move{Job: j.ID, Task: -1, What: what, State: j.State, From: j.stored.State, Reason: j.Reason, Site: j.Site, Exit: j.ExitStatus})
		}
	}
	return moves
}

func (b *pendingBatch) empty() bool { return b.order.Empty() }

// What is appended as it is.

func (b *pendingBatch) event(e federation.Event)         { add(&b.order.Events, e) }
func (b *pendingBatch) charge(k federation.Charge)       { add(&b.order.Charges, k) }
func (b *pendingBatch) request(r federation.Request)     { add(&b.order.Requests, r) }
func (b *pendingBatch) done(seq int64)                   { add(&b.order.Done, seq) }
func (b *pendingBatch) node(r federation.NodeRecord)     { add(&b.order.Nodes, r) }
func (b *pendingBatch) nodeEvent(e federation.NodeEvent) { add(&b.order.NodeEvents, e) }
func (b *pendingBatch) siteEvent(e federation.SiteEvent) { add(&b.order.SiteEvents, e) }
func (b *pendingBatch) audit(e federation.AuditEntry)    { add(&b.order.Audit, e) }
func (b *pendingBatch) health(r federation.HealthRecord) { add(&b.order.Health, r) }
func (b *pendingBatch) finding(f federation.HealthFinding) {
	add(&b.order.Findings, f)
}
func (b *pendingBatch) length(l federation.RunLength)   { add(&b.order.Lengths, l) }
func (b *pendingBatch) waits(all []federation.PastWait) { add(&b.order.Waits, all...) }

func add[T any](to *[]T, more ...T) { *to = append(*to, more...) }
