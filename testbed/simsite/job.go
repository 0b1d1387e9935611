package simsite

import (
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/slurm/wire"
)

// job is a record of the controller: a job, an array whose tasks have not all started, or one task.
type job struct {
	id    uint32 // the raw number
	array uint32 // ID of the array, 0: none
	desc  *wire.JobDesc
	user  *user
	need  *need
	does  Behaviour
	key   string // "fsub:..." from whichever field carries it
	seq   int

	live    // what changes; a controller that is killed goes back to what it had saved
	saved   *live
	touched uint64 // the save it was touched after; see Site.touch
	isNew   bool   // created since the last save
	pos     int    // in Site.order
	queued  bool   // in a group
	gen     int    // changes when a planned event is void; never goes back
}

// live is the part of a job's record that changes after submission. Times are Unix nanoseconds, 0 for "not yet".
type live struct {
	task      int   // index in the array, -1: none (yet)
	waiting   []int // of an array: tasks that have not started, in order
	account   string
	qos       string
	part      *partition
	state     federation.State
	stateText string // why it ended, for StateReason
	prio      int64
	held      federation.Hold
	submit    int64
	eligible  int64
	begin     int64
	start     int64
	end       int64
	limit     int64 // nanoseconds, 0: none
	unlimited bool  // none by the user's wish
	shares    []share
	closing   bool // ended, and its nodes are not free yet: COMPLETING
	nodes     string
	tres      string // allocated
	exit      int32
	restarts  int
	comment   string
	row       *row
	run       *run
}

func (j *job) isArray() bool { return j.array != 0 && j.task < 0 }

// states is the job's state in slurmrestd's words: base state first.
func (j *job) states() []string {
	if j.closing {
		return []string{string(j.state), "COMPLETING"}
	}
	return []string{string(j.state)}
}

// Run is one start of a job at the nodes: the proof of what really ran.
type Run struct {
	JobID   uint32 // the site's raw number
	Array   uint32 // ID of the array it is a task of, 0: none
	Task    int    // -1: no task
	Key     string // the attempt's key, if the job's record carried one
	Restart int
	User    string
	Nodes   string
	Start   time.Time
	End     time.Time // zero: still runs
	Exit    int32     // as wait(2) gives it
	Outcome Outcome
}

// Outcome says how a run ended.
type Outcome string

const (
	RunActive    Outcome = ""
	RunCompleted Outcome = "completed" // the script ended by itself, whatever its exit code
	RunCancelled Outcome = "cancelled"
	RunTimeout   Outcome = "timeout"
	RunNodeFail  Outcome = "node_fail"
	RunRequeued  Outcome = "requeued"
	RunOrphan    Outcome = "orphan" // killed by a controller that had forgotten it
)

// keyOf finds the attempt's key in whichever field of the description carries it.
func keyOf(d *wire.JobDesc) string {
	for _, s := range [...]string{d.Extra, d.AdminComment, d.Comment, d.WCKey} {
		if i := strings.Index(s, "fsub:"); i >= 0 {
			s = s[i:]
			if end := strings.IndexAny(s, " \"',}"); end >= 0 {
				s = s[:end]
			}
			return s
		}
	}
	return ""
}

// reasonOf says why a job is PENDING, or why it ended.
func (s *Site) reasonOf(j *job) reasons.Reason {
	if j.state != federation.Pending {
		if j.stateText != "" {
			return reasons.Reason(j.stateText)
		}
		return reasons.None
	}
	switch {
	case j.held == federation.HeldAdmin:
		return reasons.HeldAdmin
	case j.held == federation.HeldUser:
		return reasons.HeldUser
	case j.stateText != "":
		return reasons.Reason(j.stateText)
	case j.begin > s.now:
		return reasons.BeginTime
	case s.throttled(j):
		return "JobArrayTaskLimit"
	case !j.part.up():
		return reasons.PartitionDown
	}
	if g := s.groups[groupKey{j.need, j.limit}]; g != nil && len(g.jobs) > 0 && g.jobs[0] == j {
		return reasons.Resources
	}
	return reasons.Priority
}
