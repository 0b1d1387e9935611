package daemons

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/testbed/postgres"
)

// says waits until the list of daemons has a word of the one that leads, or has it no more.
func (w *world) says(word string, want bool) {
	w.t.Helper()
	eventually(w.t, "fed daemon list says "+word, func() error {
		out, err := w.daemons[0].run("fed", "daemon", "list")
		if err == nil && (!strings.Contains(out, "leads") || strings.Contains(out, word) != want) {
			err = errors.New(out)
		}
		return err
	})
}

// Several daemons on a database that takes 4.5 seconds for a commit: one leads and goes on leading, which is said with the list of daemons; jobs are submitted and run, if slowly.
// When it is fast again all is as before.
func TestSlowCommits(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes two minutes: FSUB_FULL=1 runs it")
	}
	t.Parallel()
	s := &suffered{t: t, pg: postgres.Start(t)}
	s.standby = s.pg.Standby()
	s.pg.Exec("ALTER ROLE " + postgres.Role + " SET synchronous_commit = remote_apply")
	w := newWorld(t, 3, on(s.pg, s.pg.URL()))
	jobs := w.submit(2)
	eventually(t, "some jobs run", func() error { return atLeast(20, jobs.count()) })
	began := time.Now()
	s.delay("4500ms")
	w.says("slow database", true)
	is := w.leader(w.daemons[0])
	t.Logf("%v after commits have become slow %s leads", time.Since(began).Round(100*time.Millisecond), is.name)
	before := jobs.count()
	eventually(t, "jobs are submitted", func() error { return atLeast(before+4, jobs.count()) })
	t.Logf("4 jobs were submitted within %v", time.Since(began).Round(100*time.Millisecond))
	if now := w.leader(w.daemons[0]); now != is {
		t.Errorf("%s leads, and %s did", now.name, is.name)
	}
	list, err := w.daemons[0].run("fed", "daemon", "list")
	if err != nil || strings.Contains(list, "silent") {
		t.Errorf("%v\n%s", err, list)
	}
	s.delay("0")
	w.says("slow database", false)
	before = jobs.count()
	eventually(t, "jobs are submitted again", func() error { return atLeast(before+20, jobs.count()) })
	jobs.end()
	w.recorded(jobs.ids)
}

// Several daemons whose database has no space left for its log, so that it crashes: when there is space, and the server runs, all is well by itself.
func TestLogFull(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes half a minute: FSUB_FULL=1 runs it")
	}
	t.Parallel()
	pg := postgres.Start(t)
	fill, free := pg.SmallLog(128)
	w := newWorld(t, 3, on(pg, pg.URL()))
	jobs := w.submit(4)
	eventually(t, "some jobs run", func() error { return atLeast(20, jobs.count()) })
	fill()
	told := w.ask("the database|the one that leads has not answered")
	time.Sleep(3 * time.Second) // jobs end meanwhile
	free()
	told()
	before := jobs.count()
	eventually(t, "jobs are submitted again", func() error { return atLeast(before+20, jobs.count()) })
	jobs.end()
	w.recorded(jobs.ids)
}
