package heartbeat

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Record is what was found of a run by its heartbeats. It is stored with the run's attempt.
type Record struct {
	Run    time.Time `json:"run"` // when the run began: another run has another record
	Slow   []Late    `json:"slow,omitempty"`
	Silent *Silence  `json:"silent,omitempty"` // the last one
}

// Late is a node that was slow.
type Late struct {
	Node  string    `json:"node"`
	Rank  int       `json:"rank"`          // the node's number in the job
	Times float64   `json:"times"`         // how many times as long as the others' its step takes
	Late  int       `json:"late"`          // in how many of Cases looks it was
	Since time.Time `json:"since"`         // when that was found
	Fine  time.Time `json:"fine,omitzero"` // when it was late no more
	Job   string    `json:"job,omitempty"` // why the job rather than the node is to blame; "": nothing says so
}

// Silence is a time in which no node beat.
type Silence struct {
	Since  time.Time `json:"since"`            // the last beat
	Told   time.Time `json:"told"`             // when it was long enough to be told
	Never  bool      `json:"never,omitempty"`  // no node has beaten since the run began
	Behind []string  `json:"behind,omitempty"` // nodes that had done the fewest steps
	Over   time.Time `json:"over,omitzero"`    // when one beat again
}

// mostSlow bounds the nodes that are kept of a run.
const mostSlow = 16

// Add notes a node that is slow, and reports whether that is news.
func (r *Record) Add(s Slow, now time.Time) bool {
	for i := range r.Slow {
		if l := &r.Slow[i]; l.Node == s.Node && l.Fine.IsZero() {
			return false
		}
	}
	if len(r.Slow) >= mostSlow {
		r.Slow = r.Slow[1:]
	}
	r.Slow = append(slices.Clip(r.Slow), Late{Node: s.Node, Rank: s.Rank, Times: s.Times, Late: s.Late, Since: now})
	return true
}

// Now are the nodes that are slow as far as is known.
func (r *Record) Now() (nodes []string) {
	if r == nil {
		return nil
	}
	for i := range r.Slow {
		if r.Slow[i].Fine.IsZero() && r.Slow[i].Job == "" {
			nodes = append(nodes, r.Slow[i].Node)
		}
	}
	return nodes
}

// Hangs reports whether no node beats.
func (r *Record) Hangs() bool {
	return r != nil && r.Silent != nil && r.Silent.Over.IsZero() && !r.Silent.Never
}

const clock = "2006-01-02 15:04"

// String says it of a node in a sentence: "n3 (node 2 of the job) takes 1.42 times as long for a step as the others, in 44 looks of 45, since 2026-11-30 12:03 UTC".
func (l *Late) String() string {
	verb, until := "takes", ""
	if !l.Fine.IsZero() {
		verb, until = "took", " to "+l.Fine.UTC().Format(clock)
	}
	since := "since "
	if until != "" {
		since = "from "
	}
	text := fmt.Sprintf("%s (node %d of the job) %s %.2f times as long for a step as the others, in %d looks of %d, %s%s%s UTC", l.Node, l.Rank, verb, l.Times, l.Late, Cases,
		since, l.Since.UTC().Format(clock), until)
	if l.Job != "" {
		text += "; " + l.Job
	}
	return text
}

// String says it in a sentence.
func (s *Silence) String() string {
	text := "no node has written its heartbeat since "
	switch {
	case s.Never:
		text = "no node has written its heartbeat file yet, and the run began at "
	case !s.Over.IsZero():
		text = "no node wrote its heartbeat from "
	}
	text += s.Since.UTC().Format(clock)
	if !s.Over.IsZero() && !s.Never {
		text += " to " + s.Over.UTC().Format(clock)
	}
	text += " UTC"
	if len(s.Behind) > 0 {
		text += "; the fewest steps are done on " + strings.Join(s.Behind, ",")
	}
	return text
}

// Lines say all of it, a sentence each.
func (r *Record) Lines() (lines []string) {
	if r == nil {
		return nil
	}
	for i := range r.Slow {
		lines = append(lines, r.Slow[i].String())
	}
	if r.Silent != nil && !(r.Silent.Never && !r.Silent.Over.IsZero()) {
		lines = append(lines, r.Silent.String())
	}
	return lines
}
