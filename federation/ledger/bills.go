package ledger

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/audit"
)

// Settlement is what a bill comes to beside what the books had estimated.
type Settlement struct {
	federation.Bill
	Machines, Others federation.Money // what is billed: for the machines of the site's pools, and for other services
	// SettledUntil is the day after the last that is settled. The days after it are not billed in full yet: their estimate stands.
	SettledUntil int64
	Billed       federation.Money // of Machines, what is billed for the days that are settled
	Estimated    federation.Money // what charges and machines without jobs came to on those days
}

const settleEvery = time.Hour // since charges of a day that is billed may still come

// ImportBill keeps a bill in place of that of the same period, and books it. A period that is closed is changed only if reopen is set: ErrConflict.
func (c *Collector) ImportBill(ctx context.Context, b *federation.Bill, reopen bool, audit ...audit.Entry) (*Settlement, error) {
	if c.reader(b.Site) == nil {
		return nil, fmt.Errorf("%w: there is no site %s", federation.ErrNotFound, b.Site)
	}
	if b.From >= b.Until || b.Until-b.From > 366 {
		return nil, fmt.Errorf("%w: a billing period of %d days", federation.ErrInvalid, b.Until-b.From)
	}
	all, err := c.BillStore.Bills(ctx, b.Site)
	if err != nil {
		return nil, err
	}
	for i := range all {
		switch o := &all[i]; {
		case o.From == b.From && o.Until == b.Until && o.Closed && !reopen:
			return nil, fmt.Errorf("%w: the period from %s is closed: --reopen replaces it all the same", federation.ErrConflict, dayText(o.From))
		case (o.From != b.From || o.Until != b.Until) && o.From < b.Until && b.From < o.Until:
			return nil, fmt.Errorf("%w: the period from %s overlaps one from %s that is imported", federation.ErrConflict, dayText(b.From), dayText(o.From))
		}
	}
	if err := c.BillStore.PutBill(ctx, b, audit...); err != nil {
		return nil, err
	}
	done, err := c.settle(ctx, b.Site)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(done, func(s Settlement) bool { return s.From == b.From && s.Until == b.Until })
	return &done[i], nil
}

// Settlements are those of all bills. It books nothing.
func (c *Collector) Settlements(ctx context.Context) (out []Settlement, err error) {
	for _, name := range c.siteNames() {
		bills, err := c.BillStore.Bills(ctx, name)
		if err != nil {
			return nil, err
		}
		estimates, err := c.estimates(ctx, name, bills)
		if err != nil {
			return nil, err
		}
		for i := range bills {
			out = append(out, settlement(&bills[i], estimates))
		}
	}
	return out, nil
}

// Settle books the bills of all sites anew: what the books estimated of their days may have changed.
func (c *Collector) Settle(ctx context.Context) error {
	for _, name := range c.siteNames() {
		if _, err := c.settle(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// settling has one settlement at a time, each at a time of its own: of two the later counts.
type settling struct {
	sync.Mutex
	at int64 // Unix milliseconds
}

// settledUntil is the first day that a bill does not settle: while a period is open, the newest day of which it tells may lack hours.
func settledUntil(b *federation.Bill) int64 {
	if b.Closed {
		return b.Until
	}
	return max(b.From, min(b.Until, ledger.DayOf(b.Told)-1))
}

// billed names a line of the books: what is billed on a day for machines (""), beyond what was estimated, or for a service.
type billed struct {
	day     int64
	service string
}

// settle books, for each day that is billed in full, what the bill says beyond the estimate: charges and machines without jobs stay as they are, so that who
// used what does not change, and with the difference the books come to what is paid. What is billed for other services is booked whole.
func (c *Collector) settle(ctx context.Context, name federation.SiteName) ([]Settlement, error) {
	c.bills.Lock()
	defer c.bills.Unlock()
	c.bills.at = max(c.bills.at+1, c.Now().UnixMilli())
	bills, err := c.BillStore.Bills(ctx, name)
	if err != nil || len(bills) == 0 {
		return nil, err
	}
	estimates, err := c.estimates(ctx, name, bills)
	if err != nil {
		return nil, err
	}
	want := map[billed]federation.Money{}
	var out []Settlement
	for i := range bills {
		b := &bills[i]
		until := settledUntil(b)
		for _, l := range b.Lines {
			if l.Day >= until && l.Day < b.Until && l.Service == "" {
				continue // not all of that day is billed yet
			}
			want[billed{l.Day, l.Service}] += l.Amount
		}
		for d := b.From; d < until; d++ {
			want[billed{d, ""}] -= estimates[d]
		}
		out = append(out, settlement(b, estimates))
	}
	have, err := c.bookedBills(ctx, name, want)
	if err != nil {
		return nil, err
	}
	var entries []ledger.Entry
	for k, amount := range want {
		if have[k] != amount {
			entries = append(entries, c.billEntry(name, k, amount))
		}
	}
	for k, amount := range have {
		if _, ok := want[k]; !ok && amount != 0 { // a later bill lacks it
			entries = append(entries, c.billEntry(name, k, 0))
		}
	}
	_, err = c.Books.Book(ctx, entries, nil)
	return out, err
}

func settlement(b *federation.Bill, estimates map[int64]federation.Money) Settlement {
	s := Settlement{Bill: *b, SettledUntil: settledUntil(b)}
	for _, l := range b.Lines {
		switch {
		case l.Service != "":
			s.Others += l.Amount
			continue
		case l.Day < s.SettledUntil || l.Day >= b.Until:
			s.Billed += l.Amount
		}
		s.Machines += l.Amount
	}
	for d := b.From; d < s.SettledUntil; d++ {
		s.Estimated += estimates[d]
	}
	return s
}

// estimates is what the books have of a site by day without its bills.
func (c *Collector) estimates(ctx context.Context, name federation.SiteName, bills []federation.Bill) (map[int64]federation.Money, error) {
	out := map[int64]federation.Money{}
	if len(bills) == 0 {
		return out, nil
	}
	q := ledger.SumQuery{From: bills[0].From, Every: ledger.Daily, Where: map[ledger.Dimension][]string{ledger.BySite: {string(name)}}}
	for i := range bills {
		q.Until = max(q.Until, bills[i].Until)
	}
	rows, err := c.Books.BookedSums(ctx, q)
	for i := range rows {
		if rows[i].Fate != ledger.Settled {
			out[rows[i].Period] += rows[i].Amount
		}
	}
	return out, err
}

// bookedBills is what the books have of a site's bills, in the days of want and in those of bills before.
func (c *Collector) bookedBills(ctx context.Context, name federation.SiteName, want map[billed]federation.Money) (map[billed]federation.Money, error) {
	from, until := int64(1<<40), int64(0)
	for k := range want {
		from, until = min(from, k.day), max(until, k.day+1)
	}
	have := map[billed]federation.Money{}
	rows, err := c.Books.BookedSums(ctx, ledger.SumQuery{From: min(from, until) - 366, Until: until + 366, Every: ledger.Daily, By: []ledger.Dimension{ledger.ByName, ledger.ByQOS},
		Where: map[ledger.Dimension][]string{ledger.BySite: {string(name)}, ledger.ByQOS: {billQOS}}})
	for i := range rows {
		if k := (billed{rows[i].Period, rows[i].Values[0]}); rows[i].Fate == ledger.Settled {
			if k.service == differenceName {
				k.service = ""
			}
			have[k] += rows[i].Amount
		}
	}
	return have, err
}

// What reports call the lines of bills.
const (
	billQOS        = "(bill)"
	differenceName = "difference from the estimate"
)

func (c *Collector) billEntry(name federation.SiteName, k billed, amount federation.Money) ledger.Entry {
	h := fnv.New64a()
	h.Write([]byte(k.service))
	at := k.day * day
	return ledger.Entry{ID: ledger.ID{Site: string(name), Kind: ledger.Billed, Job: int64(h.Sum64() >> 1), At: at}, Source: ledger.FromBill, ReadAt: c.bills.at,
		Group: ledger.Group{Site: string(name), QOS: billQOS, Name: cmp.Or(k.service, differenceName)}, State: "billed", Start: at, End: at + day,
		CPUUsed: -1, GPUUsed: -1, Amount: amount, Fate: ledger.Settled}
}

func dayText(d int64) string { return time.Unix(d*day, 0).UTC().Format(time.DateOnly) }
