package steps

import (
	"encoding/json"
	"sync"

	"fsub/cloud/steps/wire"
)

// mail delivers to some nodes, in order, what concerns their meetings, in a goroutine of its own. A
// reader of one node's connection must not wait for another to read: that one may wait for the
// first in turn.
type mail struct {
	hold *holding

	mu      sync.Mutex
	letters []letter
	busy    bool
}

// letter is one frame for one or more nodes. held is what the run's memory knows of it.
type letter struct {
	to   []*wire.Writer
	said wire.Meeting
	held int
}

// everybody is the mail for messages to several nodes at once. There is one, so that not each of
// them makes a large frame at the same time.
const everybody = -1

// letterSize is what a letter takes that brings nothing.
const letterSize = 256

// copies is how often a message is in memory while it is delivered: as it came, as JSON, and in the frame.
const copies = 3

// mail returns that of a node. The caller holds mu.
func (st *step) mail(node int) *mail {
	m := st.meetings.mails[node]
	if m == nil {
		if st.meetings.mails == nil {
			st.meetings.mails = map[int]*mail{}
		}
		m = &mail{hold: st.hold}
		st.meetings.mails[node] = m
	}
	return m
}

// post takes a letter and does not wait for it.
func (m *mail) post(l letter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.letters = append(m.letters, l)
	if !m.busy {
		m.busy = true
		go m.deliver()
	}
}

// deliver writes until nothing is left. Nodes that have ended, or take nothing any more, have
// connections that are closed.
func (m *mail) deliver() {
	for {
		m.mu.Lock()
		if len(m.letters) == 0 {
			m.letters, m.busy = nil, false
			m.mu.Unlock()
			return
		}
		l := m.letters[0]
		m.letters[0] = letter{}
		m.letters = m.letters[1:]
		m.mu.Unlock()
		if text, err := json.Marshal(l.said); err == nil {
			for _, w := range l.to {
				w.Write(wire.Met, 0, text)
			}
		}
		_ = m.hold.add(-l.held) // less never fails
	}
}
