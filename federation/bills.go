package federation

import (
	"context"

	"fsub/federation/audit"
)

// Bill is what a provider bills for a site in one billing period, as it was imported last.
type Bill struct {
	Site SiteName
	// From and Until are the period's first UTC day and the one after its last, since 1970.
	From, Until int64
	Told        int64 // the Unix time until which it tells of usage
	Closed      bool  // the period is over, and the provider changes its bill no more
	Format      string
	Rows        int
	By          string // who imported it
	At          int64  // and when, in Unix seconds
	Lines       []BillLine
}

// BillLine is a part of a bill. Its day may lie outside the period: corrections come with a later bill.
type BillLine struct {
	Day     int64  // since 1970, UTC
	Service string // "": the machines of the site's pools
	Amount  Money
}

// BillStore keeps bills.
type BillStore interface {
	// PutBill keeps a bill in place of that of the same site and period.
	PutBill(ctx context.Context, b *Bill, audit ...audit.Entry) error
	// Bills returns those of a site, or all (""), by site and period.
	Bills(ctx context.Context, site SiteName) ([]Bill, error)
}
