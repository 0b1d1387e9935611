package predict

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/demand"
)

const (
	maxGroups = 200_000
	passAgain = time.Minute
)

// Run is a run that has ended. Seconds are those that it would have taken on nodes of speed 1.
type Run struct {
	Keys    Keys
	Start   time.Time
	Seconds float32
	Cut     bool // it was cut short: it would have taken longer than that
}

// Live is a run that goes on.
type Live struct {
	Keys  Keys
	Start time.Time
	Lasts time.Duration // so far, on nodes of speed 1
}

type level int

// Levels of likeness, from narrow to wide; the last two are of runs on whatever nodes.
const (
	sameScript level = iota
	sameNameAndSize
	sameShape
	sameSize
	sameNodes
	anyUser
	anyNodes
	allOfUser
	anyRun
)

// The levels that count for the p50 and for the p90, in the order in which they take their share of the weight. Only what ran on such nodes tells how long a job runs; how far
// the runs of a user spread is alike on all nodes.
var (
	medianLevels = [...]level{sameScript, sameNameAndSize, sameShape, sameSize, sameNodes, anyUser, anyNodes}
	highLevels   = [...]level{sameScript, sameNameAndSize, sameShape, sameSize, allOfUser, anyUser, anyNodes, anyRun}
)

func (l level) String() string {
	return [...]string{"of that script and size", "of that name and size", "of that shape", "of that size", "of the user on such nodes", "of that size by anybody", "on such nodes by anybody",
		"of the user", "by anybody"}[l]
}

// Book knows what ran. It may be used by several goroutines.
type Book struct {
	mu     sync.Mutex
	share  float64
	groups map[uint64]*group
	ended  uint64 // runs
	cache  map[asked]answer
	sizes  map[*demand.Demand]sizes
	pass   time.Time // when Pass was last called
}

type asked struct {
	keys  Keys
	limit time.Duration
}

type answer struct {
	expected *decision.Expected
	seen     uint64 // the user's last run that it stands on
}

// New returns an empty Book. Where little is known, a job is expected to run for a share of its time limit.
func New(share float64) *Book {
	return &Book{share: share, groups: map[uint64]*group{}, cache: map[asked]answer{}, sizes: map[*demand.Demand]sizes{}}
}

// keptRuns is how many runs are read when a daemon starts.
const keptRuns = 100_000

// Open returns a Book of the runs that a store has. See [New].
func Open(ctx context.Context, store RunStore, share float64) (*Book, error) {
	b := New(share)
	all, err := store.RunLengths(ctx, keptRuns)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if run, ok := runOf(&all[i]); ok {
			b.Ended(run)
		}
	}
	return b, nil
}

// failsWithin is how soon a run fails that says nothing of how long one takes that works.
const failsWithin = time.Minute

// Tells reports whether a run says something of how long others take, and whether as one that was cut short.
func Tells(state federation.State, lasted time.Duration) (tells, cut bool) {
	switch state {
	case federation.Completed, federation.Timeout, federation.Deadline:
		return true, false
	case federation.Failed, federation.OutOfMemory:
		return lasted >= failsWithin, false
	case federation.Cancelled:
		return lasted > 0, true
	}
	return false, false // it was cut short by what befell its nodes, or was preempted
}

// Length is a run as the store keeps it.
func (r *Run) Length() RunLength {
	l := RunLength{Start: r.Start, Seconds: float64(r.Seconds), Ending: RanToItsEnd, Groups: r.Keys[:]}
	if r.Cut {
		l.Ending = RanUntilCut
	}
	return l
}

// runOf reads what Length wrote, or an earlier version: that had fewer levels, or did not note how runs ended, and then one of less than a minute may have failed. It is false for
// what tells nothing.
func runOf(l *RunLength) (r Run, ok bool) {
	r = Run{Start: l.Start, Seconds: float32(l.Seconds), Cut: l.Ending == RanUntilCut}
	switch {
	case l.Ending != RanSomehow:
		return r, copy(r.Keys[:], l.Groups) > int(anyNodes)
	case len(l.Groups) != len(earlierLevels) || l.Seconds < failsWithin.Seconds():
		return r, false
	}
	for i, level := range earlierLevels {
		if level >= 0 {
			r.Keys[level] = l.Groups[i]
		}
	}
	return r, true
}

// Ended adds a run that has come to its end.
func (b *Book) Ended(r Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !(r.Seconds >= 0) || r.Cut && r.Seconds == 0 {
		return
	}
	lasted := r.Seconds
	if r.Cut {
		lasted = -lasted
	}
	b.ended++
	for _, key := range r.Keys {
		if key == 0 {
			continue
		}
		g := b.of(key)
		g.add(past{uint32(r.Start.Unix()), lasted})
		g.used = b.ended
	}
}

// of returns a group, and makes it if it is not known yet.
func (b *Book) of(key uint64) *group {
	g := b.groups[key]
	if g == nil {
		b.makeRoom()
		g = &group{used: b.ended}
		b.groups[key] = g
	}
	return g
}

// makeRoom forgets the half of the groups that nothing was added to for longest, when there are too many.
func (b *Book) makeRoom() {
	if len(b.groups) < maxGroups {
		return
	}
	used := make([]uint64, 0, len(b.groups))
	for _, g := range b.groups {
		used = append(used, g.used)
	}
	slices.Sort(used)
	for key, g := range b.groups {
		if g.used < used[len(used)/2] {
			delete(b.groups, key)
		}
	}
}

// Started tells that a job runs now.
func (b *Book) Started(keys Keys, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range keys {
		if key != 0 {
			g := b.of(key)
			g.live = slices.Insert(g.live, 0, past{start: uint32(at.Unix())})
			g.live = g.live[:min(len(g.live), keptLive)]
		}
	}
}

// Due reports whether Pass is to be called.
func (b *Book) Due(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return now.Sub(b.pass) >= passAgain
}

// Pass tells all runs that go on now. It takes the place of what it was last told.
func (b *Book) Pass(now time.Time, running []Live) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass = now
	for _, g := range b.groups {
		g.live = g.live[:0]
	}
	slices.SortStableFunc(running, func(a, c Live) int { return cmp.Compare(a.Lasts, c.Lasts) }) // newest first
	for i := range running {
		for _, key := range running[i].Keys {
			if key == 0 {
				continue
			}
			if g := b.of(key); len(g.live) < keptLive {
				g.live = append(g.live, past{uint32(running[i].Start.Unix()), float32(running[i].Lasts.Seconds())})
			}
		}
	}
	clear(b.cache)
}

// Expect returns how long a job is expected to run; limit is its time limit on nodes of speed 1, 0 if it has none. It is nil where nothing is known.
// It takes in the user's own runs on such nodes at once, and the others when Pass was called.
func (b *Book) Expect(keys Keys, limit time.Duration) *decision.Expected {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := asked{keys, limit}
	var seen uint64
	for _, key := range keys[:sameNodes+1] {
		if g := b.groups[key]; g != nil {
			seen = max(seen, g.used)
		}
	}
	a, known := b.cache[q]
	if !known || a.seen != seen {
		a = answer{b.expect(keys, limit, 0), seen}
		if len(b.cache) >= maxGroups {
			clear(b.cache)
		}
		b.cache[q] = a
	}
	return a.expected
}

// ExpectAfter is Expect for a job that has run for some time: it has passed all runs that were shorter. Where nothing is known it is nil: see [Outlasts].
func (b *Book) ExpectAfter(keys Keys, limit, ran time.Duration) *decision.Expected {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.expect(keys, limit, ran.Seconds())
}

func (b *Book) expect(keys Keys, limit time.Duration, ran float64) *decision.Expected {
	var median, upper []sample
	var e decision.Expected
	says := limit // what the limit says of the run: one of more than a month says nothing
	if limit > longestLimit {
		says = 0
	}
	ended := 0 // runs that came to their end, of the group with most of them
	leftMedian, leftUpper := 1.0, 1.0
	for _, l := range medianLevels {
		g := b.groups[keys[l]]
		if g == nil {
			continue
		}
		n := g.count()
		if cut := len(g.ended) - n; e.Runs == e.Cut && (n > 0 || e.Runs == 0 && cut > 0) {
			e.Runs, e.Cut, e.Of = n+cut, cut, l.String()
		}
		ended = max(ended, n)
		median, leftMedian = g.gather(median, leftMedian, medianMass, &medianWeights, false)
	}
	if e.Runs == 0 || ended == 0 && says == 0 {
		return nil
	}
	for _, l := range highLevels {
		if g := b.groups[keys[l]]; g != nil {
			upper, leftUpper = g.gather(upper, leftUpper, highMass, &highWeights, true)
		}
	}
	if says > 0 {
		// A run is in a group of each level. That does not make it more than one: all of them leave as much as the group with most does.
		left := medianMass / (float64(ended) + medianMass)
		median = append(median, sample{b.share * says.Seconds(), medianMass * (1 - leftMedian) / max(float64(ended), .5), false})
		if left > strange {
			upper = append(upper, sample{says.Seconds(), leftUpper, false})
		}
	}
	p50, _ := quantile(beyond(median, ran), .5)
	p90, found := quantile(beyond(upper, ran), high)
	if !found { // the longest are still running
		longest := b.longest(keys[anyNodes])
		if says > 0 {
			longest = max(longest, p90)
		}
		p90 = longest
	}
	p90 = widened(p90, p50, says.Seconds(), e.Runs-e.Cut)
	if p50 <= ran {
		p50, p90 = outlasts(ran, p90, says.Seconds(), b.share)
	}
	e.P50, e.P90 = span(p50), span(max(p50, p90))
	if limit > 0 {
		e.P50, e.P90 = min(e.P50, limit), min(e.P90, limit)
	}
	return &e
}

// beyond are the samples that have lasted for longer than a job has run.
func beyond(all []sample, ran float64) []sample {
	if ran <= 0 {
		return all
	}
	return slices.DeleteFunc(all, func(s sample) bool { return s.seconds <= ran })
}

// widened is a p90 that stands on few runs of the nearest kind, nearer to the time limit: of one run it is that, of three their p90 by two thirds.
func widened(p90, p50, limit float64, runs int) float64 {
	p90 = max(p90, p50)
	if runs = max(runs, 1); limit > 0 && p90 > 0 && p90 < limit {
		return p90 * math.Pow(limit/p90, 1/float64(runs))
	}
	if limit <= 0 {
		return max(p90, p50*(1+1/float64(runs)))
	}
	return p90
}

// outlasts is how long a job takes that has run for longer than others did: for a share of what its limit leaves. Without a limit, of what has lasted for some time half lasts
// as long again, and a tenth nine times (Gott, 1993).
func outlasts(ran, p90, limit, share float64) (float64, float64) {
	if limit > ran {
		return ran + share*(limit-ran), limit
	}
	return 2 * ran, max(p90, 10*ran)
}

// Outlasts is how long a job is expected to run in all that has run for some time, where nothing is known of others; limit is 0 if it has none, and a share of it is what
// jobs are expected to take.
func Outlasts(limit, ran time.Duration, share float64) *decision.Expected {
	p50, p90 := outlasts(ran.Seconds(), 0, limit.Seconds(), share)
	return &decision.Expected{P50: span(p50), P90: span(p90)}
}

// longest is what few runs of a group passed lately, in seconds.
func (b *Book) longest(key uint64) float64 {
	g := b.groups[key]
	if g == nil || len(g.ended) == 0 {
		return 0
	}
	all := slices.SortedFunc(slices.Values(g.ended), func(a, b past) int { return cmp.Compare(a.lasted(), b.lasted()) })
	return all[int(float64(len(all))*top)].lasted()
}
