package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"fsub/accounting"
	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api/queue"
	"fsub/federation/fragment"
	"fsub/federation/idle"
	"fsub/federation/quota"
	"fsub/federation/reasons"
)

func count(state federation.State, site federation.SiteName, reason reasons.Reason, tasks int64) queue.Count {
	return queue.Count{Facts: queue.Facts{State: state, Site: site, Reason: reason}, Jobs: 1, Tasks: tasks}
}

func gpuNode(name string, cpusUsed, gpusUsed int, state ...string) federation.Node {
	return federation.Node{Name: name, State: state, CPUs: 64, CPUsUsed: cpusUsed, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 8, Used: gpusUsed}}}
}

type books struct {
	rows  []ledger.SumRow
	query ledger.SumQuery
	err   error
}

func (b *books) BookedSums(_ context.Context, q ledger.SumQuery) ([]ledger.SumRow, error) {
	b.query = q
	return b.rows, b.err
}

func booked(account string, dollars int64) ledger.SumRow {
	return ledger.SumRow{Values: []string{account}, Sums: ledger.Sums{Amount: accounting.Money(dollars * accounting.Dollar)}}
}

var noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// fleet is a collector of what a test says.
func fleet(c Config) *Fleet {
	c.Now = func() time.Time { return noon }
	if c.Jobs == nil {
		c.Jobs = func(context.Context) ([]queue.Count, error) { return nil, nil }
	}
	if c.Sites == nil {
		c.Sites = func() []*federation.Site { return nil }
	}
	if c.Fragments == nil {
		c.Fragments = new(fragment.Book).Of
	}
	if c.Idle == nil {
		c.Idle = func() []idle.Held { return nil }
	}
	if c.Budgets == nil {
		c.Budgets = func() []quota.Standing { return nil }
	}
	if c.Prices == nil {
		c.Prices = func() []PriceList { return nil }
	}
	return New(c)
}

// check compares all that a collector sends, without the lines of help.
func check(t *testing.T, f *Fleet, want string) {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(f)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&got, family); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	for line := range strings.Lines(got.String()) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if got := strings.Join(lines, "\n"); got != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	problems, err := testutil.GatherAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

func TestJobs(t *testing.T) {
	f := fleet(Config{Jobs: func(context.Context) ([]queue.Count, error) {
		return []queue.Count{
			count(federation.Pending, "", reasons.Priority, 1000),
			count(federation.Pending, "", reasons.Resources, 2),
			count(federation.Pending, "alpha", reasons.Resources, 3),
			count(federation.Pending, "alpha", "ReqNodeNotAvail, UnavailableNodes:a[1-3]", 4),
			count(federation.Pending, "alpha", "ReqNodeNotAvail, UnavailableNodes:a[1-2]", 5),
			count(federation.Pending, "alpha", "<script>", 1),
			count(federation.Running, "alpha", reasons.None, 7),
			count(federation.Completed, "alpha", reasons.None, 100),
		}, nil
	}})
	check(t, f, `
fsub_jobs{site="",state="PENDING"} 1002
fsub_jobs{site="alpha",state="PENDING"} 13
fsub_jobs{site="alpha",state="RUNNING"} 7
fsub_jobs_waiting{reason="Priority",site=""} 1000
fsub_jobs_waiting{reason="ReqNodeNotAvail",site="alpha"} 9
fsub_jobs_waiting{reason="Resources",site=""} 2
fsub_jobs_waiting{reason="Resources",site="alpha"} 3
fsub_jobs_waiting{reason="other",site="alpha"} 1`)
}

// TestReasonsAreBounded: a site that says ever other reasons makes no more rows than there is room for.
func TestReasonsAreBounded(t *testing.T) {
	f := fleet(Config{Jobs: func(context.Context) (all []queue.Count, _ error) {
		for i := range 10 * mostReasons {
			all = append(all, count(federation.Pending, "alpha", reasons.Reason("Reason"+strings.Repeat("x", i)), 1))
		}
		return all, nil
	}})
	if n := testutil.CollectAndCount(f, "fsub_jobs_waiting"); n != mostReasons+1 {
		t.Errorf("%d rows, want %d and one for the others", n, mostReasons)
	}
}

func TestJobsNotKnownYet(t *testing.T) {
	check(t, fleet(Config{Jobs: func(context.Context) ([]queue.Count, error) { return nil, errors.New("the queue is being read") }}), "")
}

func TestSites(t *testing.T) {
	rented := gpuNode("aws-1", 0, 0, "IDLE", "CLOUD", "POWERED_DOWN")
	rented.Rented = &federation.Rented{}
	seen := &federation.Observation{PricedAt: noon.Add(-time.Minute), Nodes: []federation.Node{
		gpuNode("a1", 0, 0, "IDLE"),
		gpuNode("a2", 16, 3, "MIXED"),
		gpuNode("a3", 64, 8, "ALLOCATED"),
		gpuNode("a4", 8, 1, "MIXED", "DRAIN"),
		{Name: "a5", State: []string{"DOWN"}, CPUs: 4},
		rented,
	}}
	site := &federation.Site{Name: "alpha", State: federation.FedActive, Seen: seen}
	f := fleet(Config{Sites: func() []*federation.Site {
		return []*federation.Site{site, {Name: "new"}, {Name: "gone", State: federation.FedRemoved, Seen: seen}}
	}})
	check(t, f, `
fsub_site_cpus{site="alpha",state="free"} 112
fsub_site_cpus{site="alpha",state="out"} 60
fsub_site_cpus{site="alpha",state="rentable"} 64
fsub_site_cpus{site="alpha",state="used"} 88
fsub_site_gpus{site="alpha",state="free",type="h100"} 13
fsub_site_gpus{site="alpha",state="out",type="h100"} 7
fsub_site_gpus{site="alpha",state="rentable",type="h100"} 8
fsub_site_gpus{site="alpha",state="used",type="h100"} 12
fsub_site_gpus_fragmented_ratio{site="alpha",type="h100"} 0.3846153846153846
fsub_site_gpus_whole{of="node",site="alpha",type="h100"} 8
fsub_site_nodes{site="alpha",state="allocated"} 1
fsub_site_nodes{site="alpha",state="idle"} 1
fsub_site_nodes{site="alpha",state="mixed"} 1
fsub_site_nodes{site="alpha",state="out"} 2
fsub_site_nodes{site="alpha",state="rentable"} 1
fsub_site_price_age_seconds{site="alpha"} 60`)

	site.Seen = &federation.Observation{Nodes: seen.Nodes[:1]}
	if n := testutil.CollectAndCount(f, "fsub_site_gpus"); n != 4 {
		t.Errorf("%d rows of GPUs", n)
	}
	check(t, f, `
fsub_site_cpus{site="alpha",state="free"} 64
fsub_site_cpus{site="alpha",state="out"} 0
fsub_site_cpus{site="alpha",state="rentable"} 0
fsub_site_cpus{site="alpha",state="used"} 0
fsub_site_gpus{site="alpha",state="free",type="h100"} 8
fsub_site_gpus{site="alpha",state="out",type="h100"} 0
fsub_site_gpus{site="alpha",state="rentable",type="h100"} 0
fsub_site_gpus{site="alpha",state="used",type="h100"} 0
fsub_site_gpus_fragmented_ratio{site="alpha",type="h100"} 0
fsub_site_gpus_whole{of="node",site="alpha",type="h100"} 8
fsub_site_nodes{site="alpha",state="allocated"} 0
fsub_site_nodes{site="alpha",state="idle"} 1
fsub_site_nodes{site="alpha",state="mixed"} 0
fsub_site_nodes{site="alpha",state="out"} 0
fsub_site_nodes{site="alpha",state="rentable"} 0`)
}

// TestIdle: of the accounts with most, as many as are configured; what is not known to be idle now does not count.
func TestIdle(t *testing.T) {
	f := fleet(Config{Accounts: 2, Books: &books{}, Idle: func() []idle.Held {
		return []idle.Held{{Account: "vision", GPUs: 4, Now: true}, {Account: "speech", GPUs: 16, Now: true}, {Account: "vision", GPUs: 2, Now: true},
			{Account: "vision", GPUs: 64, Text: "told before the restart"}, {Account: "tiny", GPUs: 1, Now: true}, {GPUs: 99, Now: true}, {Account: "cpu", Now: true}}
	}})
	check(t, f, `
fsub_account_gpus_idle_held{account="speech"} 16
fsub_account_gpus_idle_held{account="vision"} 6`)
}

func TestMoney(t *testing.T) {
	b := &books{rows: []ledger.SumRow{booked("vision", 3), booked("speech", 20), booked("vision", 4), booked("tiny", 1)}}
	f := fleet(Config{Accounts: 2, Books: b, Budgets: func() []quota.Standing {
		return []quota.Standing{
			{Key: accounts.AccountKey("tiny"), Period: "month", Limit: 5, Used: 1},
			{Key: accounts.AccountKey("vision"), Period: "month", Limit: 1000, Used: 10, Running: 2.5},
			{Key: accounts.AccountKey("vision"), Period: "year", Limit: 5000, Used: 700},
			{Key: accounts.AccountKey("speech"), Period: "month", Limit: 500, Used: 3},
			{Key: accounts.AccountKey("speech"), Of: "gres/gpu", Period: "month", Limit: 9000},
			{Key: accounts.UserKey("vision", "alice"), Period: "month", Limit: 9000},
		}
	}, Prices: func() []PriceList {
		return []PriceList{{Source: "aws", At: noon.Add(-90 * time.Second)}, {Source: "gcp", Failing: true}}
	}})
	if err := f.readBooks(t.Context()); err != nil {
		t.Fatal(err)
	}
	const first = 20513 // 2026-03-01
	if b.query.From != first || b.query.Until != first+31 {
		t.Errorf("asked for days %d to %d", b.query.From, b.query.Until)
	}
	check(t, f, `
fsub_account_spent_dollars{account="speech"} 20
fsub_account_spent_dollars{account="vision"} 7
fsub_budget_limit_dollars{account="speech",period="month"} 500
fsub_budget_limit_dollars{account="vision",period="month"} 1000
fsub_budget_limit_dollars{account="vision",period="year"} 5000
fsub_budget_spent_dollars{account="speech",period="month"} 3
fsub_budget_spent_dollars{account="vision",period="month"} 12.5
fsub_budget_spent_dollars{account="vision",period="year"} 700
fsub_price_list_age_seconds{source="aws"} 90
fsub_price_list_failing{source="aws"} 0
fsub_price_list_failing{source="gcp"} 1`)

	b.err = errors.New("the database is busy")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Run(ctx, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(f, "fsub_account_spent_dollars"); n != 2 {
		t.Errorf("%d accounts after books that could not be read: what was known stays", n)
	}
}

// BenchmarkScrape is of 100 sites of 10,000 nodes, of which none was looked at since, and of which all were.
func BenchmarkScrape(b *testing.B) {
	var all []*federation.Site
	for i := range 100 {
		seen := &federation.Observation{}
		for n := range 10_000 {
			seen.Nodes = append(seen.Nodes, gpuNode(fmt.Sprintf("n%d", n), n%65, n%9, "MIXED"))
		}
		all = append(all, &federation.Site{Name: federation.SiteName(fmt.Sprintf("site%d", i)), Seen: seen})
	}
	for _, fresh := range []bool{false, true} {
		b.Run(fmt.Sprintf("fresh=%v", fresh), func(b *testing.B) {
			f := fleet(Config{Sites: func() []*federation.Site { return all }})
			r := prometheus.NewRegistry()
			r.MustRegister(f)
			for b.Loop() {
				if fresh {
					for _, s := range all {
						again := *s.Seen
						s.Seen = &again
					}
				}
				if _, err := r.Gather(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
