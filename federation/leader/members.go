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
}

// gone is after how long without a word another daemon may have a daemon's name.
const gone = 2 * TTL

// Self is a daemon as it tells the others of itself.
type Self struct {
	Holder
	Version string
	Place   string    // where it runs, such as host and socket: another daemon of the same name is elsewhere
	Since   time.Time // when it was started
}

// Join says that a daemon lives: once, and then every [Renew]. Another one of the same name is an error while it lives.
func (p Postgres) Join(ctx context.Context, s Self) error {
	done, err := p.DB.ExecContext(ctx, `INSERT INTO daemons (name, address, version, place, since, seen) VALUES ($1, $2, $3, $4, $5, clock_timestamp())
		ON CONFLICT (name) DO UPDATE SET address = $2, version = $3, place = $4, since = $5, seen = clock_timestamp()
		WHERE daemons.place = $4 OR daemons.seen < clock_timestamp() - make_interval(secs => $6)`, s.Name, s.Address, s.Version, s.Place, s.Since, gone.Seconds())
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return fmt.Errorf("another daemon that is called %s shares this database: give each another name (daemons: name)", s.Name)
}

// Leave says that a daemon has stopped.
func (p Postgres) Leave(ctx context.Context, s Self) error {
	_, err := p.DB.ExecContext(ctx, `DELETE FROM daemons WHERE name = $1 AND place = $2`, s.Name, s.Place)
	return err
}

// Members are the daemons that share the database and have said a word within a day, in order of their names.
func (p Postgres) Members(ctx context.Context) ([]Member, error) {
	rows, err := p.DB.QueryContext(ctx, `SELECT d.name, d.address, d.version, d.since, extract(epoch FROM clock_timestamp() - d.seen)::float8,
			l.name IS NOT NULL FROM daemons d LEFT JOIN leader l ON l.name = d.name AND l.expires > clock_timestamp()
		WHERE d.seen > clock_timestamp() - interval '1 day' ORDER BY d.name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Member
	for rows.Next() {
		var m Member
		var age float64
		if err := rows.Scan(&m.Name, &m.Address, &m.Version, &m.Since, &age, &m.Leads); err != nil {
			return nil, err
		}
		m.Age = time.Duration(age * float64(time.Second))
		all = append(all, m)
	}
	return all, rows.Err()
}
