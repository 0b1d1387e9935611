package store

import (
	"context"
	"database/sql"
)

// sqliteSession is the connection that writes to SQLite. Statements cost little and no way: each is run at once.
type sqliteSession struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt // by their text: each is prepared once
}

func (s *sqliteSession) begin() error {
	_, err := s.exec("BEGIN", nil)
	return err
}

func (s *sqliteSession) exec(text string, args []any) (int64, error) {
	stmt, err := s.prepared(text)
	if err != nil {
		return 0, err
	}
	r, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, databaseError(err)
	}
	rows, err := r.RowsAffected()
	if err != nil {
		return 0, databaseError(err)
	}
	return rows, nil
}

func (s *sqliteSession) later(text string, args []any, done func(int64, error) error) error {
	rows, err := s.exec(text, args)
	if done != nil {
		return done(rows, err)
	}
	return err
}

func (s *sqliteSession) settle() error { return nil }

func (s *sqliteSession) each(text string, args []any, take func(*row)) error {
	stmt, err := s.prepared(text)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err != nil {
		return databaseError(err)
	}
	return eachRow(rows, take, databaseError)
}

func (s *sqliteSession) prepared(text string) (*sql.Stmt, error) {
	if stmt, ok := s.stmts[text]; ok {
		return stmt, nil
	}
	stmt, err := s.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, databaseError(err)
	}
	s.stmts[text] = stmt
	return stmt, nil
}

// commit stores the counters too.
func (s *sqliteSession) commit(t *tx) error {
	if err := t.writeLog(); err != nil {
		return err
	}
	if t.counters != t.stored {
		_, err := t.exec("UPDATE meta SET next_job = $1, rev = $2, event_seq = $3, request_seq = $4, pool_seq = $5, change_seq = $6, change_total = $7",
			int64(t.nextJob), t.rev, t.eventSeq, t.requestSeq, t.poolSeq, t.changeSeq, t.changeTotal)
		if err != nil {
			return err
		}
	}
	if _, err := s.exec("COMMIT", nil); err != nil {
		return err
	}
	t.stored = t.counters
	return nil
}

// rollback fails if the transaction is gone: SQLite itself ends it after some errors.
func (s *sqliteSession) rollback() { _, _ = s.exec("ROLLBACK", nil) }

func (s *sqliteSession) close() error {
	for _, stmt := range s.stmts {
		stmt.Close()
	}
	return s.conn.Close()
}

// counted reads the counters of a store, for a transaction that is to go on from them.
func counted(ctx context.Context, conn *sql.Conn, c Config) (*tx, error) {
	t := newTx(&sqliteSession{conn: conn, stmts: make(map[string]*sql.Stmt)}, c)
	row := conn.QueryRowContext(ctx, "SELECT next_job, rev, event_seq, request_seq, pool_seq, change_seq, change_total FROM meta")
	if err := row.Scan(&t.nextJob, &t.rev, &t.eventSeq, &t.requestSeq, &t.poolSeq, &t.changeSeq, &t.changeTotal); err != nil {
		return nil, err
	}
	if err := conn.QueryRowContext(ctx, "SELECT at FROM change_log WHERE seq = $1", t.changeSeq).Scan(&t.changedAt); err != nil {
		return nil, err
	}
	if t.nextJob < t.first || t.nextJob > t.last {
		t.nextJob = t.first // a new store, or the range was changed
	}
	t.stored = t.counters
	return t, nil
}
