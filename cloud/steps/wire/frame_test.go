package wire

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// TestHeld: a Reader tells of buffers that are larger than streams need, and has them no longer than until the next Read; what it may not hold it does not read.
func TestHeld(t *testing.T) {
	var stream bytes.Buffer
	w := NewWriter(&stream)
	sizes := map[int]Kind{100: Stdout, small: Stdout, small + 1: Meet, 5 << 20: Meet, 3 << 20: Create}
	for _, size := range []int{100, small, small + 1, 5 << 20, 3 << 20, small, 100} {
		w.Write(sizes[size], 0, make([]byte, size))
	}
	var told []int
	r := NewReader(&stream)
	r.Held = func(more int) error { told = append(told, more); return nil }
	for range 7 {
		if _, err := r.Read(); err != nil {
			t.Fatal(err)
		}
	}
	const a, b, c = 1, 5<<20 - small, 3<<20 - small
	if want := []int{a, -a, b, -b, c, -c}; !slices.Equal(told, want) {
		t.Errorf("told %d, want %d", told, want)
	}
	no := errors.New("no")
	r.Held = func(int) error { return no }
	w.Write(Meet, 0, make([]byte, small+1))
	if _, err := r.Read(); err != no {
		t.Errorf("error %v, want %v", err, no)
	}
}

// TestLargest: each kind of frame has a bound of its own.
func TestLargest(t *testing.T) {
	for kind, most := range map[Kind]int{Stdin: maxOther, Stdout: maxOther, Exits: maxOther, 250: maxOther, Create: maxRequest, Launch: MaxPayload, Meet: MaxPayload} {
		for _, more := range []int{0, 1} {
			var stream bytes.Buffer
			NewWriter(&stream).Write(kind, 0, make([]byte, most+more))
			if _, err := NewReader(&stream).Read(); (err != nil) != (more > 0) {
				t.Errorf("kind %d of %d bytes: %v", kind, most+more, err)
			}
		}
	}
}
