package place

import (
	"fmt"
	"strconv"
	"time"
)

// fitKey is equal for needs that can be met at the same time on the same nodes.
type fitKey struct {
	pool, pools int
	cpu, mem    int32
	nodes       int
	whole       bool
	leaves      int
	segment     int
	alone, row  bool
	reservation string
	rest        string // GRES and node lists
}

// needKey stands for a [fitKey] and a time limit at one site.
type needKey struct {
	need  int32
	limit time.Duration // left out while the site has no claims and no reservations
}

// fitNumbers number the fitKeys that were asked for at a site.
type fitNumbers map[fitKey]int32

// maxNumbers bounds them.
const maxNumbers = 4096

// of returns the number of a need.
func (m fitNumbers) of(k fitKey) int32 {
	n, ok := m[k]
	if !ok {
		n = int32(len(m))
		m[k] = n
	}
	return n
}

func keyOf(pool, pools int, f *fit) fitKey {
	k := fitKey{pool: pool, pools: pools, cpu: f.cpu, mem: f.mem, nodes: f.nodes, whole: f.whole, leaves: f.leaves, segment: f.segment, alone: f.alone, row: f.contiguous,
		reservation: f.reservation}
	if len(f.gres) > 0 {
		b := make([]byte, 0, 32)
		for i := range f.gres {
			for _, s := range f.gres[i].slots {
				b = append(strconv.AppendInt(b, int64(s), 10), ',')
			}
			b = append(strconv.AppendInt(b, int64(f.gres[i].count), 10), ';')
		}
		k.rest = string(b)
	}
	if f.on != nil && f.on.number > 0 {
		k.rest += "on " + strconv.Itoa(f.on.number)
	}
	if f.include != nil || f.exclude != nil {
		k.rest += fmt.Sprint(f.include, f.exclude)
	}
	return k
}

// estimates are what is known of when needs can be met at a site.
type estimates struct {
	memory  memory
	numbers *fitNumbers
	unmet   []unmet              // by number of the need
	timed   map[needKey]estimate // for those with a time limit
	epoch   int                  // number of the plan: what another one found out is void
	claims  int                  // counts those of the plan
	blocked bool                 // the site has reservations
}

// unmet is what is known of a need while nobody holds nodes in time at the site, whatever the time limits of those who have it. What was found where the plan had taken
// nothing holds in later plans too, until the site's memory is forgotten: the numbers count that.
type unmet struct {
	start int64 // see capacity.estimate
	asked int   // the plan in which that was worked out, or taken over
	known int   // 0: it is about what a plan had taken
	full  int   // the plan in which nothing fits now
	never int   // nothing fits now where nothing is taken
}

// estimate is when a need can be met, and how many claims there were when that was worked out.
type estimate struct {
	start  int64
	claims int
}

func newEstimates() estimates {
	return estimates{numbers: &fitNumbers{}, timed: map[needKey]estimate{}}
}

// begin sets them up for a plan, which has taken nothing yet.
func (e *estimates) begin(epoch int, blocked bool) {
	e.epoch, e.claims, e.blocked = epoch, 0, blocked
	clear(e.timed)
	e.memory.begin()
}

// tidy forgets all needs, if there are many.
func (e *estimates) tidy() {
	if len(*e.numbers) > maxNumbers {
		e.numbers, e.unmet = &fitNumbers{}, nil
		e.memory.forget()
	}
}

// taken notes that a job was started.
func (e *estimates) taken(s step) { e.memory.step(s) }

// claimed notes that nodes were claimed, or will fall free sooner.
func (e *estimates) claimed(s step) {
	e.memory.step(s)
	e.claims++
}

// limits reports whether time limits matter: whether a job may have to end before nodes are taken from it.
func (e *estimates) limits() bool { return e.claims > 0 || e.blocked }

// of returns what is known of a need. It is for the moment: asking for another need may move it.
func (e *estimates) of(key needKey) *unmet {
	if n := int(key.need) + 1 - len(e.unmet); n > 0 {
		e.unmet = append(e.unmet, make([]unmet, n)...)
	}
	return &e.unmet[key.need]
}

// full reports whether a need is known to fit nowhere now. A plan only takes, so it will not later in the plan either.
func (e *estimates) full(u *unmet) bool {
	if u.full != e.epoch && u.never != 0 && u.never == e.memory.forgot && e.memory.untaken() {
		u.full = e.epoch
	}
	return u.full == e.epoch
}

// fill notes that a need fits nowhere now.
func (e *estimates) fill(key needKey) {
	if e.limits() { // a shorter time limit may do
		return
	}
	u := e.of(key)
	if u.full, u.never = e.epoch, 0; e.memory.untaken() {
		u.never = e.memory.forgot
	}
}

// recalls reports whether it is known when a need can be met, while nobody holds nodes in time.
func (e *estimates) recalls(u *unmet, now int64) bool {
	if u.asked != e.epoch && u.known == e.memory.forgot && u.start >= now && e.memory.untaken() {
		u.asked = e.epoch
	}
	return u.asked == e.epoch
}

// note takes in when a need can be met, while nobody holds nodes in time.
func (e *estimates) note(u *unmet, start int64) {
	if u.start, u.asked, u.known = start, e.epoch, 0; e.memory.untaken() {
		u.known = e.memory.forgot
	}
}

// estimate is the earliest time at which f could start, as far as is known; never if nothing says when. Within a plan it may be a
// little old: what was started since is not in it.
func (c *capacity) estimate(cur *cursor, f *fit, key needKey, limit time.Duration) int64 {
	e := &c.estimates
	if !e.limits() {
		u := e.of(key)
		if !e.recalls(u, c.now) {
			start, _ := c.earliest(cur, f, key, limit)
			e.note(u, start)
		}
		return u.start
	}
	key.limit = limit
	if t, ok := e.timed[key]; ok && t.claims == e.claims {
		return t.start
	}
	start, _ := c.earliest(cur, f, key, limit)
	e.timed[key] = estimate{start, e.claims}
	return start
}
