// Package heartbeat finds the slow nodes of a running gang, and gangs that have stopped, from the heartbeats that its nodes write (#FSUB --heartbeat). A [Track] follows one run;
// a [Record] is what came of it, stored with the run's attempt. It is pure: who reads the heartbeats (the agents of machines) and what follows (rules of health) is elsewhere.
//
// A look is a case when each node has done a step since the last one. In it a node is late whose step took a fifth longer than the median of the others'. Nodes that have
// been late in nine of ten of the last 45 cases are slow, if chance explains that less than once in a million: chance is how often the others are late. A user's
// program knows best how long a step took without the wait for others; where it does not say, what tells is how fast the steps follow each other, which is the same for
// all nodes of a program that goes in step.
package heartbeat

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"fsub/federation/ident"
)

// Beat is what a node of a run wrote last.
type Beat struct {
	Node string
	Rank int           // the node's number in the job
	Step int64         // that it has done; 0: it does not say
	Work time.Duration // what a step took it since it was asked last, without waiting for others; 0: it does not say
	At   time.Time     // when it wrote that
}

// Of are the beats of runs, each with as many nodes as have written any.
type Of map[ident.JobID]Beats

// Beats are those of one run.
type Beats struct {
	Nodes int // of the run
	Of    []Beat
}

const (
	Cases = 45               // looks that are compared
	Every = 20 * time.Second // between two of them, where a site does not say otherwise
	much  = 1.2              // times as long as the others' median is late
	most  = .9               // of the cases
	odds  = 1e-6             // that chance makes a node late so often
	// quiet is how long a run of which no node beats is silent at least before it is said to hang, and pauses how many times its longest silence so far.
	quiet  = 15 * time.Minute
	pauses = 3
)

// Track follows the beats of one run.
type Track struct {
	every time.Duration // between two looks
	began time.Time     // when the run, or what can be told of it, began
	at    time.Time     // of the last case
	last  map[string]Beat
	cases []map[string]float64 // how many times as long a step took each node as the others
	pause time.Duration        // longest between two looks at which some node had beaten
	beat  time.Time            // the last of any node
}

// NewTrack follows a run from now on, with a look every so often; 0: Every.
func NewTrack(now time.Time, every time.Duration) *Track {
	return &Track{every: cmp.Or(every, Every), began: now, beat: now}
}

// Slow is a node that is slower than the others of its gang.
type Slow struct {
	Node  string
	Rank  int
	Times float64 // how many times as long as the others' its step takes, by the median of the cases
	Late  int     // in how many of the last Cases it was
}

// See takes in a look at the beats, and returns the nodes that are slow now, and whether enough cases were seen to tell.
func (t *Track) See(b Beats, now time.Time) (slow []Slow, known bool) {
	before := t.beat
	for _, x := range b.Of {
		if x.At.After(t.beat) {
			t.beat = x.At
		}
	}
	if t.last != nil && t.beat.After(before) {
		t.pause = max(t.pause, t.beat.Sub(before))
	}
	if len(b.Of) == b.Nodes && b.Nodes > 1 && t.add(b.Of, now) && len(t.cases) == Cases {
		return t.slow(b.Of), true
	}
	return nil, false
}

// add makes a case of a look, if each node has done a step since the last one.
func (t *Track) add(beats []Beat, now time.Time) bool {
	if now.Sub(t.at) < t.every-t.every/10 {
		return false
	}
	says := !slices.ContainsFunc(beats, func(x Beat) bool { return x.Work <= 0 })
	one := make(map[string]float64, len(beats))
	for _, x := range beats {
		was, ok := t.last[x.Node]
		if !ok || x.Step < was.Step { // it is seen for the first time, or has begun again
			t.restart(beats, now)
			return false
		}
		if x.Step == was.Step || !x.At.After(was.At) {
			return false
		}
		if one[x.Node] = x.Work.Seconds(); !says {
			one[x.Node] = x.At.Sub(was.At).Seconds() / float64(x.Step-was.Step)
		}
	}
	t.keep(beats, now)
	if t.cases = append(t.cases, ratios(one)); len(t.cases) > Cases {
		t.cases = slices.Delete(t.cases, 0, 1)
	}
	return true
}

func (t *Track) restart(beats []Beat, now time.Time) {
	t.cases = nil
	t.keep(beats, now)
}

func (t *Track) keep(beats []Beat, now time.Time) {
	t.at, t.last = now, make(map[string]Beat, len(beats))
	for _, x := range beats {
		t.last[x.Node] = x
	}
}

// ratios are how many times as long each node's step took as the median of the others'.
func ratios(took map[string]float64) map[string]float64 {
	sorted, out := slices.Sorted(maps.Values(took)), make(map[string]float64, len(took))
	for node, v := range took {
		middle := (len(sorted) - 1) / 2 // of the others: the node itself is left out
		if v <= sorted[middle] {
			middle++
		}
		out[node] = v / max(sorted[middle], 1e-9)
	}
	return out
}

// slow are the nodes that were late more often than chance makes them.
func (t *Track) slow(beats []Beat) (list []Slow) {
	late, all := map[string]int{}, 0
	for _, one := range t.cases {
		for node, ratio := range one {
			if ratio > much {
				late[node]++
				all++
			}
		}
	}
	for _, x := range beats {
		n := late[x.Node]
		usual := float64(all-n+1) / float64(Cases*(len(beats)-1)+10)
		if float64(n) < most*Cases || Tail(Cases, n, min(max(usual, .05), .5))*float64(len(beats)) > odds {
			continue
		}
		times := make([]float64, len(t.cases))
		for i, one := range t.cases {
			times[i] = one[x.Node]
		}
		slices.Sort(times)
		list = append(list, Slow{Node: x.Node, Rank: x.Rank, Times: times[len(times)/2], Late: n})
	}
	if 2*len(list) > len(beats) { // that is how the program is
		return nil
	}
	return list
}

// Tail is how likely a coin that falls so with the likelihood p does so at least k times of n.
func Tail(n, k int, p float64) (sum float64) {
	at := func(k int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log(1-p))
	}
	for ; k <= n; k++ {
		x := at(k)
		if sum += x; x < sum*1e-12 {
			break // what follows is less still
		}
	}
	return sum
}

// Silent returns since when no node has beaten, if that is so long that the run is said to hang; zero: it is not. A run that has not beaten at all is silent since it began.
func (t *Track) Silent(now time.Time) time.Time {
	if now.Sub(t.beat) < max(quiet, pauses*t.pause) {
		return time.Time{}
	}
	return t.beat
}

// Beaten reports whether any node has beaten since the track began.
func (t *Track) Beaten() bool { return t.beat.After(t.began) }

// Behind are the nodes that had done the fewest steps when a run went silent, and how many steps that is less than others; none, if all had done as many.
func Behind(beats []Beat) (nodes []string, by int64) {
	if len(beats) == 0 {
		return nil, 0
	}
	least, most := beats[0].Step, beats[0].Step
	for _, x := range beats {
		least, most = min(least, x.Step), max(most, x.Step)
	}
	if least == most {
		return nil, 0
	}
	for _, x := range beats {
		if x.Step == least {
			nodes = append(nodes, x.Node)
		}
	}
	return nodes, most - least
}
