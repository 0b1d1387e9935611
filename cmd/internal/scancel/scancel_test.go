package scancel

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api"
	"fsub/federation/journal"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

type everybody struct{}

func (everybody) UserName(uid uint32) (string, error) {
	return map[uint32]string{uint32(os.Getuid()): "me", 61002: "bob"}[uid], nil
}
func (everybody) UserIDs(name string) (uint32, uint32, error) {
	if name == "nosuchuser" {
		return 0, 0, errors.New("no such user")
	}
	return 61002, 61002, nil
}
func (everybody) GroupName(uint32) (string, error) { return "g", nil }

// start runs an API with six jobs: 1 pending, 2 running, 3 ended, 4 another's pending (which root may cancel too), 5 an array.
func start(t *testing.T) *apitest.Daemon {
	d := apitest.Start(t, api.Config{Users: everybody{}})
	d.Controller.SetSites(&federation.Site{Name: "alpha"}, &federation.Site{Name: "beta"})
	put := func(id federation.JobID, user, name string, state federation.State, array string) {
		uid := uint32(os.Getuid())
		if user != "me" {
			uid = 61002
		}
		j := federation.Job{ID: id, User: user, UID: uid, State: state, Partition: "main", Spec: &sbatch.Spec{Name: name, WorkDir: "/", Array: array}}
		if state == federation.Running {
			j.Site = "alpha"
		}
		if state.Ended() {
			j.End = time.Now()
		}
		d.Put(t, j)
	}
	put(1, "me", "a", federation.Pending, "")
	put(2, "me", "b", federation.Running, "")
	put(3, "me", "c", federation.Completed, "")
	put(4, "bob", "d", federation.Pending, "")
	put(5, "me", "e", federation.Pending, "0-5")
	put(6, "me", "f", federation.Running, "0-3%2")
	task := func(i int) *federation.Task {
		return &federation.Task{Job: 6, Index: i, SiteJobID: uint32(i + 1), State: federation.Running}
	}
	if err := d.Store.Commit(t.Context(), &journal.Batch{Tasks: []*federation.Task{task(0), task(1)}}); err != nil {
		t.Fatal(err)
	}
	job := func(id federation.JobID, name string, state federation.State) federation.Job {
		return federation.Job{ID: id, User: "me", UID: uint32(os.Getuid()), State: state, Partition: "main", Spec: &sbatch.Spec{Name: name, WorkDir: "/"}}
	}
	leader, spread, part := job(9, "het", federation.Pending), job(20, "g", federation.Pending), job(21, "g", federation.Running)
	leader.Spec.Het = []sbatch.Spec{*leader.Spec}
	spread.Spec.Array, spread.Whole = "1-5", &federation.ArrayWhole{Count: 6, Max: 5, Step: 1, Spread: true}
	spread.Spec.Array = "2-5"
	part.Part = &federation.ArrayPart{Array: 20, Index: 0, Count: 6, Max: 5, Step: 1}
	d.Put(t, leader, spread, part)
	return d
}

func TestScancel(t *testing.T) {
	const invalid, done = "Invalid job id specified\n", "Job/step already completing or completed\n"
	const states = "Valid job states are PENDING, RUNNING, and SUSPENDED\n"
	for _, test := range []struct {
		args   string
		env    string
		exit   int
		stderr string
		stdout string
		input  string
		done   string // what the daemon was asked to do: kind id tasks signal
	}{
		{args: "1", done: "cancel 1"},
		{args: "1 2", done: "cancel 1, cancel 2"},
		{args: "1,2", done: "cancel 1, cancel 2"},
		{args: "5_3", done: "cancel 5 [3]"},
		{args: "5_[1-3,5]", done: "cancel 5 [1 2 3 5]"},
		{args: "5_77"},
		{args: "999999"},
		{args: "3"},
		{args: "-Q 999999"},
		{args: "-v 999999", stderr: "scancel: Terminating job 999999\nscancel: error: Kill job error on job id 999999: " + invalid},
		{args: "-v 3", stderr: "scancel: Terminating job 3\nscancel: error: Kill job error on job id 3: " + done},
		{args: "-v 1", stderr: "scancel: Terminating job 1\n", done: "cancel 1"},
		{args: "999999 --signal USR2", exit: 1, stderr: "scancel: error: Kill job error on job id 999999: " + invalid},
		{args: "999999 -f -s 12", exit: 1, stderr: "scancel: error: Kill job error on job id 999999: " + invalid},
		{args: "-t PENDING 999999", exit: 1, stderr: "scancel: error: Kill job error on job id 999999: " + invalid},
		{args: "-t PENDING 2"},
		{args: "-t PENDING 1", done: "cancel 1"},
		{args: "-t R 2 1", done: "cancel 2"},
		{args: "-t PENDING,RUNNING 1", exit: 1, stderr: "Invalid job state specified: PENDING,RUNNING\n" + states},
		{args: "2 -s SIGUSR1", done: "signal 2 USR1"},
		{args: "-b -s 10 2", done: "signal 2 10 batch"},
		{args: "-s KILL 2", done: "cancel 2"},
		{args: "-s USR1 1", exit: 2020 & 0xff, stderr: "scancel: error: Kill job error on job id 1: Job can not be altered now, try again later\n"},
		{args: "--name nosuch"},
		{args: "--jobname b", done: "cancel 2"},
		{args: "-n a,b", done: "cancel 1, cancel 2"},
		{args: "-n a", env: "SCANCEL_STATE=RUNNING"},
		{args: "-u bob -t pd", done: "cancel 4"},
		{args: "--me -t pending -v", stderr: "scancel: Terminating job 1\nscancel: Terminating job 5_[0-5]\nscancel: Terminating job 6_[2-3]\n" +
			"scancel: Terminating job 9+0\nscancel: Terminating job 20_[2-5]\n",
			done: "cancel 1, cancel 5 [0 1 2 3 4 5], cancel 6 [2 3], cancel 9, cancel 20 [2 3 4 5]"},
		{args: "-p nosuch"},
		{args: "-p main -n b", done: "cancel 2"},
		{args: "", exit: 1, stderr: "scancel: error: No job identification provided\n"},
		{args: "abc", exit: 1, stderr: "scancel: error: Invalid job id abc\n"},
		{args: "1.99"}, // waits
		{args: "3.0", exit: 1, stderr: "scancel: error: Kill job error on job step id 3.0: " + invalid},
		{args: "2.batch", exit: 1, stderr: "scancel: error: Invalid job id 2.batch\n"},
		{args: "0", exit: 1, stderr: "scancel: error: Invalid job id 0\n"},
		{args: "12_x", exit: 1, stderr: "scancel: error: Invalid job id 12_x\n"},
		{args: "999999,abc", exit: 1, stderr: "scancel: error: Invalid job id abc\n"},
		{args: "-v 5_", stderr: "scancel: Terminating job 5_\nscancel: error: Kill job error on job id 5_: " + invalid},
		{args: "-s KILL -v 3", exit: 1, stderr: "scancel: Signal 9 to job 3\nscancel: error: Kill job error on job id 3: " + done},
		{args: "-v -s USR1 2", stderr: "scancel: Signal 10 to job 2\n", done: "signal 2 USR1"},
		{args: "-v -b -s 12 2", stderr: "scancel: Signal 12 to batch job 2\n", done: "signal 2 12 batch"},
		{args: "-v -b 2", stderr: "scancel: Terminating batch job 2\n", done: "signal 2 KILL batch"},
		{args: "-v -f 2", stderr: "scancel: Terminating full job 2\n", done: "cancel 2"},
		{args: "-v -n nosuch -p p", stderr: "scancel: error: No active jobs match ALL job filters, including: job_name=nosuch partition=p \n"},
		{args: "-v -n b 3", exit: 1, stderr: "scancel: error: Kill job error on job id 3: " + invalid + "scancel: error: No active jobs match ALL job filters, including: job_name=b \n"},
		{args: "-n b 2 1", done: "cancel 2"},
		{args: "-t PENDING 6", done: "cancel 6 [2 3]"},
		{args: "-t RUNNING 6 -v", stderr: "scancel: Terminating job 6_0\nscancel: Terminating job 6_1\n", done: "cancel 6 [0], cancel 6 [1]"},
		{args: "-n f 6", done: "cancel 6"},
		{args: "-t PENDING 6_[1-2]", done: "cancel 6 [2]"},
		{args: "-n g -v", stderr: "scancel: Terminating job 20_[2-5]\nscancel: Terminating job 20_0\n", done: "cancel 20 [0], cancel 20 [2 3 4 5]"},
		{args: "20", done: "cancel 20"},
		{args: "20_0", done: "cancel 20 [0]"},
		{args: "21", done: "cancel 21"},
		{args: "9+1", done: "cancel 10"},
		{args: "-n het -v", stderr: "scancel: Terminating job 9+0\n", done: "cancel 9"},
		{args: "-c 1", done: "cancel 1"},
		{args: "--ctld -H 1", done: "cancel 1"},
		{args: "--sibling=x 1", exit: 191, stderr: "scancel: error: Kill job error on job id 1: Not a valid federated job\n"},
		{args: "--admin-comment=x 1", exit: 1, stderr: "scancel: unrecognized option '--admin-comment=x'\nTry \"scancel --help\" for more information\n"},
		{args: "-M alpha 2", done: "cancel 2"},
		{args: "-M all 2", done: "cancel 2"},
		{args: "-M fed 2", done: "cancel 2"},
		{args: "-M beta 2"},
		{args: "-M beta,nosuch 2", stderr: "scancel: error: No cluster 'nosuch' known by database.\n"},
		{args: "-M nosuch 2", exit: 1, stderr: "scancel: error: No cluster 'nosuch' known by database.\nscancel: error: 'nosuch' can't be reached now, or it is an invalid entry for " +
			"--cluster.  Use 'sacctmgr list clusters' to see available clusters.\nscancel: fatal: Could not get cluster information\n"},
		{args: "-i 999999", exit: 1, stderr: "scancel: error: Kill job error on job id 999999: " + invalid},
		{args: "-i 1 2", input: "maybe\n\nYes\n", stdout: strings.Repeat("Cancel job_id=1 name=a partition=main [y/n]? ", 3) + "Cancel job_id=2 name=b partition=main [y/n]? ", done: "cancel 1"},
		{args: "-i 6", input: "n\ny\nn\n", stdout: "Cancel job_id=6_[2-3] name=f partition=main [y/n]? Cancel job_id=6_0 name=f partition=main [y/n]? " +
			"Cancel job_id=6_1 name=f partition=main [y/n]? ", done: "cancel 6 [0]"},
		{args: "1", env: "SCANCEL_INTERACTIVE=true", input: "n\n", stdout: "Cancel job_id=1 name=a partition=main [y/n]? "},
		{args: "1", env: "SCANCEL_VERBOSE=1", stderr: "scancel: error: Unrecognized SCANCEL_VERBOSE value: 1\n", done: "cancel 1"},
		{args: "1", env: "SCANCEL_STATE=bogus", exit: 1, stderr: "Unrecognized SCANCEL_STATE value: bogus\n" + states},
		{args: "-s BOGUS 1", exit: 1, stderr: "Unknown job signal: BOGUS\n"},
		{args: "--state=FOO 1", exit: 1, stderr: "Invalid job state specified: FOO\nValid job states are PENDING, RUNNING, and SUSPENDED\n"},
		{args: "-u nosuchuser", exit: 1, stderr: "scancel: error: Invalid user name: nosuchuser\n"},
		{args: "--bogus", exit: 1, stderr: "scancel: unrecognized option '--bogus'\nTry \"scancel --help\" for more information\n"},
	} {
		t.Run(test.args, func(t *testing.T) {
			d := start(t)
			c := conn.New(d.Socket, 0)
			defer c.Close()
			var env []string
			if test.env != "" {
				env = []string{test.env}
			}
			var stdout, stderr bytes.Buffer
			exit := run(strings.Fields(test.args), env, strings.NewReader(test.input), &stdout, &stderr, c)
			if exit != test.exit || stderr.String() != test.stderr || stdout.String() != test.stdout {
				t.Errorf("exit %d, want %d\nstderr %q\n  want %q\nstdout %q\n  want %q", exit, test.exit, &stderr, test.stderr, &stdout, test.stdout)
			}
			if got := requests(d.Controller.Done()); got != test.done {
				t.Errorf("asked for %q, want %q", got, test.done)
			}
		})
	}
}

// requests writes what the daemon was asked to do, in order of the jobs and tasks: requests of one call are written side by side.
func requests(list []action.Request) string {
	slices.SortFunc(list, func(a, b action.Request) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Tasks.Format(0), b.Tasks.Format(0)))
	})
	var out []string
	for _, r := range list {
		s := string(r.Kind) + " " + r.Job.String()
		if r.Tasks.Len() > 0 {
			s += " " + fmt.Sprint(slices.Collect(r.Tasks.All()))
		}
		if r.Signal.Name != "" {
			s += " " + r.Signal.Name
		}
		if r.Signal.Batch {
			s += " batch"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestOneArgumentWithABlankIsNoJob(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if exit := run([]string{"1172 1173"}, nil, nil, &stdout, &stderr, nil); exit != 1 || stderr.String() != "scancel: error: Invalid job id 1172 1173\n" {
		t.Errorf("exit %d, %q", exit, &stderr)
	}
}

func TestManyJobsAreOneRequest(t *testing.T) {
	d := start(t)
	counter := &counting{c: conn.New(d.Socket, 0)}
	defer counter.c.Close()
	var args []string
	for range 300 {
		args = append(args, "1", "999999")
	}
	var stdout, stderr bytes.Buffer
	if exit := run(args, nil, nil, &stdout, &stderr, counter); exit != 0 || counter.n != 1 {
		t.Errorf("exit %d after %d requests, %q", exit, counter.n, &stderr)
	}
	defer func(n int) { mostRefs = n }(mostRefs)
	mostRefs, counter.n = 2, 0
	if exit := run([]string{"-v", "1", "2", "999999", "5", "-Q"}, nil, nil, &stdout, &stderr, counter); exit != 0 || counter.n != 2 {
		t.Errorf("exit %d after %d requests, %q", exit, counter.n, &stderr)
	}
	if got := requests(d.Controller.Done()); !strings.Contains(got, "cancel 2") || !strings.Contains(got, "cancel 5") {
		t.Errorf("asked for %q", got)
	}
}

type counting struct {
	c *conn.Conn
	n int
}

func (c *counting) Stream(path string) (int, io.ReadCloser, error) {
	c.n++
	return c.c.Stream(path)
}

func (c *counting) Do(method, path string, body []byte) (int, []byte, error) {
	c.n++
	return c.c.Do(method, path, body)
}

func TestOutage(t *testing.T) {
	c := conn.New("/nonexistent", 0)
	var stdout, stderr bytes.Buffer
	exit := Main([]string{"17"}, nil, &stdout, &stderr, c)
	if exit != 1 || stderr.String() != "scancel: error: Kill job error on job id 17: Unable to contact slurm controller (connect failure)\n" {
		t.Errorf("exit %d, %q", exit, &stderr)
	}
}
