package federation

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fsub/accounting/egress"
	"fsub/federation/decision"
	"fsub/federation/heartbeat"
	"fsub/federation/idle"
)

// Attempt is one submission of a job to one site. A job has at most one attempt that is not final.
//
// A site knows an attempt by job ID and Key together, never by the ID alone: a controller that was killed hard
// forgets IDs that it has acknowledged.
type Attempt struct {
	Job       JobID
	Number    int    // from 1
	Key       string // unique over all attempts of all federations that share a site; see [AttemptKey]
	Site      SiteName
	Partition string
	State     AttemptState

	Created time.Time // the intent was written
	Acked   time.Time // the site's acknowledgement reached us
	Started time.Time // by the site's clock
	Ended   time.Time // by the site's clock

	SiteJobID  uint32    // the job's number at the site; the federated ID where the site is pinned
	SiteSubmit time.Time // by the site's clock: tells an attempt from an older one with the same ID
	Tries      int       // how often it was sent to the site; more than one after lost replies
	Restarts   int       // requeues by the site itself
	Nodes      string
	Final      State // for AttemptEnded: how the job ended at the site
	ExitStatus int32
	Class      FailureClass
	Code       FailureCode // what of that class; "": not known
	Note       string      // why it was refused, withdrawn or forgotten, in a sentence
	// Decision is why it went there: Offers[0] is what was chosen, with its dollars. The lists may have been cut
	// short. Stored whole (as JSON).
	Decision  decision.Decision
	Cost      Money             // of all its runs that have ended
	Held      Held              // by its newest run
	Kept      *egress.Kept      // what it has saved of the paths that the job keeps; nil: nothing, as far as is known
	Heartbeat *heartbeat.Record // what its run's heartbeats have shown; nil: nothing that is wrong
	Idle      *idle.Record      // its run has left idle what it holds; nil: none has for long, as far as is known
	// Moved is the newest move that the planner has decided of the job, of this run or an earlier one; nil: none.
	Moved   *decision.Moved
	Stays   string // why its run is not moved from a node that operators empty by moves, in a sentence; "": it is on none, or is to be moved
	Charged int    // runs that have a [Charge]
	// Runs are those before the last one, which the site itself has ended to queue the job again, in their order.
	Runs []AttemptRun
	// Losses are the nodes that it has lost without its end, as its site tells.
	Losses []NodeLoss
}

// AttemptRun is a run of a job that has ended, and that did not end the job.
type AttemptRun struct {
	State      State // REQUEUED, where nothing better is known
	Started    time.Time
	Ended      time.Time
	Nodes      string
	ExitStatus int32
	Cost       Money

	Suspension Suspension
}

// NodeLoss is a node that a job has lost without its end: its site has kept the others for it, or lets it go on without.
type NodeLoss struct {
	Node   string
	At     time.Time
	Why    string
	By     string // the node that came in its place; "": none, so far
	Shrunk bool   // the job goes on without
}

// AttemptKey is the key of an attempt: federation, job, number, and the job's time of submission, so that a key is never
// given out again, not even after the store was lost and IDs began anew. It is what the site keeps in the job's record.
func AttemptKey(federation string, j *Job, number int) string {
	return keyPrefix(federation) + fmt.Sprintf("%d.%d.%s", j.ID, number, strconv.FormatInt(j.Submit.UnixMicro(), 36))
}

// keyPrefix begins every attempt key of a federation and of no other. slurmdbd makes a wckey lower case.
func keyPrefix(federation string) string { return "fsub:" + strings.ToLower(federation) + ":" }

// CutKey returns what follows the federation's name in an attempt key of that federation. Older keys have the name as it is configured.
func CutKey(key, federation string) (after string, ok bool) {
	n := len(keyPrefix(federation))
	if len(key) < n || !strings.EqualFold(key[:n], keyPrefix(federation)) {
		return "", false
	}
	return key[n:], true
}

// FailureClass says whose failure it was, which decides what happens next.
type FailureClass string

const (
	ClassNone     FailureClass = ""
	ClassUser     FailureClass = "user"     // not retried
	ClassNode     FailureClass = "node"     // retried elsewhere, node suspected
	ClassSite     FailureClass = "site"     // retried elsewhere
	ClassCapacity FailureClass = "capacity" // next site, or wait
	ClassPreempt  FailureClass = "preemption"
)

// FailureCode says what kind of failure it was: see package health. Codes are stored, and never renamed.
type FailureCode string
