package metrics

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"fsub/accounting/ledger"
	"fsub/federation/accounts"
	"fsub/federation/quota"
)

// collectBudgets shows the budgets in dollars of the accounts with the largest.
func collectBudgets(to out, all []quota.Standing, most int) {
	var ours []quota.Standing
	for _, b := range all {
		if b.Kind == accounts.Account && b.Of == "" {
			ours = append(ours, b)
		}
	}
	slices.SortFunc(ours, func(a, b quota.Standing) int {
		return cmp.Or(cmp.Compare(b.Limit, a.Limit), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Period, b.Period))
	})
	shown := map[string]bool{}
	for _, b := range ours {
		if !shown[b.Name] && len(shown) >= most {
			continue
		}
		shown[b.Name] = true
		to.gauge(limits, b.Limit, b.Name, b.Period)
		to.gauge(used, b.Used+b.Running, b.Name, b.Period)
	}
}

// Books has what was spent.
type Books interface {
	BookedSums(context.Context, ledger.SumQuery) ([]ledger.SumRow, error)
}

// spent is what accounts have spent in this month, as it was read last.
type spent struct {
	mu  sync.Mutex
	all []spentBy // the most first
}

type spentBy struct {
	account string
	dollars float64
}

func (s *spent) collect(to out, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.all[:min(len(s.all), most)] {
		to.gauge(spentMonth, a.dollars, a.account)
	}
}

const (
	readBooksEvery = time.Minute
	day            = 24 * time.Hour
)

// Run reads the books each minute, until ctx is done.
func (f *Fleet) Run(ctx context.Context, log *slog.Logger) error {
	tick := time.NewTicker(readBooksEvery)
	defer tick.Stop()
	for {
		if err := f.readBooks(ctx); err != nil && ctx.Err() == nil {
			log.Warn("what accounts have spent is not known for /metrics", "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (f *Fleet) readBooks(ctx context.Context) error {
	now := f.cfg.Now().UTC()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	rows, err := f.cfg.Books.BookedSums(ctx, ledger.SumQuery{From: first.Unix() / int64(day/time.Second), Until: now.Unix()/int64(day/time.Second) + 1, By: []ledger.Dimension{ledger.ByAccount}})
	if err != nil {
		return err
	}
	sum := map[string]float64{}
	for i := range rows {
		sum[rows[i].Values[0]] += rows[i].Amount.Dollars()
	}
	all := make([]spentBy, 0, len(sum))
	for account, dollars := range sum {
		all = append(all, spentBy{account, dollars})
	}
	slices.SortFunc(all, func(a, b spentBy) int {
		return cmp.Or(cmp.Compare(b.dollars, a.dollars), cmp.Compare(a.account, b.account))
	})
	f.books.mu.Lock()
	defer f.books.mu.Unlock()
	f.books.all = all
	return nil
}
