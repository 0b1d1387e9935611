package monitoring

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"fsub/testbed/program"
	"fsub/testbed/simsite"
)

// patience is how long anything may take on a machine that is busy with other tests.
const patience = 3 * time.Minute

// world is a daemon over a simulated site, and a Prometheus that scrapes it each second.
type world struct {
	t                        *testing.T
	dir, metrics, prometheus string
	fed                      *exec.Cmd
	closeSite                context.CancelFunc
	site                     *simsite.Site

	more       string       // of the daemon's configuration
	credential string       // of the site; "": its key
	prepare    func(*world) // before the daemon starts
}

func (w *world) file(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(w.file(name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// run starts a program that is ended with the test, and whose output is in NAME.log.
func (w *world) run(name string, args ...string) *exec.Cmd {
	w.t.Helper()
	log, err := os.Create(w.file(name + ".log"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FSUB_") })
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if w.t.Failed() {
			text, _ := os.ReadFile(w.file(name + ".log"))
			w.t.Logf("the log of %s:\n%s", name, text[max(0, len(text)-3000):])
		}
	})
	return cmd
}

func (w *world) startFed() {
	w.fed = w.run("fed", w.file("fed"), "serve", "--config", w.file("fed.yaml"))
}

// openSite has the site answer until closeSite is called.
func (w *world) openSite() {
	w.t.Helper()
	if err := os.Remove(w.file("rest")); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	l, err := net.Listen("unix", w.file("rest"))
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.site.Serve(ctx, l)
	}()
	w.closeSite = func() { cancel(); <-done }
}

// newWorld starts all of it. more are further lines of the daemon's configuration.
func newWorld(t *testing.T, more ...string) *world {
	t.Helper()
	return newWorldWith(t, world{more: strings.Join(more, "\n")})
}

func newWorldWith(t *testing.T, with world) *world {
	t.Helper()
	prometheus := tool(t, "prometheus")
	dir, err := os.MkdirTemp("", "mon") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &with
	w.t, w.dir, w.metrics, w.prometheus = t, dir, freeAddress(t), freeAddress(t)
	if err := program.Put(dir, "fed", "fsub"); err != nil {
		t.Fatal(err)
	}
	key := rand.Text()
	w.site, err = simsite.New(simsite.Config{Name: "alpha", Clock: simsite.RealClock{}, JWTKey: []byte(key), MinJobAge: time.Minute,
		Nodes:      []simsite.NodeConfig{{Names: "a[1-4]", CPUs: 8, Mem: 32_000}},
		Partitions: []simsite.PartitionConfig{{Name: "main", Default: true}}})
	if err != nil {
		t.Fatal(err)
	}
	w.openSite()
	w.write("key", key)
	if w.credential = "key_file: " + w.file("key"); w.prepare != nil {
		w.prepare(w)
	}
	w.write("fed.yaml", fmt.Sprintf("federation: test\nsocket: %s\nstate_dir: %s\nmetrics: %q\nsites: [{name: alpha, url: \"unix:%s\", %s, no_associations: true}]\n",
		w.file("fed.sock"), w.file("state"), w.metrics, w.file("rest"), w.credential)+w.more)
	w.startFed()

	var r rules
	readYAML(t, rulesFile, &r)
	for _, g := range r.Groups { // an alert that waits for minutes is not waited for
		for i := range g.Rules {
			g.Rules[i].For = ""
		}
	}
	text, err := yaml.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	w.write("rules.yml", string(text))
	w.write("prometheus.yml", fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\nscrape_configs: [{job_name: fsub, static_configs: [{targets: [%q]}]}]\n", w.metrics))
	w.run("prometheus", prometheus, "--config.file="+w.file("prometheus.yml"), "--storage.tsdb.path="+w.file("tsdb"), "--web.listen-address="+w.prometheus)
	return w
}

// ask asks Prometheus's API.
func (w *world) ask(path string, to any) error {
	resp, err := http.Get("http://" + w.prometheus + "/api/v1/" + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(&struct{ Data any }{to})
}

// await waits until what is said holds.
func (w *world) await(what string, holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// value is what an expression comes to now; false: it has no data.
func (w *world) value(expr string) (string, bool) {
	var answer struct {
		Result []struct {
			Value [2]any `json:"value"`
		} `json:"result"`
	}
	if err := w.ask("query?query="+url.QueryEscape(expr), &answer); err != nil || len(answer.Result) == 0 {
		return "", false
	}
	return fmt.Sprint(answer.Result[0].Value[1]), true
}

func (w *world) awaitValue(expr, want string) {
	w.t.Helper()
	w.await(expr+" is "+want, func() bool {
		got, _ := w.value(expr)
		return got == want
	})
}

func (w *world) awaitAlert(name string, fires bool) {
	w.t.Helper()
	w.await(fmt.Sprintf("%s fires: %v", name, fires), func() bool {
		_, firing := w.value(fmt.Sprintf(`ALERTS{alertname=%q,alertstate="firing"}`, name))
		return firing == fires
	})
}

// TestRealPrometheus: Debian's Prometheus scrapes a daemon and reads the rules; the figures are those of the daemon's jobs and sites; alerts fire by what is done
// to the site and the daemon, and clear when that is over.
func TestRealPrometheus(t *testing.T) {
	w := newWorld(t)
	w.awaitValue(`up{job="fsub"}`, "1")
	w.awaitValue("fsub_site_answering", "1")
	w.checkRules()
	w.awaitValue(`fsub_site_nodes{state="idle"}`, "4")

	submit := func(args ...string) {
		t.Helper()
		cmd := exec.Command(w.file("fsub"), append(args, "--wrap", "sleep 600")...)
		cmd.Env, cmd.Dir = append(os.Environ(), "FSUB_SOCKET="+w.file("fed.sock")), w.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("fsub: %v\n%s", err, out)
		}
	}
	submit("-n4")
	submit("-n1", "--begin=now+1hour")
	submit("--array=1-3", "--hold")
	w.awaitValue(`sum(fsub_jobs{state="RUNNING",site="alpha"})`, "1")
	w.awaitValue(`fsub_jobs_waiting{reason="BeginTime"}`, "1")
	w.awaitValue(`fsub_jobs_waiting{reason="JobHeldUser"}`, "3")
	w.awaitValue(`fsub_site_cpus{state="used"}`, "4")
	w.awaitValue(`fsub_site_nodes{state="mixed"}`, "1")
	w.awaitValue(`fsub_job_wait_seconds_count{site="alpha"}`, "1")
	w.checkMetrics()

	for _, name := range []string{"FsubSiteNotAnswering", "FsubSiteCondition", "FsubDown"} {
		w.awaitAlert(name, false)
	}
	w.closeSite()
	w.awaitAlert("FsubSiteNotAnswering", true)
	w.awaitAlert("FsubSiteCondition", true)
	w.openSite()
	w.awaitAlert("FsubSiteNotAnswering", false)
	w.awaitAlert("FsubSiteCondition", false)

	_ = w.fed.Process.Signal(syscall.SIGTERM)
	_ = w.fed.Wait()
	w.awaitAlert("FsubDown", true)
	w.write("fed.yaml", string(must(os.ReadFile(w.file("fed.yaml"))))+"limits: {min_free_mib: 1000000000}\n") // more than any disk has
	w.startFed()
	w.awaitAlert("FsubDown", false)
	w.awaitAlert("FsubNotAcceptingJobs", true)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// checkRules holds that Prometheus has evaluated all rules.
func (w *world) checkRules() {
	w.t.Helper()
	var answer struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string } `json:"rules"`
		} `json:"groups"`
	}
	w.await("all rules are evaluated", func() bool {
		if err := w.ask("rules", &answer); err != nil {
			return false
		}
		n := 0
		for _, g := range answer.Groups {
			for _, r := range g.Rules {
				if r.Health == "err" {
					w.t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health == "ok" {
					n++
				}
			}
		}
		return n == len(allRules(w.t))
	})
}

// checkMetrics holds what the daemon shows against promtool's rules of style, and against the table of docs/monitoring.md.
func (w *world) checkMetrics() {
	w.t.Helper()
	resp, err := http.Get("http://" + w.metrics + "/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(tool(w.t, "promtool"), "check", "metrics")
	cmd.Stdin = bytes.NewReader(text.Bytes())
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	known := documentedMetrics(w.t)
	for line := range strings.Lines(text.String()) {
		if name, found := strings.CutPrefix(line, "# TYPE "); found && strings.HasPrefix(name, "fsub_") {
			if name = strings.Fields(name)[0]; !known[name] {
				w.t.Errorf("docs/monitoring.md does not tell of %s", name)
			}
		}
	}
}
