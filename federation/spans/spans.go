// Package spans tells a job's life as spans of time within each other: how long it waited, was handed over, stood in a site's queue and ran, in each attempt. It is made from what
// the daemon has written down of the job, and needs nothing else.
package spans

import (
	"fmt"
	"time"

	"fsub/federation"
)

// Kind says what a span is.
type Kind string

const (
	Whole     Kind = "job"        // from the submission to the end
	Waits     Kind = "waits"      // the federation has not placed it, or not again
	Tried     Kind = "attempt"    // at one site, from the decision on
	HandsOver Kind = "hands over" // until the site has confirmed that it has the job
	Queued    Kind = "queued"     // at the site, until it starts there
	Runs      Kind = "runs"
)

// Span is a part of a job's life. A span lies within the one that it is below, and those below one span follow one another in time.
type Span struct {
	Kind  Kind      `json:"kind"`
	Depth int       `json:"depth"` // 0: the whole job
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"` // of one that lasts: now
	Open  bool      `json:"open,omitempty"`

	Attempt int                 `json:"attempt,omitempty"`
	Run     int                 `json:"run,omitempty"` // of the attempt, from 1: a site may start a job again itself
	Site    federation.SiteName `json:"site,omitempty"`
	Nodes   string              `json:"nodes,omitempty"`
	State   federation.State    `json:"state,omitempty"` // how it ended; of the whole job its state
	Note    string              `json:"note,omitempty"`
}

// Length is how long it lasts.
func (s *Span) Length() time.Duration { return s.End.Sub(s.Begin) }

// Of tells a job's life until now, from the outside in and in the order of time.
func Of(j *federation.Job, attempts []federation.Attempt, now time.Time) []Span {
	t := &teller{now: now, ended: j.State.Ended()}
	t.end, t.open = now, true
	if t.ended {
		t.open = false
		t.end = later(j.Submit, j.End) // by the site's clock
	}
	t.add(Span{Kind: Whole, Begin: j.Submit, End: t.end, Open: t.open, State: j.State})
	at := j.Submit // until when is told
	for i := range attempts {
		a := &attempts[i]
		t.add(Span{Kind: Waits, Depth: 1, Begin: at, End: a.Created})
		at = t.attempt(a, later(at, a.Created))
	}
	t.add(Span{Kind: Waits, Depth: 1, Begin: at, End: t.end, Open: t.open})
	return t.all
}

// teller collects spans.
type teller struct {
	now, end time.Time
	ended    bool // the job has
	open     bool
	all      []Span
}

// add takes a span. What has no length is left out, but for the whole: sites' clocks may differ, and what they tell may lie in the past or before what it follows.
func (t *teller) add(s Span) {
	if s.End.After(t.end) {
		s.End = t.end
	}
	if s.Begin.IsZero() || !s.End.After(s.Begin) && s.Kind != Whole {
		return
	}
	t.all = append(t.all, s)
}

// attempt tells one that begins then, and returns when it ends.
func (t *teller) attempt(a *federation.Attempt, begin time.Time) time.Time {
	end, open := a.Ended, false
	if end.IsZero() {
		end, open = t.end, t.open
		if over := a.State.Final(); over || t.ended { // it was withdrawn or refused: the last that is known
			end, open = later(begin, a.Acked), false
		}
	}
	end = later(begin, end)
	whole := Span{Kind: Tried, Depth: 1, Begin: begin, End: end, Open: open, Attempt: a.Number, Site: a.Site, State: a.Final, Note: a.Note}
	t.add(whole)
	part := func(kind Kind, run int, from, to time.Time, open bool, nodes string, state federation.State) {
		t.add(Span{Kind: kind, Depth: 2, Begin: from, End: to, Open: open, Attempt: a.Number, Run: run, Site: a.Site, Nodes: nodes, State: state})
	}
	at := begin
	switch {
	case !a.Acked.IsZero():
		part(HandsOver, 0, at, within(a.Acked, at, end), false, "", "")
		at = within(a.Acked, at, end)
	case a.Started.IsZero():
		part(HandsOver, 0, at, end, open, "", "")
		return end
	}
	runs := a.Runs
	for i := range runs {
		r := &runs[i]
		from := within(r.Started, at, end)
		part(Queued, i+1, at, from, false, "", "")
		to := within(r.Ended, from, end)
		part(Runs, i+1, from, to, false, r.Nodes, r.State)
		at = to
	}
	last := len(runs) + 1
	if a.Started.IsZero() {
		part(Queued, last, at, end, open, "", "")
		return end
	}
	from := within(a.Started, at, end)
	part(Queued, last, at, from, false, "", "")
	part(Runs, last, from, end, open, a.Nodes, a.Final)
	return end
}

// within is a time, but not before one nor after another.
func within(t, from, to time.Time) time.Time {
	switch {
	case t.Before(from):
		return from
	case t.After(to):
		return to
	}
	return t
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Title names a span for people.
func (s *Span) Title() string {
	switch s.Kind {
	case Tried:
		return fmt.Sprintf("attempt %d at %s", s.Attempt, s.Site)
	case Runs:
		if s.Nodes != "" {
			return "runs on " + s.Nodes
		}
	case Queued:
		return "queued there"
	}
	return string(s.Kind)
}
