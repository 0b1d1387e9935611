package python

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/testbed/bed"
	"fsub/testbed/program"
)

var bin string // folder of the programs

func TestMain(m *testing.M) {
	code := 1
	var err error
	if bin, err = os.MkdirTemp("", "fsub-python-"); err == nil {
		err = program.Put(bin, "fsub", "fed", "fed-agent")
	}
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	os.RemoveAll(bin)
	os.Exit(code)
}

// daemon is a fed serve that is started again whenever it is killed.
type daemon struct {
	t             testing.TB
	of            interpreter // whose view it shares: a function that is sent runs with the same Python
	dir, socket   string
	server, token string

	mu   sync.Mutex
	cmd  *exec.Cmd
	over bool
	done chan struct{}
}

// startDaemon starts a daemon over two sites of this machine: near sees all directories, far none.
func startDaemon(t testing.TB, p interpreter) *daemon {
	t.Helper()
	const site = "  - {name: %s, kind: local, %s local: {nodes: 2, cpus: 4, mem_mib: 4000, network: host, price: %v}}\n"
	return startDaemonOver(t, "sites:\n"+fmt.Sprintf(site, "near", "", 1)+fmt.Sprintf(site, "far", "filesystems: none,", 2), 2, p)
}

// startDaemonOver starts a daemon over n sites, which sees what a Python sees.
func startDaemonOver(t testing.TB, sites string, n int, p interpreter) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "fpy") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, of: p, dir: dir, socket: dir + "/fsub.sock", done: make(chan struct{})}
	t.Cleanup(func() { os.RemoveAll(dir) })
	text := fmt.Sprintf("socket: %s\nstate_dir: %s/state\nremote: {listen: %q}\nblobs: {url: \"file://%s/blobs\", listen: %[5]q, public_url: \"http://%[5]s\"}\n", d.socket, dir, port(t), dir, port(t)) + sites
	if err := os.WriteFile(dir+"/fed.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.start()
	go d.keep()
	t.Cleanup(d.stop)
	d.await(n)
	made, err := d.fed("token", "create", "test", "--json").Output()
	var token struct{ Token, Server string }
	if err == nil {
		err = json.Unmarshal(made, &token)
	}
	if err != nil {
		t.Fatalf("fed token create: %v: %s", err, made)
	}
	d.server, d.token = token.Server, token.Token
	return d
}

func port(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (d *daemon) fed(args ...string) *exec.Cmd {
	cmd := d.of.command(append([]string{bin + "/fed"}, args...)...)
	cmd.Env = append(os.Environ(), "FSUB_SOCKET="+d.socket, "HOME="+d.dir)
	return cmd
}

func (d *daemon) start() {
	log, err := os.OpenFile(d.dir+"/log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		defer log.Close()
		d.cmd = d.fed("serve", "--config", d.dir+"/fed.yaml")
		d.cmd.Stdout, d.cmd.Stderr = log, log
		err = d.cmd.Start()
	}
	if err == nil {
		err = os.WriteFile(d.dir+"/pid", []byte(strconv.Itoa(d.cmd.Process.Pid)), 0o644)
	}
	if err != nil {
		d.t.Error(err)
	}
}

// keep starts the daemon again until it is to end.
func (d *daemon) keep() {
	defer close(d.done)
	for {
		d.cmd.Wait()
		d.mu.Lock()
		if d.over {
			d.mu.Unlock()
			return
		}
		d.start()
		d.mu.Unlock()
	}
}

func (d *daemon) stop() {
	d.mu.Lock()
	d.over = true
	d.cmd.Process.Signal(os.Interrupt)
	d.mu.Unlock()
	<-d.done
	if out, err := d.fed("pool", "clear", "--yes", "--config", d.dir+"/fed.yaml").CombinedOutput(); err != nil {
		d.t.Errorf("fed pool clear: %v: %s", err, out)
	}
	if d.t.Failed() {
		text, _ := os.ReadFile(d.dir + "/log")
		d.t.Logf("the daemon's log ends:\n%s", text[max(0, len(text)-8000):])
	}
}

// await returns when n sites answer.
func (d *daemon) await(n int) {
	d.t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		out, err := d.fed("site", "list").CombinedOutput()
		if err == nil && strings.Count(string(out), "\tok\t") == n {
			return
		}
		if time.Now().After(until) {
			log, _ := os.ReadFile(d.dir + "/log")
			d.t.Fatalf("the sites do not answer: %v\n%s\n%s", err, out, log)
		}
	}
}

// environment is what the client's tests read.
func (d *daemon) environment() []string {
	return []string{"FSUB_SOCKET=" + d.socket, "FSUB_TEST_SERVER=" + d.server, "FSUB_TEST_TOKEN=" + d.token, "FSUB_TEST_PID=" + d.dir + "/pid"}
}

// built is a file that "make python" has built.
func built(t testing.TB, pattern string) string {
	t.Helper()
	files, _ := filepath.Glob("../../bin/python/" + pattern)
	if len(files) != 1 {
		missing(t, "bin/python has no %s: make python", pattern)
	}
	path, err := filepath.Abs(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// missing skips a test for want of something that the registries provide: loudly, and not in CI.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf("SKIPPED: "+format, args...)
}

// interpreter is a Python.
type interpreter struct {
	path   string
	inside []string // what its commands begin with
}

// own is this machine's own Python.
func own(t testing.TB) interpreter {
	t.Helper()
	path, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		missing(t, "there is no /usr/bin/python3")
	}
	return interpreter{path: path}
}

// pythons are this machine's own, the oldest that the client supports and the newest, and the Debian release that has it.
var pythons = map[string]string{"own": "", "3.9": "", "3.14": "forky"}

// interpreterOf is a Python of this machine, or of the Debian release that has it.
func interpreterOf(t testing.TB, version string) interpreter {
	t.Helper()
	if version == "own" {
		return own(t)
	}
	path := find(version)
	if path == "" && pythons[version] == "" {
		t.Skipf("SKIPPED: this machine has no Python %s, nor has a Debian release of today", version)
	}
	if path == "" {
		return borrow(t, version, pythons[version])
	}
	return interpreter{path: path}
}

// borrow has the Python of another Debian release: it sees that release's /usr, and else this machine. Only root can.
func borrow(t testing.TB, version, suite string) interpreter {
	t.Helper()
	b, err := bed.New(bed.Options{})
	if err != nil {
		t.Skipf("SKIPPED: this machine has no Python %s, and: %v", version, err)
	}
	var said bytes.Buffer
	root, err := b.Tree(t.Context(), "python-"+suite, suite, []string{"python3-venv"}, &said)
	if err != nil {
		missing(t, "Python %s of Debian %s cannot be had now: %v\n%s", version, suite, err, &said)
	}
	return interpreter{"/usr/bin/python" + version, []string{"unshare", "-m", "sh", "-c", `mount --bind "$0" /usr && exec "$@"`, root + "/usr"}}
}

// command is one of this Python, or of another program that this Python's machine sees.
func (p *interpreter) command(args ...string) *exec.Cmd {
	args = slices.Concat(p.inside, args)
	return exec.Command(args[0], args[1:]...)
}

// find finds a Python in PATH, or among those of pyenv.
func find(version string) string {
	candidates := []string{"python" + version}
	if root, err := exec.Command("pyenv", "root").Output(); err == nil {
		more, _ := filepath.Glob(strings.TrimSpace(string(root)) + "/versions/" + version + ".*/bin/python3")
		candidates = append(more, candidates...)
	}
	for _, c := range candidates {
		out, err := exec.Command(c, "-c", "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])").Output()
		if err == nil && strings.TrimSpace(string(out)) == version {
			return c
		}
	}
	return ""
}

// venv is a virtual environment.
type venv struct {
	python string
	of     interpreter
}

// newVenv makes a clean virtual environment with packages.
func newVenv(t testing.TB, p interpreter, packages ...string) venv {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "venv")
	if out, err := p.command(p.path, "-m", "venv", dir).CombinedOutput(); err != nil {
		t.Fatalf("%s -m venv: %v\n%s", p.path, err, out)
	}
	v := venv{dir + "/bin/python", p}
	if out, err := p.command(append([]string{v.python, "-m", "pip", "install", "-q", "--disable-pip-version-check"}, packages...)...).CombinedOutput(); err != nil {
		if strings.Contains(string(out), "Could not find a version") || strings.Contains(string(out), "Connection") {
			missing(t, "%s cannot be had now: %s", strings.Join(packages, ", "), out)
		}
		t.Fatalf("pip install %s: %v\n%s", strings.Join(packages, " "), err, out)
	}
	return v
}

// run runs Python in dir.
func (v venv) run(dir string, env []string, args ...string) ([]byte, error) {
	cmd := v.of.command(append([]string{v.python}, args...)...)
	cmd.Dir = dir
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); !strings.HasPrefix(name, "FSUB") && !strings.HasPrefix(name, "PYTHON") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(append(cmd.Env, env...), "PATH="+filepath.Dir(v.python)+":"+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return out, fmt.Errorf("%s: %w", v.python, err)
	}
	return out, err
}
