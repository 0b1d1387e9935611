// Package docs holds README.md and docs/ to the programs. Of their fenced blocks
//
//	```console          is a session with a daemon over two local sites, alpha (H100) and beta (A100): commands behind "$ ", and
//	                    what they print, in which "..." stands for anything and a line of "..." for any lines
//	```bash NAME        is a script, in the file NAME for the sessions of the page, that fsub understands
//	```yaml             is a configuration that fed config check takes
//	```python           is a program for fsub-client: testbed/python runs it
//	```sh               is not run, since it would change the machine: its commands exist, with the subcommands and options shown
//
// Commands in the running text, `fed ...` and `make ...`, exist too.
package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fsub/testbed/openid"
	"fsub/testbed/program"
)

const (
	root   = "../.."
	readme = "../../README.md"
	docs   = "../../docs"
)

// patience is how long a session waits for what it shows, on a machine that is busy with other tests.
const patience = 3 * time.Minute

var bin string // folder of the programs

func TestMain(m *testing.M) {
	var err error
	if bin, err = os.MkdirTemp("", "fsub-docs-"); err == nil {
		if err = program.Put(bin, "fsub-remote", "fsub", "fed", "fed-agent"); err == nil {
			err = program.Link(bin)
		}
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(bin)
	os.Exit(code)
}

// block is a fenced block of a page.
type block struct {
	kind, name string // "bash", "train.sbatch"
	line       int    // where it begins
	text       string
}

// page is a Markdown file.
type page struct {
	path   string
	blocks []block
	inline []string // `code` of the running text
}

// pages reads README.md and all of docs/.
func pages(t *testing.T) []page {
	t.Helper()
	paths, err := filepath.Glob(docs + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []page
	for _, path := range append(paths, readme) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parse(path, string(text)))
	}
	if len(all) < 6 {
		t.Fatalf("only %d pages", len(all))
	}
	return all
}

var code = regexp.MustCompile("`([^`]+)`")

func parse(path, text string) page {
	p := page{path: path}
	var b *block
	n := 0
	for line := range strings.Lines(text) {
		n++
		fence, isFence := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case isFence && b == nil:
			kind, name, _ := strings.Cut(fence, " ")
			b = &block{kind: kind, name: name, line: n}
		case isFence:
			p.blocks = append(p.blocks, *b)
			b = nil
		case b != nil:
			b.text += line
		default:
			for _, m := range code.FindAllStringSubmatch(line, -1) {
				p.inline = append(p.inline, m[1])
			}
		}
	}
	return p
}

func TestPages(t *testing.T) {
	for _, p := range pages(t) {
		t.Run(strings.TrimSuffix(filepath.Base(p.path), ".md"), func(t *testing.T) {
			t.Parallel()
			testPage(t, p)
		})
	}
}

func testPage(t *testing.T, p page) {
	w := &world{t: t, at: filepath.Base(p.path)}
	for _, c := range p.inline {
		w.checkCommand(c, false)
	}
	for _, b := range p.blocks {
		w.at = fmt.Sprintf("%s:%d", filepath.Base(p.path), b.line)
		switch b.kind {
		case "console":
			w.session(b.text)
		case "bash":
			w.script(b)
		case "yaml":
			w.config(b.text)
		case "python":
		case "sh":
			for line := range strings.Lines(b.text) {
				w.checkCommand(line, true)
			}
		default:
			t.Errorf("%s: a block of kind %q is not tested: want console, bash, yaml, python or sh", w.at, b.kind)
		}
	}
}

// world is a daemon and a directory for the sessions of a page.
type world struct {
	t   *testing.T
	at  string // where in the pages it is now
	dir string // of the session; "" until there is one
	far string // the daemon's address, as a machine without the socket has it in FSUB_SERVER; "" until that is asked for
}

// open starts the daemon, if it does not run yet.
func (w *world) open() {
	if w.dir != "" {
		return
	}
	w.t.Helper()
	dir, err := os.MkdirTemp("", "docs") // the path of a socket is short
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { os.RemoveAll(dir) })
	w.dir = dir
	const site = "  - {name: %s, kind: local, containers: enroot, local: {nodes: 2, cpus: 4, mem_mib: 4000, gpus: 2, gpu_type: %s, price: %v, network: host}}\n"
	provider := openid.Start(w.t) // at which nobody signs in, the user of that name, for root cannot
	provider.Devices.Auto, provider.Devices.Interval = "nobody", 1
	config := fmt.Sprintf("socket: %s/fsub.sock\nstate_dir: %[1]s/state\nremote: {listen: \"127.0.0.1:0\"}\noidc: {issuer: \"%[2]s\", client_id: fsub}\nsites:\n", dir, provider.Issuer) +
		fmt.Sprintf(site+site, "alpha", "h100", 3.90, "beta", "a100", 1.30)
	if err := os.WriteFile(dir+"/fed.yaml", []byte(config), 0o600); err != nil {
		w.t.Fatal(err)
	}
	log, err := os.Create(dir + "/fed.log")
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	daemon := w.command(context.Background(), "exec fed serve --config fed.yaml")
	daemon.Stdout, daemon.Stderr = log, log
	if err := daemon.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		daemon.Process.Signal(os.Interrupt)
		daemon.Wait()
		if out, err := w.command(context.Background(), "fed pool clear --yes --config fed.yaml").CombinedOutput(); err != nil {
			w.t.Errorf("fed pool clear: %v: %s", err, out)
		}
		if w.t.Failed() {
			text, _ := os.ReadFile(dir + "/fed.log")
			w.t.Logf("the daemon's log:\n%s", text)
		}
	})
	w.expect("fed site list", []string{"...", "alpha ACTIVE ok ...", "beta ACTIVE ok ..."})
}

// command is a command line in the session's directory, with our programs and no configuration of the caller's.
func (w *world) command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir = w.dir
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "SLURM") && !strings.HasPrefix(name, "SBATCH") && !strings.HasPrefix(name, "FSUB") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+w.dir, "TZ=UTC")
	if strings.HasPrefix(line, "fsub-remote") { // as on another machine
		cmd.Env = append(cmd.Env, "FSUB_SERVER="+w.server())
	} else {
		cmd.Env = append(cmd.Env, "FSUB_SOCKET="+w.dir+"/fsub.sock")
	}
	cmd.WaitDelay = time.Second
	return cmd
}

// server is the daemon's address.
func (w *world) server() string {
	if w.far == "" {
		out, err := w.command(context.Background(), "fed token create docs --json && fed token revoke docs").Output()
		var made struct{ Server string }
		if err == nil {
			err = json.NewDecoder(bytes.NewReader(out)).Decode(&made)
		}
		if w.far = made.Server; err != nil {
			w.t.Fatalf("the daemon's address: %v: %s", err, out)
		}
	}
	return w.far
}

// session runs the commands of a block and compares what they print.
func (w *world) session(text string) {
	w.open()
	var command string
	var want []string
	for line := range strings.Lines(text + "$ \n") {
		line = strings.TrimRight(line, "\n")
		next, isCommand := strings.CutPrefix(line, "$ ")
		if !isCommand {
			want = append(want, line)
			continue
		}
		if command != "" {
			w.expect(command, want)
		}
		command, want = next, nil
	}
}

// once are commands that do something, and so are not tried again until they print what is expected.
var once = regexp.MustCompile(`^(fsub|fsub-remote|sbatch|scancel|fed site (drain|resume)|fed logs -f)\b`)

// expect runs a command, again and again if it only looks, until it prints want.
func (w *world) expect(command string, want []string) {
	w.t.Helper()
	var pattern strings.Builder
	pattern.WriteString(`^`)
	fails := false
	for _, line := range want {
		fails = fails || strings.Contains(line, "error:")
		if line == "..." {
			pattern.WriteString(`(.*\n)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(squeeze(line)), `\.\.\.`, `.*`) + `\n`)
	}
	re := regexp.MustCompile(pattern.String() + `$`)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var last []byte
	var lastErr error
	for {
		cmd := w.command(ctx, command)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		out := append(stdout.Bytes(), stderr.Bytes()...)
		said := squeezed(stderr.Bytes()) + squeezed(stdout.Bytes())
		if (err != nil) == fails && (re.MatchString(squeezed(out)) || re.MatchString(said) || re.MatchString(squeezed(stdout.Bytes()))) {
			return
		}
		if ctx.Err() == nil || last == nil {
			last, lastErr = out, err
		}
		if once.MatchString(command) || ctx.Err() != nil {
			w.t.Fatalf("%s: %s\nprinted (%v)\n%swant\n%s", w.at, command, lastErr, last, strings.Join(want, "\n"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// squeeze makes single blanks of the space between columns.
func squeeze(line string) string { return strings.Join(strings.Fields(line), " ") }

func squeezed(out []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		b.WriteString(squeeze(line) + "\n")
	}
	return b.String()
}

// script checks a script and leaves it to the sessions.
func (w *world) script(b block) {
	if b.name == "" {
		w.t.Errorf("%s: the script has no name: ```bash NAME", w.at)
		return
	}
	w.open()
	if err := os.WriteFile(filepath.Join(w.dir, b.name), []byte(b.text), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if out, err := w.command(context.Background(), "bash -n "+b.name+" && { fed debug parse "+b.name+" || fsub --test-only "+b.name+"; }").CombinedOutput(); err != nil {
		w.t.Errorf("%s: %s is not understood: %v\n%s", w.at, b.name, err, out)
	}
}

// config checks a configuration, with the files that it names.
func (w *world) config(text string) {
	dir := w.t.TempDir()
	for file, content := range map[string]string{
		"alpha.key": strings.Repeat("k", 32), "beta.token": "SLURM_JWT=a.b.c", "alpha.topology": "SwitchName=s0 Nodes=a[1-2]\n",
		"aws.credentials":   "[default]\naws_access_key_id = AKIAEXAMPLE\naws_secret_access_key = example\n",
		"google.json":       `{"type": "service_account"}`,
		"google.key":        "example",
		"smtp.password":     "example",
		"db.password":       "example",
		"daemons.secret":    strings.Repeat("s", 32),
		"azure.credentials": "AZURE_TENANT_ID=t\nAZURE_CLIENT_ID=c\nAZURE_CLIENT_SECRET=s\n",
		"fed.yaml":          strings.NewReplacer("/etc/fsub/", dir+"/", "/usr/local/sbin/tell-oncall", "/bin/true").Replace(text),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	out, err := exec.Command(filepath.Join(bin, "fed"), "config", "check", "--config", dir+"/fed.yaml").CombinedOutput()
	if err != nil || strings.Count(string(out), "- name:") < strings.Count(text, "\n  - name:") {
		w.t.Errorf("%s: the configuration is not understood: %v\n%s", w.at, err, out)
	}
}

// TestNamedTestsExist holds docs/security-tests.md to the tests that it names: "`package` TestOne, TestTwo; `other` FuzzThree".
func TestNamedTestsExist(t *testing.T) {
	text, err := os.ReadFile(docs + "/security-tests.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for line := range strings.Lines(string(text)) {
		for _, m := range regexp.MustCompile("`([a-z0-9/]+)` ((?:Test|Fuzz)[A-Za-z]+(?:, (?:Test|Fuzz)[A-Za-z]+)*)").FindAllStringSubmatch(line, -1) {
			files, err := filepath.Glob(filepath.Join(root, m[1], "*_test.go"))
			if err != nil || files == nil {
				t.Errorf("%s has no tests", m[1])
			}
			source := ""
			for _, name := range files {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				source += string(text)
			}
			for _, name := range strings.Split(m[2], ", ") {
				if named++; !strings.Contains(source, "\nfunc "+name+"(") {
					t.Errorf("%s has no %s", m[1], name)
				}
			}
		}
	}
	if words := len(regexp.MustCompile(`\b(Test|Fuzz)[A-Z][A-Za-z]+`).FindAll(text, -1)); words != named || named == 0 {
		t.Errorf("%d tests are named, and %d stand behind their package", words, named)
	}
}
