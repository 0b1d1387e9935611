package store

import (
	"context"
	"fmt"

	"fsub/federation"
	"fsub/sbatch"
)

const (
	selectKey     = "SELECT job_id FROM submission_keys WHERE uid = $1 AND key = $2"
	selectKeyOf   = "SELECT key FROM submission_keys WHERE job_id = $1"
	insertKey     = "INSERT INTO submission_keys (uid, key, job_id) VALUES ($1, $2, $3)"
	addHolding    = "INSERT INTO holdings (uid, bytes) VALUES ($1, $2) ON CONFLICT (uid) DO UPDATE SET bytes = holdings.bytes + excluded.bytes"
	selectHolding = "SELECT (SELECT COUNT(*) FROM jobs WHERE live AND uid = $1), (SELECT COUNT(*) FROM jobs WHERE live), " +
		"COALESCE((SELECT CAST(SUM(bytes) AS BIGINT) FROM holdings WHERE uid = $1), 0), (SELECT COALESCE(SUM(length(spec)), 0) FROM jobs WHERE live AND uid = $1)"
	countRequests = "SELECT COUNT(*) FROM requests WHERE uid = $1"
	// A job that is deleted takes its payload with it.
	releaseHolding = "UPDATE holdings SET bytes = CASE WHEN bytes > freed.n THEN bytes - freed.n ELSE 0 END FROM (SELECT jobs.uid AS owner, " +
		freedBytes + " AS n FROM " + freedJobs + ") AS freed WHERE holdings.uid = freed.owner"
	freedBytes = "SUM(length(script) + length(argv) + length(environment))"
	freedJobs  = "payloads JOIN jobs ON jobs.id = payloads.job_id WHERE jobs.id IN (" + selectEnded + ") GROUP BY jobs.uid"
)

var _ federation.Submitters = (*Store)(nil)

// CreateJobOnce implements [federation.Submitters].
func (s *jobs) CreateJobOnce(ctx context.Context, j *federation.Job, p *sbatch.Payload, key string) (again bool, err error) {
	return s.createOnce(ctx, j, p, key)
}

// JobOfKey implements [federation.Submitters].
func (s *jobs) JobOfKey(ctx context.Context, uid uint32, key string) (federation.JobID, error) {
	ids, err := query(ctx, s.readers, (*row).int, selectKey, int64(uid), key)
	if err == nil && len(ids) == 0 {
		err = federation.ErrNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("job of key %q: %w", key, err)
	}
	return federation.JobID(ids[0]), nil
}

// KeyOf implements [federation.Submitters].
func (s *jobs) KeyOf(ctx context.Context, id federation.JobID) (string, error) {
	return one(ctx, s.database, (*row).text, id, selectKeyOf)
}

// Holding implements [federation.Submitters].
func (s *jobs) Holding(ctx context.Context, uid uint32) (federation.Holding, error) {
	read := func(r *row) federation.Holding {
		return federation.Holding{Jobs: int(r.int()), All: int(r.int()), Bytes: r.int(), Specs: r.int()}
	}
	found, err := query(ctx, s.readers, read, selectHolding, int64(uid))
	if err != nil {
		return federation.Holding{}, fmt.Errorf("what uid %d holds: %w", uid, err)
	}
	return found[0], nil
}

// OpenRequests implements [federation.Submitters].
func (s *jobs) OpenRequests(ctx context.Context, uid uint32) (int, error) {
	found, err := query(ctx, s.readers, (*row).int, countRequests, int64(uid))
	if err != nil {
		return 0, fmt.Errorf("count requests of uid %d: %w", uid, err)
	}
	return int(found[0]), nil
}

// ofKey is the job that a user submitted under a key; 0: none.
func (t *tx) ofKey(uid uint32, key string) (federation.JobID, error) {
	ids, err := t.numbers(selectKey, int64(uid), key)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return federation.JobID(ids[0]), nil
}

// submitted keeps what a new job takes up, and its key.
func (t *tx) submitted(j *federation.Job, payload []any, key string) error {
	size := 0
	for _, v := range payload {
		if b, ok := v.([]byte); ok {
			size += len(b)
		}
	}
	if err := t.later(nil, addHolding, int64(j.UID), int64(size)); err != nil || key == "" {
		return err
	}
	return t.later(nil, insertKey, int64(j.UID), key, int64(j.ID))
}
