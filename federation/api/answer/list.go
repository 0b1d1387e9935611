package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// listBuffer is how much of a list is gathered before it goes out. An error before that is still an answer of its own.
const listBuffer = 64 << 10

// List is an answer with a long list, which goes out as it is made: an object whose first field is the list, or the list alone.
type List struct {
	w     http.ResponseWriter
	name  string // of the field; "": the list is alone
	buf   []byte
	more  bool // it has an element
	begun bool // some of it has gone out
}

// NewList begins an answer: an object with the list as the field name, or, where name is "", the list alone.
func NewList(w http.ResponseWriter, name string) *List {
	l := &List{w: w, name: name, buf: []byte{'['}}
	if name != "" {
		l.buf = fmt.Appendf(nil, "{%q:[", name)
	}
	return l
}

// Add appends an element.
func (l *List) Add(element json.RawMessage) {
	if l.more {
		l.buf = append(l.buf, ',')
	}
	l.buf, l.more = append(l.buf, element...), true
}

// Send lets go out what was added, if that is enough to be worth it. While it goes out the user's turn is another's, so what it was made of should be in use no more. It fails
// where the caller has gone; there is no more to be done then.
func (l *List) Send() error {
	if len(l.buf) < listBuffer {
		return nil
	}
	return l.flush()
}

func (l *List) flush() error {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", "application/json")
	}
	_, err := l.w.Write(l.buf)
	if l.buf = l.buf[:0]; cap(l.buf) > 16*listBuffer {
		l.buf = nil // of large jobs
	}
	if err != nil {
		return cutError{}
	}
	return nil
}

// End ends the list. rest is an object with the fields that come after it, or that object with the list in it, empty; nil where the list is alone.
func (l *List) End(rest json.RawMessage) error {
	l.buf = append(l.buf, ']')
	if l.name != "" {
		rest, withList := bytes.CutPrefix(rest, fmt.Appendf(nil, "{%q:[],", l.name))
		if !withList {
			rest = bytes.TrimPrefix(rest, []byte("{"))
		}
		l.buf = append(append(l.buf, ','), rest...)
	}
	l.buf = append(l.buf, '\n')
	return l.flush()
}

// Fail is what a handler returns when the list cannot be made to its end: the answer is err if none of it has gone out yet, else it breaks off.
func (l *List) Fail(err error) error {
	if !l.begun {
		return err
	}
	if _, cut := err.(cutError); cut {
		return err
	}
	return cutError{err}
}

// cutError says that an answer ends in the middle; without a cause it is the caller who did not read on.
type cutError struct{ cause error }

func (e cutError) Error() string { return "the answer breaks off" }

func (e cutError) Unwrap() error { return e.cause }
