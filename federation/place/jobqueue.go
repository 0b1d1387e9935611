package place

import (
	"cmp"
	"iter"
	"slices"
)

// line holds jobs in order of their turns. The jobs of a group stand in a lane of their own, in the order that they have among each other; what the group counts is added when lanes are
// joined. So a group goes before another one without any of its jobs being touched. A lane keeps its jobs in pieces of bounded length, so that one comes or goes at little
// cost, however many there are.
type line struct {
	*groups
	lanes []lane // by group
	n     int
	long  int // the most jobs in a piece; 0: pieceLen
}

// lane is the jobs of a group.
type lane struct {
	pieces []*piece // none is empty
}

// piece is some jobs of a lane that follow each other. A plan decides about a quiet one as a whole where nothing has become free for any of its shapes.
type piece struct {
	jobs   []*queued
	quiet  bool      // its jobs wait for what kins say, each has been told so, and none differs from the others of its shape
	kins   []waited  // of a quiet one: the kins of all its jobs, and perhaps more
	kinds  []kind    // their shapes ...
	of     []*person // ... whose jobs they are ...
	limits int       // ... and the state of what those may do
	run    int       // the plan that has decided about it as a whole ...
	upto   int       // ... or about so many of its jobs, and then about others by themselves
}

// waited is the jobs of a kin in a piece, and the reason that Decide has said of them.
type waited struct {
	kin  *kin
	told word
}

// kind is the jobs of a shape in a piece.
type kind struct {
	shape *shape
	told  word  // the reason that Decide has said
	fate  *fate // by the plan that has decided about the piece
}

const pieceLen = 1024

func (l *line) most() int { return cmp.Or(l.long, pieceLen) }

// turn is a job's place among all.
func (l *line) turn(q *queued) turn {
	t := q.turn
	t.priority += l.counts[q.group]
	return t
}

func (l *line) compare(a, b *queued) int { return l.turn(a).compare(l.turn(b)) }

// lane returns the lane of a group.
func (l *line) lane(group int32) *lane {
	if more := int(group) + 1 - len(l.lanes); more > 0 {
		l.lanes = append(l.lanes, make([]lane, more)...)
	}
	return &l.lanes[group]
}

// fill makes a line of jobs, which are in the order of their groups' lanes.
func (l *line) fill(jobs []*queued) {
	l.n = len(jobs)
	clear(l.lanes)
	for len(jobs) > 0 {
		group, n := jobs[0].group, 1
		for n < len(jobs) && jobs[n].group == group {
			n++
		}
		in := l.lane(group)
		for some := range slices.Chunk(jobs[:n], l.most()) {
			in.pieces = append(in.pieces, &piece{jobs: some})
		}
		jobs = jobs[n:]
	}
}

// find returns the piece in which a turn of the lane is or belongs, and where in it.
func (l *lane) find(t turn) (at, i int) {
	at, _ = slices.BinarySearchFunc(l.pieces, t, func(p *piece, t turn) int { return p.last().turn.compare(t) })
	if at == len(l.pieces) {
		if at == 0 {
			return 0, 0
		}
		at--
		return at, len(l.pieces[at].jobs)
	}
	return at, l.pieces[at].find(t)
}

// find returns where a turn of the lane is or belongs.
func (p *piece) find(t turn) int {
	i, _ := slices.BinarySearchFunc(p.jobs, t, func(q *queued, t turn) int { return q.turn.compare(t) })
	return i
}

func (p *piece) last() *queued { return p.jobs[len(p.jobs)-1] }

// place is the piece in which a job is, and where; nil if it is in none.
func (l *line) place(q *queued) (*piece, int) {
	in := l.lane(q.group)
	if len(in.pieces) == 0 {
		return nil, 0
	}
	at, i := in.find(q.turn)
	if p := in.pieces[at]; i < len(p.jobs) && p.jobs[i] == q {
		return p, i
	}
	return nil, 0
}

// pieceOf is the piece in which a job is, nil if it is in none.
func (l *line) pieceOf(q *queued) *piece {
	p, _ := l.place(q)
	return p
}

func (l *line) add(q *queued) {
	l.n++
	in := l.lane(q.group)
	at, i := in.find(q.turn)
	switch most := l.most(); {
	case len(in.pieces) == 0:
		in.pieces = []*piece{{jobs: []*queued{q}}}
		return
	case len(in.pieces[at].jobs) < most:
	case i == most:
		in.pieces = slices.Insert(in.pieces, at+1, &piece{jobs: []*queued{q}})
		return
	default:
		half, p := most/2, in.pieces[at]
		rest := *p
		rest.jobs, rest.kins, rest.kinds, rest.of, rest.upto = slices.Clone(p.jobs[half:]), slices.Clone(p.kins), slices.Clone(p.kinds), slices.Clone(p.of), max(p.upto-half, 0)
		in.pieces = slices.Insert(in.pieces, at+1, &rest)
		p.upto = min(p.upto, half)
		if p.jobs = slices.Delete(p.jobs, half, most); i > half {
			at, i = at+1, i-half
		}
	}
	p := in.pieces[at]
	p.jobs, p.quiet = slices.Insert(p.jobs, i, q), false
	if i < p.upto {
		p.upto++
	}
}

// remove takes out a job that is in the line.
func (l *line) remove(q *queued) {
	l.n--
	in := l.lane(q.group)
	at, i := in.find(q.turn)
	p := in.pieces[at]
	if len(p.jobs) == 1 {
		in.pieces = slices.Delete(in.pieces, at, at+1)
		return
	}
	p.jobs = slices.Delete(p.jobs, i, i+1)
	if i < p.upto {
		p.upto--
	}
}

// some goes through all jobs, lane by lane.
func (l *line) some() iter.Seq[*queued] {
	return func(yield func(*queued) bool) {
		for p := range l.pieces() {
			for _, q := range p.jobs {
				if !yield(q) {
					return
				}
			}
		}
	}
}

// pieces goes through all pieces, lane by lane.
func (l *line) pieces() iter.Seq[*piece] {
	return func(yield func(*piece) bool) {
		for i := range l.lanes {
			for _, p := range l.lanes[i].pieces {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// all goes through the jobs in order.
func (l *line) all() iter.Seq[*queued] {
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

// runs goes through the jobs in order, as many at a time as follow each other in a piece.
func (l *line) runs() iter.Seq2[*piece, []*queued] {
	return func(yield func(*piece, []*queued) bool) {
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

// reorder has change set the turns and groups of all jobs. Those that keep theirs are in order still: only the others are sorted.
func (l *line) reorder(change func(q *queued)) {
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

// inLanes compares jobs as the lanes have them.
func inLanes(a, b *queued) int {
	if a.group != b.group {
		return cmp.Compare(a.group, b.group)
	}
	return a.turn.compare(b.turn)
}

// sort brings those whose turns and groups have changed back into order.
func (l *line) sort() {
	jobs := make([]*queued, 0, l.n)
	for q := range l.some() {
		jobs = append(jobs, q)
	}
	slices.SortFunc(jobs, inLanes)
	l.fill(jobs)
}
