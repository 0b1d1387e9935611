package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sys/unix"

	"fsub/federation"
	"fsub/federation/leader"
)

// Postgres says which PostgreSQL the state is kept in.
type Postgres struct {
	// URL of the database, with all hosts that may be its primary: postgres://user@host1,host2/database?sslmode=verify-full&sslrootcert=FILE. It has no
	// password.
	URL string
	// PasswordFile holds the password and nothing else. It is read for each connection. Empty: none is needed.
	PasswordFile string
	// Epoch is that of the lease under which this daemon leads: see package leader. Each transaction begins with a look at it, and fails once another daemon
	// leads. 0: no other daemon shares the database; one that tries is kept out.
	Epoch int64
	// Seen is how far this daemon has seen the log of changes, by Store.Seen.
	Seen Seen
	// Acknowledged remembers jobs beyond this store (see Store.Lost); nil: they are remembered as long as it is open.
	Acknowledged *Acknowledgements
	// Unsafe takes a server too whose settings may lose what it has acknowledged.
	Unsafe bool
}

const (
	// connectTime bounds one attempt to connect to one host.
	connectTime = 5 * time.Second
	// deadTime is after how long without an acknowledgement by the other kernel a connection is given up.
	deadTime = 10 * time.Second
	// idleTransaction is after how long the server itself ends a transaction of a daemon that says nothing.
	idleTransaction = 10 * time.Second
	// idleLeader is the same for one that leads: it holds up another, and must not for longer than its lease.
	idleLeader = leader.TTL / 2
	// takeLock bounds how long a daemon waits for the one that was there before.
	takeLock = 15 * time.Second
)

// Keys of PostgreSQL's advisory locks.
const (
	lockStore = 0x66737562_0001 // the daemon that uses the store has it, as long as its connection lasts
	lockLease = 0x66737562_0003 // while the tables of the lease are made
	lockLog   = 0x66737562_0002 // until the commit whose number in the log of changes was taken under it is visible
)

// openPostgres opens a store in PostgreSQL.
func (s *Store) openPostgres(ctx context.Context, c Config) error {
	p, err := newPostgres(&c)
	if err != nil {
		return err
	}
	db := &pgSession{postgres: p, writer: rand.Int64()}
	s.closers = []io.Closer{closerFunc(db.release)}
	if err := db.first(ctx, c); err != nil {
		return err
	}
	t := newTx(db, c)
	t.shared = &sequences{}
	w := startWriter(t, c, nil)
	w.storeWait, w.slow = pgStoreWait, db.slow
	t.shared.waiting = w.queue.numbers
	s.have(database{readers: p.readers(), writer: w}, c)
	s.closers, s.leave = []io.Closer{closerFunc(db.closeSoon), w, s.readers}, db.leave
	s.postgres, s.acknowledged = p, c.Postgres.Acknowledged
	if s.acknowledged == nil {
		s.acknowledged = new(Acknowledgements)
	}
	s.copied, s.replaced, s.server = db.copied, p.replaced, p.server.String()
	s.compared = func(t *tx) error {
		_, err := t.exec("UPDATE meta SET copied_at = 0")
		return err
	}
	return nil
}

// postgres connects to the database, and knows which one it is.
type postgres struct {
	config *pgx.ConnConfig
	file   string // of the password
	name   string // for people
	log    *slog.Logger
	server server
	epoch  int64

	replaced chan struct{} // closed: the database is not that server any more
	once     sync.Once
}

// server is a PostgreSQL that is written to. A standby that takes over has the same identifier and a greater timeline.
type server struct {
	id       string
	timeline int64
}

func (s server) String() string { return fmt.Sprintf("%s timeline %d", s.id, s.timeline) }

func newPostgres(c *Config) (*postgres, error) {
	config, err := pgx.ParseConfig(withPrimary(c.Postgres.URL))
	if err != nil {
		return nil, fmt.Errorf("store: %w", err) // it hides passwords
	}
	p := &postgres{replaced: make(chan struct{}), config: config, file: c.Postgres.PasswordFile, name: "PostgreSQL " + config.Database, log: c.Logger, epoch: c.Postgres.Epoch}
	if err := p.secure(c.Postgres.URL); err != nil {
		return nil, err
	}
	config.ConnectTimeout = connectTime
	dialer := &net.Dialer{
		Timeout: connectTime, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3}, Control: userTimeout,
	}
	config.DialFunc = dialer.DialContext
	idle := idleTransaction
	if c.Postgres.Epoch != 0 {
		idle = idleLeader
	}
	set := map[string]string{
		"application_name": "fed", "idle_in_transaction_session_timeout": fmt.Sprint(idle.Milliseconds()), "statement_timeout": "0", "lock_timeout": "0",
		"default_transaction_isolation": "read committed", // what is read under a lock is not to be older than it
		// So that the server notices too that the other end is gone. None of it has a meaning on a unix socket.
		"tcp_keepalives_idle": "2", "tcp_keepalives_interval": "1", "tcp_keepalives_count": "3", "tcp_user_timeout": fmt.Sprint(deadTime.Milliseconds()),
	}
	for name, value := range set {
		config.RuntimeParams[name] = value
	}
	return p, nil
}

// withPrimary asks for a server that takes writes, where the URL asks for nothing.
func withPrimary(address string) string {
	if strings.Contains(address, "target_session_attrs=") {
		return address
	}
	sign := "?"
	if strings.Contains(address, "?") {
		sign = "&"
	}
	return address + sign + "target_session_attrs=read-write"
}

// secure refuses passwords in the URL, which is in a file that many may read, and a way over the network that nobody has thought about.
func (p *postgres) secure(address string) error {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		if _, ok := u.User.Password(); ok {
			return errors.New("store: the URL has a password: write it to a file of its own, and name that in store_password_file")
		}
	}
	if strings.Contains(address, "sslmode=") {
		return nil
	}
	hosts := []string{p.config.Host}
	for _, f := range p.config.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); strings.HasPrefix(h, "/") || h == "localhost" || ip != nil && ip.IsLoopback() {
			continue
		}
		return fmt.Errorf("store: nothing protects the way to %s: add sslmode=verify-full&sslrootcert=FILE to the URL, or sslmode=disable where the network does", h)
	}
	return nil
}

// userTimeout has the kernel give up a connection whose other end is gone while there is something to send.
func userTimeout(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadTime.Milliseconds()))
	})
	return errors.Join(err, failed)
}

// current is the configuration of a connection that is made now.
func (p *postgres) current() (*pgx.ConnConfig, error) {
	config := p.config.Copy()
	if p.file == "" {
		return config, nil
	}
	b, err := os.ReadFile(p.file)
	if err != nil {
		return nil, fmt.Errorf("%w: store_password_file: %w", federation.ErrUnavailable, err)
	}
	config.Password = strings.TrimSpace(string(b))
	return config, nil
}

// readers is the pool that reads go through. It refuses a server that is not the one the store was opened on.
func (p *postgres) readers() *sql.DB {
	db := stdlib.OpenDB(*p.config, stdlib.OptionBeforeConnect(func(_ context.Context, into *pgx.ConnConfig) error {
		config, err := p.current()
		if err == nil {
			*into = *config
		}
		return err
	}), stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		is, err := serverOf(ctx, c)
		if err == nil {
			err = p.same(is)
		}
		return err
	}))
	db.SetMaxOpenConns(maxReaders)
	db.SetMaxIdleConns(maxReaders)
	return db
}

func serverOf(ctx context.Context, c *pgx.Conn) (s server, err error) {
	err = c.QueryRow(ctx, "SELECT (SELECT system_identifier::TEXT FROM pg_control_system()) || '/' || (SELECT oid::TEXT FROM pg_database WHERE datname = current_database()), "+
		"('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int::bigint").Scan(&s.id, &s.timeline)
	return s, err
}

// same refuses another server than the one that the store was opened on.
func (p *postgres) same(is server) error {
	switch was := p.server; {
	case was == server{} || is == was:
		return nil
	case is.id == was.id && is.timeline < was.timeline:
		return fmt.Errorf("%w: %s: this server is an old primary (timeline %d, the store is at %d): stop it, or make a standby of it", federation.ErrUnavailable, p.name, is.timeline, was.timeline)
	case is.id == was.id:
		p.once.Do(func() { close(p.replaced) })
		return fmt.Errorf("%w: %s: a standby took over (timeline %d, now %d): restart fed, which then compares the store with the sites", federation.ErrUnavailable, p.name, was.timeline, is.timeline)
	default:
		p.once.Do(func() { close(p.replaced) })
		return fmt.Errorf("%w: %s: this is another database than the one that fed was started with: restart fed", federation.ErrUnavailable, p.name)
	}
}

// risks are settings of a server that lose what it has acknowledged.
func risks(ctx context.Context, c *pgx.Conn) (all []string, err error) {
	rows, err := c.Query(ctx, "SELECT name || ' = ' || setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' "+
		"OR name = 'synchronous_commit' AND setting NOT IN ('on', 'remote_apply') ORDER BY name")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
