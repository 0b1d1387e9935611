package job

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/client"
	"fsub/federation/decision"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

func TestFindJobs(t *testing.T) {
	d := apitest.Start(t, api.Config{})
	job := func(id federation.JobID) federation.Job {
		return federation.Job{ID: id, User: "alice", UID: 7001, State: federation.Running, Spec: &sbatch.Spec{Name: "j", WorkDir: "/"}}
	}
	array := job(20)
	array.Spec.Array, array.Whole = "2-5", &federation.ArrayWhole{Count: 6, Max: 5, Step: 1, Spread: true}
	jobs := []federation.Job{job(17), array}
	for i := range 2 {
		p := job(federation.JobID(30 + i))
		p.Part = &federation.ArrayPart{Array: 20, Index: i, Count: 6, Max: 5, Step: 1}
		jobs = append(jobs, p)
	}
	d.Put(t, jobs...)
	for word, want := range map[string][]federation.JobID{
		"17": {17}, "17_3": {17}, "20": {20}, "20_0": {30}, "20_[0-1]": {30, 31}, "20_1,20_0": {31, 30}, "20_[1-3]": {31, 20}, "20_9": {20},
		"30": {30}, "30,20_0,17": {30, 17}, "99_1": {99},
	} {
		if got, err := cli.FindJobs(t.Context(), client.New(d.Socket), word); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v, want %v", word, got, err, want)
		}
	}
	for _, bad := range []string{"x", "17,x", "0", "_1"} {
		if got, err := cli.FindJobs(t.Context(), client.New(d.Socket), bad); err == nil {
			t.Errorf("%s: %v", bad, got)
		}
	}
}

// What a job would be billed is told, not what offers are compared by.
func TestStartTextTellsThePrice(t *testing.T) {
	s := &decision.Start{Site: "alpha", At: time.Unix(1e9, 0), Of: "from when its nodes are to be free", Total: 7.5, Price: 2}
	if got := startText(s); !strings.Contains(got, " at alpha for $2.00, from when") {
		t.Error(got)
	}
}

func TestTasksText(t *testing.T) {
	task := func(i int, s federation.State) federation.Task {
		return federation.Task{Index: i, State: s, Cost: federation.Dollar / 4}
	}
	r := &client.JobRecord{Job: federation.Job{ID: 20, State: federation.Running, Whole: &federation.ArrayWhole{Count: 100}}, Tasks: []federation.Task{task(7, federation.Failed), task(3, federation.Failed),
		task(0, federation.Completed), task(1, federation.Running), task(4, federation.Failed)}}
	if got, want := tasksText(r), "  100 tasks: 1 COMPLETED, 3 FAILED (3-4,7), 95 PENDING, 1 RUNNING; $1.25 paid\n  about one of them: fed explain 20_INDEX\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	array, _ := federation.ReadArray("10-89")
	r.Job.Whole.Cancelled = []federation.CancelledTasks{{Tasks: array.Set()}}
	if got, want := tasksText(r), "  100 tasks: 80 CANCELLED (10-89), 1 COMPLETED, 3 FAILED (3-4,7), 15 PENDING, 1 RUNNING; $1.25 paid\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r.Job.Whole.Cancelled = nil
	r.Job.State, r.Tasks = federation.Cancelled, r.Tasks[:0]
	for i := range 40 {
		r.Tasks = append(r.Tasks, task(i*i, federation.Timeout))
	}
	if got, want := tasksText(r), "  100 tasks: 60 CANCELLED, 40 TIMEOUT (0-1,4,9,16,25,36,49,64,81,100,121,144,...); $10.00 paid\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAttemptThatRuns: what is not booked yet is not shown as free.
func TestAttemptThatRuns(t *testing.T) {
	for want, a := range map[string]federation.Attempt{
		"Attempt 1 at alpha: STARTED\n":        {Number: 1, Site: "alpha", State: federation.AttemptStarted},
		"Attempt 1 at alpha: STARTED, $0.50\n": {Number: 1, Site: "alpha", State: federation.AttemptStarted, Cost: federation.Dollar / 2},
		"Attempt 1 at alpha: STARTED\n  shares job 30000007 there with 99 other tasks (--pack)\n": {Number: 1, Site: "alpha", State: federation.AttemptStarted,
			Decision: decision.Decision{Pack: &decision.Pack{Job: 30000007, Tasks: 100}}},
		"Attempt 1 at alpha: ENDED COMPLETED, $0.00\n": {Number: 1, Site: "alpha", State: federation.AttemptEnded, Final: federation.Completed},
	} {
		var out strings.Builder
		if showAttempt(&out, a); out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
