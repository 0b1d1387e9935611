package bill_test

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"fsub/accounting"
	"fsub/accounting/bill"
)

// FuzzRead reads bills: what is taken adds up and lies in periods that there are, and an error names the row or what the file is.
func FuzzRead(f *testing.F) {
	focus, err := os.ReadFile("testdata/focus.csv")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(focus, false)
	f.Add(focus, true)
	f.Add([]byte("lineItem/UnblendedCost,lineItem/CurrencyCode,lineItem/UsageStartDate,lineItem/UsageEndDate,bill/BillingPeriodStartDate,bill/BillingPeriodEndDate\n"+
		"1e-3,EUR,2026-10-02T00:00:00Z,2026-10-02T01:00:00Z,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z\n"), false)
	f.Add([]byte("cost,currency,usage_start_time,usage_end_time,invoice.month\n2.5,USD,2026-10-02 00:00:00 UTC,2026-10-03 00:00:00 UTC,202610\n"), true)
	f.Add([]byte("Date,CostInBillingCurrency,BillingCurrency,ChargeType\n10/02/2026,3,USD,Usage\n"), true)
	f.Fuzz(func(t *testing.T, text []byte, billed bool) {
		table, err := bill.CSV(bytes.NewReader(text))
		if err != nil {
			return
		}
		all, err := bill.Read(table, bill.Options{Billed: billed, Rate: 1.25, Mine: mine})
		if err != nil {
			if said := err.Error(); !strings.Contains(said, "row ") && !strings.Contains(said, "bill") {
				t.Errorf("%v does not name the row", err)
			}
			return
		}
		rows := 0
		for i := range all {
			b := &all[i]
			if rows += b.Rows; b.From > b.Until || b.Rows < 1 {
				t.Errorf("%d rows from day %d until %d", b.Rows, b.From, b.Until)
			}
			for _, l := range b.Lines {
				if l.Amount == math.MaxInt64 || l.Amount == math.MinInt64 || l.Amount == 0 || l.Mine != (l.Service == "") {
					t.Errorf("day %d: %+v", l.Day, l)
				}
			}
			var sum accounting.Money
			mine, others := b.Total()
			for _, l := range b.Lines {
				sum += l.Amount
			}
			if mine+others != sum {
				t.Errorf("%v of ours and %v of others are not %v", mine, others, sum)
			}
		}
		if lines := bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("\r")); rows > lines+1 && !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
			t.Errorf("%d rows of %d lines", rows, lines)
		}
	})
}
