package parquet_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	table "fsub/accounting/bill/parquet"
)

// FuzzOpen reads files that say they are Parquet: a row has a cell for each column, and none is larger than what the whole file can hold.
func FuzzOpen(f *testing.F) {
	at := time.Date(2026, 10, 2, 1, 0, 0, 0, time.UTC)
	for _, codec := range []parquet.WriterOption{parquet.Compression(&parquet.Uncompressed), parquet.Compression(&parquet.Snappy)} {
		var file bytes.Buffer
		w := parquet.NewGenericWriter[row](&file, codec)
		if _, err := w.Write([]row{{BilledCost: -25_000, EffectiveCost: 0.125, BillingCurrency: "USD", BillingPeriodStart: at, BillingPeriodEnd: at, ChargePeriodStart: at,
			ChargePeriodEnd: "x", ChargeCategory: "Usage", Tags: map[string]string{"team": "bio"}, ServiceName: "EC2"}}); err != nil {
			f.Fatal(err)
		}
		if err := w.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(file.Bytes())
	}
	f.Add([]byte("PAR1PAR1PAR1"))
	f.Fuzz(func(t *testing.T, file []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := table.Open(bytes.NewReader(file), int64(len(file)))
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 64<<20+1000*uint64(len(file)) {
			t.Fatalf("%d bytes made room for %d", len(file), after.TotalAlloc-before.TotalAlloc)
		}
		if err != nil {
			return
		}
		for range 1000 {
			cells, err := p.Next()
			if err != nil {
				if err != io.EOF && err.Error() == "" {
					t.Error("an error without words")
				}
				return
			}
			if len(cells) != len(p.Columns()) {
				t.Fatalf("%d cells of %d columns", len(cells), len(p.Columns()))
			}
			for i, c := range cells {
				if len(c) > 64<<10+100*len(file) {
					t.Fatalf("%d bytes in column %s of a file of %d", len(c), p.Columns()[i], len(file))
				}
			}
		}
	})
}
