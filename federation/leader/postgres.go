package leader

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Schema makes the table that [Postgres] uses. It is logged, unlike a table of locks might be: an epoch must survive a crash of the database.
const Schema = `
CREATE TABLE IF NOT EXISTS leader (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	epoch bigint NOT NULL,
	name text NOT NULL,
	address text NOT NULL,
	expires timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS daemons (
	name text PRIMARY KEY,
	address text NOT NULL,
	version text NOT NULL,
	place text NOT NULL,
	since timestamptz NOT NULL,
	seen timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS sealed (name text PRIMARY KEY, value bytea NOT NULL);
INSERT INTO leader (epoch, name, address, expires) VALUES (0, '', '', '-infinity') ON CONFLICT DO NOTHING`

// Postgres keeps the lease in a PostgreSQL database that has [Schema].
type Postgres struct{ DB *sql.DB }

var _ Table = Postgres{}

// Take implements [Table]. A lease that is over may still be locked by a commit of its holder that has begun before and was stopped in it: the database
// ends such a session by its idle_in_transaction_session_timeout, and until then Take waits.
//
// An epoch is a second since 1970 at least: so it is newer than those that agents and sites have seen when the database was restored from a copy, or is another one.
func (p Postgres) Take(ctx context.Context, h Holder, ttl time.Duration) (epoch int64, err error) {
	err = p.DB.QueryRowContext(ctx, `UPDATE leader SET epoch = greatest(epoch + 1, extract(epoch FROM clock_timestamp())::bigint), name = $1, address = $2,
		expires = clock_timestamp() + make_interval(secs => $3) WHERE expires <= clock_timestamp() RETURNING epoch`,
		h.Name, h.Address, ttl.Seconds()).Scan(&epoch)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrHeld
	}
	return epoch, err
}

// Extend implements [Table].
func (p Postgres) Extend(ctx context.Context, epoch int64, ttl time.Duration) error {
	done, err := p.DB.ExecContext(ctx, `UPDATE leader SET expires = clock_timestamp() + make_interval(secs => $2)
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
	err = p.DB.QueryRowContext(ctx, `SELECT epoch, name, address, greatest(extract(epoch FROM expires - clock_timestamp()), -1e9)::float8
		FROM leader WHERE expires > '-infinity'`).Scan(&l.Epoch, &l.Name, &l.Address, &left)
	if errors.Is(err, sql.ErrNoRows) {
		return Lease{}, nil // nobody has led yet
	}
	l.Left = time.Duration(left * float64(time.Second))
	return l, err
}

// Fence is the first statement of each transaction of the leader, with its epoch. It locks the lease, so that no other daemon can take it before the
// transaction is over: one that looked without a lock could commit after another daemon has read what is to be done. No row: another daemon has taken the
// lease. A lease that is over, but that nobody has taken, does not matter: nobody else has written since.
const Fence = `SELECT 1 FROM leader WHERE epoch = $1 FOR SHARE`

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
