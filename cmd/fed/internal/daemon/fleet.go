package daemon

import (
	"context"

	"fsub/federation/api/queue"
	"fsub/federation/metrics"
)

// newFleet is what /metrics tells of jobs, sites, budgets and prices.
func (p *parts) newFleet() *metrics.Fleet {
	return metrics.New(metrics.Config{
		Jobs: func(ctx context.Context) ([]queue.Count, error) {
			return queue.Lists{Queue: p.api.Queue()}.Count(ctx, metrics.Which, metrics.Which, func(f *queue.Facts) bool { return !f.State.Ended() })
		},
		Sites: p.ctl.Sites, Budgets: p.quota.Standings, Accounts: p.config.MetricsAccounts, Books: p.store,
		Prices: func() (all []metrics.PriceList) {
			for _, a := range p.prices.Asked() {
				all = append(all, metrics.PriceList{Source: a.Source, At: a.At, Failing: a.Err != ""})
			}
			return all
		},
	})
}
