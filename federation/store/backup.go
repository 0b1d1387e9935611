package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fsub/federation"
)

// A copy says of itself that it is one, and of when: in the header field that SQLite leaves to its users (user_version), in minutes since 1970. The store that is
// opened from it does not know what has happened since. It gives no job ID that may have been given since, and keeps the field, negative, until somebody has
// compared it with the sites ([Store.Compared]).

// skipIDs is how many job IDs are left out after a restore: more than are given between two copies.
const skipIDs = 1_000_000

// Backup writes a copy of the store at from, as of now, to the new file to. A daemon may be running on it.
func Backup(ctx context.Context, from, to string) error {
	if err := exists(from); err != nil {
		return err
	}
	db := mustOpen(from, url.Values{"mode": {"ro"}, "_busy_timeout": {"10000"}})
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return openError(from, err)
	}
	defer conn.Close()
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already: give the name of a new file", to)
	}
	return copyTo(ctx, conn, to)
}

// copyTo writes what conn sees to a file, which is there as a whole or not at all.
func copyTo(ctx context.Context, conn *sql.Conn, to string) error {
	part := to + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	defer os.Remove(part)
	if _, err := conn.ExecContext(ctx, "VACUUM INTO $1", part); err != nil {
		return openError(to, err)
	}
	if err := setVersion(ctx, part, time.Now().Unix()/60); err != nil {
		return openError(to, err)
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(part, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

// autoVacuum is SQLite's number for: incremental, when it is asked to.
const autoVacuum = 2

func setVersion(ctx context.Context, path string, minutes int64) error {
	db := mustOpen(path, nil)
	defer db.Close()
	var vacuum int
	err := db.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&vacuum)
	if err == nil && vacuum != autoVacuum { // a store that was made before it could give space back
		_, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA auto_vacuum = %d; VACUUM", autoVacuum))
	}
	if err == nil {
		_, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", minutes))
	}
	return err
}

// Restore puts a copy in the place of the store at path, which no daemon may have open. What was there is kept beside it, under the name that is returned.
func Restore(ctx context.Context, copied, path string) (kept string, err error) {
	if err := exists(copied); err != nil {
		return "", err
	}
	r, err := Check(ctx, copied)
	if err != nil {
		return "", err
	}
	if len(r.Faults) > 0 {
		return "", fmt.Errorf("%s is damaged: %s", copied, r.Faults[0])
	}
	lock, err := prepareFile(path)
	if err != nil && !strings.Contains(err.Error(), "damaged") {
		return "", err
	}
	if err == nil {
		defer lock.Close()
	}
	db := mustOpen(copied, url.Values{"mode": {"ro"}})
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return "", openError(copied, err)
	}
	defer conn.Close()
	fresh := path + restored
	if err := copyTo(ctx, conn, fresh); err != nil {
		return "", err
	}
	if r.Copied.IsZero() { // somebody has copied the file by hand: how old it is, nobody knows
		r.Copied = time.Now()
	}
	if err := setVersion(ctx, fresh, r.Copied.Unix()/60); err != nil {
		return "", openError(fresh, err)
	}
	kept = path + ".before-" + time.Now().UTC().Format("20060102T150405")
	for _, end := range []string{"", "-wal", "-shm"} { // SQLite would take an old -wal for the new file's
		if err := os.Rename(path+end, kept+end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if err := os.Rename(fresh, path); err != nil {
		return "", err
	}
	return kept, syncDir(filepath.Dir(path))
}

// restored ends the name of what is to take a store's place, as long as it has not.
const restored = ".restored"

// restoredWhole refuses a store into which a restore was cut off: what was there may have been put aside already, and an empty store would give all IDs again.
func restoredWhole(path string) error {
	fresh := path + restored
	if _, err := os.Lstat(fresh); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("store %s: a restore was cut off: run fed store restore again. If you want what was there before, see that %s is it, and remove %s", path, path, fresh)
}

func exists(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("store %s: %w", path, err)
	case info.Size() == 0:
		return fmt.Errorf("store %s: the file is empty", path)
	}
	return nil
}

// Report is what Check finds.
type Report struct {
	Schema, Newest int       // its version, and what this program knows
	Copied         time.Time // when it was copied; zero: it is no copy
	Bytes, Free    int64     // of the file, and of it without use
	Jobs, Live     int64
	Next           federation.JobID // the next job's ID, as long as it is free
	Faults         []string         // of its structure, or rows that belong to nothing
}

// maxFaults is how many are listed of each kind.
const maxFaults = 20

// Check reads the whole store at path. A daemon may be running on it.
func Check(ctx context.Context, path string) (*Report, error) {
	if err := exists(path); err != nil {
		return nil, err
	}
	db := mustOpen(path, url.Values{"mode": {"ro"}, "_busy_timeout": {"10000"}, "_query_only": {"on"}})
	defer db.Close()
	r := &Report{}
	var version, pages, size, free, app int64
	for query, into := range map[string]*int64{"PRAGMA user_version": &version, "PRAGMA page_count": &pages, "PRAGMA page_size": &size, "PRAGMA freelist_count": &free,
		"PRAGMA application_id": &app} {
		if err := db.QueryRowContext(ctx, query).Scan(into); err != nil {
			return nil, openError(path, err)
		}
	}
	if app != applicationID {
		return nil, fmt.Errorf("store %s: the database belongs to another program", path)
	}
	r.Bytes, r.Free, r.Copied, r.Newest = pages*size, free*size, copiedAt(version), NewestSchema()
	faults := func(query string, say func(*sql.Rows) (string, error)) error {
		rows, err := db.QueryContext(ctx, query)
		if err != nil {
			return openError(path, err)
		}
		defer rows.Close()
		for n := 0; rows.Next() && n < maxFaults; n++ {
			text, err := say(rows)
			if err != nil {
				return openError(path, err)
			}
			if text != "ok" {
				r.Faults = append(r.Faults, text)
			}
		}
		return rows.Err()
	}
	err := faults(fmt.Sprintf("PRAGMA integrity_check(%d)", maxFaults), func(rows *sql.Rows) (text string, err error) {
		return text, rows.Scan(&text)
	})
	if err != nil {
		return nil, err
	}
	if len(r.Faults) > 0 { // of what is damaged nothing more is believed
		return r, nil
	}
	err = faults("PRAGMA foreign_key_check", func(rows *sql.Rows) (string, error) {
		var table, parent string
		var row, key sql.NullInt64
		err := rows.Scan(&table, &row, &parent, &key)
		return fmt.Sprintf("table %s: row %d belongs to nothing in %s", table, row.Int64, parent), err
	})
	if err != nil {
		return nil, err
	}
	for query, into := range map[string]any{"SELECT MAX(version) FROM schema_version": &r.Schema, "SELECT COUNT(*) FROM jobs": &r.Jobs,
		"SELECT COUNT(*) FROM jobs WHERE live": &r.Live, "SELECT next_job FROM meta": &r.Next} {
		if err := db.QueryRowContext(ctx, query).Scan(into); err != nil {
			return nil, openError(path, err)
		}
	}
	return r, nil
}

// copiedAt reads the mark of a copy.
func copiedAt(version int64) time.Time {
	if version == 0 {
		return time.Time{}
	}
	return time.Unix(max(version, -version)*60, 0).UTC()
}

// noteCopy finds out whether the store was opened from a copy, and keeps the job IDs away that may have been given since.
func (s *Store) noteCopy(ctx context.Context, log *slog.Logger) error {
	var version int64
	if err := s.readers.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	s.copied = copiedAt(version)
	s.compared = func(t *tx) error {
		_, err := t.exec("PRAGMA user_version = 0")
		return err
	}
	var vacuum int
	if err := s.readers.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&vacuum); err != nil {
		return err
	}
	s.cleaner.shrinks = vacuum == autoVacuum
	if version <= 0 {
		return nil
	}
	err := s.writer.submit(ctx, func(t *tx) error {
		skip := min(skipIDs, (t.last-t.first)/4)
		if t.nextJob += skip; t.nextJob > t.last {
			t.nextJob = t.first + (t.nextJob - t.last)
		}
		log.Warn("the store is a restored copy: job IDs that may have been given since are left out", "copied", s.copied, "next", t.nextJob)
		_, err := t.exec(fmt.Sprintf("PRAGMA user_version = %d", -version)) // in the same transaction
		return err
	})
	return err
}

// Copied is when the copy was made that the store was opened from, if nobody has compared it with the sites yet. Zero: it is none, or was compared.
func (s *Store) Copied() time.Time { return s.copied }

// Compared notes that all live jobs were looked for at the sites.
func (s *Store) Compared(ctx context.Context) error {
	return s.writer.submit(ctx, s.compared)
}
