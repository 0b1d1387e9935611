package bill_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/accounting/bill"
)

func mine(resource, tags string) bool { return strings.HasPrefix(resource, "i-0") }

func read(t *testing.T, text string, o bill.Options) ([]bill.Bill, error) {
	t.Helper()
	table, err := bill.CSV(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return bill.Read(table, o)
}

// lines are a bill's, by day and service; those of our machines are "".
func lines(b *bill.Bill) map[string]string {
	out := map[string]string{}
	for _, l := range b.Lines {
		key := time.Unix(l.Day*24*3600, 0).UTC().Format("01-02 ") + l.Service
		if _, twice := out[key]; twice {
			key += " again"
		}
		out[key] = l.Amount.String()
	}
	return out
}

func want(t *testing.T, got map[string]string, want map[string]string) {
	t.Helper()
	for key, amount := range want {
		if got[key] != amount {
			t.Errorf("%s: %q, want %q", key, got[key], amount)
		}
	}
}

// The effective cost counts: usage under a plan has a price, the purchase of the plan none. Amounts below a millionth are added up before they are rounded; what is
// charged for a month is spread over it.
func TestFocus(t *testing.T) {
	text, err := os.ReadFile("testdata/focus.csv")
	if err != nil {
		t.Fatal(err)
	}
	all, err := read(t, string(text), bill.Options{Mine: mine})
	if err != nil || len(all) != 1 || all[0].Rows != 8 || all[0].Format != "FOCUS" {
		t.Fatalf("%+v, %v", all, err)
	}
	b := &all[0]
	if b.From != 20727 || b.Until != 20758 || b.Told != time.Date(2026, 10, 3, 2, 0, 0, 0, time.UTC).Unix() {
		t.Errorf("days %d to %d, told until %s", b.From, b.Until, time.Unix(b.Told, 0).UTC())
	}
	want(t, lines(b), map[string]string{"10-02 ": "32.7726", "10-03 ": "24.343457", "09-30 ": "-2.5", "10-03 Amazon Simple Storage Service": "0.000001", "10-01 Tax": "1", "10-31 Tax": "1"})
	machines, others := b.Total()
	if machines != accounting.MoneyOf(54.616057) || others != accounting.MoneyOf(31.000001) {
		t.Errorf("%v and %v", machines, others)
	}
	if all, err = read(t, string(text), bill.Options{Mine: mine, Billed: true, Rate: 2}); err != nil {
		t.Fatal(err)
	}
	want(t, lines(&all[0]), map[string]string{"10-02 ": "32.7726", "10-03 ": "5.123457"})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(text)
	z.Close()
	if again, err := read(t, packed.String(), bill.Options{Mine: mine, Billed: true}); err != nil || fmt.Sprint(again) != fmt.Sprint(all) {
		t.Errorf("compressed: %v, %v", again, err)
	}
}

func TestOlderExports(t *testing.T) {
	for _, c := range []struct {
		format, text, from, until string
		amounts                   map[string]string
	}{
		{"AWS CUR", "identity/LineItemId,bill/BillingPeriodStartDate,bill/BillingPeriodEndDate,lineItem/LineItemType,lineItem/UsageStartDate,lineItem/UsageEndDate,lineItem/ProductCode,lineItem/ResourceId,lineItem/UnblendedCost,lineItem/CurrencyCode\n" +
			"a,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,Usage,2026-10-02T00:00:00Z,2026-10-02T01:00:00Z,AmazonEC2,i-0aa,3.5,USD\n" +
			"b,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,Usage,2026-10-02T00:00:00Z,2026-10-03T00:00:00Z,AmazonS3,bucket,1,USD\n",
			"2026-10-01", "2026-11-01", map[string]string{"10-02 ": "3.5", "10-02 AmazonS3": "1"}},
		{"AWS CUR", "bill_billing_period_start_date,bill_billing_period_end_date,line_item_line_item_type,line_item_usage_start_date,line_item_usage_end_date,line_item_product_code,line_item_resource_id,line_item_unblended_cost,line_item_currency_code\n" +
			"2026-10-01 00:00:00,2026-11-01 00:00:00,Usage,2026-10-02 00:00:00,2026-10-02 01:00:00,AmazonEC2,i-0aa,3.5,USD\n",
			"2026-10-01", "2026-11-01", map[string]string{"10-02 ": "3.5"}},
		{"Google Cloud", "service.description,usage_start_time,usage_end_time,cost,currency,invoice.month,cost_type,resource.name\n" +
			"Compute Engine,2026-10-31 23:00:00 UTC,2026-11-01 00:00:00 UTC,8,USD,202611,regular,i-0aa\n" + // its months are those of California
			"Cloud Storage,2026-11-02 00:00:00 UTC,2026-11-02 01:00:00 UTC,0.25,USD,202611,regular,\n",
			"2026-11-01", "2026-12-01", map[string]string{"10-31 ": "8", "11-02 Cloud Storage": "0.25"}},
		{"Azure", "\ufeffBillingPeriodStartDate,BillingPeriodEndDate,Date,MeterCategory,CostInBillingCurrency,BillingCurrency,ChargeType,ResourceId,Tags\n" +
			"10/01/2026,10/31/2026,10/02/2026,Virtual Machines,4.25,USD,Usage,i-0aa,\n",
			"2026-10-01", "2026-11-01", map[string]string{"10-02 ": "4.25"}},
	} {
		all, err := read(t, c.text, bill.Options{Mine: mine})
		if err != nil || len(all) != 1 || all[0].Format != c.format {
			t.Errorf("%s: %+v, %v", c.format, all, err)
			continue
		}
		day := func(d int64) string { return time.Unix(d*24*3600, 0).UTC().Format(time.DateOnly) }
		if b := &all[0]; day(b.From) != c.from || day(b.Until) != c.until {
			t.Errorf("%s: %s to %s", c.format, day(b.From), day(b.Until))
		}
		want(t, lines(&all[0]), c.amounts)
	}
}

// Files that cannot be read are refused with the row and the reason.
func TestRefused(t *testing.T) {
	head := "BilledCost,EffectiveCost,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,ChargePeriodEnd,ChargeCategory\n"
	const period = "2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,"
	for text, want := range map[string]string{
		head + "1,x,USD," + period + "2026-10-02T00:00:00Z,2026-10-02T01:00:00Z,Usage\n":   `row 2: invalid amount "x"`,
		head + "1,1/3,USD," + period + "2026-10-02T00:00:00Z,2026-10-02T01:00:00Z,Usage\n": `invalid amount "1/3"`,
		head + "1,1e9999999,USD," + period + "2026-10-02T00:00:00Z,2026-10-02T01:00:00Z,U": `invalid amount`,
		head + "1,1,EUR," + period + "2026-10-02T00:00:00Z,2026-10-02T01:00:00Z,Usage\n":   `in EUR: say what one is in dollars with --rate`,
		head + "1,1,USD," + period + "2026-10-02T00:00:00Z,2026-10-01T01:00:00Z,Usage\n":   `before it begins`,
		head + "1,1,USD," + period + "1926-10-02T00:00:00Z,2026-10-01T01:00:00Z,Usage\n":   `invalid time`,
		head + "1,1,USD\n": "wrong number of fields",
	} {
		if _, err := read(t, text, bill.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text[len(head):], err, want)
		}
	}
	if _, err := read(t, "a,b\n1,2\n", bill.Options{}); !errors.Is(err, bill.ErrNoBill) {
		t.Error(err)
	}
	if _, err := bill.CSV(strings.NewReader("")); err == nil {
		t.Error("an empty file is a bill")
	}
}
