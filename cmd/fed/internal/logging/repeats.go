package logging

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// repeats writes lines of the log, and a warning or an error that says the same again once a minute only, with the number of those that were left out. What is
// tried twice a second while the database is away is one line a minute so, and not thousands.
type repeats struct {
	to   io.Writer
	json bool // lines are objects
	now  func() time.Time

	mu   sync.Mutex
	seen map[string]*repeated // by the line without its time
}

type repeated struct {
	written time.Time
	left    int // out, since then
}

// repeatAfter is after how long a line is written again, mostRepeats how many different ones are remembered.
const (
	repeatAfter = time.Minute
	mostRepeats = 1000
)

// Write takes one line, as slog's handlers give it.
func (r *repeats) Write(line []byte) (int, error) {
	sep, level := " ", "level="
	if r.json {
		sep, level = ",", `"level":"`
	}
	_, rest, timed := bytes.Cut(line, []byte(sep))
	what, leveled := bytes.CutPrefix(rest, []byte(level))
	if !timed || !leveled || !bytes.HasPrefix(what, []byte("ERROR")) && !bytes.HasPrefix(what, []byte("WARN")) {
		return r.to.Write(line)
	}
	left, write := r.count(string(rest))
	switch {
	case !write:
		return len(line), nil
	case left > 0:
		format, line := "%s repeated=%d\n", bytes.TrimSuffix(line, []byte("\n"))
		if r.json {
			format, line = "%s,\"repeated\":%d}\n", bytes.TrimSuffix(line, []byte("}"))
		}
		_, err := fmt.Fprintf(r.to, format, line, left)
		return len(line), err
	}
	return r.to.Write(line)
}

// count reports whether a line is to be written, and how many like it were left out.
func (r *repeats) count(text string) (left int, write bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if s := r.seen[text]; s != nil && now.Sub(s.written) < repeatAfter {
		s.left++
		return 0, false
	} else if s != nil {
		left = s.left
	}
	if len(r.seen) >= mostRepeats {
		clear(r.seen)
	}
	if r.seen == nil {
		r.seen = map[string]*repeated{}
	}
	r.seen[text] = &repeated{written: now}
	return left, true
}
