package controller

import (
	"time"
	"unique"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/journal"
	"fsub/federation/lifecycle"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// job is a live job with what the controller alone knows of it. There may be a million that wait, of which most have never been sent anywhere: what
// those have in common is there once, and what is said of one of them is written by way of try, join or hinder.
type job struct {
	federation.Job
	queued bool // in the queue
	marked bool // to be considered before the next plan
	unsaid bool // its reason has changed, and is to be written

	*tried
	*family
	*hindered
}

// newJob is a job of which nothing else is known.
func newJob(j federation.Job) *job {
	j.User = unique.Make(j.User).Value() // a store reads the name anew for each of a user's jobs
	k := &job{Job: j, tried: &neverTried, family: &noFamily, hindered: &notHindered}
	k.nowStored()
	return k
}

// tried is what the controller knows of a job's attempts.
type tried struct {
	stored journal.JobStage    // how far the store knows the job to have come
	att    *federation.Attempt // the newest; nil before the first
	kept   *egress.Kept        // the newest copy of what it keeps, of any attempt; nil: none is known
	moved  *decision.Moved     // the newest move of an earlier attempt, where att is not known; nil: none

	busy       bool        // a submission or look-up of the attempt is under way
	unsure     bool        // the attempt may have reached its site or not: look it up before anything else
	lostStart  bool        // the site shows it as pending again without a requeue; to be confirmed by a look-up
	heldThere  bool        // the site holds it, and nobody here has asked for that
	leftHeld   bool        // and it stays so
	ending     bool        // the site is being asked for its cancellation
	tellHold   bool        // the site did not answer when it was told to hold or release the job: tell it again ...
	retry      time.Time   // no submission or look-up of the attempt before this
	fails      int         // failed calls about the attempt in a row
	lastKnown  time.Time   // when the site's controller last had it
	stuck      time.Time   // since when its site cannot run it; zero: it can
	missing    time.Time   // since when it has not; zero: it has it
	madeRoom   bool        // the run before, at the same site, was preempted
	remembered time.Time   // since when that site has refused the job for the run before
	older      []time.Time // when earlier attempts were submitted at the same site, by its clock
	free       time.Time   // since when that site has been seen not to hold the job's ID any more; zero: it was not looked for

	tellHoldAt time.Time // ... at this time
	cancelAt   time.Time // when to ask the site for its cancellation again
	releaseAt  time.Time // when to ask the site for its release again

	said string           // what its site last said of why it waits there
	rent federation.Money // what the site last said that it costs by the hour
}

// seen notes that the site's controller has the attempt.
func (t *tried) seen(now time.Time) {
	t.unsure, t.missing, t.fails, t.lastKnown = false, time.Time{}, 0, now
}

// over forgets what was to be found out about an attempt, and about holds there.
func (t *tried) over() {
	t.unsure, t.busy, t.missing, t.fails = false, false, time.Time{}, 0
	t.lostStart, t.heldThere, t.leftHeld, t.stuck = false, false, false, time.Time{}
}

// family is how a job belongs to others: an array and the jobs of its tasks, the components of a heterogeneous job.
type family struct {
	tasks    map[int]*federation.Task // of an array: those with a record of their own
	whole    []int                    // of an array that an earlier version has handed over to a site: its tasks there. See wholearray.go
	array    *job                     // of a job that is a task of an array: the array
	taskJobs map[int]*job             // of an array: the jobs of its tasks that have not ended
	rest     federation.TaskSet       // of an array: its tasks that are not jobs yet
	offers   []*offered               // of these, those that placement knows of, in the same order
	// taskSpec is what each task of an array asks for; nil: not made yet. See specOfTasks.
	taskSpec *sbatch.Spec

	pack *packed // of a job at a site that several tasks of an array share: these; see pack.go
	in   *job    // of such a task: that job
	// unpacked are the sites where tasks of the array do not share jobs, though it asks for that.
	unpacked map[federation.SiteName]bool

	leader *job            // of a component of a heterogeneous job: the first one
	others []*job          // of such a leader: the components after it
	held   federation.Held // of a component: by its newest run
}

// hindered is what keeps a job from being bound, beside lack of room.
type hindered struct {
	depends      dependency
	hopeless     bool                                       // what it depends on can never be met
	leaves       []leaving                                  // what it is not given for a while
	refused      map[federation.SiteName]decision.Rejection // the same, as placement is told of it
	refusedUntil time.Time                                  // when the first of that has passed
	liveRun      *lifecycle.LiveRun                         // a run of it that may still live; nil: none
	asideUntil   time.Time                                  // placement failed over it and does not look at it before this
}

// What most jobs have. It is only read.
var (
	neverTried  = tried{stored: journal.JobStage{State: federation.Pending}}
	noFamily    family
	notHindered hindered
)

// try is what is known of the job's attempts, to be written to.
func (j *job) try() *tried {
	if j.tried == &neverTried {
		own := neverTried
		j.tried = &own
	}
	return j.tried
}

// join is how the job belongs to others, to be written to.
func (j *job) join() *family {
	if j.family == &noFamily {
		j.family = new(family)
	}
	return j.family
}

// hinder is what keeps the job from being bound, to be written to.
func (j *job) hinder() *hindered {
	if j.hindered == &notHindered {
		j.hindered = new(hindered)
	}
	return j.hindered
}

// nowStored notes that the store knows how far the job has come.
func (j *job) nowStored() {
	if stage := journal.StageOf(&j.Job); stage != j.stored {
		j.try().stored = stage
	}
}

// live reports whether an attempt of the job may be alive at some site.
func (j *job) live() bool { return j.att != nil && !j.att.State.Final() }

// mayLive notes that a run of an attempt that was forgotten may still live.
func (j *job) mayLive(a *federation.Attempt, since time.Time) {
	nodes, _ := hostlist.Expand(a.Nodes) // the site's own
	j.hinder().liveRun = &lifecycle.LiveRun{Site: a.Site, Nodes: nodes, Since: since}
}

// known is what is known of the job's newest attempt at s, when s says something of it.
func (j *job) known(s *site) lifecycle.Known {
	return lifecycle.Known{Attempt: j.att, State: j.State, Whole: j.whole != nil, Unsure: j.unsure, Cancel: j.Cancel, RanHere: ranHere(s, j), Older: j.older}
}
