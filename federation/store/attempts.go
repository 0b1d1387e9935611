package store

import (
	"context"
	"fmt"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/heartbeat"
	"fsub/federation/idle"
	"fsub/federation/stored"
)

const attemptColumns = "job_id, number, attempt_key, site, part, state, live, created, acked, started, ended, site_job_id, site_submit, " +
	"tries, restarts, nodes, final_state, exit_status, class, note, decision, cost, runs, held, charged, code"

var upsertAttempt = "INSERT INTO attempts (" + attemptColumns + ") VALUES " + list(1, 26) + " ON CONFLICT (job_id, number) DO UPDATE SET " +
	"(attempt_key, site, part, state, live, created, acked, started, ended, site_job_id, site_submit, " +
	"tries, restarts, nodes, final_state, exit_status, class, note, decision, cost, runs, held, charged, code) = " + list(3, 24)

// heldAndKept is what the column held has, and what came after it.
type heldAndKept struct {
	stored.Held
	Kept      *stored.Kept      `json:"kept,omitempty"`
	Losses    []stored.NodeLoss `json:"losses,omitempty"`
	Idle      *idle.Record      `json:"idle,omitempty"`
	Heartbeat *heartbeat.Record `json:"heartbeat,omitempty"`
	Moved     *decision.Moved   `json:"moved,omitempty"`
	Stays     string            `json:"stays,omitempty"`
}

func attemptValues(a *federation.Attempt) ([]any, error) {
	decided, err := encode(&a.Decision)
	if err != nil {
		return nil, err
	}
	runs, err := encode(stored.RunsOf(a.Runs))
	if err != nil {
		return nil, err
	}
	held, err := encode(heldAndKept{stored.Held(a.Held), (*stored.Kept)(a.Kept), stored.LossesOf(a.Losses), a.Idle, a.Heartbeat, a.Moved, a.Stays})
	if err != nil {
		return nil, err
	}
	return []any{
		int64(a.Job), int64(a.Number), a.Key, string(a.Site), a.Partition, string(a.State), !a.State.Final(),
		nanos(a.Created), nanos(a.Acked), nanos(a.Started), nanos(a.Ended), int64(a.SiteJobID), nanos(a.SiteSubmit),
		int64(a.Tries), int64(a.Restarts), a.Nodes, string(a.Final), int64(a.ExitStatus), string(a.Class), a.Note, decided, int64(a.Cost), runs, held, int64(a.Charged), string(a.Code),
	}, nil
}

func readAttempt(r *row) (a federation.Attempt) {
	a.Job = federation.JobID(r.int())
	a.Number = int(r.int())
	a.Key = r.text()
	a.Site = federation.SiteName(r.word())
	a.Partition = r.word()
	a.State = federation.AttemptState(r.word())
	_ = r.column() // live: follows from the state
	a.Created, a.Acked, a.Started, a.Ended = r.time(), r.time(), r.time(), r.time()
	a.SiteJobID = uint32(r.int())
	a.SiteSubmit = r.time()
	a.Tries = int(r.int())
	a.Restarts = int(r.int())
	a.Nodes = r.text()
	a.Final = federation.State(r.word())
	a.ExitStatus = int32(r.int())
	a.Class = federation.FailureClass(r.word())
	a.Note = r.text()
	r.json(&a.Decision)
	a.Cost = federation.Money(r.int())
	var runs []stored.Run
	r.json(&runs)
	a.Runs = stored.Runs(runs)
	var held heldAndKept
	r.json(&held)
	a.Held, a.Kept, a.Losses, a.Idle, a.Heartbeat = federation.Held(held.Held), (*egress.Kept)(held.Kept), stored.Losses(held.Losses), held.Idle, held.Heartbeat
	a.Moved, a.Stays = held.Moved, held.Stays
	a.Charged = int(r.int())
	a.Code = federation.FailureCode(r.word())
	return a
}

// Attempts implements [federation.JobStore].
func (s *jobs) Attempts(ctx context.Context, id federation.JobID) ([]federation.Attempt, error) {
	return many(ctx, s.database, readAttempt, id, "SELECT "+attemptColumns+" FROM attempts WHERE job_id = $1 ORDER BY number")
}

// LiveAttempts implements [federation.JobStore]. They are in order of their job's ID.
func (s *jobs) LiveAttempts(ctx context.Context) ([]federation.Attempt, error) {
	all, err := query(ctx, s.readers, readAttempt, "SELECT "+attemptColumns+" FROM attempts WHERE live ORDER BY job_id")
	if err != nil {
		return nil, fmt.Errorf("live attempts: %w", err)
	}
	return all, nil
}

// many reads rows of which a job may have any number, and returns ErrNotFound if there is no such job.
func many[T any](ctx context.Context, s database, read func(*row) T, id federation.JobID, text string) ([]T, error) {
	all, err := query(ctx, s.readers, read, text, int64(id))
	if err != nil {
		return nil, fmt.Errorf("job %d: %w", id, err)
	}
	if len(all) > 0 {
		return all, nil
	}
	_, err = one(ctx, s, (*row).int, id, "SELECT id FROM jobs WHERE id = $1")
	return nil, err
}
