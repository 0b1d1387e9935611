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

// estimate is when a need can be met, and how many claims there were when that was worked out.
type estimate struct {
	start   int64
	changes int
}

// estimate is the earliest time at which f could start, as far as is known; never if nothing says when. Within a plan it may be a
// little old: what was started since is not in it.
func (c *capacity) estimate(cur *cursor, f *fit, key needKey, limit time.Duration) int64 {
	if c.changes == 0 && !c.m.reserved {
		u := c.unmetOf(key)
		if u.asked == c.epoch {
			return u.start
		}
		untaken := c.memory.untaken()
		if !untaken || u.known != c.memory.forgot || u.start < c.now {
			u.start, _ = c.earliest(cur, f, key, limit)
			if u.known = 0; untaken {
				u.known = c.memory.forgot
			}
		}
		u.asked = c.epoch
		return u.start
	}
	key.limit = limit
	if e, ok := c.old[key]; ok && e.changes == c.changes {
		return e.start
	}
	start, _ := c.earliest(cur, f, key, limit)
	c.old[key] = estimate{start, c.changes}
	return start
}

// unmet is what is known of a need while nobody holds nodes in time at the site, whatever the time limits of those who have it. What was found where the plan had taken
// nothing holds in later plans too, until the site's memory is forgotten: the numbers count that.
type unmet struct {
	start int64 // see estimate
	asked int   // the plan in which that was worked out, or taken over
	known int   // 0: it is about what a plan had taken
	full  int   // the plan in which nothing fits now
	never int   // nothing fits now where nothing is taken
}

// unmetOf is for the moment: asking for another need may move it.
func (c *capacity) unmetOf(key needKey) *unmet {
	if n := int(key.need) + 1 - len(c.unmet); n > 0 {
		c.unmet = append(c.unmet, make([]unmet, n)...)
	}
	return &c.unmet[key.need]
}

// full reports whether a need is known to fit nowhere now. A plan only takes, so it will not later in the plan either.
func (c *capacity) full(key needKey) bool {
	u := c.unmetOf(key)
	if u.full != c.epoch && u.never != 0 && u.never == c.memory.forgot && c.memory.untaken() {
		u.full = c.epoch
	}
	return u.full == c.epoch
}

// fill notes that a need fits nowhere now.
func (c *capacity) fill(key needKey) {
	if c.changes > 0 || c.m.reserved { // a shorter time limit may do
		return
	}
	u := c.unmetOf(key)
	if u.full, u.never = c.epoch, 0; c.memory.untaken() {
		u.never = c.memory.forgot
	}
}
