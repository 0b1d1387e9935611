package topology

import "strings"

// Traffic is how the nodes of a job talk to each other: it decides what distance costs.
type Traffic uint8

const (
	Collective   Traffic = iota // all-reduce, as data-parallel training does: what is assumed of a gang with GPUs
	NoTraffic                   // each works for itself
	PointToPoint                // with few others, and waits for them: pipelines, exchange of halos
	AllToAll                    // everybody with everybody: mixtures of experts, embeddings, transposes
)

// Traffics are the words for them, in their order.
var Traffics = [...]string{"collective", "none", "point-to-point", "all-to-all"}

// ParseTraffic reads a word for a kind of traffic; ok is false if there is none such.
func ParseTraffic(text string) (t Traffic, ok bool) {
	for i, word := range Traffics {
		if strings.EqualFold(text, word) {
			return Traffic(i), true
		}
	}
	return Collective, false
}

func (t Traffic) String() string { return Traffics[t] }

// cost is what distance costs a run, as a share of its time.
type cost struct {
	level float64 // for each level of switches that the gang's traffic must climb
	apart float64 // more, where no switch joins them
	split float64 // for being split over twice as many nodes as it needs; the most is splitMost
}

// What is assumed until a job's own history says better. Measured and published: Arnold (arXiv 2509.15940): a misplaced job's collectives
// are 17% slower and its point-to-point transfers 70%, 10.6% of a step at 9,600 GPUs; Crux (SIGCOMM'24): contention makes a GPT step 11%
// longer; nccl#319: a ring over two switches instead of one has 43.6 to 39.9 GB/s, 19.5 when badly routed. Gavel's table: spread over
// nodes, jobs on V100 keep .52 of their speed with 4 GPUs and .30 with 8; language models .10 to .21, ResNet-50 all of it.
var costs = [...]cost{
	Collective:   {level: 0.10, apart: 0.10, split: 0.5},
	NoTraffic:    {},
	PointToPoint: {level: 0.15, apart: 0.20, split: 0.3},
	AllToAll:     {level: 0.25, apart: 0.30, split: 1.0},
}

// splitMost bounds what splitting costs: Gavel's median for 8 GPUs on 8 nodes.
const splitMost = 2.3

// Slower is how many times longer a run of such traffic takes on nodes so far apart than on nodes that share a leaf: 1 or more. fewest is how
// many nodes it needs at least.
func (t Traffic) Slower(s Span, fewest int) float64 {
	if s.Nodes < 2 {
		return 1
	}
	c := &costs[t]
	slow := 1 + c.level*float64(s.Level)
	if s.Apart {
		slow += c.apart
	}
	if fewest > 0 && s.Nodes > fewest {
		slow += min(c.split*float64(s.Nodes-fewest)/float64(fewest), splitMost)
	}
	return slow
}
