package ledger

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/spending"
	"fsub/federation/store"
	"fsub/sbatch"
)

// Runs that go on add up to what the books say of them when they have ended then, whatever is asked for, but for their fate.
func TestOpenSumsAreThoseOfTheBooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st, err := store.Open(context.Background(), store.Config{Volatile: true})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
		var runs []spending.Run
		var entries []ledger.Entry
		for i := range rapid.IntRange(0, 12).Draw(t, "runs") {
			start := now.Add(-time.Duration(rapid.IntRange(0, 40*24*3600).Draw(t, "seconds")) * time.Second)
			r := spending.Run{Charge: federation.Charge{Job: federation.JobID(i + 1), Run: 1, Site: federation.SiteName(rapid.SampledFrom([]string{"alpha", "beta"}).Draw(t, "site")),
				User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), State: federation.Running, Start: start, End: now, From: federation.PriceTable,
				Held: federation.Held{Account: rapid.SampledFrom([]string{"", "physics"}).Draw(t, "account"), Partition: "main", TRES: rapid.SampledFrom([]string{"cpu=4", "cpu=8,mem=10G,node=2,gres/gpu:h100=2,gres/gpu=2"}).Draw(t, "tres"),
					PricePerHour: federation.Money(rapid.IntRange(0, 5_000_000).Draw(t, "price"))}},
				Spec: &sbatch.Spec{Name: rapid.SampledFrom([]string{"train-1", "train-2"}).Draw(t, "name")}, Submit: start.Add(-time.Minute)}
			r.Amount = r.PricePerHour.For(now.Sub(start))
			runs = append(runs, r)
			e, _, _ := entry(&r.Charge, &federation.Job{Spec: r.Spec, Submit: r.Submit})
			entries = append(entries, e)
		}
		if _, err := st.Book(context.Background(), entries, nil); err != nil {
			t.Fatal(err)
		}
		until := ledger.DayOf(now.Unix()) + 1
		q := ledger.SumQuery{From: until - int64(rapid.IntRange(1, 50).Draw(t, "days")), Until: until, Where: map[ledger.Dimension][]string{},
			By: rapid.Permutation(ledger.Dimensions).Draw(t, "by")[:rapid.IntRange(0, 3).Draw(t, "dimensions")], Every: rapid.SampledFrom([]ledger.Period{ledger.Altogether, ledger.Daily, ledger.Monthly}).Draw(t, "every")}
		if rapid.Bool().Draw(t, "where") {
			q.Where[ledger.BySite] = []string{"alpha"}
		}
		var sees func(user, account string) bool
		if rapid.Bool().Draw(t, "within") {
			q.Within = &ledger.Scope{User: "ann", Accounts: []string{"physics"}}
			sees = func(user, account string) bool { return user == "ann" || account == "physics" }
		}
		booked, err := st.BookedSums(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		got, want := totals(OpenSums(runs, &q, sees)), totals(booked)
		if !maps.Equal(got, want) {
			t.Fatalf("%+v\nwant %+v", got, want)
		}
	})
}

type totalOf struct {
	period int64
	values string
}

func totals(rows []ledger.SumRow) map[totalOf]ledger.Sums {
	out := map[totalOf]ledger.Sums{}
	for i := range rows {
		if r := &rows[i]; !r.Zero() {
			k := totalOf{r.Period, ""}
			for _, v := range slices.Clone(r.Values) {
				k.values += v + "\x00"
			}
			s := out[k]
			s.Add(&r.Sums, 1)
			out[k] = s
		}
	}
	return out
}
