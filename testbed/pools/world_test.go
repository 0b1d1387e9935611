package pools

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/door"
	"fsub/cloud/local"
	"fsub/federation"
	"fsub/federation/store"
	"fsub/sbatch"
)

// agentBinary is built once, where everybody can run it.
var agentBinary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("FSUB_TEST_AGENT"); path != "" {
		return path, nil
	}
	path := filepath.Join(scratch, "fed-agent")
	cmd := exec.Command("go", "build", "-tags", "remote", "-trimpath", "-ldflags", "-s -w", "-o", path, "fsub/cmd/fed-agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the agent: %w\n%s", err, out)
	}
	return path, nil
})

var scratch string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	flag.Parse()
	// These tests wait for others, mostly: more of them than there are CPUs do no harm.
	err := flag.Set("test.parallel", "8")
	if err != nil {
		panic(err)
	}
	if scratch, err = os.MkdirTemp("", "fsub-pools-"); err == nil {
		err = os.Chmod(scratch, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return m.Run()
}

const siteName = "local"

// options are what a test wants to be otherwise.
type options struct {
	shapes  []local.Shape
	pools   []cloud.PoolConfig
	timing  cloud.Timing
	network local.Network
	toll    func(what string) // called before and after each call that changes something: see toll_test.go
	tcp     bool              // machines reach the door over TCP
	plain   bool              // machines have no namespaces
}

// world is a site of local machines, and the daemon's part of it, which can be killed and started again. It is a federation.Driver itself: while the daemon is
// down everything is unavailable.
type world struct {
	t        testing.TB
	opts     options
	dir      string
	home     string // the user's, below dir
	who      who
	provider *local.Provider
	log      *slog.Logger
	logText  *safeBuffer
	key      []byte
	port     string // of the door, if it is on TCP
	api      atomic.Pointer[http.Handler]

	mu     sync.Mutex
	driver *cloud.Driver
	life   context.Context // of the daemon's part
	stop   func()          // ends the daemon's part and waits for it
	crash  func()          // ends it in the middle of whatever it does
	dying  []func()        // wait for what is left of those that were ended so
}

// who runs the jobs: as root they are somebody else's, else one's own.
type who struct {
	user, other federation.SiteUser
	only        string
}

func testUsers(t testing.TB) who {
	t.Helper()
	if os.Geteuid() == 0 {
		return who{user: systemUser(t, "daemon"), other: systemUser(t, "nobody")}
	}
	me, err := user.Current()
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	return who{user: systemUser(t, me.Username), other: federation.SiteUser{Name: "root"}, only: me.Username}
}

func systemUser(t testing.TB, name string) federation.SiteUser {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return federation.SiteUser{Name: u.Username, UID: uint32(uid), GID: uint32(gid)}
}

func newWorld(t testing.TB, o options) *world {
	t.Helper()
	agent, err := agentBinary()
	if err != nil {
		t.Fatal(err)
	}
	if o.shapes == nil {
		o.shapes = []local.Shape{{Type: "gpu", CPUs: 4, Mem: 4096, GPUs: 2, GPUType: "h100", Price: 4, Max: 4}}
	}
	if o.pools == nil {
		o.pools = []cloud.PoolConfig{{Name: "main", Default: true, Max: 4, Shared: true, Idle: time.Hour}}
	}
	if o.timing == (cloud.Timing{}) {
		o.timing = quick
	}
	w := &world{t: t, opts: o, who: testUsers(t), key: bytes.Repeat([]byte{3}, 32), logText: &safeBuffer{}}
	w.log = slog.New(slog.NewTextHandler(w.logText, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if w.dir, err = os.MkdirTemp(scratch, "w"); err != nil {
		t.Fatal(err)
	}
	w.home = filepath.Join(w.dir, "home")
	for dir, mode := range map[string]os.FileMode{w.dir: 0o755, w.home: 0o700} {
		if err := errors.Join(os.MkdirAll(dir, mode), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(w.home, int(w.who.user.UID), int(w.who.user.GID)); err != nil {
			t.Fatal(err)
		}
	}
	c := local.Config{Dir: filepath.Join(w.dir, "pool"), Agent: agent, Shapes: o.shapes, Network: o.network, NoNamespaces: o.plain, Logger: w.log}
	if w.provider, err = local.New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	w.start()
	return w
}

// quick are waits for tests: machines that are not heard end soon.
var quick = cloud.Timing{
	Lease: 3 * time.Second, PollWait: 700 * time.Millisecond, Margin: time.Second, KillWait: 2 * time.Second, Boot: 20 * time.Second,
	List: 500 * time.Millisecond, ListSoon: 200 * time.Millisecond, ListLag: time.Second, Stray: time.Second, Tick: 100 * time.Millisecond,
	StockOut: time.Second,
}

// start starts the daemon's part.
func (w *world) start() {
	w.t.Helper()
	var st *store.Store
	eventually(w.t, "the store opens", func() string { // a process that another test is just starting may hold the lock's descriptor for a moment
		var err error
		if st, err = store.Open(context.Background(), store.Config{Path: filepath.Join(w.dir, "state", "fed.db"), Logger: w.log}); err != nil {
			return err.Error()
		}
		return ""
	})
	d, l := w.openDoor()
	var p cloud.Provider = w.provider
	var books federation.PoolStore = st
	var entry cloud.Door = d
	if w.opts.toll != nil {
		p, books, entry = tollProvider{p, w.opts.toll}, tollStore{st, w.opts.toll}, tollDoor{d, w.opts.toll}
	}
	accounts := map[string][]string{"physics": {w.who.user.Name}, "vision": {w.who.other.Name}}
	driver, err := cloud.New(cloud.Config{
		Site: siteName, Federation: "pools", Provider: p, Store: books, Door: entry, Boot: w.provider.Boot(), Pools: w.opts.pools, Secret: w.key,
		LogDir: filepath.Join(w.dir, "logs"), SharesFiles: true, OnlyUser: w.who.only, Accounts: accounts, Logger: w.log, Timing: w.opts.timing,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var dead atomic.Bool
	all.Go(func() {
		if err := d.Serve(ctx, l); err != nil && !dead.Load() {
			w.t.Errorf("door: %v", err)
		}
	})
	all.Go(func() {
		if err := driver.Run(ctx); err != nil {
			w.t.Errorf("driver: %v", err)
		}
	})
	w.mu.Lock()
	w.driver, w.life = driver, ctx
	w.stop = func() {
		cancel()
		all.Wait()
		if err := st.Close(); err != nil {
			w.t.Errorf("store: %v", err)
		}
	}
	w.crash = func() {
		dead.Store(true)
		l.Close()
		cancel()
		if err := st.Close(); err != nil { // from here on nothing that it does is remembered
			w.t.Errorf("store: %v", err)
		}
		w.dying = append(w.dying, all.Wait)
	}
	w.mu.Unlock()
	eventually(w.t, "the site is seen", func() string {
		o, err := driver.Observe(ctx)
		if err != nil {
			return err.Error()
		}
		if len(o.Nodes) == 0 {
			return "no nodes"
		}
		return ""
	})
}

// openDoor opens the door on a socket, or on a port that machines with a network of their own reach.
func (w *world) openDoor() (*door.Door, net.Listener) {
	w.t.Helper()
	c := door.Config{Key: w.key, Socket: filepath.Join(w.dir, "door.sock"), Lease: w.opts.timing.Lease, PollWait: w.opts.timing.PollWait, Logger: w.log,
		Token: func(user string, _ time.Time) string { return "token of " + user },
		API: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if h := w.api.Load(); h != nil {
				(*h).ServeHTTP(rw, r)
			}
		})}
	l, err := w.listen(&c)
	if err != nil {
		w.t.Fatal(err)
	}
	d, err := door.New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	return d, l
}

func (w *world) listen(c *door.Config) (net.Listener, error) {
	if !w.opts.tcp {
		_ = os.Remove(c.Socket)
		return net.Listen("unix", c.Socket)
	}
	cert, err := door.Certificate(filepath.Join(w.dir, "door.crt"), filepath.Join(w.dir, "door.key"))
	if err != nil {
		return nil, err
	}
	if w.port == "" {
		w.port = "0"
	}
	l, err := net.Listen("tcp", "0.0.0.0:"+w.port)
	if err != nil {
		return nil, err
	}
	_, w.port, _ = net.SplitHostPort(l.Addr().String())
	c.Socket, c.URL = "", "https://"+net.JoinHostPort(w.provider.HostAddr(), w.port)
	c.Pin, err = door.Pin(cert)
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}), err
}

// kill ends the daemon's part without a word to anybody. Machines and jobs go on.
func (w *world) kill() {
	w.mu.Lock()
	stop := w.stop
	w.driver, w.stop = nil, nil
	w.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// die ends the daemon's part in the middle of a call that does not return.
func (w *world) die() {
	w.mu.Lock()
	crash := w.crash
	w.driver, w.stop, w.crash = nil, nil, nil
	w.mu.Unlock()
	crash()
}

// close ends everything and looks for what is left.
func (w *world) close() {
	if w.t.Failed() {
		w.t.Logf("log:\n%s", w.logText)
		logs, _ := filepath.Glob(filepath.Join(w.dir, "pool", "machines", "*", "agent.log"))
		for _, file := range logs {
			text, _ := os.ReadFile(file)
			w.t.Logf("%s:\n%s", file, text)
		}
	}
	w.kill()
	for _, wait := range w.dying {
		wait()
	}
	var ids []cloud.InstanceID
	for _, i := range w.list() {
		ids = append(ids, i.ID)
	}
	if err := w.provider.Delete(context.Background(), ids); err != nil {
		w.t.Errorf("delete: %v", err)
	}
	w.nothingLeft()
}

func (w *world) list() []cloud.Instance {
	all, err := w.provider.List(context.Background())
	if err != nil {
		w.t.Errorf("list: %v", err)
	}
	return all
}

// nothingLeft looks for processes, mounts, links and directories of machines.
func (w *world) nothingLeft() {
	w.t.Helper()
	if left := processesBelow(w.dir); len(left) > 0 {
		w.t.Errorf("processes left: %s", strings.Join(left, "\n"))
	}
	for _, root := range []string{"/sys/fs/cgroup/unified/fsub-agent", "/sys/fs/cgroup/fsub-agent", "/sys/fs/cgroup/memory/fsub-agent"} {
		entries, _ := os.ReadDir(root)
		for _, e := range entries {
			if token, _, _ := strings.Cut(e.Name(), "."); w.had(token) {
				w.t.Errorf("cgroup left: %s/%s", root, e.Name())
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "pool", "machines", "*")); len(left) > 0 {
		w.t.Errorf("directories left: %v", left)
	}
	run, _ := filepath.Glob("/run/fsub-agent-*")
	tmp, _ := filepath.Glob("/tmp/fsub-agent-*")
	for _, dir := range append(run, tmp...) {
		if token, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), "fsub-agent-"), "."); w.had(token) {
			w.t.Errorf("directory left: %s", dir)
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || bytes.Contains(mounts, []byte(w.dir)) {
		w.t.Errorf("mounts left (%v): %s", err, mounts)
	}
}

// had reports whether a gang was the world's.
func (w *world) had(token string) bool {
	_, err := os.Stat(filepath.Join(w.dir, "pool", "gangs", token+".json"))
	return err == nil
}

// processesBelow finds processes that work below dir.
func processesBelow(dir string) []string {
	var out []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, dir) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			out = append(out, filepath.Base(filepath.Dir(link))+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return out
}

// eventually waits for something that must come.
func eventually(t testing.TB, what string, check func() string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		last := check()
		if last == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 30 s; last: %s", what, last)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

var lastID atomic.Uint32

func nextID() federation.JobID { return federation.FirstJobID + federation.JobID(lastID.Add(1)) }

// submission is a job of the world's user.
func (w *world) submission(script string, change func(*federation.Submission)) federation.Submission {
	j := &federation.Job{ID: nextID(), User: w.who.user.Name, UID: w.who.user.UID, GID: w.who.user.GID, Submit: time.Now().UTC().Truncate(time.Microsecond)}
	j.Spec = sbatch.Spec{Name: "pools", Account: "physics", TimeLimit: 10 * time.Minute, WorkDir: w.home, Output: "slurm-%j.out"}
	sub := federation.Submission{Job: j, Partition: "main", User: w.who.user, Key: federation.AttemptKey("pools", j, 1),
		Payload: sbatch.Payload{Script: "#!/bin/bash\n" + script + "\n", Environment: []string{"PATH=/usr/bin:/bin"}}}
	if change != nil {
		change(&sub)
	}
	return sub
}

func (w *world) submit(sub federation.Submission) federation.JobRef {
	w.t.Helper()
	eventually(w.t, "submit", func() string {
		_, err := w.Submit(context.Background(), sub)
		if errors.Is(err, federation.ErrUnavailable) {
			return err.Error()
		}
		if err != nil {
			w.t.Fatalf("submit: %v", err)
		}
		return ""
	})
	return federation.JobRef{ID: sub.Job.ID, Key: sub.Key, Submitted: sub.Job.Submit}
}

func (w *world) run(script string, change func(*federation.Submission)) federation.JobRef {
	w.t.Helper()
	return w.submit(w.submission(script, change))
}

func (w *world) until(ref federation.JobRef, state federation.State) federation.SiteJob {
	w.t.Helper()
	var j federation.SiteJob
	eventually(w.t, fmt.Sprintf("job %d is %s", ref.ID, state), func() string {
		var err error
		if j, err = w.Lookup(context.Background(), ref); err != nil {
			return err.Error()
		}
		if j.State == state {
			return ""
		}
		return fmt.Sprintf("%+v", j)
	})
	return j
}

// file is what a job has written, once it is there.
func (w *world) file(name string) string {
	w.t.Helper()
	var text []byte
	eventually(w.t, "file "+name, func() (last string) {
		var err error
		if text, err = os.ReadFile(filepath.Join(w.home, name)); err != nil {
			return err.Error()
		}
		if len(text) == 0 {
			return "empty"
		}
		return ""
	})
	return strings.TrimSpace(string(text))
}

// safeBuffer is a log.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
