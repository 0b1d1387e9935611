package place

import (
	"cmp"
	"iter"
	"slices"
)

// jobQueue holds jobs in order of their turns. The jobs of a group stand in one subqueue, in the order that they have among each other; what the group counts is added when subqueues are
// joined. So a group goes before another one without any of its jobs being touched. A subqueue keeps its jobs in chunks of bounded length, so that one comes or goes at little
// cost, however many there are.
type jobQueue struct {
	*groups
	subqueues []subqueue // by group
	n         int
	long      int // the most jobs in a chunk; 0: chunkLen
}

// subqueue is the jobs of a group.
type subqueue struct {
	chunks []*chunk // none is empty
}

// chunk is some jobs of a subqueue that follow each other. A plan decides about a quiet one as a whole where nothing has become free for any of its shapes.
type chunk struct {
	jobs       []*queued
	quiet      bool      // its jobs wait for what user groups say, each has been told so, and none differs from the others of its shape
	userGroups []waited  // of a quiet one: the user groups of all its jobs, and perhaps more
	kinds      []kind    // their shapes ...
	of         []*person // ... whose jobs they are ...
	limits     int       // ... and the state of what those may do
	run        int       // the plan that has decided about it as a whole ...
	upto       int       // ... or about this number of its jobs, and then about others by themselves
}

// waited is the jobs of a user group in a chunk, and the reason that Decide has said of them.
type waited struct {
	userGroup *userGroup
	told      word
}

// kind is the jobs of a shape in a chunk.
type kind struct {
	shape *shape
	told  word  // the reason that Decide has said
	fate  *fate // by the plan that has decided about the chunk
}

const chunkLen = 1024

func (l *jobQueue) most() int { return cmp.Or(l.long, chunkLen) }

// turn is a job's place among all.
func (l *jobQueue) turn(q *queued) turn {
	t := q.turn
	t.priority += l.counts[q.group]
	return t
}

func (l *jobQueue) compare(a, b *queued) int { return l.turn(a).compare(l.turn(b)) }

// subqueue returns the subqueue of a group.
func (l *jobQueue) subqueue(group int32) *subqueue {
	if more := int(group) + 1 - len(l.subqueues); more > 0 {
		l.subqueues = append(l.subqueues, make([]subqueue, more)...)
	}
	return &l.subqueues[group]
}

// fill makes a line of jobs, which are in the order of their groups' subqueues.
func (l *jobQueue) fill(jobs []*queued) {
	l.n = len(jobs)
	clear(l.subqueues)
	for len(jobs) > 0 {
		group, n := jobs[0].group, 1
		for n < len(jobs) && jobs[n].group == group {
			n++
		}
		in := l.subqueue(group)
		for some := range slices.Chunk(jobs[:n], l.most()) {
			in.chunks = append(in.chunks, &chunk{jobs: some})
		}
		jobs = jobs[n:]
	}
}

// find returns the chunk in which a turn of the subqueue is or belongs, and where in it.
func (l *subqueue) find(t turn) (at, i int) {
	at, _ = slices.BinarySearchFunc(l.chunks, t, func(p *chunk, t turn) int { return p.last().turn.compare(t) })
	if at == len(l.chunks) {
		if at == 0 {
			return 0, 0
		}
		at--
		return at, len(l.chunks[at].jobs)
	}
	return at, l.chunks[at].find(t)
}

// find returns where a turn of the subqueue is or belongs.
func (p *chunk) find(t turn) int {
	i, _ := slices.BinarySearchFunc(p.jobs, t, func(q *queued, t turn) int { return q.turn.compare(t) })
	return i
}

func (p *chunk) last() *queued { return p.jobs[len(p.jobs)-1] }

// place is the chunk in which a job is, and where; nil if it is in none.
func (l *jobQueue) place(q *queued) (*chunk, int) {
	in := l.subqueue(q.group)
	if len(in.chunks) == 0 {
		return nil, 0
	}
	at, i := in.find(q.turn)
	if p := in.chunks[at]; i < len(p.jobs) && p.jobs[i] == q {
		return p, i
	}
	return nil, 0
}

// chunkOf is the chunk in which a job is, nil if it is in none.
func (l *jobQueue) chunkOf(q *queued) *chunk {
	p, _ := l.place(q)
	return p
}

func (l *jobQueue) add(q *queued) {
	l.n++
	in := l.subqueue(q.group)
	at, i := in.find(q.turn)
	switch most := l.most(); {
	case len(in.chunks) == 0:
		in.chunks = []*chunk{{jobs: []*queued{q}}}
		return
	case len(in.chunks[at].jobs) < most:
	case i == most:
		in.chunks = slices.Insert(in.chunks, at+1, &chunk{jobs: []*queued{q}})
		return
	default:
		half, p := most/2, in.chunks[at]
		rest := *p
		rest.jobs, rest.userGroups, rest.kinds, rest.of, rest.upto = slices.Clone(p.jobs[half:]), slices.Clone(p.userGroups), slices.Clone(p.kinds), slices.Clone(p.of), max(p.upto-half, 0)
		in.chunks = slices.Insert(in.chunks, at+1, &rest)
		p.upto = min(p.upto, half)
		if p.jobs = slices.Delete(p.jobs, half, most); i > half {
			at, i = at+1, i-half
		}
	}
	p := in.chunks[at]
	p.jobs, p.quiet = slices.Insert(p.jobs, i, q), false
	if i < p.upto {
		p.upto++
	}
}

// remove takes out a job that is in the line.
func (l *jobQueue) remove(q *queued) {
	l.n--
	in := l.subqueue(q.group)
	at, i := in.find(q.turn)
	p := in.chunks[at]
	if len(p.jobs) == 1 {
		in.chunks = slices.Delete(in.chunks, at, at+1)
		return
	}
	p.jobs = slices.Delete(p.jobs, i, i+1)
	if i < p.upto {
		p.upto--
	}
}

// some goes through all jobs, subqueue by subqueue.
func (l *jobQueue) some() iter.Seq[*queued] {
	return func(yield func(*queued) bool) {
		for p := range l.chunks() {
			for _, q := range p.jobs {
				if !yield(q) {
					return
				}
			}
		}
	}
}

// chunks goes through all chunks, subqueue by subqueue.
func (l *jobQueue) chunks() iter.Seq[*chunk] {
	return func(yield func(*chunk) bool) {
		for i := range l.subqueues {
			for _, p := range l.subqueues[i].chunks {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// all goes through the jobs in order.
func (l *jobQueue) all() iter.Seq[*queued] {
	return func(yield func(*queued) bool) {
		for _, jobs := range l.runs() {
			for _, q := range jobs {
				if !yield(q) {
					return
				}
			}
		}
	}
}

// runs goes through the jobs in order, as many at a time as follow each other in a chunk.
func (l *jobQueue) runs() iter.Seq2[*chunk, []*queued] {
	return func(yield func(*chunk, []*queued) bool) {
		for m := l.join(nil); m.more(); {
			p, i := m.next()
			n := m.follow(p, i)
			if !yield(p, p.jobs[i:i+n]) {
				return
			}
			m.pass(n)
		}
	}
}

// reorder recomputes the turns and groups of all jobs by calling change. Those that keep theirs are in order still: only the others are sorted.
func (l *jobQueue) reorder(change func(q *queued)) {
	kept, moved := make([]*queued, 0, l.n), []*queued(nil)
	for q := range l.some() {
		was, in := q.turn, q.group
		if change(q); q.turn == was && q.group == in {
			kept = append(kept, q)
		} else {
			moved = append(moved, q)
		}
	}
	slices.SortFunc(moved, inLanes)
	l.fill(merge(kept, moved, inLanes))
}

// inLanes compares jobs as the subqueues have them.
func inLanes(a, b *queued) int {
	if a.group != b.group {
		return cmp.Compare(a.group, b.group)
	}
	return a.turn.compare(b.turn)
}

// sort brings those whose turns and groups have changed back into order.
func (l *jobQueue) sort() {
	jobs := make([]*queued, 0, l.n)
	for q := range l.some() {
		jobs = append(jobs, q)
	}
	slices.SortFunc(jobs, inLanes)
	l.fill(jobs)
}
