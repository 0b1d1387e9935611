package hostile

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestManyTasks does to arrays of a million tasks what their user may do, while another user submits: no command may be in anybody's way. It prints how long each
// took, and how long submissions of the other user took meanwhile. FSUB_TASKS is another number of tasks.
func TestManyTasks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root: nobody else can be several users")
	}
	n, _ := strconv.Atoi(os.Getenv("FSUB_TASKS"))
	if n == 0 && os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes minutes: set FSUB_FULL=1, or FSUB_TASKS=20000")
	} else if n == 0 {
		n = 1_000_000
	}
	if os.Getenv(ownEtc) == "" {
		inOwnEtc(t)
		return
	}
	w := newWorld(t)
	stop := make(chan struct{})
	d := &deeds{t: t, w: w, meanwhile: w.submissions(t, stop)}
	d.rest()
	calm := d.meanwhile(time.Now().Add(-2 * time.Second))
	t.Logf("%-32s another user's submissions: %s", "nothing is done", calm)
	began := time.Now()
	a, b := d.submit(n), d.submit(n)
	d.look(a)
	d.run("hold", "scontrol", "hold", a)
	d.run("release", "scontrol", "release", a)
	d.run("hold by name", "scontrol", "hold", fmt.Sprintf("%s_[%d-%d]", b, n/2, n/2+min(n/2, 20_000)-1))
	d.run("cancel some by name", "scancel", fmt.Sprintf("%s_[%d-%d]", a, n/2, n/2+n/100))
	d.run("cancel every second by name", "scancel", fmt.Sprintf("%s_[0-%d:2]", a, n/2))
	d.run("cancel all but one by name", "scancel", fmt.Sprintf("%s_[0-%d]", a, n-2))
	d.look(a)
	d.run("cancel by state", "scancel", "-t", "PENDING", "-u", "fsub1")
	c := d.submit(n)
	d.run("cancel by user", "scancel", "-u", "fsub1")
	d.run("cancel by ID", "scancel", b, c)
	d.look(b)
	under := d.meanwhile(began)
	close(stop)
	t.Logf("another user's submissions meanwhile: %s; the daemon: %d MiB of memory at most; slowest: %s", under, w.peak()>>20, d.slowest)
	if most := int64(1 << 30); w.peak() > most {
		t.Errorf("the daemon took %d MiB, more than %d", w.peak()>>20, most>>20)
	}
	w.alive(t)
}

// deeds are what the user of the arrays does, one after another.
type deeds struct {
	t         *testing.T
	w         *world
	meanwhile func(since time.Time) times
	slowest   string
	longest   time.Duration
}

// rest leaves the daemon time for what a command leaves to be done.
func (d *deeds) rest() { time.Sleep(3 * time.Second) }

func (d *deeds) told(what string, began time.Time, took time.Duration) {
	if took > d.longest {
		d.longest, d.slowest = took, fmt.Sprintf("%s, %s", what, took.Round(time.Millisecond))
	}
	d.t.Logf("%-32s %8s, another user's submissions: %s", what, took.Round(time.Millisecond), d.meanwhile(began))
}

// run is one command.
func (d *deeds) run(what string, args ...string) string {
	d.t.Helper()
	began := time.Now()
	out, err := d.w.command(d.t, firstUID+1, args...)
	took := time.Since(began)
	if err != nil {
		d.t.Errorf("%s: %v: %.300s", what, err, out)
	}
	d.rest()
	d.told(what, began, took)
	return strings.TrimSpace(out)
}

// submit submits an array of n tasks, each of which takes all nodes for an hour.
func (d *deeds) submit(n int) string {
	d.t.Helper()
	return d.run("submit", "sbatch", "--parsable", "-N64", "--exclusive", "--array=0-"+strconv.Itoa(n-1), "--wrap=#SIM run=1h")
}

// look has everything listed, and one array shown and explained.
func (d *deeds) look(id string) {
	d.t.Helper()
	d.run("squeue", "squeue")
	d.run("squeue -t all", "squeue", "-t", "all")
	d.run("scontrol show job", "scontrol", "show", "job", id)
	d.run("explain", "fed", "explain", id)
	d.run("fed job list", "fed", "job", "list")
	d.run("sacct", "sacct", "-X", "-n")
	for _, path := range []string{"/slurm/v0.0.41/jobs/", "/slurm/v0.0.41/jobs/state/"} {
		began := time.Now()
		size, err := d.w.get(path)
		if err != nil || size == 0 {
			d.t.Errorf("GET %s: %d bytes, %v", path, size, err)
		}
		took := time.Since(began)
		d.rest()
		d.told("GET "+path, began, took)
	}
}

// command runs one of our commands as a user.
func (w *world) command(t *testing.T, uid uint32, args ...string) (string, error) {
	path := w.file("fsub")
	if args[0] == "fed" {
		path = w.file("fed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Dir = args, "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/", "FSUB_SOCKET=" + w.socket}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// get reads an answer to its end.
func (w *world) get(path string) (int64, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", w.socket)
	}
	h := http.Client{Transport: &http.Transport{DialContext: dial}}
	defer h.CloseIdleConnections()
	resp, err := h.Get("http://fsub" + path)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return io.Copy(io.Discard, resp.Body)
}

// submissions has a user submit ten jobs a second until stop is closed. What it returns says how long those took that began from a time on.
func (w *world) submissions(t *testing.T, stop chan struct{}) func(since time.Time) times {
	type sample struct {
		began time.Time
		took  time.Duration
	}
	var mu sync.Mutex
	var all []sample
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			go func() {
				began := time.Now()
				mu.Lock()
				i := len(all)
				all = append(all, sample{began, -1})
				mu.Unlock()
				if out, err := w.command(t, firstUID, "sbatch", "--hold", "--wrap=:"); err != nil {
					t.Logf("%v: %s", err, out)
				}
				mu.Lock()
				all[i].took = time.Since(began)
				mu.Unlock()
			}()
		}
	}()
	return func(since time.Time) (s times) {
		mu.Lock()
		defer mu.Unlock()
		for _, x := range all {
			if x.began.Before(since) {
				continue
			}
			if x.took < 0 {
				x.took = time.Since(x.began)
			}
			s.took = append(s.took, x.took)
		}
		slices.Sort(s.took)
		return s
	}
}
