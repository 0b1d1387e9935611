package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"fsub/federation"
)

const (
	ourTables = "SELECT c.relname FROM pg_class c WHERE c.relnamespace = current_schema::regnamespace AND c.relkind = 'r' ORDER BY c.relname"
	// References of one column are all that the schema has.
	ourReferences = "SELECT k.conrelid::regclass::text, a.attname, k.confrelid::regclass::text, f.attname FROM pg_constraint k " +
		"JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1] JOIN pg_attribute f ON f.attrelid = k.confrelid AND f.attnum = k.confkey[1] " +
		"WHERE k.contype = 'f' AND k.connamespace = current_schema::regnamespace AND cardinality(k.conkey) = 1 ORDER BY 1, 2"
	checkCounts = "SELECT (SELECT MAX(version) FROM schema_version), pg_database_size(current_database()), (SELECT COUNT(*) FROM jobs), (SELECT COUNT(*) FROM jobs WHERE live), " +
		"(SELECT copied_at FROM meta), (SELECT COALESCE(last_value, min_value) FROM pg_sequences WHERE schemaname = current_schema AND sequencename = 'job_ids')"
)

// CheckPostgres reads the whole store in a PostgreSQL, as [Check] does a file: each row of each table, and whether what it belongs to is there. It writes nothing, and
// a daemon may be running. What only the server can see, such as the order within its indexes, is pg_amcheck's business.
func CheckPostgres(ctx context.Context, at Postgres) (*Report, error) {
	p, err := newPostgres(&Config{Postgres: &at})
	if err != nil {
		return nil, err
	}
	config, err := p.current()
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["default_transaction_isolation"] = "repeatable read" // all of it as of one moment
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, databaseError(err))
	}
	defer closeNow(conn)
	r := &Report{Newest: NewestSchema()}
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var copied, next int64
		if err := tx.QueryRow(ctx, checkCounts).Scan(&r.Schema, &r.Bytes, &r.Jobs, &r.Live, &copied, &next); err != nil {
			return err
		}
		r.Copied, r.Next = fromNanos(copied), federation.JobID(next)
		return r.readAll(ctx, tx)
	})
	switch state(err) {
	case "":
	case "42P01": // no such table
		return nil, fmt.Errorf("%s: no fed has ever kept its state there", p.name)
	case "XX001", "XX002":
		r.Faults = append(r.Faults, databaseError(err).Error())
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, databaseError(err))
	}
	return r, nil
}

// reference is a column whose values are keys of another table.
type reference struct{ Table, Column, Parent, Key string }

// readAll reads each row, and looks whether it belongs to one that is there.
func (r *Report) readAll(ctx context.Context, tx pgx.Tx) error {
	tables, err := tx.Query(ctx, ourTables)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(tables, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		var rows int64
		name = pgx.Identifier{name}.Sanitize()
		if err := tx.QueryRow(ctx, "SELECT COALESCE(SUM(LENGTH(t::TEXT)), 0) FROM "+name+" t").Scan(&rows); err != nil { // all values of it
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	found, err := tx.Query(ctx, ourReferences)
	if err != nil {
		return err
	}
	references, err := pgx.CollectRows(found, pgx.RowToStructByPos[reference])
	if err != nil {
		return err
	}
	for _, k := range references {
		var orphans int64
		text := fmt.Sprintf("SELECT COUNT(*) FROM %s t WHERE t.%s IS NOT NULL AND NOT EXISTS (SELECT 1 FROM %s p WHERE p.%s = t.%[2]s)", k.Table, k.Column, k.Parent, k.Key)
		if err := tx.QueryRow(ctx, text).Scan(&orphans); err != nil {
			return fmt.Errorf("table %s: %w", k.Table, err)
		}
		if orphans > 0 {
			r.Faults = append(r.Faults, fmt.Sprintf("table %s: %d rows belong to nothing in %s", k.Table, orphans, k.Parent))
		}
	}
	return nil
}
