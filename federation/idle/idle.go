// Package idle tells which running jobs leave idle what they hold. A [Rule] says how little use is none, and for how long; a [Stretch] follows the readings
// of one run; a [Record] is what came of it: who was told, and what was done. It is pure: whoever calls reads the sites and sends the mails.
//
// What is not known is never idle: a run without readings, or one with a gap between two of them, starts again.
package idle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Name is the rule's, in findings, events and configuration.
const Name = "idle-held"

// Act is what the rule does at last to a job of some QOS.
type Act string

const (
	None    Act = ""
	Requeue Act = "requeue" // the job waits again, unless it was submitted with --no-requeue
	Cancel  Act = "cancel"
)

// Rule says which jobs are idle. The zero value finds none.
type Rule struct {
	GPU float64 // percent: below that a job's GPUs are idle; 0: they are never
	CPU float64 // likewise of the CPUs of jobs without GPUs
	// For is how long a job is idle before its user is told, then its account's coordinators, and then the job is ended: so long again for each.
	For time.Duration
	Act map[string]Act // what is done at last, by the job's QOS; the others are only told of
}

// Default is the built-in rule.
func Default() Rule { return Rule{GPU: 5, For: time.Hour} }

// Every is how often runs are looked at.
func (r *Rule) Every() time.Duration { return min(max(r.For/10, time.Second), time.Minute) }

// gap is how long a reading counts: after that it is not known whether the job was idle.
func (r *Rule) gap() time.Duration { return 5 * r.Every() }

// Off reports whether the rule finds nothing.
func (r *Rule) Off() bool { return r.For <= 0 || r.GPU <= 0 && r.CPU <= 0 }

// Needs says in a few words when the rule applies.
func (r *Rule) Needs() string {
	var of []string
	if r.GPU > 0 {
		of = append(of, fmt.Sprintf("GPUs below %g %%", r.GPU))
	}
	if r.CPU > 0 {
		of = append(of, fmt.Sprintf("CPUs of jobs without GPUs below %g %%", r.CPU))
	}
	if len(of) == 0 {
		return "-"
	}
	return strings.Join(of, ", ")
}

// Acts says what the rule does: "notify", or "notify, cancel (QOS debug), requeue (QOS low, spare)".
func (r *Rule) Acts() string {
	text := "notify"
	for _, act := range []Act{Cancel, Requeue} {
		var of []string
		for _, qos := range slices.Sorted(maps.Keys(r.Act)) {
			if r.Act[qos] == act {
				of = append(of, qos)
			}
		}
		if len(of) > 0 {
			text += fmt.Sprintf(", %s (QOS %s)", act, strings.Join(of, ", "))
		}
	}
	return text
}

// Use is one reading of how busy a run keeps what it holds.
type Use struct {
	At         time.Time
	CPUs, GPUs int // that it holds
	// CPUTime is what its processes have used so far. One that is less than the one before, as where a step has ended, counts as use.
	CPUTime time.Duration
	GPU     float64 // percent of its GPUs, on average since the reading before
	// What was measured. The rest is not known.
	KnowsCPU, KnowsGPU bool
}

// Stretch is the time for which a run has been idle. The zero value is that of a run without readings.
type Stretch struct {
	last  Use
	since time.Time // zero: it is not known to be idle
	busy  bool      // by the last reading
}

// See takes in a reading, not older than the one before.
func (s *Stretch) See(r *Rule, u Use) {
	before := s.last
	if !u.At.After(before.At) {
		return // the same again
	}
	s.last = u
	first := before.At.IsZero() || u.At.Sub(before.At) > r.gap()
	if first {
		s.since = time.Time{}
	}
	idle, known := r.idle(&before, &u, first)
	s.busy = known && !idle
	switch {
	case !known || !idle:
		s.since = time.Time{}
	case s.since.IsZero() && first:
		s.since = u.At
	case s.since.IsZero():
		s.since = before.At
	}
}

// idle reports whether a run was idle between two readings. Without a first one only the use of GPUs can tell.
func (r *Rule) idle(before, u *Use, first bool) (idle, known bool) {
	switch {
	case u.GPUs > 0:
		return u.GPU < r.GPU, u.KnowsGPU && r.GPU > 0
	case first || u.CPUs <= 0 || !u.KnowsCPU || !before.KnowsCPU || r.CPU <= 0:
		return false, false
	}
	used, of := u.CPUTime-before.CPUTime, time.Duration(u.CPUs)*u.At.Sub(before.At)
	return used >= 0 && 100*float64(used) < r.CPU*float64(of), true
}

// Busy reports whether the last reading showed the run in use.
func (s *Stretch) Busy() bool { return s.busy }

// Since is when the idle time began that lasts at now; zero: there is none, or its last reading is too old.
func (s *Stretch) Since(r *Rule, now time.Time) time.Time {
	if now.Sub(s.last.At) > r.gap() {
		return time.Time{}
	}
	return s.since
}

// Lasted is for how long the run is known to have been idle at now.
func (s *Stretch) Lasted(r *Rule, now time.Time) time.Duration {
	since := s.Since(r, now)
	if since.IsZero() {
		return 0
	}
	return s.last.At.Sub(since)
}

// GPUs are those that the last reading was of.
func (s *Stretch) GPUs() int { return s.last.GPUs }
