package postgres_test

import (
	"testing"
	"time"

	"fsub/testbed/postgres"
)

// TestFailOver: what the primary has acknowledged is on the standby, which takes over.
func TestFailOver(t *testing.T) {
	began := time.Now()
	s := postgres.Start(t)
	standby := s.Standby()
	t.Logf("primary and standby are up after %v", time.Since(began).Round(time.Millisecond))

	s.Exec("CREATE TABLE kept (n INT)")
	s.Exec("INSERT INTO kept VALUES (1)")
	s.Kill()
	standby.Promote()
	standby.Exec("ALTER SYSTEM SET synchronous_standby_names = ''")
	standby.Exec("SELECT pg_reload_conf()")
	if got := standby.Exec("SELECT n FROM kept"); got != "1" {
		t.Errorf("the new primary has %q", got)
	}
	s.Restart() // nobody tells an old primary that it is none
	if got := s.Exec("SELECT pg_is_in_recovery()"); got != "f" {
		t.Errorf("the old primary says %q", got)
	}
}

func TestDatabasesAreApart(t *testing.T) {
	s := postgres.Start(t)
	if a, b := s.URL(), s.URL(); a == b {
		t.Errorf("two tests get %s", a)
	}
	if got := s.Exec("SELECT rolsuper FROM pg_roles WHERE rolname = '" + postgres.Role + "'"); got != "f" {
		t.Errorf("the role is a superuser: %s", got)
	}
}
