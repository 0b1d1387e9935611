// Package demo tests what make demo shows, over a bed of its own.
package demo

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fsub/testbed/program"
	"fsub/testbed/suite"
)

var (
	world suite.Suite
	env   []string // of the demo's scripts
)

func TestMain(m *testing.M) {
	world.Main(m, suite.Config{Name: "demo", Sites: []string{"alpha", "beta"}, Start: func(context.Context) error {
		programs := filepath.Join(world.Dir, "programs")
		env = append(os.Environ(), "FSUB_BED="+world.Bed.Dir(), program.Folder+"="+programs)
		world.Defer(func() error { return script("daemon.sh", "stop").Run() })
		return program.Put(programs, "fsub", "fed", "fed-agent", "bed")
	}})
}

func script(name string, args ...string) *exec.Cmd {
	cmd := exec.Command("./"+name, args...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	return cmd
}

// TestDemo: five jobs of an ordinary user run on two Slurm clusters, this machine and rented ones, and are shown with why and at what cost.
func TestDemo(t *testing.T) {
	world.Need(t)
	out, err := script("demo.sh").Output()
	if err != nil {
		t.Errorf("the demo failed: %v", err)
	}
	for what, want := range map[string]int{
		`(?m)^Submitted batch job \d+$`:             5, // by fsub
		`(?m)^== Job \d+: where it went, and why$`:  5,
		`(?m)^job \d+  .*\d`:                        5, // what it cost
		`(?m)^DEMO OK: 5 jobs ran on two Slurm cl`:  1,
		`(?m)^  state +COMPLETED`:                   5, // by fed job show
		`(?m)^(alpha|beta)\$ sacct .*at the site\)`: 2, // of each cluster one job at least
	} {
		if got := len(regexp.MustCompile(what).FindAll(out, -1)); got < want {
			t.Errorf("the demo shows %d times %q, want %d", got, what, want)
		}
	}
	page := jobsPage(t, out)
	for _, id := range regexp.MustCompile(`(?m)^Submitted batch job (\d+)$`).FindAllSubmatch(out, -1) {
		if !strings.Contains(page, ">"+string(id[1])) { // or ID_TASK of an array
			t.Errorf("the page does not show job %s: %s", id[1], page)
		}
	}
	if t.Failed() {
		t.Logf("it printed:\n%s", bytes.TrimSpace(out))
	}
}

// jobsPage signs in by the address that the demo has printed, and reads the page of the jobs that have ended.
func jobsPage(t *testing.T, out []byte) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^    (http://127\.0\.0\.1:\d+)/login#(alice\.\S+)$`).FindSubmatch(out)
	if m == nil {
		t.Error("the demo prints no address of the page with a ticket")
		return ""
	}
	at := string(m[1])
	jar, _ := cookiejar.New(nil)
	browser := http.Client{Jar: jar}
	resp, err := browser.PostForm(at+"/login", url.Values{"ticket": {string(m[2])}, "to": {"/jobs?state=ended"}})
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("signing in by the ticket: %d %v", resp.StatusCode, err)
	}
	return string(text)
}

// TestUsedBed: a second demo on the same clusters says that their queues are not empty, and its jobs run once there is room.
func TestUsedBed(t *testing.T) {
	world.Need(t)
	if _, err := world.Bed.Output(t.Context(), "alpha", "carol", "sbatch", "--nodes=4", "--exclusive", "--output=/dev/null", "--wrap", "sleep 25"); err != nil {
		t.Fatal(err)
	}
	cmd := script("demo.sh")
	var told bytes.Buffer
	cmd.Stderr = io.MultiWriter(os.Stderr, &told)
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("the demo failed: %v", err)
	}
	for _, want := range []string{"The queue of alpha is not empty (jobs: 1).", "DEMO OK: 5 jobs"} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("it does not say %q", want)
		}
	}
	if want := regexp.MustCompile(`demo: job \d+ after \d+ s: PENDING \(\w+\)`); !want.Match(told.Bytes()) {
		t.Errorf("it does not say what it waits for: %s", told.Bytes())
	}
	if t.Failed() {
		t.Logf("it printed:\n%s", bytes.TrimSpace(out))
	}
}
