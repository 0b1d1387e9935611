package store

import (
	"context"
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
)

// purgeAtOnce bounds the jobs that one transaction deletes, so that other writers do not wait for long.
const purgeAtOnce = 200

const (
	selectEnded = "SELECT id FROM jobs WHERE NOT live AND end_time > 0 AND end_time < $1 " +
		"AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.job_id = jobs.id AND attempts.live) ORDER BY end_time, id LIMIT $2"
	deleteEnded = "DELETE FROM jobs WHERE id IN (" + selectEnded + ") RETURNING id"
)

// Purge deletes the jobs that ended before the given time, with everything that belongs to them,
// and returns how many. Their IDs may be reused. A job with an attempt that is not final stays,
// whatever its state. If Purge fails in the middle, what was deleted so far stays deleted, and is
// counted. The records of rented pools that were closed before then go too, all but the machines:
// they say what was paid; and so do operations that ended.
func (s *cleaner) Purge(ctx context.Context, before time.Time) (int, error) {
	total, err := s.purge(ctx, before, func(t *tx, before, limit int64) (int, error) {
		if _, err := t.exec(releaseHolding, before, limit); err != nil {
			return 0, err
		}
		gone, err := t.numbers(deleteEnded, before, limit)
		for _, id := range gone {
			t.note(journal.Change{Kind: journal.ChangeJob, How: journal.Gone, Job: federation.JobID(id)})
		}
		t.usedUp = t.usedUp && len(gone) == 0
		return len(gone), err
	})
	if err != nil {
		return total, fmt.Errorf("delete jobs that ended before %s: %w", before.Format(time.DateTime), err)
	}
	_, err = s.purgeEach(ctx, before, []purged{{"records of pools closed", deleteClosedPool}, {"operations that ended", deleteOperation}})
	if err == nil {
		err = s.shrink(ctx)
	}
	return total, err
}

// Pages without use that the file keeps for what comes next, and how many one transaction gives back to the file system.
const (
	keepPages   = 2048
	shrinkPages = 512
)

// shrink gives space back that nothing uses any more. The file is cut when the WAL has been copied into it. A store that was made before this was possible
// keeps its space, for what comes next.
func (s *cleaner) shrink(ctx context.Context) error {
	for s.shrinks {
		left := int64(0)
		err := s.writer.submit(ctx, func(t *tx) error {
			free, _, err := t.number("PRAGMA freelist_count")
			if left = free - keepPages; err != nil || left <= 0 {
				return err
			}
			return t.vacuum(min(left, shrinkPages))
		})
		if err != nil {
			return fmt.Errorf("give back what the store does not use: %w", err)
		}
		if left <= shrinkPages {
			return nil
		}
	}
	return nil
}

// vacuum gives pages back. The pragma does one with each step.
func (t *tx) vacuum(pages int64) error {
	return t.each(func(*row) {}, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pages))
}

// PurgeHistory deletes what happened to nodes and sites before a time, and what the rules of health said then, and returns how many lines.
func (s *cleaner) PurgeHistory(ctx context.Context, before time.Time) (int, error) {
	return s.purgeEach(ctx, before, []purged{{"the history of nodes", deleteNodeEvents}, {"findings", oldFindings}, {"the history of sites", deleteSiteEvents}})
}

// PurgeAudit deletes the entries of the audit log from before a time, and returns how many. Nothing else deletes any.
func (s *cleaner) PurgeAudit(ctx context.Context, before time.Time) (int, error) {
	n, err := s.purge(ctx, before, func(t *tx, before, limit int64) (int, error) {
		rows, err := t.exec(deleteAudit, before, limit)
		return int(rows), err
	})
	if err != nil {
		return n, fmt.Errorf("delete the audit log before %s: %w", before.Format(time.DateTime), err)
	}
	return n, nil
}

// purged is what a statement deletes, for people.
type purged struct{ what, statement string }

func (s *cleaner) purgeEach(ctx context.Context, before time.Time, all []purged) (total int, err error) {
	for _, p := range all {
		n, err := s.purge(ctx, before, func(t *tx, before, limit int64) (int, error) {
			rows, err := t.exec(p.statement, before, limit)
			return int(rows), err
		})
		if total += n; err != nil {
			return total, fmt.Errorf("delete %s before %s: %w", p.what, before.Format(time.DateTime), err)
		}
	}
	return total, nil
}

// purge calls remove to delete what ended before a time, so many records in each transaction, until
// none is left.
func (s *cleaner) purge(ctx context.Context, before time.Time, remove func(t *tx, before, limit int64) (int, error)) (total int, err error) {
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
