package place

import (
	"math"
	"slices"
)

// join goes through the jobs of all subqueues of a queue in order. The queue does not change meanwhile.
type join struct {
	*jobQueue
	at    []position // by subqueue: its next job
	heads []head     // a heap: subqueues that have one, the first in order on top
}

// position is a job's chunk and its place in that.
type position struct{ chunk, job int }

func (a position) before(b position) bool {
	return a.chunk < b.chunk || a.chunk == b.chunk && a.job < b.job
}

// head is the next job of a subqueue.
type head struct {
	turn     turn
	subqueue int32
}

// join begins behind a job, which may be gone; nil: at the first of all.
func (l *jobQueue) join(edge *queued) *join { return new(join).begin(l, edge) }

// begin begins to go through a line behind a job. It uses the room of what m went through before.
func (m *join) begin(l *jobQueue, edge *queued) *join {
	m.jobQueue, m.at = l, slices.Grow(m.at[:0], len(l.subqueues))[:len(l.subqueues)]
	clear(m.at)
	if edge != nil {
		after := l.turn(edge)
		for i := range l.subqueues {
			m.at[i] = l.subqueues[i].from(l.within(after, i), edge)
		}
	}
	m.heap()
	return m
}

// within is a turn among all as the jobs of a subqueue have it.
func (l *jobQueue) within(t turn, subqueue int) turn {
	if n := l.counts[subqueue]; n < 0 && t.priority > math.MaxInt64+n {
		t.priority = math.MaxInt64
	} else if n > 0 && t.priority < math.MinInt64+n {
		t.priority = math.MinInt64
	} else {
		t.priority -= n
	}
	return t
}

// from is the first job of a subqueue from a turn on, but for one job.
func (l *subqueue) from(t turn, but *queued) position {
	if len(l.chunks) == 0 {
		return position{}
	}
	at, i := l.find(t)
	if p := l.chunks[at]; i < len(p.jobs) && p.jobs[i] == but {
		i++
	}
	if i == len(l.chunks[at].jobs) {
		return position{at + 1, 0}
	}
	return position{at, i}
}

// heap makes heads of at.
func (m *join) heap() {
	m.heads = m.heads[:0]
	for i := range m.subqueues {
		if m.at[i].chunk < len(m.subqueues[i].chunks) {
			m.heads = append(m.heads, m.head(int32(i)))
		}
	}
	for i := len(m.heads)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
}

func (m *join) head(subqueue int32) head {
	at := m.at[subqueue]
	return head{m.turn(m.subqueues[subqueue].chunks[at.chunk].jobs[at.job]), subqueue}
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

// next is the chunk of the next job, and where in it.
func (m *join) next() (*chunk, int) {
	at := m.at[m.heads[0].subqueue]
	return m.subqueues[m.heads[0].subqueue].chunks[at.chunk], at.job
}

// other is where the next job of another subqueue stands; false if there is none.
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

// follow is how many jobs of the chunk come before the next one of another subqueue.
func (m *join) follow(p *chunk, i int) int {
	other, ok := m.other()
	if !ok || m.turn(p.last()).compare(other) < 0 {
		return len(p.jobs) - i
	}
	if i+1 < len(p.jobs) && m.turn(p.jobs[i+1]).compare(other) > 0 {
		return 1
	}
	return p.find(m.within(other, int(m.heads[0].subqueue))) - i
}

// pass goes on behind some jobs of the next one's chunk.
func (m *join) pass(n int) {
	subqueue := m.heads[0].subqueue
	at := &m.at[subqueue]
	if at.job += n; at.job == len(m.subqueues[subqueue].chunks[at.chunk].jobs) {
		*at = position{at.chunk + 1, 0}
	}
	if at.chunk < len(m.subqueues[subqueue].chunks) {
		m.heads[0] = m.head(subqueue)
	} else {
		last := len(m.heads) - 1
		m.heads[0] = m.heads[last]
		m.heads = m.heads[:last]
	}
	m.down(0)
}

// passed is the last job behind which all subqueues are.
func (m *join) passed() (last *queued) {
	for i, at := range m.at {
		var q *queued
		switch chunks := m.subqueues[i].chunks; {
		case at.job > 0:
			q = chunks[at.chunk].jobs[at.job-1]
		case at.chunk > 0:
			q = chunks[at.chunk-1].last()
		default:
			continue
		}
		if last == nil || m.compare(last, q) < 0 {
			last = q
		}
	}
	return last
}
