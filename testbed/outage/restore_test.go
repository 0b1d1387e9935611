package outage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/federation/store"
)

// TestRestore: the store is restored from a copy that was made before two jobs ran, and before a third was submitted. The one that has ended is not started
// again, the one that runs runs on, both are found by their keys, and the third one's ID is not given out again.
func TestRestore(t *testing.T) {
	world.Need(t)
	if len(world.Daemon.Sockets()) > 1 {
		t.Skip("SKIPPED: several daemons have no file to copy; PostgreSQL's copies are tested by themselves")
	}
	ctx := context.Background()
	c := world.Daemon.Client()
	defer c.Close()
	dir := filepath.Join(world.Bed.Home("alice"), "restore")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o777)
	script := func(more string) string {
		return fmt.Sprintf("echo start >>%s/$SLURM_JOB_ID; %s", dir, more)
	}
	// None begins before the copy is made, the second ends when it may, and the third begins after the test, on a slow machine too.
	end := filepath.Join(dir, "end")
	done := submit(t, "--begin=now+30", "--wrap", script("true"))
	runs := submit(t, "--begin=now+30", "--wrap", script("until [ -e "+end+" ]; do sleep 1; done"))
	waits := submit(t, "--begin=now+3600", "--wrap", script("true"))
	db, copied := filepath.Join(world.Daemon.StateDir(), "fed.db"), filepath.Join(t.TempDir(), "copy.db")
	if err := store.Backup(ctx, db, copied); err != nil {
		t.Fatal(err)
	}
	is := func(id federation.JobID, want federation.State) {
		t.Helper()
		eventually(t, fmt.Sprintf("job %d is %s", id, want), func() string {
			if j := job(t, c, id); j.State != want {
				return fmt.Sprintf("it is %s (%s)", j.State, j.Reason)
			}
			return ""
		})
	}
	is(done, federation.Completed)
	is(runs, federation.Running)
	last := submit(t, "--wrap", "true")
	is(last, federation.Completed)
	world.Daemon.Kill()
	if _, err := store.Restore(ctx, copied, db); err != nil {
		t.Fatal(err)
	}
	if err := world.Daemon.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if j := job(t, c, done); j.State != federation.Pending {
		t.Fatalf("job %d is %s in the copy", done, j.State)
	}
	is(done, federation.Completed)
	is(runs, federation.Running)
	if next := submit(t, "--wrap", "true"); next <= last {
		t.Errorf("ID %d is given again, after %d", next, last)
	}
	if err := os.WriteFile(end, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	is(runs, federation.Completed)
	for _, id := range []federation.JobID{done, runs} {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(id)))
		if n := strings.Count(string(text), "start"); err != nil || n != 1 {
			t.Errorf("job %d ran %d times (%v)", id, n, err)
		}
	}
	if j := job(t, c, waits); j.State != federation.Pending || j.Reason == reasons.Restored {
		t.Errorf("the job that waits for its time is %s (%s)", j.State, j.Reason)
	}
}
