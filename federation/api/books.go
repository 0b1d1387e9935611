package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"fsub/accounting/ledger"
	"fsub/accounting/report"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/closing"
	"fsub/federation/quota"
	"fsub/federation/share"
)

// Checker compares the ledger with the accounting of sites, for UTC days since 1970 from the first until before the last.
type BookChecker interface {
	Check(ctx context.Context, site federation.SiteName, from, until int64) (*v1.BooksCheck, error)
}

// books answers for the ledger: its sums, for those who may see them, and its comparison with sites.
type books struct {
	Books  ledger.Books // nil: there is no ledger
	Check  BookChecker  // nil: sites are not asked
	Biller Biller       // nil: bills are not taken
	// Open adds up the runs that go on, of those that sees says, as the ledger adds up what has ended; nil: that is not known here.
	Open func(ctx context.Context, q *ledger.SumQuery, sees func(user, account string) bool) ([]ledger.SumRow, error)
	// Budgets tells how the budgets of the account tree stand; nil: there are none.
	Budgets func() []quota.Standing
	// Stand reports whether those are of the tree as it is now; nil: they are. Wake has them looked at.
	Stand func() bool
	Wake  func()
	Tree  func() *accounts.Tree // nil: there is none
	// Closed are the accounts that are closed at sites.
	Closed func(context.Context) ([]closing.Closed, error)
	Sites  func() []*federation.Site
	Now    func() time.Time
}

func invalid(format string, args ...any) error {
	return &federation.SlurmError{Kind: federation.ErrInvalid, Text: fmt.Sprintf(format, args...), Alone: true}
}

// span reads the days from and until of a query; without them they are those of this month until today.
func (b *books) span(q *v1.Days) (from, until int64, err error) {
	today := ledger.DayOf(b.Now().Unix())
	from, until = ledger.FirstDay(ledger.MonthOf(today)), today+1
	for key, into := range map[string]*int64{"from": &from, "until": &until} {
		text := q.From
		if key == "until" {
			text = q.Until
		}
		if text != "" {
			t, err := time.Parse(time.DateOnly, text)
			if err != nil {
				return 0, 0, invalid("invalid day %s %q: want YYYY-MM-DD", key, text)
			}
			*into = ledger.DayOf(t.Unix())
		}
	}
	if from >= until {
		return 0, 0, invalid("no day lies from %s until before %s", dayText(from), dayText(until))
	}
	return from, until, nil
}

func dayText(day int64) string { return time.Unix(day*24*3600, 0).UTC().Format(time.DateOnly) }

func monthText(month int64) string { return fmt.Sprintf("%04d-%02d", month/12, month%12+1) }

// Sums is GET /fed/v1/books/sums. A user sees what is his own, and what is of the accounts that he coordinates; operators see all. The answer is
// written as it is read: three years by day and user are half a million lines.
func (b *books) Sums(w http.ResponseWriter, r *http.Request, c identity.Caller, q v1.SumQuery) error {
	out := bufio.NewWriterSize(w, 64<<10)
	begun, next := false, byte('[')
	err := b.each(r.Context(), &q, c, func(s *v1.BookedSum) error {
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if begun = begun || out.Available() <= len(text); begun {
			w.Header().Set("Content-Type", "application/json")
		}
		out.WriteByte(next)
		next = ','
		_, err = out.Write(text)
		return err
	})
	switch {
	case err != nil && begun: // too late for another answer
		panic(http.ErrAbortHandler)
	case err != nil:
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	if next == '[' {
		out.WriteByte(next)
	}
	out.WriteString("]\n")
	out.Flush()
	return nil
}

// Report makes a report of what a caller may see, as of a time.
func (b *books) Report(ctx context.Context, c identity.Caller, spec report.Spec, at time.Time) (*report.Table, error) {
	if spec.Kind == "budget" {
		var all []report.Budget
		budgets, err := b.budgets(ctx, c)
		if err != nil {
			return nil, err
		}
		for i := range budgets {
			all = append(all, budgets[i].Report())
		}
		return report.Budgets(at, all), nil
	}
	q, ask, err := spec.Ask(at)
	if err != nil {
		return nil, err
	}
	m, err := report.NewMaker(q)
	if err != nil {
		return nil, err
	}
	var sums v1.SumQuery
	if err := v1.ReadQuery(ask, &sums); err != nil {
		return nil, err
	}
	if err := b.each(ctx, &sums, c, func(s *v1.BookedSum) error {
		l := s.Line()
		m.Add(&l)
		return nil
	}); err != nil {
		return nil, err
	}
	return m.Table(), nil
}

// each calls take with what a caller may see of what a query asks for.
func (b *books) each(ctx context.Context, q *v1.SumQuery, c identity.Caller, take func(*v1.BookedSum) error) error {
	if b.Books == nil {
		return &federation.SlurmError{Kind: federation.ErrNotFound, Text: "this daemon keeps no ledger", Alone: true}
	}
	s, err := b.question(q)
	if err != nil {
		return err
	}
	if s.Within, err = b.scope(ctx, s, c); err != nil {
		return err
	}
	each := func(row *ledger.SumRow) error {
		if row.Sums.Zero() {
			return nil
		}
		one := v1.BookedSumOf(&row.Sums)
		one.Values, one.Fate = row.Values, row.Fate.String()
		switch s.Every {
		case ledger.Daily:
			one.Period = dayText(row.Period)
		case ledger.Monthly:
			one.Period = monthText(row.Period)
		}
		return take(&one)
	}
	if err := b.Books.EachSum(ctx, *s, each); err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	if !q.Running || b.Open == nil {
		return nil
	}
	open, err := b.Open(ctx, s, func(user, account string) bool {
		return c.Role >= identity.RoleOperator || user != "" && user == c.Name || c.Coordinates(account)
	})
	for i := 0; i < len(open) && err == nil; i++ {
		err = each(&open[i])
	}
	return err
}

// question reads a query.
func (b *books) question(q *v1.SumQuery) (*ledger.SumQuery, error) {
	s := &ledger.SumQuery{Where: map[ledger.Dimension][]string{}}
	var err error
	if s.From, s.Until, err = b.span(&q.Days); err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(q.By, ",") {
		if name == "" {
			continue
		}
		d := ledger.Dimension(name)
		if name == "job" {
			return nil, invalid(`invalid --by "job": reports add up many jobs; what each has cost: sacct -X -S DATE -o JobID,JobName,Cost, or fed job list --columns jobid,name,cost`)
		}
		if !slices.Contains(ledger.Dimensions, d) || slices.Contains(s.By, d) {
			return nil, invalid("invalid --by %q: want %s, each once", name, strings.Join(report.Dimensions, ", "))
		}
		s.By = append(s.By, d)
	}
	for name := range strings.SplitSeq(q.Sums, ",") {
		if name == "" {
			continue
		}
		i := slices.Index(ledger.SumNames, name)
		if i < 0 {
			return nil, invalid("invalid sum %q: want %s", name, strings.Join(ledger.SumNames, ", "))
		}
		s.Sums = append(s.Sums, i)
	}
	switch s.Every = ledger.Period(q.Every); s.Every {
	case ledger.Altogether, ledger.Daily, ledger.Monthly:
	default:
		return nil, invalid("invalid period %q: want day or month", s.Every)
	}
	only := v1.URLQuery(q)
	for _, d := range ledger.Dimensions {
		if values, ok := only[string(d)]; ok {
			s.Where[d] = values
		}
	}
	return s, nil
}

// scope is what c may see of what is asked for.
func (b *books) scope(ctx context.Context, q *ledger.SumQuery, c identity.Caller) (*ledger.Scope, error) {
	if c.Role >= identity.RoleOperator {
		return nil, nil
	}
	accounts, err := b.Books.BookedSums(ctx, ledger.SumQuery{From: q.From, Until: q.Until, By: []ledger.Dimension{ledger.ByAccount}})
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	s := &ledger.Scope{User: c.Name}
	for i := range accounts {
		if a := accounts[i].Values[0]; a != "" && !slices.Contains(s.Accounts, a) && c.Coordinates(a) {
			s.Accounts = append(s.Accounts, a)
		}
	}
	return s, nil
}

// mostDays bounds how much a site is asked for at once.
const mostDays = 31

// Compare is POST /fed/v1/books/check. The query chooses the days and the sites; without sites, all that keep accounts.
func (b *books) Compare(r *http.Request, _ identity.Caller, q v1.CheckQuery) ([]v1.BooksCheck, error) {
	if b.Check == nil {
		return nil, &federation.SlurmError{Kind: federation.ErrNotFound, Text: "this daemon keeps no ledger", Alone: true}
	}
	from, until, err := b.span(&q.Days)
	if err != nil {
		return nil, err
	}
	if until-from > mostDays {
		return nil, invalid("%d days are asked for: want at most %d at once", until-from, mostDays)
	}
	names := q.Site
	all := len(names) == 0
	if all {
		for _, s := range b.Sites() {
			names = append(names, string(s.Name))
		}
	}
	out := []v1.BooksCheck{}
	for _, name := range names {
		again := share.Idle(r.Context())
		one, err := b.Check.Check(r.Context(), federation.SiteName(name), from, until)
		again()
		if err != nil {
			if one = (&v1.BooksCheck{Site: federation.SiteName(name), Error: err.Error()}); all && errors.Is(err, federation.ErrInvalid) {
				one.Error, one.Skipped = "", err.Error()
			}
		}
		if one.Differences == nil {
			one.Differences = []v1.BooksDifference{}
		}
		one.From, one.Until = dayText(from), dayText(until)
		out = append(out, *one)
	}
	return out, nil
}
