package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/client"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/driver"
	"fsub/federation/journal"
	"fsub/federation/place"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// What somebody on the login node may try.

// raw is a submission that fsub would never send.
func raw(change func(*v1.SubmitRequest)) v1.SubmitRequest {
	r := v1.SubmitRequest{Spec: sbatch.Spec{Name: "x", WorkDir: "/"}, Payload: sbatch.Payload{Script: "#!/bin/sh\n", Environment: []string{"A=1"}}}
	change(&r)
	return r
}

func TestNegativeNiceIsForOperators(t *testing.T) {
	d := start(t)
	for uid, want := range map[uint32]int64{alice: -1, olga: 100000, 0: 100000} {
		var out v1.SubmitResponse
		if want < 0 {
			code := as(t, uid, d.Socket, "POST", "/fed/v1/job", raw(func(r *v1.SubmitRequest) { r.Spec.Nice = -100000 }), &out)
			if code != 400 || out.Error == nil || out.Error.Number != wire.ErrNice {
				t.Errorf("%s: status %d, %+v; want Slurm's refusal", testUsers[uid], code, out.Error)
			}
			continue
		}
		if code := as(t, uid, d.Socket, "POST", "/fed/v1/job", raw(func(r *v1.SubmitRequest) { r.Spec.Nice = -100000 }), &out); code != 200 {
			t.Fatalf("%s: status %d", testUsers[uid], code)
		}
		if j, err := d.Store.Job(t.Context(), out.JobID); err != nil || place.Priority(&j) != want {
			t.Errorf("%s: priority %d, want %d (%v)", testUsers[uid], place.Priority(&j), want, err)
		}
	}
}

func TestControlCharactersAreRefused(t *testing.T) {
	d := start(t)
	c := client.New(d.Socket)
	defer c.Close()
	for name, change := range map[string]func(*v1.SubmitRequest){
		"name, new line":      func(r *v1.SubmitRequest) { r.Spec.Name = "x\n30000001 main root R" },
		"name, escape":        func(r *v1.SubmitRequest) { r.Spec.Name = "\x1b[2J" },
		"name, C1 escape":     func(r *v1.SubmitRequest) { r.Spec.Name = "\u009b2J" },
		"work dir":            func(r *v1.SubmitRequest) { r.Spec.WorkDir = "/a\nb" },
		"output":              func(r *v1.SubmitRequest) { r.Spec.Output = "/a\x07" },
		"host":                func(r *v1.SubmitRequest) { r.SubmitHost = "login1\nerror" },
		"host, too long":      func(r *v1.SubmitRequest) { r.SubmitHost = strings.Repeat("x", 1000) },
		"gpus, too long":      func(r *v1.SubmitRequest) { r.Spec.GPUsPerNode = strings.Repeat("1", 5000) },
		"signal":              func(r *v1.SubmitRequest) { r.Spec.Signal = &sbatch.Signal{Name: "KILL\n"} },
		"NUL in environment":  func(r *v1.SubmitRequest) { r.Payload.Environment = []string{"A=\x00"} },
		"NUL in an argument":  func(r *v1.SubmitRequest) { r.Payload.Argv = []string{"a\x00b"} },
		"negative memory":     func(r *v1.SubmitRequest) { r.Spec.MemPerCPU = -1 << 40 },
		"memory that wraps":   func(r *v1.SubmitRequest) { r.Spec.MemPerCPU = 1 << 62 },
		"negative count":      func(r *v1.SubmitRequest) { r.Spec.NTasks = -5 },
		"negative time":       func(r *v1.SubmitRequest) { r.Spec.SwitchesWait = -time.Second },
		"more, negative":      func(r *v1.SubmitRequest) { r.Spec.More = &sbatch.More{CPUsPerGPU: -1} },
		"more, control":       func(r *v1.SubmitRequest) { r.Spec.More = &sbatch.More{Prefer: "a\nb"} },
		"more, too long":      func(r *v1.SubmitRequest) { r.Spec.More = &sbatch.More{Licenses: strings.Repeat("a", 5000)} },
		"component, relative": func(r *v1.SubmitRequest) { r.Spec.Het = []sbatch.Spec{{WorkDir: "tmp"}} },
		"component, name":     func(r *v1.SubmitRequest) { r.Spec.Het = []sbatch.Spec{{WorkDir: "/", Name: "a\nb"}} },
		"component, sites": func(r *v1.SubmitRequest) {
			r.Spec.Het = []sbatch.Spec{{WorkDir: "/", Fed: &sbatch.Fed{Sites: []string{"nosuch"}}}}
		},
		"relative directory":  func(r *v1.SubmitRequest) { r.Spec.WorkDir = "tmp" },
		"array of two lists":  func(r *v1.SubmitRequest) { r.Spec.Array = strings.Repeat("0-4000000,", 300) + "1" },
		"script without #!":   func(r *v1.SubmitRequest) { r.Payload.Script = "rm -rf /\n" },
		"script with a NUL":   func(r *v1.SubmitRequest) { r.Payload.Script = "#!/bin/sh\n\x00" },
		"dependency, control": func(r *v1.SubmitRequest) { r.Spec.Dependency = "afterok:1\n2" },
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := c.Submit(t.Context(), raw(change)); err == nil {
				t.Errorf("accepted as job %d", id)
			}
		})
	}
	if _, err := c.Submit(t.Context(), raw(func(r *v1.SubmitRequest) { r.Spec.Comment = "two\nlines" })); err != nil {
		t.Errorf("a comment of two lines, which Slurm takes: %v", err)
	}
}

func TestComponentsOfUsers(t *testing.T) {
	d := start(t)
	reboot := raw(func(r *v1.SubmitRequest) {
		r.Spec.Het = []sbatch.Spec{{WorkDir: "/", More: &sbatch.More{Reboot: true}}}
	})
	for uid, want := range map[uint32]int{alice: 403, 0: 200} {
		if code := as(t, uid, d.Socket, "POST", "/fed/v1/job", reboot, nil); code != want {
			t.Errorf("%s: a component that reboots nodes: status %d, want %d", testUsers[uid], code, want)
		}
	}
	nice := raw(func(r *v1.SubmitRequest) { r.Spec.Het = []sbatch.Spec{{WorkDir: "/", Nice: -5}} })
	if code := as(t, alice, d.Socket, "POST", "/fed/v1/job", nice, nil); code != 400 {
		t.Errorf("a component with a negative nice: status %d", code)
	}
}

// A short request may name very many tasks.
func TestManyTasksInOneRequest(t *testing.T) {
	d := start(t)
	array := job(0, alice, federation.Running)
	array.Spec.Array = "0-4000000"
	id := d.Put(t, array)[0]
	var req wire.KillJobs
	for range 1000 {
		req.Jobs = append(req.Jobs, fmt.Sprintf("%d_[0-4000000]", id))
	}
	req.Signal = "USR1"
	if code := as(t, alice, d.Socket, "DELETE", "/slurm/v0.0.42/jobs", req, nil); code != 400 {
		t.Errorf("DELETE /jobs: status %d, want 400", code)
	}
	if code := as(t, bob, d.Socket, "GET", "/slurm/v0.0.42/jobs?job_id="+strings.Join(req.Jobs, ","), nil, nil); code != 200 { // all of them are one
		t.Errorf("GET /jobs: status %d, want 200", code)
	}
	// One task a thousand times is cheap: the array is spelled out once.
	for i := range req.Jobs {
		req.Jobs[i] = fmt.Sprintf("%d_%d", id, i)
	}
	var resp wire.KillJobsResponse
	if code := as(t, alice, d.Socket, "DELETE", "/slurm/v0.0.42/jobs", req, &resp); code != 200 || len(resp.Status) > 0 {
		t.Errorf("a thousand tasks: status %d, %+v", code, resp.Status)
	}
}

// A short request may name very many tasks: nothing is spelled out before it is known how many.
func TestShortRequestsAreSmall(t *testing.T) {
	d := start(t)
	twice := "0-3999999,0-3999999"
	array := job(0, alice, federation.Pending)
	array.Spec.Array = "0-4000000"
	id := d.Put(t, array)[0]
	whole := sbatch.Spec{WorkDir: "/", Array: twice}
	for _, c := range []struct {
		name, method, path string
		body               any
		status             int
	}{
		{"array", "POST", "/fed/v1/job", raw(func(r *v1.SubmitRequest) { r.Spec.Array = twice }), 200},
		{"components", "POST", "/fed/v1/job", raw(func(r *v1.SubmitRequest) { r.Spec.Het = slices.Repeat([]sbatch.Spec{whole}, 16) }), 400},
		{"jobs listed", "GET", fmt.Sprintf("/slurm/v0.0.42/jobs?job_id=%d_[%s]", id, twice), nil, 404},
		{"steps listed", "GET", fmt.Sprintf("/fed/v1/steps?job_id=%d_[%s]", id, twice), nil, 404},
		{"a job", "GET", fmt.Sprintf("/slurm/v0.0.42/job/%d_[%s]", id, twice), nil, 404},
		{"cancelled", "DELETE", "/slurm/v0.0.42/jobs", wire.KillJobs{Jobs: []string{fmt.Sprintf("%d_[%s]", id, twice)}}, 200},
		{"one task cancelled", "POST", "/fed/v1/jobs/cancel", v1.ActRequest{Jobs: []v1.JobRef{{ID: id, Tasks: federation.Tasks(7)}}}, 200},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status := as(t, alice, d.Socket, c.method, c.path, c.body, nil)
		runtime.ReadMemStats(&after)
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; status != c.status || mib > 200 { // a listing of an array spells it out, once
			t.Errorf("%s: status %d, want %d; %d MiB", c.name, status, c.status, mib)
		}
	}
}

// A request names so many jobs and no more, whoever sends it.
func TestManyJobsInOneRequest(t *testing.T) {
	d := start(t)
	h := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", d.Socket)
	}}}
	defer h.CloseIdleConnections()
	refs, names := slices.Repeat([]v1.JobRef{{ID: 30000001}}, submission.MaxJobs+1), slices.Repeat([]string{"30000001"}, submission.MaxJobs+1)
	for of, body := range map[[2]string]any{
		{"POST", "/fed/v1/jobs/cancel"}: v1.ActRequest{Jobs: refs}, {"POST", "/fed/v1/jobs/hold"}: v1.ActRequest{Jobs: refs}, {"DELETE", "/slurm/v0.0.42/jobs"}: wire.KillJobs{Jobs: names},
	} {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequest(of[0], "http://fsub"+of[1], bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := h.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 400 || !strings.Contains(string(said), "at most 100000 are allowed") {
			t.Errorf("%s of %d jobs: %s %.200s", of, submission.MaxJobs+1, resp.Status, said)
		}
	}
}

// Who connects and does not send the header of a request is let go.
func TestHeadersHaveToCome(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: it waits for ten seconds")
	}
	t.Parallel()
	d := start(t)
	c, err := net.Dial("unix", d.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /slurm/v0.0.42/ping HTTP/1.1\r\nHost: ")
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Minute))
	if text, err := io.ReadAll(c); err != nil || strings.Contains(string(text), " 200 ") {
		t.Errorf("%q, %v; want the end of the connection", text, err)
	}
}

// Only an operator may cancel what is being cancelled: it ends a job whose site has left the federation.
func TestCancelOnceMore(t *testing.T) {
	d := start(t)
	j := job(0, alice, federation.Running)
	j.Cancel = true
	id := d.Put(t, j)[0]
	for uid, want := range map[uint32]int{alice: 2021, olga: 0} {
		var out v1.ActResponse
		as(t, uid, d.Socket, "POST", "/fed/v1/jobs/cancel", v1.ActRequest{Jobs: []v1.JobRef{{ID: id}}}, &out)
		got := 0
		if e := out.Results[0].Error; e != nil {
			got = e.Number
		}
		if got != want {
			t.Errorf("%s: error %d, want %d", testUsers[uid], got, want)
		}
	}
}

// Connections of one user do not use up the daemon's file descriptors: the others' are still taken.
func TestConnectionsOfOneUserAreBounded(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: it connects as several users")
	}
	d := start(t)
	held, release := hoard(t, "hoard", alice, d.Socket)
	if held > 1024 {
		t.Errorf("one user holds %d connections", held)
	}
	if code := as(t, bob, d.Socket, "GET", "/slurm/v0.0.42/ping", nil, nil); code != 200 {
		t.Errorf("bob while alice hoards: status %d", code)
	}
	release()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) { // the daemon learns of each end by itself
		said, err := tryAs(alice, d.Socket, "GET", "/slurm/v0.0.42/ping", "")
		if err == nil && strings.HasPrefix(said, "200\n") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("alice after she has closed them: %q, %v", said, err)
		}
	}
}

// Large bodies of one user that stall do not hold up another's.
func TestLargeBodiesPassThoseOfOthersThatStall(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: it connects as several users")
	}
	d := start(t)
	as(t, bob, d.Socket, "GET", "/slurm/v0.0.42/ping", nil, nil) // a daemon's first request takes longest
	stalled, release := hoard(t, "stall", alice, d.Socket)
	defer release()
	if stalled < 20 {
		t.Errorf("alice has %d bodies on their way", stalled)
	}
	began := time.Now()
	// More than what passes by without a share, and as bob.
	if text, err := tryAs(bob, d.Socket, "POST", "/fed/v1/job", "large 1200000"); err != nil || !strings.HasPrefix(text, "200") && !strings.HasPrefix(text, "400") {
		t.Errorf("%.200q, %v", text, err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
}

// Requests of one user that are being answered leave room for those of others, and for what waits for something to happen.
func TestRequestsInHandOfOneUser(t *testing.T) {
	d := start(t)
	id := d.Put(t, job(0, alice, federation.Running))[0]
	for range 20 { // long polls
		go tryAs(alice, d.Socket, "GET", fmt.Sprintf("/fed/v1/job/%d/wait", id), "")
	}
	const connected = " 03 " // SS_CONNECTED, of the daemon's ends: the others have no path
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		sockets, err := os.ReadFile("/proc/net/unix")
		if err != nil {
			t.Fatal(err)
		}
		begun := 0
		for line := range strings.Lines(string(sockets)) {
			if strings.HasSuffix(strings.TrimSpace(line), d.Socket) && strings.Contains(line, connected) {
				begun++
			}
		}
		if begun >= 20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of 20 long polls have begun", begun)
		}
	}
	for _, uid := range []uint32{alice, bob} {
		if code := as(t, uid, d.Socket, "GET", "/slurm/v0.0.42/jobs", nil, nil); code != 200 {
			t.Errorf("%s: status %d", testUsers[uid], code)
		}
	}
}

// stalled is a site, and a store of logs, that do not answer until they are let.
type stalled struct {
	asked chan bool
	let   chan bool
}

func (s *stalled) SignalStep(context.Context, federation.JobID, string, driver.StepSignal) error {
	s.asked <- true
	<-s.let
	return nil
}

func (s *stalled) ReadLog(context.Context, *federation.Job, *federation.Attempt, int, bool, int64, int) (federation.LogPart, error) {
	s.asked <- true
	<-s.let
	return federation.LogPart{Done: true}, nil
}

// Who has the daemon wait for machines, or for a store that is far away, holds up nobody's work meanwhile.
func TestWaitsForOthersTakeNoTurn(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: it sends requests as another user")
	}
	s := &stalled{make(chan bool, 100), make(chan bool)}
	d := startWith(t, api.Config{StepSignals: map[federation.SiteName]driver.StepSignaller{"sky": s}, Logs: s})
	j := job(1, alice, federation.Running)
	j.Site, j.Attempt = "sky", 1
	d.Put(t, j)
	d.Controller.SetSites(&federation.Site{Name: "sky", FileSystems: []string{"/scratch"}})
	if err := d.Store.Commit(t.Context(), &journal.Batch{Attempts: []*federation.Attempt{{Job: 1, Number: 1, Key: "k", Site: "sky"}}}); err != nil {
		t.Fatal(err)
	}
	for _, ask := range [][3]string{{"POST", "/fed/v1/steps/signal", `{"job": 1, "step": "0"}`}, {"GET", "/fed/v1/job/1/log/text", ""}} {
		var all sync.WaitGroup
		n := min(2*runtime.NumCPU(), 8) // more than may work at a time
		for range n {
			all.Go(func() {
				if text, err := tryAs(alice, d.Socket, ask[0], ask[1], ask[2]); err != nil || !strings.HasPrefix(text, "200") {
					t.Errorf("%s: %v %s", ask, err, text)
				}
			})
		}
		for i := range n {
			select {
			case <-s.asked:
			case <-time.After(time.Minute):
				t.Errorf("%s: %d of %d requests have come so far as to wait", ask, i, n)
				close(s.let)
				all.Wait()
				return
			}
		}
		for range n {
			s.let <- true
		}
		all.Wait()
	}
}
