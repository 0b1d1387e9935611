package predict

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"fsub/federation"
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
}

// Live is a run that goes on.
type Live struct {
	Keys  Keys
	Start time.Time
	Lasts time.Duration // so far, on nodes of speed 1
}

type level int

// Levels of likeness, from narrow to wide.
const (
	sameNameAndSize level = iota
	sameName
	sameShape
	sameSize
	sameUser
	anyUser
	anyRun
)

func (l level) String() string {
	return [...]string{"of that name and size", "of that name", "of that shape", "of that size", "of the user", "of that size by anybody", "by anybody"}[l]
}

// anyKey is of the group that every run is in.
var anyKey = Kind{}.Keys()[anyRun]

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
	expected *federation.Expected
	seen     uint64 // the user's last run that it stands on
}

// New returns an empty Book. Where little is known, a job is expected to run for a share of its time limit.
func New(share float64) *Book {
	return &Book{share: share, groups: map[uint64]*group{}, cache: map[asked]answer{}, sizes: map[*demand.Demand]sizes{}}
}

// keptRuns is how many runs are read when a daemon starts.
const keptRuns = 100_000

// Open returns a Book of the runs that a store has. See [New].
func Open(ctx context.Context, store federation.RunStore, share float64) (*Book, error) {
	b := New(share)
	all, err := store.RunLengths(ctx, keptRuns)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		run := Run{Start: r.Start, Seconds: float32(r.Seconds)}
		copy(run.Keys[:], r.Groups)
		b.Ended(run)
	}
	return b, nil
}

// Ended adds a run that has come to its end.
func (b *Book) Ended(r Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !(r.Seconds >= 0) {
		return
	}
	b.ended++
	for _, key := range r.Keys {
		if key == 0 {
			continue
		}
		g := b.of(key)
		g.add(past{uint32(r.Start.Unix()), r.Seconds})
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
// It takes in the user's own runs at once, and those of others when Pass was called.
func (b *Book) Expect(keys Keys, limit time.Duration) *federation.Expected {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := asked{keys, limit}
	var seen uint64
	for _, key := range keys[:sameUser+1] {
		if g := b.groups[key]; g != nil {
			seen = max(seen, g.used)
		}
	}
	a, known := b.cache[q]
	if !known || a.seen != seen {
		a = answer{b.expect(keys, limit), seen}
		if len(b.cache) >= maxGroups {
			clear(b.cache)
		}
		b.cache[q] = a
	}
	return a.expected
}

func (b *Book) expect(keys Keys, limit time.Duration) *federation.Expected {
	var median, upper []sample
	var e federation.Expected
	leftMedian, leftUpper := 1.0, 1.0
	for l, key := range keys {
		g := b.groups[key]
		if key == 0 || g == nil {
			continue
		}
		if e.Runs == 0 {
			e.Runs, e.Of = len(g.ended), level(l).String()
		}
		median, leftMedian = g.gather(median, leftMedian, medianMass, &medianWeights, false)
		upper, leftUpper = g.gather(upper, leftUpper, highMass, &highWeights, true)
	}
	if e.Runs == 0 {
		return nil
	}
	if limit > 0 {
		median = append(median, sample{b.share * limit.Seconds(), leftMedian, false})
		if leftMedian > strange {
			upper = append(upper, sample{limit.Seconds(), leftUpper, false})
		}
	}
	p50, _ := quantile(median, .5)
	p90, found := quantile(upper, high)
	if !found { // the longest are still running
		longest := b.longest()
		if limit > 0 {
			longest = max(longest, p90)
		}
		p90 = longest
	}
	e.P50, e.P90 = span(p50), span(max(p50, p90))
	if limit > 0 {
		e.P50, e.P90 = min(e.P50, limit), min(e.P90, limit)
	}
	return &e
}

// longest is what few of all runs passed lately, in seconds.
func (b *Book) longest() float64 {
	g := b.groups[anyKey]
	if g == nil {
		return 0
	}
	all := slices.SortedFunc(slices.Values(g.ended), func(a, b past) int { return cmp.Compare(a.seconds, b.seconds) })
	return float64(all[int(float64(len(all))*top)].seconds)
}
