// Package lifecycle decides what becomes of jobs: what a site's word on an attempt means, and what follows from it. [Known] reads a report and the answer to a
// look-up; [End] and [Rules] say what becomes of a job whose attempt has ended or was lost. It reads no clock, asks no store and no site, and changes
// nothing it is given: the controller does what is decided here.
package lifecycle

import (
	"slices"
	"time"

	"fsub/federation"
)

// Known is what the federation knows of a job's newest attempt when its site says something of it.
type Known struct {
	Attempt *federation.Attempt
	State   federation.State // of the job
	Whole   bool             // an array that an earlier version has handed over whole: its tasks start and end one by one
	Unsure  bool             // nothing tells yet whether the attempt has reached its site
	Cancel  bool             // the job is to be cancelled
	RanHere bool             // an earlier attempt ran at this site under the same ID, which must be free before it is sent again
	Older   []time.Time      // when earlier attempts were submitted at this site, by its clock
}

// Is reports whether what the site shows is this attempt: ID and key, never the ID alone. A record without a key (accounting shows it late) is told from older ones
// of the same ID by its time of submission.
func (k *Known) Is(sj *federation.SiteJob) bool {
	a := k.Attempt
	if sj.Key != "" {
		return sj.Key == a.Key
	}
	if sj.Submit.IsZero() {
		return true
	}
	if !a.SiteSubmit.IsZero() && sj.Restarts == 0 {
		return sj.Submit.Equal(a.SiteSubmit)
	}
	if slices.ContainsFunc(k.Older, sj.Submit.Equal) {
		return false
	}
	const skew = 2 * time.Minute // of the site's clock against ours
	return sj.Submit.After(a.Created.Add(-skew))
}

// Meaning is what a report of an attempt means.
type Meaning int

const (
	Follows      Meaning = iota // the attempt is as the site says: it waits, runs or has ended
	GivenBack                   // the site could not start it after all, and does not keep it
	QueuedAgain                 // the site has queued it again and has not counted that yet: it is reported again when its nodes are done
	StartLost                   // the site shows an attempt as pending that has started: its controller has forgotten the start, if a look-up confirms it
	StartedAgain                // the site has started it a second time, for its controller had forgotten the first
)

// Read says what a report means.
func (k *Known) Read(sj *federation.SiteJob) Meaning {
	started := !k.Whole && k.Attempt.State == federation.AttemptStarted && sj.Restarts <= k.Attempt.Restarts
	switch {
	case sj.Returned:
		return GivenBack
	case started && sj.Completing:
		return QueuedAgain
	case k.LostStart(sj):
		return StartLost
	case started && !k.Attempt.Started.IsZero() && sj.Start.After(k.Attempt.Started) && !RequeueCounted(k.Attempt) && !sj.FromAccounting &&
		k.State.Started() && k.State != federation.Configuring: // the time of a start moves when the nodes are ready: after CONFIGURING it says nothing
		return StartedAgain
	}
	return Follows
}

// LostStart reports whether a site shows an attempt as pending that it has shown as started. Slurm 22.05 counts a restart already while the run before it comes to
// its end: that start is not lost.
func (k *Known) LostStart(sj *federation.SiteJob) bool {
	return !k.Whole && !RequeueCounted(k.Attempt) && k.Attempt.State == federation.AttemptStarted && sj.Restarts <= k.Attempt.Restarts &&
		!sj.FromAccounting && !sj.State.Started() && !sj.State.Ended() && !sj.Completing
}

// RequeueCounted reports whether the run of an attempt that was seen last is one that its site has ended to queue the job again, and has counted as that.
func RequeueCounted(a *federation.Attempt) bool {
	n := len(a.Runs)
	return n > 0 && a.Runs[n-1].Started.Equal(a.Started)
}
