package place

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/reasons"
)

// allow gives a partition of the first site an allowance from now on.
func (w *world) allow(part int, name string, span time.Duration, budget, spent, bound float64) {
	p := &w.sites[0].Seen.Partitions[part]
	p.Allowances = append(p.Allowances, federation.Allowance{Name: name, From: w.now.Add(-time.Hour), Until: w.now.Add(span),
		Budget: accounting.MoneyOf(budget), Spent: accounting.MoneyOf(spent), Bound: accounting.MoneyOf(bound)})
}

// A job that could cost more than is left of a pool's budget goes elsewhere, or waits, and the explanation has the figures.
func TestBudgetRefuses(t *testing.T) {
	w := newWorld()
	w.read(t, `site aws tasks
partition small default nodes=s[1-4]
partition main default nodes=m[1-4]
nodes s[1-4] cpus=4 mem=4000 state=IDLE,CLOUD rent=x/a/spot@1
nodes m[1-4] cpus=4 mem=4000 state=IDLE,CLOUD,POWERED_DOWN rent=y/a/spot@2 boot=60s
job 1 -N2 -t10h
job 2 -N2 -t1h
job 3 -N1 -t1000h`)
	w.allow(0, "today", 24*time.Hour, 50, 32, 10)
	w.allow(1, "today", 8*time.Hour, 100, 10, 10)
	plan := Plan(w.snapshot(), Policy{})
	for i, want := range []string{
		"not viable: aws small/x/a/spot (FedBudget: may cost $20.03 today until its time limit, $8.00 left: of $50.00 $32.00 spent, $10.00 bound by running jobs)",
		"-> aws small/x/a/spot",
		"-> aws main/y/a/spot", // until the allowance's end it costs $16
	} {
		if got := strings.ReplaceAll(Explain(w.jobs[i], plan.Decisions[i]), "\n", " "); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	w.sites[0].Seen.Partitions[1].Allowances[0].Bound = 90 * federation.Dollar
	d := Plan(w.snapshot(), Policy{}).Decisions[0]
	if d.Bind || d.Reason != reasons.Budget || d.Impossible() {
		t.Errorf("%s", Explain(w.jobs[0], d))
	}
}

// The jobs of one plan together cost no more than is left, however they are drawn, and what is refused for its cost would indeed pass the budget.
func TestPlanStaysWithinBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		price, left := rapid.Float64Range(0.1, 5).Draw(t, "price"), rapid.Float64Range(0, 60).Draw(t, "left")
		boot := rapid.SampledFrom([]string{"", " boot=90s"}).Draw(t, "boot")
		w.read(&failer{T: t}, fmt.Sprintf("site aws tasks\npartition main default nodes=n[1-8]\nnodes n[1-8] cpus=4 mem=4000 state=IDLE,CLOUD rent=x/a/spot@%v%s", price, boot))
		span := time.Duration(rapid.IntRange(1, 48).Draw(t, "hours")) * time.Hour
		w.allow(0, "today", span, 100, (100-left)/2, (100-left)/2)
		n := rapid.IntRange(1, 12).Draw(t, "jobs")
		for i := range n {
			w.jobs = append(w.jobs, w.job(&failer{T: t}, split(fmt.Sprintf("%d -N%d -t%dm", i+1, rapid.IntRange(1, 4).Draw(t, "nodes"), rapid.IntRange(1, 1200).Draw(t, "limit")))))
		}
		sum := federation.Money(0)
		for i, d := range Plan(w.snapshot(), Policy{Backlog: -1}).Decisions {
			cost := price * float64(w.jobs[i].Spec.MinNodes) * min(w.jobs[i].Spec.TimeLimit, span).Hours()
			if d.Bind {
				sum += accounting.MoneyOf(cost)
			}
			for _, r := range d.Rejections {
				if r.Reason == reasons.Budget && cost+price*float64(w.jobs[i].Spec.MinNodes)*0.05 < left {
					t.Fatalf("a job of $%v is refused where $%v are left: %s", cost, left, Explain(w.jobs[i], d))
				}
			}
		}
		if sum > accounting.MoneyOf(left) {
			t.Fatalf("jobs for $%v are bound where $%v are left", sum, left)
		}
	})
}

// A job that may run for longer than the nodes are there is not started on them, though they cost nothing.
func TestNodesUntil(t *testing.T) {
	w := newWorld()
	w.read(t, `site aws tasks
partition main default nodes=b[1-4],m[1-4]
nodes b[1-4] cpus=4 mem=4000 state=IDLE,CLOUD,POWERED_DOWN rent=x/a/block/cr-1@0 boot=2m
nodes m[1-4] cpus=4 mem=4000 state=IDLE,CLOUD,POWERED_DOWN rent=x/a/on-demand@2 boot=2m
job 1 -N1 -t5h50m
job 2 -N1 -t5h59m
job 3 -N1`)
	for i := range 4 {
		w.sites[0].Seen.Nodes[i].Rented.Until = w.now.Add(6 * time.Hour)
	}
	plan := Plan(w.snapshot(), Policy{})
	for i, want := range []string{"x/a/block/cr-1", "x/a/on-demand", "x/a/on-demand"} {
		d := plan.Decisions[i]
		if !d.Bind || d.Offers[0].Offering != want {
			t.Errorf("%s\nwant %s", Explain(w.jobs[i], d), want)
		}
	}
	if text := Explain(w.jobs[1], plan.Decisions[1]); !strings.Contains(text, "ReqNodeNotAvail: may run for 05:59:00, and the nodes are there until 2026-11-20T18:00Z") {
		t.Error(text)
	}
}

// Of a range of nodes a driver gives as many as there are: if that could cost too much it would give the job back again and again.
func TestBudgetOfRange(t *testing.T) {
	w := newWorld()
	w.read(t, `site aws tasks
partition main default nodes=n[1-8]
nodes n[1-8] cpus=4 mem=4000 state=IDLE,CLOUD,POWERED_DOWN rent=x/a/spot@1 boot=60s
job 1 -N1-8 -t2h
job 2 -N1-8 -t1h
job 3 -N1-8 -n3 -t2h
job 4 -N1-64 -t2h
job 5 -n3 -t2h
job 6 -N1`)
	w.allow(0, "today", 24*time.Hour, 10, 0, 0)
	all := w.jobs
	for i, want := range []string{
		"(FedBudget: may cost $16.27 today until its time limit, $10.00 left: of $10.00 $0.00 spent, $0.00 bound by running jobs (on up to 8 nodes))",
		"-> aws main", "-> aws main",
		"(FedBudget: may cost $16.27 today",
		"-> aws main",
		"$0.00 bound by running jobs (it has no time limit: 24.0 h are assumed))",
	} {
		w.jobs = all[i : i+1]
		d := Plan(w.snapshot(), Policy{}).Decisions[0]
		if got := strings.ReplaceAll(Explain(all[i], d), "\n", " "); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// The components of a heterogeneous job are paid together.
func TestBudgetOfComponents(t *testing.T) {
	w := newWorld()
	w.read(t, `site aws tasks
partition main default nodes=n[1-8]
nodes n[1-8] cpus=4 mem=4000 state=IDLE,CLOUD,POWERED_DOWN rent=x/a/spot@1 boot=60s
job 1 -N1 -t4h : -N1 -t4h
job 2 -N1 -t2h : -N1 -t2h
job 3 -N1 -t1h : -N1 -t1h
job 4 -N1 -t1h`)
	w.allow(0, "today", 24*time.Hour, 5.5, 0, 0)
	for i, d := range Plan(w.snapshot(), Policy{}).Decisions {
		if want := i == 1 || i == 3; d.Bind != want { // the third finds $1.43 left, the fourth takes $1.03 of them
			t.Errorf("%s", Explain(w.jobs[i], d))
		}
	}
	d := Plan(w.snapshot(), Policy{}).Decisions[0]
	if d.Reason != reasons.Budget || d.Impossible() || !strings.Contains(Explain(w.jobs[0], d), "may cost $8.07 today") {
		t.Errorf("%s", Explain(w.jobs[0], d))
	}
}
