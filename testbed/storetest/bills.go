package storetest

import "fsub/federation"

// testBills: a bill takes the place of that of the same site and period, and of no other.
func testBills(e *env) {
	p := e.open()
	a, b, c := filled[federation.Bill](1), filled[federation.Bill](2), filled[federation.Bill](3)
	a.Site, b.Site, c.Site = "sky", "sky", "other"
	a.From, b.From = 100, 131
	for _, bill := range []*federation.Bill{&b, &a, &c} {
		e.must(p.PutBill(ctx, bill))
	}
	a.Lines, a.Closed = append(a.Lines, federation.BillLine{Day: 101, Service: "disk", Amount: -5}), !a.Closed
	e.must(p.PutBill(ctx, &a))
	got, err := p.Bills(ctx, "sky")
	e.must(err)
	e.same("bills of a site", got, []federation.Bill{a, b})
	got, err = p.Bills(ctx, "")
	e.must(err)
	e.same("bills of all sites", got, []federation.Bill{c, a, b})
}
