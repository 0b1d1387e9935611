package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/config"
	"fsub/cmd/fed/internal/daemon"
	"fsub/cmd/internal/crash"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/stored"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
	"fsub/testbed/simsite"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fed": func() {
		crash.Mark = func(sentence string) {
			os.WriteFile(filepath.Join(os.Getenv("WORK"), "crashed"), []byte(sentence), 0o644)
		}
		main()
	}})
}

// TestFed tells the stories of testdata with the real daemon over a simulated site, alpha, whose
// slurmrestd listens on a socket. $WORK/fed.yaml is a configuration for it, $WORK/key the site's
// key, $DIR a directory with a short path, $FSUB_SOCKET the daemon's socket in it, $WORK/other.yaml
// one for another daemon on that socket.
func TestFed(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		// A daemon that should have been refused serves forever.
		Deadline: time.Now().Add(15 * time.Minute),
		Setup: func(env *testscript.Env) error {
			env.Defer(func() {
				if sentence, err := os.ReadFile(filepath.Join(env.WorkDir, "crashed")); err == nil {
					t.Errorf("%s", sentence)
				}
			})
			return startSite(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"until":  until,
			"submit": submit,
			"batch":  submitBatch,
			"signal": signalJob,
			"stale":  stale,
			"lists":  priceLists,
			"status": status,
			"ports":  ports,
			"sitedrain": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(ts.Value(theSite{}).(*simsite.Site).NodeDrain(args[0], args[1]))
			},
		},
	})
}

// theSite is the key of the simulated site among a story's values.
type theSite struct{}

func startSite(env *testscript.Env) error {
	// The path of a socket is short, that of a test's directory may not be.
	dir, err := os.MkdirTemp("", "fed")
	if err != nil {
		return err
	}
	key, nodes := []byte(rand.Text()), "a[1-2]"
	if filepath.Base(env.WorkDir) == "script-badrail" {
		nodes = "a[1-64]"
	}
	site, err := simsite.New(simsite.Config{
		Name: "alpha", Clock: simsite.RealClock{}, JWTKey: key,
		Nodes:      []simsite.NodeConfig{{Names: nodes, CPUs: 16, Mem: 64000, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 4}}}},
		Partitions: []simsite.PartitionConfig{{Name: "main", Default: true}},
	})
	if err != nil {
		return err
	}
	env.Values[theSite{}] = site
	l, err := net.Listen("unix", filepath.Join(dir, "rest"))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go site.Serve(ctx, l)
	env.Defer(func() { stop(); os.RemoveAll(dir) })
	env.Setenv("DIR", dir)
	lists, err := filepath.Abs("../../cloud/prices/lists/testdata")
	if err != nil {
		return err
	}
	env.Setenv("LISTDATA", lists)
	env.Setenv("FSUB_SOCKET", filepath.Join(dir, "fed.sock"))
	config := fmt.Sprintf("federation: test\nsocket: %s\nstate_dir: state\nsites:\n  - name: alpha\n    url: unix:%s\n    key_file: key\n    no_associations: true\n    prices: {gres/gpu: 2.5}\n",
		filepath.Join(dir, "fed.sock"), filepath.Join(dir, "rest"))
	other := fmt.Sprintf("federation: other\nsocket: %s\nstate_dir: state2\n", filepath.Join(dir, "fed.sock"))
	return errors.Join(os.WriteFile(filepath.Join(env.WorkDir, "fed.yaml"), []byte(config), 0o644),
		os.WriteFile(filepath.Join(env.WorkDir, "other.yaml"), []byte(other), 0o644),
		os.WriteFile(filepath.Join(env.WorkDir, "key"), key, 0o600))
}

// ports NODES [PORT...] has the health checks of nodes of alpha find these ports down.
func ports(ts *testscript.TestScript, _ bool, args []string) {
	c := client.New(ts.Getenv("FSUB_SOCKET"))
	defer c.Close()
	nodes, err := hostlist.Expand(args[0])
	ts.Check(err)
	for _, node := range nodes {
		q := v1.HealthCheck{Node: "alpha/" + node, Findings: []v1.HealthProblem{}}
		for _, port := range args[1:] {
			q.Findings = append(q.Findings, v1.HealthProblem{Code: "check-link", Text: "port " + port + " is DOWN", Device: port})
		}
		ts.Check(c.HealthCheck(context.Background(), q))
	}
}

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 5 * time.Minute

// until PATTERN COMMAND... repeats a command until its output matches.
func until(ts *testscript.TestScript, _ bool, args []string) {
	re := regexp.MustCompile("(?m)" + args[0])
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if ts.Exec(args[1], args[2:]...) == nil && re.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("no %q within %v; the last answer was\n%s%s", args[0], patience, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
}

// submit NAME GPUS SCRIPT [ACCOUNT [GPUS]] sets $NAME to the ID of a job in $DIR that asks for so many GPUs on one node, and perhaps for those of a second component.
func submit(ts *testscript.TestScript, _ bool, args []string) {
	c := client.New(ts.Getenv("FSUB_SOCKET"))
	defer c.Close()
	spec := sbatch.Spec{Name: args[0], GPUsPerNode: args[1], TimeLimit: time.Hour, WorkDir: ts.Getenv("DIR")}
	if len(args) > 3 {
		spec.Account = args[3]
	}
	if len(args) > 4 {
		other := spec
		other.GPUsPerNode = args[4]
		spec.Het = []sbatch.Spec{other}
	}
	req := v1.SubmitRequest{Spec: spec, Payload: sbatch.Payload{Script: "#!/bin/sh\n" + args[2] + "\n", Environment: []string{"PATH=/bin"}}}
	id, err := c.Submit(context.Background(), req)
	// A site is asked for its associations at the next look after they were changed.
	for deadline := time.Now().Add(patience); err != nil && strings.Contains(err.Error(), "has no account") && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		id, err = c.Submit(context.Background(), req)
	}
	ts.Check(err)
	ts.Setenv(args[0], id.String())
}

// batch GROUP NAME:DEPENDENCY:SCRIPT... submits jobs together.
func submitBatch(ts *testscript.TestScript, _ bool, args []string) {
	var body bytes.Buffer
	for _, word := range args[1:] {
		name, rest, _ := strings.Cut(word, ":")
		i := strings.LastIndexByte(rest, ':')
		entry := v1.BatchEntry{Name: name, Spec: sbatch.Spec{Name: name, Dependency: rest[:i], TimeLimit: time.Hour, WorkDir: ts.Getenv("DIR"), Fed: &sbatch.Fed{Group: args[0]}},
			Payload: sbatch.Payload{Script: "#!/bin/sh\n" + rest[i+1:] + "\n", Environment: []string{"PATH=/bin"}}}
		text, err := json.Marshal(entry)
		ts.Check(err)
		body.Write(append(text, '\n'))
	}
	c := client.New(ts.Getenv("FSUB_SOCKET"))
	defer c.Close()
	jobs, err := client.SubmitAll(context.Background(), c, "", body.Bytes())
	ts.Check(err)
	if len(jobs) != len(args)-1 {
		ts.Fatalf("%d jobs of %d", len(jobs), len(args)-1)
	}
}

// signal JOB NAME sends a signal to a job's script.
func signalJob(ts *testscript.TestScript, _ bool, args []string) {
	c := client.New(ts.Getenv("FSUB_SOCKET"))
	defer c.Close()
	id, err := cli.ParseJobID(args[0])
	ts.Check(err)
	done, err := c.Act(context.Background(), action.Signal, v1.ActRequest{Jobs: []v1.JobRef{{ID: id}}, Signal: stored.Signal{Name: args[1], Batch: true}})
	ts.Check(err)
	if len(done) != 1 || done[0].Error != nil {
		ts.Fatalf("signal %s to job %d: %+v", args[1], id, done)
	}
}

// status CODE COMMAND... runs a command that has to end with that exit code.
func status(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || fmt.Sprint(exit.ExitCode()) != args[0] {
		ts.Fatalf("%v, want exit status %s", err, args[0])
	}
}

// priceLists serves what stands in for the price lists of Azure and Google at $LISTS, with the answers that package lists is tested with.
func priceLists(ts *testscript.TestScript, _ bool, _ []string) {
	lists := ts.Getenv("LISTDATA")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := "azure-1.json"
		switch {
		case strings.Contains(r.URL.RawQuery, "skip=1000"):
			page = "azure-2.json"
		case strings.Contains(r.URL.RawQuery, "CAE"):
			page = "google-2.json"
		case strings.HasSuffix(r.URL.Path, "/skus"):
			page = "google-1.json"
		}
		data, err := os.ReadFile(filepath.Join(lists, page))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(strings.ReplaceAll(string(data), "https://prices.azure.com:443", "http://"+r.Host)))
	}))
	ts.Defer(s.Close)
	ts.Setenv("LISTS", s.URL)
}

// stale PATH leaves a socket behind that nobody answers.
func stale(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: args[0], Net: "unix"})
	ts.Check(err)
	l.SetUnlinkOnClose(false)
	ts.Check(l.Close())
}

func TestListenLeavesAloneWhatIsNotItsOwn(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "passwd")
	if err := os.WriteFile(file, []byte("root\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := daemon.Listen(file); err == nil {
		l.Close()
		t.Error("a file was replaced by a socket")
	}
	if text, _ := os.ReadFile(file); string(text) != "root\n" {
		t.Errorf("the file holds %q", text)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if l, err := daemon.Listen(link); err == nil {
		l.Close()
		t.Error("a link was replaced by a socket")
	}
	open := filepath.Join(dir, "open")
	if err := errors.Join(os.Mkdir(open, 0o777), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	if l, err := daemon.Listen(filepath.Join(open, "s")); err == nil || !strings.Contains(err.Error(), "chmod o-w") {
		if err == nil {
			l.Close()
		}
		t.Errorf("a directory that everybody may write to: %v", err)
	}
	if l, err := daemon.Listen(filepath.Join(dir, strings.Repeat("x", 120))); err == nil || !strings.Contains(err.Error(), "shorter") {
		if err == nil {
			l.Close()
		}
		t.Errorf("a long path: %v", err)
	}
}

func TestNumbersOfTheConfiguration(t *testing.T) {
	const site = "sites: [{name: a, url: 'http://x', key_file: k, %s}]"
	for _, text := range []string{
		fmt.Sprintf(site, "prices: {cpu: .nan}"), fmt.Sprintf(site, "prices: {cpu: .inf}"), fmt.Sprintf(site, "prices: {cpu: -1}"),
		fmt.Sprintf(site, "speed: {h100: .nan}"), fmt.Sprintf(site, "speed: {h100: 0}"), fmt.Sprintf(site, "timeout: -1s"),
		fmt.Sprintf(site, "calls_per_second: .nan"), "policy: {wait_gpu_hour: .nan}", "policy: {run_fraction: -1}", "policy: {run_fraction: 0}", "max_requeue: -1", "min_job_age: -1s",
	} {
		if _, err := config.Parse([]byte(text)); err == nil {
			t.Errorf("accepted: %s", text)
		}
	}
	if c, err := config.Parse([]byte("max_requeue: 0")); err != nil || c.RequeueLimit() >= 0 {
		t.Errorf("max_requeue: 0 means never: %d, %v", c.RequeueLimit(), err)
	}
}
