package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/driver"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/federation/usage"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// TestListing tells the stories of testdata/listing with a real API on a unix socket: jobs of the caller ($ME) and of nobody at
// two sites, one of which does not answer. Each story has a daemon of its own.
func TestListing(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/listing",
		Setup: func(env *testscript.Env) error {
			failCrashed(t, env)
			d := apitest.Start(t, api.Config{Steps: steps{}})
			fill := fixture{t, d, me}
			fill.sites()
			fill.jobs()
			env.Values["daemon"] = d
			env.Setenv("FSUB_SOCKET", d.Socket)
			env.Setenv("ME", me.Username)
			env.Setenv("MYUID", me.Uid)
			env.Setenv("TZ", noon())
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"storefails": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Value("daemon").(*apitest.Daemon).Store.SetFail(errors.New("disk full"))
			},
		},
	})
}

// noon is a zone where it is about noon: sacct shows the jobs of today, and just after midnight one that ended a moment ago is not among them.
func noon() string {
	hours := time.Now().UTC().Hour() - 12 // Etc's signs are the contrary of everybody else's
	if hours == 0 {
		return "Etc/GMT"
	}
	return fmt.Sprintf("Etc/GMT%+d", hours)
}

// steps are those of the job that runs.
type steps struct{}

func (steps) Steps(jobs []federation.JobID, _ bool) []driver.LiveStep {
	if jobs != nil && !slices.Contains(jobs, 30000000) {
		return nil
	}
	start := time.Now().Add(-65 * time.Second)
	return []driver.LiveStep{
		{Job: 30000000, Step: usage.Step{ID: "0", Name: "train", State: "RUNNING", Nodes: "a[1-2]", NumNodes: 2, NumTasks: 4, Start: start, Layout: "Cyclic",
			Allocated: []usage.Amount{{Type: "cpu", Count: 4}, {Type: "mem", Count: 65536}, {Type: "node", Count: 2}, {Type: "gres", Name: "gpu", Count: 4}}}},
		{Job: 30000000, Step: usage.Step{ID: "12", Name: "watch", State: "RUNNING", Nodes: "a1", NumNodes: 1, NumTasks: 1, Start: start, Layout: "Cyclic",
			Allocated: []usage.Amount{{Type: "cpu", Count: 1}, {Type: "node", Count: 1}}}},
	}
}

type fixture struct {
	t  *testing.T
	d  *apitest.Daemon
	me *user.User
}

func (f fixture) sites() {
	node := func(name, state string, used int, parts ...string) federation.Node {
		return federation.Node{Name: name, State: []string{state}, CPUs: 16, CPUsUsed: used, Mem: 64000, Partitions: parts,
			Sockets: 2, Cores: 8, Threads: 1, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 4, Used: used / 4}}}
	}
	site := func(name federation.SiteName, answering bool, nodes ...federation.Node) *federation.Site {
		return &federation.Site{Name: name, State: federation.FedActive, Answering: answering, Seen: &federation.Observation{
			At: time.Now(), Cluster: string(name), Version: "24.11.5", Nodes: nodes,
			Partitions: []federation.Partition{
				{Name: "main", Default: true, Up: true, State: "UP", MaxTime: sbatch.Unlimited},
				{Name: "short", Up: true, State: "UP", MaxTime: time.Hour},
			}}}
	}
	alpha := site("alpha", true, node("a1", "MIXED", 4, "main", "short"), node("a2", "IDLE", 0, "main", "short"))
	alpha.Seen.Accounts = []federation.Account{{Name: "root", Shares: 1}, {Name: "proj", Parent: "root", Shares: 1}}
	alpha.Seen.Associations = federation.Associations{f.me.Username: {{Account: "proj", Default: true, QOS: []string{"high", "normal"}, Shares: 1}}}
	f.d.Controller.SetSites(alpha,
		site("beta", false, node("b1", "IDLE", 0, "main")))
}

// jobs puts 30000000 running, ...1 pending (of nobody), ...2 failed, ...3 an array with one task running, ...4 pending and held.
func (f fixture) jobs() {
	uid, err := strconv.Atoi(f.me.Uid)
	if err != nil {
		f.t.Fatal(err)
	}
	now := time.Now()
	job := func(state federation.State, reason reasons.Reason, spec sbatch.Spec) federation.Job {
		spec.WorkDir = "/home/x"
		return federation.Job{User: f.me.Username, UID: uint32(uid), GID: uint32(os.Getgid()), State: state, Reason: reason, Spec: &spec, Submit: now, Priority: 1000}
	}
	run := job(federation.Running, reasons.None, sbatch.Spec{Name: "train", GPUsPerNode: "h100:1", TimeLimit: 30 * time.Minute, MemPerNode: 4096, Account: "proj"})
	run.Site, run.Partition, run.Nodes, run.Start = "alpha", "main", "a1", now.Add(-103*time.Second)
	wait := job(federation.Pending, reasons.Backlog, sbatch.Spec{Name: "wait", Partition: "short"})
	wait.User, wait.UID = "nobody", 65534
	fail := job(federation.Failed, reasons.NonZeroExit, sbatch.Spec{Name: "fail"})
	fail.Site, fail.Partition, fail.Nodes, fail.Start, fail.End, fail.ExitStatus = "beta", "main", "b1", now.Add(-10*time.Second), now.Add(-8*time.Second), 3<<8
	array := job(federation.Running, reasons.None, sbatch.Spec{Name: "sweep", Array: "0-3%1"})
	array.Site, array.Partition, array.Nodes, array.Start = "alpha", "main", "a1", now
	held := job(federation.Pending, reasons.HeldUser, sbatch.Spec{Name: "held", Hold: true})
	held.Held = federation.HeldUser
	ids := f.d.Put(f.t, run, wait, fail, array, held)
	err = f.d.Store.Commit(f.t.Context(), &journal.Batch{Tasks: []*federation.Task{
		{Job: ids[3], Index: 0, SiteJobID: 77, State: federation.Running, Nodes: "a1", Start: now}}})
	if err != nil {
		f.t.Fatal(err)
	}
}
