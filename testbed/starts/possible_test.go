package starts

import (
	"testing"
	"time"
)

// span is a time from one instant to another.
type span struct{ from, to time.Time }

// open is the first time from at on that is in one of the spans, or was until a moment ago; zero: there is none.
func open(spans []span, at time.Time) time.Time {
	for _, s := range spans {
		switch {
		case at.Before(s.from):
			return s.from
		case at.Before(s.to.Add(Lag)):
			return at
		}
	}
	return time.Time{}
}

func TestPossible(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1e9+s), 0) }
	s := Site{Nodes: 3, Held: []Held{{"a", at(0), at(100)}, {"b", at(0), at(50)}, {"b", at(50), at(300)}, {"c", at(38), at(90)}}}
	for _, c := range []struct{ nodes, at, want int }{
		{1, 40, 40}, // c's job has only just begun: nobody could know
		{2, 40, 50},
		{3, 40, 100},
		{1, 60, 90},
		{3, 60, 300},
		{3, 301, 301},
	} {
		if got := s.Free(c.nodes, at(c.at)); !got.Equal(at(c.want)) {
			t.Errorf("%d nodes at %d are free at %d, want %d", c.nodes, c.at, got.Unix()-1e9, c.want)
		}
	}
	spans := []span{{at(10), at(20)}, {at(60), at(70)}}
	for _, c := range []struct{ at, want int }{{0, 10}, {15, 15}, {22, 22}, {40, 60}} {
		if got := open(spans, at(c.at)); !got.Equal(at(c.want)) {
			t.Errorf("at %d: open at %d, want %d", c.at, got.Unix()-1e9, c.want)
		}
	}
	if !open(spans, at(100)).IsZero() {
		t.Error("it opens no more after 100")
	}
}
