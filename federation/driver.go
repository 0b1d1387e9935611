package federation

import (
	"cmp"
	"context"
	"time"

	"fsub/federation/decision"
	"fsub/sbatch"

	"fsub/federation/reasons"
)

// Driver is what the controller needs of one site. Every method may be called from several goroutines at once, honours
// ctx, and returns an error that wraps one of the package's Err values. ErrUnavailable always means: what was asked may
// or may not have happened.
type Driver interface {
	// Observe returns the whole of what the site is now. A part that could not be read makes it an error.
	Observe(ctx context.Context) (*Observation, error)

	// Submit hands an attempt over and returns once the site has acknowledged it. It is idempotent by (job ID, key): if
	// the site already has this attempt the receipt says Adopted and nothing new is started. If the ID is taken by
	// something with another key it returns ErrConflict, and ErrRemembered if that is an ended attempt of the same job; at a mapped site no ID of ours can be taken, and the key alone tells. After ErrUnavailable call Lookup before Submit again: the job may have
	// run and left the site's memory; after ErrNotSent that is not needed. ErrInvalid, ErrDenied and ErrCapacity mean that the site has not taken the job.
	Submit(ctx context.Context, s Submission) (Receipt, error)

	// Jobs returns the federated jobs whose state at the site's controller differs from what mark stands for, and which
	// ones it knows at all. The zero mark stands for knowing nothing. A failed call changes nothing: use the same mark again.
	Jobs(ctx context.Context, mark Mark) (JobsReport, error)

	// Lookup returns all that the site knows of one job: what the controller holds, else what its accounting recorded. A mapped site's own
	// number is a hint only: it may have been given to another job.
	// ErrNotFound: both have answered and neither knows it. If either could not be asked and the other does not settle the
	// question it is ErrUnavailable.
	Lookup(ctx context.Context, ref JobRef) (SiteJob, error)

	// Cancel ends the job, or only the given array tasks. A job that has already ended, or that the site does not know, is no
	// error: whether it is gone is told by Jobs and Lookup.
	Cancel(ctx context.Context, ref JobRef, tasks []int) error

	// Signal sends sig ("USR1", "10") to the job's steps, to its batch shell, or both.
	Signal(ctx context.Context, ref JobRef, tasks []int, sig Signal) error

	// Hold and Release act on a job that is pending at the site. ErrNotFound: no such job; ErrConflict: it is not pending.
	Hold(ctx context.Context, ref JobRef) error
	Release(ctx context.Context, ref JobRef) error
}

// JobRef names a job of ours at a site: the federated ID, and what finds it where it runs under a number of the site's own.
type JobRef struct {
	ID        JobID
	User      string // the job's, by the name here; "": not known
	Number    JobID  // of the job, by which a pinned site knows it; 0: its ID
	Key       string // of the attempt; "": any attempt
	SiteJobID uint32 // the site's number, 0 while it is not known
	// SiteSubmit is when the site took the job, by the site's clock; zero: not known. With the number it tells the job from later ones.
	SiteSubmit time.Time
	Submitted  time.Time // when the attempt was made: accounting is not searched before that. Zero: as far back as it goes
}

// Pinned is the number of the job where the site lets the federation choose it.
func (r JobRef) Pinned() JobID { return cmp.Or(r.Number, r.ID) }

// Signal is what scancel --signal, --batch and --full ask for.
type Signal struct {
	Name  string // "USR1" or a number
	Batch bool   // to the batch shell only
	Full  bool   // to the batch shell and the steps
}

// Submission is an attempt with all that the site needs to run it.
type Submission struct {
	Job       *Job
	Payload   sbatch.Payload
	Key       string
	Partition string
	User      SiteUser       // at the site
	Offer     decision.Offer // what it was bound for. Job and Payload ask for what it counts with already
	// Promise is the reservation that was made for the job there; "": none. Where the site does not have it any more the job is submitted without.
	Promise string
	// Claims are what placement grants it there: one for each component. None: the partition, and whatever there is.
	Claims []decision.Claim
	// Restarts is how often the job has been requeued by the federation: what SLURM_RESTART_COUNT starts from.
	Restarts int
	// First: nobody has sent this attempt to the site before, so that it need not be searched for there.
	First bool
}

// Receipt is a site's acknowledgement. It proves that the site's controller has the job in memory, not that it has
// saved it: a controller killed within its save window forgets it.
type Receipt struct {
	SiteJobID uint32
	Adopted   bool     // the site had it already
	Warnings  []string // what the site ignored or remarked
}

// Mark stands for what a driver has already reported. It is opaque, and of no use to another driver.
type Mark any

// JobsReport is the site controller's view of the federated jobs.
type JobsReport struct {
	At      time.Time // when the request began: a job acknowledged later may be missing
	Changed []SiteJob
	Known   map[JobID]bool // every federated job that the controller holds in memory
	// Begun are jobs that hold nodes now, and whose details are left to a later report.
	Begun []JobID
	// Keys are the attempts that the controller holds, where one job may be there in several: nil where its ID can be there but once.
	Keys map[string]bool
	// Late are second copies of attempts, which arrived after their site or another daemon had been asked again. The driver has cancelled them.
	Late []SiteJob
	Mark Mark
}

// Knows reports whether the controller holds an attempt.
func (r *JobsReport) Knows(id JobID, key string) bool {
	if r.Keys != nil {
		return r.Keys[key]
	}
	return r.Known[id]
}

// SiteJob is a job as its site sees it. Times are by the site's clock.
type SiteJob struct {
	ID        JobID
	SiteJobID uint32 // the site's number of it, the federated ID where the site is pinned; 0: not told
	Key       string // "" where the record has none (accounting shows it only when the job ended)
	State     State
	// Completing: it is PENDING again, and the nodes of its last run are not done with that. Restarts may not count that run yet.
	Completing bool
	// FromAccounting: the site's controller does not hold the job; this is what accounting recorded. A State that has not
	// Ended then means that the controller has lost the job: PENDING before it had started, RUNNING after.
	FromAccounting bool

	User        string
	Account     string // that it runs under; the controller puts the one there that pays for it
	SiteAccount string // the controller's: that it runs under, if another one pays for it
	Partition   string
	QOS         string
	Reason      reasons.Reason
	Nodes       string // hostlist
	NumNodes    int
	CPUs        int
	GPUs        int
	GPUType     string
	TRES        string // allocated: "cpu=4,mem=4000M,node=1,billing=4,gres/gpu=4"
	// PricePerHour is what all that the job holds costs by the hour, where the site knows it better than its prices tell; 0: they tell it.
	PricePerHour Money
	// Cost is what a run that has ended cost, where it did not cost the same all the time: it has gone on without nodes that it lost. 0: PricePerHour tells.
	Cost Money
	// Returned: the site gives the job back. It has not started there and will not, for a reason that is not the job's: Reason and Detail
	// say which. The attempt is over, and counts as none.
	Returned   bool
	Detail     string // a sentence to Reason, if there is one
	Submit     time.Time
	Start      time.Time // zero: has not started. While PENDING, never an estimate
	End        time.Time // zero: has not ended
	Suspension Suspension
	Limit      time.Duration
	ExitStatus int32
	Restarts   int
	Output     string

	// Tasks are the tasks of an array that have a record of their own. PendingTasks are the others, as Slurm writes them
	// ("2-5,7"): not started yet. For an array State is the summary: PENDING until a task starts, ended when all have.
	Tasks        []SiteTask
	PendingTasks string

	// Earlier are the runs that the site has ended to queue the job again, where it keeps them. Runs that it does not tell are made of what was seen of them.
	Earlier []AttemptRun
	// Losses are the nodes that it has lost without its end.
	Losses []NodeLoss

	// Components are the further components of a heterogeneous job, of which this is the leader.
	Components []SiteJob
}

// SiteTask is one task of an array at its site.
type SiteTask struct {
	Index      int
	SiteJobID  uint32
	State      State
	Reason     reasons.Reason
	Nodes      string
	Start, End time.Time
	ExitStatus int32
	Restarts   int
}
