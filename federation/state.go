package federation

import (
	"fmt"
	"slices"
)

// State is a job's state in Slurm's words, and no others: programs fail on a state name that they do not know.
type State string

const (
	Pending     State = "PENDING"
	Configuring State = "CONFIGURING"
	Running     State = "RUNNING"
	Suspended   State = "SUSPENDED"
	Completing  State = "COMPLETING"
	Completed   State = "COMPLETED"
	Cancelled   State = "CANCELLED"
	Failed      State = "FAILED"
	Timeout     State = "TIMEOUT"
	NodeFail    State = "NODE_FAIL"
	Preempted   State = "PREEMPTED"
	BootFail    State = "BOOT_FAIL"
	Deadline    State = "DEADLINE"
	OutOfMemory State = "OUT_OF_MEMORY"
	Requeued    State = "REQUEUED" // of a run before a job's last one, never of a job
)

// Ended reports whether s is final: nothing of the job runs any more and nothing will.
func (s State) Ended() bool { return slices.Contains(EndStates, s) }

// EndStates are the states that are final.
var EndStates = []State{Completed, Cancelled, Failed, Timeout, NodeFail, Preempted, BootFail, Deadline, OutOfMemory, Requeued}

// Started reports whether a job in state s holds, or has held, nodes now: it runs, is suspended or is ending.
func (s State) Started() bool {
	switch s {
	case Configuring, Running, Suspended, Completing:
		return true
	}
	return false
}

// Reason says in one word, without blanks, why a job is PENDING or why it ended. Slurm's spelling where Slurm has
// one; ours begin with Fed.
type Reason string

const (
	ReasonNone            Reason = "None"
	ReasonPriority        Reason = "Priority"  // others come first
	ReasonResources       Reason = "Resources" // waits for nodes to fall free
	ReasonDependency      Reason = "Dependency"
	ReasonDependencyNever Reason = "DependencyNeverSatisfied"
	ReasonBeginTime       Reason = "BeginTime"
	ReasonHeldUser        Reason = "JobHeldUser"
	ReasonHeldAdmin       Reason = "JobHeldAdmin"
	ReasonPartition       Reason = "InvalidPartition" // the site has no such partition, or it has none by default
	ReasonPartitionDown   Reason = "PartitionDown"
	ReasonPartitionTime   Reason = "PartitionTimeLimit"
	ReasonPartitionNodes  Reason = "PartitionNodeLimit"
	ReasonMaintenance     Reason = "FedMaintenance" // Slurm: ReqNodeNotAvail, Reserved for maintenance
	ReasonReqNodeNotAvail Reason = "ReqNodeNotAvail"
	ReasonBadConstraints  Reason = "BadConstraints"
	ReasonRootOnly        Reason = "FedRootOnly" // the partition is for root and SlurmUser
	ReasonAccount         Reason = "InvalidAccount"
	ReasonQOS             Reason = "InvalidQOS"
	ReasonQOSTime         Reason = "QOSMaxWallDurationPerJobLimit" // of a site's QOS
	ReasonReservation     Reason = "Reservation"
	ReasonNodeDown        Reason = "NodeDown"
	ReasonLaunchFailure   Reason = "JobLaunchFailure"
	ReasonLaunchHeld      Reason = "launch_failed_requeued_held" // a node could not start it: requeued, and held by its site
	ReasonTimeLimit       Reason = "TimeLimit"
	ReasonNonZeroExit     Reason = "NonZeroExitCode"
	ReasonDeadline        Reason = "DeadLine"
	ReasonSiteUnavailable Reason = "FedSiteUnavailable" // the site does not answer; it may well be able to run the job
	ReasonSiteDrain       Reason = "FedSiteDrain"       // FedState is not ACTIVE
	ReasonUnknownUser     Reason = "FedUnknownUser"     // the site has no such user or association
	ReasonUnsupported     Reason = "FedUnsupported"     // the site's Slurm cannot carry an option of the job
	ReasonGRES            Reason = "FedNoSuchGRES"      // no node of the pool has this GRES or type
	ReasonBacklog         Reason = "FedBacklog"         // enough is waiting at the site already
	ReasonSubmitLimit     Reason = "AssocMaxSubmitJobLimit"
	ReasonRefused         Reason = "FedRefused"       // the site has refused this job
	ReasonForgotten       Reason = "FedForgotten"     // the site's controller lost the job
	ReasonNotAsked        Reason = "FedSiteNotAsked"  // the job asks for other sites
	ReasonMaxCost         Reason = "FedMaxCost"       // dearer than the job may be
	ReasonMoved           Reason = "FedMoved"         // the job was moved elsewhere
	ReasonStockOut        Reason = "FedStockOut"      // the cloud has none of these machines left just now
	ReasonQuota           Reason = "FedQuota"         // the cloud's account may have no more of them
	ReasonAccountBudget   Reason = "FedAccountBudget" // the account has spent what it may
	ReasonBudget          Reason = "FedBudget"        // the pool has spent what it may
	ReasonPrice           Reason = "FedPrice"         // its machines cost more by now than was granted
	ReasonCloudQueue      Reason = "FedCloudQueue"    // the cloud has queued the request for its machines
	ReasonCloudDenied     Reason = "FedCloudDenied"   // the cloud does not take our credentials
	ReasonThrottled       Reason = "FedThrottled"     // the cloud wants fewer calls
	ReasonBoot            Reason = "FedBoot"          // its machines start
	ReasonFileSystem      Reason = "FedFileSystem"    // the job's working directory is not there, and nothing is copied
	ReasonRestored        Reason = "FedRestored"      // the store was restored from a copy, and not all sites have said yet whether it has run since
	ReasonFault           Reason = "FedFault"         // placement failed over it, which is a defect; it is tried again after a while
)

// AttemptState is how far one submission to one site has come.
//
//	Intended --> Submitted --> Started --> Ended
//	   |             |            |
//	   +-> Refused   +-> Ended    +-> Forgotten
//	   +-> Withdrawn +-> Forgotten, Withdrawn
//
// Intended: the decision is durable; the site may or may not have the job. Submitted: the site has acknowledged it.
// Started: the site says that it has run or runs. The other four are final: Ended (the site says so), Refused (the site
// never took it), Withdrawn (proven never to have reached the site, or given back by it unstarted), Forgotten (the site took it and lost it).
type AttemptState string

const (
	AttemptIntended  AttemptState = "INTENDED"
	AttemptSubmitted AttemptState = "SUBMITTED"
	AttemptStarted   AttemptState = "STARTED"
	AttemptEnded     AttemptState = "ENDED"
	AttemptRefused   AttemptState = "REFUSED"
	AttemptWithdrawn AttemptState = "WITHDRAWN"
	AttemptForgotten AttemptState = "FORGOTTEN"
)

// Final reports whether the attempt is over: nothing of it lives at the site.
func (s AttemptState) Final() bool {
	switch s {
	case AttemptEnded, AttemptRefused, AttemptWithdrawn, AttemptForgotten:
		return true
	}
	return false
}

var attemptMoves = map[AttemptState][]AttemptState{
	AttemptIntended:  {AttemptSubmitted, AttemptStarted, AttemptEnded, AttemptRefused, AttemptWithdrawn, AttemptForgotten},
	AttemptSubmitted: {AttemptStarted, AttemptEnded, AttemptForgotten, AttemptWithdrawn},
	// A site may requeue a job by itself: Started goes back to Submitted, under the same ID.
	AttemptStarted: {AttemptSubmitted, AttemptEnded, AttemptForgotten},
}

// Move changes a's state or reports that the change is not allowed; moving to the same state is.
func (a *Attempt) Move(to AttemptState) error {
	if a.State == to {
		return nil
	}
	for _, s := range attemptMoves[a.State] {
		if s == to {
			a.State = to
			return nil
		}
	}
	return fmt.Errorf("job %d attempt %d: no way from %s to %s", a.Job, a.Number, a.State, to)
}
