package store

import (
	"context"
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// togetherKey is the key of the n-th of the jobs that were submitted together under a key. No key that a user gives has a blank.
func togetherKey(key string, n int) string { return fmt.Sprintf("%s %08d", key, n) }

// Those keys, in their order: '!' follows the blank.
const selectTogether = "SELECT job_id FROM submission_keys WHERE uid = $1 AND key > $2 AND key < $3 ORDER BY key"

// CreateJobs implements [federation.Submitters]. All is one transaction: nobody sees some of the jobs without the others, whatever happens.
func (s *jobs) CreateJobs(ctx context.Context, all []*federation.Job, payload func(n int) *sbatch.Payload, key string) (again []federation.JobID, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	// All that can be done outside the writer is.
	rows := make([][]any, len(all))
	bytes := 0
	for i, j := range all {
		if rows[i], err = newJobRow(j); err != nil {
			return nil, fmt.Errorf("create job %d of %d: %w", i+1, len(all), err)
		}
		bytes += sizeOf(rows[i])
	}
	w := write{user: int64(all[0].UID), size: max(bytes, large)} // which shares no transaction with the usual ones
	w.do = func(t *tx) error {
		if again = nil; key != "" {
			if err := t.each(func(r *row) { again = append(again, federation.JobID(r.int())) }, selectTogether, w.user, key+" ", key+"!"); err != nil || len(again) > 0 {
				return err
			}
		}
		return t.createTogether(rows, payload, w.user, key)
	}
	if err = s.writer.put(ctx, &w); err != nil {
		return nil, fmt.Errorf("create %d jobs: %w", len(all), err)
	}
	if len(again) > 0 {
		return again, nil
	}
	for i, j := range all {
		j.State, j.Rev = federation.Pending, rows[i][1].(int64)
		s.acknowledged.add(j)
	}
	return nil, nil
}

// newJobRow are the values of a job that is to be stored.
func newJobRow(j *federation.Job) ([]any, error) {
	job := *j
	job.State = federation.Pending
	if job.Submit.IsZero() {
		job.Submit = time.Now()
	}
	job.Submit = job.Submit.UTC().Round(0)
	if len(specOf(&job).Het) > 0 {
		return nil, fmt.Errorf("%w: a job with components is submitted by itself", federation.ErrInvalid)
	}
	return jobValues(&job)
}

// createTogether stores jobs of one user under the IDs that they have.
func (t *tx) createTogether(rows [][]any, payloadOf func(n int) *sbatch.Payload, uid int64, key string) error {
	bytes := 0
	for i, values := range rows {
		id := federation.JobID(values[0].(int64))
		rev, err := t.next(&t.rev, revs)
		if err != nil {
			return err
		}
		values[1] = rev
		// An ID that a job has fails all: others are reserved then.
		if err := t.later(nil, insertNewJob, values...); err != nil {
			return err
		}
		payload, err := payloadValues(payloadOf(i)) // of all at once they might be a gigabyte
		if err != nil {
			return err
		}
		payload[0] = int64(id)
		if err := t.later(nil, insertPayload, payload...); err != nil {
			return err
		}
		if key != "" {
			if err := t.later(nil, insertKey, uid, togetherKey(key, i), int64(id)); err != nil {
				return err
			}
		}
		t.note(journal.Change{Kind: journal.ChangeJob, How: journal.Created, Job: id, State: string(federation.Pending)})
		bytes += sizeOf(payload)
	}
	return t.later(nil, addHolding, uid, int64(bytes))
}

// JobsOfKey implements [federation.Submitters].
func (s *jobs) JobsOfKey(ctx context.Context, uid uint32, key string) ([]federation.JobID, error) {
	ids, err := query(ctx, s.readers, func(r *row) federation.JobID { return federation.JobID(r.int()) }, selectTogether, int64(uid), key+" ", key+"!")
	if err == nil && len(ids) == 0 {
		err = federation.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("jobs of key %q: %w", key, err)
	}
	return ids, nil
}
