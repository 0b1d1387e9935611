package daemon

import (
	"context"
	"log/slog"
	"time"

	books "fsub/accounting/ledger"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/controller"
	"fsub/federation/driver"
	"fsub/federation/ledger"
	"fsub/federation/store"
)

// newLedger keeps the ledger from charges and from the accounting of the sites that have one.
func newLedger(c *config.Config, sites []controller.Site, st *store.Store, log *slog.Logger) *ledger.Collector {
	var all []ledger.Site
	report := map[federation.SiteName][]string{}
	for i := range c.Sites {
		report[c.Sites[i].Name] = c.Sites[i].ReportCommand
	}
	for i := range sites {
		all = append(all, ledgerSite(c, &sites[i], report[sites[i].Name]))
	}
	return ledger.New(ledger.Config{Store: st, Books: st, Sites: all, Rented: newPoolBooks(sites, st, log), BillStore: st, Logger: log, History: c.Books.History})
}

// ledgerSite is a site as the ledger is told of it. report is its command in the place of sreport, if it has one.
func ledgerSite(c *config.Config, s *controller.Site, report []string) ledger.Site {
	site := ledger.Site{Name: s.Name, Prices: s.Prices, Users: s.Users, Report: report, Accounts: driver.AbilitiesOf(s.Driver).Accounts}
	if site.Unread = site.Accounts != nil && !c.Books.Sites; site.Unread {
		site.Accounts = nil
	}
	return site
}

// checker tells the API what a check has found.
type checker struct{ *ledger.Collector }

func (c checker) Check(ctx context.Context, site federation.SiteName, from, until int64) (*v1.BooksCheck, error) {
	found, err := c.Collector.Check(ctx, site, from, until)
	if err != nil {
		return nil, err
	}
	out := &v1.BooksCheck{Site: site, Runs: found.Runs, Live: found.Live, OtherAccount: found.OtherAccount, Figures: found.Compared, ReportFigures: found.ReportCompared, Report: found.Report, Differences: []v1.BooksDifference{}}
	for _, d := range found.Differences {
		out.Differences = append(out.Differences, v1.BooksDifference(d))
	}
	return out, nil
}

// ImportBill tells the API what an import came to.
func (c checker) ImportBill(ctx context.Context, b *federation.Bill, reopen bool, entries ...audit.Entry) (*v1.Bill, error) {
	done, err := c.Collector.ImportBill(ctx, b, reopen, entries...)
	if err != nil {
		return nil, err
	}
	out := billOf(done)
	return &out, nil
}

func (c checker) Bills(ctx context.Context) (out []v1.Bill, err error) {
	all, err := c.Settlements(ctx)
	for i := range all {
		out = append(out, billOf(&all[i]))
	}
	return out, err
}

func billOf(s *ledger.Settlement) v1.Bill {
	day := func(d int64) string { return time.Unix(d*24*3600, 0).UTC().Format(time.DateOnly) }
	return v1.Bill{Site: s.Site, From: day(s.From), Until: day(s.Until), Closed: s.Closed, Format: s.Format, Rows: s.Rows, By: s.By, At: s.At, Machines: s.Machines, Others: s.Others,
		SettledUntil: day(s.SettledUntil), Billed: s.Billed, Estimated: s.Estimated}
}

// openSums adds up the runs that go on.
func (p *parts) openSums(ctx context.Context, q *books.SumQuery, sees func(user, account string) bool) ([]books.SumRow, error) {
	runs, err := p.ctl.Running(ctx)
	if err != nil {
		return nil, err
	}
	return ledger.OpenSums(runs, q, sees), nil
}
