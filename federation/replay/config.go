package replay

import (
	"errors"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/fairshare"
	"fsub/federation/move"
	"fsub/federation/place"
	"fsub/federation/predict"
	"fsub/federation/reasons"
)

// Job is a job of a trace.
type Job struct {
	*federation.Job // its Submit says when it comes
	// Run is how long it runs on nodes of speed 1, whatever its time limit. The planner does not know.
	Run time.Duration
}

// Config is one replay.
type Config struct {
	Sites []*federation.Site // as they are at the beginning: what runs there goes on to its limit, or forever
	Jobs  []Job              // in order of submission. They are not changed
	// Local are jobs that come to sites beside ours, in order of submission. With any, all jobs stand in the queues of their sites; see local.go.
	Local []LocalJob
	// Policy is the planner's. Backlogs at sites are left out unless there are local jobs: a job is bound when it can start.
	Policy place.Policy
	Order  Order
	// Priority is what FairShare goes by; nil: what a daemon does that is told nothing.
	Priority *fairshare.Policy
	Seed     uint64
	// Gap is how much time passes between two plans at least. 0: a second.
	Gap time.Duration
	// Oracle tells the planner how long each job runs: what a policy would do with perfect forecasts.
	Oracle bool
	// Until ends the replay; zero: when all jobs have ended, or none can start any more.
	Until time.Time
	// At is when it begins; zero: with the first job. Jobs that were submitted before wait then.
	At time.Time
	// Ends are when what runs at the beginning ends; what is not there runs to its limit, or forever.
	Ends map[federation.SiteName]map[federation.JobID]time.Time
	// Expected is what the planner counts with instead of its own forecasts.
	Expected map[federation.JobID]*decision.Expected
	// Refused are sites that have refused a job.
	Refused map[federation.JobID]map[federation.SiteName]decision.Rejection
	// Limits, if set, keep jobs back. Numbers are the jobs that run at the beginning under another number than ours.
	Limits  Limits
	Numbers map[federation.SiteName]map[federation.JobID]federation.JobID
	// Tried, if set, is told of some jobs when each would start by the plan as it stands when it comes: of every TryEach-th one. What it is not known of has no site.
	Tried   func(job int, now time.Time, t decision.Trial)
	Told    *predict.Told // learns how what was told held, and corrects what Tried is told; nil: that is the plan's word
	TryEach int
	// Moves, where it moves for gangs, has running jobs make room that keep their checkpoints (#FSUB --keep).
	Moves move.Rule
	// Done, when closed, ends the replay as Until does.
	Done <-chan struct{}
	// Progress, if set, is called now and then with the number of jobs that have ended.
	Progress func(now time.Time, ended int)
}

// Outcome is what became of a job. Start is zero if it has not started, End if it has not ended.
type Outcome struct {
	Job        *federation.Job
	Site       federation.SiteName
	Pool       string
	Submit     time.Time
	Start, End time.Time
	GPUs, CPUs int
	Rented     bool
	Cost       decision.Dollars // of what ran
	Moves      int              // how often it was moved; Start is that of its first run
	Reason     reasons.Reason   // why it waits still
	Limited    bool             // the reason is one of Config.Limits
}

// Result is a replay's.
type Result struct {
	Jobs    []Outcome // in the order of Config.Jobs
	Local   []Outcome // in the order of Config.Local
	Samples []Sample  // how the fleet stood, at intervals
	GPUs    int       // of the fleet that is owned
	CPUs    int
	// While jobs came: how long that was, and what of the owned fleet was in use.
	Hours, GPUHours, CPUHours float64
	Begin                     time.Time
	End                       time.Time // of the last run
	Moves                     int       // of running jobs
	LostGPUHours              float64   // by these
	Plans                     int
	Planner                   time.Duration // that planning took, of this machine's time
}

// Sample is how things stand at one time.
type Sample struct {
	At                 time.Time
	Waiting, Running   int
	GPUsUsed, CPUsUsed int // of the fleet that is owned
	GPUsRented         int
	GPUsWaiting        int
	CPUsWaiting        int
}

// ErrNoJobs: there is nothing to replay.
var ErrNoJobs = errors.New("no jobs to replay")
