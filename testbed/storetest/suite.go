// Package storetest is the one conformance suite for stores: each promise of an interface's comment is a subtest that runs alone, down to
// what is left after kill -9. [Suite.Run] is all there is to call.
//
// What is peculiar to one database (damaged files, full disks, migrations) is tested beside that implementation.
package storetest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	book "fsub/accounting/ledger"
	poolrecords "fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/federation/ended"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/predict"
	"fsub/federation/records"
	"fsub/federation/usage"
	"fsub/sbatch"
)

// Store is a whole store.
type Store interface {
	federation.JobStore
	ended.Counter
	action.Store
	journal.Committer
	journal.Follower
	federation.SiteStore
	federation.NodeStore
	federation.ChargeStore
	federation.ChargeSummer
	federation.DirectSummer
	audit.Log
	federation.BillStore
	book.Books
	health.Store
	action.OperationStore
	poolrecords.PoolStore
	predict.RunStore
	federation.Submitters
	usage.Store
	predict.WaitStore
	accounts.Store
	records.Store
	// Purge deletes what ended or was closed before a time, PurgeHistory what happened to sites and nodes, PurgeAudit who did what. Each returns how many.
	Purge(ctx context.Context, before time.Time) (int, error)
	PurgeHistory(ctx context.Context, before time.Time) (int, error)
	PurgeAudit(ctx context.Context, before time.Time) (int, error)
	Close() error
}

// Suite says how to get at the stores under test.
type Suite struct {
	// Open opens the store that is kept in dir, creating it if the directory is empty. IDs are given from first to last,
	// both included; zero: the default range. It is called again with the same directory after Close, and after the process
	// that had it open was killed.
	Open func(dir string, first, last federation.JobID) (Store, error)
}

// Run runs every test of the suite as a subtest of t. Some run this test binary again, as the process that is killed;
// so call Run from a test that does nothing else before it.
func (s Suite) Run(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		s.writeUntilKilled(dir)
	}
	for _, c := range []struct {
		name string
		test func(*env)
	}{
		{"CreateFillsTheJob", testCreateFills},
		{"CreateKeepsEveryField", testCreateKeeps},
		{"IDsAreGivenInOrderWithinTheRange", testRange},
		{"UsedUpRangeIsAConflict", testUsedUp},
		{"IDsStartAgainAndSkipThoseInUse", testWrap},
		{"NumbersGoOnAfterReopen", testGoOn},
		{"PayloadIsKeptExactly", testPayload},
		{"UnknownJobIsNotFound", testUnknown},
		{"JobWithoutRecordsHasNone", testNone},
		{"CommitWritesEveryField", testCommitFields},
		{"CommitLeavesSpecAndOwner", testCommitLeaves},
		{"CommitWritesSpecsThatAreNamed", testCommitSpecs},
		{"DemandFollowsFromTheSpec", testDemand},
		{"CommitIsAllOrNothing", testAllOrNothing},
		{"CommitSetsRev", testRev},
		{"OneLiveAttemptPerJob", testOneLive},
		{"AttemptKeysAreUnique", testKeys},
		{"RecordsComeInOrder", testOrder},
		{"JobsSelects", testJobs},
		{"EndedJobsAreCounted", testCountEnded},
		{"LongListsOfIDs", testManyIDs},
		{"LiveJobs", testLiveJobs},
		{"PartsAreFoundByTheirArray", testParts},
		{"ComponentsFollowTheirLeader", testComponents},
		{"ReservedIDsAreGivenToNobody", testReserve},
		{"RequestsWaitUntilDone", testRequests},
		{"SameRequestsAreOne", testSameRequest},
		{"SubmissionKeysNameOneJob", testSubmissionKeys},
		{"HoldingsAreCounted", testHoldings},
		{"JobsSubmittedTogetherAreAllOrNone", testTogether},
		{"SiteStateIsTheLastSet", testSites},
		{"NodesKeepTheLastWord", testNodes},
		{"NodeHistoryIsKeptInOrder", testNodeEvents},
		{"RunLengths", testRunLengths},
		{"PastWaits", testPastWaits},
		{"AuditLogIsAppendedTo", testAudit},
		{"AuditIsWrittenWithItsChange", testAuditWhole},
		{"OperationKeepsEveryField", testOperationFields},
		{"OperationAsksOnce", testOperationAsks},
		{"OperationGrows", testOperationGrows},
		{"HealthIsKeptUntilItIsForgotten", testHealth},
		{"AccountTreeIsTheLastWritten", testAccounts},
		{"SiteHistoryIsKeptInOrder", testSiteHistory},
		{"MaintenanceIsPlannedAndTakenBack", testMaintenance},
		{"CancelledCallerWritesNothing", testCancelled},
		{"CallersFailAlone", testFailAlone},
		{"ReadersSeeWholeBatches", testSnapshot},
		{"CloseKeepsWhatWasAcknowledged", testClose},
		{"PurgeDeletesOldJobsOnly", testPurge},
		{"ChangesTellOfEveryRecord", testChanges},
		{"ChangesGoOnFromAnyMark", testChangesPages},
		{"ChangesLeaveOutWhatWasRefused", testChangesRefused},
		{"ChangesNeverComeBelowAMark", testChangesSafe},
		{"JobsAloneAreWithoutTheirParts", testAlone},
		{"ChargeKeepsEveryField", testChargeFields},
		{"RunIsChargedOnce", testChargeOnce},
		{"ChargeIsWrittenWithItsBatch", testChargeWhole},
		{"ChargesSelects", testChargeQuery},
		{"ChargesOutliveTheirJobs", testChargePurge},
		{"ChargeSumsAreThoseOfTheCharges", testChargeSums},
		{"DirectSumsAreOfDirectSubmissions", testDirectSums},
		{"PoolKeepsEveryField", testPoolFields},
		{"PoolIsWrittenOverInPlace", testPoolOver},
		{"PoolRecordIsNamedBySiteKindAndID", testPoolNames},
		{"PoolCommitIsAllOrNothing", testPoolWhole},
		{"PoolLoadsWhatIsOpenOrClosedLately", testPoolLoad},
		{"PoolRecordsOfAJob", testPoolOfJob},
		{"PoolPayloadStaysUntilClosed", testPoolPayload},
		{"PoolHistoryIsNewestFirst", testPoolHistory},
		{"PoolNumbersAreGivenOnce", testPoolNumbers},
		{"PoolCallersShareCommits", testPoolConcurrent},
		{"PurgeLeavesMachines", testPoolPurge},
		{"BooksSayTheSameInAnyOrder", testBooksOrder},
		{"BooksAddUpInEveryGrouping", testBooksTotals},
		{"BillsAreReplaced", testBills},
		{"RecordsAreReplaced", testRecords},
		{"BehavesLikeTheModel", testModel},
		{"PoolBehavesLikeTheModel", testPoolModel},
		{"KillLosesNothingAcknowledged", testKill},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.test(&env{T: t, suite: s, root: root(t), dir: t.TempDir()})
		})
	}
}

// env is what a test works with: a directory, and the store in it.
type env struct {
	*testing.T
	suite Suite
	root  string // name of the test that called Run
	dir   string
}

var ctx = context.Background()

// open opens the store; it is closed at the end of the test if it is not before.
func (e *env) open() Store { return e.openRange(0, 0) }

func (e *env) openRange(first, last federation.JobID) Store {
	e.Helper()
	s, err := e.suite.Open(e.dir, first, last)
	e.must(err)
	e.Cleanup(func() { s.Close() })
	return s
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// wants fails the test unless err wraps want.
func (e *env) wants(err, want error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Fatalf("error is %v, want one that is %q", err, want)
	}
}

// derived is what is not stored: of a job what follows from its Spec (see testDemand), of a task the job that it has become.
var derived = cmp.Options{cmpopts.IgnoreFields(federation.Job{}, "Demand"), cmpopts.IgnoreFields(federation.Task{}, "ID"), cmpopts.IgnoreUnexported(accounts.Record{})}

// sets are the same if they have the same tasks.
var sets = cmp.Comparer(func(a, b federation.TaskSet) bool { return a.Len() == b.Len() && a.Covers(&b) })

// same compares what is stored. Lists that are empty and lists that are nil are the same.
func (e *env) same(what string, got, want any) {
	e.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), derived, sets); d != "" {
		e.Fatalf("%s (- want, + got):\n%s", what, d)
	}
}

// create stores a job of the given user and name.
func (e *env) create(s Store, user, name string) *federation.Job {
	e.Helper()
	j := &federation.Job{User: user, UID: 1000, GID: 100, Spec: &sbatch.Spec{Name: name}}
	e.must(s.CreateJob(ctx, j, &sbatch.Payload{Script: "#!/bin/sh\n"}))
	return j
}

// attempt is a minimal attempt of a job.
func attempt(j *federation.Job, number int, state federation.AttemptState) *federation.Attempt {
	return &federation.Attempt{Job: j.ID, Number: number, Key: federation.AttemptKey("test", j, number), Site: "alpha", State: state}
}

func ids(jobs []federation.Job) []federation.JobID {
	var all []federation.JobID
	for _, j := range jobs {
		all = append(all, j.ID)
	}
	return all
}
