package heartbeat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// gang is a program that goes in step on some nodes: half a second of work a step, which differs by chance, and all wait for the slowest.
type gang struct {
	rng   *rand.Rand
	now   time.Time
	track *Track
	nodes int
	says  bool // how long it worked
	slow  map[int]float64
	spell []time.Time // until when a node has a bad spell
	step  []float64   // of each node; they differ only where nodes do not wait for each other
	alone bool        // nodes do not wait for each other
	first bool        // the first writes a checkpoint every 50 steps
}

func newGang(seed uint64) *gang {
	rng := rand.New(rand.NewPCG(seed, 31))
	g := &gang{rng: rng, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), nodes: 2 + rng.IntN(31), says: true, slow: map[int]float64{}, first: seed%2 == 0}
	g.track, g.spell, g.step = NewTrack(g.now, 0), make([]time.Time, g.nodes), make([]float64, g.nodes)
	return g
}

// look lets 20 seconds pass.
func (g *gang) look() ([]Slow, bool) {
	g.now = g.now.Add(Every)
	noise := .02 + .1*float64(g.nodes%4) // 2 to 32 %
	work, longest := make([]float64, g.nodes), 0.
	for i := range work {
		if g.rng.IntN(180) == 0 { // once an hour a node does something else for up to four minutes
			g.spell[i] = g.now.Add(time.Duration(g.rng.IntN(240)) * time.Second)
		}
		work[i] = .5 * math.Exp(noise*g.rng.NormFloat64()/math.Sqrt(20)) * (1 + .05*g.rng.Float64())
		if g.now.Before(g.spell[i]) {
			work[i] *= 1.7
		}
		if g.first && i == 0 && g.rng.IntN(3) == 0 {
			work[i] *= 1.5
		}
		if by := g.slow[i]; by > 0 {
			work[i] *= by
		}
		longest = max(longest, work[i])
	}
	b := Beats{Nodes: g.nodes}
	for i := range work {
		took := longest
		if g.alone {
			took = work[i]
		}
		before := g.step[i]
		g.step[i] += Every.Seconds() / took
		x := Beat{Node: fmt.Sprint("n", i), Rank: i, Step: int64(g.step[i]), At: g.now.Add(-time.Duration((g.step[i] - math.Floor(g.step[i])) * took * 1e9))}
		if int64(before) == x.Step {
			panic("no step in a look")
		}
		if g.says {
			x.Work = time.Duration(work[i] * 1e9)
		}
		b.Of = append(b.Of, x)
	}
	return g.track.See(b, g.now)
}

// TestSlowNode: a node whose steps take 1.3 times as long as the others', or two of eight and more, is found within Cases looks, and no other.
func TestSlowNode(t *testing.T) {
	found, most := 0, 0
	for seed := range uint64(200) {
		g := newGang(seed)
		if seed%4 == 3 {
			g.says, g.alone = false, true // what tells is how fast the steps follow each other
		}
		for range 200 {
			if slow, _ := g.look(); len(slow) > 0 {
				t.Fatalf("seed %d: before any was slow: %+v", seed, slow)
			}
		}
		bad := 1 + g.rng.IntN(g.nodes-1)
		if g.slow[bad] = 1.5; g.nodes >= 8 {
			g.slow[1+bad%(g.nodes-1)] = 1.5
		}
		for n := 1; n <= 2*Cases; n++ {
			slow, _ := g.look()
			for _, s := range slow {
				if g.slow[s.Rank] == 0 || s.Times < 1.2 || s.Times > 2 {
					t.Fatalf("seed %d: %d nodes, %v are slow, and found is %+v", seed, g.nodes, g.slow, s)
				}
			}
			if len(slow) == len(g.slow) {
				found, most = found+1, max(most, n)
				break
			}
		}
	}
	t.Logf("%d of 200 found, within %d looks", found, most)
	if found < 190 {
		t.Errorf("%d of 200 were found", found)
	}
}

// TestHealthyGangs: on 1,000 runs of ten hours, with noise, bad spells of up to four minutes and a first node that writes the checkpoints, no node is found to be slow.
func TestHealthyGangs(t *testing.T) {
	looks := 0
	for seed := range uint64(1000) {
		g := newGang(10_000 + seed)
		if seed%4 == 3 {
			g.says, g.alone = false, seed%8 == 3
		}
		for range 180 * 10 / 5 {
			slow, known := g.look()
			if len(slow) > 0 {
				t.Fatalf("seed %d: %d nodes: %+v", seed, g.nodes, slow)
			}
			if known {
				looks++
			}
		}
	}
	t.Logf("%d looks", looks)
}

// TestBeginsAgain: what was seen before steps begin again, or before a node is another one, does not count.
func TestBeginsAgain(t *testing.T) {
	g := newGang(4)
	g.slow[1] = 2
	for range Cases - 1 {
		g.look()
	}
	for i := range g.step {
		g.step[i] = 0
	}
	for n := range Cases {
		if _, known := g.look(); known {
			t.Fatalf("it is known after %d looks", n)
		}
	}
	if slow, known := g.look(); !known || len(slow) != 1 || slow[0].Node != "n1" {
		t.Errorf("%+v", slow)
	}
}

// TestSilent: a run hangs when no node beats for a quarter of an hour, or three times as long as the longest silence so far; and those that did the fewest steps are named.
func TestSilent(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	track := NewTrack(start, 0)
	at := func(min int) time.Time { return start.Add(time.Duration(min) * time.Minute) }
	beats := Beats{Nodes: 3, Of: []Beat{{Node: "a", Step: 7, At: at(1)}, {Node: "b", Step: 6, At: at(1)}}}
	if !track.Silent(at(14)).IsZero() || track.Silent(at(15)).IsZero() || track.Beaten() {
		t.Error("a run that never beat")
	}
	track.See(beats, at(1))
	if !track.Silent(at(15)).IsZero() || !track.Silent(at(17)).Equal(at(1)) || !track.Beaten() {
		t.Error("a run that beat once")
	}
	track.keep(beats.Of, at(1))
	beats.Of[0].At = at(11) // an evaluation of ten minutes
	track.See(beats, at(11))
	if !track.Silent(at(40)).IsZero() || track.Silent(at(41)).IsZero() {
		t.Error("a run that pauses for ten minutes")
	}
	if on, by := Behind(beats.Of); len(on) != 1 || on[0] != "b" || by != 1 {
		t.Errorf("%v are behind by %d", on, by)
	}
}
