package store

import (
	"context"
	"fmt"
	"slices"

	"fsub/federation"
	"fsub/federation/reasons"
)

const taskColumns = "job_id, task_index, site_job_id, state, reason, nodes, start_time, end_time, exit_status, restarts, cost, cancel, cancel_by"

var upsertTask = "INSERT INTO tasks (" + taskColumns + ") VALUES " + list(1, 13) + " ON CONFLICT (job_id, task_index) DO UPDATE SET " +
	"(site_job_id, state, reason, nodes, start_time, end_time, exit_status, restarts, cost, cancel, cancel_by) = " + list(3, 11)

func taskValues(k *federation.Task) []any {
	return []any{
		int64(k.Job), int64(k.Index), int64(k.SiteJobID), string(k.State), string(k.Reason), k.Nodes, nanos(k.Start), nanos(k.End),
		int64(k.ExitStatus), int64(k.Restarts), int64(k.Cost), k.Cancel, int64(k.CancelBy),
	}
}

func readTask(r *row) (k federation.Task) {
	k.Job = federation.JobID(r.int())
	k.Index = int(r.int())
	k.SiteJobID = uint32(r.int())
	k.State = federation.State(r.word())
	k.Reason = reasons.Reason(r.word())
	k.Nodes = r.word()
	k.Start, k.End = r.time(), r.time()
	k.ExitStatus = int32(r.int())
	k.Restarts = int(r.int())
	k.Cost = federation.Money(r.int())
	k.Cancel = r.bool()
	k.CancelBy = uint32(r.int())
	return k
}

// Tasks implements [federation.JobStore].
func (s *jobs) Tasks(ctx context.Context, id federation.JobID) ([]federation.Task, error) {
	return many(ctx, s.database, readTask, id, "SELECT "+taskColumns+" FROM tasks WHERE job_id = $1 ORDER BY task_index")
}

// TasksOf implements [federation.JobStore]. A job without task records, or that does not exist, is not in the result.
func (s *jobs) TasksOf(ctx context.Context, ids []federation.JobID) (map[federation.JobID][]federation.Task, error) {
	tasks := make(map[federation.JobID][]federation.Task)
	for part := range slices.Chunk(sorted(ids), maxIDs) {
		args := make([]any, len(part))
		for i, id := range part {
			args[i] = int64(id)
		}
		some, err := query(ctx, s.readers, readTask,
			"SELECT "+taskColumns+" FROM tasks WHERE job_id IN "+list(1, len(part))+" ORDER BY job_id, task_index", args...)
		if err != nil {
			return nil, fmt.Errorf("tasks of jobs: %w", err)
		}
		for _, k := range some {
			tasks[k.Job] = append(tasks[k.Job], k)
		}
	}
	return tasks, nil
}

// Events implements [federation.JobStore]. Those of the same time are in the order in which they were written.
func (s *jobs) Events(ctx context.Context, id federation.JobID) ([]federation.Event, error) {
	return many(ctx, s.database, readEvent, id, "SELECT job_id, attempt, at, text FROM events WHERE job_id = $1 ORDER BY at, seq")
}

const insertEvent = "INSERT INTO events (job_id, seq, attempt, at, text) VALUES ($1, $2, $3, $4, $5)"

func readEvent(r *row) federation.Event {
	return federation.Event{Job: federation.JobID(r.int()), Attempt: int(r.int()), At: r.time(), Text: r.text()}
}
