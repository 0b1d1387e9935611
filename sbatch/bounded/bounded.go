// Package bounded has lists that refuse to be read from JSON where they are longer than they may be, before memory is taken for their elements: of "[{},{},...]"
// each element may be two hundred times as large as its text. [Slice] is all there is.
package bounded

import (
	"encoding/json"
	"fmt"
)

// Max says how long a list may be, and what its elements are called in the refusal.
type Max interface {
	Max() (n int, elements string)
}

// Slice is a slice of at most as many elements as M says, if it comes as JSON.
type Slice[T any, M Max] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Slice[T, M]) UnmarshalJSON(text []byte) error {
	var m M
	n := Count(text)
	if most, elements := m.Max(); n > most {
		return fmt.Errorf("%d %s, at most %d are allowed", n, elements, most)
	}
	*s = make([]T, 0, n)
	return json.Unmarshal(text, (*[]T)(s))
}

// Count is how many elements the list in text has: one more than it has commas of its own. It is 0 for what is no list.
func Count(text []byte) int {
	n, depth := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t', '\n', '\r':
			continue
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			if depth++; depth == 1 {
				continue
			}
		case ']', '}':
			depth--
			continue
		case ',':
			if depth == 1 {
				n++
			}
			continue
		}
		if n == 0 && depth > 0 {
			n = 1 // something stands in it
		}
	}
	return n
}

// Named bounds what a request names: jobs, accounts, files.
type Named struct{}

// MaxNamed is how many.
const MaxNamed = 100_000

// Max implements [Max].
func (Named) Max() (int, string) { return MaxNamed, "elements of a list" }
