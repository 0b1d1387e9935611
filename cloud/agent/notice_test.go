package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
	"fsub/sbatch"
)

// leave leaves a notice where a local machine finds it.
func leave(t *testing.T, path string, n agentapi.Notice) {
	t.Helper()
	text, err := json.Marshal(n)
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o644)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestPreempt(t *testing.T) {
	t.Parallel()
	checkpoint := "touch checkpoint; exit 0"
	wait := "touch began; while :; do sleep 0.01; done"
	warn := func(l *agentapi.Launch) {
		l.Groups[0].Spec.Signal = &sbatch.Signal{Name: "USR1", BatchOnly: true, Before: time.Minute}
	}
	for name, c := range map[string]struct {
		script string
		more   func(*agentapi.Launch)
		lead   time.Duration
		exit   string
		says   bool // a checkpoint was written
	}{
		"term":         {"trap '" + checkpoint + "' TERM; " + wait, nil, time.Minute, "0:0", true},
		"signal":       {"trap '" + checkpoint + "' USR1; trap '' TERM; " + wait, warn, time.Minute, "0:0", true},
		"signal, term": {"trap '' USR1; trap '" + checkpoint + "' TERM; " + wait, func(l *agentapi.Launch) { warn(l); l.KillWait = time.Hour }, 20 * time.Second, "0:0", true},
		"never":        {"trap '' TERM; " + wait, nil, time.Second, "0:9", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFakeServer(t)
			file := filepath.Join(d.dir, "notice")
			startAgent(t, d, func(c *Config) { c.Boot.Metadata = "file:" + file })
			dir := d.launch("r1", c.script, c.more)
			awaitFile(t, filepath.Join(dir, "began"))
			at := time.Now().Add(c.lead).UTC().Round(0)
			leave(t, file, agentapi.Notice{Kind: agentapi.NoticePreempt, At: at})
			s := d.awaitEnd("r1")
			if s.Why != agentapi.WhyPreempt || exitCode(s) != c.exit {
				t.Errorf("%+v", s)
			}
			if _, err := os.Stat(filepath.Join(dir, "checkpoint")); (err == nil) != c.says {
				t.Errorf("checkpoint: %v", err)
			}
			if !strings.Contains(output(t, dir), "DUE TO PREEMPTION ***\n") {
				t.Errorf("it wrote %q", output(t, dir))
			}
			d.await("the notice", func() bool { return len(d.notices) > 0 })
			if len(d.notices) != 1 || !d.notices[0].At.Equal(at) {
				t.Errorf("notices %v", d.notices)
			}
		})
	}
}

// The daemon tells a gang of the notice that one of its machines has had, more than once. A job that asks for a signal has all the time that there is.
func TestPreemptedGang(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	dir := d.launch("r1", `trap 'touch warned' USR1; trap 'touch early' TERM; touch began; while ! [ -e saved ]; do sleep 0.01; done`, func(l *agentapi.Launch) {
		l.Groups[0].Spec.Signal = &sbatch.Signal{Name: "USR1", BatchOnly: true, Before: time.Minute}
	})
	awaitFile(t, filepath.Join(dir, "began"))
	for i := range 4 {
		d.order(func(o *agentapi.Orders) {
			o.Runs[0].Stop = &agentapi.Stop{Why: agentapi.WhyPreempt, Grace: time.Minute + time.Duration(i/2)*time.Second}
		})
		awaitFile(t, filepath.Join(dir, "warned"))
		time.Sleep(20 * time.Millisecond)
	}
	os.WriteFile(filepath.Join(dir, "saved"), nil, 0o644)
	if s := d.awaitEnd("r1"); s.Why != agentapi.WhyPreempt || s.Exit != 0 {
		t.Errorf("%+v", s)
	}
	if _, err := os.Stat(filepath.Join(dir, "early")); err == nil {
		t.Error("SIGTERM came while there was time")
	}
}

// A script that feels the machine's shutdown before its agent does has not failed: the machine has.
func TestShutdown(t *testing.T) {
	for name, c := range map[string]struct {
		notice, told bool
		exit         string
		why          agentapi.Why
	}{
		"noticed only then":     {true, false, "exit 1", agentapi.WhyPreempt},
		"shut down":             {false, true, "exit 143", agentapi.WhyNode},
		"killed":                {false, true, "trap - TERM; kill $$", agentapi.WhyNode},
		"noticed and shut down": {true, true, "exit 143", agentapi.WhyPreempt},
		"failed":                {false, false, "exit 143", agentapi.WhyExit},
		"ended":                 {true, false, "exit 0", agentapi.WhyExit},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFakeServer(t)
			file := filepath.Join(d.dir, "notice")
			a := newAgent(t, d, nil)
			looked := make(chan struct{}, 100)
			a.look = func(context.Context) (*agentapi.Notice, error) {
				defer func() { looked <- struct{}{} }()
				return noticeFile(file)
			}
			a.every = time.Hour
			if c.told {
				a.gap = time.Hour
			}
			a.start(t)
			<-looked // of itself, and not again
			text, _ := json.Marshal(agentapi.Notice{Kind: agentapi.NoticePreempt, At: time.Now().Add(time.Minute)})
			script := c.exit
			if c.told {
				script = "touch ending; " + script
			}
			if c.notice { // who hears that the machine ends finds it
				script = "echo '" + string(text) + "' >" + file + "; " + script
			}
			dir := d.launch("r1", script, nil)
			if c.told {
				awaitFile(t, filepath.Join(dir, "ending"))
				a.stop()
			}
			if s := d.awaitEnd("r1"); s.Why != c.why {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A script that the machine's shutdown met before it had begun has not failed either.
func TestShutdownBeforeTheScript(t *testing.T) {
	for name, c := range map[string]struct {
		notice bool
		why    agentapi.Why
	}{
		"noticed": {true, agentapi.WhyPreempt},
		"failed":  {false, agentapi.WhyLaunch},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFakeServer(t)
			file := filepath.Join(d.dir, "notice")
			startAgent(t, d, func(c *Config) { c.Boot.Metadata = "file:" + file })
			fifo := filepath.Join(d.dir, "fifo")
			if err := syscall.Mkfifo(fifo, 0o666); err != nil {
				t.Fatal(err)
			}
			before := stages()
			d.launch("r1", "true", func(l *agentapi.Launch) { l.Groups[0].Spec.Output = fifo }) // it waits for a reader, and there is none
			var stage []int
			for len(stage) == 0 { // the script is about to begin
				time.Sleep(time.Millisecond)
				stage = slices.DeleteFunc(stages(), func(pid int) bool { return slices.Contains(before, pid) })
			}
			if c.notice {
				leave(t, file, agentapi.Notice{Kind: agentapi.NoticePreempt, At: time.Now().Add(time.Minute)})
			}
			if err := syscall.Kill(stage[0], syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if s := d.awaitEnd("r1"); s.Why != c.why {
				t.Errorf("%+v", s)
			}
		})
	}
}

// stages are the processes of this one's keepers that are to become scripts.
func stages() (list []int) {
	for _, k := range keeper.Children(os.Getpid()) {
		for _, pid := range keeper.Children(k) {
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.TrimRight(string(name), "\x00") == "fed-agent: stage" {
				list = append(list, pid)
			}
		}
	}
	return list
}

// fakeIMDS answers as EC2's instance metadata service does, with a token only.
type fakeIMDS struct {
	mu    sync.Mutex
	data  map[string]string
	asked map[string]int
}

func (f *fakeIMDS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[r.URL.Path]++
	if r.URL.Path == "/latest/api/token" && r.Method == http.MethodPut && r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") != "" {
		w.Write([]byte("the-token"))
		return
	}
	if r.Header.Get("X-aws-ec2-metadata-token") != "the-token" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	text, ok := f.data[strings.TrimPrefix(r.URL.Path, "/latest/meta-data/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Write([]byte(text))
}

func TestEC2(t *testing.T) {
	f := &fakeIMDS{data: map[string]string{"instance-id": "i-0abc"}, asked: map[string]int{}}
	server := httptest.NewServer(f)
	defer server.Close()
	began := time.Now()
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.URL+"/")
	d := newFakeServer(t)
	d.metadata = "ec2"
	startAgent(t, d, func(c *Config) { c.Boot.Instance, c.Boot.Metadata = "", "ec2" })
	d.await("the machine", func() bool { return len(d.hellos) == 1 && d.hellos[0].Instance == "i-0abc" })
	f.mu.Lock()
	f.data["events/recommendations/rebalance"] = `{"noticeTime":"2026-11-05T08:22:00Z"}`
	f.mu.Unlock()
	d.await("the advice", func() bool { return len(d.notices) == 1 && d.notices[0].Kind == agentapi.NoticeRebalance })
	f.mu.Lock()
	f.data["spot/instance-action"] = `{"action":"terminate","time":"2026-11-05T08:24:00Z"}`
	f.mu.Unlock()
	d.await("the end", func() bool { return len(d.notices) == 2 })
	if n := d.notices[1]; n.Kind != agentapi.NoticePreempt || !n.At.Equal(time.Date(2026, 11, 5, 8, 24, 0, 0, time.UTC)) {
		t.Errorf("%+v", n)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.asked["/latest/api/token"]; n > 2+int(time.Since(began)/imdsTime) { // an answer that does not come in time takes its token along
		t.Errorf("%d tokens were asked for", n)
	}
}

func TestAzure(t *testing.T) {
	var mu sync.Mutex
	events := `{"DocumentIncarnation":1,"Events":[]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		answer := map[string]string{
			"/metadata/instance/compute?api-version=2021-02-01": `{"name":"fsub-0a1b_7"}`,
			"/metadata/scheduledevents?api-version=2020-07-01":  events,
		}[r.URL.String()]
		if r.Header.Get("Metadata") != "true" || answer == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Write([]byte(answer))
	}))
	defer server.Close()
	t.Setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", server.URL+"/")
	d := newFakeServer(t)
	d.metadata = "azure"
	startAgent(t, d, func(c *Config) { c.Boot.Instance, c.Boot.Metadata = "", "azure" })
	d.await("the machine", func() bool { return len(d.hellos) == 1 && d.hellos[0].Instance == "fsub-0a1b_7" })
	mu.Lock()
	events = `{"Events":[{"EventType":"Freeze","Resources":["FSUB-0A1B_7"],"NotBefore":"Thu, 05 Nov 2026 08:20:00 GMT"},
		{"EventType":"Preempt","Resources":["another"],"NotBefore":"Thu, 05 Nov 2026 08:22:00 GMT"},
		{"EventType":"Preempt","Resources":["FSUB-0A1B_7"],"NotBefore":"Thu, 05 Nov 2026 08:24:00 GMT"}]}`
	mu.Unlock()
	d.await("the end", func() bool { return len(d.notices) == 1 })
	if n := d.notices[0]; n.Kind != agentapi.NoticePreempt || !n.At.Equal(time.Date(2026, 11, 5, 8, 24, 0, 0, time.UTC)) {
		t.Errorf("%+v", n)
	}
}
