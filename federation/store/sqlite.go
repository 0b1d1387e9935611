package store

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"

	"fsub/federation"
)

// applicationID marks a database file as a store of fsub, in the header field that SQLite has for this.
const applicationID = 0x66737562 // "fsub"

// pageSize in bytes of a new database. A payload of the usual 3 KiB leaves much of SQLite's default of 4,096 empty: 8,192 took
// 12% more jobs a second from 64 callers, and as many from one.
const pageSize = 8192

// maxReaders bounds the reading connections. Each has a cache of 2 MB.
const maxReaders = 8

// prepareFile makes sure that path is a store or an empty file which may become one, and takes the lock that keeps
// other daemons out until the result is closed. The lock is on a file of its own: POSIX locks on the database, which SQLite
// uses, are lost when any descriptor of it is closed.
func prepareFile(path string) (io.Closer, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	if err := checkHeader(path); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// InUse reports as an error that a daemon uses the store of this path.
func InUse(path string) error {
	if _, err := os.Stat(path + ".lock"); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return fmt.Errorf("store %s: %w", path, err)
	}
	return lock.Close()
}

func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 20))
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("in use by another fed (process %s): stop it first", strings.TrimSpace(string(holder)))
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkHeader reads the file's first bytes itself, because SQLite would change a foreign database (to WAL mode) before
// it could be asked what it is. It marks a new file as ours.
func checkHeader(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("store %s: %w", path, err)
	}
	header := make([]byte, 100)
	n, err := io.ReadFull(f, header)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = f.Chmod(0o600) // scripts and environments of all users are in there
	}
	f.Close()
	switch {
	case err != nil:
		return fmt.Errorf("store %s: %w", path, err)
	case n == 0:
		return markNew(path)
	case n < len(header) || string(header[:16]) != "SQLite format 3\x00":
		return fmt.Errorf("store %s: the file is not a SQLite database, or its beginning is damaged: move it away, or restore a copy", path)
	case binary.BigEndian.Uint32(header[68:]) != applicationID:
		return fmt.Errorf("store %s: the database belongs to another program: choose another path", path)
	}
	return nil
}

// markNew writes the header of a new database. It comes before WAL mode: the header of a WAL database may stay in the WAL
// for long, where checkHeader would not find it.
func markNew(path string) error {
	db, err := sql.Open("sqlite3", sqliteURL(path, nil))
	if err != nil {
		return openError(path, err)
	}
	defer db.Close()
	if _, err := db.Exec(fmt.Sprintf("PRAGMA page_size = %d; PRAGMA auto_vacuum = incremental; PRAGMA application_id = %d", pageSize, applicationID)); err != nil {
		return openError(path, err)
	}
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
		if err := syncDir(dir); err != nil {
			return openError(path, err)
		}
	}
	return nil
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// sqliteWriter returns a pool of the one connection that writes. FULL fsyncs the WAL at every commit.
func sqliteWriter(path string, volatile bool) *sql.DB {
	q := url.Values{
		"_busy_timeout": {"10000"}, "_foreign_keys": {"on"}, "_journal_mode": {"wal"}, "_synchronous": {"full"},
		"_cache_size": {"-65536"},
	}
	if volatile {
		q.Set("_synchronous", "off")
	}
	db := mustOpen(path, q)
	db.SetMaxOpenConns(1)
	return db
}

// sqliteReaders returns the pool that reads go through.
func sqliteReaders(path string) *sql.DB {
	db := mustOpen(path, url.Values{"_busy_timeout": {"10000"}, "_query_only": {"on"}, "_stmt_cache_size": {"32"}})
	db.SetMaxOpenConns(maxReaders)
	db.SetMaxIdleConns(maxReaders)
	return db
}

// sqliteWriterSetup is what the connection string has no word for: savepoints keep their undo log in memory, where the default would
// make a temporary file for a large batch; and a WAL that grew under a long listing shrinks again when it has been copied back. The [checkpointer] copies before the writer does.
var sqliteWriterSetup = fmt.Sprintf("PRAGMA temp_store = memory; PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = %d", tooLongWAL)

func mustOpen(path string, q url.Values) *sql.DB {
	db, err := sql.Open("sqlite3", sqliteURL(path, q))
	if err != nil {
		panic(err) // only if the driver is not linked in: nothing is opened yet
	}
	return db
}

// sqliteURL escapes path, which may hold any character.
func sqliteURL(path string, q url.Values) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	return (&url.URL{Scheme: "file", Path: abs, RawQuery: q.Encode()}).String()
}

// classify returns the federation's error that err, from the database, stands for. Only those other than ErrUnavailable are the
// fault of the one statement; after ErrUnavailable the transaction is not to be relied on.
func classify(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return postgresClass(err)
	}
	switch e.ExtendedCode {
	case sqlite3.ErrConstraintForeignKey:
		return federation.ErrNotFound
	case sqlite3.ErrConstraintUnique, sqlite3.ErrConstraintPrimaryKey:
		return federation.ErrConflict
	}
	switch e.Code {
	case sqlite3.ErrConstraint, sqlite3.ErrTooBig, sqlite3.ErrMismatch:
		return federation.ErrInvalid
	}
	return federation.ErrUnavailable
}

// advice says what to do about a database error, where SQLite's own words do not.
func advice(err error) string {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return postgresWords(err)
	}
	switch e.Code {
	case sqlite3.ErrFull:
		return "no space left for the store: free some; nothing of this was written"
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return "the store is damaged: stop fed and restore a copy"
	case sqlite3.ErrBusy:
		return "another program holds the store's database locked: end it"
	}
	return ""
}

// openError is err with the name of the store and what to do.
func openError(path string, err error) error {
	return fmt.Errorf("store %s: %w", path, databaseError(err))
}

// databaseError gives err its class and advice.
func databaseError(err error) error {
	if a := advice(err); a != "" {
		return fmt.Errorf("%w: %s (%w)", classify(err), a, inOneLine(err))
	}
	return fmt.Errorf("%w: %w", classify(err), err)
}
