package share

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestOneUserLeavesRoom: whatever one user's helpers do, others are served; and nobody waits longer than his context.
func TestOneUserLeavesRoom(t *testing.T) {
	s := New(8, 3)
	var held []func()
	for range 3 {
		free, err := s.Take(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, free)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for range 16 { // wait among themselves
		if _, err := s.Take(short, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	for range 8 - 3 {
		if _, err := s.Take(t.Context(), uint32(2+len(held))); err != nil {
			t.Fatal(err)
		}
		held = append(held, func() {})
	}
	if _, err := s.Take(short, 99); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	held[0]()
	if _, err := s.Take(t.Context(), 99); err != nil {
		t.Fatal(err)
	}
	held[1]()
	held[2]()
	if s.user[1] != nil {
		t.Errorf("what is kept of a user who has none: %+v", s.user[1])
	}
	if most := New(8, 1000).own; most >= 8 {
		t.Errorf("one user may have %d of 8", most)
	}
	each := New(0, 2)
	for range 100 {
		if _, err := each.Take(t.Context(), uint32(len(each.user))); err != nil {
			t.Fatal(err)
		}
	}
}
