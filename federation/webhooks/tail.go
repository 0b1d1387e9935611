package webhooks

import (
	"slices"
	"sync"

	"fsub/federation/journal"
)

// tail has the newest events of the log, for all endpoints that have kept up.
type tail struct {
	mu     sync.Mutex
	begun  bool
	after  journal.Mark // all that came after it, up to mark, is here
	mark   journal.Mark
	events []Event
}

func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun, t.events = false, nil
}

func (t *tail) begin(mark journal.Mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun, t.after, t.mark, t.events = true, mark, mark, nil
}

// add takes a page of the log, and forgets the oldest commits of too many.
func (t *tail) add(p Page) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.Mark == t.mark {
		return
	}
	t.events, t.mark = append(t.events, p.Events...), p.Mark
	if n := len(t.events) - mostEvents; n > 0 {
		t.after = t.events[n-1].Mark
		for n < len(t.events) && t.events[n].Mark == t.after {
			n++
		}
		t.events = slices.Clone(t.events[n:])
	}
}

// from returns events after a place, at most so many, and the mark up to which there are no others. known: they are here; else the log has to be read.
func (t *tail) from(mark journal.Mark, index, most int) (events []Event, to journal.Mark, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.begun || mark < t.after {
		return nil, 0, false
	}
	at, _ := slices.BinarySearchFunc(t.events, 0, func(e Event, _ int) int {
		if e.Mark < mark || e.Mark == mark && e.Index <= index {
			return -1
		}
		return 1
	})
	events, to = t.events[at:], t.mark
	if len(events) > most {
		events = events[:most]
		to = 0
	}
	return slices.Clip(events), to, true // what is there never changes
}
