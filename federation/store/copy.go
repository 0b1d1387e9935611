package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"slices"
	"strings"

	"fsub/federation"
)

// Copied is what [Copy] has copied of a table, and found the same on both sides.
type Copied struct {
	Table string
	Rows  int64
}

// copyRows is how many rows are written by one statement; SQLite takes 32,766 values in one.
const copyRows = 500

// Copy copies a store from SQLite to PostgreSQL, or back. No daemon may run on either. The target is empty, or what an earlier Copy that was cut off has left: of
// that a table which is the same on both sides stays. Each table is compared by the number of its rows and by a sum over their contents; a target that is not
// whole is not opened by a daemon. done is told of each table.
func Copy(ctx context.Context, from, to Config, done func(Copied)) error {
	if (from.Postgres == nil) == (to.Postgres == nil) {
		return errors.New("one of the two must be a PostgreSQL: copy a SQLite file with fed store backup, a PostgreSQL with pg_dump")
	}
	source, err := openSide(ctx, from)
	if err != nil {
		return err
	}
	defer source.close()
	target, err := openSide(ctx, to)
	if err != nil {
		return err
	}
	defer target.close()
	tables, err := tablesOf(ctx, source, target)
	if err != nil {
		return err
	}
	if err := target.begin(ctx, source.name); err != nil {
		return err
	}
	for i := range tables {
		rows, err := copyTable(ctx, source, target, &tables[i])
		if err != nil {
			return fmt.Errorf("table %s: %w", tables[i].name, err)
		}
		if done != nil {
			done(Copied{tables[i].name, rows})
		}
	}
	n, err := source.counters(ctx)
	if err == nil {
		err = target.setCounters(ctx, n, tables)
	}
	if err == nil {
		_, err = target.db.ExecContext(ctx, "DROP TABLE copying")
	}
	return err
}

// side is one of the two stores of a Copy.
type side struct {
	name     string
	db       *sql.DB
	postgres bool
	release  func()
}

// openSide brings a store up to date and keeps daemons out of it.
func openSide(ctx context.Context, c Config) (*side, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.copying, c.FirstID, c.LastID = true, 1, math.MaxInt32 // the daemon sets its own range when it starts
	s, err := Open(ctx, c)
	if err != nil {
		return nil, err
	}
	if !s.Copied().IsZero() {
		s.Close()
		return nil, errors.New("a store that was restored was not compared with its sites yet: start the daemon on it once, and stop it when it has")
	}
	if c.Postgres != nil { // it keeps the lock while it is open
		return &side{name: nameOf(c), db: s.readers, postgres: true, release: func() { s.Close() }}, nil
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	lock, err := prepareFile(c.Path)
	if err != nil {
		return nil, err
	}
	db := sqliteWriter(c.Path, false)
	if _, err := db.ExecContext(ctx, "PRAGMA foreign_keys = off"); err != nil {
		lock.Close()
		return nil, openError(c.Path, err)
	}
	return &side{name: c.Path, db: db, release: func() { db.Close(); lock.Close() }}, nil
}

func nameOf(c Config) string {
	p, err := newPostgres(&c)
	if err != nil {
		return "PostgreSQL"
	}
	return p.name
}

func (s *side) close() { s.release() }

// begin notes in the target that it is not whole. One with jobs that no Copy from this source has begun is left alone.
func (s *side) begin(ctx context.Context, from string) error {
	if started, err := unfinished(ctx, s.db, s.postgres); err != nil {
		return err
	} else if started != "" {
		if started != from {
			return fmt.Errorf("%s holds a part of %s, not of %s: empty it first", s.name, started, from)
		}
		return nil
	}
	var used int64
	if err := s.db.QueryRowContext(ctx, "SELECT (SELECT COUNT(*) FROM jobs) + (SELECT COUNT(*) FROM ledger_groups) + (SELECT COUNT(*) FROM account_records)").Scan(&used); err != nil {
		return err
	}
	if used > 0 {
		return fmt.Errorf("%s is not empty: give a new database, or a file that is not there", s.name)
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "CREATE TABLE copying (source TEXT NOT NULL)"); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO copying (source) VALUES ($1)", from); err != nil {
		return err
	}
	return tx.Commit()
}

// unfinished is from where a store was being copied when that was cut off; "": it is whole.
func unfinished(ctx context.Context, db *sql.DB, postgres bool) (from string, err error) {
	there := "SELECT COUNT(*) FROM sqlite_master WHERE name = 'copying'"
	if postgres {
		there = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema AND tablename = 'copying'"
	}
	var n int
	if err := db.QueryRowContext(ctx, there).Scan(&n); err != nil || n == 0 {
		return "", err
	}
	return from, db.QueryRowContext(ctx, "SELECT source FROM copying").Scan(&from)
}

// whole refuses a store into which a Copy was cut off.
func (s *Store) whole(ctx context.Context, c Config) error {
	from, err := unfinished(ctx, s.readers, c.Postgres != nil)
	if err == nil && from != "" {
		err = fmt.Errorf("%w: the store holds a part of %s only, since a copy was cut off: run fed store copy again", federation.ErrUnavailable, from)
	}
	return err
}

// copiedTable is a table with the kinds of its columns, in PostgreSQL's words.
type copiedTable struct {
	name     string
	columns  []string
	kinds    []string
	identity string // column whose numbers the database gives; "": none
}

func (t *copiedTable) list() string { return strings.Join(t.columns, ", ") }

// tablesOf are the tables of the PostgreSQL side in an order in which each follows those that it refers to. Both sides have the same, but for what is one's own.
func tablesOf(ctx context.Context, sides ...*side) (all []copiedTable, err error) {
	pg := sides[slices.IndexFunc(sides, func(s *side) bool { return s.postgres })]
	rows, err := pg.db.QueryContext(ctx, `SELECT table_name::TEXT, column_name::TEXT, data_type::TEXT, is_identity = 'YES' FROM information_schema.columns
		WHERE table_schema = current_schema AND table_name NOT IN ('meta', 'commits', 'schema_version', 'copying', 'leader', 'daemons', 'sealed') ORDER BY table_name, ordinal_position`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var table, column, kind string
		var identity bool
		if err := rows.Scan(&table, &column, &kind, &identity); err != nil {
			return nil, err
		}
		if len(all) == 0 || all[len(all)-1].name != table {
			all = append(all, copiedTable{name: table})
		}
		t := &all[len(all)-1]
		if t.columns, t.kinds = append(t.columns, column), append(t.kinds, kind); identity {
			t.identity = column
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return inOrder(ctx, pg.db, all)
}

// inOrder puts tables after those that their foreign keys name.
func inOrder(ctx context.Context, db *sql.DB, all []copiedTable) (ordered []copiedTable, err error) {
	rows, err := db.QueryContext(ctx, "SELECT conrelid::regclass::TEXT, confrelid::regclass::TEXT FROM pg_constraint WHERE contype = 'f' AND conrelid <> confrelid")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	needs := map[string][]string{}
	for rows.Next() {
		var table, parent string
		if err := rows.Scan(&table, &parent); err != nil {
			return nil, err
		}
		needs[table] = append(needs[table], parent)
	}
	placed := map[string]bool{}
	for len(ordered) < len(all) {
		before := len(ordered)
		for _, t := range all {
			waits := slices.ContainsFunc(needs[t.name], func(parent string) bool { return !placed[parent] })
			if !placed[t.name] && !waits {
				placed[t.name] = true
				ordered = append(ordered, t)
			}
		}
		if len(ordered) == before {
			return nil, errors.New("tables refer to each other in a circle")
		}
	}
	return ordered, rows.Err()
}

// copyTable copies one table, unless it is the same on both sides already.
func copyTable(ctx context.Context, from, to *side, t *copiedTable) (rows int64, err error) {
	n, sum, err := from.sum(ctx, t, nil)
	if err != nil {
		return 0, err
	}
	if have, is, err := to.sum(ctx, t, nil); err != nil || have == n && is == sum {
		return n, err
	}
	tx, err := to.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "DELETE FROM "+t.name); err != nil {
		return 0, err
	}
	w := &copyWriter{ctx: ctx, tx: tx, table: t}
	if _, _, err := from.sum(ctx, t, w.row); err != nil {
		return 0, err
	}
	if err := w.flush(); err != nil {
		return 0, err
	}
	if t.name == "change_log" && !to.postgres { // a store is not opened without
		_, err := tx.ExecContext(ctx, "UPDATE meta SET (change_seq, change_total) = (SELECT seq, total FROM change_log ORDER BY seq DESC LIMIT 1)")
		if err != nil {
			return 0, err
		}
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	if have, is, err := to.sum(ctx, t, nil); err != nil {
		return 0, err
	} else if have != n || is != sum {
		return 0, fmt.Errorf("%d rows were read and %d are there, or their contents differ", n, have)
	}
	return n, nil
}

// sum counts the rows of a table and adds up a hash of each, whatever their order. take, if not nil, is given each row.
func (s *side) sum(ctx context.Context, t *copiedTable, take func([]any) error) (n int64, sum uint64, err error) {
	rows, err := s.db.QueryContext(ctx, "SELECT "+t.list()+" FROM "+t.name)
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		values, into := make([]any, len(t.columns)), make([]any, len(t.columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return 0, 0, err
		}
		h := fnv.New64a()
		for i := range values {
			if values[i], err = valueOf(values[i], t.kinds[i]); err != nil {
				return 0, 0, fmt.Errorf("column %s: %w", t.columns[i], err)
			}
			switch v := values[i].(type) {
			case []byte:
				fmt.Fprintf(h, "%d:%s,", len(v), v)
			case float64:
				fmt.Fprintf(h, "%x,", math.Float64bits(v))
			default:
				fmt.Fprintf(h, "%v,", v)
			}
		}
		n, sum = n+1, sum+h.Sum64()
		if take != nil {
			if err := take(values); err != nil {
				return 0, 0, err
			}
		}
	}
	return n, sum, rows.Err()
}

// valueOf is a value as both databases have it in a column of a kind. SQLite keeps what it was given, whatever the column's type.
func valueOf(v any, kind string) (any, error) {
	switch kind {
	case "boolean":
		switch v := v.(type) {
		case int64:
			return v != 0, nil
		case bool, nil:
			return v, nil
		}
	case "text":
		switch v := v.(type) {
		case []byte:
			return clean([]any{string(v)})[0], nil
		case string:
			return clean([]any{v})[0], nil
		case nil:
			return nil, nil
		}
	case "bytea":
		switch v := v.(type) {
		case string:
			return []byte(v), nil
		case []byte, nil:
			return v, nil
		}
	case "bigint":
		switch v.(type) {
		case int64, nil:
			return v, nil
		}
	case "double precision":
		switch v := v.(type) {
		case int64:
			return float64(v), nil
		case float64, nil:
			return v, nil
		}
	}
	return nil, fmt.Errorf("%w: a value of type %T in a column of type %s", federation.ErrInvalid, v, kind)
}

// copyWriter writes rows, many by one statement.
type copyWriter struct {
	ctx   context.Context
	tx    *sql.Tx
	table *copiedTable
	args  []any
}

func (w *copyWriter) row(values []any) error {
	w.args = append(w.args, values...)
	if len(w.args) < copyRows*len(w.table.columns) {
		return nil
	}
	return w.flush()
}

func (w *copyWriter) flush() error {
	if len(w.args) == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "INSERT INTO %s (%s) VALUES ", w.table.name, w.table.list())
	for i := range w.args {
		switch {
		case i == 0:
			text.WriteByte('(')
		case i%len(w.table.columns) == 0:
			text.WriteString("), (")
		default:
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, "$%d", i+1)
	}
	text.WriteByte(')')
	_, err := w.tx.ExecContext(w.ctx, text.String(), w.args...)
	w.args = w.args[:0]
	return err
}
