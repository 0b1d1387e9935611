package place

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation/decision"
)

func term(o *decision.Offer, name string) decision.Dollars {
	for _, t := range o.Terms {
		if t.Name == name {
			return t.Amount
		}
	}
	return 0
}

// Of machines at one price those that are there come first; more than there may be are never given away.
func TestWarmBeforeCold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		warm, cold, down := rapid.IntRange(0, 6).Draw(t, "warm"), rapid.IntRange(0, 6).Draw(t, "cold"), rapid.IntRange(0, 2).Draw(t, "down")
		lines := []string{"site aws tasks", "partition main default"}
		for i := range warm + cold + down {
			state := "state=IDLE,CLOUD"
			switch {
			case i >= warm+cold:
				state = "state=DOWN,CLOUD reason=FedStockOut boot=60s"
			case i >= warm:
				state = "state=IDLE,CLOUD,POWERED_DOWN boot=60s"
			}
			lines = append(lines, fmt.Sprintf("nodes n%d cpus=4 mem=4000 rent=c7i/a/spot@0.50 %s", i, state))
		}
		lines = append(lines[:2:2], rapid.Permutation(lines[2:]).Draw(t, "order")...)
		lines[1] += fmt.Sprintf(" nodes=n[0-%d]", max(warm+cold+down-1, 0))
		w := newWorld()
		w.read(&failer{T: t}, strings.Join(lines, "\n"))
		n := rapid.IntRange(1, 15).Draw(t, "jobs")
		for i := range n {
			w.jobs = append(w.jobs, w.job(&failer{T: t}, split(fmt.Sprintf("%d -c%d -t1h", i+1, rapid.IntRange(1, 4).Draw(t, "cpus")))))
		}
		hot, started := 0, 0
		for i, d := range Plan(w.snapshot(), Policy{Backlog: -1}).Decisions {
			if !d.Bind {
				if len(d.Offers) == 0 && d.Impossible() && len(d.Rejections) > 0 && warm+cold+down > 0 {
					t.Fatalf("refused for good: %s", Explain(w.jobs[i], d))
				}
				continue
			}
			started++
			if term(d.Offers[0], "boot") == 0 {
				hot++
			}
			if hot < started && hot < warm {
				t.Fatalf("job %d waits for a machine to start while %d are there", d.Job, warm-hot)
			}
		}
		if hot != min(n, warm) || started != min(n, warm+cold) {
			t.Fatalf("%d jobs on machines that were there, %d started; %d were there and %d could be", hot, started, warm, warm+cold)
		}
	})
}

// The cheaper of two offerings wins, and what a spot machine's loss is expected to cost counts: worked out here from the formula alone.
func TestSpotAgainstOnDemand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		demand, spot := rapid.Float64Range(0.1, 40).Draw(t, "on demand"), rapid.Float64Range(0.1, 40).Draw(t, "spot")
		interrupts := rapid.Float64Range(0, 2).Draw(t, "interrupts")
		nodes, limit := rapid.IntRange(1, 8).Draw(t, "nodes"), time.Duration(rapid.IntRange(2, 600).Draw(t, "limit"))*time.Minute
		hosts := rapid.SampledFrom([]int{0, 1, 2, 4, 8}).Draw(t, "hosts of a slice")
		lostMost := time.Duration(rapid.IntRange(1, 90).Draw(t, "checkpoint")) * time.Minute
		w := newWorld()
		w.read(&failer{T: t}, fmt.Sprintf("site aws tasks\npartition main default nodes=o[1-8],s[1-8]\n"+
			"nodes o[1-8] cpus=4 mem=4000 state=IDLE,CLOUD rent=x/a/on-demand@%v\nnodes s[1-8] cpus=4 mem=4000 state=IDLE,CLOUD rent=x/a/spot@%v interrupts=%v\n"+
			"job 1 -N%d -t%v", demand, spot, interrupts, nodes, limit))
		for i := range w.sites[0].Seen.Nodes {
			w.sites[0].Seen.Nodes[i].Rented.Hosts = hosts
		}
		d := Plan(w.snapshot(), Policy{LostWork: lostMost}).Decisions[0]
		run := limit.Hours() / 2
		lost := min(run/2, lostMost.Hours())
		onDemand := demand * float64(nodes) * run
		takenBack := math.Ceil(float64(nodes) / float64(max(hosts, 1))) // a slice goes as one
		onSpot := spot*float64(nodes)*run + takenBack*interrupts*run*lost*spot*float64(nodes)
		want := "x/a/on-demand"
		if onSpot < onDemand {
			want = "x/a/spot"
		}
		if math.Abs(onSpot-onDemand) > 1e-6 && d.Offers[0].Offering != want {
			t.Fatalf("on demand $%v, spot $%v: %s", onDemand, onSpot, Explain(w.jobs[0], d))
		}
		for _, o := range d.Offers {
			want := onDemand
			if o.Offering == "x/a/spot" {
				want = onSpot
			}
			if math.Abs(float64(o.Total)-want) > 1e-6*want {
				t.Fatalf("%s comes to %v, want %v", o.Offering, o.Total, want)
			}
		}
	})
}

// What a job is bound to costs no more than it may, however its machines must start.
func TestMaxCostIsTheBill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		most := rapid.Float64Range(0.1, 5).Draw(t, "max cost")
		w.read(&failer{T: t}, fmt.Sprintf("site aws tasks\npartition main default nodes=a[1-4],b[1-4]\n"+
			"nodes a[1-4] cpus=4 mem=4000 state=IDLE,CLOUD,POWERED_DOWN rent=x/a/spot@1 interrupts=0.5 boot=%dm\nnodes b[1-4] cpus=4 mem=4000 state=IDLE,CLOUD rent=y/a/spot@1.1 %s\n"+
			"job 1 -N%d -t1h --max-cost=%v", rapid.IntRange(1, 30).Draw(t, "boot"), rapid.SampledFrom([]string{"", "shared"}).Draw(t, "shared"),
			rapid.IntRange(1, 4).Draw(t, "nodes"), most))
		for _, o := range Plan(w.snapshot(), Policy{WaitJobHour: -1, WaitGPUHour: -1}).Decisions[0].Offers {
			if float64(o.Total) > most+1e-9 {
				t.Fatalf("may cost %v, is offered %+v", most, o)
			}
		}
	})
}

// A pool's shape says what is rented, not whether it must start: nodes in all states of one offering are one pool.
func TestRentedPools(t *testing.T) {
	w := newWorld()
	w.read(t, `site a
partition main default nodes=n[1-5]
nodes n1 cpus=4 mem=1000 rent=t/z/spot@1 boot=60s state=IDLE,CLOUD,POWERED_DOWN
nodes n2 cpus=4 mem=1000 rent=t/z/spot@1 state=IDLE,CLOUD
nodes n3 cpus=4 mem=1000 rent=t/z/on-demand@2 state=IDLE,CLOUD
nodes n4 cpus=4 mem=1000 rent=t/z/spot@1 interrupts=0.5 state=IDLE,CLOUD
nodes n5 cpus=4 mem=1000`)
	var got []string
	for _, p := range Pools("a", w.sites[0].Seen) {
		got = append(got, fmt.Sprint(p.Name, p.Nodes))
		if p.Shape.Rented != nil && p.Shape.Rented.Boot != 0 {
			t.Errorf("the shape of %s takes %v to start", p.Name, p.Shape.Rented.Boot)
		}
	}
	want := []string{"main/t/z/spot[0 1]", "main/t/z/on-demand[2]", "main/t/z/spot-2[3]", "main/cpu4[4]"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
