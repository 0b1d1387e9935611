package ledger_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/accounting"
	book "fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/journal"
	"fsub/federation/ledger"
	"fsub/federation/quota"
	"fsub/federation/store"
	"fsub/sbatch"
)

type treeBooks struct{ tree *accounts.Tree }

func (b treeBooks) Tree() *accounts.Tree { return b.tree }

// meanwhile does something after a Book has asked for the books, and before they are read.
type meanwhile struct {
	*ledger.Collector
	do func()
}

func (m *meanwhile) Spent(ctx context.Context, from int64, take func(*book.SumRow) error) (int64, func(*federation.Charge) bool, error) {
	if m.do != nil {
		m.do()
	}
	return m.Collector.Spent(ctx, from, take)
}

// TestBudgetsAreTheBooks: over random ledgers of the federation's runs, of runs that were submitted at sites and of idle machines, what budgets count of each account is what
// the books have of it and of those below it, to the millionth of a dollar: whenever they are read, and whatever is charged meanwhile.
func TestBudgetsAreTheBooks(t *testing.T) {
	below := map[string][]string{"lab": {"lab", "bio", "geo"}, "bio": {"bio"}, "geo": {"geo"}, "art": {"art"}}
	member := map[string]string{"bio": "alice", "geo": "bob", "art": "carol", "lab": "dora"}
	empty, err := accounts.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	add := func(k accounts.Key, parent string, set ...string) accounts.Edit {
		e := accounts.Edit{Op: accounts.Add, Key: k, Parent: parent, Set: map[string]string{}}
		for i := 0; i < len(set); i += 2 {
			e.Set[set[i]] = set[i+1]
		}
		return e
	}
	var edits []accounts.Edit
	for _, name := range []string{"lab", "bio", "geo", "art"} {
		parent := map[string]string{"bio": "lab", "geo": "lab"}[name]
		edits = append(edits, add(accounts.AccountKey(name), parent, "Budget", "1000000/quarter", "BudgetTRESMins", "gres/gpu=100000000/quarter"), add(accounts.UserKey(name, member[name]), ""))
	}
	tree, _, err := empty.Apply(edits, accounts.Editor{Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		s, err := store.Open(ctx, store.Config{Volatile: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		j := &federation.Job{Spec: &sbatch.Spec{Name: "train"}, User: "alice", UID: 1, Submit: now.AddDate(0, -4, 0)}
		if err := s.CreateJob(ctx, j, &sbatch.Payload{}); err != nil {
			t.Fatal(err)
		}
		books := &meanwhile{Collector: ledger.New(ledger.Config{Store: s, Books: s, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})}
		b := quota.New(treeBooks{tree}, 0)
		b.Booked.All = true
		r := quota.NewReader(b, books)
		var open []federation.Charge // that are not written yet
		number := 0
		span := func() (from, until time.Time) {
			until = now.Add(-time.Duration(rapid.Int64Range(0, 150*24*3600*1000).Draw(t, "ended")) * time.Millisecond)
			return until.Add(-time.Duration(rapid.Int64Range(1, 60*24*3600*1000).Draw(t, "lasted")) * time.Millisecond), until
		}
		commit := func() {
			if len(open) > 0 {
				if err := s.Commit(ctx, &journal.Batch{Charges: open}); err != nil {
					t.Fatal(err)
				}
			}
			open = nil
			b.Booked.Commit()
		}
		charge := func() {
			number++
			from, until := span()
			account := rapid.SampledFrom([]string{"lab", "bio", "geo", "art"}).Draw(t, "account")
			k := federation.Charge{Job: j.ID, Key: "k", Attempt: 1, Run: number, Site: "rhein", User: member[account], State: federation.Completed, Start: from, End: until, From: federation.PriceTable}
			k.Account, k.TRES, k.PricePerHour = account, "cpu=2,node=1,gres/gpu=3", accounting.Money(rapid.Int64Range(1, 90*int64(accounting.Dollar)).Draw(t, "price"))
			k.Amount = k.PricePerHour.For(until.Sub(from))
			b.Charge(&k)
			open = append(open, k)
		}
		other := func(kind book.Kind, fate book.Fate) {
			number++
			from, until := span()
			account := rapid.SampledFrom([]string{"lab", "bio", "geo", "art"}).Draw(t, "account")
			e := book.Entry{ID: book.ID{Site: "rhein", Kind: kind, Job: int64(number), At: from.Unix()}, Source: book.FromSite, ReadAt: 1, TRES: "cpu=1,gres/gpu=1", State: "COMPLETED", Start: from.Unix(),
				End: until.Unix(), CPUUsed: -1, GPUUsed: -1, PerHour: 3 * accounting.Dollar, Fate: fate, Group: book.Group{Site: "rhein", Account: account, User: member[account]}}
			if kind == book.Machine {
				e.Source, e.Amount = book.FromBill, accounting.Money(rapid.Int64Range(1, 90*int64(accounting.Dollar)).Draw(t, "idle"))
			}
			if _, err := books.Books.Book(ctx, []book.Entry{e}, nil); err != nil {
				t.Fatal(err)
			}
		}
		check := func() {
			if err := r.Read(ctx, now); err != nil {
				t.Fatal(err)
			}
			commit()
			books.do = nil
			if err := r.Read(ctx, now); err != nil {
				t.Fatal(err)
			}
			b.Levels(now, nil)
			for _, st := range b.Standings() {
				rows, err := s.BookedSums(ctx, book.SumQuery{From: st.Since.Unix() / 86400, Until: now.Unix()/86400 + 1, By: []book.Dimension{book.ByAccount}})
				if err != nil {
					t.Fatal(err)
				}
				want := 0.0
				for i := range rows {
					if !slices.Contains(below[st.Name], rows[i].Values[0]) {
						continue
					}
					if st.Of == "" {
						want += rows[i].Amount.Dollars()
					} else {
						want += float64(rows[i].GPU) / 60
					}
				}
				if math.Abs(want-st.Used) > 1e-6*math.Max(1, want*1e-3) {
					t.Fatalf("%s %s: the budget has %.6f, the books %.6f", st.Key, st.Of, st.Used, want)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"charge":  func(*rapid.T) { charge() },
			"written": func(*rapid.T) { commit() },
			"direct":  func(*rapid.T) { other(book.SiteJob, book.Productive) },
			"idle":    func(*rapid.T) { other(book.Machine, book.Unused) },
			"booked": func(*rapid.T) {
				if _, err := books.Charges(ctx); err != nil {
					t.Fatal(err)
				}
			},
			"read": func(*rapid.T) {
				if err := r.Read(ctx, now); err != nil {
					t.Fatal(err)
				}
				b.Levels(now, nil)
			},
			"compare": func(*rapid.T) { check() },
			"compare with a charge meanwhile": func(*rapid.T) {
				books.do = func() { charge(); commit() }
				check()
			},
		})
	})
}

// TestMeanwhileCountsOnce: a charge that is written while the books are read counts once at once: it would not wait for the next reading.
func TestMeanwhileCountsOnce(t *testing.T) {
	f := newFixture(t)
	j := &federation.Job{Spec: &sbatch.Spec{Name: "train"}, User: "alice", UID: 1, Submit: now.Add(-2 * time.Hour)}
	if err := f.store.CreateJob(t.Context(), j, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	empty, err := accounts.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	tree, _, err := empty.Apply([]accounts.Edit{{Op: accounts.Add, Key: accounts.AccountKey("bio"), Set: map[string]string{"Budget": "100/month"}}, {Op: accounts.Add, Key: accounts.UserKey("bio", "alice")}},
		accounts.Editor{Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	b := quota.New(treeBooks{tree}, 0)
	b.Booked.All = true
	n := 0
	charge := func() federation.Charge {
		n++
		k := federation.Charge{Job: j.ID, Key: "k", Attempt: 1, Run: n, Site: "rhein", User: "alice", State: federation.Completed, Start: now.Add(-time.Hour), End: now, From: federation.PriceTable}
		k.Account, k.TRES, k.PricePerHour, k.Amount = "bio", "cpu=2", accounting.Dollar, accounting.Dollar
		k.Task = n // a run that begins with others is another one
		k.Array = j.ID
		b.Charge(&k)
		return k
	}
	write := func(k federation.Charge) {
		if err := f.store.Commit(t.Context(), &journal.Batch{Charges: []federation.Charge{k}}); err != nil {
			t.Fatal(err)
		}
	}
	books := &meanwhile{Collector: f.books}
	r := quota.NewReader(b, books)
	used := func() string {
		b.Levels(now, nil)
		return fmt.Sprint(b.Standings()[0].Used)
	}
	write(charge())
	b.Booked.Commit()
	late := federation.Charge{}
	books.do = func() {
		write(charge()) // is read with the others
		late = charge() // is not written yet
	}
	if err := r.Read(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if got := used(); got != "3" {
		t.Errorf("%s dollars are used, want 3: one was charged before, one meanwhile, and one is not written yet", got)
	}
	write(late)
	b.Booked.Commit()
	books.do = nil
	if err := r.Read(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if got := used(); got != "3" {
		t.Errorf("%s dollars are used once all is booked, want 3", got)
	}
}
