package api_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
	"fsub/federation/journal"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// Users that no machine has: the tests bring their own user database.
const (
	alice = 61001
	bob   = 61002
	olga  = 61003 // an operator
	ghost = 61004 // not in the database
)

type users map[uint32]string

var testUsers = users{0: "root", alice: "alice", bob: "bob", olga: "olga"}

func (u users) UserName(uid uint32) (string, error) {
	if n, ok := u[uid]; ok {
		return n, nil
	}
	return "", errors.New("unknown user")
}

func (u users) UserIDs(name string) (uint32, uint32, error) {
	for uid, n := range u {
		if n == name || fmt.Sprint(uid) == name {
			return uid, uid, nil
		}
	}
	return 0, 0, errors.New("unknown user")
}

func (u users) GroupName(gid uint32) (string, error) { return u.UserName(gid) }

func start(t testing.TB) *apitest.Daemon { return startWith(t, api.Config{}) }

func startWith(t testing.TB, c api.Config) *apitest.Daemon {
	t.Helper()
	u := users{uint32(os.Getuid()): "root"}
	for uid, name := range testUsers {
		u[uid] = name
	}
	c.Users, c.Operators = u, []string{"olga"}
	return apitest.Start(t, c)
}

func job(id federation.JobID, uid uint32, state federation.State) federation.Job {
	return federation.Job{ID: id, User: testUsers[uid], UID: uid, GID: uid, State: state, Submit: time.Now(),
		Spec: &sbatch.Spec{Name: "j", WorkDir: "/home", Partition: "main"}}
}

func hello(name string) v1.SubmitRequest {
	return v1.SubmitRequest{
		Spec:    sbatch.Spec{Name: name, WorkDir: "/home/alice"},
		Payload: sbatch.Payload{Script: "#!/bin/sh\necho hello\n", Environment: []string{"A=b"}},
	}
}

func TestSubmitIsTheCallersJob(t *testing.T) {
	d := start(t)
	var out v1.SubmitResponse
	if code := as(t, alice, d.Socket, "POST", "/fed/v1/job", hello("x"), &out); code != 200 {
		t.Fatalf("status %d, %+v", code, out.Error)
	}
	if out.JobID != federation.FirstJobID {
		t.Errorf("job %d, want %d", out.JobID, federation.FirstJobID)
	}
	j, err := d.Store.Job(t.Context(), out.JobID)
	if err != nil {
		t.Fatal(err)
	}
	if j.User != "alice" || j.UID != alice || j.GID != alice || j.State != federation.Pending || j.Spec.Name != "x" || j.Submit.IsZero() {
		t.Errorf("stored %+v", j)
	}
	p, err := d.Store.Payload(t.Context(), out.JobID)
	if err != nil || p.Script != hello("x").Payload.Script || len(p.Environment) != 1 {
		t.Errorf("payload %+v, %v", p, err)
	}
}

func TestSubmitRefusals(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	for _, test := range []struct {
		name   string
		change func(*v1.SubmitRequest)
		kind   error
		number int
		text   string
	}{
		{"script over 4 MiB", func(r *v1.SubmitRequest) { r.Payload.Script += strings.Repeat("#\n", 2<<20) }, federation.ErrInvalid, 2012,
			"Pathname of a file, directory or other parameter too long"},
		{"body over all bounds", func(r *v1.SubmitRequest) { r.Payload.Script += strings.Repeat("#", 33<<20) }, federation.ErrInvalid, 2012,
			"Pathname of a file, directory or other parameter too long"},
		{"no script", func(r *v1.SubmitRequest) { r.Payload.Script = "" }, federation.ErrInvalid, 2009, "Job script not specified"},
		{"no interpreter", func(r *v1.SubmitRequest) { r.Payload.Script = "echo\n" }, federation.ErrInvalid, 8, "Exec format error"},
		{"NUL in script", func(r *v1.SubmitRequest) { r.Payload.Script += "\x00" }, federation.ErrInvalid, 8, "Exec format error"},
		{"long name", func(r *v1.SubmitRequest) { r.Spec.Name = strings.Repeat("n", 1025) }, federation.ErrInvalid, 2012,
			"Pathname of a file, directory or other parameter too long"},
		{"relative directory", func(r *v1.SubmitRequest) { r.Spec.WorkDir = "x" }, federation.ErrInvalid, 2063, "Job cannot be submitted without the current working directory specified."},
		{"negative nodes", func(r *v1.SubmitRequest) { r.Spec.MinNodes = -1 }, federation.ErrInvalid, 2006, "Node count specification invalid"},
		{"bad array", func(r *v1.SubmitRequest) { r.Spec.Array = "5-1" }, federation.ErrInvalid, 2081, "Invalid job array specification"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := hello("x")
			test.change(&r)
			_, err := c.Submit(t.Context(), r)
			wantError(t, err, test.kind, test.number, test.text)
		})
	}
	if jobs, _ := d.Store.Jobs(t.Context(), federation.JobQuery{}); len(jobs) != 0 {
		t.Errorf("%d jobs were stored", len(jobs))
	}
}

func wantError(t *testing.T, err, kind error, number int, text string) {
	t.Helper()
	var e *federation.SlurmError
	if !errors.As(err, &e) || !errors.Is(err, kind) || e.Number != number || e.Text != text {
		t.Errorf("got %#v, want %v %d %q", err, kind, number, text)
	}
}

func TestSubmitIsJudged(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	d.Controller.SetRefusal(&federation.SlurmError{Kind: federation.ErrCapacity, Number: 2014,
		Text: "Requested node configuration is not available", Detail: "no site has 99 nodes"})
	_, err := c.Submit(t.Context(), hello("x"))
	wantError(t, err, federation.ErrInvalid, 2014, "Requested node configuration is not available")
}

func TestBrokenStoreLooksLikeABrokenController(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	d.Store.SetFail(errors.New("disk full"))
	_, err := c.Submit(t.Context(), hello("x"))
	wantError(t, err, federation.ErrUnavailable, 5004, "disk full") // for Slurm's commands it is: Socket timed out on send/recv operation
	_, err = c.Job(t.Context(), 30000000)
	wantError(t, err, federation.ErrUnavailable, 1800, "disk full")
	_, err = c.Act(t.Context(), action.Cancel, v1.ActRequest{Jobs: []v1.JobRef{{ID: 30000000}}})
	wantError(t, err, federation.ErrUnavailable, 1800, "disk full")
}

func TestNoDaemon(t *testing.T) {
	c := client.New("/nonexistent/socket")
	_, err := c.Submit(t.Context(), hello("x"))
	if !errors.Is(err, federation.ErrNotSent) || !strings.Contains(err.Error(), "fed serve") {
		t.Errorf("got %v", err)
	}
	if text := err.Error(); strings.Contains(text, "unavailable") || strings.Contains(text, "Get ") || !strings.Contains(text, "no such file or directory") {
		t.Errorf("got %q", text)
	}
}

func TestWaitReturnsTheEndedJob(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	id := d.Put(t, job(0, alice, federation.Running))[0]
	type result struct {
		rec *client.JobRecord
		err error
	}
	got := make(chan result, 1)
	go func() {
		rec, err := c.Wait(context.Background(), id)
		got <- result{rec, err}
	}()
	j := job(id, alice, federation.Failed)
	j.ExitStatus = 3 << 8
	d.Store.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&j}})
	r := <-got
	if r.err != nil || r.rec.Job.State != federation.Failed || r.rec.Job.ExitStatus != 3<<8 {
		t.Errorf("%+v, %v", r.rec, r.err)
	}
	if _, err := c.Wait(t.Context(), 999); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("unknown job: %v", err)
	}
}

func TestSites(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	d.Controller.SetSites(testSites()...)
	sites, err := c.Sites(t.Context())
	if err != nil || len(sites) != 3 {
		t.Fatalf("%+v, %v", sites, err)
	}
	a := sites[0]
	if a.Name != "alpha" || a.Nodes != 3 || a.NodesIdle != 1 || a.GPUs != 12 || a.GPUsFree != 6 || !a.Answering {
		t.Errorf("alpha %+v", a)
	}
	if g := sites[2]; g.Answering || g.Error != "token refused" || g.Nodes != 0 {
		t.Errorf("gamma %+v", g)
	}
	set := v1.SetSiteState{State: federation.FedDrain, Reason: "cooling"}
	if code := as(t, alice, d.Socket, "POST", "/fed/v1/site/alpha/state", set, nil); code != 403 {
		t.Errorf("alice drains a site: status %d", code)
	}
	if code := as(t, olga, d.Socket, "POST", "/fed/v1/site/alpha/state", set, nil); code != 200 {
		t.Errorf("operator: status %d", code)
	}
	said, _ := d.Store.SiteState(t.Context())
	if r := said["alpha"]; r.State != federation.FedDrain || r.Reason != "cooling" || r.By != "olga" {
		t.Errorf("recorded %+v", r)
	}
	if _, err := c.SetSiteState(t.Context(), "nosuch", set); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("unknown site: %v", err)
	}
	if _, err := c.SetSiteState(t.Context(), "alpha", v1.SetSiteState{State: "COOL"}); !errors.Is(err, federation.ErrInvalid) {
		t.Errorf("unknown state: %v", err)
	}
}

func testSites() []*federation.Site {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	gpu := func(name string, used int, state ...string) federation.Node {
		return federation.Node{Name: name, State: state, CPUs: 16, Mem: 64000, CPUsUsed: used, MemUsed: sbatch.MemMiB(1000 * used), Partitions: []string{"main"},
			GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 4, Used: used}}, Sockets: 2, Cores: 8, Threads: 1, Features: []string{"ib"}}
	}
	alpha := &federation.Site{Name: "alpha", State: federation.FedActive, Answering: true, Seen: &federation.Observation{
		At: at, Cluster: "alpha", Version: "24.11.5", Mode: federation.Pinned,
		Partitions: []federation.Partition{{Name: "main", Default: true, Up: true, State: "UP", MaxTime: sbatch.Unlimited, Nodes: []string{"n1", "n2", "n3"}}},
		Nodes:      []federation.Node{gpu("n1", 0, "IDLE"), gpu("n2", 2, "MIXED"), gpu("n3", 0, "IDLE", "DRAIN")},
	}}
	beta := &federation.Site{Name: "beta", State: federation.FedActive, Answering: true, Seen: &federation.Observation{
		At: at, Cluster: "beta", Version: "24.11.5", Mode: federation.Pinned,
		Partitions: []federation.Partition{{Name: "main", Default: true, Up: true, State: "UP", MaxTime: time.Hour, Nodes: []string{"n1", "b2"}, DefMemPerCPU: 500},
			{Name: "short", Up: true, State: "UP", MaxTime: time.Hour, Nodes: []string{"b2"}}},
		Nodes: []federation.Node{{Name: "b2", State: []string{"IDLE"}, CPUs: 8, Mem: 32000, Partitions: []string{"main", "short"}},
			{Name: "n1", State: []string{"ALLOCATED"}, CPUs: 8, CPUsUsed: 8, Mem: 32000, Partitions: []string{"main"}}},
	}}
	gamma := &federation.Site{Name: "gamma", State: federation.FedActive, Error: "token refused", ErrorSince: at}
	return []*federation.Site{alpha, beta, gamma}
}

// What is spent of a budget is told to those whose job it keeps back, and to operators; to nobody else.
func TestExplainOfOthers(t *testing.T) {
	d := apitest.Start(t, api.Config{Users: testUsers})
	id := d.Put(t, job(0, alice, federation.Pending))[0]
	for uid, want := range map[uint32]string{alice: "account proj may spend $5.00 this month", 0: "account proj may spend $5.00 this month", bob: "told to the job's user, coordinators of its account and operators"} {
		var e v1.Explanation
		if code := as(t, uid, d.Socket, "GET", fmt.Sprintf("/fed/v1/job/%d/explain", id), nil, &e); code != 200 || len(e.Holdbacks) != 1 {
			t.Fatalf("uid %d: status %d, %+v", uid, code, e.Holdbacks)
		}
		if h := e.Holdbacks[0]; h.Text != want || h.Kind != decision.HeldByBudget || (len(h.Details)+len(h.Free) > 0) == (uid == bob) {
			t.Errorf("uid %d is told %+v", uid, h)
		}
	}
}

// A pool of four machines has four nodes and as many GPUs as four of them have, however many offerings it may choose from.
func TestNodesOfARentedPool(t *testing.T) {
	node := func(name string, gpus, used int, state ...string) federation.Node {
		return federation.Node{Name: name, State: state, Rented: &federation.Rented{}, Partitions: []string{"main"}, GRES: []federation.GRES{{Name: "gpu", Type: "l4", Total: gpus, Used: used}}}
	}
	pool := func(starts int, nodes ...federation.Node) []federation.Partition {
		p := federation.Partition{Name: "main", MaxStarts: &starts}
		for _, n := range nodes {
			p.Nodes = append(p.Nodes, n.Name)
		}
		return []federation.Partition{p}
	}
	for name, c := range map[string]struct {
		starts int // of four
		nodes  []federation.Node
		want   [4]int // nodes, idle ones, GPUs, free ones
	}{
		"nothing is rented": {4, []federation.Node{node("a1", 1, 0, "IDLE", "CLOUD", "POWERED_DOWN"), node("a2", 1, 0, "IDLE", "CLOUD", "POWERED_DOWN"),
			node("a3", 1, 0, "IDLE", "CLOUD", "POWERED_DOWN"), node("b1", 8, 0, "IDLE", "CLOUD", "POWERED_DOWN"), node("b2", 8, 0, "IDLE", "CLOUD", "POWERED_DOWN")}, [4]int{4, 4, 18, 18}},
		"one runs, one is drained": {2, []federation.Node{node("a1", 1, 1, "ALLOCATED", "CLOUD"), node("a2", 1, 0, "IDLE", "CLOUD", "DRAIN"), node("a3", 1, 0, "IDLE", "CLOUD"),
			node("a4", 1, 0, "IDLE", "CLOUD", "POWERED_DOWN"), node("b1", 1, 0, "IDLE", "CLOUD", "POWERED_DOWN")}, [4]int{4, 2, 4, 2}},
		"all are in use": {0, []federation.Node{node("a1", 1, 1, "ALLOCATED", "CLOUD"), node("a2", 1, 1, "ALLOCATED", "CLOUD"), node("a3", 1, 1, "ALLOCATED", "CLOUD"),
			node("a4", 1, 1, "ALLOCATED", "CLOUD"), node("b1", 8, 0, "DOWN", "CLOUD", "POWERED_DOWN")}, [4]int{4, 0, 4, 0}},
		"one offering is out of stock": {4, []federation.Node{node("b1", 8, 0, "DOWN", "CLOUD", "POWERED_DOWN"), node("a1", 1, 0, "IDLE", "CLOUD", "POWERED_DOWN"),
			node("a2", 1, 0, "IDLE", "CLOUD", "POWERED_DOWN"), node("a3", 1, 0, "IDLE", "CLOUD", "POWERED_DOWN"), node("a4", 1, 0, "IDLE", "CLOUD", "POWERED_DOWN")}, [4]int{4, 4, 4, 4}},
	} {
		d := start(t)
		d.Controller.SetSites(&federation.Site{Name: "aws", State: federation.FedActive, Answering: true,
			Seen: &federation.Observation{Partitions: pool(c.starts, c.nodes...), Nodes: c.nodes}})
		sites, err := client.New(d.Socket).Sites(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := sites[0]
		if got := [4]int{s.Nodes, s.NodesIdle, s.GPUs, s.GPUsFree}; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
