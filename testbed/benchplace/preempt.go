package main

import (
	"cmp"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/federation/place"
	"fsub/federation/replay"
	"fsub/sbatch"
)

// holder is a job of the trace that runs at one instant.
type holder struct {
	gpus int
	lost time.Duration // if it is ended now
	age  time.Duration
}

func (h *holder) hours() float64 { return float64(h.gpus) * h.lost.Hours() }

// preemption frees GPUs at 150 instants of the trace, each job running from its submission, and tells how much work is lost: by the planner, and by other rules on the
// same jobs.
func preemption() (string, error) {
	file, err := tracesFile("philly_2017_sia.csv.gz")
	if err != nil {
		return "", err
	}
	jobs, err := readTrace(file)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| to be freed | checkpoints | oldest | random | youngest | least lost per GPU, nobody in vain | **this planner** | of the least |\n|---|---|---|---|---|---|---|---|\n")
	for _, c := range []struct {
		free  int
		whole bool
		every time.Duration
		words string
	}{{8, false, time.Hour, "8 GPUs anywhere"}, {8, false, 0, "8 GPUs anywhere"}, {64, false, time.Hour, "64 GPUs anywhere"}, {64, false, 0, "64 GPUs anywhere"},
		{8, true, time.Hour, "a node of 8 GPUs"}, {8, true, 0, "a node of 8 GPUs"}} {
		instants := 150
		if small {
			instants = 2
		}
		rng := rand.New(rand.NewSource(7))
		var oldest, random, youngest, least, ours float64
		for range instants {
			at, running := instant(jobs, rng, c.free)
			held := holders(jobs, running, at, c.every)
			if c.whole {
				least += leastNode(held, pack(held))
			} else {
				least += lostBy(held, c.free, true, func(x, y *holder) int { return cmp.Or(cmp.Compare(x.lost, y.lost), cmp.Compare(x.age, y.age)) })
				oldest += lostBy(held, c.free, false, func(x, y *holder) int { return cmp.Compare(y.age, x.age) })
				youngest += lostBy(held, c.free, false, func(x, y *holder) int { return cmp.Compare(x.age, y.age) })
				mixed := slices.Clone(held)
				rng.Shuffle(len(mixed), func(i, k int) { mixed[i], mixed[k] = mixed[k], mixed[i] })
				random += lostBy(mixed, c.free, false, func(x, y *holder) int { return 0 })
			}
			lost, err := lostByPlanner(held, at, c.free, c.whole, c.every)
			if err != nil {
				return "", err
			}
			ours += lost
		}
		words := "none"
		if c.every > 0 {
			words = "hourly"
		}
		others := fmt.Sprintf("%s | %s | %s", hoursLost(oldest/float64(instants)), hoursLost(random/float64(instants)), hoursLost(youngest/float64(instants)))
		if c.whole {
			others = " | | "
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | **%s** | %.2f |\n", c.words, words, others, hoursLost(least/float64(instants)), hoursLost(ours/float64(instants)), ours/least)
		fmt.Fprintf(os.Stderr, "preemption: %s, checkpoints %s: %s\n", c.words, words, hoursLost(ours/float64(instants)))
	}
	return b.String(), nil
}

func hoursLost(h float64) string {
	if h >= 10 {
		return strconv.FormatFloat(h, 'f', 0, 64)
	}
	return strconv.FormatFloat(h, 'f', 2, 64)
}

// instant draws a time at which jobs hold so many GPUs at least, and says which run. The first and the last tenth of the trace, which fills and empties, are left out.
func instant(jobs []replay.Job, rng *rand.Rand, gpus int) (at time.Time, running []int) {
	first, span := jobs[0].Submit, jobs[len(jobs)-1].Submit.Sub(jobs[0].Submit)
	for {
		at, running = first.Add(time.Duration((.1+.8*rng.Float64())*float64(span))), nil
		sum := 0
		for i := range jobs {
			if j := &jobs[i]; !j.Submit.After(at) && j.Submit.Add(j.Run).After(at) {
				running = append(running, i)
				sum += replay.GPUs(j.Job)
			}
		}
		if sum >= gpus {
			return at, running
		}
	}
}

func holders(jobs []replay.Job, running []int, at time.Time, every time.Duration) (all []holder) {
	for _, i := range running {
		h := holder{gpus: replay.GPUs(jobs[i].Job), age: at.Sub(jobs[i].Submit)}
		h.lost = h.age
		if every > 0 {
			h.lost %= every
		}
		all = append(all, h)
	}
	return all
}

// lostBy ends jobs in an order until enough GPUs are free, and returns the GPU-hours that are lost. spare: those whose end turns out not to be needed go on.
func lostBy(held []holder, free int, spare bool, order func(x, y *holder) int) (hours float64) {
	list := slices.Clone(held)
	slices.SortStableFunc(list, func(x, y holder) int { return order(&x, &y) })
	got := 0
	for i := range list {
		if got >= free {
			list = list[:i]
			break
		}
		got += list[i].gpus
	}
	for i := len(list) - 1; i >= 0; i-- {
		if spare && got-list[i].gpus >= free {
			got -= list[i].gpus
			continue
		}
		hours += list[i].hours()
	}
	return hours
}

// pack puts jobs on nodes of eight GPUs, each where it leaves the least room, larger ones on nodes of their own. It returns each job's nodes.
func pack(held []holder) (on [][]int) {
	var free []int
	for i := range held {
		var nodes []int
		for left := held[i].gpus; left > 0; left -= 8 {
			need, best := min(left, 8), -1
			for n, f := range free {
				if f >= need && (held[i].gpus <= 8 || f == 8) && (best < 0 || f < free[best]) && !slices.Contains(nodes, n) {
					best = n
				}
			}
			if best < 0 {
				best, free = len(free), append(free, 8)
			}
			free[best] -= need
			nodes = append(nodes, best)
		}
		on = append(on, nodes)
	}
	return on
}

// leastNode is the least that is lost by emptying one node.
func leastNode(held []holder, on [][]int) float64 {
	lost := map[int]float64{}
	for i, nodes := range on {
		for _, n := range nodes {
			lost[n] += held[i].hours()
		}
	}
	least := -1.0
	for _, h := range lost {
		if least < 0 || h < least {
			least = h
		}
	}
	return least
}

// lostByPlanner has a job of a higher QOS come to a full site where they run.
func lostByPlanner(held []holder, now time.Time, free int, whole bool, every time.Duration) (float64, error) {
	var on [][]int
	perNode, count := 1, 0
	if whole {
		on, perNode = pack(held), 8
	} else {
		for i := range held {
			var nodes []int
			for range held[i].gpus {
				nodes = append(nodes, count)
				count++
			}
			on = append(on, nodes)
		}
	}
	for _, nodes := range on {
		count = max(count, slices.Max(nodes)+1)
	}
	site, err := replay.ParseSite(fmt.Sprintf("s=%dx%d:p100,price=1", count, perNode))
	if err != nil {
		return 0, err
	}
	obs := site.Seen
	for i := range held {
		left := held[i].gpus
		id := federation.JobID(i + 1)
		r := federation.RunningJob{Job: id, End: now.Add(14 * 24 * time.Hour)}
		gpus := min(left, perNode)
		r.CPUs, r.Mem = 12*gpus, sbatch.MemMiB(gpus)<<10
		r.GRES = []federation.GRES{{Name: "gpu", Type: "p100", Used: gpus}}
		for _, n := range on[i] {
			nd := &obs.Nodes[n]
			nd.GRES[0].Used += gpus
			nd.CPUsUsed += r.CPUs
			nd.MemUsed += r.Mem
			nd.State = []string{"MIXED"}
			r.Nodes = append(r.Nodes, nd.Name)
		}
		obs.Running = append(obs.Running, r)
		j := preemptionJob(id, "low", len(on[i]), gpus)
		if every > 0 {
			j.Spec.Fed = &sbatch.Fed{Checkpoint: every}
		}
		j.State, j.Start = federation.Running, now.Add(-held[i].age)
		site.Ours = append(site.Ours, j)
	}
	site.Pools = place.Pools(site.Name, obs)
	nodes, gpus := free, 1
	if whole {
		nodes, gpus = 1, 8
	}
	rules := &federation.Preempting{QOS: map[string]federation.PreemptQOS{"high": {Over: map[string]bool{"low": true}}}}
	plan := place.Plan(federation.Snapshot{Now: now, Sites: []*federation.Site{site}, Jobs: []*federation.Job{preemptionJob(1<<20, "high", nodes, gpus)}, Preempting: rules}, place.DefaultPolicy())
	d := plan.Decisions[0]
	if d.Preempt == nil {
		if d.Bind {
			return 0, nil // there is room without
		}
		return 0, fmt.Errorf("at %s nobody makes room for %d GPUs: %s", now, free, d.Reason)
	}
	hours := 0.0
	for _, v := range d.Preempt.Victims {
		hours += float64(held[v.Job-1].gpus) * v.Lost.Hours()
	}
	return hours, nil
}

func preemptionJob(id federation.JobID, qos string, nodes, gpus int) *federation.Job {
	spec := &sbatch.Spec{QOS: qos, MinNodes: nodes, MaxNodes: nodes, NTasks: nodes, CPUsPerTask: 12 * gpus, GPUsPerNode: strconv.Itoa(gpus), TimeLimit: 24 * time.Hour, MemPerNode: sbatch.MemMiB(gpus) << 10}
	return &federation.Job{ID: id, User: "ann", State: federation.Pending, Submit: time.Unix(1e9, 0), Spec: spec, Demand: demand.Of(spec)}
}
