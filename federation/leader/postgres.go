package leader

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Schema makes the table that [Postgres] uses. It is logged, unlike a table of locks might be: an epoch must survive a crash of the database.
//
// A session is the connection on which the lease was taken or renewed last, such as "1796000000/4711/1796000000.123456" (the epoch, the server's process for it, and its start): while
// the holder lives there is one, and a server knows at once when the process at its other end is gone.
const Schema = `
CREATE TABLE IF NOT EXISTS leader (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	epoch bigint NOT NULL,
	name text NOT NULL,
	address text NOT NULL,
	expires timestamptz NOT NULL,
	session text NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS daemons (
	name text PRIMARY KEY,
	address text NOT NULL,
	version text NOT NULL,
	place text NOT NULL,
	since timestamptz NOT NULL,
	seen timestamptz NOT NULL,
	agents text NOT NULL DEFAULT '',
	remote text NOT NULL DEFAULT '',
	lag double precision,
	stopped boolean NOT NULL DEFAULT false
);
CREATE TABLE IF NOT EXISTS sealed (name text PRIMARY KEY, value bytea NOT NULL);
DO $$ BEGIN -- a table of before has fewer columns; each ALTER waits for all who use it, so that it is made only then
	IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'daemons'::regclass AND attname = 'lag') THEN
		ALTER TABLE leader ADD COLUMN IF NOT EXISTS session text NOT NULL DEFAULT '';
		ALTER TABLE daemons ADD COLUMN IF NOT EXISTS agents text NOT NULL DEFAULT '', ADD COLUMN IF NOT EXISTS remote text NOT NULL DEFAULT '',
			ADD COLUMN IF NOT EXISTS stopped boolean NOT NULL DEFAULT false, ADD COLUMN lag double precision;
	END IF;
END $$;
INSERT INTO leader (epoch, name, address, expires) VALUES (0, '', '', '-infinity') ON CONFLICT DO NOTHING`

// Postgres keeps the lease in a PostgreSQL database that has [Schema].
type Postgres struct{ DB *sql.DB }

var _ Table = Postgres{}

// Take implements [Table]. A lease that is over may still be locked by a commit of its holder that was begun before. One that the server carries out is waited for.
// One in which the server waits for its client is ended: the holder was stopped or cut off in the middle of it. No timeout of the server does that for a holder that
// has sent half of its statements.
//
// An epoch is a second since 1970 at least: it is newer than those that agents have seen, also when the database was restored from a copy, or is another one.
func (p Postgres) Take(ctx context.Context, h Holder, ttl time.Duration) (epoch int64, err error) {
	return p.take(ctx, h, ttl, "expires <= clock_timestamp()")
}

// TakeFrom implements [Table].
func (p Postgres) TakeFrom(ctx context.Context, epoch int64, h Holder, ttl time.Duration) (int64, error) {
	return p.take(ctx, h, ttl, "epoch = $4 AND "+sessionGone, epoch)
}

// take takes the lease where a condition on it holds.
func (p Postgres) take(ctx context.Context, h Holder, ttl time.Duration, where string, args ...any) (epoch int64, err error) {
	for range unlockTries {
		err = p.DB.QueryRowContext(ctx, `WITH next AS (SELECT greatest(epoch + 1, extract(epoch FROM clock_timestamp())::bigint) AS epoch FROM leader WHERE `+where+`
				FOR UPDATE SKIP LOCKED)
			UPDATE leader SET epoch = next.epoch, name = $1, address = $2, expires = clock_timestamp() + make_interval(secs => $3), session = next.epoch || `+thisSession+`
			FROM next RETURNING next.epoch`, append([]any{h.Name, h.Address, ttl.Seconds()}, args...)...).Scan(&epoch)
		if !errors.Is(err, sql.ErrNoRows) {
			return epoch, err
		}
		var over bool
		if err := p.DB.QueryRowContext(ctx, "SELECT expires <= clock_timestamp() FROM leader").Scan(&over); err != nil {
			return 0, err
		}
		if !over {
			break
		}
		if _, err := p.DB.ExecContext(ctx, endHolder); err != nil {
			return 0, err
		}
		if err := sleep(ctx, unlockPause); err != nil {
			return 0, err
		}
	}
	return 0, ErrHeld
}

// What is done about a lease that is over and locked: how often it is looked at again, and what ends the transactions that wait for their clients.
const (
	unlockTries = 10
	unlockPause = 20 * time.Millisecond
	endHolder   = `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid AND a.datname = current_database()
		WHERE l.relation = 'leader'::regclass AND l.mode = 'RowShareLock' AND a.usename = current_user AND a.wait_event_type = 'Client' AND a.pid <> pg_backend_pid()`
)

// thisSession is the connection that makes a statement, and sessionGone whether that of the lease has ended. A lease that tells of none, or of another epoch's, does
// not count; nor does a process of the server of which this user may not see the start.
const (
	thisSession = `(SELECT '/' || pid || '/' || extract(epoch FROM backend_start) FROM pg_stat_activity WHERE pid = pg_backend_pid())`
	sessionGone = `(session LIKE epoch || '/%' AND NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid::text = split_part(session, '/', 2)
		AND coalesce(extract(epoch FROM backend_start)::text = split_part(session, '/', 3), true)))`
)

// Extend implements [Table].
func (p Postgres) Extend(ctx context.Context, epoch int64, ttl time.Duration) error {
	done, err := p.DB.ExecContext(ctx, `UPDATE leader SET expires = greatest(expires, clock_timestamp() + make_interval(secs => $2)), session = epoch || `+thisSession+`
		WHERE epoch = $1 AND expires > clock_timestamp()`, epoch, ttl.Seconds())
	return lostUnlessOne(done, err, epoch)
}

// Resign implements [Table].
func (p Postgres) Resign(ctx context.Context, epoch int64) error {
	_, err := p.DB.ExecContext(ctx, `UPDATE leader SET expires = clock_timestamp() WHERE epoch = $1 AND expires > clock_timestamp()`, epoch)
	return err
}

// Read implements [Table].
func (p Postgres) Read(ctx context.Context) (l Lease, err error) {
	var left float64
	err = p.DB.QueryRowContext(ctx, `SELECT epoch, name, address, greatest(extract(epoch FROM expires - clock_timestamp()), -1e9)::float8, `+sessionGone+`
		FROM leader WHERE expires > '-infinity'`).Scan(&l.Epoch, &l.Name, &l.Address, &left, &l.Gone)
	if errors.Is(err, sql.ErrNoRows) {
		return Lease{}, nil // nobody has led yet
	}
	l.Left = time.Duration(left * float64(time.Second))
	return l, err
}

// Fence is the first statement of each transaction of the leader, with its epoch. It locks the lease, so that no other daemon can take it before the
// transaction is over: one that looked without a lock could commit after another daemon has read what is to be done. No row: another daemon has taken the
// lease. A lease that is over, but that nobody has taken, does not matter: nobody else has written since.
//
// It is a lock on the epoch, which is a key: it keeps others from the lease, and does not hold up [Postgres.Extend], which leaves the epoch as it is. A commit may
// take seconds, as long as the lease can be renewed meanwhile.
const Fence = `SELECT 1 FROM leader WHERE epoch = $1 FOR KEY SHARE`

// Fenced runs do in a transaction that only the leader of an epoch may make. ErrLost: it leads no more.
func (p Postgres) Fenced(ctx context.Context, epoch int64, do func(*sql.Tx) error) error {
	tx, err := p.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var one int
	switch err := tx.QueryRowContext(ctx, Fence, epoch).Scan(&one); {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w: epoch %d is over", ErrLost, epoch)
	case err != nil:
		return err
	}
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func lostUnlessOne(done sql.Result, err error, epoch int64) error {
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return fmt.Errorf("%w: epoch %d is over", ErrLost, epoch)
}
