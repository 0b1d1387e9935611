package squeue

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/show"
	"fsub/federation"
	"fsub/federation/api"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/federation/spending"
	"fsub/sbatch"
	"fsub/slurm/wire"
	"fsub/testbed/apitest"
)

type people struct{}

func (people) UserName(uid uint32) (string, error) {
	switch uid {
	case uint32(os.Getuid()):
		return "alice", nil
	case 61002:
		return "bob", nil
	}
	return "", errors.New("no such user")
}

func (people) UserIDs(name string) (uid, gid uint32, err error) {
	switch name {
	case "alice":
		return uint32(os.Getuid()), 1, nil
	case "bob":
		return 61002, 1, nil
	}
	return 0, 0, errors.New("no such user")
}

func (people) GroupName(uint32) (string, error) { return "users", nil }

// start runs an API over two sites: 1 runs at alpha, 2 and 3 wait, 4 has failed, 6 is an array of alpha's of which two tasks run, 20
// is an array that is spread: its tasks 0 and 1 are the jobs 21 at alpha and 22 at beta.
func start(t testing.TB) *apitest.Daemon {
	d := apitest.Start(t, api.Config{Federation: "fed", Users: people{}})
	node := func(name string) []federation.Node {
		return []federation.Node{{Name: name, State: []string{"IDLE"}, Partitions: []string{"main"}}}
	}
	d.Controller.SetSites(
		&federation.Site{Name: "alpha", Seen: &federation.Observation{Nodes: node("a1"), Partitions: []federation.Partition{{Name: "main", Default: true}}}},
		&federation.Site{Name: "beta", Seen: &federation.Observation{Nodes: node("b1"), Partitions: []federation.Partition{{Name: "main"}}}})
	now := time.Now()
	job := func(id federation.JobID, name string, state federation.State, spec sbatch.Spec) federation.Job {
		spec.Name, spec.WorkDir, spec.TimeLimit = name, "/home/alice", time.Hour
		return federation.Job{ID: id, User: "alice", UID: uint32(os.Getuid()), State: state, Reason: reasons.Priority, Partition: "main", Submit: now, Priority: 5, Spec: &spec}
	}
	runs := func(j federation.Job, site federation.SiteName, node string) federation.Job {
		j.Site, j.Nodes, j.Start, j.Reason = site, node, now, reasons.None
		return j
	}
	held := job(3, "held", federation.Pending, sbatch.Spec{})
	held.Held, held.Reason = federation.HeldUser, reasons.HeldUser
	bobs := job(2, "wait", federation.Pending, sbatch.Spec{Begin: now.Add(time.Hour), Reservation: "resv"})
	bobs.User, bobs.UID, bobs.Spec.Partition, bobs.Partition = "bob", 61002, "short", ""
	failed := runs(job(4, "bad", federation.Failed, sbatch.Spec{}), "beta", "b1")
	failed.End = now
	spread := job(20, "spread", federation.Pending, sbatch.Spec{Array: "2-5%2"})
	spread.TreeAccount = "physics"
	spread.Whole = &federation.ArrayWhole{Count: 6, Max: 5, Step: 1, Limit: 2, Spread: true}
	part := func(id federation.JobID, index int) federation.Job {
		j := job(id, "spread", federation.Running, sbatch.Spec{})
		j.Part = &federation.ArrayPart{Array: 20, Index: index, Count: 6, Max: 5, Step: 1, Limit: 2}
		return j
	}
	d.Put(t, runs(job(1, "train", federation.Running, sbatch.Spec{}), "alpha", "a1"), bobs, held, failed,
		runs(job(6, "sweep", federation.Running, sbatch.Spec{Array: "0-5%2"}), "alpha", "a1"), spread,
		runs(part(21, 0), "alpha", "a1"), runs(part(22, 1), "beta", "b1"))
	task := func(i int, raw uint32) *federation.Task {
		return &federation.Task{Job: 6, Index: i, SiteJobID: raw, State: federation.Running, Nodes: "a1", Start: now}
	}
	err := d.Store.Commit(t.Context(), &journal.Batch{Tasks: []*federation.Task{task(0, 77), task(1, 78)}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func call(t testing.TB, d *apitest.Daemon, env []string, args ...string) (exit int, stdout, stderr string) {
	c := conn.New(d.Socket, 0)
	defer c.Close()
	var out, errs bytes.Buffer
	exit = run(args, env, &out, &errs, c, time.Now)
	return exit, out.String(), errs.String()
}

func TestRows(t *testing.T) {
	d := start(t)
	for _, test := range []struct{ args, want string }{
		{"-h -o %i", "6_[2-5%2] 20_[2-5%2] 3 1 6_0 20_0 20_1 6_1 2"}, // 3 is held: priority 0; 6_1 has the highest number
		{"-h -t all -o %i", "4 6_[2-5%2] 20_[2-5%2] 3 1 6_0 20_0 20_1 6_1 2"},
		{"-h -o %i --sort=-i -t R", "20_1 20_0 6_1 6_0 1"},
		{"-h -o %i -S u,-i", "20_[2-5%2] 20_1 20_0 6_[2-5%2] 6_1 6_0 3 1 2"},
		{"-h -r -o %i -n sweep", "6_2 6_3 6_4 6_5 6_0 6_1"},
		{"-h -o %i -j 6_[2-3],6_1", "6_2 6_3 6_1"},
		{"-h -o %i -j 6_77", ""},
		{"-h -o %i -j 20", "20_[2-5%2] 20_0 20_1"},
		{"-h -o %i -j 20_1", "20_1"},
		{"-h -o %i -j 20_4", "20_4"},
		{"-h -o %i -j 22", "20_1"},
		{"-h -o %i|%A|%F|%K -n spread", "20_[2-5%2]|20|20|2-5%2 20_0|21|20|0 20_1|22|20|1"},
		{"-h -r -o %i|%A -n spread", "20_2|20 20_3|20 20_4|20 20_5|20 20_0|21 20_1|22"},
		{"-h --only-job-state -n spread", "20_[2-5] PD 20_0 R 20_1 R"},
		{"-h -s -o %i", "1.batch 20_0.batch 20_1.batch 6_0.batch 6_1.batch"},
		{"-h -s 6_1.batch -o %i", "6_1.batch"},
		{"-h -j 6_1 -o %i", "6_1"},
		{"-h -u bob -o %i|%P", "2|short"},
		{"-h -u 61002 -o %i", "2"},
		{"-h --notme -o %i", "2"},
		{"-h --me --notme -o %i", ""},
		{"-h -R resv -o %i", "2"},
		{"-h -w b1 -o %i", "20_1"},
		{"-h --start -o %i", "2 6_[2-5%2] 20_[2-5%2] 3"},
		{"-h -M beta -o %i", "20_1"},
		{"-M beta,alpha -o %i -n spread", "CLUSTER: beta JOBID 20_1 CLUSTER: alpha JOBID 20_0"},
		{"-M all -o %i -n spread", "CLUSTER: fed JOBID 20_[2-5%2] CLUSTER: alpha JOBID 20_0 CLUSTER: beta JOBID 20_1"},
		{"-M fed -o %i -n spread", "CLUSTER: fed JOBID 20_[2-5%2] 20_0 20_1"},
		{"-h -j 1,1,999 -o %i", "1"},
		{"-h -j -o %i -n train", "1"},
	} {
		exit, stdout, stderr := call(t, d, nil, strings.Fields(test.args)...)
		if got := strings.Join(strings.Fields(stdout), " "); exit != 0 || got != test.want || stderr != "" {
			t.Errorf("%s: exit %d %s\n got %s\nwant %s", test.args, exit, stderr, got, test.want)
		}
	}
}

// --start has the site, the price and the p90 of the start in its own columns, and only in the format that nobody has chosen: programs that ask for columns get what
// Slurm has in them.
func TestStart(t *testing.T) {
	d := start(t)
	at := time.Unix(2_000_000_000, 0)
	d.Controller.SetStarts(decision.Starts{20: {Site: "alpha", At: at, Within: at.Add(time.Hour), Total: 99, Price: 13.145}, 6: {Site: "beta", At: at.Add(time.Minute), Total: 99, Price: 0.004}, 1: {Site: "beta", At: at}})
	d.Controller.SetSpendings(spending.Spendings{1: {SoFar: 12_345_000, AtMost: 100 * federation.Dollar}, 21: {SoFar: 1_000}, 2: {SoFar: 7 * federation.Dollar}})
	env := []string{"SLURM_TIME_FORMAT=%s"}
	for _, test := range []struct{ args, want string }{
		{"--start --me", "             JOBID PARTITION     NAME     USER ST          START_TIME  NODES SCHEDNODES           NODELIST(REASON)\n" +
			"        20_[2-5%2]      main   spread    alice PD          2000000000      1 alpha                (Priority) $13.15, p90 2000003600\n" +
			"         6_[2-5%2]      main    sweep    alice PD          2000000060      1 beta                 (JobArrayTaskLimit) <$0.01\n" +
			"                 3      main     held    alice PD                 N/A      1 (null)               (JobHeldUser)\n"},
		{"-h -t PD -j 6,20 -O JobID:5,SchedSite:7,SchedCost:7,StartTimeP90:12", "6    beta   0.00   N/A         \n20   alpha  13.15  2000003600  \n"},
		{"-h -j 3 -O SchedSite:7,SchedCost:7,StartTimeP90:4", "(null) N/A    N/A \n"},
		{"-h -t R -n train -O SchedSite:7,SchedCost:7,StartTimeP90:4", "(null) 12.35  N/A \n"},
		{"-h -j 2,20 -O JobID:5,SchedCost:7", "20   13.15  \n21   0.00   \n22   N/A    \n2    N/A    \n"},
		{"-h -j 3,20 -t PD -O JobID:5,TreeAccount:9,SchedSite:7", "20   physics  alpha  \n3    (null)   (null) \n"},
		{"-h -j 20 -t PD -O JobID:5,treeaccount:9", "20   physics  \n"},
		{"-h --start -j 20 -o %i|%S|%Y|%R", "20_[2-5%2]|2000000000|(null)|(Priority)\n"},
		{"-h --start -j 20 -O StartTime:11,SchedNodes:7,ReasonList:11", "2000000000 (null) (Priority) \n"},
	} {
		exit, stdout, stderr := call(t, d, env, strings.Fields(test.args)...)
		if exit != 0 || stdout != test.want || stderr != "" {
			t.Errorf("%s: exit %d, stderr %q\n%s\nwant\n%s", test.args, exit, stderr, stdout, test.want)
		}
	}
}

// A site that says on which nodes a job is to run has them beside its name.
func TestSchedPlace(t *testing.T) {
	for want, r := range map[string]row{
		"(null)":       {Job: &wire.Job{}},
		"a[1-2]":       {Job: &wire.Job{ScheduledNodes: "a[1-2]"}},
		"alpha":        {Job: &wire.Job{}, next: v1.Foretold{Site: "alpha"}},
		"alpha/a[1-2]": {Job: &wire.Job{ScheduledNodes: "a[1-2]"}, next: v1.Foretold{Site: "alpha"}},
	} {
		if got := schedPlace(&r); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	d := start(t)
	const try = "\nTry \"squeue --help\" for more information\n"
	states := "squeue: error: Valid job states include: " + show.StateNames() + "\n\n"
	unreachable := "squeue: error: 'nosuch' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to see available clusters.\n" +
		"squeue: fatal: Could not get cluster information\n"
	for _, test := range []struct {
		args           string
		exit           int
		stdout, stderr string
	}{
		{"-j 999", 1, "", "slurm_load_jobs error: Invalid job id specified\n"},
		{"--only-job-state -j 999", 0, "             JOBID ST\n", ""},
		{"-j abc", 1, "", "squeue: error: Invalid job id: abc\n"},
		{"-j 0", 1, "", "squeue: error: Invalid job id: 0\n"},
		{"-i 0", 1, "", "squeue: error: --iterate=0\n\n"},
		{"-i x", 1, "", "squeue: error: --iterate=x\n\n"},
		{"-i", 1, "", "squeue: option requires an argument -- 'i'" + try},
		{"-t pd,r,x", 1, "", "squeue: error: Invalid job state specified: x\n" + states},
		{"-t ALL,pd", 1, "", "squeue: error: Invalid job state specified: ALL\n" + states},
		{"-w nosuch", 1, "", "squeue: error: Invalid node name nosuch\n"},
		{"-w a[1-2", 1, "", "squeue: error: 'a[1-2' invalid entry for --nodelist\n"},
		{"-S A", 1, "", "squeue: error: Invalid sort specification: A\n"},
		{"-S name", 1, "", "squeue: error: Invalid sort specification: a\n"},
		{"-s 17", 1, "", "squeue: error: Invalid job_step id: 17.??\n"},
		{"-o %i -O jobid", 1, "", "squeue: error: -O (--Format) is incompatible with -o (--format)\n"},
		{"-O jobid -o %i", 1, "", "squeue: error: -o (--format) is incompatible with -O (--Format)\n"},
		{"-s -h -o %i%t -n train", 0, "1.batch%t\n", "squeue: error: Invalid job step format specification: t\n"},
		{"-M nosuch", 1, "", "squeue: error: No cluster 'nosuch' known by database.\n" + unreachable},
		{"-M nosuch,beta -h -o %i", 0, "20_1\n", "squeue: error: No cluster 'nosuch' known by database.\n"},
		{"-h -u nosuch,bob -o %i", 0, "2\n", "squeue: error: Invalid user: nosuch\n\n"},
		{"--json=v0.0.1", 1, "", "squeue: error: application/json output not supported by data_parser/v0.0.1; it is by v0.0.42, v0.0.43, v0.0.44, v0.0.45\n"},
		{"--running-over 1", 1, "", "squeue: unrecognized option '--running-over'" + try},
	} {
		exit, stdout, stderr := call(t, d, nil, strings.Fields(test.args)...)
		if exit != test.exit || stdout != test.stdout || stderr != test.stderr {
			t.Errorf("%s: exit %d, want %d\nstdout %q\n  want %q\nstderr %q\n  want %q", test.args, exit, test.exit, stdout, test.stdout, stderr, test.stderr)
		}
	}
}

func TestEnvironment(t *testing.T) {
	d := start(t)
	for _, test := range []struct{ env, args, want string }{
		{"SQUEUE_FORMAT=%i", "-h -n train", "1\n"},
		{"SQUEUE_FORMAT=%i SQUEUE_FORMAT2=state:8", "-h -n train", "RUNNING \n"},
		{"SQUEUE_FORMAT2=state", "-h -n train -o %i", "1\n"},
		{"SQUEUE_FORMAT=%i", "-h -n train -O state:8", "RUNNING \n"},
		{"SQUEUE_FORMAT=%i SQUEUE_SORT=-i SQUEUE_STATES=R SQUEUE_NAMES=sweep", "-h", "6_1\n6_0\n"},
		{"SQUEUE_FORMAT=%i SQUEUE_USERS=bob", "-h", "2\n"},
		{"SQUEUE_FORMAT=%i SQUEUE_USERS=bob", "-h -u alice -n train", "1\n"},
		{"SQUEUE_FORMAT=%i SQUEUE_PARTITION=short", "-h", "2\n"},
		{"SQUEUE_FORMAT=%i SQUEUE_ARRAY=1 SQUEUE_STATES=PD SQUEUE_NAMES=sweep", "-h", "6_2\n6_3\n6_4\n6_5\n"},
		{"SQUEUE_FORMAT=%i SLURM_CLUSTERS=beta", "", "CLUSTER: beta\nJOBID\n20_1\n"},
		{"SQUEUE_FORMAT=%i SQUEUE_LICENSES=matlab", "-h", ""},
	} {
		exit, stdout, stderr := call(t, d, strings.Fields(test.env), strings.Fields(test.args)...)
		if exit != 0 || stdout != test.want || stderr != "" {
			t.Errorf("%s squeue %s: exit %d\n got %q %s\nwant %q", test.env, test.args, exit, stdout, stderr, test.want)
		}
	}
}

// The names and headers of -O are those of a real squeue.
func TestFieldNames(t *testing.T) {
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("FSUB_ORACLE is not set: there is no list of a real squeue's fields to compare with")
	}
	b, err := os.ReadFile(filepath.Join(dir, "cli_golden", "fields24.tsv"))
	if err != nil {
		t.Skip(err)
	}
	names, n := (&command{}).fields().names, 0
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) < 3 || f[0] != "squeue" {
			continue
		}
		n++
		if got := names[strings.ToLower(f[1])]; got == nil || got.Header != f[2] {
			t.Errorf("-O %s: %+v, want the header %s", f[1], got, f[2])
		}
	}
	if n < 100 {
		t.Errorf("only %d fields in the list", n)
	}
}

func TestListedFieldsExist(t *testing.T) {
	fields := (&command{}).fields()
	for _, l := range listedLetters {
		if fields.letters[byte(l)] == nil {
			t.Errorf("no field %%%c", l)
		}
	}
	for _, name := range listedNames {
		if fields.names[strings.ToLower(name)] == nil {
			t.Errorf("no field %s", name)
		}
	}
}

// The fields that Slurm does not have are in the list of names, too.
func TestOurFieldsAreListed(t *testing.T) {
	var list strings.Builder
	printFields(&list, false, false)
	for _, name := range []string{"SchedSite", "SchedCost", "StartTimeP90", "TreeAccount"} {
		if !slices.Contains(strings.Fields(list.String()), name) {
			t.Errorf("%s is not in the list of names", name)
		}
	}
}

func TestOutageLooksLikeSlurms(t *testing.T) {
	d := start(t)
	d.Store.SetFail(errors.New("disk full"))
	for _, args := range []string{"--me", "--json", "-j 1", "-M beta"} {
		exit, stdout, stderr := call(t, d, nil, strings.Fields(args)...)
		if exit != 1 || stdout != "" && args != "-M beta" || stderr != "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n" {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", args, exit, stdout, stderr)
		}
	}
}

// fewWrites fails after some writes.
type fewWrites struct {
	out  bytes.Buffer
	left int
}

func (w *fewWrites) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return w.out.Write(p)
}

// Each listing is written out before the next is waited for; it ends when nobody reads any more.
func TestIterate(t *testing.T) {
	d := start(t)
	c := conn.New(d.Socket, 0)
	defer c.Close()
	out := fewWrites{left: 3}
	at := func() time.Time { return time.Date(2026, 11, 20, 17, 33, 8, 0, time.Local) }
	exit := run(strings.Fields("-i 1 -o %i -n train"), nil, &out, io.Discard, c, at)
	const once = "Fri Nov 20 17:33:08 2026\nJOBID\n1\n"
	if exit != 1 || out.out.String() != once+"\n"+once {
		t.Errorf("exit %d, %q", exit, &out.out)
	}
}

func TestLocalCallsNeedNoDaemon(t *testing.T) {
	for args, want := range map[string]string{"-V": "slurm 24.11.5\n", "--version": "slurm 24.11.5\n", "--usage": usage, "--help": optionSet.Help(),
		"--helpstate": strings.ReplaceAll(show.StateNames(), ",", "\n") + "\n"} {
		var stdout, stderr bytes.Buffer
		exit := run([]string{args}, nil, &stdout, &stderr, nil, time.Now)
		if exit != 0 || stdout.String() != want || stderr.Len() != 0 {
			t.Errorf("%s: exit %d, %q, %q", args, exit, &stdout, &stderr)
		}
	}
}

func TestDocuments(t *testing.T) {
	d := start(t)
	for args, want := range map[string]string{
		"--json -M beta -n spread": "CLUSTER: beta 22", "--json -j 20,1": "1 20 21 22", "--json -u bob": "2", "--json -j 6_1": "78 6", "--json -t CD": "",
		"--json -j 4": "", "--json -t all -j 4": "4", "--json -j 1 -u bob": "", "--json -t R -n train": "1", "--yaml -j 22": "22",
	} {
		exit, stdout, stderr := call(t, d, nil, strings.Fields(args)...)
		var got []string
		for line := range strings.Lines(stdout) {
			if id, ok := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(strings.NewReplacer(`"`, "", ",", "", "!!int ", "").Replace(line)), "!!str "), "job_id: "); ok {
				got = append(got, id)
			} else if strings.HasPrefix(line, "CLUSTER") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if exit != 0 || stderr != "" || strings.Join(got, " ") != want {
			t.Errorf("%s: exit %d, jobs %q, want %q; %s", args, exit, got, want, stderr)
		}
	}
	if exit, stdout, stderr := call(t, d, nil, "--json", "-j", "999"); exit != 1 || stdout != "" || stderr != "slurm_load_jobs error: Invalid job id specified\n" {
		t.Errorf("unknown job: exit %d, %q, %q", exit, stdout, stderr)
	}
}
