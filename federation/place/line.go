package place

import (
	"cmp"
	"iter"
	"slices"
)

// line holds jobs in order of their turns. It keeps them in pieces of bounded length, so that one comes or goes at little cost, however many there are.
type line struct {
	pieces []*piece // none is empty
	n      int
	long   int // the most jobs in a piece; 0: pieceLen
}

// piece is some jobs of a line that follow each other. A plan decides about a quiet one as a whole where nothing has become free for any of its shapes.
type piece struct {
	jobs   []*queued
	quiet  bool     // its jobs wait for what kins say, each has been told so, and none differs from the others of its shape
	kins   []waited // of a quiet one: the kins of all its jobs, and perhaps more
	kinds  []kind   // their shapes, at one state of what persons may do
	limits int
	run    int // the plan that has decided about it as a whole
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

// fill makes a line of jobs that are in order.
func (l *line) fill(jobs []*queued) {
	l.n, l.pieces = len(jobs), nil
	for some := range slices.Chunk(jobs, l.most()) {
		l.pieces = append(l.pieces, &piece{jobs: some})
	}
}

// find returns the piece in which a turn is or belongs, and where in it.
func (l *line) find(t turn) (at, i int) {
	at, _ = slices.BinarySearchFunc(l.pieces, t, func(p *piece, t turn) int { return p.jobs[len(p.jobs)-1].turn.compare(t) })
	if at == len(l.pieces) {
		if at == 0 {
			return 0, 0
		}
		at--
		return at, len(l.pieces[at].jobs)
	}
	i, _ = slices.BinarySearchFunc(l.pieces[at].jobs, t, func(q *queued, t turn) int { return q.turn.compare(t) })
	return at, i
}

// pieceOf is the piece in which a job is, nil if it is in none.
func (l *line) pieceOf(q *queued) *piece {
	if l.n == 0 {
		return nil
	}
	at, i := l.find(q.turn)
	if p := l.pieces[at]; i < len(p.jobs) && p.jobs[i] == q {
		return p
	}
	return nil
}

func (l *line) add(q *queued) {
	l.n++
	at, i := l.find(q.turn)
	switch most := l.most(); {
	case len(l.pieces) == 0:
		l.pieces = []*piece{{jobs: []*queued{q}}}
		return
	case len(l.pieces[at].jobs) < most:
	case i == most:
		l.pieces = slices.Insert(l.pieces, at+1, &piece{jobs: []*queued{q}})
		return
	default:
		half, p := most/2, l.pieces[at]
		rest := *p
		rest.jobs, rest.kins, rest.kinds = slices.Clone(p.jobs[half:]), slices.Clone(p.kins), slices.Clone(p.kinds)
		l.pieces = slices.Insert(l.pieces, at+1, &rest)
		if p.jobs = slices.Delete(p.jobs, half, most); i > half {
			at, i = at+1, i-half
		}
	}
	p := l.pieces[at]
	p.jobs, p.quiet = slices.Insert(p.jobs, i, q), false
}

// remove takes out a job that is in the line.
func (l *line) remove(q *queued) {
	l.n--
	at, i := l.find(q.turn)
	if p := l.pieces[at]; len(p.jobs) == 1 {
		l.pieces = slices.Delete(l.pieces, at, at+1)
	} else {
		p.jobs = slices.Delete(p.jobs, i, i+1)
	}
}

func (l *line) all() iter.Seq[*queued] {
	return func(yield func(*queued) bool) {
		for _, p := range l.pieces {
			for _, q := range p.jobs {
				if !yield(q) {
					return
				}
			}
		}
	}
}

// since goes through the pieces, from the first job on that is not before another one; nil: from the first of all.
func (l *line) since(edge *queued) iter.Seq2[*piece, []*queued] {
	return func(yield func(*piece, []*queued) bool) {
		at, i := 0, 0
		if edge != nil && l.n > 0 {
			at, i = l.find(edge.turn)
		}
		for ; at < len(l.pieces); at, i = at+1, 0 {
			if p := l.pieces[at]; !yield(p, p.jobs[i:]) {
				return
			}
		}
	}
}

// reorder has change set the turns of all jobs. Those that keep theirs are in order still: only the others are sorted.
func (l *line) reorder(change func(q *queued)) {
	kept, moved := make([]*queued, 0, l.n), []*queued(nil)
	for q := range l.all() {
		was := q.turn
		if change(q); q.turn == was {
			kept = append(kept, q)
		} else {
			moved = append(moved, q)
		}
	}
	compare := func(a, b *queued) int { return a.turn.compare(b.turn) }
	slices.SortFunc(moved, compare)
	l.fill(merge(kept, moved, compare))
}

// sort brings those whose turns have changed back into order.
func (l *line) sort() {
	jobs := make([]*queued, 0, l.n)
	for q := range l.all() {
		jobs = append(jobs, q)
	}
	slices.SortFunc(jobs, func(a, b *queued) int { return a.turn.compare(b.turn) })
	l.fill(jobs)
}
