package leader_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/stdlib"

	"fsub/federation/leader"
	"fsub/testbed/postgres"
)

// open returns the table in a database of its own.
func open(t *testing.T, s *postgres.Server) leader.Postgres {
	t.Helper()
	return openAt(t, s.URL())
}

func openAt(t *testing.T, url string) leader.Postgres {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec(leader.Schema); err != nil {
		t.Fatal(err)
	}
	return leader.Postgres{DB: db}
}

func TestPostgres(t *testing.T) {
	s := postgres.Start(t)
	t.Run("lease", func(t *testing.T) { testLease(t, open(t, s)) })
	t.Run("session", func(t *testing.T) { testSession(t, s) })
	t.Run("fence", func(t *testing.T) { testFence(t, open(t, s)) })
	t.Run("slow commit", func(t *testing.T) { testSlowCommit(t, open(t, s)) })
	t.Run("stopped", func(t *testing.T) { testStopped(t, open(t, s)) })
	t.Run("members", func(t *testing.T) { testMembers(t, open(t, s)) })
	t.Run("earlier tables", func(t *testing.T) { testEarlierTables(t, open(t, s)) })
	t.Run("sealed", func(t *testing.T) { testSealed(t, open(t, s)) })
}

func testLease(t *testing.T, p leader.Postgres) {
	ctx := t.Context()
	a, b := leader.Holder{Name: "a", Address: "a:1"}, leader.Holder{Name: "b", Address: "b:1"}
	if l, err := p.Read(ctx); err != nil || l != (leader.Lease{}) {
		t.Errorf("before anybody leads: %+v, %v", l, err)
	}
	first, err := p.Take(ctx, a, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if now := time.Now().Unix(); first < now-60 || first > now+60 {
		t.Errorf("the first epoch of a database is %d: one that was seen under another database may be newer", first)
	}
	if _, err := p.Take(ctx, b, time.Minute); !errors.Is(err, leader.ErrHeld) {
		t.Errorf("b takes what a has: %v", err)
	}
	if err := p.Extend(ctx, first, time.Minute); err != nil {
		t.Error(err)
	}
	if l, err := p.Read(ctx); err != nil || l.Holder != a || l.Epoch != first || l.Left < 50*time.Second || l.Left > time.Minute {
		t.Errorf("%+v, %v", l, err)
	}
	if err := p.Resign(ctx, first); err != nil {
		t.Error(err)
	}
	if err := p.Extend(ctx, first, time.Minute); !errors.Is(err, leader.ErrLost) {
		t.Errorf("a lease that was given up is renewed: %v", err)
	}
	second, err := p.Take(ctx, b, 50*time.Millisecond)
	if err != nil || second <= first {
		t.Fatalf("epoch %d after %d: %v", second, first, err)
	}
	if err := p.Resign(ctx, first); err != nil {
		t.Error(err)
	}
	if l, _ := p.Read(ctx); l.Holder != b {
		t.Errorf("a has given up b's lease: %+v", l)
	}
	time.Sleep(60 * time.Millisecond)
	if err := p.Extend(ctx, second, time.Minute); !errors.Is(err, leader.ErrLost) {
		t.Errorf("a lease that is over is renewed: %v", err)
	}
}

// A lease passes on before it is over when the connection has ended on which it was taken or renewed last, and not by a connection of another epoch.
func testSession(t *testing.T, s *postgres.Server) {
	ctx, url := t.Context(), s.URL()
	p, holders := openAt(t, url), openAt(t, url) // which renews it on any of its connections
	epoch, err := holders.Take(ctx, leader.Holder{Name: "a"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	held := func(when string) {
		t.Helper()
		if l, err := p.Read(ctx); err != nil || l.Gone {
			t.Errorf("%s: %+v, %v", when, l, err)
		}
		if _, err := p.TakeFrom(ctx, epoch, leader.Holder{Name: "b"}, time.Minute); !errors.Is(err, leader.ErrHeld) {
			t.Errorf("%s: b takes it: %v", when, err)
		}
	}
	held("a lives")
	first, err := holders.DB.Conn(ctx) // the connection on which it was taken
	if err != nil {
		t.Fatal(err)
	}
	if err := holders.Extend(ctx, epoch, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := first.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(err, driver.ErrBadConn) { // which closes it
		t.Fatal(err)
	}
	held("a has renewed it on another connection")
	holders.DB.Close()
	for l := (leader.Lease{}); !l.Gone; time.Sleep(time.Millisecond) {
		if l, err = p.Read(ctx); err != nil || l.Left < 50*time.Second {
			t.Fatalf("%+v, %v", l, err)
		}
	}
	if _, err := p.TakeFrom(ctx, epoch-1, leader.Holder{Name: "b"}, time.Minute); !errors.Is(err, leader.ErrHeld) {
		t.Errorf("b takes the lease of another epoch: %v", err)
	}
	next, err := p.TakeFrom(ctx, epoch, leader.Holder{Name: "b"}, time.Minute)
	if err != nil || next <= epoch {
		t.Fatalf("epoch %d after %d: %v", next, epoch, err)
	}
	if l, err := p.Read(ctx); err != nil || l.Name != "b" || l.Epoch != next || l.Gone || l.Left < 50*time.Second {
		t.Errorf("%+v, %v", l, err)
	}
	for _, session := range []string{"", fmt.Sprintf("%d/1/1", epoch)} { // none, and one that has ended, of the epoch before
		if _, err := p.DB.Exec("UPDATE leader SET session = $1", session); err != nil {
			t.Fatal(err)
		}
		if l, err := p.Read(ctx); err != nil || l.Gone {
			t.Errorf("session %q counts as one of epoch %d: %v", session, next, err)
		}
	}
}

// take takes the lease as an elector does: again and again.
func take(t *testing.T, p leader.Postgres, name string) (epoch int64) {
	t.Helper()
	for {
		epoch, err := p.Take(t.Context(), leader.Holder{Name: name}, time.Minute)
		if err == nil {
			return epoch
		}
		if !errors.Is(err, leader.ErrHeld) {
			t.Fatal(err)
		}
	}
}

// A transaction that the server carries out when the lease ends is over before another daemon leads; none begins under the epoch after that.
func testFence(t *testing.T, p leader.Postgres) {
	for range 5 {
		if tryFence(t, p) {
			return
		}
	}
	t.Error("what was locked in time was never committed")
}

// tryFence reports whether the transaction was committed. On a busy machine the lease may end before it begins, or the one who takes over may have to end its session, whose
// client does not go on.
func tryFence(t *testing.T, p leader.Postgres) bool {
	ctx := t.Context()
	epoch, err := p.Take(ctx, leader.Holder{Name: "a"}, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	var committed atomic.Int64
	written := make(chan error, 1)
	inside := make(chan struct{})
	go func() {
		written <- p.Fenced(ctx, epoch, func(tx *sql.Tx) error {
			close(inside)
			_, err := tx.Exec("SELECT pg_sleep(0.3)") // and the lease ends
			committed.Store(time.Now().UnixNano())
			return err
		})
	}()
	select {
	case <-inside:
	case err := <-written:
		if !errors.Is(err, leader.ErrLost) {
			t.Errorf("nothing is written under a lease that has not ended: %v", err)
		}
		return false // it ended before
	}
	time.Sleep(60 * time.Millisecond)
	next := take(t, p, "b")
	if end := committed.Load(); end == 0 || time.Now().UnixNano() < end {
		t.Error("b leads while a commits")
	}
	done := <-written
	if done != nil && !strings.Contains(done.Error(), "57P01") {
		t.Errorf("what was locked in time was not committed: %v", done)
	}
	if err := p.Fenced(ctx, epoch, func(*sql.Tx) error { return nil }); !errors.Is(err, leader.ErrLost) {
		t.Errorf("a commits after b leads (epoch %d): %v", next, err)
	}
	if err := p.Resign(ctx, next); err != nil { // for the next try
		t.Error(err)
	}
	return done == nil
}

// testSlowCommit: a commit of the leader that takes its time does not hold up the renewal of its lease.
func testSlowCommit(t *testing.T, p leader.Postgres) {
	epoch := take(t, p, "a")
	err := p.Fenced(t.Context(), epoch, func(*sql.Tx) error {
		soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return p.Extend(soon, epoch, time.Minute)
	})
	if err != nil {
		t.Errorf("the lease is not renewed: %v", err)
	}
}

// A transaction whose daemon is stopped inside it does not hold up the next one: neither between two statements, nor, which no timeout of the server ends, when the server
// has got the first half of what belongs together. It writes nothing.
func testStopped(t *testing.T, p leader.Postgres) {
	ctx := t.Context()
	for _, half := range []bool{false, true} {
		epoch, err := p.Take(ctx, leader.Holder{Name: "a"}, 200*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := p.DB.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		err = conn.Raw(func(c any) error {
			pg := c.(*stdlib.Conn).Conn().PgConn()
			text := strings.ReplaceAll(leader.Fence, "$1", fmt.Sprint(epoch))
			if !half {
				if err := pg.Exec(ctx, "BEGIN").Close(); err != nil {
					return err
				}
				return pg.Exec(ctx, text).Close()
			}
			f := pg.Frontend() // without a Sync: the server waits for the rest
			for _, text := range []string{"BEGIN", text} {
				f.SendParse(&pgproto3.Parse{Query: text})
				f.SendBind(&pgproto3.Bind{})
				f.SendExecute(&pgproto3.Execute{})
			}
			f.Send(&pgproto3.Flush{})
			return f.Flush()
		})
		if err != nil {
			t.Fatal(err)
		}
		locked := func() (n int) {
			if err := p.DB.QueryRow("SELECT count(*) FROM pg_locks WHERE relation = 'leader'::regclass AND mode = 'RowShareLock'").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for locked() == 0 {
			time.Sleep(time.Millisecond)
		}
		next := take(t, p, "b")
		err = conn.Raw(func(c any) error { return c.(*stdlib.Conn).Conn().PgConn().Exec(ctx, "COMMIT").Close() })
		if err == nil {
			t.Error("a commits after b leads")
		}
		conn.Close()
		if err := p.Resign(ctx, next); err != nil {
			t.Error(err)
		}
	}
}

// Tables that were made with fewer columns get the others.
func testEarlierTables(t *testing.T, p leader.Postgres) {
	if _, err := p.DB.Exec(`ALTER TABLE leader DROP COLUMN session; ALTER TABLE daemons DROP COLUMN agents, DROP COLUMN remote, DROP COLUMN lag, DROP COLUMN stopped`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.DB.Exec(leader.Schema); err != nil {
			t.Fatal(err)
		}
	}
	testMembers(t, p)
}

func testMembers(t *testing.T, p leader.Postgres) {
	ctx := t.Context()
	a := leader.Self{Holder: leader.Holder{Name: "a", Address: "a:1"}, Version: "v1", Place: "here", Since: time.Now()}
	for range 2 {
		if err := p.Join(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := a
	elsewhere.Place = "elsewhere"
	if err := p.Join(ctx, elsewhere); err == nil || !strings.Contains(err.Error(), "daemons: name") {
		t.Errorf("two daemons have one name: %v", err)
	}
	if err := p.Join(ctx, leader.Self{Holder: leader.Holder{Name: "b"}, Version: "v2", Place: "here", Lag: new(0.25)}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Take(ctx, a.Holder, time.Minute); err != nil {
		t.Fatal(err)
	}
	all, err := p.Members(ctx)
	if err != nil || len(all) != 2 || !all[0].Leads || all[1].Leads || all[0].Address != "a:1" || all[1].Version != "v2" || all[0].Age > time.Minute || all[0].Lag != nil || all[1].Lag == nil || *all[1].Lag != 0.25 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := p.Leave(ctx, a); err != nil {
		t.Fatal(err)
	}
	if all, err := p.Members(ctx); err != nil || len(all) != 1 {
		t.Errorf("once a has stopped: %+v, %v", all, err)
	}
	if err := p.Join(ctx, leader.Self{Holder: leader.Holder{Name: "c"}, Place: "here", Agents: "https://c:1", Remote: "c:2"}); err != nil {
		t.Fatal(err)
	}
	others, err := p.Others(ctx, "b")
	if err != nil || len(others) != 2 || others[0].Name != "a" || others[1].Agents != "https://c:1" || others[1].Remote != "c:2" {
		t.Errorf("the others than b, of which a was stopped: %+v, %v", others, err)
	}
	if err := p.Join(ctx, elsewhere); err != nil {
		t.Errorf("the name is free: %v", err)
	}
}

func testSealed(t *testing.T, p leader.Postgres) {
	ctx := t.Context()
	epoch, err := p.Take(ctx, leader.Holder{Name: "a"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	box := func(secret string) *leader.Sealed {
		b, err := leader.NewSealed(p.DB, []byte(strings.Repeat(secret, 32)))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	s := box("s")
	for _, value := range []string{"one", "two"} {
		if err := s.Put(ctx, epoch, "agents.key", []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.All(ctx)
	if err != nil || fmt.Sprintf("%s", all) != "map[agents.key:two]" {
		t.Errorf("%s, %v", all, err)
	}
	var stored []byte
	if err := p.DB.QueryRow("SELECT value FROM sealed").Scan(&stored); err != nil || strings.Contains(string(stored), "two") {
		t.Errorf("the database has %q, %v", stored, err)
	}
	if _, err := box("x").All(ctx); err == nil || !strings.Contains(err.Error(), "secret_file") {
		t.Errorf("another secret opens it: %v", err)
	}
	if _, err := p.DB.Exec("UPDATE sealed SET name = 'token.key'"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.All(ctx); err == nil {
		t.Error("one value is taken for another")
	}
	if err := s.Put(ctx, epoch-1, "agents.key", nil); !errors.Is(err, leader.ErrLost) {
		t.Errorf("an older leader keeps a key: %v", err)
	}
}
