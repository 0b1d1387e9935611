package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/plain"
)

// Biller takes the bills of providers into the ledger.
type Biller interface {
	ImportBill(ctx context.Context, b *federation.Bill, reopen bool, entries ...audit.Entry) (*v1.Bill, error)
	Bills(ctx context.Context) ([]v1.Bill, error)
}

// Bills is GET /fed/v1/books/bills.
func (b *books) Bills(ctx context.Context, _ identity.Caller, _ v1.None) ([]v1.Bill, error) {
	if b.Biller == nil {
		return nil, &federation.SlurmError{Kind: federation.ErrNotFound, Text: "this daemon keeps no ledger", Alone: true}
	}
	all, err := b.Biller.Bills(ctx)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	return append([]v1.Bill{}, all...), nil
}

// Import is POST /fed/v1/books/bills.
func (b *books) Import(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	if b.Biller == nil {
		return &federation.SlurmError{Kind: federation.ErrNotFound, Text: "this daemon keeps no ledger", Alone: true}
	}
	var in v1.ImportBill
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<20)).Decode(&in); err != nil {
		return invalid("the request cannot be read: %v", err)
	}
	bill := &federation.Bill{Site: in.Site, Told: in.Told, Closed: in.Closed, Format: in.Format, Rows: in.Rows, By: c.Name, At: b.Now().Unix()}
	err := plain.Check("format", in.Format, plain.MaxReason)
	for i := 0; err == nil && i < len(in.Lines); i++ {
		err = plain.Check("service", in.Lines[i].Service, plain.MaxReason)
	}
	if err != nil {
		return invalid("%v", err)
	}
	if bill.From, err = dayOf(in.From); err != nil {
		return err
	}
	if bill.Until, err = dayOf(in.Until); err != nil {
		return err
	}
	for _, l := range in.Lines {
		d, err := dayOf(l.Day)
		if err != nil {
			return err
		}
		bill.Lines = append(bill.Lines, federation.BillLine{Day: d, Service: l.Service, Amount: l.Amount})
	}
	done, err := b.Biller.ImportBill(r.Context(), bill, in.Reopen, audit.Entry{At: b.Now(), Who: answer.By(c), Verb: "import-bill", Kind: audit.Site, Object: string(in.Site),
		After: in.Format + " of " + in.From})
	if err != nil {
		return invalid("%v", err)
	}
	return answer.JSON(w, done)
}

func dayOf(text string) (int64, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, invalid("invalid day %q: want YYYY-MM-DD", text)
	}
	return ledger.DayOf(t.Unix()), nil
}
