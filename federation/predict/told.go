package predict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/jobmap"
	"fsub/federation/reasons"
)

const (
	// toldKept is how many waits of a kind say how what is told now will hold. Fewer follow spells of some days, and are wrong after each.
	toldKept = 4000
	// toldFew is below how many nothing is said of half of them.
	toldFew = 30
	// leastTold is the shortest wait that is followed: what is about to start tells nothing of the others.
	leastTold = time.Minute
	// toldFor is how long the quantiles of a kind stand.
	toldFor = 5 * time.Minute
)

// before are the shares that count beside those that were seen, by whether others stand before the job: runs end before their limits, and jobs that come
// later may go first. They weigh as much as a quarter of toldKept, for waits come in spells: what was seen lately is all of one.
var before = map[bool][]share{false: {{.3, 500, true}, {1, 500, true}}, true: {{.3, 500, true}, {1, 300, true}, {3, 200, true}}}

// Told knows how waits held that were told of jobs by the time limits of what runs before them, at sites where nothing else foretells waits. Such a word
// is too late, for most runs end before their limits, and too early, for jobs that come later may go first.
type Told struct {
	open jobmap.Map[told]
	of   map[toldKind]*toldWaits
}

// toldKind is what is held together: whether others that wait stand before the job, and how long a wait it was told.
type toldKind struct {
	turn  bool
	class int
}

func kindOf(turn bool, wait time.Duration) toldKind {
	switch {
	case wait <= 30*time.Minute:
		return toldKind{turn, 0}
	case wait <= time.Hour:
		return toldKind{turn, 1}
	case wait <= 4*time.Hour:
		return toldKind{turn, 2}
	}
	return toldKind{turn, 3}
}

// told is what one of perhaps a million jobs was told.
type told struct {
	at   int64  // nanoseconds since 1970
	wait uint32 // seconds
	turn bool
}

func toldOf(at time.Time, wait time.Duration, turn bool) told {
	return told{at.UnixNano(), uint32(min(wait/time.Second, math.MaxUint32)), turn}
}

func (t told) since() time.Time     { return time.Unix(0, t.at).UTC() }
func (t told) waits() time.Duration { return time.Duration(t.wait) * time.Second }

// share is a wait as a share of what was told.
type share struct {
	of      float64
	weight  float64
	started bool // otherwise it has waited so long, and waits
}

// toldWaits are the newest waits of a kind, as shares of what was told.
type toldWaits struct {
	shares   []float32
	next     int
	at       time.Time // of the quantiles
	p50, p90 float64
}

// Tell takes in what a plan says of a job that waits. The first word counts.
func (t *Told) Tell(d *decision.Decision, at time.Time) {
	turn, follows := followed(d.Reason)
	if !follows || len(d.Offers) == 0 || !byLimits(d.Offers[0]) {
		return
	}
	if _, known := t.open.Get(d.Job); !known {
		t.open.Set(d.Job, toldOf(at, d.Offers[0].Wait, turn))
	}
}

// byLimits reports whether an offer's wait is by the time limits of what runs there: not by the queue of a site, nor by how long a machine takes to boot.
func byLimits(o *decision.Offer) bool {
	return o.Foreseen == nil && o.Offering == "" && o.Wait >= leastTold
}

// followed reports whether a job waits for nodes, and whether for its turn to get them.
func followed(r reasons.Reason) (turn, yes bool) {
	return r == reasons.Priority, r == reasons.Priority || r == reasons.Resources
}

// Waits takes in why a job waits: of one that does not wait for nodes, nothing that it was told counts.
func (t *Told) Waits(job federation.JobID, why reasons.Reason) {
	if _, follows := followed(why); !follows {
		t.Forget(job)
	}
}

// Forget takes in that a job does not wait any more, though it has not started.
func (t *Told) Forget(job federation.JobID) { t.open.Delete(job) }

// Started takes in that a job has started, and returns what is to be kept of that; nil if it was told nothing.
func (t *Told) Started(job federation.JobID, at time.Time) *PastWait {
	w, known := t.open.Get(job)
	if !known {
		return nil
	}
	t.open.Delete(job)
	took := max(at.Sub(w.since()), 0)
	t.add(w.turn, w.waits(), took)
	p := &PastWait{Since: w.since(), Seconds: took.Seconds(), Traits: []uint32{0, math.Float32bits(float32(w.wait))}}
	if w.turn {
		p.Traits[0] = 1
	}
	return p
}

// restore takes in what was kept of a start.
func (t *Told) restore(p *PastWait) {
	if len(p.Traits) != 2 {
		return
	}
	if wait := float64(math.Float32frombits(p.Traits[1])); wait >= leastTold.Seconds() && !math.IsInf(wait, 0) {
		t.add(p.Traits[0] == 1, span(wait), span(p.Seconds))
	}
}

func (t *Told) add(turn bool, wait, took time.Duration) {
	w, of := t.waits(kindOf(turn, wait)), float32(took.Seconds()/wait.Seconds())
	if len(w.shares) < toldKept {
		w.shares = append(w.shares, of)
		return
	}
	w.shares[w.next] = of
	w.next = (w.next + 1) % toldKept
}

func (t *Told) waits(k toldKind) *toldWaits {
	if t.of == nil {
		t.of = map[toldKind]*toldWaits{}
	}
	if t.of[k] == nil {
		t.of[k] = &toldWaits{}
	}
	return t.of[k]
}

// Correct has the offers of a trial, which say when its nodes are to be free by time limits, say too by when nine in ten of such jobs have started. It
// changes no offer itself.
func (t *Told) Correct(tr *decision.Trial, now time.Time) {
	turn, follows := followed(tr.Decision.Reason)
	if t == nil || !follows {
		return
	}
	tr.Decision.Offers = slices.Clone(tr.Decision.Offers)
	for i, o := range tr.Decision.Offers {
		if !byLimits(o) {
			continue
		}
		with, w := *o, t.at(kindOf(turn, o.Wait), now)
		with.Foreseen = &decision.Foreseen{P50: o.Wait, P90: max(o.Wait, times(o.Wait, w.p90)), Starts: len(w.shares), Of: "from when its nodes are to be free"}
		if n := len(w.shares); n >= toldFew {
			with.Foreseen.Of += fmt.Sprintf(": half of %d that were told as long waited %s", n, times(o.Wait, w.p50).Round(time.Second))
		}
		tr.Decision.Offers[i] = &with
		if i == 0 && o.Site == tr.Site {
			if s := with.Begins(); !s.Within.Before(tr.Start) {
				tr.Within = s.Within
			}
		}
	}
}

func times(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

// at are the waits of a kind with quantiles that are of now, or of a short time ago.
func (t *Told) at(k toldKind, now time.Time) *toldWaits {
	w := t.waits(k)
	if p := now.Sub(w.at); p >= 0 && p < toldFor {
		return w
	}
	shares := slices.Clone(before[k.turn])
	for _, s := range w.shares {
		shares = append(shares, share{float64(s), 1, true})
	}
	for _, o := range t.open.All() {
		if kindOf(o.turn, o.waits()) == k {
			shares = append(shares, share{now.Sub(o.since()).Seconds() / o.waits().Seconds(), 1, false})
		}
	}
	w.at, w.p50, w.p90 = now, survived(shares, .5), survived(shares, .1)
	return w
}

// survived is what a part of all waits is longer than. Those that have not ended count for as long as they have lasted (Kaplan and Meier, 1958): without
// them, what is known soonest are the short ones.
func survived(shares []share, part float64) float64 {
	slices.SortFunc(shares, func(a, b share) int { return cmp.Compare(a.of, b.of) })
	left, longer := 0.0, 1.0
	for i := range shares {
		left += shares[i].weight
	}
	for i := range shares {
		s := &shares[i]
		if s.started {
			if longer *= 1 - s.weight/left; longer <= part {
				return s.of
			}
		}
		left -= s.weight
	}
	return shares[len(shares)-1].of
}
