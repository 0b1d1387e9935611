package hostile

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	"fsub/testbed/program"
	"fsub/testbed/simsite"
)

// mostMemory is what the daemon may take in all.
const mostMemory = 4 << 30

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 5 * time.Minute

// world is a daemon over a simulated site.
type world struct {
	dir, socket string
	daemon      *exec.Cmd
	ended       chan struct{}
	site        *simsite.Site
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, func(*world) string { return "" })
}

// newWorldWith calls prepare before the daemon starts. It returns more lines of the daemon's configuration.
func newWorldWith(t *testing.T, prepare func(*world) string) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "hostile") // not t.TempDir: everybody may enter it, and a socket's path is short
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{dir: dir, socket: filepath.Join(dir, "fed.sock"), ended: make(chan struct{})}
	if err := program.Put(dir, "fed", "fsub"); err != nil {
		t.Fatal(err)
	}
	key := []byte(rand.Text())
	site, err := simsite.New(simsite.Config{
		Name: "alpha", Clock: simsite.RealClock{}, JWTKey: key, MinJobAge: 10 * time.Second,
		Nodes:      []simsite.NodeConfig{{Names: "a[1-64]", CPUs: 16, Mem: 64_000}},
		Partitions: []simsite.PartitionConfig{{Name: "main", Default: true, MaxTime: 24 * time.Hour}},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", w.file("rest"))
	if err != nil {
		t.Fatal(err)
	}
	w.site = site
	go site.Serve(t.Context(), l)
	config := fmt.Sprintf("federation: hostile\nsocket: %s\nstate_dir: %s\nremote: {listen: \"127.0.0.1:0\"}\noidc: {issuer: \"%s\", client_id: fsub}\nmunge: {alpha: %s}\nweb: {listen: \"127.0.0.1:%d\"}\nsites:\n- {name: alpha, url: \"unix:%s\", key_file: %s, no_associations: true}\n%s",
		w.socket, w.file("state"), w.provider(t), w.file("no-munged"), freePort(t), w.file("rest"), w.file("key"), prepare(w))
	if err := errors.Join(os.WriteFile(w.file("key"), key, 0o600), os.WriteFile(w.file("fed.yaml"), []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	return w
}

// freePort is a port of this machine that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (w *world) file(name string) string { return filepath.Join(w.dir, name) }

func (w *world) start(t *testing.T) {
	t.Helper()
	log, err := os.Create(w.file("fed.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	w.daemon = exec.Command(w.file("fed"), "serve", "--config", w.file("fed.yaml"))
	w.daemon.Stdout, w.daemon.Stderr = log, log
	w.daemon.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FSUB_") })
	if err := w.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		w.daemon.Wait()
		close(w.ended)
	}()
	go w.watch()
	t.Cleanup(func() {
		w.daemon.Process.Signal(syscall.SIGTERM)
		select {
		case <-w.ended:
		case <-time.After(time.Minute):
			t.Error("the daemon does not end")
			w.daemon.Process.Kill()
			<-w.ended
		}
		if t.Failed() {
			t.Logf("its log ends: %s", w.logEnd())
		}
	})
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		c := client.New(w.socket)
		sites, err := c.Sites(t.Context())
		c.Close()
		if err == nil && len(sites) == 1 && sites[0].Answering {
			return
		}
		if time.Since(began) > patience {
			t.Fatalf("the daemon does not see its site: %v, %+v; its log ends: %s", err, sites, w.logEnd())
		}
	}
}

func (w *world) logEnd() string {
	text, _ := os.ReadFile(w.file("fed.log"))
	return string(text[max(0, len(text)-3000):])
}

// alive wants the daemon to run still, without a panic in its log.
func (w *world) alive(t *testing.T) {
	t.Helper()
	select {
	case <-w.ended:
		t.Fatalf("the daemon has ended: %s", w.logEnd())
	default:
	}
	text, err := os.ReadFile(w.file("fed.log"))
	if err != nil || bytes.Contains(text, []byte("panic")) {
		t.Errorf("a panic: %v\n%s", err, w.logEnd())
	}
}

// peak is the most memory that the daemon has held, in bytes.
func (w *world) peak() int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.daemon.Process.Pid))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

// watch ends the daemon when it takes so much memory that this machine is in danger.
func (w *world) watch() {
	for {
		select {
		case <-w.ended:
			return
		case <-time.After(100 * time.Millisecond):
			if w.peak() > 2*mostMemory {
				w.daemon.Process.Kill()
			}
		}
	}
}

// cpu is the time of processors that the daemon has used.
func (w *world) cpu() time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.daemon.Process.Pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100 on every Linux
}

// disk is what the state directory holds.
func (w *world) disk() (sum int64) {
	filepath.WalkDir(w.file("state"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

// attackers starts the hostile users for a time. The function that it returns waits for them, and says how often each kind of attack was answered, and how.
func (w *world) attackers(t *testing.T, span time.Duration) func() map[string]string {
	t.Helper()
	self := w.file("hostile")
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(self, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	outs := make([]bytes.Buffer, hostileUsers)
	for i := range outs {
		id := uint32(firstUID + 1 + i)
		cmd := exec.Command("nice", "-n", "19", self)
		cmd.Dir = "/"
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), attackOn + "=" + w.socket, "SPAN=" + span.String(), "ONLY=" + os.Getenv("ONLY"), "SEED=" + strconv.Itoa(i), "GOMAXPROCS=1", "GOMEMLIMIT=64MiB"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
		cmd.Stdout, cmd.Stderr = &outs[i], &outs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { cmd.Wait() })
	}
	return func() map[string]string {
		wg.Wait()
		sums := map[string]map[string]int{}
		for i := range outs {
			var said map[string]map[string]int
			if err := json.Unmarshal(outs[i].Bytes(), &said); err != nil {
				t.Errorf("hostile user %d: %v: %.2000s", i, err, outs[i].String())
			}
			for kind, codes := range said {
				if sums[kind] == nil {
					sums[kind] = map[string]int{}
				}
				for code, n := range codes {
					sums[kind][code] += n
				}
			}
		}
		answers := map[string]string{}
		for kind, codes := range sums {
			answers[kind] = strings.TrimPrefix(fmt.Sprint(codes), "map")
		}
		return answers
	}
}

// times are those of fsub, from its start to its end.
type times struct {
	took    []time.Duration // in order
	failed  int
	failure string
	jobs    []federation.JobID
}

func (s times) String() string {
	if len(s.took) == 0 {
		return "none"
	}
	at := func(q float64) time.Duration {
		return s.took[min(int(q*float64(len(s.took))), len(s.took)-1)].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("%d times, p50 %s, p90 %s, p99 %s, max %s", len(s.took), at(.5), at(.9), at(.99), at(1))
}

// honest submits a job each second, as a user at his command line does.
func (w *world) honest(t *testing.T, span time.Duration) (s times) {
	t.Helper()
	const script = "#!/bin/sh\n#SIM run=1s\n"
	var wg sync.WaitGroup
	var mu sync.Mutex
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for end := time.Now().Add(span); time.Now().Before(end); <-tick.C {
		wg.Go(func() {
			cmd := exec.Command(w.file("fsub"), "-J", "honest", "-t", "1")
			cmd.Dir, cmd.Stdin = "/", strings.NewReader(script)
			cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/", "FSUB_SOCKET=" + w.socket}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: firstUID, Gid: firstUID}}
			began := time.Now()
			out, err := cmd.CombinedOutput()
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			if s.took = append(s.took, took); took > time.Second {
				t.Logf("fsub took %s from %s on", took, began.Format("15:04:05.000"))
			}
			var id federation.JobID
			if _, scanned := fmt.Sscanf(string(out), "Submitted batch job %d", &id); err != nil || scanned != nil {
				s.failed, s.failure = s.failed+1, fmt.Sprintf("%v: %s", err, out)
				return
			}
			s.jobs = append(s.jobs, id)
		})
	}
	wg.Wait()
	slices.Sort(s.took)
	return s
}

// awaitEnds waits until all of the jobs have run.
func (w *world) awaitEnds(t *testing.T, jobs []federation.JobID) {
	t.Helper()
	c := client.New(w.socket)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var longest time.Duration
	for _, id := range jobs {
		for {
			rec, err := c.Wait(ctx, id)
			if err == nil && rec == nil {
				continue // a minute has passed
			}
			if err != nil {
				t.Errorf("job %d: %v", id, err)
				return
			}
			j := &rec.Job
			if j.State != federation.Completed {
				t.Errorf("job %d is %s", id, j.State)
			}
			longest = max(longest, j.Start.Sub(j.Submit))
			break
		}
	}
	t.Logf("%d jobs of the honest user have run; the one that waited longest waited %s", len(jobs), longest)
}
