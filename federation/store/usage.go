package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/usage"
)

var _ usage.Store = (*Store)(nil)

const insertUsage = "INSERT INTO usage (job_id, task_index, data) VALUES ($1, $2, $3)"

// PutUsage implements [usage.Store]. A job that does not exist is ErrNotFound.
func (s *past) PutUsage(ctx context.Context, job federation.JobID, all []usage.Usage) error {
	if len(all) == 0 {
		all = []usage.Usage{{Index: -1}}
	}
	rows := make([][]byte, len(all))
	for i := range all {
		var err error
		if rows[i], err = json.Marshal(&all[i]); err != nil {
			return fmt.Errorf("usage of job %d: %w", job, err)
		}
	}
	err := s.writer.submit(ctx, func(t *tx) error {
		if _, found, err := t.number("SELECT id FROM jobs WHERE id = $1", int64(job)); err != nil || !found {
			if err == nil {
				err = federation.ErrNotFound
			}
			return err
		}
		if _, err := t.exec("DELETE FROM usage WHERE job_id = $1", int64(job)); err != nil {
			return err
		}
		t.note(journal.Change{Kind: journal.ChangeUsage, Job: job})
		for i, data := range rows {
			if _, err := t.exec(insertUsage, int64(job), int64(all[i].Index), data); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("usage of job %d: %w", job, err)
	}
	return nil
}

func readUsage(r *row) (u usage.Usage) {
	u.Job, u.Index = federation.JobID(r.int()), int(r.int())
	if err := json.Unmarshal(r.bytes(), &u); err != nil && r.err == nil {
		r.err = fmt.Errorf("%w: the store is damaged: usage of job %d: %v", federation.ErrUnavailable, u.Job, err)
	}
	return u
}

// UsageOf implements [usage.Store].
func (s *past) UsageOf(ctx context.Context, ids []federation.JobID) (map[federation.JobID][]usage.Usage, error) {
	out := make(map[federation.JobID][]usage.Usage)
	for part := range slices.Chunk(sorted(ids), maxIDs) {
		args := make([]any, len(part))
		for i, id := range part {
			args[i] = int64(id)
		}
		some, err := query(ctx, s.readers, readUsage, "SELECT job_id, task_index, data FROM usage WHERE job_id IN "+list(1, len(part))+
			" ORDER BY job_id, task_index", args...)
		if err != nil {
			return nil, fmt.Errorf("usage of jobs: %w", err)
		}
		for _, u := range some {
			out[u.Job] = append(out[u.Job], u)
		}
	}
	return out, nil
}

// Unmeasured implements [usage.Store].
func (s *past) Unmeasured(ctx context.Context, since time.Time, limit int) ([]federation.JobID, error) {
	ids, err := query(ctx, s.readers, func(r *row) federation.JobID { return federation.JobID(r.int()) },
		"SELECT id FROM jobs WHERE NOT live AND end_time >= $1 AND end_time > 0 AND start_time > 0 AND attempt > 0 "+
			"AND NOT EXISTS (SELECT 1 FROM usage WHERE usage.job_id = jobs.id) ORDER BY end_time, id LIMIT $2", nanos(since), int64(limit))
	if err != nil {
		return nil, fmt.Errorf("jobs without usage: %w", err)
	}
	return ids, nil
}
