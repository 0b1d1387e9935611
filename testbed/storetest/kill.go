package storetest

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// childDir in the environment makes [Suite.Run] write to the store there until it is killed.
const childDir = "STORETEST_WRITE_UNTIL_KILLED"

const killWorkers = 24

// root is the name of the test that called Run, and of its own parents.
func root(t *testing.T) string { return t.Name()[:strings.LastIndex(t.Name(), "/")] }

// testKill kills a process that writes from many goroutines, again and again over the same store. What the process had
// printed was acknowledged and must be there; of what it had not, all or nothing.
func testKill(e *env) {
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	acked := newLedger()
	for range rounds {
		e.killOnce(acked)
		s := e.open()
		acked.check(e, s)
		j := e.create(s, "parent", "")
		if acked.jobs[j.ID] != "" {
			e.Fatalf("ID %d was given again", j.ID)
		}
		e.must(s.Close())
	}
	e.Logf("%d kills, %d jobs, %d times jobs together, %d batches, %d requests, %d pool records acknowledged", rounds, len(acked.jobs), len(acked.together), acked.batches, acked.requests, len(acked.pools))
}

func (e *env) killOnce(acked *ledger) {
	pattern := "^" + strings.ReplaceAll(e.root, "/", "$/^") + "$"
	child := exec.Command(os.Args[0], "-test.run", pattern)
	child.Env = append(os.Environ(), childDir+"="+e.dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	e.must(err)
	e.must(child.Start())
	kill := time.AfterFunc(time.Minute, func() { child.Process.Kill() }) // if it never gets to work
	lines := bufio.NewReader(out)
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // the last line may be torn: it does not count
		}
		acked.note(e, line)
		if n == 0 {
			kill.Stop()
			kill = time.AfterFunc(rand.N(300*time.Millisecond), func() { child.Process.Kill() })
		}
	}
	kill.Stop()
	if err := child.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		e.Fatalf("the child was to be killed, but: %v", err)
	}
}

// writeUntilKilled is the child. Each worker does the same few things over and over and prints each when it was acknowledged.
func (s Suite) writeUntilKilled(dir string) {
	store, err := s.Open(dir, 0, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, "storetest child:", err)
		os.Exit(1)
	}
	var all sync.WaitGroup
	for w := range killWorkers {
		all.Go(func() {
			for n := 0; ; n++ {
				if err := writeOne(store, w, n); err != nil {
					fmt.Fprintln(os.Stderr, "storetest child:", err)
					os.Exit(1)
				}
			}
		})
	}
	all.Wait()
}

// writeOne creates a job, changes all that belongs to it together three times, and makes two requests of which one is done.
// One Printf is one write(2): lines do not mix.
func writeOne(s Store, w, n int) error {
	mark := fmt.Sprintf("%d.%d.%d", os.Getpid(), w, n)
	j := &federation.Job{User: mark, Spec: &sbatch.Spec{Name: mark}}
	if err := s.CreateJob(ctx, j, &sbatch.Payload{Script: mark}); err != nil {
		return err
	}
	fmt.Printf("job %d %s\n", j.ID, mark)
	for step := 1; step <= 3; step++ {
		if err := s.Commit(ctx, marked(j, step)); err != nil {
			return err
		}
		fmt.Printf("batch %d %d\n", j.ID, step)
	}
	for _, kind := range []action.Kind{action.Hold, action.Cancel} {
		seq, err := s.AddRequest(ctx, action.Request{Job: j.ID, Kind: kind})
		if err != nil {
			return err
		}
		fmt.Printf("request %d %d\n", seq, j.ID)
		if kind == action.Cancel {
			continue // stays
		}
		fmt.Printf("begin %d 0\n", seq)
		if err := s.Commit(ctx, &journal.Batch{Done: []int64{seq}}); err != nil {
			return err
		}
		fmt.Printf("done %d 0\n", seq)
	}
	if err := writeTogether(s, mark); err != nil {
		return err
	}
	return writePool(s, j.ID, mark)
}

// together is how many jobs are submitted together.
const together = 20

// writeTogether submits jobs together.
func writeTogether(s Store, mark string) error {
	ids, err := s.ReserveIDs(ctx, together)
	if err != nil {
		return err
	}
	var all []*federation.Job
	for _, id := range ids {
		all = append(all, &federation.Job{ID: id, User: "t" + mark, Spec: &sbatch.Spec{Name: mark}})
	}
	if _, err := s.CreateJobs(ctx, all, func(int) *sbatch.Payload { return &sbatch.Payload{Script: "t" + mark} }, mark); err != nil {
		return err
	}
	fmt.Printf("together %d t%s\n", ids[0], mark)
	return nil
}

// marked is a batch that leaves the number of the step in every record of the job.
func marked(j *federation.Job, step int) *journal.Batch {
	j.Priority = uint32(step)
	a := attempt(j, 1, federation.AttemptStarted)
	a.Tries = step
	b := &journal.Batch{Jobs: []*federation.Job{j}, Attempts: []*federation.Attempt{a}}
	for i := range 3 {
		b.Tasks = append(b.Tasks, &federation.Task{Job: j.ID, Index: i, State: federation.Running, Restarts: step})
	}
	b.Events = append(b.Events, federation.Event{Job: j.ID, At: longAgo, Text: fmt.Sprint(step)})
	return b
}

// ledger is what children have said was acknowledged.
type ledger struct {
	jobs              map[federation.JobID]string // the mark
	steps             map[federation.JobID]int
	checked           map[federation.JobID]bool // its records were all looked at
	waiting, settled  map[int64]bool            // requests; those that may be either are in neither
	together          map[string]bool           // users whose jobs were submitted together
	pools             map[federation.JobID]int  // steps of the job's records of a pool
	numbers           map[int64]bool            // of machines
	batches, requests int
}

func newLedger() *ledger {
	return &ledger{
		jobs: make(map[federation.JobID]string), steps: make(map[federation.JobID]int), checked: make(map[federation.JobID]bool),
		waiting: make(map[int64]bool), settled: make(map[int64]bool), together: make(map[string]bool), pools: make(map[federation.JobID]int), numbers: make(map[int64]bool),
	}
}

func (l *ledger) note(e *env, line string) {
	var what, value string
	var id int64
	if _, err := fmt.Sscanf(line, "%s %d %s\n", &what, &id, &value); err != nil {
		e.Fatalf("child said %q: %v", line, err)
	}
	switch what {
	case "job":
		if l.jobs[federation.JobID(id)] != "" {
			e.Fatalf("ID %d was given twice", id)
		}
		l.jobs[federation.JobID(id)] = value
	case "together":
		l.together[value] = true
	case "batch":
		l.batches++
		l.steps[federation.JobID(id)]++
	case "request":
		l.requests++
		l.waiting[id] = true
	case "begin":
		delete(l.waiting, id)
	case "done":
		l.settled[id] = true
	case "pool":
		l.pools[federation.JobID(id)]++
	case "number":
		if l.numbers[id] {
			e.Fatalf("number %d of a machine was given twice", id)
		}
		l.numbers[id] = true
	}
}

func (l *ledger) check(e *env, s Store) {
	e.Helper()
	jobs, err := s.Jobs(ctx, federation.JobQuery{})
	e.must(err)
	found, jobsOf := 0, map[string]int{}
	for _, j := range jobs {
		jobsOf[j.User]++
		if mark := l.jobs[j.ID]; mark != "" {
			found++
			if mark != j.User || mark != j.Spec.Name {
				e.Fatalf("job %d is %q, was acknowledged as %q", j.ID, j.User, mark)
			}
		}
		if j.User == "parent" {
			continue
		}
		if int(j.Priority) < l.steps[j.ID] {
			e.Fatalf("job %d is at step %d, step %d was acknowledged", j.ID, j.Priority, l.steps[j.ID])
		}
		if !l.checked[j.ID] {
			l.checked[j.ID] = true
			checkWhole(e, s, &j)
		}
	}
	if found != len(l.jobs) {
		e.Fatalf("%d of %d acknowledged jobs are there", found, len(l.jobs))
	}
	for user, n := range jobsOf {
		if strings.HasPrefix(user, "t") && n != together {
			e.Fatalf("%d of the %d jobs are there that were submitted together", n, together)
		}
	}
	for user := range l.together {
		if jobsOf[user] != together {
			e.Fatalf("%d of %d jobs are there that were submitted together, which was acknowledged", jobsOf[user], together)
		}
	}
	requests, err := s.Requests(ctx, 0)
	e.must(err)
	there := make(map[int64]bool)
	for _, r := range requests {
		there[r.Seq] = true
		if l.settled[r.Seq] {
			e.Fatalf("request %d is back", r.Seq)
		}
	}
	for seq := range l.waiting {
		if !there[seq] {
			e.Fatalf("request %d is gone", seq)
		}
	}
	l.checkPools(e, s)
}

// checkWhole makes sure that all records of j are at the same step.
func checkWhole(e *env, s Store, j *federation.Job) {
	e.Helper()
	p, err := s.Payload(ctx, j.ID)
	e.must(err)
	if p.Script != j.User {
		e.Fatalf("payload of job %d is %q, want %q", j.ID, p.Script, j.User)
	}
	want := &journal.Batch{}
	step := int(j.Priority)
	for n := 1; n <= step; n++ {
		events := append(want.Events, marked(j, n).Events...)
		want = marked(j, n)
		want.Events = events
	}
	checkRecords(e, s, j.ID, want)
}
