package logging

import (
	"bytes"
	"sync"
)

// mostRecent is how much of the log is remembered.
const mostRecent = 512 << 10

// recent remembers the last lines.
type recent struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (r *recent) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.text)+len(line) > 2*mostRecent {
		keep := r.text[len(r.text)-min(len(r.text), mostRecent):]
		if i := bytes.IndexByte(keep, '\n'); i >= 0 {
			keep = keep[i+1:]
		}
		r.text = append(r.text[:0], keep...)
	}
	r.text = append(r.text, line...)
	return len(line), nil
}

// bytes are the last whole lines.
func (r *recent) bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.text
	if more := len(last) - mostRecent; more > 0 {
		last = last[more:]
		last = last[bytes.IndexByte(last, '\n')+1:]
	}
	return bytes.Clone(last)
}
