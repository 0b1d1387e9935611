package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fsub/federation"
)

// skipAfterFailover is how many job IDs are left out when a standby took over: more than asynchronous replication loses.
const skipAfterFailover = 10_000

// first makes the connection of a store that is opened: the schema and the range of job IDs are right after it.
func (s *pgSession) first(ctx context.Context, c Config) error {
	s.preferNewest(ctx)
	if err := s.connect(ctx); err != nil {
		return err
	}
	if err := s.takeStore(ctx); err != nil {
		return err
	}
	found, err := risks(ctx, s.conn)
	if err != nil {
		return s.fault(err)
	}
	if len(found) > 0 && !c.Postgres.Unsafe {
		return fmt.Errorf("store: %s: with its setting %s the server may lose jobs that users were told are submitted: change it, or accept that with store_unsafe: true", s.name, strings.Join(found, ", "))
	}
	if len(found) > 0 {
		s.log.Warn("the database may lose what it has acknowledged", "settings", strings.Join(found, ", "))
	}
	var asynchronous bool
	err = s.conn.QueryRow(ctx, "SELECT current_setting('synchronous_standby_names') = '' AND EXISTS (SELECT 1 FROM pg_stat_replication)").Scan(&asynchronous)
	if err != nil {
		return s.fault(err)
	}
	if asynchronous {
		s.log.Warn("the database's standbys are asynchronous: if one takes over, jobs that users were told are submitted may be lost; see synchronous_standby_names")
	}
	if err := migratePostgres(ctx, s.conn, s.name, s.log); err != nil {
		return err
	}
	return s.fault(s.inTransaction(ctx, func() error {
		if s.epoch != 0 {
			q := s.fence()
			done, err := s.conn.Exec(ctx, q.text, q.args...)
			if err := q.done(done.RowsAffected(), err); err != nil {
				return err
			}
		}
		if err := s.setRange(ctx, c); err != nil {
			return err
		}
		if err := s.recognize(ctx, c.Postgres.Seen); err != nil {
			return err
		}
		if _, err := s.conn.Exec(ctx, pgFoldHoldings); err != nil {
			return err
		}
		_, err := s.conn.Exec(ctx, "DELETE FROM commits WHERE at < $1", time.Now().Add(-24*time.Hour).UnixNano())
		return err
	}))
}

// preferNewest asks all hosts of the URL, and puts the one first that takes writes and has the greatest timeline: an old primary that came back takes writes too.
func (p *postgres) preferNewest(ctx context.Context) {
	if len(p.config.Fallbacks) == 0 {
		return
	}
	hosts := append([]*pgconn.FallbackConfig{{Host: p.config.Host, Port: p.config.Port, TLSConfig: p.config.TLSConfig}}, p.config.Fallbacks...)
	found := make([]server, len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() {
			config, err := p.current()
			if err != nil {
				return
			}
			config.Host, config.Port, config.TLSConfig, config.Fallbacks = h.Host, h.Port, h.TLSConfig, nil
			conn, err := pgx.ConnectConfig(ctx, config)
			if err != nil {
				return
			}
			defer closeNow(conn)
			found[i], _ = serverOf(ctx, conn)
		})
	}
	all.Wait()
	best := 0
	for i := range found {
		if found[i].timeline > found[best].timeline {
			best = i
		}
	}
	hosts[0], hosts[best] = hosts[best], hosts[0]
	p.config.Host, p.config.Port, p.config.TLSConfig, p.config.Fallbacks = hosts[0].Host, hosts[0].Port, hosts[0].TLSConfig, hosts[1:]
}

func (s *pgSession) inTransaction(ctx context.Context, do func() error) error {
	tx, err := s.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if err := do(); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// connect makes a new connection to the primary, in the place of one that is lost.
func (s *pgSession) connect(ctx context.Context) error {
	is, err := s.dial(ctx)
	if err == nil {
		err = s.same(is)
	}
	if err != nil {
		return errors.Join(err, s.release())
	}
	if s.server == (server{}) {
		s.server = is
	}
	return nil
}

// dial makes a new connection to whichever primary there is.
func (s *pgSession) dial(ctx context.Context) (is server, err error) {
	config, err := s.current()
	if err != nil {
		return is, err
	}
	config.OnNotice = s.notice
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return is, s.fault(err)
	}
	if !s.use(conn) {
		closeNow(conn)
		return is, errClosed
	}
	if is, err = serverOf(ctx, conn); err == nil { // whatever the database or the role has as its default
		_, err = conn.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', FALSE) WHERE current_setting('synchronous_commit') <> 'remote_apply'")
	}
	return is, s.fault(err)
}

// use takes a connection for what follows, unless nothing is to follow any more.
func (s *pgSession) use(conn *pgx.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.conn, s.raw = conn, conn.PgConn().Conn()
	}
	return !s.closing
}

// takeStore keeps other daemons out as long as the connection lasts. What remains of a connection that was lost goes when the server notices.
func (s *pgSession) takeStore(ctx context.Context) error {
	try := "SELECT pg_try_advisory_lock($1)"
	if s.epoch != 0 { // the fence keeps those out that do not lead, this one those that want it for themselves
		try = "SELECT pg_try_advisory_lock_shared($1)"
	}
	for deadline := time.Now().Add(takeLock); ; {
		var taken bool
		if err := s.conn.QueryRow(ctx, try, int64(lockStore)).Scan(&taken); err != nil {
			return s.fault(err)
		}
		if taken {
			return nil
		}
		if time.Now().After(deadline) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	var holder string
	_ = s.conn.QueryRow(ctx, "SELECT COALESCE(a.client_addr::TEXT, 'this host') || ', since ' || date_trunc('second', a.backend_start) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "+
		"WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND (l.classid::bigint << 32 | l.objid::bigint) = $1", int64(lockStore)).Scan(&holder)
	return fmt.Errorf("%w: %s is in use by another fed (%s): stop it first", federation.ErrUnavailable, s.name, holder)
}

// setRange has the sequence of job IDs keep to the configured range.
func (s *pgSession) setRange(ctx context.Context, c Config) error {
	var first, last, next int64
	err := s.conn.QueryRow(ctx, "SELECT min_value, max_value, COALESCE(last_value, 0) FROM pg_sequences WHERE schemaname = current_schema AND sequencename = 'job_ids'").Scan(&first, &last, &next)
	if err != nil || first == int64(c.FirstID) && last == int64(c.LastID) {
		return err
	}
	text := fmt.Sprintf("ALTER SEQUENCE job_ids MINVALUE %d MAXVALUE %d START %d", c.FirstID, c.LastID, c.FirstID)
	if next < int64(c.FirstID) || next > int64(c.LastID) {
		text += " RESTART"
	}
	_, err = s.conn.Exec(ctx, text)
	return err
}

// recognize finds out whether this is the database that the store was in before, as it was seen.
func (s *pgSession) recognize(ctx context.Context, seen Seen) error {
	var was server
	var copied int64
	err := s.conn.QueryRow(ctx, "SELECT server, timeline, copied_at FROM meta").Scan(&was.id, &was.timeline, &copied)
	if errors.Is(err, pgx.ErrNoRows) {
		_, err = s.conn.Exec(ctx, "INSERT INTO meta (one, server, timeline, copied_at) VALUES (1, $1, $2, 0)", s.server.id, s.server.timeline)
		return err
	}
	if err != nil {
		return err
	}
	s.copied = fromNanos(copied)
	if was == s.server {
		back, err := s.wentBack(ctx, seen)
		if err != nil || !back {
			return err
		}
		s.log.Warn("the database is behind what this daemon has seen of it: a copy was restored over it. Job IDs that may have been given since are left out, and the store is compared with the sites")
		return s.leaveOut(ctx, skipIDs)
	}
	if was.id == s.server.id && s.server.timeline < was.timeline {
		return (&postgres{name: s.name, server: was, replaced: make(chan struct{})}).same(s.server)
	}
	skip := int64(skipAfterFailover)
	if was.id != s.server.id {
		skip = skipIDs
	}
	s.log.Warn("the database is not the one that the store was in: a standby that took over, or a copy. Job IDs that may have been given since are left out, and the store is compared with the sites",
		"was", was.id, "timeline", was.timeline, "is", s.server.id, "now", s.server.timeline)
	return s.leaveOut(ctx, skip)
}

// InUsePostgres reports as an error that a daemon uses the store in a PostgreSQL.
func InUsePostgres(ctx context.Context, at Postgres) error {
	p, err := newPostgres(&Config{Postgres: &at})
	if err != nil {
		return err
	}
	s := &pgSession{postgres: p}
	defer s.release()
	if err := s.connect(ctx); err != nil {
		return err
	}
	return s.takeStore(ctx)
}

// release closes what an attempt to open has left.
func (s *pgSession) release() error {
	if s.conn != nil {
		closeNow(s.conn)
	}
	return nil
}
