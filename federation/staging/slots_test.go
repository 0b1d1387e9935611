package staging

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestOneUserLeavesRoom: whatever one user's helpers do, others are served; and nobody waits longer than his context.
func TestOneUserLeavesRoom(t *testing.T) {
	s := newSlots(0)
	var held []func()
	for range copiesOf {
		free, err := s.take(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, free)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for range 2 * copies { // wait among themselves
		if _, err := s.take(short, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	for range copies - copiesOf {
		if _, err := s.take(t.Context(), uint32(2+len(held))); err != nil {
			t.Fatal(err)
		}
		held = append(held, func() {})
	}
	if _, err := s.take(short, 99); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	held[0]()
	if _, err := s.take(t.Context(), 99); err != nil {
		t.Fatal(err)
	}
	held[1]()
	held[2]()
	if s.user[1] != nil {
		t.Errorf("what is kept of a user who has none: %+v", s.user[1])
	}
	if most := newSlots(1000).own; most >= copies {
		t.Errorf("one user may have %d of %d", most, copies)
	}
}
