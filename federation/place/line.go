package place

import (
	"iter"
	"slices"
)

// line holds jobs in order of their turns. It keeps them in pieces of bounded length, so that one comes or goes at little cost, however many there are.
type line struct {
	pieces [][]*queued // none is empty
	n      int
}

const pieceLen = 1024

// lineOf is a line of jobs that are in order.
func lineOf(jobs []*queued) line {
	l := line{n: len(jobs)}
	for piece := range slices.Chunk(jobs, pieceLen) {
		l.pieces = append(l.pieces, piece)
	}
	return l
}

// find returns the piece in which a turn is or belongs, and where in it.
func (l *line) find(t turn) (piece, i int) {
	piece, _ = slices.BinarySearchFunc(l.pieces, t, func(p []*queued, t turn) int { return p[len(p)-1].turn.compare(t) })
	if piece == len(l.pieces) {
		if piece == 0 {
			return 0, 0
		}
		piece--
		return piece, len(l.pieces[piece])
	}
	i, _ = slices.BinarySearchFunc(l.pieces[piece], t, func(q *queued, t turn) int { return q.turn.compare(t) })
	return piece, i
}

func (l *line) add(q *queued) {
	l.n++
	p, i := l.find(q.turn)
	switch {
	case len(l.pieces) == 0:
		l.pieces = [][]*queued{{q}}
		return
	case len(l.pieces[p]) < pieceLen:
	case i == pieceLen:
		l.pieces = slices.Insert(l.pieces, p+1, []*queued{q})
		return
	default:
		const half = pieceLen / 2
		l.pieces = slices.Insert(l.pieces, p+1, slices.Clone(l.pieces[p][half:]))
		l.pieces[p] = slices.Delete(l.pieces[p], half, pieceLen)
		if i > half {
			p, i = p+1, i-half
		}
	}
	l.pieces[p] = slices.Insert(l.pieces[p], i, q)
}

// remove takes out a job that is in the line.
func (l *line) remove(q *queued) {
	l.n--
	p, i := l.find(q.turn)
	if l.pieces[p] = slices.Delete(l.pieces[p], i, i+1); len(l.pieces[p]) == 0 {
		l.pieces = slices.Delete(l.pieces, p, p+1)
	}
}

func (l *line) all() iter.Seq[*queued] { return l.from(0, 0) }

// since goes through those that are not before a turn.
func (l *line) since(t turn) iter.Seq[*queued] { return l.from(l.find(t)) }

func (l *line) from(piece, i int) iter.Seq[*queued] {
	return func(yield func(*queued) bool) {
		for p := piece; p < len(l.pieces); p++ {
			for _, q := range l.pieces[p][i:] {
				if !yield(q) {
					return
				}
			}
			i = 0
		}
	}
}

// sort brings those whose turns have changed back into order.
func (l *line) sort() {
	jobs := slices.Concat(l.pieces...)
	slices.SortFunc(jobs, func(a, b *queued) int { return a.turn.compare(b.turn) })
	*l = lineOf(jobs)
}
