package store

import (
	"context"
	"fmt"
)

// numbers are those that a store gives next, which no table has.
type numbers struct{ job, rev, event, request, pool int64 }

// sequences are PostgreSQL's sequences for them.
func (n *numbers) sequences() map[string]*int64 {
	return map[string]*int64{"job_ids": &n.job, revs: &n.rev, eventSeqs: &n.event, requestSeqs: &n.request, poolSeqs: &n.pool}
}

// counters reads the numbers that are given next.
func (s *side) counters(ctx context.Context) (n numbers, err error) {
	if s.postgres {
		for name, into := range n.sequences() { // what a block had left is skipped
			if err := s.db.QueryRowContext(ctx,
				"SELECT s.last_value + CASE WHEN s.is_called THEN q.increment_by ELSE 0 END FROM "+name+" s, pg_sequences q WHERE q.schemaname = current_schema AND q.sequencename = '"+name+"'").Scan(into); err != nil {
				return n, err
			}
		}
		return n, nil
	}
	err = s.db.QueryRowContext(ctx, "SELECT next_job, rev + 1, event_seq + 1, request_seq + 1, pool_seq + 1 FROM meta").Scan(&n.job, &n.rev, &n.event, &n.request, &n.pool)
	return n, err
}

// setCounters has the target go on from there.
func (s *side) setCounters(ctx context.Context, n numbers, tables []copiedTable) error {
	if !s.postgres {
		_, err := s.db.ExecContext(ctx, `UPDATE meta SET next_job = $1, rev = $2 - 1, event_seq = $3 - 1, request_seq = $4 - 1, pool_seq = $5 - 1`, n.job, n.rev, n.event, n.request, n.pool)
		return err
	}
	for name, next := range n.sequences() {
		if _, err := s.db.ExecContext(ctx, "SELECT setval('"+name+"', GREATEST($1::BIGINT - increment_by, min_value), $1::BIGINT - increment_by >= min_value) FROM pg_sequences WHERE schemaname = current_schema AND sequencename = '"+name+"'", *next); err != nil {
			return fmt.Errorf("sequence %s: %w", name, err)
		}
	}
	for i := range tables {
		t := &tables[i]
		if t.identity == "" {
			continue
		}
		text := fmt.Sprintf("SELECT setval(pg_get_serial_sequence('%[1]s', '%[2]s'), COALESCE((SELECT MAX(%[2]s) FROM %[1]s), 0) + 1, FALSE)", t.name, t.identity)
		if _, err := s.db.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("numbers of table %s: %w", t.name, err)
		}
	}
	return nil
}
