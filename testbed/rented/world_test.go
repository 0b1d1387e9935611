package rented

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	"fsub/testbed/ec2"
	"fsub/testbed/program"
)

// The binaries are made once, where everybody can run them.
var (
	binaries = sync.OnceValue(func() error { return program.Put(scratch, "fed", "fsub", "fed-agent") })
	scratch  string
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	flag.Parse()
	// The tests of the conformance suite wait for others, mostly: more of them than there are CPUs do no harm.
	err := flag.Set("test.parallel", "6")
	if err != nil {
		panic(err)
	}
	if scratch, err = os.MkdirTemp("", "fsub-rented-"); err == nil {
		err = os.Chmod(scratch, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return m.Run()
}

// world is a cloud, and a daemon that rents from it and can be killed at any time.
type world struct {
	t     *testing.T
	rents standIn
	cloud *ec2.Cloud // nil: it is another
	url   string
	dir   string
	work  string // where jobs are submitted and run
	port  string // of the agent server

	// hook sees every call to the cloud before it is carried out, and after that and before it is answered.
	hook atomic.Pointer[func(action string, after bool)]

	mu      sync.Mutex
	daemons []process // those that were started last
}

// process is a daemon.
type process struct {
	*exec.Cmd
	gone chan struct{}
}

// standIn is what stands in for a cloud.
type standIn interface {
	http.Handler
	Live() int // machines that are paid for
	Close() error
}

// config is what a test wants to be otherwise.
type config struct {
	kind  string // of the site; "": aws
	cloud ec2.Config
	pool  string // keys of the pool: "max: 4, idle: 2s"
	aws   string // further keys of aws
	// timing are further waits: "stock_out: 4s"
	timing string
	blobs  string   // further keys of blobs, where the site sees no files
	site   string   // further keys of the site: "filesystems: none"
	more   string   // further sites: "- name: near\n"; SCRATCH is where jobs that are staged work
	daemon []string // further lines of the configuration
}

func newWorld(t *testing.T, c config) *world {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		if _, err := exec.LookPath("python3"); err != nil {
			t.Skip("SKIPPED: neither curl nor python3 is here: a machine could not fetch its agent")
		}
	}
	if err := binaries(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(scratch, "w")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, work: filepath.Join(dir, "work"), port: freePort(t)}
	section := w.azure
	if c.kind == "" {
		c.kind, section = "aws", w.aws
	}
	text := section(&c)
	t.Cleanup(func() {
		w.stop()
		if err := w.rents.Close(); err != nil {
			t.Errorf("the cloud does not close: %v", err)
		}
		if t.Failed() {
			t.Logf("the daemon's log ends:\n%s", tail(filepath.Join(dir, "fed.log"), 6000))
		}
	})
	srv := httptest.NewServer(http.HandlerFunc(w.call))
	t.Cleanup(srv.Close)
	w.url = srv.URL
	if err := os.Mkdir(w.work, 0o755); err != nil {
		t.Fatal(err)
	}
	if c.pool == "" {
		c.pool = "max: 4, idle: 2s"
	}
	w.configure(fmt.Sprintf(`federation: rented
socket: %[1]s/s
state_dir: %[1]s/state
agents: {listen: "127.0.0.1:%[2]s", lease: 1m}
sites:
- name: %[3]s
  kind: %[3]s
  %[3]s: {%[4]s, endpoint: "%[5]s", credentials_file: %[1]s/credentials, boot: 2s}
  pools: [{name: main, %[6]s}]
  timing: {boot: 2m, list: 2s, list_soon: 500ms, list_lag: 2s, stray: 2s, margin: 1s, kill_wait: 2s%[7]s}
%[8]s
%[9]s
`, dir, w.port, c.kind, text, w.url, c.pool, more(c.timing), indented(c.site)+"\n"+c.more, strings.Join(c.daemon, "\n")))
	return w
}

// aws makes what stands in for Amazon, and returns the site's section.
func (w *world) aws(c *config) string {
	c.cloud.Process, c.cloud.Dir = true, filepath.Join(w.dir, "cloud")
	if c.cloud.Types == nil {
		c.cloud.Types = ec2.TypesNamed("g6.xlarge")
	}
	w.cloud = ec2.New(c.cloud)
	w.rents = w.cloud
	w.write("credentials", fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", w.cloud.AccessKey(), w.cloud.SecretKey()))
	return fmt.Sprintf("region: %s, types: [g6.xlarge]%s", w.cloud.Region(), more(c.aws))
}

// more is text as further keys of a mapping.
func more(text string) string {
	if text == "" {
		return ""
	}
	return ", " + text
}

// indented is text as a further key of a site.
func indented(text string) string {
	if text == "" {
		return ""
	}
	return "  " + text
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// call is a call to the cloud.
func (w *world) call(rw http.ResponseWriter, r *http.Request) {
	hook := w.hook.Load()
	if hook == nil {
		w.rents.ServeHTTP(rw, r)
		return
	}
	body := new(bytes.Buffer)
	body.ReadFrom(r.Body)
	r.Body = readCloser{bytes.NewReader(body.Bytes())}
	action := actionOf(r)
	for pair := range strings.SplitSeq(body.String(), "&") {
		if v, ok := strings.CutPrefix(pair, "Action="); ok {
			action = v
		}
	}
	(*hook)(action, false)
	answer := httptest.NewRecorder()
	w.rents.ServeHTTP(answer, r)
	(*hook)(action, true)
	for k, v := range answer.Header() {
		rw.Header()[k] = v
	}
	rw.WriteHeader(answer.Code)
	rw.Write(answer.Body.Bytes())
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// start starts the daemon, or all of several. It returns when they answer.
func (w *world) start() {
	w.t.Helper()
	log, err := os.OpenFile(filepath.Join(w.dir, "fed.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	var all []process
	for i := range several() {
		cmd := exec.Command(filepath.Join(scratch, "fed"), "serve", "--config", filepath.Join(w.dir, configName(i)))
		cmd.Stdout, cmd.Stderr = log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			w.t.Fatal(err)
		}
		d := process{cmd, make(chan struct{})}
		go func() { cmd.Wait(); close(d.gone) }()
		all = append(all, d)
	}
	w.mu.Lock()
	w.daemons = all
	w.mu.Unlock()
	client := w.client()
	defer client.Close()
	w.eventually("the daemon answers", 20*time.Second, func() string {
		select {
		case <-all[0].gone:
			return "" // killed by the test meanwhile
		default:
		}
		if _, err := client.Sites(context.Background()); err != nil {
			return err.Error()
		}
		return ""
	})
}

// running are the daemons that were started.
func (w *world) running() []process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.daemons
}

// kill ends the daemon, or all of several, with SIGKILL and returns when they are gone.
func (w *world) kill() {
	for _, d := range w.running() {
		d.Process.Kill()
	}
	for _, d := range w.running() {
		<-d.gone
	}
}

// stop ends them as an operator would.
func (w *world) stop() {
	for _, d := range w.running() {
		d.Process.Signal(syscall.SIGTERM)
	}
	late := time.After(2 * time.Minute)
	for _, d := range w.running() {
		select {
		case <-d.gone:
		case <-late:
			w.t.Error("the daemon does not stop at SIGTERM")
			w.kill()
			return
		}
	}
}

func (w *world) client() *client.Client { return client.New(filepath.Join(w.dir, "s")) }

// fsub submits a script with the user's command, and returns the job's number.
func (w *world) fsub(script string, args ...string) federation.JobID {
	w.t.Helper()
	id, err := w.tryFsub(script, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) tryFsub(script string, args ...string) (federation.JobID, error) {
	cmd := exec.Command(filepath.Join(scratch, "fsub"), append([]string{"--parsable"}, args...)...)
	cmd.Dir, cmd.Stdin = w.work, strings.NewReader(script)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + w.work, "FSUB_SOCKET=" + filepath.Join(w.dir, "s")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("fsub: %w: %s", err, out)
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("fsub printed %q", out)
	}
	return federation.JobID(id), nil
}

func (w *world) job(id federation.JobID) (*client.JobRecord, error) {
	c := w.client()
	defer c.Close()
	return c.Job(context.Background(), id)
}

// await waits for a job to end.
func (w *world) await(id federation.JobID, patience time.Duration) *client.JobRecord {
	w.t.Helper()
	var rec *client.JobRecord
	w.eventually(fmt.Sprintf("job %d ends", id), patience, func() string {
		var err error
		if rec, err = w.job(id); err != nil {
			return err.Error()
		}
		if !rec.Job.State.Ended() {
			return fmt.Sprintf("%s (%s)", rec.Job.State, rec.Job.Reason)
		}
		return ""
	})
	return rec
}

// read is a file in the jobs' directory, "" if there is none.
func (w *world) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(w.work, name))
	return string(text)
}

// busy is how much longer things may take on a machine that has other tests to run than they do on a quiet one.
const busy = 3

// eventually waits until check returns ""; what it returned last is in the failure. Patience is that for a quiet machine.
func (w *world) eventually(what string, patience time.Duration, check func() string) {
	w.t.Helper()
	patience *= busy
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		last := check()
		if last == "" {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not within %s; last: %s", what, patience, last)
		}
	}
}

// noMachines waits until nothing is paid for any more.
func (w *world) noMachines(patience time.Duration) {
	w.t.Helper()
	w.eventually("all machines are given back", patience, func() string {
		if n := w.rents.Live(); n != 0 {
			return fmt.Sprintf("%d live", n)
		}
		return ""
	})
}

// freePort is a port of 127.0.0.1 for a daemon that is killed and comes back. It lies below those that the kernel gives to whoever asks for any
// (ip_local_port_range, from 32768 on), and other tests know by the same port of another address that it is taken.
func freePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(21_000 + rand.IntN(11_000))
		claim, err := net.Listen("tcp", "127.0.0.2:"+port)
		if err != nil {
			continue
		}
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			t.Cleanup(func() { claim.Close() })
			return port
		}
		claim.Close()
	}
	t.Fatal("there is no free port")
	return ""
}

func tail(file string, n int) string {
	b, _ := os.ReadFile(file)
	return string(b[max(0, len(b)-n):])
}
