package store

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"fsub/federation"
	"fsub/federation/share"
	"fsub/sbatch"
	testbed "fsub/testbed/postgres"
)

func openAt(t *testing.T, url string) (*Store, error) {
	s, err := Open(ctx, Config{Postgres: &Postgres{URL: url}})
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

func mustOpenAt(t *testing.T, url string) *Store {
	t.Helper()
	s, err := openAt(t, url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func create(s *Store, user string) (federation.JobID, error) {
	j := &federation.Job{User: user, UID: 1000}
	err := s.CreateJob(ctx, j, &sbatch.Payload{})
	return j.ID, err
}

func TestPostgresThatLosesIsRefused(t *testing.T) {
	s := testbed.Start(t, "fsync=off")
	url := s.URL()
	_, err := openAt(t, url)
	if err == nil || !strings.Contains(err.Error(), "fsync = off") || !strings.Contains(err.Error(), "store_unsafe") {
		t.Errorf("opened with fsync=off: %v", err)
	}
	st, err := Open(ctx, Config{Postgres: &Postgres{URL: url, Unsafe: true}})
	if err != nil {
		t.Fatal(err)
	}
	st.Close()
}

// TestCommitsAreSynchronous: the defaults of a database or a role do not weaken what is acknowledged.
func TestCommitsAreSynchronous(t *testing.T) {
	server := testbed.Start(t)
	url := server.URL()
	for of, want := range map[string]string{"off": "on", "remote_write": "on", "remote_apply": "remote_apply"} {
		server.Exec("ALTER ROLE " + testbed.Role + " SET synchronous_commit = " + of)
		s := mustOpenAt(t, url)
		var setting string
		err := s.writer.submit(ctx, func(x *tx) error {
			return x.each(func(r *row) { setting = r.text() }, "SELECT current_setting('synchronous_commit')")
		})
		if err != nil || setting != want {
			t.Errorf("synchronous_commit is %q where the role has %s: %v", setting, of, err)
		}
		s.Close()
	}
}

func TestPasswordsStandInFiles(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://fed:secret@localhost/fed":            "store_password_file",
		"postgres://fed@db1.example.org/fed":             "sslmode",
		"postgres://fed@localhost,db1.example.org/fed":   "db1.example.org",
		"postgres://fed@db1/fed?sslmode=verify-full&x=y": "",
		"postgres://fed@127.0.0.1:5433/fed":              "",
		"postgres:///fed?host=/run/postgresql":           "",
	} {
		_, err := newPostgres(&Config{Postgres: &Postgres{URL: url}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the password is told: %v", err)
		}
	}
}

func TestStatesInWords(t *testing.T) {
	for code, want := range map[string]error{
		"23503": federation.ErrNotFound, "23505": federation.ErrConflict, "23514": federation.ErrInvalid, "22001": federation.ErrInvalid, "54000": federation.ErrInvalid,
		"40001": errAgain, "40P01": errAgain, "53100": federation.ErrUnavailable, "57P01": federation.ErrUnavailable, "08006": federation.ErrUnavailable,
		"25006": federation.ErrUnavailable,
	} {
		if err := databaseError(&pgconn.PgError{Code: code, Message: "words"}); !errors.Is(err, want) {
			t.Errorf("%s is %v, want %v", code, err, want)
		}
	}
	if err := databaseError(&pgconn.PgError{Code: "53100"}); !strings.Contains(err.Error(), "no space left") {
		t.Errorf("a full disk is %v", err)
	}
}

// TestStandbyGone: nothing is acknowledged that no standby has, a user is told so within his limit, and when the standby is back all is well by itself.
func TestStandbyGone(t *testing.T) {
	server := testbed.Start(t)
	standby := server.Standby()
	s := mustOpenAt(t, server.URL())
	s.writer.storeWait = time.Second
	if _, err := create(s, "before"); err != nil {
		t.Fatal(err)
	}
	standby.Stop()

	own := make(chan error, 1)
	go func() {
		_, err := create(s, "own") // the daemon's own write waits
		own <- err
	}()
	time.Sleep(100 * time.Millisecond)
	turn, err := share.NewTurns(4, 0).Take(ctx, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Done()
	asked := share.With(ctx, turn)
	j := &federation.Job{User: "asked", UID: 1000}
	if err := s.CreateJob(asked, j, &sbatch.Payload{}); !errors.Is(err, federation.ErrUnavailable) {
		t.Fatalf("a submission without a standby: %v", err)
	}
	select {
	case err := <-own:
		t.Fatalf("acknowledged, or refused, without a standby: %v", err)
	default:
	}
	if n := count(t, s, "own"); n != 0 {
		t.Errorf("%d jobs are visible that no standby has", n)
	}

	standby.Restart()
	if err := <-own; err != nil {
		t.Fatalf("when the standby was back: %v", err)
	}
	if n := count(t, s, "own"); n != 1 {
		t.Errorf("%d jobs, want 1", n)
	}
	if _, err := create(s, "after"); err != nil {
		t.Error(err)
	}
}

// TestCancelledWaitIsNoSuccess: a commit whose wait for the standby somebody ends is not acknowledged before a standby has it.
func TestCancelledWaitIsNoSuccess(t *testing.T) {
	server := testbed.Start(t)
	standby := server.Standby()
	s := mustOpenAt(t, server.URL())
	if _, err := create(s, "before"); err != nil {
		t.Fatal(err)
	}
	standby.Stop()
	done := make(chan error, 1)
	go func() {
		_, err := create(s, "one")
		done <- err
	}()
	waits := "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'fed'"
	for server.Exec("SELECT COUNT(*) "+waits) != "1" {
		time.Sleep(10 * time.Millisecond)
	}
	server.Exec("SELECT pg_cancel_backend(pid) " + waits)
	select {
	case err := <-done:
		t.Fatalf("answered while no standby had it: %v", err)
	case <-time.After(time.Second):
	}
	standby.Restart()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "one"); n != 1 {
		t.Errorf("%d jobs, want 1", n)
	}
}

// TestFailOverIsNoticed: the primary is killed while jobs are submitted and a standby takes over. Every acknowledged job is there, the store says that it was opened
// on another primary, no ID is given twice, and the old primary gets no write.
func TestFailOverIsNoticed(t *testing.T) {
	server := testbed.Start(t)
	standby := server.Standby()
	server.Exec("CREATE DATABASE shared OWNER " + testbed.Role)
	url := fmt.Sprintf("postgres://%s@%s,%s/shared?sslmode=disable", testbed.Role, server.Listen(), standby.Listen())
	s := mustOpenAt(t, url)

	var mu sync.Mutex
	acked := map[federation.JobID]string{}
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for n := 0; ; n++ {
				user := fmt.Sprint(w, ".", n)
				id, err := create(s, user)
				if err != nil {
					return
				}
				mu.Lock()
				acked[id] = user
				mu.Unlock()
			}
		})
	}
	time.Sleep(500 * time.Millisecond)
	server.Kill()
	standby.Promote()
	all.Wait()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := create(s, "refused"); err == nil {
			t.Fatal("a write went to another primary, and nothing was compared")
		}
		select {
		case <-s.Replaced():
		default:
			if time.Now().After(deadline) {
				t.Fatal("nobody has noticed the new primary")
			}
			continue
		}
		break
	}
	s.Close()

	server.Restart() // the old primary takes writes again
	s = mustOpenAt(t, url)
	if s.Copied().IsZero() {
		t.Error("the store does not say that a standby took over")
	}
	last := federation.JobID(0)
	for id, user := range acked {
		j, err := s.Job(ctx, id)
		if err != nil || j.User != user {
			t.Errorf("acknowledged job %d of %s: %q, %v", id, user, j.User, err)
		}
		last = max(last, id)
	}
	id, err := create(s, "after")
	if err != nil || id < last+skipAfterFailover/2 {
		t.Errorf("the next ID is %d after %d: %v", id, last, err)
	}
	if n := server.ExecIn("shared", "SELECT COUNT(*) FROM jobs WHERE user_name = 'after'"); n != "0" {
		t.Errorf("the old primary has got a write: %s", n)
	}
	t.Logf("%d jobs acknowledged before the primary was killed, all are there", len(acked))
	if err := s.Compared(ctx); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if s = mustOpenAt(t, url); !s.Copied().IsZero() {
		t.Error("it was compared, and asks for it again")
	}
}

// TestDatabaseComesBack: while it is gone writes are refused, and reads; when it is back all goes on by itself.
func TestDatabaseComesBack(t *testing.T) {
	server := testbed.Start(t)
	s := mustOpenAt(t, server.URL())
	if _, err := create(s, "before"); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if _, err := create(s, "meanwhile"); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("a write while it is gone: %v", err)
	}
	server.Restart()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, err := create(s, "after")
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if n := count(t, s, "before") + count(t, s, "after") + 10*count(t, s, "meanwhile"); n != 2 {
		t.Errorf("jobs of before, meanwhile and after: %d", n)
	}
}

// TestDaemonLeavesAnOpenCommit: a daemon that ends, or leads no longer, does not wait for a database that was lost before it has answered a commit.
func TestDaemonLeavesAnOpenCommit(t *testing.T) {
	t.Parallel()
	server := testbed.Start(t)
	standby := server.Standby()
	s := mustOpenAt(t, server.URL())
	standby.Kill()
	written := make(chan error, 1)
	go func() { _, err := create(s, "open"); written <- err }()
	for deadline := time.Now().Add(time.Minute); server.Exec("SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "0"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the commit does not wait for the standby")
		}
	}
	server.Kill()
	select {
	case err := <-written:
		t.Fatalf("a commit whose answer was lost is given up though the daemon goes on: %v", err)
	case <-time.After(time.Second):
	}
	s.Leave()
	select {
	case err := <-written:
		if !errors.Is(err, ErrOpen) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for a database that is away")
	}
	if _, err := create(s, "after"); err == nil {
		t.Error("more is written after that")
	}
}

// TestRestoredDumpIsNoticed: a store that pg_restore has put into a new database has all jobs, gives no ID that may have been given since, and asks to be compared.
func TestRestoredDumpIsNoticed(t *testing.T) {
	server := testbed.Start(t)
	from, to, dump := server.URL(), server.URL(), filepath.Join(t.TempDir(), "fed.dump")
	s := mustOpenAt(t, from)
	before, err := create(s, "before")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"pg_dump", "-Fc", "-f", dump, from}, {"pg_restore", "-d", to, dump}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, out)
		}
	}
	restored := mustOpenAt(t, to)
	if restored.Copied().IsZero() {
		t.Error("it does not say that it was restored")
	}
	if n := count(t, restored, "before"); n != 1 {
		t.Errorf("%d jobs, want 1", n)
	}
	after, err := create(restored, "after")
	if err != nil || after < before+skipIDs {
		t.Errorf("the next ID is %d after %d: %v", after, before, err)
	}
}

// TestReadOnlyDatabase: a database that takes no writes is named as such, and left for one that does.
func TestReadOnlyDatabase(t *testing.T) {
	server := testbed.Start(t)
	server.Exec("CREATE DATABASE shared OWNER " + testbed.Role)
	s := mustOpenAt(t, server.Address("shared"))
	set := func(to string) {
		server.Exec("ALTER DATABASE shared SET default_transaction_read_only = " + to)
		server.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fed'")
	}
	set("on")
	_, err := create(s, "first") // it meets the old connection
	for range 3 {
		if _, err = create(s, "refused"); err == nil || !errors.Is(err, federation.ErrUnavailable) {
			t.Fatalf("a write to a read-only database: %v", err)
		}
	}
	if !strings.Contains(err.Error(), "takes writes") {
		t.Errorf("it is said so: %v", err)
	}
	set("off")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, err = create(s, "after"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestSecondDaemonOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: it waits until the second gives up")
	}
	server := testbed.Start(t)
	url := server.URL()
	mustOpenAt(t, url)
	if _, err := openAt(t, url); err == nil || !strings.Contains(err.Error(), "in use by another fed (this host") {
		t.Errorf("a second one: %v", err)
	}
}

func count(t *testing.T, s *Store, user string) int {
	t.Helper()
	var jobs []federation.Job
	var err error
	for range 20 { // the first may meet a connection that is gone
		if jobs, err = s.Jobs(ctx, federation.JobQuery{User: user}); err == nil {
			return len(jobs)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal(err)
	return 0
}
