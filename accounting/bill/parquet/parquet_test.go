package parquet_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"fsub/accounting/bill"
	table "fsub/accounting/bill/parquet"
)

// row is as Amazon and Microsoft write FOCUS: times, decimals, a map of tags.
type row struct {
	BilledCost         int64             `parquet:"BilledCost,decimal(4:18)"`
	EffectiveCost      float64           `parquet:"EffectiveCost"`
	BillingCurrency    string            `parquet:"BillingCurrency,dict"`
	BillingPeriodStart time.Time         `parquet:"BillingPeriodStart,timestamp(millisecond)"`
	BillingPeriodEnd   time.Time         `parquet:"BillingPeriodEnd,timestamp(microsecond)"`
	ChargePeriodStart  time.Time         `parquet:"ChargePeriodStart,timestamp(nanosecond)"`
	ChargePeriodEnd    string            `parquet:"ChargePeriodEnd"`
	ChargeCategory     string            `parquet:"ChargeCategory"`
	Tags               map[string]string `parquet:"Tags"`
	ServiceName        string            `parquet:"ServiceName,optional"`
	ResourceID         *string           `parquet:"ResourceId,optional"`
}

func TestFocus(t *testing.T) {
	var file bytes.Buffer
	w := parquet.NewGenericWriter[row](&file, parquet.Compression(&parquet.Zstd))
	name := "i-0aa"
	at := func(day, hour int) time.Time { return time.Date(2026, 10, day, hour, 0, 0, 0, time.UTC) }
	for i := range 200 {
		r := row{BilledCost: -25_000, EffectiveCost: 0.125, BillingCurrency: "USD", BillingPeriodStart: at(1, 0), BillingPeriodEnd: at(32, 0), ChargePeriodStart: at(2, i%24),
			ChargePeriodEnd: at(2, i%24+1).Format(time.RFC3339), ChargeCategory: "Usage", Tags: map[string]string{"team": "bio", "a": "b"}, ServiceName: "EC2"}
		if i%2 == 0 {
			r.ResourceID = &name
		}
		if _, err := w.Write([]row{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, billed := range []bool{false, true} {
		p, err := table.Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		all, err := bill.Read(p, bill.Options{Billed: billed, Mine: func(resource, tags string) bool {
			if !strings.Contains(tags, "team") || !strings.Contains(tags, "bio") {
				t.Fatalf("tags are %q", tags)
			}
			return resource == name
		}})
		if err != nil || len(all) != 1 || all[0].Rows != 200 {
			t.Fatalf("%+v, %v", all, err)
		}
		want := map[bool]string{false: "12.5", true: "-250"}[billed]
		if mine, others := all[0].Total(); mine.String() != want || others.String() != want || len(all[0].Lines) != 2 {
			t.Errorf("billed %v: %v, %v, want %s: %+v", billed, mine, others, want, all[0].Lines)
		}
	}
	if _, err := table.Open(strings.NewReader("PAR1PAR1PAR1"), 12); err == nil {
		t.Error("garbage was read")
	}
}
