package scontrol

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

func TestInOrder(t *testing.T) {
	for in, want := range map[string]string{
		"n001,n002,n003": "n[001-003]",
		"b2,b1,a10,a9":   "b[2,1],a[10,9]",
		"b,a,c,a":        "b,a,c,a",
		"a1,a2,a3,b":     "a[1-3],b",
		"n9,n10,n11":     "n[9-11]",
		"n09,n10":        "n[09-10]",
		"n1":             "n1",
		"a1,b,a2":        "a1,b,a2",
		"a1,a1":          "a[1,1]",
	} {
		if got := inOrder(strings.Split(in, ",")); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestInOrderRoundTrip: what is compressed expands to the same names in the same order.
func TestInOrderRoundTrip(t *testing.T) {
	name := rapid.StringMatching(`[a-c]{1,2}(0{0,2}[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(name, 1, 30).Draw(t, "names")
		list := inOrder(names)
		got, err := hostlist.Expand(list)
		if err != nil || !slices.Equal(got, names) {
			t.Fatalf("%v -> %s -> %v %v", names, list, got, err)
		}
	})
}

func TestByName(t *testing.T) {
	names := strings.Fields("b2 a10 a9 b1 a a09 c")
	slices.SortFunc(names, byName)
	if got := strings.Join(names, " "); got != "a a9 a09 a10 b1 b2 c" {
		t.Error(got)
	}
}

func TestSiteArgs(t *testing.T) {
	env := []string{"SLURM_JOB_ID=77", "SLURM_ARRAY_JOB_ID=70", "SLURM_ARRAY_TASK_ID=3"}
	for _, c := range []struct {
		args      string
		reachable bool
		want      string
	}{
		{"requeue 77", true, "requeue 77"},
		{"requeue 70_3", true, "requeue 77"},
		{"requeuehold 70_3", false, "requeuehold 77"},
		{"requeue 70_4", true, ""},
		{"requeue 70_4", false, "requeue 70_4"},
		{"show job 77", true, ""},
		{"-o show job 77 -d", false, "-o show job 77 -d"},
		{"show hostnames a[1-2]", false, ""},
		{"show hostlist a1,a2", false, ""},
		{"--version", false, ""},
		{"version", false, ""},
	} {
		got := siteArgs(strings.Fields(c.args), env, func() bool { return c.reachable })
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s (daemon reachable: %v): %q, want %q", c.args, c.reachable, got, c.want)
		}
	}
}

// TestSiteArgsOfRestarted: a job that the federation has submitted again counts its restarts there, not at the site.
func TestSiteArgsOfRestarted(t *testing.T) {
	env := []string{"SLURM_JOB_ID=77", "FSUB_RESTARTS=1"}
	if got := siteArgs([]string{"requeue", "77"}, env, func() bool { return true }); got != nil {
		t.Errorf("%q, want our own requeue", got)
	}
}

// TestSiteArgsOfLastTask: a real array's last task has the array's number, which names the whole array.
func TestSiteArgsOfLastTask(t *testing.T) {
	env := []string{"SLURM_JOB_ID=70", "SLURM_ARRAY_JOB_ID=70", "SLURM_ARRAY_TASK_ID=3"}
	for args, want := range map[string]string{"requeue 70_3": "requeue 70_3", "requeue 70": "requeue 70", "requeue 70_2": ""} {
		got := siteArgs(strings.Fields(args), env, func() bool { return true })
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

func TestIncomplete(t *testing.T) {
	task := func(id, index int64, state ...string) wire.Job {
		return wire.Job{JobID: id, ArrayJobID: wire.Num(70), ArrayTaskID: wire.Num(index), State: state}
	}
	waiting := wire.Job{JobID: 70, ArrayJobID: wire.Num(70), ArrayTaskString: "5-9", State: wire.Strings{"PENDING"}}
	jobs := []wire.Job{waiting, task(71, 1, "RUNNING"), task(72, 2, "COMPLETED"), task(73, 0, "RUNNING", "COMPLETING"),
		{JobID: 80, State: wire.Strings{"FAILED"}}, {JobID: 81, State: wire.Strings{"RUNNING"}}}
	for _, c := range []struct {
		ref   string
		known bool
		want  []int
	}{
		{"70", true, []int{1, 0}}, {"70_1", true, []int{1}}, {"70_2", true, nil}, {"70_5", true, nil},
		{"80", true, nil}, {"81", true, []int{-1}}, {"82", false, nil}, {"71", true, []int{-1}},
	} {
		r, ok := parseRef(c.ref)
		known, running := partsOf(ref{JobRef: r, ok: ok}, jobs)
		if known != c.known || !slices.Equal(running, c.want) {
			t.Errorf("%s: known %v, running %v", c.ref, known, running)
		}
	}
}

// TestCloudNode is the record of a node that is started when a job needs it, as scontrol 24.11 writes it of a node of State=CLOUD.
func TestCloudNode(t *testing.T) {
	var out bytes.Buffer
	p := &printer{stdout: &out}
	p.printNode(&wire.Node{
		Name: "c1", Hostname: "c1", Address: "c1", Port: 6818, Cores: 1, Sockets: 4, Boards: 1, Threads: 1, CPUs: 4, EffectiveCPUs: 4, AllocCPUs: 1,
		RealMemory: 8000, AllocMemory: 1000, Weight: 1, Features: wire.Strings{"g6", "cloud"}, ActiveFeatures: wire.Strings{"g6", "cloud"}, GRES: "gpu:l4:1",
		State: wire.Strings{"MIXED", "CLOUD", "NOT_RESPONDING", "POWERING_UP"}, Partitions: wire.Strings{"main", "short", "cloud"},
		TRES: "cpu=4,mem=8000M,billing=4,gres/gpu=1", TRESUsed: "cpu=1,mem=1000M",
		BootTime: wire.Num(0), LastBusy: wire.Num(0), SlurmdStartTime: wire.Num(0), ResumeAfter: wire.Num(0),
	})
	want := `NodeName=c1 CoresPerSocket=1 
   CPUAlloc=1 CPUEfctv=4 CPUTot=4 CPULoad=0.00
   AvailableFeatures=g6,cloud
   ActiveFeatures=g6,cloud
   Gres=gpu:l4:1
   NodeAddr=c1 NodeHostName=c1 
   RealMemory=8000 AllocMem=1000 FreeMem=N/A Sockets=4 Boards=1
   State=MIXED+CLOUD+NOT_RESPONDING+POWERING_UP ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=main,short,cloud 
   BootTime=None SlurmdStartTime=None
   LastBusyTime=Unknown ResumeAfterTime=None
   CfgTRES=cpu=4,mem=8000M,billing=4,gres/gpu=1
   AllocTRES=cpu=1,mem=1000M
   CurrentWatts=0 AveWatts=0
   

`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &out, want)
	}
}
