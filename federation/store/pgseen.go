package store

import (
	"context"
	"time"

	"fsub/federation/journal"
)

// Seen is how far a daemon has seen the log of changes of a database: what it knows outside of it. A dump that is restored over the same database takes the log back
// behind that; nothing within tells of it.
type Seen struct {
	Server string       `json:"server"` // and which of its databases
	Mark   journal.Mark `json:"mark"`
}

// Seen is the end of the log now. The zero value: the store is in a file.
func (s *Store) Seen(ctx context.Context) (Seen, error) {
	if s.postgres == nil {
		return Seen{}, nil
	}
	log, err := s.Changes(ctx, 0, 0)
	return Seen{s.postgres.server.id, log.Mark}, err
}

// wentBack reports that the log of this database ends before what was seen of it.
func (s *pgSession) wentBack(ctx context.Context, seen Seen) (bool, error) {
	if seen.Server != s.server.id {
		return false, nil
	}
	var newest int64
	err := s.conn.QueryRow(ctx, "SELECT COALESCE(MAX(seq), 0) FROM change_log").Scan(&newest)
	return err == nil && newest < int64(seen.Mark), err
}

// leaveOut has the store compared with the sites, and leaves out so many job IDs.
func (s *pgSession) leaveOut(ctx context.Context, skip int64) error {
	s.copied = time.Now().UTC()
	if _, err := s.conn.Exec(ctx, "UPDATE meta SET (server, timeline, copied_at) = ($1, $2, $3)", s.server.id, s.server.timeline, s.copied.UnixNano()); err != nil {
		return err
	}
	_, err := s.conn.Exec(ctx, "SELECT setval('job_ids', min_value + (COALESCE(last_value, min_value) - min_value + LEAST($1, (max_value - min_value) / 4)) % (max_value - min_value + 1)) "+
		"FROM pg_sequences WHERE schemaname = current_schema AND sequencename = 'job_ids'", skip)
	return err
}
