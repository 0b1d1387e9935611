package daemon

import (
	"context"
	"fmt"

	"fsub/federation"
	"fsub/federation/api/queue"
	"fsub/federation/metrics"
)

// newFleet is what /metrics tells of jobs, sites, budgets and prices.
func (p *parts) newFleet() *metrics.Fleet {
	return metrics.New(metrics.Config{
		Jobs:  p.liveJobs,
		Sites: p.ctl.Sites, Fragments: p.ctl.Fragments, Idle: p.ctl.Idle, Budgets: p.quota.Standings, Accounts: p.config.MetricsAccounts, Books: p.store,
		Prices: func() (all []metrics.PriceList) {
			for _, a := range p.prices.Asked() {
				all = append(all, metrics.PriceList{Source: a.Source, At: a.At, Failing: a.Err != ""})
			}
			return all
		},
	})
}

// liveJobs counts the jobs that have not ended.
func (p *parts) liveJobs(ctx context.Context) ([]queue.Count, error) {
	return queue.Lists{Queue: p.api.Queue()}.CountSoon(ctx, metrics.Which, metrics.Which, func(f *queue.Facts) bool { return !f.State.Ended() })
}

// summary is how the daemon is, in a line: "2 sites, 1 without an answer; 41213 jobs".
func (p *parts) summary(ctx context.Context) string {
	sites, silent, jobs := 0, 0, int64(0)
	for _, s := range p.ctl.Sites() {
		if s.State == federation.FedRemoved {
			continue
		}
		if sites++; s.Seen == nil || !s.Answering {
			silent++
		}
	}
	line := fmt.Sprintf("%d sites", sites)
	if silent > 0 {
		line += fmt.Sprintf(", %d without an answer", silent)
	}
	counts, err := p.liveJobs(ctx)
	if err != nil {
		return line
	}
	for _, c := range counts {
		jobs += c.Tasks
	}
	return line + fmt.Sprintf("; %d jobs", jobs)
}
