package main

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"fsub/federation/replay"
)

// drf replays jobs under Armada's rule, on nodes of eight GPUs at four clusters, and returns their waits: once a minute, as long as anything fits, the next job is that of the account which
// holds fewest GPUs, in the order of submission; phase is how long after the full minute that is. A job that does not fit is passed over. Gangs of whole nodes do not span clusters, and nobody is preempted.
// By Armada's own simulator, at commit 207cc9e, the mean completion is 8,678 s in the eighth week on 600 GPUs.
func drf(jobs []replay.Job, nodes []int, phase time.Duration) []time.Duration {
	free := make([][]int, len(nodes))
	for c, n := range nodes {
		free[c] = slices.Repeat([]int{8}, n)
	}
	waits, held := make([]time.Duration, len(jobs)), map[string]int{}
	queues := map[string][]int{}
	var names []string
	var ends drfEnds
	now, next, waiting := jobs[0].Submit.Add(phase), 0, 0
	for next < len(jobs) || waiting > 0 {
		if waiting == 0 && next < len(jobs) && jobs[next].Submit.After(now) {
			now = jobs[next].Submit.Add(time.Minute - 1).Truncate(time.Minute).Add(phase)
		}
		for len(ends) > 0 && !ends[0].at.After(now) {
			e := heap.Pop(&ends).(drfEnd)
			for _, n := range e.nodes {
				free[e.cluster][n] += e.each
			}
			held[e.account] -= e.each * len(e.nodes)
		}
		for ; next < len(jobs) && !jobs[next].Submit.After(now); next++ {
			a := jobs[next].User
			if queues[a] == nil {
				names = append(names, a)
			}
			queues[a] = append(queues[a], next)
			waiting++
		}
		waiting -= drfRound(jobs, free, queues, held, names, func(i, cluster, each int, on []int) {
			waits[i] = now.Sub(jobs[i].Submit)
			heap.Push(&ends, drfEnd{now.Add(jobs[i].Run), jobs[i].User, cluster, each, on})
		})
		now = now.Add(time.Minute)
	}
	return waits
}

// drfRound starts what fits, and returns how many.
func drfRound(jobs []replay.Job, free [][]int, queues map[string][]int, held map[string]int, names []string, start func(i, cluster, each int, on []int)) (started int) {
	at, none := map[string]int{}, map[int]bool{} // sizes that do not fit
	for {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(held[a], held[b]) })
		found := false
		for _, a := range names {
			for at[a] < len(queues[a]) && none[replay.GPUs(jobs[queues[a][at[a]]].Job)] {
				at[a]++
			}
			if at[a] == len(queues[a]) {
				continue
			}
			i := queues[a][at[a]]
			gpus := replay.GPUs(jobs[i].Job)
			found = true
			cluster, on := drfFit(free, gpus)
			if on == nil {
				none[gpus] = true
				break
			}
			each := min(gpus, 8)
			for _, n := range on {
				free[cluster][n] -= each
			}
			held[a] += each * len(on)
			queues[a] = slices.Delete(queues[a], at[a], at[a]+1)
			start(i, cluster, each, on)
			started++
			break
		}
		if !found {
			return started
		}
	}
}

// drfFit is where a job fits: on the node where it leaves least, or on as many free ones of a cluster as it wants.
func drfFit(free [][]int, gpus int) (cluster int, on []int) {
	if gpus > 8 {
		for c := range free {
			var empty []int
			for n, f := range free[c] {
				if f == 8 {
					empty = append(empty, n)
				}
			}
			if want := (gpus + 7) / 8; len(empty) >= want {
				return c, empty[:want]
			}
		}
		return 0, nil
	}
	least := 9
	for c := range free {
		for n, f := range free[c] {
			if f >= gpus && f < least {
				least, cluster, on = f, c, []int{n}
			}
		}
	}
	return cluster, on
}

// drfEnd is the end of a run.
type drfEnd struct {
	at            time.Time
	account       string
	cluster, each int
	nodes         []int
}

type drfEnds []drfEnd

func (e drfEnds) Len() int           { return len(e) }
func (e drfEnds) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e drfEnds) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *drfEnds) Push(x any)        { *e = append(*e, x.(drfEnd)) }
func (e *drfEnds) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
