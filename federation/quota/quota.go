// Package quota keeps jobs within the limits of the account tree: what may be held at once, what may be used, what may be spent in a day, month or
// year. A job that is bound reserves the most that it can come to, until its attempt is over and its charges are written: so a thousand jobs that are
// submitted at once cannot pass a limit together, nor can those at a site that does not answer. [Book] is pure; it is made again of charges and live
// attempts when the daemon starts.
package quota

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/fairshare"
	"fsub/federation/reasons"
)

// Want is what a job would hold, at most.
type Want struct {
	User, Account, QOS string // as the job names them
	// Payer is the account that it was bound to be charged to; "": the one that the tree says.
	Payer   string
	TRES    accounting.TRES
	Longest time.Duration // with what it takes to be killed; 0: nothing says when it ends
	// Expected is how long it is expected to run. It counts for what a job costs of which nothing says when it ends.
	Expected time.Duration
	Cost     federation.Money
	Since    time.Time // when it was bound
}

// Refusal is why a job has to wait.
type Refusal struct {
	Reason reasons.Reason // in Slurm's words
	Text   string
	limit  limit
}

// Public is what everybody may know of it, who sees the job: Text without what is spent of a budget.
func (r *Refusal) Public() string {
	if r.limit.Period == "" {
		return r.Text
	}
	return fmt.Sprintf("%s of %s does not suffice this %s: see fed explain", r.limit.Name, r.limit.set.Key, r.limit.Period)
}

// Book is what is used, and what is reserved. It is for one goroutine, but for [Book.Standings].
type Book struct {
	books    interface{ Tree() *accounts.Tree }
	halfLife time.Duration

	holds map[federation.JobID]hold
	held  map[accounts.Key]*held
	days  map[accounts.Key]map[int64]*used // by day since 1970, UTC: that in which runs have ended
	slow  map[accounts.Key]map[string]float64
	at    time.Time                        // of slow: TRES-seconds that count as used, times the UsageFactor of their QOS, and decay
	ran   map[accounts.Key]map[string]*ran // see Ran

	rules   *federation.Preempting // see Preempting
	rulesOf *accounts.Tree

	guaranteed guaranteed
	Booked     *Booked

	subjects  subjects
	standings atomic.Pointer[stood]
}

type hold struct {
	keys   []accounts.Key
	want   Want
	factor float64 // the UsageFactor of its QOS when it was bound
	lasted Lasted
}

// held is what jobs hold now, and what they may come to.
type held struct {
	jobs    int64
	tres    accounting.TRES
	seconds accounting.TRES
	less    accounting.TRES // of seconds, what does not count by the UsageFactor of a QOS; less than 0: what counts beside them. Nil: nothing
	cost    federation.Money
}

// of is what is reserved of a budget.
func (h *held) of(b *accounts.Bound) int64 { return spent(b, h.seconds, h.cost) }

func spent(b *accounts.Bound, seconds accounting.TRES, cost federation.Money) int64 {
	if b.Limit.Measure == accounts.Money {
		return int64(cost)
	}
	return seconds[b.TRES]
}

// budgets goes through the budgets that a record sets: one for each TRES.
func budgets(r *accounts.Record) iter.Seq[*accounts.Bound] {
	return func(yield func(*accounts.Bound) bool) {
		all := r.Bounds()
		for i := range all {
			if all[i].Period != "" && !yield(&all[i]) {
				return
			}
		}
	}
}

// New returns a Book without usage. Usage that GrpTRESMins is compared with decays.
func New(books interface{ Tree() *accounts.Tree }, halfLife time.Duration) *Book {
	return &Book{books: books, halfLife: halfLife, holds: map[federation.JobID]hold{}, held: map[accounts.Key]*held{}, days: map[accounts.Key]map[int64]*used{},
		slow: map[accounts.Key]map[string]float64{}, Booked: &Booked{}}
}

// Open returns a Book with what counts against limits still: what budgets of a year may ask about, and usage that has not decayed.
func Open(ctx context.Context, books interface{ Tree() *accounts.Tree }, halfLife time.Duration, st federation.ChargeSummer, now time.Time) (*Book, error) {
	b := New(books, halfLife)
	year := now.Add(-400 * day).Truncate(day)
	since := year
	if halfLife <= 0 || slices.ContainsFunc(b.books.Tree().Records(), noDecay) {
		since = time.Unix(0, 0)
	}
	sums, err := st.ChargeSums(ctx, since, day)
	if err != nil {
		return nil, err
	}
	for i := range sums {
		k := &sums[i]
		b.addSum(k, now, !k.End.Before(year), func(decays bool) bool { return !decays })
	}
	if halfLife <= 0 {
		return b, nil
	}
	// What decays is read by the part of a half-life, and no further back than it matters.
	if sums, err = st.ChargeSums(ctx, now.Add(-12*halfLife), max(halfLife/168, time.Minute)); err != nil {
		return nil, err
	}
	for i := range sums {
		b.addSum(&sums[i], now, false, func(decays bool) bool { return decays })
	}
	return b, nil
}

// Payers tells which account pays for a job; nil: there are no accounts.
func (b *Book) Payers() federation.Payers {
	if t := b.books.Tree(); !t.Empty() {
		return t
	}
	return nil
}

// Tree is the account tree as it is now.
func (b *Book) Tree() *accounts.Tree { return b.books.Tree() }

// Under are the accounts whose limits hold for a job: the one that it is charged to, and those above it.
func (b *Book) Under(j *federation.Job) (names []string) {
	t := b.books.Tree()
	for a := range t.Above(fairshare.KeyOf(t, j).Account) {
		names = append(names, a.Name)
	}
	return names
}

// Accounts are the accounts of the tree.
func (b *Book) Accounts() (names []string) {
	for a := range b.books.Tree().Accounts() {
		names = append(names, a.Name)
	}
	return names
}

func holdOf(t *accounts.Tree, w *Want) hold {
	keys := w.keysIn(t)
	return hold{keys: keys, want: *w, factor: factorOf(t, keys)}
}

// Take reserves what a job that is bound may come to. To take it again changes nothing.
func (b *Book) Take(id federation.JobID, w Want) {
	if _, ok := b.holds[id]; ok {
		return
	}
	h := holdOf(b.books.Tree(), &w)
	b.holds[id] = h
	b.add(&h, 1)
	b.guaranteed.note(id, &h, true)
}

// Release ends a reservation, when the attempt is over and what it came to is charged.
func (b *Book) Release(id federation.JobID) {
	if h, ok := b.holds[id]; ok {
		b.add(&h, -1)
		b.count(b.books.Tree(), &h, -1)
		delete(b.holds, id)
		b.guaranteed.note(id, &h, false)
	}
}

func (b *Book) add(h *hold, sign int64) {
	for _, k := range h.keys {
		s := b.held[k]
		if s == nil {
			s = &held{tres: accounting.TRES{}, seconds: accounting.TRES{}}
			b.held[k] = s
		}
		s.jobs += sign
		s.cost += federation.Money(sign) * h.want.Cost
		reserve := func(name string, n int64) {
			n *= int64(h.want.Longest / time.Second)
			s.seconds[name] += sign * n
			if h.factor != 1 {
				if s.less == nil {
					s.less = accounting.TRES{}
				}
				s.less[name] += sign * (n - int64(float64(n)*h.factor))
			}
		}
		for name, n := range h.want.TRES {
			s.tres[name] += sign * n
			reserve(name, n)
		}
		reserve(accounts.Wall, 1)
		if s.jobs == 0 {
			delete(b.held, k)
		}
	}
}

var nothing = &held{}

func (b *Book) heldBy(k accounts.Key) *held {
	if s := b.held[k]; s != nil {
		return s
	}
	return nothing
}

// Late reports whether an association has come to the soft limit of a budget: its jobs go last.
func (b *Book) Late(now time.Time, association accounts.Key) bool {
	t := b.books.Tree()
	b.Booked.renew(t)
	for _, k := range keysOf(t, association.Name, association.Account, "") {
		r := t.Get(k)
		if r == nil {
			continue
		}
		soft, ok := r.Count("BudgetSoft")
		if !ok {
			continue
		}
		for budget := range budgets(r) {
			n := sumSince(b.daysFor(k, budget), dayOf(budget.Period.Start(now))).of(budget) + b.heldBy(k).of(budget)
			if float64(n)*100 >= float64(budget.Most)*float64(soft) {
				return true
			}
		}
	}
	return false
}
