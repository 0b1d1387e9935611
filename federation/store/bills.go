package store

import (
	"context"
	"encoding/json"
	"fmt"

	"fsub/federation"
	"fsub/federation/audit"
)

var _ federation.BillStore = (*Store)(nil)

const (
	billColumns = "site, from_day, until_day, told, closed, format, file_rows, imported_by, imported_at, lines"
	putBill     = "INSERT INTO bills (" + billColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (site, from_day, until_day) DO UPDATE SET " +
		"(told, closed, format, file_rows, imported_by, imported_at, lines) = ($4, $5, $6, $7, $8, $9, $10)"
	selectBills = "SELECT " + billColumns + " FROM bills WHERE site = $1 OR $1 = '' ORDER BY site, from_day, until_day"
)

// PutBill implements [federation.BillStore].
func (s *books) PutBill(ctx context.Context, b *federation.Bill, audit ...audit.Entry) error {
	lines, err := json.Marshal(b.Lines)
	if err != nil {
		return err
	}
	err = s.writer.submit(ctx, func(t *tx) error {
		if _, err := t.exec(putBill, string(b.Site), b.From, b.Until, b.Told, b.Closed, b.Format, int64(b.Rows), b.By, b.At, string(lines)); err != nil {
			return err
		}
		return t.audit(audit)
	})
	if err != nil {
		return fmt.Errorf("keep a bill of site %s: %w", b.Site, err)
	}
	return nil
}

// Bills implements [federation.BillStore].
func (s *books) Bills(ctx context.Context, site federation.SiteName) ([]federation.Bill, error) {
	all, err := query(ctx, s.readers, func(r *row) (b federation.Bill) {
		b.Site, b.From, b.Until, b.Told, b.Closed, b.Format = federation.SiteName(r.word()), r.int(), r.int(), r.int(), r.bool(), r.word()
		b.Rows, b.By, b.At = int(r.int()), r.word(), r.int()
		if err := json.Unmarshal([]byte(r.text()), &b.Lines); err != nil && r.err == nil {
			r.err = err
		}
		return b
	}, selectBills, string(site))
	if err != nil {
		return nil, fmt.Errorf("bills: %w", err)
	}
	return all, nil
}
