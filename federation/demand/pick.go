package demand

import (
	"cmp"
	"math"
	"slices"
)

// ranged reports whether the job takes more nodes than it must have, if they are there. GPUs of the whole job are not spread further.
func (t *target) ranged() bool {
	return (t.spread || t.maxNodes > t.minNodes && !t.useMin) && t.gpusJob == 0 && t.gpusTask == 0
}

// most is the number of nodes that a ranged job takes if all nodes are free.
func (t *target) most() int {
	most := t.maxNodes
	if most == 0 {
		most = math.MaxInt32
		if !t.counted {
			return t.minNodes
		}
	}
	if t.counted && !t.exact {
		return t.sizedDown(min(most, t.tasks))
	}
	return t.sizedDown(most)
}

// choose picks nodes out of the candidates and shares tasks and GPUs out among them; nil: they do not do. What it returns is in the order of the nodes.
func (n *Ask) choose(c []candidate) []candidate {
	if len(c) < n.minNodes {
		return nil
	}
	if got := n.tightest(c); got != nil {
		n.deal(got, 1)
		return got
	}
	for _, order := range [...]func(*target, []candidate) []candidate{(*target).inRuns, byRoom} {
		seq := order(&n.target, c)
		few := n.fewest(seq)
		if few == 0 {
			continue
		}
		k := few
		if n.ranged() {
			k = max(few, n.sizedDown(min(len(seq), n.most())))
		}
		if n.final > 0 && n.final < k || n.byGPU() && n.gpusJob < k || n.asked && n.tasks < k && n.gpusJob > 0 { // slurmctld leaves it waiting
			return nil
		}
		got := seq[:k]
		n.deal(got, few)
		slices.SortFunc(got, func(a, b candidate) int { return a.node - b.node })
		return got
	}
	return nil
}

// tightest is the one node for a job that one can hold: of those that can, the one with the fewest CPUs.
func (t *target) tightest(c []candidate) []candidate {
	if t.minNodes > 1 || t.ranged() && t.most() > 1 || t.sized(1) != 1 {
		return nil
	}
	must := slices.ContainsFunc(c, isRequired)
	var best []candidate
	for _, run := range t.runs(c) {
		for i := range run {
			one := run[i : i+1]
			if must && !one[0].required || !t.enough(one[0].tasks, one[0].gpus) {
				continue
			}
			if best == nil || one[0].cpus < best[0].cpus {
				best = one
			}
		}
		if best != nil {
			return slices.Clone(best)
		}
	}
	return nil
}

func (t *target) enough(tasks, gpus int) bool {
	return (t.exact || tasks >= t.tasks) && gpus >= t.gpusJob
}

// fewest is how many nodes of a sequence, from its first one on, hold the job; 0: all of them do not, or the job may not have so many.
func (t *target) fewest(seq []candidate) int {
	tasks, gpus, required := 0, 0, 0
	for i := range seq {
		if seq[i].required {
			required = i + 1
		}
	}
	for i := range seq {
		tasks += seq[i].tasks
		gpus += seq[i].gpus
		k := i + 1
		if t.byGPU() && k < t.minNodes && t.enough(tasks, gpus) {
			return 0 // slurmctld keeps nothing for the others
		}
		if k < t.minNodes || k < required || !t.enough(tasks, gpus) || t.sized(k) != k {
			continue
		}
		if t.maxNodes > 0 && k > t.maxNodes {
			return 0
		}
		return k
	}
	return 0
}

// inRuns is the order in which nodes are taken: a run of neighbours after the other.
func (t *target) inRuns(c []candidate) []candidate {
	seq := make([]candidate, 0, len(c))
	if t.spread {
		return append(seq, c...)
	}
	for _, run := range t.runs(c) {
		switch first := slices.IndexFunc(run, isRequired); {
		case first >= 0:
			seq = append(seq, fromRequired(run, first)...)
		case t.gpusJob > 0 || t.gpusTask > 0:
			run = slices.Clone(run)
			slices.SortStableFunc(run, func(a, b candidate) int { return b.gpus - a.gpus })
			fallthrough
		default:
			seq = append(seq, run...)
		}
	}
	return seq
}

// runs are the runs of neighbours, in the order in which they are taken: that with what the job names first, else one that is enough, the smallest, else
// the largest.
func (t *target) runs(c []candidate) [][]candidate {
	var runs [][]candidate
	for i := 0; i < len(c); {
		end := i + 1
		for end < len(c) && c[end].node == c[end-1].node+1 {
			end++
		}
		runs = append(runs, c[i:end])
		i = end
	}
	nodes, tasks := t.minNodes, t.tasks
	if t.ranged() {
		nodes = min(len(c), t.most())
	}
	for first := range runs {
		best := first
		for i := first + 1; i < len(runs); i++ {
			if t.better(runs[i], runs[best], nodes, tasks) {
				best = i
			}
		}
		run := runs[best]
		copy(runs[first+1:best+1], runs[first:best])
		runs[first] = run
		nodes -= len(run)
		for i := range run {
			tasks -= run[i].tasks
		}
	}
	return runs
}

// better reports whether a run of nodes is rather taken than another, by a job that lacks so many nodes and tasks.
func (t *target) better(a, b []candidate, nodes, tasks int) bool {
	ra, rb := slices.ContainsFunc(a, isRequired), slices.ContainsFunc(b, isRequired)
	if ra != rb {
		return ra
	}
	ea, eb := t.enoughIn(a, nodes, tasks), t.enoughIn(b, nodes, tasks)
	switch {
	case ea != eb:
		return ea
	case ea:
		return cpus(a) < cpus(b)
	}
	return cpus(a) > cpus(b)
}

func (t *target) enoughIn(run []candidate, nodes, tasks int) bool {
	room, gpus := 0, 0
	for i := range run {
		room, gpus = room+run[i].tasks, gpus+run[i].gpus
	}
	return len(run) >= nodes && (t.exact || room >= tasks) && gpus >= t.gpusJob
}

func isRequired(x candidate) bool { return x.required }

func cpus(run []candidate) (sum int) {
	for i := range run {
		sum += run[i].cpus
	}
	return sum
}

// fromRequired is the order within a run: what the job names, what follows the first of these, what is before it.
func fromRequired(run []candidate, first int) []candidate {
	seq := make([]candidate, 0, len(run))
	for _, required := range [...]bool{true, false} {
		for _, x := range run[first:] {
			if x.required == required {
				seq = append(seq, x)
			}
		}
	}
	for i := first - 1; i >= 0; i-- {
		seq = append(seq, run[i])
	}
	return seq
}

// byRoom sorts a copy: what is named first, then by GPUs of the job's total, then by tasks; among equals the first one.
func byRoom(_ *target, c []candidate) []candidate {
	c = slices.Clone(c)
	slices.SortStableFunc(c, func(a, b candidate) int {
		return cmp.Or(requiredFirst(a, b), b.gpus-a.gpus, b.tasks-a.tasks)
	})
	return c
}

func requiredFirst(a, b candidate) int {
	switch {
	case a.required == b.required:
		return 0
	case a.required:
		return -1
	}
	return 1
}
