package idle

import (
	"fmt"
	"strings"
	"time"
)

// Record is what came of a run that was idle for long. It is stored with the run's attempt.
type Record struct {
	Run   time.Time `json:"run"`            // when the run began: another run has another record
	What  string    `json:"what"`           // that it left idle: "its 8 GPUs were used below 5 %"
	Since time.Time `json:"since"`          // when it was so first, of the newest stretch that was long enough
	Busy  time.Time `json:"busy,omitzero"`  // when it was seen to be no longer; zero: it lasts, or it is not known
	Told  time.Time `json:"told,omitzero"`  // when its user was told
	Lead  time.Time `json:"lead,omitzero"`  // when the account's coordinators were
	Ended time.Time `json:"ended,omitzero"` // when the job was told to end
	Act   Act       `json:"act,omitempty"`  // how; "": it was not, as it may not be requeued
	Asked bool      `json:"asked,omitempty"`
}

// Stage is what is due.
type Stage string

const (
	Nothing  Stage = ""
	TellUser Stage = "tell-user"
	TellLead Stage = "tell-lead"
	End      Stage = "end"
)

// Next returns what is due for a run that has been idle from since until at, which has the record rec: each stage comes once in a run, and each
// after another such time, all of it idle. rec may be nil.
func (r *Rule) Next(rec *Record, qos string, since, at time.Time) Stage {
	if r.Off() || since.IsZero() {
		return Nothing
	}
	if rec == nil {
		rec = &Record{}
	}
	last := since
	for _, t := range []time.Time{rec.Told, rec.Lead, rec.Ended} {
		if t.After(last) {
			last = t
		}
	}
	if at.Sub(last) < r.For {
		return Nothing
	}
	switch {
	case rec.Told.IsZero():
		return TellUser
	case rec.Lead.IsZero():
		return TellLead
	case rec.Ended.IsZero() && r.Act[qos] != None:
		return End
	}
	return Nothing
}

// What says what a run left idle that holds so much.
func (r *Rule) What(gpus, cpus int) string {
	n, unit, below := gpus, "GPU", r.GPU
	if gpus == 0 {
		n, unit, below = cpus, "CPU", r.CPU
	}
	if n == 1 {
		return fmt.Sprintf("its %s was used below %g %%", unit, below)
	}
	return fmt.Sprintf("its %d %ss were used below %g %%", n, unit, below)
}

const clock = "2006-01-02 15:04"

// String says it in a sentence: "its 8 GPUs were used below 5 % since 2026-11-29 12:03 UTC; its user was told at 2026-11-29 13:03 UTC".
func (r *Record) String() string {
	text := fmt.Sprintf("%s since %s UTC", r.What, r.Since.UTC().Format(clock))
	if !r.Busy.IsZero() {
		text = fmt.Sprintf("%s from %s to %s UTC", r.What, r.Since.UTC().Format(clock), r.Busy.UTC().Format(clock))
	}
	for _, s := range []struct {
		at   time.Time
		what string
	}{{r.Told, "its user was told"}, {r.Lead, "the coordinators of its account were told"}, {r.Ended, endedBy[r.Act]}} {
		if !s.at.IsZero() {
			text += fmt.Sprintf("; %s at %s UTC", s.what, s.at.UTC().Format(clock))
		}
	}
	return text
}

// Then says what comes next if the run stays idle; "": nothing.
func (r *Rule) Then(rec *Record, qos string) string {
	switch act := r.Act[qos]; {
	case rec.Lead.IsZero():
		return fmt.Sprintf("the coordinators of its account are told if it stays so for %s", span(r.For))
	case act != None && rec.Ended.IsZero():
		return fmt.Sprintf("it is %s if it stays so for %s", strings.TrimPrefix(endedBy[act], "it was "), span(r.For))
	}
	return ""
}

// span is a time as people write it: 1h, 90m, 1m30s.
func span(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

var endedBy = map[Act]string{None: "it was not requeued, since it was submitted with --no-requeue,", Requeue: "it was requeued", Cancel: "it was cancelled"}
