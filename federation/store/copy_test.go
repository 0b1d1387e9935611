package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fsub/federation"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/testbed/postgres"
)

// TestCopy moves a store that has all sorts of things to PostgreSQL and back: everything is there, and new jobs get new numbers.
func TestCopy(t *testing.T) {
	server := postgres.Start(t)
	lite := func() store.Config { return store.Config{Path: filepath.Join(t.TempDir(), "fed.db")} }
	from, pg, back := lite(), store.Config{Postgres: &store.Postgres{URL: server.URL()}}, lite()
	execute(t, from.Path, string(read(t, "testdata/earlier/v25.sql")))
	s := open(t, from)
	last := newJob(t, s, 0)
	want := readBooks(s)
	s.Close()

	// One that is cut off is not opened, and goes on where it was.
	ctx, cut := context.WithCancel(ctx)
	err := store.Copy(ctx, from, pg, func(c store.Copied) {
		if c.Table == "jobs" {
			cut()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the copy was to be cut off: %v", err)
	}
	if s, err := store.Open(t.Context(), pg); err == nil || !strings.Contains(err.Error(), "fed store copy again") {
		t.Errorf("half a store was opened: %v", err)
		if err == nil {
			s.Close()
		}
	}
	other := lite()
	open(t, other).Close()
	if err := store.Copy(t.Context(), other, pg, nil); err == nil || !strings.Contains(err.Error(), "empty it first") {
		t.Errorf("two stores were mixed: %v", err)
	}
	for _, step := range []struct{ from, to store.Config }{{from, pg}, {pg, back}} {
		rows := int64(0)
		if err := store.Copy(t.Context(), step.from, step.to, func(c store.Copied) { rows += c.Rows }); err != nil {
			t.Fatal(err)
		}
		s := open(t, step.to)
		if diff := cmp.Diff(generic(t, want), generic(t, readBooks(s))); diff != "" || rows < 100 {
			t.Errorf("%d rows (-before +after)\n%s", rows, diff)
		}
		last = newJob(t, s, last)
		want = readBooks(s)
		s.Close()
	}
	if err := store.Copy(t.Context(), from, pg, nil); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a store was copied over another: %v", err)
	}
	if err := store.Copy(t.Context(), from, back, nil); err == nil || !strings.Contains(err.Error(), "fed store backup") {
		t.Errorf("from SQLite to SQLite: %v", err)
	}
}

// newJob creates a job, whose ID must follow another one's.
func newJob(t *testing.T, s *store.Store, after federation.JobID) federation.JobID {
	t.Helper()
	j := federation.Job{User: "alice", UID: 1000, Spec: &sbatch.Spec{}}
	if err := s.CreateJob(t.Context(), &j, &sbatch.Payload{}); err != nil || after != 0 && (j.ID <= after || j.ID > after+100) {
		t.Errorf("a job got the ID %d after %d: %v", j.ID, after, err)
	}
	return j.ID
}
