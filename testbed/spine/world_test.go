package spine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/bed"
	"fsub/testbed/daemon"
	"fsub/testbed/program"
	"fsub/testbed/suite"
)

// The tests share one bed and one daemon: bringing them up takes longer than all tests together.
var world suite.Suite

func TestMain(m *testing.M) {
	world.Main(m, suite.Config{Name: "spine", Sites: []string{"alpha", "beta", "gamma"}, Start: start})
}

func start(ctx context.Context) error {
	remote := filepath.Join(world.Bin, "remote")
	if err := errors.Join(world.Programs("fsub", "fed"), program.PutAs(filepath.Join(remote, "fsub"), "fsub-remote")); err != nil {
		return err
	}
	if err := program.Link(remote); err != nil {
		return err
	}
	return world.StartDaemon(ctx, edit(world.Bed, world.Dir))
}

// edit gives the federation a broken member, and jobs our commands: at alpha they see the daemon's socket, at gamma they call over
// the network, and so may its users with tokens of gamma's.
func edit(b *bed.Bed, dir string) func(map[string]any) {
	broken := addBrokenSite(dir)
	return func(config map[string]any) {
		gamma, err := b.Site("gamma")
		if err != nil {
			panic(err)
		}
		listen := gamma.Link.Host + ":16819"
		config["remote"] = map[string]any{"listen": listen}
		for _, s := range config["sites"].([]any) {
			switch site := s.(map[string]any); site["name"] {
			case "alpha":
				site["commands"], site["daemon"] = world.Bin, filepath.Join(b.FedDir(), "fsub.sock")
				site["interactive"] = map[string]any{"srun": []string{"/usr/bin/srun"}}
			case "gamma":
				site["commands"], site["daemon"] = filepath.Join(world.Bin, "remote"), listen
				site["interactive"] = map[string]any{"ssh": "login.gamma"}
				config["site_tokens"] = map[string]any{"gamma": site["key_file"]}
			}
		}
		broken(config)
	}
}

// addBrokenSite gives the federation a member whose token is wrong: alpha under another name with a key of its own.
func addBrokenSite(dir string) func(map[string]any) {
	return func(config map[string]any) {
		key := filepath.Join(dir, "wrong.key")
		if err := os.WriteFile(key, bytes.Repeat([]byte("x"), 32), 0o600); err != nil {
			panic(err)
		}
		sites := config["sites"].([]any)
		// The same address in other words: two sites of one URL are refused.
		host, port, err := net.SplitHostPort(strings.TrimPrefix(sites[0].(map[string]any)["url"].(string), "http://"))
		if err != nil {
			panic(err)
		}
		url := "http://" + net.JoinHostPort("::ffff:"+host, port)
		config["sites"] = append(sites, map[string]any{"name": "broken", "url": url, "key_file": key})
	}
}

// output is what a command said.
type output struct {
	stdout, stderr string
	code           int
}

// login runs one of our commands in the login, as a user.
func login(t *testing.T, user string, args ...string) output {
	t.Helper()
	return run(t, bed.Cmd{Site: bed.Login, User: user, Args: args,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket(), "LC_ALL=C.UTF-8", "FOO=bar"}})
}

// at runs one of Slurm's own commands inside a site, as a user.
func at(t *testing.T, site, user string, args ...string) output {
	t.Helper()
	return run(t, bed.Cmd{Site: site, User: user, Args: args})
}

func run(t *testing.T, c bed.Cmd) output {
	t.Helper()
	var stdout, stderr strings.Builder
	c.Stdout, c.Stderr = &stdout, &stderr
	err := world.Bed.Exec(t.Context(), c)
	out := output{stdout: stdout.String(), stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		out.code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%v: %v", c.Args, err)
	}
	return out
}

// fsub submits as a user and returns the ID that it printed.
func fsub(t *testing.T, user string, args ...string) federation.JobID {
	t.Helper()
	out := login(t, user, append([]string{"fsub"}, args...)...)
	text, ok := strings.CutPrefix(out.stdout, "Submitted batch job ")
	id, err := strconv.ParseUint(strings.TrimSuffix(text, "\n"), 10, 32)
	if !ok || err != nil || out.code != 0 || out.stderr != "" {
		t.Fatalf("fsub %v: exit %d, stdout %q, stderr %q", args, out.code, out.stdout, out.stderr)
	}
	return federation.JobID(id)
}

// script writes a file into a user's home.
func script(t *testing.T, user, name, text string) string {
	t.Helper()
	path := filepath.Join(world.Bed.Home(user), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 5 * time.Minute

// gate is what alice's jobs can wait for, so that a test does with a job what must be done while it runs, however long that takes.
type gate struct {
	t    *testing.T
	path string
}

func newGate(t *testing.T) gate {
	t.Helper()
	dir, err := os.MkdirTemp(world.Bed.Home("alice"), "gate-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g := gate{t, filepath.Join(dir, "open")}
	t.Cleanup(g.open)
	return g
}

// wait is the line of a script that ends when the gate is open.
func (g gate) wait() string { return "while [ ! -e " + g.path + " ]; do sleep 0.1; done" }

func (g gate) open() {
	if err := os.WriteFile(g.path, nil, 0o644); err != nil {
		g.t.Error(err)
	}
}

// await waits until a job of the federation is as wanted.
func await(t *testing.T, id federation.JobID, what string, ok func(*federation.Job) bool) *federation.Job {
	t.Helper()
	c := world.Daemon.Client()
	defer c.Close()
	deadline := time.Now().Add(patience)
	for {
		r, err := c.Job(t.Context(), id)
		if err == nil && ok(&r.Job) {
			return &r.Job
		}
		if time.Now().After(deadline) {
			t.Fatalf("job %d is not %s after %v: %v\n%+v", id, what, patience, err, r)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func awaitEnd(t *testing.T, id federation.JobID) *federation.Job {
	t.Helper()
	return await(t, id, "ended", func(j *federation.Job) bool { return j.State.Ended() })
}

func awaitRunning(t *testing.T, id federation.JobID) *federation.Job {
	t.Helper()
	return await(t, id, "running", func(j *federation.Job) bool { return j.State == federation.Running })
}

// as is an HTTP client whose other end sees the user.
func as(t *testing.T, user string) *http.Client {
	t.Helper()
	u, err := bed.FindUser(user)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return daemon.DialAs(world.Daemon.Socket(), u.UID, u.UID)
	}}}
}

// call asks the API as a user and returns the status and the body.
func call(t *testing.T, user, method, path string, body any) (int, string) {
	t.Helper()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://fsub"+path, in)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := as(t, user).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func jobPath(id federation.JobID, rest string) string {
	return fmt.Sprintf("/fed/v1/job/%d%s", id, rest)
}

// act is a request about one job.
func act(id federation.JobID) v1.ActRequest { return v1.ActRequest{Jobs: []v1.JobRef{{ID: id}}} }
