package ledger

import (
	"context"
	"math"
	"slices"
	"sync"

	"fsub/accounting/ledger"
	"fsub/federation"
)

// fresh is which charges were booked lately. Its lock is held while charges are booked.
type fresh struct {
	sync.Mutex
	asked  bool // somebody asks
	booked map[chargeName]bool
}

// chargeName names a charge: see [federation.Charge].
type chargeName struct {
	key       string
	job       federation.JobID
	run, task int
}

func nameOf(k *federation.Charge) chargeName { return chargeName{k.Key, k.Job, k.Run, k.Task} }

// mostDays is how far back what is booked late counts for budgets.
const mostDays = 400

// spentFields are the sums that budgets are compared with.
var spentFields = func() (places []int) {
	for _, name := range []string{"cpu", "mem", "node", "gpu", "billing", "wall", "amount"} {
		places = append(places, slices.Index(ledger.SumNames, name))
	}
	return places
}()

// noted are books that know the first day of what was booked lately: a run that has ended now may have run for weeks.
type noted struct {
	ledger.Books

	mu    sync.Mutex
	first int64 // day
}

// Book implements [ledger.Books].
func (n *noted) Book(ctx context.Context, entries []ledger.Entry, marks map[string]string) (int, error) {
	fresh, err := n.Books.Book(ctx, entries, marks)
	if err == nil && fresh == 0 {
		return 0, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range entries {
		n.first = min(n.first, ledger.DayOf(entries[i].Start))
	}
	return fresh, err
}

// since returns the first day of what was booked since it was asked last.
func (n *noted) since() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	day := n.first
	n.first = math.MaxInt64
	return day
}

// Spent implements quota.Books. No charge is booked while the sums are read, so that what it says of charges is true of them.
func (c *Collector) Spent(ctx context.Context, from int64, take func(*ledger.SumRow) error) (first int64, among func(*federation.Charge) bool, err error) {
	c.fresh.Lock()
	defer c.fresh.Unlock()
	c.fresh.asked = true
	if _, err := c.charges(ctx); err != nil {
		return 0, nil, err
	}
	if n, ok := c.Books.(*noted); ok {
		from = min(from, max(n.since(), from-mostDays))
	}
	err = c.Books.EachSum(ctx, ledger.SumQuery{From: from, Until: c.Now().Unix()/day + 366, Every: ledger.Daily, Sums: spentFields,
		By: []ledger.Dimension{ledger.ByAccount, ledger.ByUser, ledger.ByQOS, ledger.ByGPU}}, take)
	if err != nil {
		return 0, nil, err
	}
	booked := c.fresh.booked
	c.fresh.booked = map[chargeName]bool{}
	return from, func(k *federation.Charge) bool { return booked[nameOf(k)] }, nil
}
