package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/store"
	"fsub/sbatch"
)

func create(t *testing.T, s *store.Store) federation.JobID {
	t.Helper()
	j := federation.Job{State: federation.Pending, Spec: new(sbatch.Spec)}
	if err := s.CreateJob(ctx, &j, &sbatch.Payload{Script: strings.Repeat("x", 20_000)}); err != nil {
		t.Fatal(err)
	}
	return j.ID
}

// A copy is made while others write, holds what was durable before, and passes the check. What it is restored to gives no ID that was given since.
func TestBackupAndRestore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	copied := filepath.Join(t.TempDir(), "copy.db")
	s := open(t, store.Config{Path: path})
	first := create(t, s)
	stop, wrote := make(chan struct{}), sync.WaitGroup{}
	wrote.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				create(t, s)
			}
		}
	})
	if err := store.Backup(ctx, path, copied); err != nil {
		t.Fatal(err)
	}
	close(stop)
	wrote.Wait()
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v: want 0600", info, err)
	}
	if err := store.Backup(ctx, path, copied); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("over an older copy: %v", err)
	}
	last := create(t, s) // since the copy
	if _, err := store.Restore(ctx, copied, path); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("while the daemon runs: %v", err)
	}
	s.Close()
	if err := os.WriteFile(path+"-wal", []byte("what SQLite would take for the new file's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".restored", []byte("as far as a restore came"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(ctx, store.Config{Path: path}); err == nil || !strings.Contains(err.Error(), "run fed store restore again") {
		t.Errorf("after a restore that was cut off: %v", err)
	}
	kept, err := store.Restore(ctx, copied, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("what was there is not kept: %v", err)
	}
	s = open(t, store.Config{Path: path})
	if _, err := s.Job(ctx, first); err != nil {
		t.Error(err)
	}
	if s.Copied().IsZero() {
		t.Error("the store does not know that it is a copy")
	}
	next := create(t, s)
	if next <= last {
		t.Errorf("ID %d was given again, after %d", next, last)
	}
	s.Close()
	s = open(t, store.Config{Path: path}) // still not compared, and no more IDs are left out
	if s.Copied().IsZero() {
		t.Error("forgotten by a restart")
	}
	if id := create(t, s); id != next+1 {
		t.Errorf("ID %d after %d", id, next)
	}
	if err := s.Compared(ctx); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if s = open(t, store.Config{Path: path}); !s.Copied().IsZero() {
		t.Error("compared, and still a copy")
	}
}

func TestCheckFindsDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	s := open(t, store.Config{Path: path})
	for range 50 {
		create(t, s)
	}
	r, err := store.Check(ctx, path)
	if err != nil || len(r.Faults) > 0 || r.Jobs != 50 || r.Live != 50 || r.Schema != r.Newest || !r.Copied.IsZero() {
		t.Fatalf("%+v, %v", r, err)
	}
	s.Close()
	db, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO events (job_id, seq, attempt, at, text) VALUES (7, 900, 0, 0, 'x')"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if r, err = store.Check(ctx, path); err != nil || len(r.Faults) != 1 || !strings.Contains(r.Faults[0], "events") {
		t.Fatalf("%+v, %v", r, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := len(text) / 2; at < len(text)/2+3*8192; at += 512 {
		copy(text[at:], bytes.Repeat([]byte{0xa5}, 256))
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = store.Check(ctx, path); err == nil && len(r.Faults) == 0 {
		t.Fatalf("damage is not seen: %+v", r)
	}
	if _, err := store.Restore(ctx, path, filepath.Join(t.TempDir(), "other.db")); err == nil {
		t.Error("a damaged copy is restored")
	}
}

// Space comes back after a purge.
func TestPurgeGivesSpaceBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	s := open(t, store.Config{Path: path, Volatile: true})
	for range 3000 {
		ended := federation.Job{ID: create(t, s), Spec: new(sbatch.Spec), State: federation.Completed, End: time.Unix(1, 0)}
		if err := s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{&ended}}); err != nil {
			t.Fatal(err)
		}
	}
	size := func() int64 {
		r, err := store.Check(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		return r.Bytes
	}
	before := size()
	if n, err := s.Purge(ctx, time.Now()); n != 3000 || err != nil {
		t.Fatal(n, err)
	}
	s.Close() // copies the WAL into the file
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if after := info.Size(); after > before/2 {
		t.Errorf("%d bytes of %d are left", after, before)
	}
}

// What was made without giving space back does so after it was restored from a copy.
func TestCopyGivesSpaceBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	open(t, store.Config{Path: path}).Close()
	run := func(path, text string) (n int) {
		db, err := sql.Open("sqlite3", "file:"+path)
		if err == nil {
			defer db.Close()
			err = db.QueryRow(text).Scan(&n)
		}
		if err != nil && err != sql.ErrNoRows {
			t.Fatal(err)
		}
		return n
	}
	db, err := sql.Open("sqlite3", "file:"+path)
	if err == nil {
		_, err = db.Exec("PRAGMA journal_mode = delete; PRAGMA auto_vacuum = 0; VACUUM")
		db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := run(path, "PRAGMA auto_vacuum"); n != 0 {
		t.Fatalf("auto_vacuum is %d", n)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := store.Backup(ctx, path, copied); err != nil {
		t.Fatal(err)
	}
	if n := run(copied, "PRAGMA auto_vacuum"); n != 2 {
		t.Errorf("auto_vacuum of the copy is %d", n)
	}
}

// Before a migration there is a copy of what was there, which the old program can read; without room for it nothing is migrated.
func TestCopyBeforeAMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	s := open(t, store.Config{Path: path})
	create(t, s)
	s.Close()
	db, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	const before = 30 // the next migration makes a table
	if _, err := db.Exec(fmt.Sprintf("DELETE FROM schema_version WHERE version > %d", before)); err != nil {
		t.Fatal(err)
	}
	db.Close()
	// The migration itself fails here, for its tables are there: what was copied before is what counts.
	refused(t, path)
	copied, err := store.Check(ctx, fmt.Sprintf("%s.schema-%d", path, before))
	if err != nil || copied.Schema != before || copied.Jobs != 1 || len(copied.Faults) > 0 {
		t.Fatalf("%+v, %v", copied, err)
	}
	if err := os.RemoveAll(fmt.Sprintf("%s.schema-%d", path, before)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(fmt.Sprintf("%s.schema-%d", path, before), 0o700); err != nil { // no copy can be made
		t.Fatal(err)
	}
	refused(t, path, "copy it before", "nothing was changed")
}
