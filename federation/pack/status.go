package pack

import (
	"strconv"
	"strings"
	"time"
)

// Status is what the script of a pack has said of its tasks.
type Status struct {
	Up    time.Time // when the script began; zero: it has not, or the node does not see the file
	Ended bool      // the script has come to its end
	Tasks map[int]Result
}

// Result is how far a task has come.
type Result struct {
	Start, End time.Time // zero: it has not begun, or ended
	ExitStatus int32     // as wait(2) gives it
	Why        Why
}

// Why says who ended a task.
type Why byte

// What ends a task.
const (
	Itself  Why = '-'
	Limit   Why = 'T' // it ran into its time limit
	Killed  Why = 'C' // it was to be ended
	Skipped Why = 'x' // it was to be ended before it began
)

// Done reports whether nothing more will come of the task.
func (r *Result) Done() bool { return !r.End.IsZero() }

// Read reads a status file. It is the user's own word: lines that make no sense are left out, and of each task the first start and end count.
func Read(text []byte) Status {
	s := Status{Tasks: map[int]Result{}}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if !strings.HasSuffix(line, "\n") || len(f) < 2 { // it is being written
			continue
		}
		if f[0] == "up" {
			s.Up = second(f[1])
			continue
		}
		if f[0] == "end" {
			s.Ended = true
			continue
		}
		index, err := strconv.Atoi(f[0])
		if err != nil || len(f) < 3 {
			continue
		}
		r := s.Tasks[index]
		if at := second(f[2]); !at.IsZero() && !r.Done() && r.take(f[1], at, f[3:]) {
			s.Tasks[index] = r
		}
	}
	return s
}

func (r *Result) take(what string, at time.Time, more []string) bool {
	switch {
	case what == "s" && r.Start.IsZero():
		r.Start = at
	case what == "x" && r.Start.IsZero():
		r.End, r.Why = at, Skipped
	case what == "e" && !r.Start.IsZero() && len(more) == 3 && len(more[2]) == 1:
		code, err := strconv.ParseUint(more[0], 10, 8)
		signal, err2 := strconv.ParseUint(more[1], 10, 7)
		if err != nil || err2 != nil {
			return false
		}
		r.End, r.ExitStatus, r.Why = at, int32(code)<<8|int32(signal), Why(more[2][0])
		if r.End.Before(r.Start) {
			r.End = r.Start
		}
	default:
		return false
	}
	return true
}

func second(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}
