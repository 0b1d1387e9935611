package reports_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/accounting/report"
	"fsub/accounting/report/format"
	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/records"
	"fsub/federation/reports"
	"fsub/federation/store"
)

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestSchedule(t *testing.T) {
	for _, c := range []struct{ send, at, now, due, next, since, until string }{
		{"day", "06:00", "2026-11-23 05:59", "2026-11-22 06:00", "2026-11-23 06:00", "2026-11-21", "2026-11-21"},
		{"day", "06:00", "2026-11-23 06:00", "2026-11-23 06:00", "2026-11-24 06:00", "2026-11-22", "2026-11-22"},
		{"week", "06:00", "2026-11-23 05:00", "2026-11-16 06:00", "2026-11-23 06:00", "2026-11-09", "2026-11-15"}, // a Monday
		{"week", "00:00", "2026-11-29 23:59", "2026-11-23 00:00", "2026-11-30 00:00", "2026-11-16", "2026-11-22"},
		{"month", "06:00", "2026-03-01 07:00", "2026-03-01 06:00", "2026-04-01 06:00", "2026-02", "2026-02-28"},
		{"month", "06:00", "2026-01-01 05:00", "2025-12-01 06:00", "2026-01-01 06:00", "2025-11", "2025-11-30"},
		{"", "06:00", "2026-01-01 05:00", "0001-01-01 00:00", "0001-01-01 00:00", "", ""},
	} {
		d := reports.Definition{Spec: report.Spec{Kind: "cost"}, Send: c.send, At: c.at}
		now := at(c.now)
		due := d.Due(now)
		spec, _ := d.Question(due)
		if !due.Equal(at(c.due)) || !d.Next(now).Equal(at(c.next)) || spec.Since != c.since || spec.Until != c.until {
			t.Errorf("%s at %s, %s: due %v, next %v, from %s until %s", c.send, c.at, c.now, due, d.Next(now), spec.Since, spec.Until)
		}
	}
	d := reports.Definition{Spec: report.Spec{Kind: "cost", Last: "7d"}, Send: "week", At: "06:00"}
	spec, as := d.Question(at("2026-11-23 06:00"))
	if from, until, err := spec.Span(as); err != nil || !from.Equal(at("2026-11-16 00:00")) || !until.Equal(at("2026-11-23 00:00")) {
		t.Errorf("the last seven days are %v until %v, %v", from, until, err)
	}
}

// outbox takes mail unless it is told not to.
type outbox struct {
	sent []reports.Message
	fail error
	then func() // after a mail was taken
}

func (o *outbox) Send(_ context.Context, m *reports.Message) error {
	if o.fail != nil {
		return o.fail
	}
	o.sent = append(o.sent, *m)
	if o.then != nil {
		o.then()
	}
	return nil
}

type world struct {
	*testing.T
	path  string
	store *store.Store
	mail  outbox
	now   time.Time
	asked []report.Spec
	files string
}

func start(t *testing.T) *world {
	w := &world{T: t, path: t.TempDir() + "/fed.db", files: t.TempDir(), now: at("2026-11-23 12:00")}
	w.open()
	return w
}

func (w *world) open() {
	if w.store != nil {
		w.store.Close()
	}
	s, err := store.Open(w.Context(), store.Config{Path: w.path, Volatile: true})
	if err != nil {
		w.Fatal(err)
	}
	w.store = s
	w.Cleanup(func() { s.Close() })
}

// runner is that of a daemon which has just started.
func (w *world) runner() *reports.Runner {
	return reports.New(reports.Config{Saved: reports.In(w.store), Mail: &w.mail, Files: w.files, Host: "fed", Federation: "hpc", Now: func() time.Time { return w.now }, Write: format.Write, Ending: format.Ending,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Make: func(_ context.Context, d *reports.Definition, s report.Spec, at time.Time) (*report.Table, error) {
			w.asked = append(w.asked, s)
			q, _, err := s.Ask(at)
			if err != nil {
				return nil, err
			}
			return report.Make(q, nil)
		}})
}

func (w *world) save(d reports.Definition) {
	d.Made = w.now
	if err := d.Check(w.now, []string{"example.org"}, false); err != nil {
		w.Fatal(err)
	}
	if err := reports.In(w.store).Put(w.Context(), &reports.Saved{Definition: d, State: reports.State{For: d.Due(w.now)}}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) once(r *reports.Runner) reports.Saved {
	w.Helper()
	if err := r.Once(w.Context()); err != nil {
		w.Fatal(err)
	}
	all, err := reports.In(w.store).List(w.Context(), "")
	if err != nil || len(all) != 1 {
		w.Fatalf("%+v, %v", all, err)
	}
	return all[0]
}

var weekly = reports.Definition{Owner: "ann", UID: uint32(os.Geteuid()), Name: "cost", Spec: report.Spec{Kind: "cost", By: []string{"user"}}, Format: "csv", Send: "week", At: "06:00", To: []string{"ann@example.org"}}

// A report is sent once in each of its periods, however often the daemon looks or starts anew. Of periods in which no daemon ran only the last is sent.
func TestOnceAPeriod(t *testing.T) {
	w := start(t)
	w.save(weekly)
	for range 4 * 7 * 24 { // four weeks, by the hour
		w.once(w.runner())
		w.now = w.now.Add(time.Hour)
	}
	if len(w.mail.sent) != 4 {
		t.Fatalf("%d mails in four weeks", len(w.mail.sent))
	}
	ids := map[string]bool{}
	for _, m := range w.mail.sent {
		ids[m.ID] = true
	}
	if first := w.mail.sent[0]; len(ids) != 4 || first.Subject != "hpc: cost: Cost by user, 2026-11-23 to 2026-11-29, UTC days (nothing)" || first.File != "cost-2026-11-30.csv" || !strings.HasPrefix(string(first.Content), "from,until,user,cost,") ||
		!strings.Contains(first.Text, "fed report remove cost") || !strings.Contains(first.Text, report.Nothing) || strings.Contains(first.Text, "0.00") {
		t.Errorf("%d IDs; %+v", len(ids), first)
	}
	w.now = w.now.AddDate(0, 0, 30)
	w.open()
	s := w.once(w.runner())
	if len(w.mail.sent) != 5 || s.Where != "ann@example.org" || !s.For.Equal(at("2027-01-18 06:00")) {
		t.Errorf("%d mails; %+v", len(w.mail.sent), s.State)
	}
}

// What the mail server refuses is tried again, ever more seldom, and what went wrong is told until it is sent.
func TestMailServerIsDown(t *testing.T) {
	w := start(t)
	w.save(weekly)
	w.now, w.mail.fail = at("2026-11-30 06:00"), errors.New("connection refused")
	r := w.runner()
	var s reports.Saved
	for range 3 * 60 {
		s = w.once(r)
		w.now = w.now.Add(time.Minute)
	}
	if s.Tries < 5 || s.Tries > 9 || s.Error != "connection refused" || !s.Sent.IsZero() {
		t.Errorf("after three hours: %+v", s.State)
	}
	w.mail.fail = nil
	w.now = w.now.Add(time.Hour)
	if s = w.once(w.runner()); len(w.mail.sent) != 1 || s.Error != "" || s.Tries != 0 || !s.For.Equal(at("2026-11-30 06:00")) {
		t.Errorf("%d mails; %+v", len(w.mail.sent), s.State)
	}
}

// deaf is a store that writes nothing.
type deaf struct{ records.Store }

func (deaf) PutRecord(context.Context, *records.Record, ...audit.Entry) error {
	return errors.New("disk full")
}

// What was sent is not sent again because the store cannot be told.
func TestStoreTakesNothing(t *testing.T) {
	w := start(t)
	w.save(weekly)
	w.now = at("2026-11-30 06:00")
	r := w.runner()
	r.Saved = reports.In(deaf{w.store})
	for range 100 {
		if err := r.Once(t.Context()); err == nil {
			t.Fatal("the store takes nothing, and nobody noticed")
		}
		w.now = w.now.Add(20 * time.Second)
	}
	r.Saved = reports.In(w.store)
	if s := w.once(r); len(w.mail.sent) != 1 || s.Where != "ann@example.org" {
		t.Errorf("%d mails; %+v", len(w.mail.sent), s.State)
	}
}

// A daemon that is killed after the mail server has taken a report, and before that is written down, sends it again under the same ID; a file is one file.
func TestKilledWhileSending(t *testing.T) {
	w := start(t)
	w.save(weekly)
	w.now = at("2026-11-30 06:00")
	w.mail.then = func() { w.store.Close() }
	if err := w.runner().Once(t.Context()); err == nil {
		t.Fatal("the store is closed, and nobody noticed")
	}
	w.mail.then, w.store = nil, nil
	w.open()
	for range 3 {
		w.once(w.runner())
	}
	if len(w.mail.sent) != 2 || w.mail.sent[0].ID != w.mail.sent[1].ID {
		t.Errorf("%d mails: %+v", len(w.mail.sent), w.mail.sent)
	}
}

func TestFile(t *testing.T) {
	w := start(t)
	d := weekly
	d.To, d.Format = nil, "html"
	w.save(d)
	w.now = at("2026-11-30 06:00")
	s := w.once(w.runner())
	if s.Where != filepath.Join(w.files, "ann", "cost-2026-11-30.html") {
		t.Fatalf("%+v", s.State)
	}
	if st, err := os.Stat(s.Where); err != nil || st.Mode().Perm() != 0o600 || st.Size() == 0 {
		t.Errorf("%v, %v", st, err)
	}
	s2 := s
	if where, err := w.runner().Deliver(t.Context(), &s2); err != nil || where != s.Where {
		t.Errorf("by hand: %s, %v", where, err)
	}
	if files, _ := os.ReadDir(filepath.Join(w.files, "ann")); len(files) != 1 {
		t.Errorf("%v", files)
	}
	os.Symlink("/etc", filepath.Join(w.files, "eve"))
	s2.Owner = "eve"
	if where, err := w.runner().Deliver(t.Context(), &s2); err == nil {
		t.Errorf("a link out of the directory is followed: %s", where)
	}
}

func TestCheck(t *testing.T) {
	for word, change := range map[string]func(d *reports.Definition){
		"unknown report":       func(d *reports.Definition) { d.Kind = "colour" },
		"unknown format":       func(d *reports.Definition) { d.Format = "pdf" },
		"invalid --send":       func(d *reports.Definition) { d.Send = "hour" },
		"invalid --at":         func(d *reports.Definition) { d.At = "25:00" },
		"invalid --by":         func(d *reports.Definition) { d.By = []string{"colour"} },
		"invalid --last":       func(d *reports.Definition) { d.Last = "x" },
		"invalid address":      func(d *reports.Definition) { d.To = []string{"Ann <ann@example.org>"} },
		"invalid address \"a%": func(d *reports.Definition) { d.To = []string{"a%evil.com@example.org"} },
		"invalid address \"|":  func(d *reports.Definition) { d.To = []string{"|sh@example.org"} },
		"for operators":        func(d *reports.Definition) { d.To = []string{"ann@elsewhere.com"} },
		"invalid --where":      func(d *reports.Definition) { d.Where = []string{"user=\x1b[2J"} },
		"no --since":           func(d *reports.Definition) { d.Since = "2026-01" },
	} {
		d := weekly
		change(&d)
		if err := d.Check(time.Now(), []string{"example.org"}, false); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
	d := weekly
	d.To = []string{"ann@elsewhere.com"}
	if err := d.Check(time.Now(), nil, true); err != nil {
		t.Errorf("an operator's: %v", err)
	}
}

// TestSavedAnewIsBounded: a report that is saved again with a later moment of the day each time is due again, and sends no more mails than any other.
func TestSavedAnewIsBounded(t *testing.T) {
	w := start(t)
	r := w.runner()
	d := weekly
	d.Send, d.To = "day", []string{"a@example.org", "b@example.org", "c@example.org", "d@example.org", "e@example.org"}
	for range 120 {
		d.At = w.now.Add(time.Minute).Format("15:04")
		w.save(d)
		w.now = w.now.Add(time.Minute)
		w.once(r)
	}
	if n := len(w.mail.sent); n < 20 || n > 60 { // in two hours, 100 at once and 100 an hour
		t.Errorf("%d mails to five", n)
	}
}

// slow is a mail server that takes nothing before it is told to, but for some addresses.
type slow struct {
	wait chan struct{}
	sent chan string
}

func (s *slow) Send(_ context.Context, m *reports.Message) error {
	if m.To[0] == "slow@example.org" {
		<-s.wait
	}
	s.sent <- m.To[0]
	return nil
}

// TestSlowMailServer: a mail that its server does not take delays no report of others.
func TestSlowMailServer(t *testing.T) {
	w := start(t)
	for i, to := range []string{"slow@example.org", "ann@example.org", "bob@example.org"} {
		d := weekly
		d.Name, d.To = fmt.Sprint("r", i), []string{to}
		w.save(d)
	}
	w.now = at("2026-11-30 06:00")
	r, server := w.runner(), &slow{make(chan struct{}), make(chan string, 3)}
	r.Mail = server
	done := make(chan error, 1)
	go func() { done <- r.Once(t.Context()) }()
	for range 2 {
		select {
		case <-server.sent:
		case <-time.After(20 * time.Second):
			t.Fatal("a report waits for the mail of another")
		}
	}
	close(server.wait)
	if err := <-done; err != nil || <-server.sent != "slow@example.org" {
		t.Error(err)
	}
}

// TestOutOfTurnIsBounded: a user who has his reports delivered again and again, also under ever new names, sends no flood of mail and fills no disk.
func TestOutOfTurnIsBounded(t *testing.T) {
	w := start(t)
	r := w.runner()
	mailed := weekly
	mailed.To = []string{"a@example.org", "b@example.org"}
	var err error
	for i := 0; i < 1000 && err == nil; i++ {
		mailed.Name = fmt.Sprint("m", i)
		w.save(mailed)
		_, err = r.Deliver(t.Context(), &reports.Saved{Definition: mailed})
		if err := reports.In(w.store).Remove(t.Context(), mailed.Owner, mailed.Name); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.mail.sent); err == nil || n < 10 || n > 50 { // each to two
		t.Errorf("%d mails, %v", n, err)
	}
	w.now = w.now.Add(2 * time.Hour)
	if _, err := r.Deliver(t.Context(), &reports.Saved{Definition: mailed}); err != nil && !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("later: %v", err)
	}
	other := mailed
	other.Owner = "bob"
	if _, err := r.Deliver(t.Context(), &reports.Saved{Definition: other}); err != nil && !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("another user: %v", err)
	}
	filed := weekly
	filed.To = nil
	if err := os.Mkdir(filepath.Join(w.files, filed.Owner), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(w.files, filed.Owner, fmt.Sprint("old", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if where, err := r.Deliver(t.Context(), &reports.Saved{Definition: filed}); err == nil {
		t.Errorf("one more file: %s", where)
	}
}
