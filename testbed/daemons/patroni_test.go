package daemons

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"fsub/testbed/postgres"
)

// PostgreSQL under Patroni, with synchronous replication that never falls back: its primary is switched, and then lost, while jobs are submitted at three daemons. No
// command fails, and each job that was acknowledged runs exactly once.
func TestPatroni(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: needs Patroni, and takes a minute: FSUB_FULL=1 runs it")
	}
	c := postgres.StartCluster(t, 3)
	c.Primary().Exec("CREATE DATABASE shared OWNER " + postgres.Role)
	w := newWorld(t, 3, on(c.Primary().Server, fmt.Sprintf("postgres://%s@%s/shared?sslmode=disable", postgres.Role, c.Hosts())))
	jobs := w.submit(4)
	for _, tt := range []struct {
		name string
		do   func()
	}{{"switched", c.Switch}, {"lost", func() { c.Primary().KillAll() }}} {
		before := jobs.count()
		eventually(t, "jobs are submitted", func() error { return atLeast(before+20, jobs.count()) })
		c.Settle()
		was := c.Primary()
		began := time.Now()
		tt.do()
		eventually(t, "another server is the primary", func() error {
			if c.Primary() == was {
				return errors.New("it is not")
			}
			return nil
		})
		promoted := time.Since(began)
		before = jobs.count()
		eventually(t, "jobs are submitted again", func() error { return atLeast(before+20, jobs.count()) })
		t.Logf("the primary was %s: another one after %v, twenty jobs more after %v", tt.name, promoted.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	}
	jobs.end()
}
