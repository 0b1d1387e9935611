package store

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation"
)

// Config says where the state is kept and which job IDs may be given.
type Config struct {
	// Postgres is where the state is kept instead of a SQLite file; nil: in the file.
	Postgres *Postgres

	// Path of the database file. Its directory is created if need be, for this user only. SQLite keeps two more files
	// beside it (-wal and -shm) that belong to it: copy or move the three together and only while no daemon runs.
	Path string

	// FirstID and LastID are the range of job IDs, both included. Zero: the federation's default range.
	FirstID, LastID federation.JobID

	// KeepChanges bounds the log of changes. Zero: a million, about 100 MB.
	KeepChanges int64
	// KeepFor bounds it too. Zero: a week.
	KeepFor time.Duration

	// RequestsPerJob bounds the requests of one job that wait to be carried out, but for cancels and those for tasks. Zero: 100.
	RequestsPerJob int

	// Volatile gives up durability for speed, for simulations: what was written survives the end of the process but
	// not of the machine. With an empty Path the state is gone at Close.
	Volatile bool

	copying bool // by [Copy], which may have been cut off before

	Logger  *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: none
}

// Store keeps the state in a database. Besides the errors that the interfaces name, every method returns one that
// wraps ErrUnavailable if the database could not do it: disk full, I/O error, store closed. A write that failed so has left
// nothing behind for other callers to see.
//
// It is made of parts, one for each interface, which share the database and nothing else.
type Store struct {
	database
	*jobs        // with their attempts, tasks, payloads and requests
	*books       // the ledger, charges and bills
	*pools       // what rented sites keep
	*fleet       // what was said of sites and nodes, and how they fared
	*operations  // on many jobs
	*accountTree // and what was made of it at sites
	*auditLog    // who did what
	*owned       // small things that users own
	*past        // what jobs that ended have used, how long they ran and waited
	*cleaner     // deletes what is old

	copied   time.Time       // see Copied
	replaced chan struct{}   // see Replaced
	server   string          // see Database
	compared func(*tx) error // see Compared
	postgres *postgres       // nil: the store is in a file
	leave    func()          // see Leave; nil: a file always answers
	closers  []io.Closer     // in the order in which they are closed
}

// database is what the parts of a store share.
type database struct {
	readers *sql.DB
	writer  *writer
}

// jobs keeps the jobs.
type jobs struct {
	database
	specs          specs
	requestsPerJob int64
	shared         bool              // it is a PostgreSQL
	acknowledged   *Acknowledgements // nil: nothing takes the place of a file, and who only reads acknowledges nothing
}

// books keeps what runs came to.
type books struct {
	database
	names names
}

// The other parts keep nothing in memory.
type (
	pools       struct{ database }
	fleet       struct{ database }
	operations  struct{ database }
	accountTree struct{ database }
	auditLog    struct{ database }
	owned       struct{ database }
	past        struct{ database }
	cleaner     struct {
		database
		shrinks bool // the file can give space back
	}
)

// Open opens the store at c.Path, creating it or bringing its schema up to date. It fails if another process has it open, if
// the file is something else or damaged, and if a newer fed has written it.
func Open(ctx context.Context, c Config) (*Store, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	s := new(Store)
	open := s.openSQLite
	if c.Postgres != nil {
		open = s.openPostgres
	}
	err := open(ctx, c)
	if err == nil && !c.copying {
		err = s.whole(ctx, c)
	}
	if err != nil {
		s.closeAll()
		return nil, err
	}
	return s, nil
}

// complete fills in defaults and checks c.
func (c *Config) complete() error {
	if c.FirstID == 0 {
		c.FirstID = federation.FirstJobID
	}
	if c.LastID == 0 {
		c.LastID = federation.LastJobID
	}
	if c.KeepFor == 0 {
		c.KeepFor = keepFor
	}
	if c.KeepChanges == 0 {
		c.KeepChanges = keepChanges
	}
	if c.RequestsPerJob == 0 {
		c.RequestsPerJob = 100
	}
	if c.FirstID > c.LastID {
		return fmt.Errorf("store: range of job IDs: first %d is above last %d", c.FirstID, c.LastID)
	}
	if c.Path == "" && !c.Volatile && c.Postgres == nil {
		return fmt.Errorf("store: no path for the database")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

func (s *Store) openSQLite(ctx context.Context, c Config) error {
	if c.Path == "" {
		dir, err := os.MkdirTemp("", "fsub-store-")
		if err != nil {
			return fmt.Errorf("store: %w", err)
		}
		s.closers = append(s.closers, closerFunc(func() error { return os.RemoveAll(dir) }))
		c.Path = dir + "/fed.db"
	}
	lock, err := prepareFile(c.Path)
	if err != nil {
		return err
	}
	s.closers = append([]io.Closer{lock}, s.closers...)
	if err := restoredWhole(c.Path); err != nil {
		return err
	}

	db := sqliteWriter(c.Path, c.Volatile)
	s.closers = append([]io.Closer{db}, s.closers...)
	conn, err := db.Conn(ctx)
	if err != nil {
		return openError(c.Path, err)
	}
	if _, err := conn.ExecContext(ctx, sqliteWriterSetup); err != nil {
		return openError(c.Path, err)
	}
	if err := migrate(ctx, conn, c); err != nil {
		return err
	}
	t, err := counted(ctx, conn, c)
	if err != nil {
		return openError(c.Path, err)
	}
	w := startWriter(t, c, startCheckpointer(c.Path, c.Volatile, c.Logger))
	s.have(database{readers: sqliteReaders(c.Path), writer: w}, c)
	s.closers = append([]io.Closer{w, w.wal, s.readers}, s.closers...)
	return s.noteCopy(ctx, c.Logger)
}

// have makes the parts.
func (s *Store) have(db database, c Config) {
	s.database = db
	s.jobs = &jobs{database: db, requestsPerJob: int64(c.RequestsPerJob), shared: c.Postgres != nil}
	s.books, s.pools, s.fleet, s.operations = &books{database: db}, &pools{db}, &fleet{db}, &operations{db}
	s.accountTree, s.auditLog, s.owned, s.past, s.cleaner = &accountTree{db}, &auditLog{db}, &owned{db}, &past{db}, &cleaner{database: db}
}

// Replaced is closed when the database turns out to be another one than the store was opened on: a standby that took over, or a copy. All methods fail then, and
// the store must be opened again, which notes it (see Copied). A SQLite file is never replaced.
func (s *Store) Replaced() <-chan struct{} { return s.replaced }

// Database names the PostgreSQL that the store was opened on, before and after a standby took over by two names. "": the store is a SQLite file.
func (s *Store) Database() string { return s.server }

// Leave says that the daemon ends, or leads no longer. Writes that are under way have some seconds more. One that waits then for a PostgreSQL which does not answer
// fails with ErrOpen; what is to be written after that fails too.
func (s *Store) Leave() {
	if s.leave != nil {
		s.leave()
	}
}

// Close waits for the writes that are under way, refuses new ones and closes the database.
func (s *Store) Close() error {
	return s.closeAll()
}

func (s *Store) closeAll() error {
	var first error
	for _, c := range s.closers {
		if err := c.Close(); err != nil && first == nil {
			first = fmt.Errorf("close store: %w", err)
		}
	}
	s.closers = nil
	return first
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }
