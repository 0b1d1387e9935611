package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fsub/federation"
)

// ErrOpen means that a write may be done or not, and that the database could not be asked. It is ErrUnavailable too.
var ErrOpen = fmt.Errorf("%w: the database has not confirmed it: it may be done or not", federation.ErrUnavailable)

// pgStoreWait is how long the request of a user waits for PostgreSQL. A commit goes on: if the standby is gone, for as long as that is.
const pgStoreWait = 5 * time.Second

const (
	takeLog    = "SELECT pg_advisory_xact_lock($1)"
	appendLog  = "INSERT INTO change_log (seq, at, total, changes) SELECT seq + 1, GREATEST(at, $1), total + $2, $3 FROM (SELECT seq, at, total FROM change_log ORDER BY seq DESC LIMIT 1) AS newest RETURNING seq, at, total"
	noteCommit = "INSERT INTO commits (writer, number, void, at) VALUES ($1, $2, FALSE, $3)"
	voidCommit = "INSERT INTO commits (writer, number, void, at) VALUES ($1, $2, TRUE, $3) ON CONFLICT DO NOTHING"
	// Something is always written, so that the commit of the question waits for the standby as well.
	touchCommit = "INSERT INTO commits (writer, number, void, at) VALUES ($1, 0, TRUE, $2) ON CONFLICT (writer, number) DO UPDATE SET at = excluded.at"
	isVoid      = "SELECT void FROM commits WHERE writer = $1 AND number = $2"
	// What only the newest transaction may be asked for is deleted every so often.
	oldCommits        = "DELETE FROM commits WHERE writer = $1 AND number > 0 AND number < $2"
	deleteCommitsEach = 64
)

// commit sends the rest of the transaction and COMMIT in one exchange. The lock of the log is taken in a statement before the one that reads its newest number,
// and is held until the commit is visible: so numbers follow one another without a gap, whoever writes.
func (s *pgSession) commit(t *tx) error {
	if s.idle {
		s.queue = s.queue[:0]
		return nil
	}
	s.number++
	now := time.Now().UnixNano()
	var b pgx.Batch
	for _, q := range grouped(s.queue) {
		b.Queue(q.text, q.args...)
	}
	s.queue = s.queue[:0]
	if s.number%deleteCommitsEach == 0 {
		b.Queue(oldCommits, s.writer, s.number)
	}
	if t.trimDue() {
		b.Queue(trimChanges, int64(trimStep), t.changedAt-int64(t.keepFor), t.changeTotal-t.keepChanges)
	}
	b.Queue(noteCommit, s.writer, s.number, now)
	var logged []int64
	if len(t.log) > 0 {
		text, err := encode(t.log)
		if err != nil {
			return err
		}
		b.Queue(takeLog, int64(lockLog))
		b.Queue(appendLog, now, int64(len(t.log)), text)
		logged = make([]int64, 3)
	}
	s.warned = false
	ends, err := s.exchange(&b, logged)
	switch {
	case err == nil && !s.warned:
	case err != nil && ends && !s.warned:
		return s.fault(err)
	default:
		if err := s.resolve(err); err != nil {
			return err
		}
	}
	if len(logged) > 0 {
		t.changeSeq, t.changedAt, t.changeTotal = logged[0], logged[1], logged[2]
	}
	return nil
}

// exchange sends b with a COMMIT at its end. ends tells that after an error nothing was committed for certain.
func (s *pgSession) exchange(b *pgx.Batch, logged []int64) (ends bool, err error) {
	b.Queue("COMMIT")
	results := s.conn.SendBatch(context.WithoutCancel(context.Background()), b)
	defer results.Close()
	for i := range b.Len() {
		var tag pgconn.CommandTag
		if logged != nil && i == b.Len()-2 {
			err = results.QueryRow().Scan(&logged[0], &logged[1], &logged[2])
		} else {
			tag, err = results.Exec()
		}
		last := i == b.Len()-1
		if err != nil {
			return s.refused(err), err
		}
		if last && tag.String() != "COMMIT" {
			return true, fmt.Errorf("COMMIT was answered with %s", tag)
		}
	}
	if err := results.Close(); err != nil && s.conn.IsClosed() {
		return false, err
	}
	return false, nil
}

// refused tells that the server itself has refused a statement, or COMMIT: then it has rolled back. A server that ends the session says nothing of its COMMIT.
func (s *pgSession) refused(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Severity == "ERROR" && !s.conn.IsClosed()
}

// resolve finds out what became of the newest transaction after its answer was lost, on a new connection. It asks until it knows: if the old one still waits for a
// standby, so does the question. Whatever the answer, it stays the answer. nil: it is committed, and as safe as any.
func (s *pgSession) resolve(why error) error {
	s.log.Warn("the answer to a commit is lost: asking the database what became of it", "err", why)
	if s.conn != nil {
		closeNow(s.conn)
	}
	defer s.unsettled(nil)
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		done, err := s.outcome(context.Background())
		s.unsettled(err)
		switch {
		case err == nil && done:
			return nil
		case err == nil:
			return fmt.Errorf("%w: %s: the connection was lost before it was committed: nothing was done: %w", federation.ErrUnavailable, s.name, orClosed(why))
		case s.isClosing():
			return fmt.Errorf("%w: %s: %w", ErrOpen, s.name, err)
		}
		if s.conn != nil {
			closeNow(s.conn)
		}
		time.Sleep(wait)
	}
}

func orClosed(err error) error {
	if err == nil {
		return errors.New("the server could not confirm it")
	}
	return err
}

// outcome asks a new connection, to the standby that took over if one has. The insert waits for the old transaction if that has come so far, and keeps it from being done if it has not.
func (s *pgSession) outcome(ctx context.Context) (done bool, err error) {
	is, err := s.dial(ctx)
	if err != nil {
		return false, err
	}
	other := s.same(is)
	if other != nil && (is.id != s.server.id || is.timeline < s.server.timeline) {
		return false, other
	}
	s.warned = false
	now := time.Now().UnixNano()
	err = s.inTransaction(ctx, func() error {
		if _, err := s.conn.Exec(ctx, voidCommit, s.writer, s.number, now); err != nil {
			return err
		}
		if _, err := s.conn.Exec(ctx, touchCommit, s.writer, now); err != nil {
			return err
		}
		var void bool
		err := s.conn.QueryRow(ctx, isVoid, s.writer, s.number).Scan(&void)
		done = !void
		return err
	})
	if err == nil && s.warned {
		err = errors.New("the server could not confirm it")
	}
	switch {
	case err != nil:
	case other != nil: // nothing more is to be written there before the store is opened again
		closeNow(s.conn)
	default:
		err = s.takeStore(ctx)
	}
	return done, err
}

func (s *pgSession) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}
