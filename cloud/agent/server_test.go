package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/sbatch"
)

// fakeServer is a server with one machine. It keeps its orders and what it was told.
type fakeServer struct {
	t      testing.TB
	dir    string
	server *httptest.Server

	mu       sync.Mutex
	cond     *sync.Cond
	orders   agentapi.Orders
	steps    int // that were told, each time
	told     map[string]agentapi.Status
	history  map[string][]agentapi.RunState
	notices  []agentapi.Notice
	ending   string
	hellos   []agentapi.Hello
	logs     map[string][]byte
	ended    map[string]bool
	early    int  // this many answers to Hello are 425
	down     bool // every answer is 503
	lost     int  // this many reports are taken, and their answers lost
	denied   bool // every answer to Poll is 401
	refused  int  // such
	polls    int
	polled   agentapi.Poll // the last one
	epoch    string        // that it came with
	eager    bool          // polls are answered at once
	single   bool          // reports of several runs are too large
	gap      bool          // the next piece of output is refused with the size 0
	inJob    []string
	answer   func() // before what commands in jobs ask for is answered
	lease    time.Duration
	metadata string
}

const oneTime, session = "one-time", "session-token"

func newFakeServer(t testing.TB) *fakeServer {
	d := &fakeServer{t: t, dir: testDir(t), told: map[string]agentapi.Status{}, history: map[string][]agentapi.RunState{}, logs: map[string][]byte{}, ended: map[string]bool{}, lease: 20 * time.Second}
	d.cond = sync.NewCond(&d.mu)
	d.orders.Version = 1
	mux := http.NewServeMux()
	mux.HandleFunc(agentapi.PathHello, d.hello)
	mux.HandleFunc(agentapi.PathPoll, d.auth(d.poll))
	mux.HandleFunc(agentapi.PathReport, d.auth(d.report))
	mux.HandleFunc(agentapi.PathLog, d.auth(d.log))
	mux.HandleFunc(agentapi.PathJob, d.auth(d.job))
	d.server = httptest.NewUnstartedServer(mux)
	l, err := net.Listen("unix", d.socket())
	if err != nil {
		t.Fatal(err)
	}
	d.server.Listener.Close()
	d.server.Listener = l
	d.server.Start()
	t.Cleanup(func() {
		d.set(func() { d.down = true })
		d.server.CloseClientConnections()
		d.server.Close()
	})
	return d
}

// testDir is a directory that every user can search.
func testDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "agent-")
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (d *fakeServer) socket() string { return filepath.Join(d.dir, "server") }

func (d *fakeServer) set(change func()) {
	d.mu.Lock()
	change()
	d.mu.Unlock()
	d.cond.Broadcast()
}

// await waits until something is so.
func (d *fakeServer) await(what string, is func() bool) {
	d.t.Helper()
	stuck := time.AfterFunc(5*time.Minute, func() { panic("not seen: " + what) })
	defer stuck.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for !is() {
		d.cond.Wait()
	}
}

func (d *fakeServer) auth(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+session {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		d.mu.Lock()
		down := d.down
		d.mu.Unlock()
		if down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		h(w, r)
	}
}

func (d *fakeServer) hello(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var h agentapi.Hello
	json.NewDecoder(r.Body).Decode(&h)
	switch {
	case r.Header.Get("Authorization") != "Bearer "+oneTime:
		http.Error(w, "no", http.StatusUnauthorized)
		return
	case d.early > 0:
		d.early--
		http.Error(w, "early", http.StatusTooEarly)
		return
	}
	d.hellos = append(d.hellos, h)
	d.cond.Broadcast()
	json.NewEncoder(w).Encode(agentapi.Welcome{Machine: "m:1", Node: "node-1", Session: session, Lease: d.lease, PollWait: d.lease / 4, Metadata: d.metadata})
}

func (d *fakeServer) poll(w http.ResponseWriter, r *http.Request) {
	var p agentapi.Poll
	json.NewDecoder(r.Body).Decode(&p)
	wake := time.AfterFunc(d.lease/4, d.cond.Broadcast)
	defer wake.Stop()
	defer context.AfterFunc(r.Context(), d.cond.Broadcast)()
	until := time.Now().Add(d.lease / 4)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.polls++
	d.polled, d.epoch = p, r.Header.Get(agentapi.HeaderEpoch)
	d.cond.Broadcast()
	for r.Context().Err() == nil && !d.down && !d.denied && !d.eager && p.Version == d.orders.Version && time.Now().Before(until) {
		d.cond.Wait()
	}
	if d.denied {
		http.Error(w, "gone", http.StatusUnauthorized)
		return
	}
	o := d.orders
	o.Runs = nil
	for _, run := range d.orders.Runs {
		for _, known := range p.Known {
			if known == run.Run {
				run.Launch = nil
			}
		}
		o.Runs = append(o.Runs, run)
	}
	json.NewEncoder(w).Encode(o)
}

func (d *fakeServer) report(w http.ResponseWriter, r *http.Request) {
	var report agentapi.Report
	json.NewDecoder(r.Body).Decode(&report)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.single && len(report.Runs) > 1 {
		d.refused++
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	for _, s := range report.Runs {
		d.steps += len(s.Steps)
		if s.State != agentapi.RunEnded { // the others are as they were told before
			s.Steps = newer(d.told[s.Run].Steps, s.Steps)
		}
		d.told[s.Run] = s
		d.history[s.Run] = append(d.history[s.Run], s.State)
	}
	if report.Notice != nil {
		d.notices = append(d.notices, *report.Notice)
	}
	if report.Ending != "" {
		d.ending = report.Ending
	}
	d.cond.Broadcast()
	if d.lost > 0 {
		d.lost--
		panic(http.ErrAbortHandler)
	}
}

func (d *fakeServer) log(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, agentapi.PathLog)
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	body, err := io.ReadAll(r.Body)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gap {
		d.gap, d.logs[name] = false, nil
	}
	if has := len(d.logs[name]); offset > has || err != nil {
		w.WriteHeader(http.StatusConflict)
	} else {
		d.logs[name] = append(d.logs[name][:offset], body...)
		d.ended[name] = d.ended[name] || r.URL.Query().Get("end") == "1"
	}
	json.NewEncoder(w).Encode(agentapi.LogSize{Size: int64(len(d.logs[name]))})
	d.cond.Broadcast()
}

func (d *fakeServer) job(w http.ResponseWriter, r *http.Request) {
	d.set(func() { d.inJob = append(d.inJob, r.Method+" "+r.RequestURI) })
	if d.answer != nil {
		d.answer()
	}
	io.WriteString(w, "answer to "+r.URL.Path)
}

// order changes the orders.
func (d *fakeServer) order(change func(*agentapi.Orders)) {
	d.set(func() {
		d.orders.Version++
		change(&d.orders)
	})
}

// orderRun changes what is ordered of one run.
func (d *fakeServer) orderRun(name string, change func(*agentapi.Order)) {
	d.order(func(o *agentapi.Orders) {
		for i := range o.Runs {
			if o.Runs[i].Run == name {
				change(&o.Runs[i])
			}
		}
	})
}

// launch orders a run of a script and returns its directory.
func (d *fakeServer) launch(name, script string, more func(*agentapi.Launch)) string {
	dir := filepath.Join(d.dir, name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		d.t.Fatal(err)
	}
	os.Chmod(dir, 0o777)
	l := &agentapi.Launch{Run: name, Job: 30000001, Cluster: "c", User: me(), Script: "#!/bin/bash\n" + script + "\n",
		Environment: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir}, Start: time.Now(), TimeLimit: sbatch.Unlimited, KillWait: 5 * time.Second, Key: []byte("a key of the gang, 32 bytes long."),
		Groups: []agentapi.Group{{Job: 30000001, Spec: sbatch.Spec{Name: "j", WorkDir: dir}, Partition: "p", Nodes: []agentapi.Node{{Name: "node-1", Addr: "127.0.0.1", CPUs: 1, Tasks: 1}}}}}
	if more != nil {
		more(l)
	}
	d.order(func(o *agentapi.Orders) { o.Runs = append(o.Runs, agentapi.Order{Run: name, Launch: l}) })
	return dir
}

// me is who runs the test, as the user of jobs.
func me() agentapi.User {
	u := agentapi.User{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Name: "somebody"}
	if o, err := user.Current(); err == nil {
		u.Name, u.Home = o.Username, o.HomeDir
	}
	return u
}

// awaitEnd waits until a run has ended, and returns how.
func (d *fakeServer) awaitEnd(name string) agentapi.Status {
	d.t.Helper()
	d.await(name+" has ended", func() bool { return d.told[name].State == agentapi.RunEnded })
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.told[name]
}

// awaitFile waits for a file that a script makes.
func awaitFile(t testing.TB, path string) {
	t.Helper()
	for range 30000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s was not made", path)
}

func output(t testing.TB, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "slurm-30000001.out"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testAgent is an agent that runs in this process.
type testAgent struct {
	*Agent
	dir  string
	err  error
	done chan struct{}
	stop context.CancelFunc
}

// startAgent starts an agent of a server's machine.
func startAgent(t testing.TB, d *fakeServer, more func(*Config)) *testAgent {
	t.Helper()
	a := newAgent(t, d, more)
	a.start(t)
	return a
}

// newAgent makes one that has not begun.
func newAgent(t testing.TB, d *fakeServer, more func(*Config)) *testAgent {
	t.Helper()
	dir := testDir(t)
	c := Config{Boot: agentapi.Boot{URL: "unix:" + d.socket(), Token: oneTime, Instance: "i-1", Expires: time.Now().Add(time.Hour)}, Dir: dir, Logger: logger(t)}
	if more != nil {
		more(&c)
	}
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &testAgent{Agent: a, dir: dir, done: make(chan struct{})}
}

func (a *testAgent) start(t testing.TB) {
	var ctx context.Context
	ctx, a.stop = context.WithCancel(context.Background())
	go func() {
		defer close(a.done)
		a.err = a.Run(ctx)
	}()
	t.Cleanup(func() {
		a.stop()
		<-a.done
	})
}

func logger(t testing.TB) *slog.Logger {
	if testing.Verbose() {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

func exitCode(s agentapi.Status) string { return fmt.Sprintf("%d:%d", s.Exit>>8, s.Exit&0x7f) }
