package predict

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

const (
	nearest   = 30           // waits that a p50 is of
	waitMass  = 6            // half of the weight goes to a group of so many waits
	fewWaits  = 20           // below that the site's own word counts
	manyWaits = 10 * nearest // below that those nearest are not near
	fewInSize = 30           // below that the bound is of all sizes
	fewWords  = 10
	// z95 bounds a quantile with a certainty of 95 %.
	z95 = 1.645
	// otherPart is how far apart waits in two partitions are, otherUser those of two users; by sight and size they are as far apart as weights say.
	otherPart, otherUser = 4, 1
	// longQueue is the share of all jobs that came to a longer queue, below which the queue is said to build up.
	longQueue  = 0.02
	fewAtQueue = 5
)

var (
	sightWeights = sight{jobsAhead: .5, workAhead: .5, workInAll: .3, cpusBusy: .3, ownAhead: 1, middleAge: 1, oldAge: 1, recentMiddle: 1}
	waitWeights  = weights(30)
	noAccount    = hashed("")
)

// outlook implements [decision.Outlook]: a [Queue] at one time.
type outlook struct {
	now   int64
	from  int64 // see Queue
	past  []wait
	scene *scene
	open  []open
	ours  map[federation.JobID]open
	words []float32 // sorted
	ends  float64   // the share of their limits that those jobs take which hold nodes half of the time

	mu     sync.Mutex
	cache  map[trait]*decision.Foreseen
	bounds map[sizeIn]float64
	parts  map[uint32][]int32 // of past, by partition; nil until it is asked for
}

type sizeIn struct {
	part uint32
	cpus float32
}

// Outlook is the queue as it is now.
func (q *Queue) Outlook(now time.Time) decision.Outlook {
	o := &outlook{now: now.Unix(), from: q.from, past: q.past[max(0, len(q.past)-keptWaits):], scene: q.scene(now.Unix()), words: slices.Sorted(slices.Values(q.words[max(0, len(q.words)-keptWords):])), ends: shareTaken(q.ends[max(0, len(q.ends)-keptEnds):]),
		ours: map[federation.JobID]open{}, cache: map[trait]*decision.Foreseen{}, bounds: map[sizeIn]float64{}}
	for id, p := range q.open {
		o.ours[id] = *p
		if !p.idle {
			o.open = append(o.open, *p)
		}
	}
	slices.SortFunc(o.open, func(a, b open) int { // the newest first
		return cmp.Or(cmp.Compare(b.since, a.since), cmp.Compare(a.user, b.user), cmp.Compare(a.cpus, b.cpus), cmp.Compare(a.limit, b.limit))
	})
	return o
}

// shareTaken is the share of their limits that jobs take: by the time that nodes were held, half of it was by jobs that took no more. 1 where few have ended.
func shareTaken(ends []ending) float64 {
	if len(ends) < fewWords {
		return 1
	}
	ends = slices.Clone(ends)
	slices.SortFunc(ends, func(a, b ending) int { return cmp.Compare(a.share, b.share) })
	all, sum := float32(0), float32(0)
	for _, e := range ends {
		all += e.seconds
	}
	for _, e := range ends {
		if sum += e.seconds; sum >= all/2 {
			return float64(e.share)
		}
	}
	return 1
}

// Bounds implements [decision.Outlook]. The site reckons with time limits, too: how its own expectations held says most. Where there are few, the share of their limits that
// jobs there take does.
func (o *outlook) Bounds(byLimits time.Duration) (p50, p90 time.Duration) {
	share := o.ends
	if n := len(o.words); n >= fewWords {
		share = min(1, float64(o.words[n/2]))
	}
	return time.Duration(float64(byLimits) * share), byLimits
}

// Wait implements [decision.Outlook].
func (o *outlook) Wait(a decision.QueueAsk) *decision.Foreseen {
	t := traitOf(&a)
	o.mu.Lock()
	defer o.mu.Unlock()
	f, known := o.cache[t]
	if !known {
		f = o.wait(&t)
		o.cache[t] = f
	}
	return f
}

func (o *outlook) wait(t *trait) *decision.Foreseen {
	if len(o.past) < fewWaits {
		return o.said(t)
	}
	like := o.nearest(t, 0)
	f := &decision.Foreseen{Starts: len(o.past), Of: "from how the queue is, and how long such jobs waited", P50: span(like[len(like)/2]), Unsure: o.buildsUp(t)}
	f.P90 = max(span(like[len(like)*9/10]), span(o.mixed(t)), span(o.bound(t)))
	if moves, ok := o.scene.moves(t, o.now, o.from, leastStarts); ok {
		few := len(o.past) < manyWaits
		// Small jobs pass others: of those that come to a long queue many start at once. So the speed of the queue counts up to what jobs have waited.
		p50 := min(moves, span(like[len(like)*3/4]))
		if few {
			p50 = min(moves, f.P90)
		}
		if few || p50 > f.P50 {
			f.P50, f.Of = p50, "from how fast the queue moves, and how long such jobs waited"
		}
		if few && f.Unsure != "" { // nothing else grows with the queue
			f.P90 = max(f.P90, moves)
		}
	}
	f.P90 = max(f.P90, f.P50)
	return f
}

// said is what is expected where little is known: by how fast the queue moves, and by what the site expects of those that wait already: a job that comes now starts
// among them. The site reckons with time limits, so it is rarely too early.
func (o *outlook) said(t *trait) *decision.Foreseen {
	f := &decision.Foreseen{Starts: len(o.past), Unsure: "little has been seen of the queue"}
	p := o.scene.parts[t.part]
	if p == nil {
		return nil
	}
	n := len(p.left)
	moves, ok := o.scene.moves(t, o.now, o.from, 1) // one start says more than time limits do
	switch {
	case ok:
		f.P50, f.P90, f.Of = moves, flowError*moves, "from how fast the queue moves"
		if n > 0 {
			last := time.Duration(p.left[n-1]) * time.Second
			f.P50, f.P90 = min(f.P50, last), min(f.P90, last)
		}
	case n > 0:
		f.P50, f.P90, f.Of = time.Duration(p.left[n/2])*time.Second, time.Duration(p.left[n-1])*time.Second, "from when the site expects to start those that wait"
	default:
		return nil
	}
	return f
}

// nearest are the waits longer than a time, in order, of the jobs that were most like this one and saw a queue most like the present one.
func (o *outlook) nearest(t *trait, longer float32) []float64 {
	type near struct {
		d       float32
		seconds float32
	}
	see := o.scene.sight(t)
	size := t.size()
	found, worst := make([]near, 0, nearest), float32(math.Inf(1))
waits:
	for i := len(o.past) - 1; i >= 0; i-- {
		w := &o.past[i]
		if w.seconds < longer {
			continue
		}
		var d float32
		if w.part != t.part {
			d += otherPart
		}
		if w.user != t.user {
			d += otherUser
		}
		for k := range see {
			if d += distance(see[k], w.queue[k]) * sightWeights[k]; d >= worst {
				continue waits
			}
		}
		for k := range size {
			d += distance(size[k], w.size[k])
		}
		if d >= worst {
			continue
		}
		at, _ := slices.BinarySearchFunc(found, d, func(n near, d float32) int { return cmp.Compare(n.d, d) })
		if len(found) == nearest {
			found = found[:nearest-1]
		}
		if found = slices.Insert(found, at, near{d, w.seconds}); len(found) == nearest {
			worst = found[nearest-1].d
		}
	}
	out := make([]float64, len(found))
	for i := range found {
		out[i] = float64(found[i].seconds)
	}
	slices.Sort(out)
	return out
}

// inPart are the waits in a partition.
func (o *outlook) inPart(part uint32) []int32 {
	if o.parts == nil {
		o.parts = map[uint32][]int32{}
		for i := range o.past {
			o.parts[o.past[i].part] = append(o.parts[o.past[i].part], int32(i))
		}
	}
	return o.parts[part]
}

func distance(a, b float32) float32 {
	if a < b {
		return b - a
	}
	return a - b
}

// alike reports at which levels two jobs are: the user's of that shape, of that size, all of the user's, of the account, of that size by anybody, all.
func (t *trait) alike(u *trait) (levels [6]bool) {
	size := t.cpus == u.cpus && t.nodes == u.nodes && t.gpus == u.gpus
	user := t.user == u.user
	return [6]bool{user && size && t.limit == u.limit && t.part == u.part, user && size, user, t.account == u.account && t.account != noAccount, size, true}
}

// mixed is the p90 of what happened to jobs alike, as [Book] mixes runs; those that wait still have waited at least so long.
func (o *outlook) mixed(t *trait) float64 {
	var of [6][]sample
	for i := len(o.past) - 1; i >= 0; i-- {
		w := &o.past[i]
		all := true
		for l, is := range w.alike(t) {
			if is && len(of[l]) < kept {
				of[l] = append(of[l], sample{float64(w.seconds), waitWeights[len(of[l])], false})
			}
			all = all && len(of[l]) == kept
		}
		if all || len(of[5]) == kept && len(o.past)-i > keptWaits/2 {
			break
		}
	}
	var live [6]int
	for i := range o.open {
		w := &o.open[i]
		for l, is := range w.alike(t) {
			if is && live[l] < keptLive {
				of[l] = append(of[l], sample{float64(o.now - w.since), waitWeights[live[l]], true})
				live[l]++
			}
		}
	}
	var all []sample
	left := 1.0
	for _, samples := range of {
		n := 0.0
		for _, s := range samples {
			n += s.weight
		}
		if n == 0 {
			continue
		}
		mine := left * n / (n + waitMass)
		for _, s := range samples {
			s.weight *= mine / n
			all = append(all, s)
		}
		left -= mine
	}
	p90, _ := quantile(all, .9)
	return p90
}

// bound is what the p90 of all waits of that size in that partition does not exceed, with a certainty of 95 % (a binomial bound, as QBETS has it).
func (o *outlook) bound(t *trait) float64 {
	key := sizeIn{t.part, t.cpus}
	b, known := o.bounds[key]
	if known {
		return b
	}
	var size, part []float32
	for _, i := range o.inPart(t.part) {
		w := &o.past[i]
		part = append(part, w.seconds)
		if w.cpus == t.cpus {
			size = append(size, w.seconds)
		}
	}
	if len(size) < fewInSize {
		size = part
	}
	if n := float64(len(size)); n > 0 {
		slices.Sort(size)
		b = float64(size[min(int(math.Ceil(.9*n+z95*math.Sqrt(n*.9*.1))), len(size)-1)])
	}
	o.bounds[key] = b
	return b
}

// buildsUp says that more jobs wait in the job's partition than almost all earlier ones have found there; "" if not.
func (o *outlook) buildsUp(t *trait) string {
	p := o.scene.parts[t.part]
	if p == nil || p.jobs < fewAtQueue {
		return ""
	}
	longer, jobs, all := 0, logOf(p.jobs), o.inPart(t.part)
	for _, i := range all {
		if o.past[i].queue[jobsAhead] >= jobs {
			longer++
		}
	}
	if float64(longer) >= longQueue*float64(len(all)) {
		return ""
	}
	return "the queue is longer than it has been"
}

// Left implements [decision.Outlook]. The site's own word counts where it has been seen to hold, corrected by what became of earlier ones.
func (o *outlook) Left(id federation.JobID, a decision.QueueAsk) *decision.Foreseen {
	t := traitOf(&a)
	w, known := o.ours[id]
	if !known {
		return nil
	}
	if n := len(o.words); w.said > o.now && n >= fewWords {
		left := float64(w.said - o.now)
		return &decision.Foreseen{P50: span(left * float64(o.words[n/2])), P90: span(left * max(float64(o.words[n*9/10]), 1)), Starts: n, Of: "from when the site expects to start it, and how that held for others"}
	}
	age := float64(o.now - w.since)
	o.mu.Lock()
	defer o.mu.Unlock()
	like := o.nearest(&t, float32(age))
	if len(like) < nearest/3 {
		// Of what has lasted for some time, half lasts as long again, and a tenth nine times (Gott, 1993).
		return &decision.Foreseen{P50: span(age), P90: span(9 * age), Of: "from how long it has waited", Unsure: "few have waited so long"}
	}
	return &decision.Foreseen{P50: span(like[len(like)/2] - age), P90: span(like[len(like)*9/10] - age), Starts: len(like), Of: "from how long those waited that had waited as long", Unsure: o.buildsUp(&t)}
}
