package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"fsub/federation"
)

// tx is the writer's transaction, one after the other on the same connection. Its errors wrap one of the federation's;
// ErrUnavailable means that the transaction is lost.
type tx struct {
	conn        *sql.Conn
	stmts       map[string]*sql.Stmt // by their text: each is prepared once
	first, last federation.JobID
	counters
	stored counters // what the meta table holds
	usedUp bool     // no ID is free: spares a search of the whole range, until jobs are deleted

	log         []changeRecord // of the transaction that is under way
	changedAt   int64          // when the newest commit in the log was made
	keepChanges int64
	keepFor     time.Duration
}

// counters number things. They are stored with every transaction that has moved them.
type counters struct {
	nextJob    federation.JobID // where to look for the next free ID
	rev        int64
	eventSeq   int64
	requestSeq int64
	poolSeq    int64

	changeSeq, changeTotal int64
}

func newTx(ctx context.Context, conn *sql.Conn, first, last federation.JobID) (*tx, error) {
	t := &tx{conn: conn, stmts: make(map[string]*sql.Stmt), first: first, last: last}
	row := conn.QueryRowContext(ctx, "SELECT next_job, rev, event_seq, request_seq, pool_seq, change_seq, change_total FROM meta")
	if err := row.Scan(&t.nextJob, &t.rev, &t.eventSeq, &t.requestSeq, &t.poolSeq, &t.changeSeq, &t.changeTotal); err != nil {
		return nil, err
	}
	if err := conn.QueryRowContext(ctx, "SELECT at FROM change_log WHERE seq = $1", t.changeSeq).Scan(&t.changedAt); err != nil {
		return nil, err
	}
	if t.nextJob < first || t.nextJob > last {
		t.nextJob = first // a new store, or the range was changed
	}
	t.stored = t.counters
	return t, nil
}

// apart does those of the group that can be done in one transaction and leaves in the others why they cannot.
func (t *tx) apart(group []*write) error {
	return t.transaction(func() error {
		for _, p := range group {
			if p.err = t.savepoint(p); errors.Is(p.err, federation.ErrUnavailable) {
				return p.err
			}
		}
		return nil
	})
}

// transaction commits what do does, unless it fails. The counters follow.
func (t *tx) transaction(do func() error) error {
	before := t.counters
	t.log = t.log[:0]
	_, err := t.exec("BEGIN")
	if err == nil {
		err = do()
	}
	if err == nil {
		err = t.commit()
	}
	if err != nil {
		// It fails if the transaction is gone: SQLite itself ends it after some errors.
		_, _ = t.exec("ROLLBACK")
		if t.nextJob != before.nextJob {
			t.usedUp = false // what used them up is undone
		}
		t.counters = before
	}
	return err
}

func (t *tx) commit() error {
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
	if _, err := t.exec("COMMIT"); err != nil {
		return err
	}
	t.stored = t.counters
	return nil
}

// savepoint does p so that its failure leaves nothing of it behind.
func (t *tx) savepoint(p *write) error {
	before, noted := t.counters, len(t.log)
	if _, err := t.exec("SAVEPOINT one"); err != nil {
		return err
	}
	failed := p.run(t)
	if errors.Is(failed, federation.ErrUnavailable) {
		return failed
	}
	if failed != nil {
		t.counters, t.log = before, t.log[:noted]
		if _, err := t.exec("ROLLBACK TO one"); err != nil {
			return err
		}
	}
	if _, err := t.exec("RELEASE one"); err != nil {
		return err
	}
	return failed
}

// exec runs one statement. It never uses a caller's context: a statement that is interrupted would end everybody's
// transaction.
func (t *tx) exec(query string, args ...any) (rows int64, err error) {
	s, err := t.prepared(query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, databaseError(err)
	}
	rows, err = r.RowsAffected()
	if err != nil {
		return 0, databaseError(err)
	}
	return rows, nil
}

// number runs a query that gives one number or no row at all.
func (t *tx) number(query string, args ...any) (n int64, found bool, err error) {
	s, err := t.prepared(query)
	if err != nil {
		return 0, false, err
	}
	switch err := s.QueryRowContext(context.Background(), args...).Scan(&n); err {
	case nil:
		return n, true, nil
	case sql.ErrNoRows:
		return 0, false, nil
	default:
		return 0, false, databaseError(err)
	}
}

// numbers runs a statement that gives any number of rows, of one number each.
func (t *tx) numbers(query string, args ...any) (all []int64, err error) {
	s, err := t.prepared(query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	if err != nil {
		return nil, databaseError(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, databaseError(err)
		}
		all = append(all, n)
	}
	if err := rows.Err(); err != nil {
		return nil, databaseError(err)
	}
	return all, nil
}

func (t *tx) prepared(query string) (*sql.Stmt, error) {
	if s, ok := t.stmts[query]; ok {
		return s, nil
	}
	s, err := t.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, databaseError(err)
	}
	t.stmts[query] = s
	return s, nil
}

func (t *tx) close() error {
	for _, s := range t.stmts {
		s.Close()
	}
	return t.conn.Close()
}

// freeID returns the next free job ID: from nextJob to the end of the range, then from its beginning. Jobs that still
// exist keep theirs.
func (t *tx) freeID() (id federation.JobID, err error) {
	ok := false
	if !t.usedUp {
		id, ok, err = t.freeIn(t.nextJob, t.last)
	}
	if err == nil && !ok && !t.usedUp && t.nextJob > t.first {
		id, ok, err = t.freeIn(t.first, t.nextJob-1)
	}
	if err == nil && !ok {
		t.usedUp = true
		err = fmt.Errorf("%w: every job ID from %d to %d is used: widen the range or delete old jobs", federation.ErrConflict, t.first, t.last)
	}
	return id, err
}

// freeRun returns free job IDs that follow each other, at most n: the next one and those after it.
func (t *tx) freeRun(n int) ([]federation.JobID, error) {
	id, err := t.freeID()
	if err != nil {
		return nil, err
	}
	end := min(t.last, id+federation.JobID(n)-1)
	taken, found, err := t.number("SELECT id FROM jobs WHERE id > $1 AND id <= $2 ORDER BY id LIMIT 1", int64(id), int64(end))
	if err != nil {
		return nil, err
	}
	if found {
		end = federation.JobID(taken) - 1
	}
	run := make([]federation.JobID, 0, end-id+1)
	for ; id <= end; id++ {
		run = append(run, id)
	}
	return run, nil
}

// roomFor moves on to where n IDs in a row are free.
func (t *tx) roomFor(n int) error {
	wrapped := false
	for id := t.nextJob; ; {
		end := id + federation.JobID(n) - 1
		if end > t.last || end < id {
			if wrapped {
				return fmt.Errorf("%w: no %d job IDs in a row are free", federation.ErrConflict, n)
			}
			id, wrapped = t.first, true
			if end = id + federation.JobID(n) - 1; end > t.last {
				return fmt.Errorf("%w: the range of job IDs is smaller than %d", federation.ErrConflict, n)
			}
		}
		taken, found, err := t.number("SELECT id FROM jobs WHERE id >= $1 AND id <= $2 ORDER BY id DESC LIMIT 1", int64(id), int64(end))
		if err != nil {
			return err
		}
		if !found {
			t.nextJob = id
			return nil
		}
		id = federation.JobID(taken) + 1
	}
}

// freeIn returns the lowest free ID from first to last.
func (t *tx) freeIn(first, last federation.JobID) (federation.JobID, bool, error) {
	_, taken, err := t.number("SELECT id FROM jobs WHERE id = $1", int64(first))
	if err != nil || !taken {
		return first, !taken, err
	}
	// The free one after the first run of taken ones.
	id, ok, err := t.number("SELECT j.id + 1 FROM jobs j WHERE j.id >= $1 AND j.id < $2 "+
		"AND NOT EXISTS (SELECT 1 FROM jobs k WHERE k.id = j.id + 1) ORDER BY j.id LIMIT 1", int64(first), int64(last))
	return federation.JobID(id), ok, err
}
