package place

import (
	"math"
	"slices"
)

// join goes through the jobs of all lanes of a line in order. The line does not change meanwhile.
type join struct {
	*line
	at    []position // by lane: its next job
	heads []head     // a heap: lanes that have one, the first in order on top
}

// position is a job's piece and its place in that.
type position struct{ piece, job int }

func (a position) before(b position) bool {
	return a.piece < b.piece || a.piece == b.piece && a.job < b.job
}

// head is the next job of a lane.
type head struct {
	turn turn
	lane int32
}

// join begins behind a job, which may be gone; nil: at the first of all.
func (l *line) join(edge *queued) *join { return new(join).begin(l, edge) }

// begin begins to go through a line behind a job. It uses the room of what m went through before.
func (m *join) begin(l *line, edge *queued) *join {
	m.line, m.at = l, slices.Grow(m.at[:0], len(l.lanes))[:len(l.lanes)]
	clear(m.at)
	if edge != nil {
		after := l.turn(edge)
		for i := range l.lanes {
			m.at[i] = l.lanes[i].from(l.within(after, i), edge)
		}
	}
	m.heap()
	return m
}

// within is a turn among all as the jobs of a lane have it.
func (l *line) within(t turn, lane int) turn {
	if n := l.counts[lane]; n < 0 && t.priority > math.MaxInt64+n {
		t.priority = math.MaxInt64
	} else if n > 0 && t.priority < math.MinInt64+n {
		t.priority = math.MinInt64
	} else {
		t.priority -= n
	}
	return t
}

// from is the first job of a lane from a turn on, but for one job.
func (l *lane) from(t turn, but *queued) position {
	if len(l.pieces) == 0 {
		return position{}
	}
	at, i := l.find(t)
	if p := l.pieces[at]; i < len(p.jobs) && p.jobs[i] == but {
		i++
	}
	if i == len(l.pieces[at].jobs) {
		return position{at + 1, 0}
	}
	return position{at, i}
}

// heap makes heads of at.
func (m *join) heap() {
	m.heads = m.heads[:0]
	for i := range m.lanes {
		if m.at[i].piece < len(m.lanes[i].pieces) {
			m.heads = append(m.heads, m.head(int32(i)))
		}
	}
	for i := len(m.heads)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
}

func (m *join) head(lane int32) head {
	at := m.at[lane]
	return head{m.turn(m.lanes[lane].pieces[at.piece].jobs[at.job]), lane}
}

func (m *join) down(i int) {
	h := m.heads
	for {
		k := 2*i + 1
		if k >= len(h) {
			return
		}
		if k+1 < len(h) && h[k+1].turn.compare(h[k].turn) < 0 {
			k++
		}
		if h[i].turn.compare(h[k].turn) <= 0 {
			return
		}
		h[i], h[k] = h[k], h[i]
		i = k
	}
}

// more reports whether there is a next job.
func (m *join) more() bool { return len(m.heads) > 0 }

// next is the piece of the next job, and where in it.
func (m *join) next() (*piece, int) {
	at := m.at[m.heads[0].lane]
	return m.lanes[m.heads[0].lane].pieces[at.piece], at.job
}

// other is where the next job of another lane stands; false if there is none.
func (m *join) other() (turn, bool) {
	switch len(m.heads) {
	case 0, 1:
		return turn{}, false
	case 2:
		return m.heads[1].turn, true
	}
	if m.heads[1].turn.compare(m.heads[2].turn) < 0 {
		return m.heads[1].turn, true
	}
	return m.heads[2].turn, true
}

// follow is how many jobs of the piece come before the next one of another lane.
func (m *join) follow(p *piece, i int) int {
	other, ok := m.other()
	if !ok || m.turn(p.last()).compare(other) < 0 {
		return len(p.jobs) - i
	}
	if i+1 < len(p.jobs) && m.turn(p.jobs[i+1]).compare(other) > 0 {
		return 1
	}
	return p.find(m.within(other, int(m.heads[0].lane))) - i
}

// pass goes on behind some jobs of the next one's piece.
func (m *join) pass(n int) {
	lane := m.heads[0].lane
	at := &m.at[lane]
	if at.job += n; at.job == len(m.lanes[lane].pieces[at.piece].jobs) {
		*at = position{at.piece + 1, 0}
	}
	if at.piece < len(m.lanes[lane].pieces) {
		m.heads[0] = m.head(lane)
	} else {
		last := len(m.heads) - 1
		m.heads[0] = m.heads[last]
		m.heads = m.heads[:last]
	}
	m.down(0)
}

// passed is the last job behind which all lanes are.
func (m *join) passed() (last *queued) {
	for i, at := range m.at {
		var q *queued
		switch pieces := m.lanes[i].pieces; {
		case at.job > 0:
			q = pieces[at.piece].jobs[at.job-1]
		case at.piece > 0:
			q = pieces[at.piece-1].last()
		default:
			continue
		}
		if last == nil || m.compare(last, q) < 0 {
			last = q
		}
	}
	return last
}
