package quota

import (
	"context"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/accounts"
)

// Books tell what was booked, whoever ran it.
type Books interface {
	// Spent books what was charged until now and calls take with the sums of the ledger by day, account, user, QOS and type of GPU, of the days from from on, or from an earlier one
	// if something was booked of it since the last call: that is first. among says whether a charge that was written meanwhile is in these sums; those that were written
	// before the call are.
	Spent(ctx context.Context, from int64, take func(*ledger.SumRow) error) (first int64, among func(*federation.Charge) bool, err error)
}

// booked is what the books have by account: runs of the federation and those that were submitted at a site itself, on the days on which they ran, and time of rented
// machines without a job. What was charged since and is not booked yet is added.
//
// It is read by a [Reader] in a goroutine of its own, and taken over by that of the Book. Charges are numbered, so that each counts once: those that were durable
// before the books were read are booked, and of later ones the books say it.
type booked struct {
	days map[accounts.Key]map[int64]*used

	read  int64 // the number of the last charge that was durable before it was read
	among func(*federation.Charge) bool
}

type numbered struct {
	n int64
	federation.Charge
}

// Booked is what a Book knows of the books, and what it has charged since it heard of them. All but Commit and what a [Reader] does is for the goroutine of the Book.
type Booked struct {
	// All has budgets count what is in the books, not only what the federation's own runs were charged, where their record does not say: BudgetCounts.
	All bool

	read    bool         // there is a Reader
	charged int64        // number of the last charge
	durable atomic.Int64 // the last that is written
	fresh   atomic.Pointer[booked]
	now     *booked
	waiting []numbered // charges since the books were read last
}

// Commit says that all that was charged so far is written.
func (f *Booked) Commit() { f.durable.Store(f.charged) }

// counts reports whether a record's budgets count all that is in the books.
func (f *Booked) counts(r *accounts.Record) bool {
	if f.now == nil || r == nil {
		return false
	}
	switch r.Set[accounts.BudgetCounts] {
	case accounts.CountsAll:
		return true
	case accounts.CountsOwn:
		return false
	}
	return f.All
}

// renew goes on with what was read of the books last, if that is new.
func (f *Booked) renew(t *accounts.Tree) {
	fresh := f.fresh.Swap(nil)
	if fresh == nil {
		return
	}
	f.now = fresh
	var left []numbered
	for i := range f.waiting {
		if k := &f.waiting[i]; k.n > fresh.read && !fresh.among(&k.Charge) {
			left = append(left, *k)
			f.now.add(t, &k.Charge)
		}
	}
	f.waiting = left
}

// note counts a charge that is not booked yet.
func (f *Booked) note(t *accounts.Tree, k *federation.Charge) {
	if !f.read {
		return
	}
	f.charged++
	f.waiting = append(f.waiting, numbered{f.charged, *k})
	if f.now != nil {
		f.now.add(t, k)
	}
}

// copied is what a copy of the Book knows, of some records.
func (f *Booked) copied(of func(accounts.Key) bool) *Booked {
	c := &Booked{All: f.All}
	if f.now != nil {
		c.now = &booked{days: map[accounts.Key]map[int64]*used{}}
		for k, days := range f.now.days {
			if of(k) {
				c.now.days[k] = copyDays(days)
			}
		}
	}
	return c
}

func (b *booked) add(t *accounts.Tree, k *federation.Charge) {
	keys, day := keysOf(t, k.User, k.Account, k.QOS), dayOf(k.End)
	for _, key := range keys { // what was read is not changed: the next reading may be made of it
		u := dayIn(b.days, key, day)
		b.days[key][day] = &used{maps.Clone(u.seconds), u.cost}
	}
	spendOn(b.days, keys, heldTRES(k.TRES), k.End.Sub(k.Start), k.Amount, day)
}

// daysFor are the days that count for a budget of a record.
func (b *Book) daysFor(k accounts.Key, budget *accounts.Bound) map[int64]*used {
	if b.Booked.counts(b.books.Tree().Get(k)) && isBooked(budget) {
		return b.Booked.now.days[k]
	}
	return b.days[k]
}

// isBooked reports whether the books sum up what a budget is about.
func isBooked(budget *accounts.Bound) bool {
	if budget.Limit.Measure == accounts.Money {
		return true
	}
	switch budget.TRES {
	case "cpu", "mem", "node", "billing", "gres/gpu", accounts.Wall:
		return true
	}
	return strings.HasPrefix(budget.TRES, "gres/gpu:")
}

// Reader reads the books for a Book, again and again. It is for one goroutine.
type Reader struct {
	book  *Book
	books Books

	of   *accounts.Tree // that old is of
	old  map[accounts.Key]map[int64]*used
	cut  int64     // the first day that is not in old
	next time.Time // when old is to be read again
	has  atomic.Bool
}

// HasRead reports whether the books were ever read. It may be called while the Reader is in use.
func (r *Reader) HasRead() bool { return r.has.Load() }

// NewReader returns what reads the books for b. It is to be made, and read once, before anything is charged.
func NewReader(b *Book, books Books) *Reader {
	b.Booked.read = true
	return &Reader{book: b, books: books}
}

// What was booked on days that are long over changes seldom: a site may be read late, or a bill.
const (
	recentDays = 3
	oldAgain   = time.Hour
	yearOf     = 400 // days, as a budget of a year may ask
)

// Read reads what was booked.
func (r *Reader) Read(ctx context.Context, now time.Time) error {
	tree, today := r.book.books.Tree(), dayOf(now)
	from, all := r.cut, r.old == nil || r.of != tree || !now.Before(r.next) || today-r.cut > 2*recentDays
	if all {
		from = today - yearOf
	}
	out := &booked{days: map[accounts.Key]map[int64]*used{}, read: r.book.Booked.durable.Load()}
	fresh := map[accounts.Key]map[int64]*used{}
	first, among, err := r.books.Spent(ctx, from, func(row *ledger.SumRow) error {
		account, user, qos, gpu := row.Values[0], row.Values[1], row.Values[2], row.Values[3]
		sums := secondsIn(&row.Sums, gpu)
		for _, k := range keysOf(tree, user, account, qos) {
			dayIn(fresh, k, row.Period).add(&used{seconds: sums, cost: row.Amount})
		}
		return nil
	})
	if err != nil {
		return err
	}
	out.among = among
	if all {
		r.of, r.cut, r.next, r.old = tree, today-recentDays+1, now.Add(oldAgain), map[accounts.Key]map[int64]*used{}
	}
	if first < r.cut {
		for _, days := range r.old {
			maps.DeleteFunc(days, func(d int64, _ *used) bool { return d >= first })
		}
		for k, days := range fresh {
			for d, u := range days {
				if d < r.cut {
					dayIn(r.old, k, d).add(u)
				}
			}
		}
	}
	for k, days := range r.old {
		out.days[k] = maps.Clone(days) // of these days none is changed
	}
	for k, days := range fresh {
		for d, u := range days {
			if d >= r.cut {
				dayIn(out.days, k, d).add(u)
			}
		}
	}
	r.book.Booked.fresh.Store(out)
	r.has.Store(true)
	return nil
}

func dayIn(all map[accounts.Key]map[int64]*used, k accounts.Key, day int64) *used {
	if all[k] == nil {
		all[k] = map[int64]*used{}
	}
	u := all[k][day]
	if u == nil {
		u = &used{seconds: accounting.TRES{}}
		all[k][day] = u
	}
	return u
}

// secondsIn is what sums of the books are of TRES.
func secondsIn(s *ledger.Sums, gpu string) accounting.TRES {
	t := accounting.TRES{"cpu": s.CPU, "mem": s.Mem, "node": s.Node, "billing": s.Billing, "gres/gpu": s.GPU, accounts.Wall: s.Wall}
	if gpu != "" && gpu != "gpu" {
		t["gres/gpu:"+gpu] = s.GPU
	}
	return t
}

func sumSince(days map[int64]*used, day int64) *used {
	sum := &used{seconds: accounting.TRES{}}
	for d, u := range days {
		if d >= day {
			sum.add(u)
		}
	}
	return sum
}
