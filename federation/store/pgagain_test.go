package store

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fsub/federation"
	"fsub/federation/journal"
	testbed "fsub/testbed/postgres"
)

// TestDeadlockIsRetried: of two transactions that wait for each other the database ends ours, which is done again at once.
func TestDeadlockIsRetried(t *testing.T) {
	server := testbed.Start(t)
	url := server.URL()
	s := mustOpenAt(t, url)
	var both []*federation.Job
	for range 2 {
		id, err := create(s, "both")
		if err != nil {
			t.Fatal(err)
		}
		j, err := s.Job(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		j.Reason = "changed"
		both = append(both, &j)
	}
	other, err := pgx.Connect(ctx, server.Address("fed1")+"&user=postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(ctx)
	lock := func(id federation.JobID) {
		if _, err := other.Exec(ctx, "SELECT 1 FROM jobs WHERE id = $1 FOR UPDATE", int64(id)); err != nil {
			t.Error(err)
		}
	}
	if _, err := other.Exec(ctx, "SET deadlock_timeout = '1min'"); err != nil { // so that ours is the one that is ended
		t.Fatal(err)
	}
	if _, err := other.Exec(ctx, "BEGIN"); err != nil {
		t.Fatal(err)
	}
	lock(both[1].ID)
	done := make(chan error, 1)
	go func() { done <- s.Commit(ctx, &journal.Batch{Jobs: both}) }()
	for server.Exec("SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'fed' AND wait_event_type = 'Lock'") != "1" {
		time.Sleep(10 * time.Millisecond)
	}
	lock(both[0].ID) // ours is ended, and gives way
	if _, err := other.Exec(ctx, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("after a deadlock: %v", err)
	}
	if server.Exec("SELECT deadlocks > 0 FROM pg_stat_database WHERE datname = 'fed1'") != "t" {
		t.Error("there was no deadlock")
	}
	if j, err := s.Job(ctx, both[1].ID); err != nil || j.Reason != "changed" {
		t.Errorf("the change was not made: %q, %v", j.Reason, err)
	}
}

// TestSerializationIsRetried: a transaction that the database asks to repeat is repeated, within bounds; and a stricter isolation that a role has as its default is not ours.
func TestSerializationIsRetried(t *testing.T) {
	server := testbed.Start(t)
	server.Exec("ALTER ROLE " + testbed.Role + " SET default_transaction_isolation = 'serializable'")
	s := mustOpenAt(t, server.URL())
	err := s.writer.submit(ctx, func(x *tx) error {
		return x.each(func(r *row) {
			if is := r.text(); is != "read committed" {
				t.Errorf("the isolation is %s", is)
			}
		}, "SHOW transaction_isolation")
	})
	if err != nil {
		t.Fatal(err)
	}
	server.ExecIn("fed1", `CREATE SEQUENCE tries; GRANT ALL ON tries TO fed; CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('tries') <= current_setting('test.times')::int THEN RAISE 'again' USING ERRCODE = '40001'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER again BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION again()`)
	for times, works := range map[int]bool{0: true, 3: true, 1000: false} {
		server.ExecIn("fed1", fmt.Sprintf("SELECT setval('tries', 1, false); ALTER DATABASE fed1 SET test.times = %d", times))
		s.Close()
		s = mustOpenAt(t, server.Address("fed1"))
		began := time.Now()
		_, err := create(s, "tried")
		if works && err != nil || !works && !errors.Is(err, federation.ErrUnavailable) {
			t.Errorf("asked %d times to try again: %v", times, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("asked %d times to try again: it took %v", times, took)
		}
	}
}

// TestWhatMayPass: these errors of a request are waited for.
func TestWhatMayPass(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{refused, true},
		{io.ErrUnexpectedEOF, true},
		{&pgconn.PgError{Code: "57P01"}, true},
		{&pgconn.PgError{Code: "57P03"}, true},
		{&pgconn.PgError{Code: "08006"}, true},
		{&pgconn.PgError{Code: "53300"}, true},
		{&pgconn.PgError{Code: "25006"}, true},
		{&pgconn.PgError{Code: "53100"}, false},
		{&pgconn.PgError{Code: "23505"}, false},
		{&pgconn.PgError{Code: "28P01"}, false},
		{fmt.Errorf("%w: %w", ErrOpen, refused), false},
		{errClosed, false},
	} {
		if got := mayPass(databaseErrorOr(tt.err)); got != tt.want {
			t.Errorf("%v may pass: %v", tt.err, got)
		}
	}
}

func databaseErrorOr(err error) error {
	if err == nil {
		return nil
	}
	return databaseError(err)
}
