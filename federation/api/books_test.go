package api_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/quota"
)

// sumsOf is a ledger that has one line, and keeps what it was asked last.
type sumsOf struct {
	ledger.Books
	asked *atomic.Pointer[ledger.SumQuery]
}

func (s sumsOf) BookedSums(_ context.Context, q ledger.SumQuery) ([]ledger.SumRow, error) {
	if s.asked != nil {
		s.asked.Store(&q)
	}
	row := ledger.SumRow{Period: 20_000, Fate: ledger.Lost, Sums: ledger.Sums{Runs: 1, GPU: 3600, Amount: 2 * accounting.Dollar}}
	for range q.By {
		row.Values = append(row.Values, "physics")
	}
	return []ledger.SumRow{row}, nil
}

func (s sumsOf) EachSum(ctx context.Context, q ledger.SumQuery, take func(*ledger.SumRow) error) error {
	all, err := s.BookedSums(ctx, q)
	for i := range all {
		if err == nil {
			err = take(&all[i])
		}
	}
	return err
}

// leads are coordinators, each of one account.
type leads map[string]string

func (l leads) CoordinatesAny(user string) bool       { return l[user] != "" }
func (l leads) Coordinates(user, account string) bool { return l[user] == account }

type unequal struct{}

func (unequal) Bills(context.Context) ([]v1.Bill, error) { return []v1.Bill{{Site: "sky"}}, nil }

func (unequal) ImportBill(_ context.Context, b *federation.Bill, _ bool, _ ...audit.Entry) (*v1.Bill, error) {
	return &v1.Bill{Site: b.Site, Machines: b.Lines[0].Amount}, nil
}

func (unequal) Check(_ context.Context, site federation.SiteName, from, until int64) (*v1.BooksCheck, error) {
	if site == "beta" {
		return nil, errors.New("slurmdbd is down")
	}
	return &v1.BooksCheck{Runs: int(until - from), Differences: []v1.BooksDifference{{With: "sacct", TRES: "cpu", Ours: 1}}}, nil
}

func standings() []quota.Standing {
	return []quota.Standing{{Key: accounts.AccountKey("physics"), Period: "month", Limit: 1000, Used: 10}, {Key: accounts.UserKey("physics", "alice"), Of: "gres/gpu", Period: "week", Limit: 60},
		{Key: accounts.AccountKey("vision"), Period: "year", Limit: 5}, {Key: accounts.QOSKey("high"), Period: "day", Limit: 5}}
}

// Budgets are seen by those whose they are, by coordinators of their accounts, and by operators.
func TestBudgets(t *testing.T) {
	d := startWith(t, api.Config{Books: sumsOf{}, Budgets: standings, Coordinators: leads{"bob": "physics"}})
	for uid, want := range map[uint32]string{0: "physics alice vision high", alice: "alice", bob: "physics alice"} {
		var all []v1.Budget
		if code := as(t, uid, d.Socket, "GET", "/fed/v1/books/budgets", nil, &all); code != 200 {
			t.Errorf("uid %d: status %d", uid, code)
		}
		var names []string
		for _, b := range all {
			names = append(names, b.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("uid %d sees %q, want %q", uid, got, want)
		}
	}
}

// A user asks for what is his own, operators for all; what makes no sense is refused in words.
func TestBookedSums(t *testing.T) {
	var last atomic.Pointer[ledger.SumQuery]
	d := startWith(t, api.Config{Books: sumsOf{asked: &last}, CheckBooks: unequal{}, Coordinators: leads{"bob": "physics"}})
	q := url.Values{"by": {"account,gpu"}, "every": {"month"}, "from": {"2026-01-15"}, "until": {"2026-03-01"}, "user": {"bob", "alice"}}
	c := client.New(d.Socket) // this process: an administrator
	defer c.Close()
	rows, err := c.BookedSums(t.Context(), q)
	if err != nil || len(rows) != 1 || rows[0].Fate != "lost" || rows[0].Sums().GPU != 3600 || rows[0].Amount != 2*accounting.Dollar {
		t.Fatalf("%+v, %v", rows, err)
	}
	asked := last.Load()
	if asked.From != 20468 || asked.Until != 20513 || !slices.Equal(asked.By, []ledger.Dimension{"account", "gpu"}) || asked.Every != ledger.Monthly ||
		!slices.Equal(asked.Where[ledger.ByUser], []string{"bob", "alice"}) || asked.Within != nil {
		t.Errorf("asked %+v", asked)
	}
	if code := as(t, alice, d.Socket, "GET", "/fed/v1/books/sums?by=account", nil, &rows); code != 200 || last.Load().Within == nil || last.Load().Within.User != "alice" || len(last.Load().Within.Accounts) > 0 {
		t.Errorf("alice asked %+v, status %d", last.Load().Within, code)
	}
	if code := as(t, bob, d.Socket, "GET", "/fed/v1/books/sums?by=account", nil, &rows); code != 200 || last.Load().Within == nil || last.Load().Within.User != "bob" ||
		!slices.Equal(last.Load().Within.Accounts, []string{"physics"}) {
		t.Errorf("bob, who coordinates physics, asked %+v, status %d", last.Load().Within, code)
	}
	for _, bad := range []url.Values{{"by": {"colour"}}, {"by": {"user,user"}}, {"every": {"hour"}}, {"from": {"x"}}, {"from": {"2026-02-01"}, "until": {"2026-02-01"}}} {
		if _, err := c.BookedSums(t.Context(), bad); !errors.Is(err, federation.ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	checks, err := c.CheckBooks(t.Context(), url.Values{"from": {"2026-01-15"}, "until": {"2026-01-17"}, "site": {"alpha", "beta"}})
	if err != nil || len(checks) != 2 || checks[0].Runs != 2 || checks[0].From != "2026-01-15" || checks[1].Error != "slurmdbd is down" {
		t.Errorf("%+v, %v", checks, err)
	}
	if code := as(t, alice, d.Socket, "POST", "/fed/v1/books/check", nil, nil); code == 200 {
		t.Error("alice compares the books")
	}
	if _, err := c.CheckBooks(t.Context(), url.Values{"from": {"2026-01-01"}, "until": {"2026-03-01"}}); !errors.Is(err, federation.ErrInvalid) {
		t.Errorf("two months at once: %v", err)
	}
}

// What a bill names its services by is kept: it is one line, and not a long one.
func TestBillsAreBounded(t *testing.T) {
	d := startWith(t, api.Config{Books: sumsOf{}, Bills: unequal{}})
	for what, change := range map[string]func(*v1.ImportBill){
		"format":  func(b *v1.ImportBill) { b.Format = strings.Repeat("x", 501) },
		"service": func(b *v1.ImportBill) { b.Lines[0].Service = "Disks\x1b[2J" },
		"":        func(*v1.ImportBill) {},
	} {
		bill := v1.ImportBill{Site: "sky", From: "2026-10-01", Until: "2026-11-01", Format: "FOCUS", Lines: []v1.BillLine{{Day: "2026-10-02", Service: "Disks", Amount: 1}}}
		want := 400
		if change(&bill); what == "" {
			want = 200
		}
		if code := as(t, 0, d.Socket, "POST", "/fed/v1/books/bills", bill, nil); code != want && (want == 200 || code/100 != 4) {
			t.Errorf("%s: status %d", what, code)
		}
	}
}

// Who is in an account sees how its budgets stand, for they bind his jobs; and budgets that were set just now are waited for.
func TestBudgetsOfMembers(t *testing.T) {
	a, _ := treeOfTwo(t)
	var asked atomic.Int64
	d := startWith(t, api.Config{Accounts: a, Coordinators: a.Books, Books: sumsOf{}, Budgets: standings, BudgetsStand: func() bool { return asked.Add(1) > 3 }})
	var all []v1.Budget
	as(t, alice, d.Socket, "GET", "/fed/v1/books/budgets", nil, &all)
	if len(all) != 2 || all[0].Name != "physics" || all[1].Name != "alice" {
		t.Errorf("alice of physics sees %+v", all)
	}
	if asked.Load() < 4 {
		t.Errorf("asked %d times whether the budgets are those of the tree", asked.Load())
	}
}
