package lifecycle

import (
	"reflect"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/decision"
)

// TestRuns: the runs that a site has ended to queue a job again.
func TestRuns(t *testing.T) {
	now := at(60)
	first := federation.AttemptRun{State: federation.Requeued, Started: at(10), Ended: at(20), Nodes: "n1"}
	seen := federation.Attempt{Started: at(10), Nodes: "n1"}
	noted := federation.Attempt{Started: at(10), Nodes: "n1", Runs: []federation.AttemptRun{first}}
	told := federation.AttemptRun{State: federation.NodeFail, Started: at(10), Ended: at(15), Nodes: "n1"}
	for _, c := range []struct {
		name string
		a    federation.Attempt
		sj   federation.SiteJob
		want []federation.AttemptRun
	}{
		{"none", seen, federation.SiteJob{}, nil},
		{"submitted anew when it was requeued", seen, federation.SiteJob{Restarts: 1, Submit: at(20)}, []federation.AttemptRun{first}},
		{"no time of that", seen, federation.SiteJob{Restarts: 1, Submit: at(1)}, []federation.AttemptRun{{State: federation.Requeued, Started: at(10), Ended: now, Nodes: "n1"}}},
		{"noted already", noted, federation.SiteJob{Restarts: 1, Submit: at(20)}, []federation.AttemptRun{first}},
		{"the site tells it better", noted, federation.SiteJob{Restarts: 1, Earlier: []federation.AttemptRun{told}}, []federation.AttemptRun{told}},
		{"it was never seen to run", federation.Attempt{}, federation.SiteJob{Restarts: 1, Submit: at(20)}, nil},
		{"an array as a whole", seen, federation.SiteJob{Restarts: 1, Submit: at(20), PendingTasks: "1-3"}, nil},
	} {
		before := len(c.a.Runs)
		if got := Runs(&c.a, &c.sj, now); !reflect.DeepEqual(got, c.want) || len(c.a.Runs) != before {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestPrice: what a run is billed, and by whose word.
func TestPrice(t *testing.T) {
	cluster, rented := federation.Attempt{}, federation.Attempt{Decision: decision.Decision{Offers: []*decision.Offer{{Offering: "m5"}}}}
	prices := accounting.Prices{"gres/gpu": 1}
	held := federation.Held{TRES: "cpu=1,gres/gpu=2"}
	const dollar federation.Money = federation.Dollar
	for _, c := range []struct {
		name string
		k    federation.Charge
		a    federation.Attempt
		want federation.Money
		from federation.PriceSource
	}{
		{"by the table", federation.Charge{Held: held, Start: at(0), End: at(60), From: federation.PriceTable}, cluster, 2 * dollar, federation.PriceTable},
		{"suspended time is free on a cluster", federation.Charge{Held: held, Start: at(0), End: at(60), Suspended: 30 * time.Minute, From: federation.PriceTable}, cluster, dollar, federation.PriceTable},
		{"the site's own price", federation.Charge{Held: federation.Held{TRES: held.TRES, PricePerHour: 3 * dollar}, Start: at(0), End: at(60), Suspended: 30 * time.Minute,
			From: federation.PriceTable}, cluster, 3 * dollar, federation.PriceSite},
		{"rented", federation.Charge{Held: federation.Held{TRES: held.TRES, PricePerHour: 3 * dollar}, Start: at(0), End: at(60), From: federation.PriceTable}, rented, 3 * dollar, federation.PriceOffering},
		{"the site's own amount", federation.Charge{Held: held, Amount: 5 * dollar, Start: at(0), End: at(60), From: federation.PriceTable}, cluster, 5 * dollar, federation.PriceSite},
		{"not billed", federation.Charge{Held: held, Amount: 5 * dollar, Start: at(0), End: at(60), From: federation.PriceNone}, cluster, 0, federation.PriceNone},
		{"never started", federation.Charge{Held: held, End: at(60), From: federation.PriceTable}, cluster, 0, federation.PriceTable},
	} {
		_, amount, from, err := Price(c.k, prices, &c.a)
		if amount != c.want || from != c.from || err != nil {
			t.Errorf("%s: %v from %q, want %v from %q; %v", c.name, amount, from, c.want, c.from, err)
		}
	}
	if _, _, _, err := Price(federation.Charge{Held: federation.Held{TRES: "cpu=x"}, From: federation.PriceTable}, prices, &cluster); err == nil {
		t.Error("TRES that cannot be read have a price")
	}
}
