package jobmail

import (
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/plain"
)

// words are slurmctld's for an event.
var words = map[What]string{
	Begin: "Began", End: "Ended", Fail: "Failed", Requeue: "Requeued", InvalidDepend: "Invalid dependency", StageOut: "StageOut/Teardown",
	Idle: "Idle", IdleLead: "Idle",
	TimeLimit: "Reached time limit", TimeLimit90: "Reached 90% of time limit", TimeLimit80: "Reached 80% of time limit", TimeLimit50: "Reached 50% of time limit",
}

// head is the subject of a mail, as slurmctld of 22.05 to 26.05 writes it: "Slurm Job_id=30000017 Name=train Ended, Run time 00:10:00, COMPLETED, ExitCode 0".
func (l *letter) head() string {
	j, e := &l.job, l.entry
	name := plain.Line(j.Spec.Name)
	switch {
	case j.Whole != nil && e.Task < 0:
		return fmt.Sprintf("Slurm Array Summary Job_id=%d_* (%d) Name=%s %s%s", j.ID, j.ID, name, words[e.What], l.term())
	case j.Part != nil:
		return fmt.Sprintf("Slurm Array Task Job_id=%d_%d (%d) Name=%s %s%s%s", j.Part.Array, j.Part.Index, j.Number(), name, words[e.What], l.times(), l.term())
	case e.Task >= 0:
		return fmt.Sprintf("Slurm Array Task Job_id=%d_%d (%d) Name=%s %s%s", j.ID, e.Task, j.ID, name, words[e.What], l.term())
	}
	return fmt.Sprintf("Slurm Job_id=%d Name=%s %s%s%s", j.ID, name, words[e.What], l.times(), l.term())
}

// times is how long the job has waited, or has run.
func (l *letter) times() string {
	j, e := &l.job, l.entry
	switch e.What {
	case Begin:
		return ", Queued time " + span(l.started().Sub(j.Submit))
	case StageOut:
		return ""
	case InvalidDepend:
		return ""
	case Requeue:
		if l.attempt == nil {
			return ""
		}
		started, ended := l.attempt.Started, l.attempt.Ended
		if n := len(l.attempt.Runs); ended.IsZero() && n > 0 { // its site has requeued it by itself
			started, ended = l.attempt.Runs[n-1].Started, l.attempt.Runs[n-1].Ended
		}
		if ended.IsZero() {
			ended = e.At
		}
		return ", Run time " + span(ended.Sub(started))
	}
	if j.Start.IsZero() {
		return ""
	}
	return ", Run time " + span(l.ran())
}

// started is when the run began that the mail is about.
func (l *letter) started() time.Time {
	switch {
	case !l.entry.Start.IsZero():
		return l.entry.Start
	case l.entry.What == Begin && l.attempt != nil:
		return l.attempt.Started
	case l.job.Start.IsZero():
		return l.entry.At
	}
	return l.job.Start
}

// ran is how long the job has run: to its end, or until now.
func (l *letter) ran() time.Duration {
	j := &l.job
	end := j.End
	if end.IsZero() {
		end = l.entry.At
		if !l.entry.Due.IsZero() {
			end = l.entry.Due
		}
	}
	return j.Suspension().Elapsed(j.Start, end, j.State == federation.Suspended)
}

// term is how the job ended: its state and exit code.
func (l *letter) term() string {
	e := l.entry
	if e.What != End && e.What != Fail {
		return ""
	}
	if l.array != nil {
		return ", " + l.array.term(e.State)
	}
	if e.Exit&0x7f != 0 {
		return ", " + string(e.State)
	}
	return fmt.Sprintf(", %s, ExitCode %d", e.State, e.Exit>>8)
}

// span is a time as slurmctld writes it: 1-02:03:04, or 02:03:04.
func span(d time.Duration) string {
	s := max(int64(d/time.Second), 0)
	text := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	if s >= 86400 {
		text = fmt.Sprintf("%d-%s", s/86400, text)
	}
	return text
}
