package place

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

// A job that waits for a node for half an hour is not rented for: that costs $2 more, and half an hour's wait less. With twenty jobs behind it they lose more than that by
// the node that it takes, and so the first ones are rented for, until those that are left are too few.
func TestOthersWait(t *testing.T) {
	plan := func(jobs int) federation.Plan {
		w := newWorld()
		w.policy = Policy{Backlog: -1, WaitJobHour: 1, WaitGPUHour: -1, RunFraction: 1}
		w.read(t, `site own tasks
price node=1
partition main default nodes=n[1-4]
nodes n[1-4] cpus=4 mem=4000 state=ALLOCATED
running n[1-4] cpus=4 mem=4000 end=30m
site sky tasks
partition main default nodes=c[1-40]
nodes c[1-40] cpus=4 mem=4000 rent=c7i/a/on-demand@3.00 state=IDLE,CLOUD`)
		for i := range jobs {
			w.jobs = append(w.jobs, w.job(t, split(fmt.Sprintf("%d -c4 -t1h", i+1))))
		}
		return Plan(w.snapshot(), w.policy)
	}
	if d := plan(1).Decisions[0]; d.Bind || d.Offers[0].Site != "own" || term(d.Offers[0], "others") != 0 {
		t.Errorf("alone: %+v", d.Offers[0])
	}
	const n = 20
	rented, text := 0, ""
	for i, d := range plan(n).Decisions {
		if !d.Bind {
			break
		}
		rented++
		for _, o := range d.Offers {
			if o.Site != "own" {
				continue
			}
			// Of four nodes an hour is held: a quarter of an hour for each job behind, at $1 an hour.
			if want := float64(n-1-i) / 4; math.Abs(float64(term(o, "others"))-want) > 1e-6 {
				t.Errorf("job %d: others lose $%.2f, want $%.2f", d.Job, float64(term(o, "others")), want)
			}
			text = offerText(o, "", " ")
		}
	}
	if rented == 0 || rented == n {
		t.Errorf("%d of %d jobs run on rented nodes", rented, n)
	}
	if !strings.Contains(text, "jobs behind it would wait longer: 1.00 node-hours at $") {
		t.Errorf("the last of them is told: %s", text)
	}
}

// TestPricesHold: in a long queue a job more does not have the plan made anew where nodes are rented, a twentieth of it does.
func TestPricesHold(t *testing.T) {
	const n = 2000
	w := newWorld()
	w.read(t, `site own tasks
price node=1
partition main default nodes=n[1-4]
nodes n[1-4] cpus=4 mem=4000 state=ALLOCATED
running n[1-4] cpus=4 mem=4000 end=30m
site sky tasks
partition main default nodes=c[1-40]
nodes c[1-40] cpus=4 mem=4000 rent=c7i/a/on-demand@3.00 state=ALLOCATED`)
	for i := range n {
		w.jobs = append(w.jobs, w.job(t, split(fmt.Sprintf("%d -c4 -t1h", i+1))))
	}
	s := w.snapshot()
	plan := newWorldOf(&s, w.policy)
	plan.Decide()
	added := 0
	for ; !plan.progress.stale; added++ {
		j := w.job(t, split(fmt.Sprintf("%d -c4 -t1h", n+1+added)))
		plan.SetJob(Waiting{Job: j})
	}
	if want := n/pressAgain + 1; added != want {
		t.Errorf("%d jobs more have the plan made anew, want %d", added, want)
	}
}

func TestMeanRun(t *testing.T) {
	for _, c := range []struct {
		p50, p90 time.Duration
		want     float64
	}{{time.Hour, time.Hour, 3600}, {time.Hour, 10 * time.Hour, .3*360 + .4*3600 + .3*36000}, {0, time.Hour, 1080}} {
		if got := mean(&decision.Expected{P50: c.p50, P90: c.p90}); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("p50 %v, p90 %v: %v s, want %v", c.p50, c.p90, got, c.want)
		}
	}
}
