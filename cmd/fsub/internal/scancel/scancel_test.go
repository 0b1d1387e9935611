package scancel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"fsub/cmd/fsub/internal/conn"
	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/apitest"
	"fsub/sbatch"
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
	put := func(id federation.JobID, user, name string, state federation.State, array string) {
		uid := uint32(os.Getuid())
		if user != "me" {
			uid = 61002
		}
		d.Put(t, federation.Job{ID: id, User: user, UID: uid, State: state, Partition: "main",
			Spec: sbatch.Spec{Name: name, WorkDir: "/", Array: array}})
	}
	put(1, "me", "a", federation.Pending, "")
	put(2, "me", "b", federation.Running, "")
	put(3, "me", "c", federation.Completed, "")
	put(4, "bob", "d", federation.Pending, "")
	put(5, "me", "e", federation.Pending, "0-5")
	return d
}

func TestScancel(t *testing.T) {
	const invalid, done = "Invalid job id specified\n", "Job/step already completing or completed\n"
	for _, test := range []struct {
		args   string
		env    string
		exit   int
		stderr string
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
		{args: "2 -s SIGUSR1", done: "signal 2 USR1"},
		{args: "-b -s 10 2", done: "signal 2 10 batch"},
		{args: "-s KILL 2", done: "cancel 2"},
		{args: "-s USR1 1", exit: 2020 & 0xff, stderr: "scancel: error: Kill job error on job id 1: Job can not be altered now, try again later\n"},
		{args: "--name nosuch"},
		{args: "--jobname b", done: "cancel 2"},
		{args: "-n a,b", done: "cancel 1, cancel 2"},
		{args: "-n a", env: "SCANCEL_STATE=RUNNING"},
		{args: "-u bob -t pd", done: "cancel 4"},
		{args: "--me -t pending -v", stderr: "scancel: Terminating job 1\nscancel: Terminating job 5_[0-5]\n", done: "cancel 1, cancel 5 [0 1 2 3 4 5]"},
		{args: "-p nosuch"},
		{args: "-p main -n b", done: "cancel 2"},
		{args: "", exit: 1, stderr: "scancel: error: No job identification provided\n"},
		{args: "abc", exit: 1, stderr: "scancel: error: Invalid job id abc\n"},
		{args: "1.99", exit: 225, stderr: "scancel: error: Kill job error on job step id 1: Invalid job id specified\n"},
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
			exit := Main(strings.Fields(test.args), env, &stdout, &stderr, c)
			if exit != test.exit || stderr.String() != test.stderr || stdout.Len() > 0 {
				t.Errorf("exit %d, want %d\nstderr %q\n  want %q\nstdout %q", exit, test.exit, &stderr, test.stderr, &stdout)
			}
			if got := requests(d.Controller.Done()); got != test.done {
				t.Errorf("asked for %q, want %q", got, test.done)
			}
		})
	}
}

// requests writes what the daemon was asked to do, in order of the jobs: requests of one call are written side by side.
func requests(list []federation.Request) string {
	byJob := map[federation.JobID]string{}
	var ids []federation.JobID
	for _, r := range list {
		s := string(r.Kind) + " " + r.Job.String()
		if len(r.Tasks) > 0 {
			s += " " + fmt.Sprint(r.Tasks)
		}
		if r.Signal.Name != "" {
			s += " " + r.Signal.Name
		}
		if r.Signal.Batch {
			s += " batch"
		}
		byJob[r.Job] = s
		ids = append(ids, r.Job)
	}
	slices.Sort(ids)
	var out []string
	for _, id := range ids {
		out = append(out, byJob[id])
	}
	return strings.Join(out, ", ")
}

func TestOneArgumentWithABlankIsNoJob(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if exit := run([]string{"1172 1173"}, nil, &stdout, &stderr, nil); exit != 1 || stderr.String() != "scancel: error: Invalid job id 1172 1173\n" {
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
	if exit := run(args, nil, &stdout, &stderr, counter); exit != 0 || counter.n != 1 {
		t.Errorf("exit %d after %d requests, %q", exit, counter.n, &stderr)
	}
}

type counting struct {
	c *conn.Conn
	n int
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
