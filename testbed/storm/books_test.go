package storm

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"fsub/accounting/bill"
	book "fsub/accounting/ledger"
	"fsub/cloud"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/ledger"
	"fsub/federation/store"
)

// books are the ledger of what a store has of rented machines and of the jobs on them.
type books struct {
	testing.TB
	*ledger.Collector
	store *store.Store
}

// rented tells of the machines in a store.
type rented struct{ *store.Store }

func (r rented) Machines(ctx context.Context, site federation.SiteName, since time.Time, limit int) (all []driver.Machine, err error) {
	records, err := r.PoolHistory(ctx, site, records.PoolMachine, since, limit)
	for i := range records {
		m, err := cloud.MachineOf(records[i], time.Now())
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, err
}

// booked is the ledger of all that a store has of some sites.
func booked(t testing.TB, st *store.Store, sites ...federation.SiteName) *books {
	t.Helper()
	cfg := ledger.Config{Store: st, Books: st, Logger: slog.New(slog.DiscardHandler), Rented: rented{st}, BillStore: st}
	for _, name := range sites {
		cfg.Sites = append(cfg.Sites, ledger.Site{Name: name})
	}
	b := &books{t, ledger.New(cfg), st}
	if _, err := b.Charges(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Machines(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// total is what the ledger has of a site.
func (b *books) total(site federation.SiteName) (sum federation.Money) {
	b.Helper()
	rows, err := b.store.BookedSums(b.Context(), book.SumQuery{Until: 1 << 20, Where: map[book.Dimension][]string{book.BySite: {string(site)}}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range rows {
		sum += rows[i].Amount
	}
	return sum
}

// take imports a provider's bill of a period that is over.
func (b *books) take(site federation.SiteName, t bill.Table, mine func(resource string) bool) {
	b.Helper()
	bills, err := bill.Read(t, bill.Options{Mine: func(resource, _ string) bool { return mine(resource) }})
	if err != nil {
		b.Fatal(err)
	}
	for _, one := range bills {
		in := federation.Bill{Site: site, From: one.From, Until: one.Until, Told: one.Told, Closed: true, Format: one.Format, Rows: one.Rows}
		for _, l := range one.Lines {
			if l.Mine {
				l.Service = ""
			}
			in.Lines = append(in.Lines, federation.BillLine{Day: l.Day, Service: l.Service, Amount: l.Amount})
		}
		if _, err := b.ImportBill(b.Context(), &in, false); err != nil {
			b.Fatal(err)
		}
	}
}
