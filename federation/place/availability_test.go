package place

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// rungs are what two clouds rent: paid for, spot in two zones, on demand, and queued for.
const rungs = `site aws tasks
partition main default nodes=r1,sa,sb,od
nodes r1 cpus=4 mem=4000 state=IDLE,CLOUD,POWERED_DOWN boot=60s rent=x/a/reserved@0 paid=paid_for_with_cr-7
nodes sa cpus=4 mem=4000 state=IDLE,CLOUD,POWERED_DOWN boot=60s rent=x/a/spot@2 interrupts=0.05
nodes sb cpus=4 mem=4000 state=IDLE,CLOUD,POWERED_DOWN boot=60s rent=x/b/spot@2.5 interrupts=0.05
nodes od cpus=4 mem=4000 state=IDLE,CLOUD,POWERED_DOWN boot=60s rent=x/a/on-demand@5
site gcp tasks
partition main default nodes=fl
nodes fl cpus=4 mem=4000 state=IDLE,CLOUD,POWERED_DOWN boot=3h rent=y/c/flex@3
`

func ladder(t *testing.T, change func(line string) string, job string) (*world, decision.Decision) {
	t.Helper()
	w := newWorld()
	var lines []string
	for line := range strings.Lines(rungs) {
		lines = append(lines, change(strings.TrimSpace(line)))
	}
	w.read(t, strings.Join(lines, "\n")+"\njob 1 "+job)
	return w, Plan(w.snapshot(), Policy{}).Decisions[0]
}

func dry(which ...string) func(string) string {
	return func(line string) string {
		for _, n := range which {
			if strings.HasPrefix(line, "nodes "+n+" ") {
				line = strings.Replace(line, "state=IDLE,CLOUD", "state=DOWN,CLOUD", 1) + " reason=FedStockOut:_none_left"
			}
		}
		return line
	}
}

// TestLadder: the cheapest rung that can be had is taken, and fed explain shows each of the others with its price or with why it is passed over.
func TestLadder(t *testing.T) {
	for _, c := range []struct {
		dry  []string
		want string
		says []string
	}{
		{nil, "x/a/reserved", []string{"1 x x x 0.50 h, paid for with cr-7", "main/x/a/spot", "main/x/a/on-demand", "main/y/c/flex"}},
		{[]string{"r1"}, "x/a/spot", []string{"aws main/x/a/reserved (FedStockOut: none left"}},
		{[]string{"r1", "sa"}, "x/b/spot", nil},
		{[]string{"r1", "sa", "sb"}, "x/a/on-demand", []string{"aws main/x/b/spot (FedStockOut"}},
		{[]string{"r1", "sa", "sb", "od"}, "y/c/flex", []string{"aws main/x/a/on-demand (FedStockOut"}},
	} {
		w, d := ladder(t, dry(c.dry...), "-c4 -t1h")
		text := Explain(w.jobs[0], d)
		if !d.Bind || d.Offers[0].Offering != c.want || d.Offers[0].Market == "" || d.Offers[0].Zone == "" {
			t.Errorf("%v dry: %s", c.dry, text)
		}
		for _, say := range c.says {
			if !strings.Contains(text, say) {
				t.Errorf("%v dry: no %q in\n%s", c.dry, say, text)
			}
		}
	}
}

// TestLeftOut: a job gets no spot machine of the zone where one was taken from it, and others do; what a cloud has just refused is not asked for again before the site
// was seen anew.
func TestLeftOut(t *testing.T) {
	w, _ := ladder(t, dry("r1"), "-c4 -t1h")
	w.read(t, "job 2 -c4 -t1h")
	w.refused[1] = map[federation.SiteName]decision.Rejection{"aws": {Parts: []decision.LeftOut{
		{What: "a", Reason: reasons.StockOut, Why: codes.Because(codes.TakenThere, "a", "11:58Z")}}}}
	all := Plan(w.snapshot(), Policy{}).Decisions
	if got := all[0].Offers[0].Offering; got != "x/b/spot" || slices.ContainsFunc(all[0].Offers, func(o *decision.Offer) bool { return o.Offering == "x/a/spot" }) {
		t.Errorf("it goes back: %s", Explain(w.jobs[0], all[0]))
	}
	if text := Explain(w.jobs[0], all[0]); !strings.Contains(text, "aws main/x/a/spot (FedStockOut: spot machines of a were taken from this job at 11:58Z)") {
		t.Error(text)
	}
	if got := all[1].Offers[0].Offering; got != "x/a/spot" {
		t.Errorf("another job: %s", Explain(w.jobs[1], all[1]))
	}
	w.refused[1]["aws"] = decision.Rejection{Parts: []decision.LeftOut{{What: "a"}, {What: "x/b/spot", Reason: reasons.StockOut, Detail: "none left"}}}
	if d := Plan(w.snapshot(), Policy{}).Decisions[0]; d.Offers[0].Offering != "x/a/on-demand" {
		t.Errorf("%s", Explain(w.jobs[0], d))
	}
}

// TestChance: what can seldom be had costs the waiting for it.
func TestChance(t *testing.T) {
	seldom := func(line string) string {
		line = dry("r1")(line)
		if strings.HasPrefix(line, "nodes sa ") {
			line += " chance=0.2"
		}
		return line
	}
	w, d := ladder(t, seldom, "-c4 -t6h")
	text := Explain(w.jobs[0], d)
	want := 4.0 / 60 * 0.20 // four requests in vain, a minute of waiting each, at $0.20 an hour
	if o := d.Offers[0]; o.Offering != "x/a/spot" || math.Abs(float64(term(o, "tries"))-want) > 1e-9 || !strings.Contains(text, "+ tries 0.01 (available 20 % of the time)") {
		t.Error(text)
	}
	w.policy.WaitJobHour = 60 // a minute is worth a dollar
	if d := Plan(w.snapshot(), w.policy).Decisions[0]; d.Offers[0].Offering != "x/b/spot" {
		t.Errorf("it is worth more than the zone saves: %s", Explain(w.jobs[0], d))
	}
}

// TestDeadline: a rung on which the job would end too late is passed over while there is another.
func TestDeadline(t *testing.T) {
	w, _ := ladder(t, dry("r1", "sa", "sb"), "-c4 -t8h") // expected to run 4 h
	w.sites[1].Seen.Nodes[0].Rented.PricePerHour = 0.5   // queued for 3 h, but cheap
	plan := func() decision.Decision { return Plan(w.snapshot(), Policy{}).Decisions[0] }
	if d := plan(); d.Offers[0].Offering != "y/c/flex" {
		t.Fatalf("without a deadline: %s", Explain(w.jobs[0], d))
	}
	spec := *w.jobs[0].Spec
	spec.Deadline = w.now.Add(5 * time.Hour)
	w.jobs[0].SetSpec(spec)
	d := plan()
	text := Explain(w.jobs[0], d)
	if d.Offers[0].Offering != "x/a/on-demand" || !strings.Contains(text, "late (would end at 2026-11-20T19:00Z, after the deadline)") {
		t.Error(text)
	}
	spec.Deadline = w.now.Add(time.Hour) // none makes it: the cheapest, for what is expected may be wrong
	w.jobs[0].SetSpec(spec)
	if d := plan(); d.Offers[0].Offering != "y/c/flex" {
		t.Errorf("too late everywhere: %s", Explain(w.jobs[0], d))
	}
	spec.Deadline = w.now.Add(4*time.Hour + 2*time.Minute) // on demand makes it; on spot it would lose some work
	w.jobs[0].SetSpec(spec)
	for i := range w.sites[0].Seen.Nodes {
		n := &w.sites[0].Seen.Nodes[i]
		if n.Rented.Market == "spot" {
			n.State, n.Rented.Refused = []string{"IDLE", "CLOUD", "POWERED_DOWN"}, nil
		}
	}
	if d := plan(); d.Offers[0].Offering != "x/a/on-demand" {
		t.Errorf("spot would be late: %s", Explain(w.jobs[0], d))
	}
}

// TestClimbEnds: a job that is refused everywhere, or loses each machine, climbs a bounded number of rungs and stops; with some rung left it gets the cheapest of those.
func TestClimbEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "offerings")
		w := newWorld()
		lines, nodes := []string{"", ""}, []string{}
		price := map[string]float64{}
		for i := range n {
			market := rapid.SampledFrom([]string{"spot", "on-demand", "flex"}).Draw(t, "market")
			id := fmt.Sprintf("x%d/%s/%s", i, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "zone"), market)
			price[id] = float64(rapid.IntRange(1, 50).Draw(t, "price"))
			lines = append(lines, fmt.Sprintf("nodes n%d cpus=4 mem=4000 state=IDLE,CLOUD,POWERED_DOWN boot=60s rent=%s@%v", i, id, price[id]))
			nodes = append(nodes, fmt.Sprintf("n%d", i))
		}
		lines[0], lines[1] = "site aws tasks", "partition main default nodes="+strings.Join(nodes, ",")
		w.read(&failer{T: t}, strings.Join(lines, "\n"))
		w.jobs = append(w.jobs, w.job(&failer{T: t}, split("1 -c4 -t1h")))
		var left []decision.LeftOut
		tried := map[string]bool{}
		for climbed := 0; ; climbed++ {
			w.refused[1] = map[federation.SiteName]decision.Rejection{"aws": {Parts: left}}
			if len(left) == 0 {
				delete(w.refused, 1)
			}
			d := Plan(w.snapshot(), Policy{}).Decisions[0]
			if !d.Bind {
				if d.Impossible() {
					t.Fatalf("it is refused for good: %s", Explain(w.jobs[0], d))
				}
				break
			}
			o := d.Offers[0]
			if tried[o.Offering] || climbed >= n {
				t.Fatalf("rung %d is %s again: %v", climbed, o.Offering, left)
			}
			for id, p := range price { // nothing cheaper is left
				free := !slices.ContainsFunc(left, func(l decision.LeftOut) bool {
					parts := strings.Split(id, "/")
					return l.What == id || parts[2] == "spot" && l.What == parts[1]
				})
				if free && p < price[o.Offering] {
					t.Fatalf("%s at $%v where %s costs $%v", o.Offering, price[o.Offering], id, p)
				}
			}
			tried[o.Offering] = true
			what := o.Offering
			if o.Market == "spot" && rapid.Bool().Draw(t, "taken back") {
				what = o.Zone
			}
			left = append(left, decision.LeftOut{What: what, Reason: reasons.StockOut})
		}
	})
}
