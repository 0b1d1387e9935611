package staged

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

// The tests share one bed with one site, whose nodes see no directory of the login, and one daemon.
var world suite.Suite

func TestMain(m *testing.M) {
	forwardIfAsked()
	world.Main(m, suite.Config{Name: "staged", Sites: []string{"alpha"}, Start: start})
}

func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	if err := world.StartDaemon(ctx, noFiles(world.Dir)); err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
}

// noFiles says that the site sees none of the login's directories, and gives the daemon a store that the site's nodes reach: at
// the login's end of the line to them.
func noFiles(dir string) func(map[string]any) {
	return func(config map[string]any) {
		site := config["sites"].([]any)[0].(map[string]any)
		u, err := url.Parse(site["url"].(string))
		if err != nil {
			panic(err)
		}
		addr := net.JoinHostPort(netip.MustParseAddr(u.Hostname()).Prev().String(), "6831")
		site["filesystems"], site["scratch"] = "none", "/tmp"
		config["blobs"] = map[string]any{"url": "file://" + dir + "/blobs", "listen": addr, "public_url": "http://" + addr}
	}
}

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 5 * time.Minute

// place is a directory of a user's that only the login has.
type place struct {
	*testing.T
	user, dir string
}

func newPlace(t *testing.T, user string) *place {
	world.Need(t)
	t.Helper()
	u, err := bed.FindUser(user)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(world.Bed.Dir(), "only-here-")
	if err := errors.Join(err, os.Chown(dir, u.UID, u.UID)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &place{t, user, dir}
}

// run runs one of our commands in the login, as the user, in the place.
func (p *place) run(args ...string) (stdout, stderr string, code int) {
	p.Helper()
	return p.runAs(p.user, args...)
}

func (p *place) runAs(user string, args ...string) (stdout, stderr string, code int) {
	p.Helper()
	var out, errOut bytes.Buffer
	dir := p.dir
	if user != p.user { // who may not go there
		dir = "/"
	}
	err := world.Bed.Exec(p.Context(), bed.Cmd{Site: bed.Login, User: user, Dir: dir, Args: args, Stdout: &out, Stderr: &errOut,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket(), "LC_ALL=C.UTF-8"}})
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.Fatalf("%v: %v", args, err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return out.String(), errOut.String(), code
}

// write makes a file of the user's.
func (p *place) write(name, text string) {
	p.Helper()
	u, _ := bed.FindUser(p.user)
	path := filepath.Join(p.dir, name)
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o700), os.Chown(path, u.UID, u.UID)); err != nil {
		p.Fatal(err)
	}
}

func (p *place) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(p.dir, name))
	return string(text)
}

// submit submits a script and returns the job.
func (p *place) submit(script string, args ...string) federation.JobID {
	p.Helper()
	p.write("job.sh", script)
	out, errOut, code := p.run(append(append([]string{"fsub", "--parsable"}, args...), "job.sh")...)
	id, err := strconv.ParseUint(strings.TrimSpace(out), 10, 32)
	if code != 0 || err != nil {
		p.Fatalf("fsub: %d %s%s", code, out, errOut)
	}
	return federation.JobID(id)
}

// until waits for something to become true of a job.
func (p *place) until(id federation.JobID, what string, ok func(*federation.Job) bool) *federation.Job {
	p.Helper()
	c := world.Daemon.Client()
	defer c.Close()
	var last any
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		r, err := c.Job(p.Context(), id)
		if err == nil && ok(&r.Job) {
			return &r.Job
		}
		if last = err; err == nil {
			last = r
		}
	}
	p.Fatalf("job %d is not %s: %+v", id, what, last)
	return nil
}

// gate is a file that the user's jobs can wait for: homes are there at the site too. wait is the line of a script that ends when open was called.
func (p *place) gate() (wait string, open func()) {
	p.Helper()
	path := filepath.Join(world.Bed.Home(p.user), filepath.Base(p.dir)+".open")
	open = func() {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			p.Error(err)
		}
	}
	p.Cleanup(open)
	return "while [ ! -e " + path + " ]; do sleep 0.1; done", open
}

func ended(j *federation.Job) bool   { return j.State.Ended() }
func running(j *federation.Job) bool { return j.State == federation.Running }
