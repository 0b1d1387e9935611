// Package drivertest is the conformance suite of federation.Driver: each promise of that interface's comments is one
// subtest that runs alone. Every driver passes it: real Slurm of each version, the simulated site, each cloud provider. What a site
// cannot do its driver declares (driver.Abilities), and what a test bed cannot do its [Harness] leaves nil; both
// are printed as skipped, with the reason.
//
// Start with [Run]; suite.go holds the list of promises.
package drivertest

import (
	"context"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
)

// Harness is a site to be tested, with what the tests must know of it.
type Harness struct {
	Driver     federation.Driver
	Federation string
	// NextID gives a job ID of the federated range that the site has never seen.
	NextID func() federation.JobID

	// User may run under Account, Other under OtherAccount, neither under the other's.
	User, Other           federation.SiteUser
	Account, OtherAccount string
	Partition             string
	GPUType               string // each node of Partition has at least one of these
	Nodes                 int    // of Partition; at least 2

	// Now and Wait are the site's clock. Nil: the machine's.
	Now  func() time.Time
	Wait func(time.Duration)
	// Patience is how long the site may take to start a job that can start, or to tell of a change. Default 20 s.
	Patience time.Duration
	// Settle is how long the site needs beyond that to be sure that it has not a job.
	Settle time.Duration
	// Parallel lets the subtests run at the same time.
	Parallel bool
	// MeasuresUse: the site tells how much CPU time running jobs have used.
	MeasuresUse bool

	// Dir is a directory of User at the site, and ReadFile reads what a job left there. Nil: scripts are not really run.
	Dir      string
	ReadFile func(path string) ([]byte, error)

	// LoseReply makes the site's answer to the next change that Lossy asks for get lost on its way, after the site has acted. Lossy is a
	// driver of the same site; nil: Driver itself, which Parallel does not allow.
	LoseReply func()
	Lossy     federation.Driver
	// ForgetsAfter is when an ended job leaves the controller's memory, at the latest. 0: not within a test's life.
	ForgetsAfter time.Duration
	// Stranger is a driver of the same site whose credentials the site refuses.
	Stranger federation.Driver
	// KillController ends the site's controller without letting it save, StartController starts it again and returns when
	// it answers. Tests that use them run after all others.
	KillController, StartController func()
	// Hasty is a driver of the same site that waits for an answer for a few seconds only: a site whose controller is dead may give none. Nil:
	// Driver itself.
	Hasty federation.Driver
}

// Run tests h against all promises.
func Run(t *testing.T, h Harness) {
	if h.Now == nil {
		h.Now, h.Wait = time.Now, time.Sleep
	}
	if h.Patience == 0 {
		h.Patience = 20 * time.Second
	}
	if h.Lossy == nil {
		h.Lossy = h.Driver
	}
	if h.Hasty == nil {
		h.Hasty = h.Driver
	}
	limits := map[string]string{}
	if can := driver.AbilitiesOf(h.Driver); can.Limits != nil {
		limits = can.Limits()
	}
	t.Run("Promises", func(t *testing.T) {
		for _, p := range promises {
			run(t, &h, p, limits, h.Parallel)
		}
	})
	t.Run("Faults", func(t *testing.T) {
		for _, p := range faults {
			run(t, &h, p, limits, false)
		}
	})
}

// run runs one test, unless the site has declared that it cannot pass it.
func run(t *testing.T, h *Harness, p promise, limits map[string]string, parallel bool) {
	t.Run(p.name, func(t *testing.T) {
		if reason, ok := limits[p.name]; ok {
			t.Skipf("SKIPPED: the site cannot: %s", reason)
		}
		if parallel {
			t.Parallel()
		}
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		p.test(&suite{T: t, Harness: h, ctx: ctx, refs: map[federation.JobID]federation.JobRef{}})
	})
}

type promise struct {
	name string
	test func(*suite)
}

// promises are tested in any order, faults after them and one by one. Those that wait longest begin first.
var promises = []promise{
	{"LookupForgottenIsInAccounting", testAccounting},
	{"LookupForgottenTellsExitCode", testAccountingExit},
	{"LookupForgottenArrayIsInAccounting", testArrayAccounting},
	{"LookupUnknownIsNotFound", testLookupUnknown},
	{"LookupOfMany", testLookupMany},
	{"AbilitiesAreTold", testAbilities},
	{"HoldAndRelease", testHoldRelease},
	{"ArrayOfManyTasks", testManyTasks},
	{"SubmitRunsUnderTheID", testRuns},
	{"SubmitPlacesOutput", testOutput},
	{"SubmitNamesFiles", testPatterns},
	{"SubmitNamesFilesOfTasks", testArrayPatterns},
	{"SubmitPartOfAnArray", testPart},
	{"SubmitActsAsTheUser", testIdentity},
	{"SubmitTwiceAdopts", testTwice},
	{"SubmitEndedAdopts", testEndedAdopts},
	{"SubmitLostReplyAdopts", testLostReply},
	{"SubmitTakenIDConflicts", testTaken},
	{"SubmitOlderAttemptWaits", testOlderAttempt},
	{"SubmitUnknownAccountIsDenied", testBadAccount},
	{"SubmitOthersAccountIsDenied", testOthersAccount},
	{"SubmitUnknownUserIsDenied", testUnknownUser},
	{"SubmitUnknownPartitionIsCapacity", testBadPartition},
	{"SubmitUnknownGPUIsCapacity", testBadGPU},
	{"SubmitNegativeNiceIsInvalid", testNegativeNice},
	{"SubmitHeldStaysPending", testSubmitHeld},
	{"SubmitCarriesBegin", testBegin},
	{"SubmitCarriesSize", testSize},
	{"CancelPending", testCancelPending},
	{"CancelRunning", testCancelRunning},
	{"CancelTask", testCancelTask},
	{"CancelEndedIsNoError", testCancelEnded},
	{"CancelUnknownIsNoError", testCancelUnknown},
	{"SignalBatch", testSignalBatch},
	{"SignalPendingConflicts", testSignalPending},
	{"SignalUnknownIsNotFound", testSignalUnknown},
	{"HoldRunningConflicts", testHoldRunning},
	{"HoldUnknownIsNotFound", testHoldUnknown},
	{"UpdateChangesTheJob", testUpdate},
	{"UpdateOfARunningJobConflicts", testUpdateRunning},
	{"UpdateOfAnUnknownJobIsNotFound", testUpdateUnknown},
	{"RequeueKeepsTheID", testRequeue},
	{"SuspendAndResume", testSuspend},
	{"JobsTellsChangesSinceTheMark", testMark},
	{"JobsKnowsWhatIsHeld", testKnown},
	{"JobsTellsHowItEnded", testExit},
	{"ArrayTasks", testArray},
	{"ArrayPendingTasksAreWhole", testSparseArray},
	{"LookupHeld", testLookupHeld},
	{"ObserveTheSite", testObserve},
	{"ObserveRunning", testObserveRunning},
	{"UseTellsBusyFromIdle", testUse},
	{"ObserveRefusedCredentials", testStranger},
	{"CancelledContext", testContext},
}

var faults = []promise{
	{"NodesDrainAndResume", testNodes},
	{"NodesOfOthersStay", testNodesOfOthers},
	{"ReserveKeepsOthersAway", testReserve},
	{"ReserveIsExtended", testReserveExtended},
	{"ControllerDownIsUnavailable", testDown},
	{"ControllerKilledRunsOnce", testKilled},
}
