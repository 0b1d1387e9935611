package store

import (
	"context"
	"fmt"
	"time"

	"fsub/federation"
)

// purgeAtOnce bounds the jobs that one transaction deletes, so that other writers do not wait for long.
const purgeAtOnce = 200

const deleteEnded = "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE NOT live AND end_time > 0 AND end_time < $1 " +
	"AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.job_id = jobs.id AND attempts.live) ORDER BY end_time LIMIT $2) RETURNING id"

// Purge deletes the jobs that ended before the given time, with everything that belongs to them,
// and returns how many. Their IDs may be reused. A job with an attempt that is not final stays,
// whatever its state. If Purge fails in the middle, what was deleted so far stays deleted, and is
// counted. The records of rented pools that were closed before then go too, all but the machines:
// they say what was paid; and so do operations that ended, the history of nodes and sites before then, and what rules of health have said.
func (s *Store) Purge(ctx context.Context, before time.Time) (int, error) {
	total, err := s.purge(ctx, before, func(t *tx, before, limit int64) (int, error) {
		gone, err := t.numbers(deleteEnded, before, limit)
		for _, id := range gone {
			t.note(federation.Change{Kind: federation.ChangeJob, How: federation.Gone, Job: federation.JobID(id)})
		}
		t.usedUp = t.usedUp && len(gone) == 0
		return len(gone), err
	})
	if err != nil {
		return total, fmt.Errorf("delete jobs that ended before %s: %w", before.Format(time.DateTime), err)
	}
	_, err = s.purge(ctx, before, func(t *tx, before, limit int64) (int, error) {
		rows, err := t.exec(deleteClosedPool, before, limit)
		return int(rows), err
	})
	if err != nil {
		return total, fmt.Errorf("delete records of pools closed before %s: %w", before.Format(time.DateTime), err)
	}
	_, err = s.purge(ctx, before, func(t *tx, before, limit int64) (int, error) {
		rows, err := t.exec(deleteOperation, before, limit)
		return int(rows), err
	})
	if err != nil {
		return total, fmt.Errorf("delete operations that ended before %s: %w", before.Format(time.DateTime), err)
	}
	_, err = s.purge(ctx, before, func(t *tx, before, limit int64) (int, error) {
		rows, err := t.exec(deleteNodeEvents, before, limit)
		return int(rows), err
	})
	if err != nil {
		return total, fmt.Errorf("delete the history of nodes before %s: %w", before.Format(time.DateTime), err)
	}
	_, err = s.purge(ctx, before, func(t *tx, before, limit int64) (int, error) {
		rows, err := t.exec(oldFindings, before, limit)
		return int(rows), err
	})
	if err != nil {
		return total, fmt.Errorf("delete findings before %s: %w", before.Format(time.DateTime), err)
	}
	_, err = s.purge(ctx, before, func(t *tx, before, limit int64) (int, error) {
		rows, err := t.exec(deleteSiteEvents, before, limit)
		return int(rows), err
	})
	if err != nil {
		return total, fmt.Errorf("delete the history of sites before %s: %w", before.Format(time.DateTime), err)
	}
	return total, nil
}

// purge calls remove to delete what ended before a time, so many records in each transaction, until
// none is left.
func (s *Store) purge(ctx context.Context, before time.Time, remove func(t *tx, before, limit int64) (int, error)) (total int, err error) {
	for {
		var rows int
		err := s.writer.submit(ctx, func(t *tx) (err error) {
			rows, err = remove(t, nanos(before), purgeAtOnce)
			return err
		})
		if err != nil {
			return total, err
		}
		total += rows
		if rows < purgeAtOnce {
			return total, nil
		}
	}
}
