package main

import (
	"math"

	"fsub/federation/replay"
)

// leastRented is the least GPU-time in hours that must be rented beside so many owned GPUs, if no job may end later than it did: the maximum flow from jobs through the
// hours of their time to the GPUs of those hours, where a job may be interrupted and moved at will but never holds more GPUs than it asks for.
// No policy can do better with these ends. The flow is found by Dinic's algorithm.
func leastRented(r *replay.Result, gpus int) float64 {
	last := 0.0
	for i := range r.Jobs {
		last = max(last, r.Jobs[i].End.Sub(r.Begin).Hours())
	}
	hours := int(last) + 1
	g := newFlow(2 + len(r.Jobs) + hours)
	total := 0.0
	for i := range r.Jobs {
		o := &r.Jobs[i]
		from, until := o.Submit.Sub(r.Begin).Hours(), o.End.Sub(r.Begin).Hours()
		work := float64(o.GPUs) * o.End.Sub(o.Start).Hours()
		total += work
		g.edge(0, 2+i, work)
		for h := int(from); h <= int(until); h++ {
			if span := min(until, float64(h+1)) - max(from, float64(h)); span > 0 {
				g.edge(2+i, 2+len(r.Jobs)+h, float64(o.GPUs)*span)
			}
		}
	}
	for h := range hours {
		g.edge(2+len(r.Jobs)+h, 1, float64(gpus))
	}
	return total - g.most()
}

// flow is a network from node 0 to node 1. The edge after an edge of even number is the way back.
type flow struct {
	to    []int32
	room  []float64
	of    [][]int32 // by node: numbers of edges
	level []int32
	next  []int
}

func newFlow(nodes int) *flow {
	return &flow{of: make([][]int32, nodes), level: make([]int32, nodes), next: make([]int, nodes)}
}

func (g *flow) edge(from, to int, room float64) {
	e := int32(len(g.to))
	g.to, g.room = append(g.to, int32(to), int32(from)), append(g.room, room, 0)
	g.of[from], g.of[to] = append(g.of[from], e), append(g.of[to], e+1)
}

// little is less than what counts, in GPU-hours.
const little = 1e-6

func (g *flow) most() (sum float64) {
	for g.levels() {
		clear(g.next)
		sum += g.push(0, math.Inf(1))
	}
	return sum
}

// levels numbers nodes by their distance; it is false if there is no way to node 1 any more.
func (g *flow) levels() bool {
	for i := range g.level {
		g.level[i] = -1
	}
	g.level[0] = 0
	for queue := []int32{0}; len(queue) > 0; queue = queue[1:] {
		for _, e := range g.of[queue[0]] {
			if to := g.to[e]; g.room[e] > little && g.level[to] < 0 {
				g.level[to] = g.level[queue[0]] + 1
				queue = append(queue, to)
			}
		}
	}
	return g.level[1] >= 0
}

// push sends so much on from a node at most, and returns how much has arrived.
func (g *flow) push(at int32, most float64) (sent float64) {
	if at == 1 {
		return most
	}
	for ; g.next[at] < len(g.of[at]); g.next[at]++ {
		e := g.of[at][g.next[at]]
		if to := g.to[e]; g.room[e] > little && g.level[to] == g.level[at]+1 {
			got := g.push(to, min(most-sent, g.room[e]))
			g.room[e] -= got
			g.room[e^1] += got
			if sent += got; most-sent <= little {
				return sent
			}
		}
	}
	return sent
}
