package simsite

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/slurm/wire"
)

const second1 = time.Second

var slurmUser = Caller{Name: "slurm", Privileged: true}

// alpha is a site like the bed's: 4 nodes with 16 CPUs and 4 GPUs, two leaf switches, partitions main and short.
func alpha() Config {
	return Config{
		Name: "alpha", Seed: 1, EnforceAssociations: true,
		Nodes:    []NodeConfig{{Names: "a[1-4]", CPUs: 16, Mem: 64000, GRES: gpus("h100", 4), Features: []string{"h100", "ib"}}},
		Switches: []SwitchConfig{{Name: "leaf1", Nodes: "a[1-2]"}, {Name: "leaf2", Nodes: "a[3-4]"}, {Name: "spine", Switches: "leaf[1-2]"}},
		Partitions: []PartitionConfig{
			{Name: "main", Default: true, DefaultTime: time.Hour, MaxTime: 7 * 24 * time.Hour, DefMemPerCPU: 1000},
			{Name: "short", MaxTime: time.Hour, DefaultTime: 10 * time.Minute, DefMemPerCPU: 1000},
		},
		Users: []UserConfig{{Name: "alice", UID: 7001, Accounts: []string{"proj1"}}, {Name: "bob", UID: 7002, Accounts: []string{"proj2", "proj1"}},
			{Name: "eve", UID: 7003}, {Name: "opal", UID: 7004, Admin: "Operator"}},
	}
}

func gpus(typ string, n int) []federation.GRES {
	return []federation.GRES{{Name: "gpu", Type: typ, Total: n}}
}

func newSite(t testing.TB, change ...func(*Config)) *Site {
	t.Helper()
	c := alpha()
	for _, f := range change {
		f(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// desc is a small job of alice's that runs for d.
func desc(d time.Duration, change ...func(*wire.JobDesc)) *wire.JobDesc {
	j := &wire.JobDesc{Name: "t", UserID: "7001", GroupID: "7001", WorkDir: "/tmp", Environment: wire.Environment{"PATH=/bin"},
		Script: "#!/bin/sh\n#SIM run=" + d.String() + "\n"}
	for _, f := range change {
		f(j)
	}
	return j
}

func pinned(id int64, key string) func(*wire.JobDesc) {
	return func(d *wire.JobDesc) { d.JobID, d.AdminComment = id, key }
}

func (s *Site) mustSubmit(t testing.TB, d *wire.JobDesc) uint32 {
	t.Helper()
	id, _, err := s.Submit(slurmUser, d)
	if err != nil {
		t.Fatalf("submit: %v", err)
	}
	return id
}

func (s *Site) wantState(t testing.TB, id uint32, want federation.State) {
	t.Helper()
	if j, ok := s.Job(id); !ok || j.State != want {
		t.Errorf("job %d is %q (known: %v), want %s", id, j.State, ok, want)
	}
}

func (s *Site) wantRuns(t testing.TB, id uint32, want ...Outcome) {
	t.Helper()
	runs := s.Runs(id)
	if len(runs) != len(want) {
		t.Fatalf("job %d ran %d times, want %d: %+v", id, len(runs), len(want), runs)
	}
	for i, r := range runs {
		if r.Outcome != want[i] {
			t.Errorf("run %d of job %d: %q, want %q", i, id, r.Outcome, want[i])
		}
	}
}

func TestJobRunsToItsEnd(t *testing.T) {
	s := newSite(t)
	id := s.mustSubmit(t, desc(30*second1))
	s.wantState(t, id, federation.Running)
	s.Advance(29 * second1)
	s.wantState(t, id, federation.Running)
	s.Advance(second1)
	s.wantState(t, id, federation.Completed)
	s.wantRuns(t, id, RunCompleted)
	r := s.Records(id)
	if len(r) != 1 || r[0].State != federation.Completed || r[0].End.Sub(r[0].Start) != 30*second1 || r[0].Account != "proj1" {
		t.Errorf("accounting has %+v", r)
	}
	s.Advance(299 * second1)
	s.wantState(t, id, federation.Completed)
	s.Advance(2 * second1)
	if _, ok := s.Job(id); ok {
		t.Error("the controller still holds the job after MinJobAge")
	}
	s.wantRuns(t, id, RunCompleted)
}

func TestExitCodes(t *testing.T) {
	for script, want := range map[string]struct {
		state federation.State
		exit  int32
	}{
		"#!/bin/sh\n#SIM run=1s exit=3\n": {federation.Failed, 3 << 8},
		"#!/bin/sh\nsleep 5; exit 0\n":    {federation.Completed, 0},
		"#!/bin/sh\nfalse\n":              {federation.Failed, 1 << 8},
		"#!/bin/sh\nkill -9 $$\n":         {federation.Failed, 9},
		"sleep 5\n":                       {federation.Failed, 8 << 8},
	} {
		s := newSite(t)
		id := s.mustSubmit(t, desc(0, func(d *wire.JobDesc) { d.Script = script }))
		s.Advance(time.Minute)
		if j, _ := s.Job(id); j.State != want.state || j.Exit != want.exit {
			t.Errorf("%q ended %s %#x, want %s %#x", script, j.State, j.Exit, want.state, want.exit)
		}
	}
}

func TestTimeLimit(t *testing.T) {
	s := newSite(t)
	id := s.mustSubmit(t, desc(2*time.Hour, func(d *wire.JobDesc) { d.TimeLimit = wire.Num(1) }))
	s.Advance(time.Minute)
	s.wantState(t, id, federation.Timeout)
	s.wantRuns(t, id, RunTimeout)
}

func TestFIFOAndFirstFit(t *testing.T) {
	s := newSite(t)
	whole := func(nodes string) func(*wire.JobDesc) {
		return func(d *wire.JobDesc) { d.Nodes, d.TRESPerNode = nodes, "gres/gpu:h100:4" }
	}
	a := s.mustSubmit(t, desc(10*second1, whole("3")))
	b := s.mustSubmit(t, desc(10*second1, whole("2"))) // does not fit beside a
	c := s.mustSubmit(t, desc(10*second1, whole("1"))) // does
	d := s.mustSubmit(t, desc(10*second1, whole("2")))
	s.wantState(t, a, federation.Running)
	s.wantState(t, b, federation.Pending)
	s.wantState(t, c, federation.Running)
	if j, _ := s.Job(b); j.Reason != reasons.Resources {
		t.Errorf("first waiting job: reason %s", j.Reason)
	}
	if j, _ := s.Job(d); j.Reason != reasons.Priority {
		t.Errorf("second waiting job: reason %s", j.Reason)
	}
	s.Advance(10 * second1)
	s.wantState(t, b, federation.Running)
	s.wantState(t, d, federation.Running)
	if j, _ := s.Job(b); j.Nodes != "a[1-2]" {
		t.Errorf("b runs on %s", j.Nodes)
	}
}

func TestResources(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*wire.JobDesc)
		nodes  string // "" where it is refused
	}{
		"gpus of the job":   {func(d *wire.JobDesc) { d.TRESPerJob = "gres/gpu:6" }, "a[1-2]"},
		"gpus per task":     {func(d *wire.JobDesc) { d.Tasks, d.TRESPerTask = 5, "gres/gpu:h100:1" }, "a[1-2]"},
		"memory per CPU":    {func(d *wire.JobDesc) { d.Tasks, d.MemoryPerCPU = 4, wire.Num(32000) }, "a[1-2]"},
		"all memory":        {func(d *wire.JobDesc) { d.MemoryPerNode = wire.Num(0) }, "a1"},
		"too much memory":   {func(d *wire.JobDesc) { d.MemoryPerNode = wire.Num(64001) }, ""},
		"too many nodes":    {func(d *wire.JobDesc) { d.Nodes, d.Tasks = "5", 5 }, ""},
		"no such type":      {func(d *wire.JobDesc) { d.TRESPerNode = "gres/gpu:b200:1" }, ""},
		"nodelist":          {func(d *wire.JobDesc) { d.RequiredNodes = wire.Strings{"a3"} }, "a3"},
		"exclude":           {func(d *wire.JobDesc) { d.ExcludedNodes = wire.Strings{"a1", "a2"} }, "a3"},
		"one switch":        {func(d *wire.JobDesc) { d.Nodes, d.Tasks, d.RequiredSwitches = "2", 2, wire.Num(1) }, "a[1-2]"},
		"feature":           {func(d *wire.JobDesc) { d.Constraints = "ib&h100" }, "a1"},
		"tasks per node":    {func(d *wire.JobDesc) { d.Tasks, d.TasksPerNode = 4, 1 }, "a[1-4]"},
		"exclusive":         {func(d *wire.JobDesc) { d.Shared = wire.Strings{"none"} }, "a1"},
		"cpus":              {func(d *wire.JobDesc) { d.Tasks, d.CPUsPerTask = 3, 8 }, "a[1-2]"},
		"too many cpus":     {func(d *wire.JobDesc) { d.CPUsPerTask = 17 }, ""},
		"spread of minimum": {func(d *wire.JobDesc) { d.Nodes, d.Tasks = "2-4", 2 }, "a[1-2]"},
	} {
		s := newSite(t)
		id, _, err := s.Submit(slurmUser, desc(second1, c.change))
		if j, _ := s.Job(id); j.Nodes != c.nodes || (err != nil) != (c.nodes == "") {
			t.Errorf("%s: runs on %q, error %v; want %q", name, j.Nodes, err, c.nodes)
		}
	}
}

func TestNoOvercommit(t *testing.T) {
	s := newSite(t)
	for range 40 {
		s.mustSubmit(t, desc(5*second1, func(d *wire.JobDesc) { d.TRESPerNode, d.CPUsPerTask = "gres/gpu:1", 3 }))
	}
	if p, r := s.Counts(); r != 16 || p != 24 {
		t.Fatalf("%d running and %d pending, want 16 (GPUs) and 24", r, p)
	}
	s.Advance(15 * second1)
	if p, r := s.Counts(); p != 0 || r != 0 {
		t.Errorf("%d running and %d pending at the end", r, p)
	}
	for _, n := range s.nodes {
		if n.usedCPUs != 0 || n.usedMem != 0 || n.gres[0].Used != 0 || n.jobs != 0 {
			t.Errorf("node %s is not free: %+v", n.name, n)
		}
	}
}

func TestSwitchesGivenUp(t *testing.T) {
	s := newSite(t)
	s.mustSubmit(t, desc(time.Hour, func(d *wire.JobDesc) { d.RequiredNodes, d.TRESPerNode = wire.Strings{"a1"}, "gres/gpu:4" }))
	s.mustSubmit(t, desc(time.Hour, func(d *wire.JobDesc) { d.RequiredNodes, d.TRESPerNode = wire.Strings{"a3"}, "gres/gpu:4" }))
	id := s.mustSubmit(t, desc(second1, func(d *wire.JobDesc) {
		d.Nodes, d.Tasks, d.TRESPerNode, d.RequiredSwitches, d.WaitForSwitch = "2", 2, "gres/gpu:4", wire.Num(1), 60
	}))
	s.Advance(59 * second1)
	s.wantState(t, id, federation.Pending)
	s.Advance(2 * second1)
	if r := s.Runs(id); len(r) != 1 || r[0].Nodes != "a[2,4]" {
		t.Errorf("runs: %+v", r)
	}
}

func TestBeginHoldRelease(t *testing.T) {
	s := newSite(t)
	at := s.Now().Add(time.Minute)
	b := s.mustSubmit(t, desc(second1, func(d *wire.JobDesc) { d.BeginTime = wire.Num(at.Unix()) }))
	yes := true
	h := s.mustSubmit(t, desc(second1, func(d *wire.JobDesc) { d.Hold = &yes }))
	s.Advance(59 * second1)
	if j, _ := s.Job(b); j.Reason != reasons.BeginTime {
		t.Errorf("reason %s", j.Reason)
	}
	if j, _ := s.Job(h); j.Reason != reasons.HeldUser {
		t.Errorf("reason %s", j.Reason)
	}
	s.Advance(second1)
	s.wantState(t, b, federation.Running)
	if err := s.Hold(Caller{Name: "bob"}, h, false); err != errDenied {
		t.Errorf("bob releases alice's job: %v", err)
	}
	if err := s.Hold(Caller{Name: "alice"}, h, false); err != nil {
		t.Error(err)
	}
	s.wantState(t, h, federation.Pending)
	s.Advance(updateDelay)
	s.wantState(t, h, federation.Running)
	if err := s.Hold(Caller{Name: "alice"}, h, true); err != errNotPending {
		t.Errorf("hold of a running job: %v", err)
	}
}

func TestCancelAndSignal(t *testing.T) {
	s := newSite(t)
	run := s.mustSubmit(t, desc(time.Hour))
	alice, bob := Caller{Name: "alice"}, Caller{Name: "bob"}
	if err := s.Kill(bob, itoa(run), federation.Signal{}); err != errDenied {
		t.Errorf("bob cancels alice's job: %v", err)
	}
	if err := s.Kill(Caller{Name: "opal"}, itoa(run), federation.Signal{Name: "CONT"}); err != nil {
		t.Errorf("an operator signals: %v", err)
	}
	if err := s.Kill(alice, itoa(run), federation.Signal{}); err != nil {
		t.Error(err)
	}
	s.wantState(t, run, federation.Cancelled)
	s.wantRuns(t, run, RunCancelled)
	if err := s.Kill(alice, itoa(run), federation.Signal{}); err != errAlreadyDone {
		t.Errorf("second cancel: %v", err)
	}
	trap := s.mustSubmit(t, desc(0, func(d *wire.JobDesc) {
		d.Script = "#!/bin/sh\ntrap 'exit 7' USR1\ntrap 'echo x' USR2\nsleep 600 & wait\n"
	}))
	for _, sig := range []string{"USR2", "10"} {
		s.wantState(t, trap, federation.Running)
		if err := s.Kill(alice, itoa(trap), federation.Signal{Name: sig, Batch: true}); err != nil {
			t.Error(err)
		}
	}
	if j, _ := s.Job(trap); j.State != federation.Failed || j.Exit != 7<<8 {
		t.Errorf("after the trap: %s %#x", j.State, j.Exit)
	}
	if got := s.Signals(trap); len(got) != 2 || got[0].Name != "USR2" {
		t.Errorf("signals: %v", got)
	}
}

func TestNodeFailure(t *testing.T) {
	s := newSite(t)
	no := false
	a := s.mustSubmit(t, desc(10*second1))
	b := s.mustSubmit(t, desc(10*second1, func(d *wire.JobDesc) { d.Requeue = &no }))
	if err := s.NodeDown("a1", "power"); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, b, federation.NodeFail)
	if j, _ := s.Job(a); j.State != federation.Pending || j.Restarts != 1 {
		t.Errorf("requeued job: %+v", j)
	}
	s.Advance(150 * second1)
	s.wantState(t, a, federation.Completed)
	s.wantRuns(t, a, RunNodeFail, RunCompleted)
	if r := s.Runs(a); r[1].Nodes != "a2" {
		t.Errorf("ran on %s", r[1].Nodes)
	}
	if r := s.Records(a); len(r) != 2 || !r[0].Requeued || r[0].State != federation.NodeFail || r[1].State != federation.Completed {
		t.Errorf("accounting: %+v", r)
	}
	s.NodeDrain("a2", "test")
	s.NodeUp("a1")
	c := s.mustSubmit(t, desc(second1))
	if j, _ := s.Job(c); j.Nodes != "a1" {
		t.Errorf("ran on %s", j.Nodes)
	}
}

func itoa(id uint32) string { return federation.JobID(id).String() }
