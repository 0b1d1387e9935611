// Package metrics tells Prometheus how the fleet is: what is free at each site, what waits and runs, what accounts have spent, how old prices are.
// All of it is read when it is asked for, from what others count already: a scrape looks at no job, and at the nodes of a site only if that has been looked at
// since. Labels are names that operators give (sites, accounts, lists of prices) and words of a fixed set; none comes from a user.
package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation"
	"fsub/federation/api/queue"
	"fsub/federation/fragment"
	"fsub/federation/idle"
	"fsub/federation/quota"
)

// Config is where the figures come from.
type Config struct {
	// Jobs counts the jobs by state, site and reason. An error: they are not known yet.
	Jobs func(context.Context) ([]queue.Count, error)
	// Sites are those of the federation.
	Sites func() []*federation.Site
	// Fragments tells how whole the free GPUs of a site are.
	Fragments func(*federation.Site) []fragment.Score
	// Idle are the running jobs that leave idle what they hold.
	Idle func() []idle.Held
	// Budgets are how all budgets stand.
	Budgets func() []quota.Standing
	// Accounts is of how many accounts budgets, spending and idle GPUs are shown at most: of those with the largest.
	Accounts int
	Books    Books
	Prices   func() []PriceList
	Now      func() time.Time
}

// PriceList is how a list of prices stands.
type PriceList struct {
	Source  string
	At      time.Time // of its last answer; zero: none yet
	Failing bool      // its last call failed
}

// Fleet is a [prometheus.Collector]. It is safe for concurrent use.
type Fleet struct {
	cfg   Config
	sites sites
	books spent
	all   []*prometheus.Desc
}

// New returns the collector. Call [Fleet.Run], or what accounts have spent stays unknown.
func New(c Config) *Fleet {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Fleet{cfg: c, all: []*prometheus.Desc{jobs, waiting, nodes, cpus, gpus, whole, fragmented, idleHeld, limits, used, spentMonth, priceAge, priceFailing, pricesAge}}
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	jobs         = desc("fsub_jobs", "Jobs that have not ended, by state and site; no site: they wait in the federation's queue. Each task of an array counts.", "state", "site")
	waiting      = desc("fsub_jobs_waiting", "Pending jobs, by reason and site; no site: they wait in the federation's queue. Each task of an array counts.", "reason", "site")
	nodes        = desc("fsub_site_nodes", "Nodes, by what they do: idle, mixed, allocated, out (down, drained, reserved, suspected), rentable (not rented now).", "site", "state")
	cpus         = desc("fsub_site_cpus", "CPUs: used, free, out (free on a node that takes no jobs), rentable.", "site", "state")
	gpus         = desc("fsub_site_gpus", "GPUs by type: used, free, out (free on a node that takes no jobs), rentable. gpu: the site tells no type.", "site", "type", "state")
	whole        = desc("fsub_site_gpus_whole", "Free GPUs on nodes, leaves and blocks that are free as a whole.", "site", "type", "of")
	fragmented   = desc("fsub_site_gpus_fragmented_ratio", "The share of the free GPUs that jobs of the sizes asked for lately cannot take.", "site", "type")
	idleHeld     = desc("fsub_account_gpus_idle_held", "GPUs that an account's running jobs hold and leave idle, of the accounts with most.", "account")
	limits       = desc("fsub_budget_limit_dollars", "Budgets in dollars, of the accounts with the largest.", "account", "period")
	used         = desc("fsub_budget_spent_dollars", "What of a budget is spent, by runs that have ended and by those that run.", "account", "period")
	spentMonth   = desc("fsub_account_spent_dollars", "What an account has spent in this month (UTC) by the books, of the accounts that have spent most.", "account")
	priceAge     = desc("fsub_price_list_age_seconds", "How long ago a list of prices was read.", "source")
	pricesAge    = desc("fsub_site_price_age_seconds", "How long ago the oldest of the prices was learnt that a site's machines are rented by.", "site")
	priceFailing = desc("fsub_price_list_failing", "1 if the last call for a list of prices failed.", "source")
)

// Describe implements [prometheus.Collector].
func (f *Fleet) Describe(to chan<- *prometheus.Desc) {
	for _, d := range f.all {
		to <- d
	}
}

// out sends gauges.
type out chan<- prometheus.Metric

func (o out) gauge(d *prometheus.Desc, v float64, labels ...string) {
	o <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// patience is how long a scrape waits for the counts of jobs.
const patience = 2 * time.Second

// Collect implements [prometheus.Collector].
func (f *Fleet) Collect(ch chan<- prometheus.Metric) {
	to := out(ch)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if counts, err := f.cfg.Jobs(ctx); err == nil {
		collectJobs(to, counts)
	}
	sites, now := f.cfg.Sites(), f.cfg.Now()
	f.sites.collect(to, sites, f.cfg.Fragments)
	for _, s := range sites {
		if s.Seen != nil && s.State != federation.FedRemoved && !s.Seen.PricedAt.IsZero() {
			to.gauge(pricesAge, now.Sub(s.Seen.PricedAt).Seconds(), string(s.Name))
		}
	}
	collectIdle(to, f.cfg.Idle(), f.cfg.Accounts)
	collectBudgets(to, f.cfg.Budgets(), f.cfg.Accounts)
	f.books.collect(to, f.cfg.Accounts)
	for _, p := range f.cfg.Prices() {
		failing := 0.0
		if p.Failing {
			failing = 1
		}
		to.gauge(priceFailing, failing, p.Source)
		if !p.At.IsZero() {
			to.gauge(priceAge, now.Sub(p.At).Seconds(), p.Source)
		}
	}
}
