package leader

import (
	"context"
	"fmt"
	"time"
)

// Member is a daemon that shares the database.
type Member struct {
	Holder
	Version string
	Since   time.Time     // when it was started
	Age     time.Duration // since it was last heard of, by the database's clock
	Leads   bool
	Slow    bool     // it leads, and its lease is longer than [TTL], since the database is slow
	Lag     *float64 // how many seconds it was behind then; nil: it leads, or knows nothing yet
}

// gone is after how long without a word another daemon may have a daemon's name.
const gone = 2 * TTL

// Self is a daemon as it tells the others of itself.
type Self struct {
	Holder
	Version string
	Place   string    // where it runs, such as host and socket: another daemon of the same name is elsewhere
	Since   time.Time // when it was started
	Agents  string    // URL of its agent server, which answers while it leads; "": it has none
	Remote  string    // HOST:PORT where it answers callers on other machines; "": nowhere
	Lag     *float64  // as in [Member]
}

// Join says that a daemon lives: once, and then every [Renew]. Another one of the same name is an error while it lives. It waits for no disk and no standby: what is
// lost of it is said again, and a database that is slow makes no daemon seem silent.
func (p Postgres) Join(ctx context.Context, s Self) error {
	tx, err := p.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
		return err
	}
	done, err := tx.ExecContext(ctx, `INSERT INTO daemons (name, address, version, place, since, agents, remote, lag, seen)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $9, clock_timestamp())
		ON CONFLICT (name) DO UPDATE SET address = $2, version = $3, place = $4, since = $5, agents = $6, remote = $7, lag = $9, seen = clock_timestamp(), stopped = false
		WHERE daemons.place = $4 OR daemons.stopped OR daemons.seen < clock_timestamp() - make_interval(secs => $8)`,
		s.Name, s.Address, s.Version, s.Place, s.Since, s.Agents, s.Remote, gone.Seconds(), s.Lag)
	if err != nil {
		return err
	}
	switch n, err := done.RowsAffected(); {
	case err != nil:
		return err
	case n == 1:
		return tx.Commit()
	}
	return fmt.Errorf("another daemon that is called %s shares this database: give each another name (daemons: name)", s.Name)
}

// Leave says that a daemon has stopped.
func (p Postgres) Leave(ctx context.Context, s Self) error {
	_, err := p.DB.ExecContext(ctx, `UPDATE daemons SET stopped = true WHERE name = $1 AND place = $2`, s.Name, s.Place)
	return err
}

// Others are the names and addresses of the daemons but one, in order of their names: of those that live, and of those that were heard of within a week, since one that
// is started again is to be found.
func (p Postgres) Others(ctx context.Context, than string) ([]Self, error) {
	rows, err := p.DB.QueryContext(ctx, `SELECT name, address, agents, remote FROM daemons
		WHERE name <> $1 AND seen > clock_timestamp() - interval '7 days' ORDER BY name`, than)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Self
	for rows.Next() {
		var s Self
		if err := rows.Scan(&s.Name, &s.Address, &s.Agents, &s.Remote); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// Members are the daemons that share the database and have said a word within a day, but for those that were stopped, in order of their names.
func (p Postgres) Members(ctx context.Context) ([]Member, error) {
	rows, err := p.DB.QueryContext(ctx, `SELECT d.name, d.address, d.version, d.since, extract(epoch FROM clock_timestamp() - d.seen)::float8,
			l.name IS NOT NULL, coalesce(l.expires > clock_timestamp() + make_interval(secs => $1), false), d.lag FROM daemons d LEFT JOIN leader l ON l.name = d.name AND l.expires > clock_timestamp()
		WHERE NOT d.stopped AND d.seen > clock_timestamp() - interval '1 day' ORDER BY d.name`, TTL.Seconds())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Member
	for rows.Next() {
		var m Member
		var age float64
		if err := rows.Scan(&m.Name, &m.Address, &m.Version, &m.Since, &age, &m.Leads, &m.Slow, &m.Lag); err != nil {
			return nil, err
		}
		m.Age = time.Duration(age * float64(time.Second))
		all = append(all, m)
	}
	return all, rows.Err()
}
