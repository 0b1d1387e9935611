package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/store"
	"fsub/sbatch"
)

var ctx = context.Background()

// refused opens path and wants an error with all of the words.
func refused(t *testing.T, path string, words ...string) {
	t.Helper()
	s, err := store.Open(ctx, store.Config{Path: path})
	if err == nil {
		s.Close()
		t.Fatal("the store was opened")
	}
	for _, w := range append(words, path) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestFilesArePrivate(t *testing.T) {
	old := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, store.Config{Path: filepath.Join(old, "fed.db")})
	if err := s.CreateJob(ctx, &federation.Job{}, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "fed.db": 0o600, "fed.db-wal": 0o600, "fed.db-shm": 0o600, "fed.db.lock": 0o600} {
		info, err := os.Stat(filepath.Join(old, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%q has mode %o, want %o", name, info.Mode().Perm(), want)
		}
	}
}

func TestPathMayHoldAnything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a?b=c#d%20e&f ü", "fed db?mode=ro")
	s := open(t, store.Config{Path: path})
	if err := s.CreateJob(ctx, &federation.Job{}, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Error(err)
	}
}

func TestVolatileWithoutPath(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := store.Open(ctx, store.Config{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateJob(ctx, &federation.Job{}, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestSecondDaemonIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	s := open(t, store.Config{Path: path})
	refused(t, path, "in use by another fed (process ", "stop it first")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, store.Config{Path: path})
}

func TestForeignAndDamagedFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	write(t, text, []byte(strings.Repeat("This is no database.\n", 100)))
	refused(t, text, "not a SQLite database")
	short := filepath.Join(dir, "short")
	write(t, short, []byte("SQLite format 3\x00"))
	refused(t, short, "damaged")
	refused(t, dir, "is a directory")
	file := filepath.Join(text, "below-a-file")
	refused(t, file)

	foreign := filepath.Join(dir, "foreign")
	execute(t, foreign, "CREATE TABLE theirs (x)")
	before := read(t, foreign)
	refused(t, foreign, "belongs to another program")
	if string(read(t, foreign)) != string(before) {
		t.Error("the other program's database was changed")
	}
}

func TestDamagedStoreIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	s := open(t, store.Config{Path: path})
	for range 100 {
		if err := s.CreateJob(ctx, &federation.Job{}, typicalPayload()); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	whole := read(t, path)
	write(t, path, whole[:len(whole)/2])
	refused(t, path, "the store is damaged", "restore a copy")

	torn := append([]byte{}, whole...)
	for i := 100; i < 8192; i++ {
		torn[i] = 0xff
	}
	write(t, path, torn)
	refused(t, path, "the store is damaged")
	write(t, path, whole)
	open(t, store.Config{Path: path})
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	open(t, store.Config{Path: path}).Close()
	execute(t, path, "INSERT INTO schema_version (version) VALUES (99)")
	refused(t, path, "version 99", "run the newer fed")
	execute(t, path, "DELETE FROM schema_version WHERE version = 99")
	open(t, store.Config{Path: path})
}

func TestBadConfigIsRefused(t *testing.T) {
	for _, c := range []store.Config{{}, {Path: filepath.Join(t.TempDir(), "x"), FirstID: 10, LastID: 9}} {
		if s, err := store.Open(ctx, c); err == nil {
			s.Close()
			t.Errorf("opened with %+v", c)
		}
	}
}

// TestRangeMayChange: IDs go on in the new range, and jobs of the old one stay.
func TestRangeMayChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	for _, first := range []federation.JobID{100, 500, 100} {
		s := open(t, store.Config{Path: path, FirstID: first, LastID: first + 1})
		j := &federation.Job{}
		err := s.CreateJob(ctx, j, &sbatch.Payload{})
		if err != nil || j.ID != first && j.ID != first+1 {
			t.Fatalf("job %d in the range from %d: %v", j.ID, first, err)
		}
		s.Close()
	}
}

// TestTornLog cuts the write-ahead log at every kind of place, as a loss of power may, and wants a state in which each batch is
// there whole or not at all, and none is missing before one that is there.
func TestTornLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fed.db")
	s := open(t, store.Config{Path: path})
	j := &federation.Job{}
	if err := s.CreateJob(ctx, j, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	const batches = 40
	for i := 1; i <= batches; i++ {
		j.Priority = uint32(i)
		b := &journal.Batch{Jobs: []*federation.Job{j}}
		for n := range 40 {
			b.Tasks = append(b.Tasks, &federation.Task{Job: j.ID, Index: n, Restarts: i, Nodes: strings.Repeat("n", 500)})
		}
		if err := s.Commit(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	db, wal := read(t, path), read(t, path+"-wal")
	s.Close()
	last := int64(0)
	for size := 0; size <= len(wal); size += 4099 {
		cut := filepath.Join(dir, "cut.db")
		write(t, cut, db)
		write(t, cut+"-wal", wal[:size])
		os.Remove(cut + "-shm")
		at, ok := tornState(t, cut, j.ID)
		if ok && (at < last || at > last+1) {
			t.Fatalf("with %d bytes of the log the state is that of batch %d, with less it was %d", size, at, last)
		}
		if ok {
			last = at
		}
	}
	if last < batches-1 {
		t.Fatalf("the last state seen is that of batch %d", last)
	}
}

// tornState returns the batch that the job and all its tasks agree on; not ok: not even the job is there.
func tornState(t *testing.T, path string, id federation.JobID) (int64, bool) {
	s, err := store.Open(ctx, store.Config{Path: path, Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	j, err := s.Job(ctx, id)
	if errors.Is(err, federation.ErrNotFound) {
		return 0, false
	}
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := s.Tasks(ctx, id)
	if err != nil || len(tasks) != 0 && len(tasks) != 40 {
		t.Fatalf("%d tasks: %v", len(tasks), err)
	}
	for _, k := range tasks {
		if k.Restarts != int(j.Priority) {
			t.Fatalf("half of a batch: the job is at %d, task %d at %d", j.Priority, k.Index, k.Restarts)
		}
	}
	return int64(j.Priority), true
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// execute runs a statement on a database as another program would.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// Somebody who can write to the directory cannot have another file emptied or opened through a link.
func TestLinksAreNotFollowed(t *testing.T) {
	for _, name := range []string{"fed.db", "fed.db.lock"} {
		dir := t.TempDir()
		other := filepath.Join(dir, "other")
		if err := os.WriteFile(other, []byte("precious"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(other, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(dir, "fed.db")}); err == nil {
			s.Close()
			t.Errorf("%s is a link, and was followed", name)
		}
		if text, _ := os.ReadFile(other); string(text) != "precious" {
			t.Errorf("through %s the file became %q", name, text)
		}
	}
}
