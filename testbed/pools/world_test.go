package pools

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/local"
	"fsub/federation"
	"fsub/testbed/program"
)

// agentBinary is built once, where everybody can run it.
var agentBinary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("FSUB_TEST_AGENT"); path != "" {
		return path, nil
	}
	path := filepath.Join(scratch, "fed-agent")
	return path, program.PutAs(path, "fed-agent")
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
	tcp     bool              // machines reach the agent server over TCP
	plain   bool              // machines have no namespaces
	made    func(*world)      // called before the daemon starts for the first time
	mapped  map[string]agentapi.User
	gpuDir  string // where the host's GPUs are shown
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
	port     string // of the agent server, if it is on TCP
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
	c := local.Config{Dir: filepath.Join(w.dir, "pool"), Agent: agent, Shapes: o.shapes, Network: o.network, GPUDir: o.gpuDir, NoNamespaces: o.plain, Logger: w.log}
	if w.provider, err = local.New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	if o.made != nil {
		o.made(w)
	}
	w.start()
	return w
}

// quick are waits for tests. What would change a result if this machine were busy for seconds is long: no test waits for that.
var quick = cloud.Timing{
	Lease: 2 * time.Minute, PollWait: 700 * time.Millisecond, Margin: time.Second, KillWait: 2 * time.Second, Boot: 5 * time.Minute,
	List: 500 * time.Millisecond, ListSoon: 200 * time.Millisecond, ListLag: time.Second, Stray: time.Second, Tick: 100 * time.Millisecond,
	StockOut: time.Second,
}

// lapsing has a machine that hears nothing end soon: for tests in which one does. It may be busy for some seconds before that.
func lapsing(o options) options {
	o.timing = quick
	o.timing.Lease = 15 * time.Second
	return o
}

// eventually waits for something that must come.
func eventually(t testing.TB, what string, check func() string) {
	t.Helper()
	const patience = 2 * time.Minute
	deadline := time.Now().Add(patience)
	for {
		last := check()
		if last == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s; last: %s", what, patience, last)
		}
		time.Sleep(20 * time.Millisecond)
	}
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
