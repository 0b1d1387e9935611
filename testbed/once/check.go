package once

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
)

// Verdict is what became of one submission.
type Verdict struct {
	Kind Kind
	Why  string // for Broken: what must not be
}

// Kind sorts verdicts.
type Kind int

const (
	Once         Kind = iota // ran once, to its end
	Rerun                    // ran again, and the record says that a controller had lost it or requeued it
	NodeFailed               // started, lost by its controller, and not to be requeued
	RerunBlindly             // not to be requeued, and yet submitted again: nothing that survived said that it had started
	NumberTaken              // its last attempt never ran: its node refused it for a forgotten job of the same number at a mapped site, and it was not to be requeued, or 22.05 says that it failed
	RerunUnseen              // its controller forgot the start, and started it again before anybody could ask: the record says nothing, or that it was too late
	EndUnheard               // it came to its end, and its controller, which was killed about then, has not heard of that: it takes it for one that ran into its limit, or started it again, and its node has refused that
	ScriptGone               // never ran: its node's slurmd removed its script between writing and starting it, and says so; the record says that it failed
	Broken                   // anything else
)

// Kill is the time for which a site's controller was dead.
type Kill struct {
	Site     federation.SiteName
	From, To time.Time
}

// Check compares the record and the runs of an acknowledged submission, knowing when controllers were killed.
func Check(s *Submission, rec *client.JobRecord, runs []Run, kills []Kill) Verdict {
	if why := mismatch(s, rec, runs, kills); why != "" {
		return Verdict{Broken, why}
	}
	excuses, blind := excusesOf(rec)
	state := rec.Job.State
	switch {
	case len(runs) > 1+excuses && !stopped(s, rec, runs, excuses):
		if len(runs) <= 1+excuses+siteRepeats(runs, kills) {
			return Verdict{RerunUnseen, ""}
		}
		return Verdict{Broken, fmt.Sprintf("ran %d times, and the record explains %d", len(runs), 1+excuses)}
	case state == federation.NodeFail && s.NoRequeue:
		return Verdict{NodeFailed, ""}
	case state == federation.Cancelled && s.NoRequeue && len(runs) == 1 && !rec.Job.Cancel:
		// A node knew what its controller had forgotten: that the job has run. It refused to start it again.
		return Verdict{NodeFailed, ""}
	case state == federation.Cancelled && s.NoRequeue && len(runs) <= excuses && !rec.Job.Cancel && numberTaken(rec, kills):
		return Verdict{NumberTaken, ""}
	case state == federation.Failed && launchRefused(rec) && len(runs) <= excuses && numberTaken(rec, kills):
		return Verdict{NumberTaken, ""}
	case state == federation.Timeout && endUnheard(runs, kills), state == federation.Failed && launchRefused(rec) && endUnheard(runs, kills):
		return Verdict{EndUnheard, ""}
	case state == federation.Failed && len(runs) <= excuses && s.scriptGone():
		return Verdict{ScriptGone, ""}
	case state != federation.Completed:
		return Verdict{Broken, fmt.Sprintf("ended as %s (%s)", state, rec.Job.Reason)}
	case !slices.ContainsFunc(runs, func(r Run) bool { return !r.End.IsZero() }):
		return Verdict{Broken, "no run of it came to its end, and it counts as COMPLETED"}
	case len(runs) == 1:
		return Verdict{Once, ""}
	case s.NoRequeue && blind:
		return Verdict{RerunBlindly, ""}
	case s.NoRequeue && seenTooLate(rec) && siteRepeats(runs, kills) == len(runs)-1:
		return Verdict{RerunUnseen, ""}
	case s.NoRequeue && copies(rec) == 0:
		return Verdict{Broken, "not to be requeued, and ran again although it was known to have started"}
	}
	return Verdict{Rerun, ""}
}

// numberTaken reports whether the last attempt had a number of the site's own, from a controller that had been killed before and may have
// given that number to a job that it has forgotten. The job's node remembers that one, and refuses what seems to be the same again. A controller that
// is killed once more has forgotten that start, too.
func numberTaken(rec *client.JobRecord, kills []Kill) bool {
	if len(rec.Attempts) == 0 {
		return false
	}
	a := rec.Attempts[len(rec.Attempts)-1]
	return a.SiteJobID != uint32(a.Job) && (a.Started.IsZero() || a.Ended.Sub(a.Started) <= time.Second) &&
		slices.ContainsFunc(kills, func(k Kill) bool { return k.Site == a.Site && k.From.Before(a.Acked) })
}

// launchRefused reports whether the last attempt looks as 22.05 shows a job that its node refused to start, "Job credential revoked": it failed at once, with the exit status 1.
// The scripts of these jobs exit with no other status than 0.
func launchRefused(rec *client.JobRecord) bool {
	if len(rec.Attempts) == 0 {
		return false
	}
	a := rec.Attempts[len(rec.Attempts)-1]
	return a.SiteJobID != uint32(a.Job) && a.Final == federation.Failed && a.ExitStatus == 1<<8 && a.Ended.Sub(a.Started) <= time.Second
}

// endUnheard reports whether the last run came to its end when its controller was dead, or could not save what it had heard.
func endUnheard(runs []Run, kills []Kill) bool {
	if len(runs) == 0 || runs[len(runs)-1].End.IsZero() {
		return false
	}
	r := runs[len(runs)-1]
	return slices.ContainsFunc(kills, func(k Kill) bool {
		return k.Site == r.Site && k.From.Before(r.End.Add(saves)) && k.To.After(r.End.Add(-time.Second))
	})
}

// saves is how long a controller may take to write down what it knows, and a node to tell it.
const saves = 8 * time.Second

// mismatch says what cannot be in any history, "" if all fits.
func mismatch(s *Submission, rec *client.JobRecord, runs []Run, kills []Kill) string {
	j := &rec.Job
	switch {
	case j.ID != s.ID || j.Spec.Name != s.Token || j.User != s.User:
		return fmt.Sprintf("the books have %q of %s under its ID %d", j.Spec.Name, j.User, j.ID)
	case !j.State.Ended():
		return fmt.Sprintf("is %s (%s) still", j.State, j.Reason)
	}
	for _, a := range rec.Attempts {
		if !a.State.Final() {
			return fmt.Sprintf("has ended, and its attempt %d is %s", a.Number, a.State)
		}
	}
	for i, r := range runs {
		if r.ID != s.ID {
			return fmt.Sprintf("ran under the ID %d", r.ID)
		}
		if !slices.ContainsFunc(rec.Attempts, func(a federation.Attempt) bool { return a.Site == r.Site && a.Tries > 0 }) {
			return fmt.Sprintf("ran at %s, where it was never sent", r.Site)
		}
		// A run without an end was killed: when is not known.
		if i > 0 && r.Begin.Before(runs[i-1].End) && siteRepeats(runs[i-1:i+1], kills) == 0 {
			return "two copies ran at the same time"
		}
	}
	return ""
}

// excusesOf counts the runs beyond one that the record explains: requeues, by the federation or by the site; copies that a
// controller started of a job whose end it had forgotten; and attempts that were lost without a sign that they had started, which
// count as no requeue. blind: there is such an attempt.
func excusesOf(rec *client.JobRecord) (n int, blind bool) {
	n = rec.Job.Restarts + copies(rec)
	for _, a := range rec.Attempts {
		if a.State == federation.AttemptForgotten && a.Started.IsZero() {
			n, blind = n+1, true
		}
	}
	return n, blind
}

func copies(rec *client.JobRecord) (n int) {
	for _, e := range rec.Events {
		if strings.HasPrefix(e.Text, "a copy of it turned up") {
			n++
		}
	}
	return n
}

// seenTooLate reports whether a controller had started the job again, and that run had ended as well when the federation looked next. One that
// still runs is stopped.
func seenTooLate(rec *client.JobRecord) bool {
	return rec.Job.State == federation.Completed && slices.ContainsFunc(rec.Events, func(e federation.Event) bool { return strings.HasSuffix(e.Text, "it has started the job again") })
}

// stopped reports whether the last run is one too many that was not let come to its end: its controller had started again
// what was not to be requeued.
func stopped(s *Submission, rec *client.JobRecord, runs []Run, excuses int) bool {
	return s.NoRequeue && rec.Job.State == federation.NodeFail && len(runs) == 2+excuses && runs[len(runs)-1].End.IsZero() &&
		slices.ContainsFunc(rec.Attempts, func(a federation.Attempt) bool { return a.State == federation.AttemptForgotten })
}

// siteRepeats counts the runs that follow another at the same site whose controller was killed between their beginnings. It
// has forgotten the first, and starts the job again within a second, on another node even beside it.
func siteRepeats(runs []Run, kills []Kill) (n int) {
	for i := 1; i < len(runs); i++ {
		a, b := runs[i-1], runs[i]
		if a.Site == b.Site && slices.ContainsFunc(kills, func(k Kill) bool {
			return k.Site == a.Site && k.From.Before(b.Begin) && k.To.After(a.Begin)
		}) {
			n++
		}
	}
	return n
}

// scriptGone reports whether the job's own standard error says that its script was not there when it was to be started. A slurmd of 26.05 was seen to do that,
// while its controller lived.
func (s *Submission) scriptGone() bool {
	said, err := os.ReadFile(s.complaints())
	return err == nil && regexp.MustCompile(`error: execve\(\): \S+/slurm_script: No such file or directory`).Match(said)
}
