package api_test

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fsub/accounting/ledger"
	"fsub/accounting/report"
	"fsub/accounting/report/format"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/federation/reports"
	"fsub/federation/store"
)

func savedReports(t *testing.T) *reports.Runner {
	s, err := store.Open(t.Context(), store.Config{Path: t.TempDir() + "/fed.db", Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return reports.New(reports.Config{Saved: reports.In(s), Write: format.Write, Ending: format.Ending, Files: t.TempDir(), Domains: []string{"example.org"}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

// A saved report shows what its owner may see when it is made, and is nobody else's to see, run or remove, but for operators.
func TestSavedReports(t *testing.T) {
	var last atomic.Pointer[ledger.SumQuery]
	runner := savedReports(t)
	d := startWith(t, api.Config{Books: sumsOf{asked: &last}, Budgets: standings, Coordinators: leads{"bob": "physics"}, Reports: runner})
	runner.Make = d.Server.Report
	ours := v1.SavedReport{Name: "weekly", Report: "cost", Format: "csv", Send: "week", By: []string{"user"}}
	for _, uid := range []uint32{alice, bob} {
		if code := as(t, uid, d.Socket, "POST", "/fed/v1/reports", ours, nil); code != 200 {
			t.Fatalf("uid %d saves: status %d", uid, code)
		}
	}
	mailed, no := ours, v1.ErrorResponse{}
	mailed.Name, mailed.Mail = "mailed", []string{"lead@elsewhere.net"}
	if code := as(t, alice, d.Socket, "POST", "/fed/v1/reports", mailed, &no); code == 200 || !strings.Contains(no.Error.Text, "sends no mail") {
		t.Errorf("a report by mail where there is none: status %d, %q", code, no.Error.Text)
	}
	var all []v1.SavedReport
	if as(t, alice, d.Socket, "GET", "/fed/v1/reports", nil, &all); len(all) != 1 || all[0].User != "alice" || all[0].At != "06:00" {
		t.Errorf("alice sees %+v", all)
	}
	all = nil
	if as(t, 0, d.Socket, "GET", "/fed/v1/reports", nil, &all); len(all) != 2 {
		t.Errorf("root sees %+v", all)
	}
	for uid, want := range map[uint32]*ledger.Scope{alice: {User: "alice"}, bob: {User: "bob", Accounts: []string{"physics"}}} {
		last.Store(new(ledger.SumQuery))
		if code := as(t, uid, d.Socket, "POST", "/fed/v1/report/weekly/run", nil, nil); code != 200 || last.Load().Within == nil || last.Load().Within.User != want.User || len(last.Load().Within.Accounts) != len(want.Accounts) {
			t.Errorf("uid %d, status %d: its report was of %+v", uid, code, last.Load().Within)
		}
	}
	// An operator who runs it gets it delivered to its owner, of what the owner may see.
	if code := as(t, 0, d.Socket, "POST", "/fed/v1/report/weekly/run?user=alice", nil, nil); code != 200 || last.Load().Within == nil || last.Load().Within.User != "alice" {
		t.Errorf("status %d, of %+v", code, last.Load().Within)
	}
	for _, c := range []struct{ method, path string }{{"POST", "/fed/v1/report/weekly/run?user=bob"}, {"DELETE", "/fed/v1/report/weekly?user=bob"}, {"DELETE", "/fed/v1/report/nothing"}} {
		if code := as(t, alice, d.Socket, c.method, c.path, nil, nil); code < 400 {
			t.Errorf("alice: %s %s is status %d", c.method, c.path, code)
		}
	}
	elsewhere := ours
	elsewhere.Mail = []string{"alice@example.org"}
	if code := as(t, alice, d.Socket, "POST", "/fed/v1/reports", elsewhere, nil); code < 400 {
		t.Error("mail is promised, and none can be sent")
	}
	// A uid that is another user's by now shows nothing.
	if _, err := d.Server.Report(t.Context(), &reports.Definition{Owner: "mallory", UID: alice}, report.Spec{Kind: "cost"}, time.Now()); err == nil {
		t.Error("a report of one user is made for another")
	}
	if table, err := d.Server.Report(t.Context(), &reports.Definition{Owner: "bob", UID: bob}, report.Spec{Kind: "budget"}, time.Now()); err != nil || len(table.Rows) != 2 {
		t.Errorf("bob's budgets: %+v, %v", table, err)
	}
	if code := as(t, alice, d.Socket, "DELETE", "/fed/v1/report/weekly", nil, nil); code != 200 {
		t.Errorf("status %d", code)
	}
}

// TestOwnedIsBounded: of what users add themselves each may have so many; one more is refused, and one that takes the place of another is not.
func TestOwnedIsBounded(t *testing.T) {
	d := startWith(t, api.Config{Reports: savedReports(t)})
	add := func(name string) (int, string) {
		var no v1.ErrorResponse
		code := as(t, alice, d.Socket, "POST", "/fed/v1/reports", v1.SavedReport{Name: name, Report: "usage", Format: "csv", By: []string{"user"}}, &no)
		return code, no.Error.Text
	}
	for i := range v1.SavedReports.Most {
		if code, text := add(fmt.Sprint("r", i)); code != 200 {
			t.Fatalf("%d: status %d, %s", i, code, text)
		}
	}
	if code, text := add("more"); code != 422 && code != 400 || text != "alice has 50 reports: a user may have 50; to remove one: fed report remove NAME" {
		t.Errorf("one more: status %d, %s", code, text)
	}
	if code, text := add("r7"); code != 200 {
		t.Errorf("in place of another: status %d, %s", code, text)
	}
	if code, text := add("../r7"); code == 200 || !strings.Contains(text, `invalid name "../r7"`) {
		t.Errorf("a name that is a path: status %d, %s", code, text)
	}
}
