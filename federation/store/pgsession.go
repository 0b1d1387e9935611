package store

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fsub/federation"
	"fsub/federation/leader"
)

// pgSession is the connection that writes to PostgreSQL. Each exchange with the server takes longer than what the server does, so statements whose outcome
// nobody waits for travel together.
type pgSession struct {
	*postgres
	writer int64 // names this session in commits
	number int64 // of the newest transaction of it
	copied time.Time

	conn   *pgx.Conn
	queue  []queued
	idle   bool // nothing was done in this transaction
	waits  bool // somebody is to be told of what is in the queue
	warned bool // the server has said at COMMIT that it does not know

	mu      sync.Mutex
	raw     net.Conn // of conn
	closing bool     // nothing is waited for any more
	open    error    // why it is not known yet what became of a commit
}

type queued struct {
	text string
	args []any
	done func(int64, error) error
}

// atOnce bounds the statements that travel together.
const atOnce = 1024

func (s *pgSession) begin() error {
	if err := s.reconnect(); err != nil {
		return err
	}
	s.queue, s.idle = append(s.queue[:0], queued{text: "BEGIN"}), true
	if s.epoch != 0 {
		s.queue = append(s.queue, s.fence())
	}
	return nil
}

// fence looks whether this daemon still leads, and keeps another from it until the transaction is over.
func (s *pgSession) fence() queued {
	return queued{text: leader.Fence, args: []any{s.epoch}, done: func(rows int64, err error) error {
		if err == nil && rows == 0 {
			err = fmt.Errorf("%w: %s: nothing was written: %w (epoch %d)", federation.ErrUnavailable, s.name, leader.ErrLost, s.epoch)
		}
		return err
	}}
}

// reconnect makes a connection if there is none. Nobody else may have used the store meanwhile.
func (s *pgSession) reconnect() error {
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	if s.isClosing() {
		return errClosed
	}
	ctx := context.Background()
	if err := s.connect(ctx); err != nil {
		return err
	}
	err := s.takeStore(ctx)
	if err != nil {
		closeNow(s.conn)
	}
	return err
}

func (s *pgSession) later(text string, args []any, done func(int64, error) error) error {
	s.idle, s.waits = false, s.waits || done != nil
	s.queue = append(s.queue, queued{text, clean(args), done})
	if len(s.queue) >= atOnce {
		return s.send(nil)
	}
	return nil
}

func (s *pgSession) exec(text string, args []any) (rows int64, err error) {
	if text == releaseHolding {
		text = pgReleaseHolding
		if err := s.later(pgFoldHoldings, nil, nil); err != nil {
			return 0, err
		}
	}
	err = s.later(text, args, func(n int64, err error) error {
		rows = n
		return err
	})
	if err == nil {
		err = s.settle()
	}
	return rows, err
}

func (s *pgSession) settle() error {
	if !s.waits {
		return nil
	}
	return s.send(nil)
}

func (s *pgSession) each(text string, args []any, take func(*row)) error {
	s.idle = false
	s.queue = append(s.queue, queued{text: text, args: clean(args)})
	return s.send(take)
}

// send sends what is queued in one exchange. take, if not nil, is called with each row of the last.
func (s *pgSession) send(take func(*row)) error {
	var b pgx.Batch
	queue := grouped(s.queue)
	s.queue, s.waits = s.queue[:0], false
	for _, q := range queue {
		b.Queue(q.text, q.args...)
	}
	results := s.conn.SendBatch(context.Background(), &b)
	err := s.receive(results, queue, take)
	if closed := results.Close(); err == nil {
		err = s.fault(closed)
	}
	return err
}

func (s *pgSession) receive(results pgx.BatchResults, queue []queued, take func(*row)) error {
	for i := range queue {
		if take != nil && i == len(queue)-1 {
			return s.takeRows(results, take)
		}
		tag, err := results.Exec()
		if err = s.fault(err); queue[i].done != nil {
			err = queue[i].done(tag.RowsAffected(), err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *pgSession) takeRows(results pgx.BatchResults, take func(*row)) error {
	rows, err := results.Query()
	if err != nil {
		return s.fault(err)
	}
	defer rows.Close()
	r := newRow(len(rows.FieldDescriptions()))
	for rows.Next() {
		if r.values, err = rows.Values(); err != nil {
			return s.fault(err)
		}
		for i, v := range r.values {
			if n, ok := v.(int32); ok {
				r.values[i] = int64(n)
			}
		}
		r.next = 0
		if take(r); r.err != nil {
			return r.err
		}
	}
	return s.fault(rows.Err())
}

func (s *pgSession) rollback() {
	s.queue, s.waits = s.queue[:0], false
	if s.conn == nil || s.conn.IsClosed() || s.conn.PgConn().TxStatus() == 'I' {
		return
	}
	if _, err := s.conn.PgConn().Exec(context.Background(), "ROLLBACK").ReadAll(); err != nil {
		closeNow(s.conn)
	}
}

// fault gives err the federation's class, and what to do. A server that takes no writes is left, to look for the one that does.
func (s *pgSession) fault(err error) error {
	if err == nil {
		return nil
	}
	if state(err) == readOnly && s.conn != nil {
		closeNow(s.conn)
	}
	return fmt.Errorf("%s: %w", s.name, databaseError(err))
}

// slow is what a request is told that others have kept from its turn.
func (s *pgSession) slow() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		return fmt.Errorf("%w: the database has not answered in time; nothing was done: %w", federation.ErrUnavailable, s.open)
	}
	return fmt.Errorf("%w: %s has not answered in time; nothing was done", federation.ErrUnavailable, s.name)
}

// unsettled notes why it is not known yet what became of a commit; nil: it is known.
func (s *pgSession) unsettled(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = why
}

// notice hears what the server says beside its answers.
func (s *pgSession) notice(_ *pgconn.PgConn, n *pgconn.Notice) {
	if n.Code == "01000" {
		s.warned = true
	}
}

// leaveTime is how long writes go on after [Store.Leave]: a daemon that stops in order has ended by then.
const leaveTime = 2 * connectTime

// leave gives what is under way some time, and then leaves it.
func (s *pgSession) leave() { time.AfterFunc(leaveTime, s.cut) }

// closeSoon is leave for a store that is being closed.
func (s *pgSession) closeSoon() error {
	time.AfterFunc(connectTime, s.cut)
	return nil
}

// cut leaves what is under way, and has nothing be waited for any more. Nothing is cancelled: the server would take the end of a wait for a standby as a success.
func (s *pgSession) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing = true; s.raw != nil {
		s.raw.Close()
	}
}

func (s *pgSession) close() error {
	if s.conn == nil || s.conn.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTime)
	defer cancel()
	return s.conn.Close(ctx)
}

// closeNow closes a connection without a word to the server.
func closeNow(c *pgx.Conn) {
	c.PgConn().Conn().Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.Close(ctx)
}

// clean makes text of args that PostgreSQL takes: it has no NUL and is UTF-8. Names of files and jobs may be anything.
func clean(args []any) []any {
	for i, a := range args {
		if text, ok := a.(string); ok && (!utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0) {
			args[i] = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
		}
	}
	return args
}
