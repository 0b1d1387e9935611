package api_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/federation/journal"
	"fsub/sbatch"
	"fsub/slurm/wire"
	"fsub/testbed/apitest"
)

// limitedDaemon has a tree of one account with a user, and one QOS, with limits.
func limitedDaemon(t *testing.T, account, user, qos map[string]string) *apitest.Daemon {
	t.Helper()
	books, err := accounts.Open(t.Context(), &treeStore{made: map[accounts.Key]bool{}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = books.Edit(t.Context(), accounts.Editor{Operator: true}, []accounts.Edit{
		{Op: accounts.Add, Key: accounts.AccountKey("physics"), Set: account}, {Op: accounts.Add, Key: accounts.UserKey("physics", "alice"), Set: user},
		{Op: accounts.Add, Key: accounts.UserKey("physics", "bob")}, {Op: accounts.Add, Key: accounts.QOSKey("high"), Set: qos},
	}, "", false)
	if err != nil {
		t.Fatal(err)
	}
	return startWith(t, api.Config{Coordinators: books, Accounts: api.Accounts{Books: books}})
}

func high(r *v1.SubmitRequest) { r.Spec.QOS = "high" }

// Each limit is kept, and refused in the words of slurmctld 24.11.
func TestSubmitLimits(t *testing.T) {
	type limit = map[string]string
	for _, c := range []struct {
		account, user, qos limit
		change             func(*v1.SubmitRequest)
		alice, bob         int // jobs that are taken of 6 each, alice's first
		reason             string
	}{
		{account: limit{"GrpSubmitJobs": "4"}, alice: 4, bob: 0, reason: "AssocGrpSubmitJobsLimit"},
		{account: limit{"MaxSubmitJobs": "3"}, alice: 3, bob: 3, reason: "AssocMaxSubmitJobLimit"},
		{account: limit{"MaxSubmitJobs": "5"}, user: limit{"MaxSubmitJobs": "2"}, alice: 2, bob: 5, reason: "AssocMaxSubmitJobLimit"},
		{user: limit{"MaxSubmitJobs": "0"}, alice: 0, bob: 6, reason: "AssocMaxSubmitJobLimit"},
		{qos: limit{"GrpSubmitJobs": "4"}, change: high, alice: 4, bob: 0, reason: "QOSGrpSubmitJobsLimit"},
		{qos: limit{"MaxSubmitJobsPerUser": "2"}, change: high, alice: 2, bob: 2, reason: "QOSMaxSubmitJobPerUserLimit"},
		{qos: limit{"MaxSubmitJobsPerAccount": "5"}, change: high, alice: 5, bob: 0, reason: "MaxSubmitJobsPerAccount"},
		// What the QOS sets counts in place of the association's.
		{account: limit{"GrpSubmitJobs": "1"}, qos: limit{"GrpSubmitJobs": "5"}, change: high, alice: 5, bob: 0, reason: "QOSGrpSubmitJobsLimit"},
		{account: limit{"MaxSubmitJobs": "1"}, qos: limit{"MaxSubmitJobsPerUser": "4"}, change: high, alice: 4, bob: 4, reason: "QOSMaxSubmitJobPerUserLimit"},
		{account: limit{"MaxSubmitJobs": "1"}, qos: limit{"MaxSubmitJobsPerUser": "4"}, alice: 1, bob: 1, reason: "AssocMaxSubmitJobLimit"},
	} {
		d := limitedDaemon(t, c.account, c.user, c.qos)
		change := c.change
		if change == nil {
			change = same
		}
		taken, refused := submits(t, alice, d.Socket, 6, change)
		if taken != c.alice || refused == nil || refused.Number != wire.ErrAccountingPolicy || refused.Said != c.reason {
			t.Errorf("%+v: %d of alice's are taken, want %d; %+v", c, taken, c.alice, refused)
		}
		if taken, refused := submits(t, bob, d.Socket, 6, change); taken != c.bob || taken < 6 && refused.Said != c.reason {
			t.Errorf("%+v: %d of bob's are taken, want %d; %+v", c, taken, c.bob, refused)
		}
	}
}

// All tasks of an array count, each until it has ended; so do the components of a heterogeneous job.
func TestSubmitLimitsCountTasks(t *testing.T) {
	d := limitedDaemon(t, nil, map[string]string{"MaxSubmitJobs": "10"}, nil)
	array := func(text string) func(*v1.SubmitRequest) {
		return func(r *v1.SubmitRequest) { r.Spec.Array = text }
	}
	expect := func(what string, want int, change func(*v1.SubmitRequest)) {
		t.Helper()
		if taken, refused := submits(t, alice, d.Socket, 1, change); taken != want {
			t.Fatalf("%s: %d are taken, want %d; %+v", what, taken, want, refused)
		}
	}
	expect("eleven tasks", 0, array("0-10"))
	expect("eight, of which one is named twice", 1, array("1-8,3%2"))
	expect("three more", 0, array("1-3"))
	expect("two more", 1, array("7,9"))
	expect("an eleventh", 0, same)
	expect("the question when it would start", 0, func(r *v1.SubmitRequest) { r.TestOnly = true })

	set := func(id federation.JobID, change func(*federation.Job)) {
		t.Helper()
		j, err := d.Store.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		change(&j)
		if err := d.Store.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&j}}); err != nil {
			t.Fatal(err)
		}
	}
	first := federation.JobID(federation.FirstJobID)
	set(first, func(j *federation.Job) { // three of its tasks have ended
		j.Whole = &federation.ArrayWhole{Count: 8, Min: 1, Max: 8, Step: 1, Spread: true}
		j.EditSpec(func(sp *sbatch.Spec) { sp.Array = "4-8" })
	})
	expect("three more once three have ended", 1, array("1-3"))
	expect("one more", 0, same)
	set(first, func(j *federation.Job) { j.State, j.End = federation.Cancelled, time.Now() })
	expect("five more once all have", 1, array("1-5"))
	expect("one more", 0, same)
}

// However many submit at once, the limit is reached and not passed.
func TestSubmitLimitsTogether(t *testing.T) {
	d := limitedDaemon(t, map[string]string{"GrpSubmitJobs": "40"}, nil, nil)
	var taken, refused atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			uid := [...]uint32{alice, bob}[i%2]
			for k := range 8 {
				var out v1.SubmitResponse
				as(t, uid, d.Socket, "POST", "/fed/v1/job", raw(func(r *v1.SubmitRequest) { r.Spec.Name = fmt.Sprint(i, k) }), &out)
				switch {
				case out.Error == nil:
					taken.Add(1)
				case out.Error.Said == "AssocGrpSubmitJobsLimit":
					refused.Add(1)
				default:
					t.Errorf("%+v", out.Error)
				}
			}
		})
	}
	wg.Wait()
	if taken.Load() != 40 || refused.Load() != 16*8-40 {
		t.Errorf("%d are taken and %d refused", taken.Load(), refused.Load())
	}
}

// A job that waits does not get into an account or a QOS by a change where it could not have been submitted; it does not count twice where it counts already.
func TestChangeKeepsSubmitLimits(t *testing.T) {
	for _, c := range []struct {
		account map[string]string
		limit   string // of the QOS
		refused bool
	}{
		{nil, "", false},
		{map[string]string{"GrpSubmitJobs": "2"}, "", false}, // the account has two, with this one
		{nil, "MaxSubmitJobsPerUser", true},
		{nil, "GrpSubmitJobs", true},
	} {
		qos := map[string]string{"Priority": "1"}
		if c.limit != "" {
			qos[c.limit] = "1"
		}
		d := limitedDaemon(t, c.account, nil, qos)
		if taken, _ := submits(t, alice, d.Socket, 1, high); taken != 1 {
			t.Fatal("a job is refused")
		}
		if taken, _ := submits(t, alice, d.Socket, 1, same); taken != 1 {
			t.Fatal("a job is refused")
		}
		jobs, err := d.Store.Jobs(t.Context(), federation.JobQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range jobs {
			if jobs[i].Spec.QOS != "" {
				continue
			}
			var out v1.ActResponse
			as(t, alice, d.Socket, "POST", "/fed/v1/jobs/update", v1.ActRequest{Jobs: []v1.JobRef{{ID: jobs[i].ID}},
				Change: []sbatch.Change{{Key: "QOS", Option: "qos", Value: "high"}}}, &out)
			if e := out.Results[0].Error; (e != nil) != c.refused || e != nil && e.Number != wire.ErrAccountingPolicy {
				t.Errorf("%+v: %+v", c, e)
			}
		}
	}
}
