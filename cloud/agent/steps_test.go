package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/steps"
)

// fakeSteps writes down what it is asked.
type fakeSteps struct {
	mu    sync.Mutex
	calls []string
	local int
	steps []agentapi.Step

	stopped func() // called by Stop
}

func (f *fakeSteps) note(format string, a ...any) {
	f.mu.Lock()
	f.calls = append(f.calls, fmt.Sprintf(format, a...))
	f.mu.Unlock()
}

func (f *fakeSteps) Addr() string { return "10.0.0.1:7" }
func (f *fakeSteps) AddRun(r steps.Run) ([]string, error) {
	f.note("add %s %s", r.Launch.Run, strings.Join(r.Env, " "))
	return []string{"FSUB_STEPS=here"}, nil
}
func (f *fakeSteps) Lose(run string, nodes []string) { f.note("lose %s %q", run, nodes) }
func (f *fakeSteps) RemoveRun(run string)            { f.note("remove %s", run) }
func (f *fakeSteps) Signal(run, step string, sig syscall.Signal) error {
	f.note("signal %s %v", run+strings.TrimSuffix("."+step, "."), sig)
	return nil
}
func (f *fakeSteps) Cancel(run, step string, by uint32) error {
	f.note("cancel %s.%s for %d", run, step, by)
	return nil
}
func (f *fakeSteps) Pause(run string)  { f.note("pause %s", run) }
func (f *fakeSteps) Resume(run string) { f.note("resume %s", run) }
func (f *fakeSteps) Stop(run string, s steps.Stop) {
	f.note("stop %s %s", run, s.Why)
	var then func()
	if f.set(func() { then = f.stopped }); then != nil {
		then()
	}
}
func (f *fakeSteps) Close() error { return nil }

func (f *fakeSteps) Processes(string) []int { return nil }
func (f *fakeSteps) Local(string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.local
}

func (f *fakeSteps) Status(string) []agentapi.Step {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.steps)
}

func (f *fakeSteps) set(change func()) {
	f.mu.Lock()
	change()
	f.mu.Unlock()
}

// said is what was asked, without what follows the second word of "add".
func (f *fakeSteps) said() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if w := strings.Fields(c); w[0] == "add" {
			c = w[0] + " " + w[1]
		}
		list = append(list, c)
	}
	return list
}

// await waits until something was asked.
func (f *fakeSteps) await(call string) {
	for !slices.Contains(f.said(), call) {
		time.Sleep(time.Millisecond)
	}
}

// Steps know of a run before its script begins, get the signals that are theirs, and are ended with it. They are told of while it runs.
func TestHeadAndSteps(t *testing.T) {
	d := newFakeServer(t)
	f := &fakeSteps{}
	startAgent(t, d, func(c *Config) { c.Steps = f })
	dir := d.launch("r1", "echo $FSUB_STEPS $FSUB_SOCKET; touch began; while ! [ -e go ]; do sleep 0.01; done", nil)
	awaitFile(t, filepath.Join(dir, "began"))
	d.order(func(o *agentapi.Orders) { o.Signals = []agentapi.Signal{{Seq: 1, Run: "r1", Name: "USR1"}} })
	f.await("signal r1 user defined signal 1")
	f.set(func() { f.steps = []agentapi.Step{{ID: "0", State: "RUNNING"}} })
	d.await("the step", func() bool { s := d.told["r1"].Steps; return len(s) == 2 && s[1].State == "RUNNING" })
	f.set(func() { f.steps[0].State, f.steps[0].End = "COMPLETED", time.Now() })
	d.await("the step's end", func() bool { s := d.told["r1"].Steps; return len(s) == 2 && s[1].State == "COMPLETED" })
	os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
	s := d.awaitEnd("r1")
	if len(s.Steps) != 2 || s.Steps[0].ID != "batch" || s.Steps[0].End.IsZero() || s.Steps[1].ID != "0" {
		t.Errorf("steps %+v", s.Steps)
	}
	if got, want := f.said(), []string{"add r1", "signal r1 user defined signal 1", "stop r1 ", "remove r1"}; !slices.Equal(got, want) {
		t.Errorf("steps were asked %q, not %q", got, want)
	}
	if got := output(t, dir); !strings.HasPrefix(got, "here /") {
		t.Errorf("it wrote %q", got)
	}
	if d.hellos[0].Steps != "10.0.0.1:7" {
		t.Errorf("hello: %+v", d.hellos[0])
	}
}

// TestStepSignals: orders to a step reach the step service in their order, and one to a step that does not run is told of as such, until the daemon knows.
func TestStepSignals(t *testing.T) {
	d := newFakeServer(t)
	f := &fakeSteps{steps: []agentapi.Step{{ID: "0", State: "RUNNING"}, {ID: "1", State: "COMPLETED", End: time.Now()}}}
	startAgent(t, d, func(c *Config) { c.Steps = f })
	dir := d.launch("r1", "touch began; while ! [ -e go ]; do sleep 0.01; done", nil)
	awaitFile(t, filepath.Join(dir, "began"))
	d.order(func(o *agentapi.Orders) {
		o.Signals = []agentapi.Signal{{Seq: 7, Run: "r1", Name: "USR2"}}
		o.StepSignals = []agentapi.Signal{{Seq: 3, Run: "r1", Step: "0", Name: "USR1"}, {Seq: 4, Run: "r1", Step: "1", Name: "USR1"}, {Seq: 5, Run: "r1", Step: "0", By: 7001},
			{Seq: 6, Run: "r9", Step: "0"}}
	})
	d.await("what it has missed", func() bool { return d.polled.Signals == 7 && slices.Equal(d.polled.Missed, []uint64{4, 6}) })
	for _, call := range []string{"signal r1.0 user defined signal 1", "cancel r1.0 for 7001", "signal r1 user defined signal 2"} {
		f.await(call)
	}
	d.order(func(*agentapi.Orders) {}) // an answer: it need not say that again
	d.await("the next poll", func() bool { return d.polled.Version == d.orders.Version && len(d.polled.Missed) == 0 })
	os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
	d.awaitEnd("r1")
	got := f.said()
	slices.Sort(got)
	if want := []string{"add r1", "cancel r1.0 for 7001", "remove r1", "signal r1 user defined signal 2", "signal r1.0 user defined signal 1", "stop r1 "}; !slices.Equal(got, want) {
		t.Errorf("steps were asked %q, not %q", got, want)
	}
}

// Of a job with many steps only those are told that have changed, but for a daemon that has begun anew: it is told all, and so are the books at the end.
func TestStepsAreToldOnce(t *testing.T) {
	d := newFakeServer(t)
	f := &fakeSteps{}
	for i := range 1000 {
		f.steps = append(f.steps, agentapi.Step{ID: strconv.Itoa(i), State: "COMPLETED"})
	}
	d.order(func(o *agentapi.Orders) { o.Daemon = "one" })
	a := startAgent(t, d, func(c *Config) { c.Steps = f })
	dir := d.launch("r1", "touch began; while ! [ -e go ]; do sleep 0.01; done", nil)
	awaitFile(t, filepath.Join(dir, "began"))
	d.await("the first steps", func() bool { return len(d.told["r1"].Steps) == 1001 })
	for more := true; more; time.Sleep(time.Millisecond) { // the answer comes some time after the news
		a.news.mu.Lock()
		more = len(a.news.runs) > 0
		a.news.mu.Unlock()
	}
	count := func() (n int) { d.set(func() { n = d.steps }); return n }
	first := count()
	f.set(func() { f.steps = append(f.steps, agentapi.Step{ID: "1000", State: "RUNNING"}) })
	d.await("one more", func() bool { return len(d.told["r1"].Steps) == 1002 })
	if n := count() - first; n != 1 {
		t.Errorf("%d steps were sent for one that has begun", n)
	}
	d.set(func() { d.told["r1"] = agentapi.Status{} })
	d.order(func(o *agentapi.Orders) { o.Daemon = "two" })
	d.await("all once more", func() bool { return len(d.told["r1"].Steps) == 1002 })
	os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
	if s := d.awaitEnd("r1"); len(s.Steps) != 1002 {
		t.Errorf("%d steps at the end", len(s.Steps))
	}
}

// A script does not go on after an srun that was ended with its job: it has had its SIGTERM by then.
func TestScriptIsToldFirst(t *testing.T) {
	d := newFakeServer(t)
	f := &fakeSteps{steps: []agentapi.Step{{ID: "0", State: "RUNNING"}}}
	startAgent(t, d, func(c *Config) { c.Steps = f })
	dir := d.launch("r1", "touch began; bash -c 'while ! [ -e ended ]; do :; done'; echo survived", nil)
	stopped := func() {
		os.WriteFile(filepath.Join(dir, "ended"), nil, 0o644) // srun ends with its step
		f.set(func() { f.steps[0].End = time.Now() })
	}
	f.set(func() { f.stopped = stopped })
	awaitFile(t, filepath.Join(dir, "began"))
	d.order(func(o *agentapi.Orders) {
		o.Runs[0].Stop = &agentapi.Stop{Why: agentapi.WhyCancel, Grace: 5 * time.Second}
	})
	if s := d.awaitEnd("r1"); s.Exit != int32(syscall.SIGTERM) || s.Steps[0].State != "CANCELLED" {
		t.Errorf("it ended with %s, its batch step %+v", exitCode(s), s.Steps[0])
	}
	if got := output(t, dir); strings.Contains(got, "survived") {
		t.Errorf("it wrote %q", got)
	}
}

// What a script's handler starts is not met by the SIGTERM for what was there before.
func TestHandlerHasItsTime(t *testing.T) {
	d := newFakeServer(t)
	f := &fakeSteps{steps: []agentapi.Step{{ID: "0", State: "RUNNING"}}}
	f.set(func() { f.stopped = func() { f.set(func() { f.steps[0].End = time.Now() }) } })
	startAgent(t, d, func(c *Config) { c.Steps = f })
	dir := d.launch("r1", `trap 'sleep 0.3 && echo saved; wait; exit 0' TERM
		(trap 'echo child; exit' TERM; touch child; while :; do sleep 0.01; done) &
		while ! [ -e child ]; do sleep 0.01; done; touch began; while :; do sleep 0.01; done`, nil)
	awaitFile(t, filepath.Join(dir, "began"))
	d.order(func(o *agentapi.Orders) {
		o.Runs[0].Stop = &agentapi.Stop{Why: agentapi.WhyCancel, Grace: 5 * time.Second}
	})
	d.awaitEnd("r1")
	if got := output(t, dir); !strings.HasSuffix(got, "child\nsaved\n") {
		t.Errorf("it wrote %q", got)
	}
}

// A further machine of a gang runs no script. Told to stop, it gives its steps the time that they were given.
func TestMember(t *testing.T) {
	second := func(l *agentapi.Launch) {
		l.Groups[0].Nodes = append(l.Groups[0].Nodes, agentapi.Node{Name: "node-2", Addr: "127.0.0.1"})
		l.Node = 1
	}
	for name, c := range map[string]struct {
		grace time.Duration
		ends  bool // the steps end by themselves
	}{
		"ends":  {time.Hour, true},
		"never": {200 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFakeServer(t)
			f := &fakeSteps{local: 1}
			startAgent(t, d, func(c *Config) { c.Steps = f })
			dir := d.launch("r1", "touch ran", second)
			d.await("the machine is ready", func() bool { return d.told["r1"].State == agentapi.RunReady })
			d.order(func(o *agentapi.Orders) {
				o.Runs[0].Stop = &agentapi.Stop{Why: agentapi.WhyCancel, Grace: c.grace}
			})
			if c.ends {
				time.Sleep(50 * time.Millisecond)
				if slices.Contains(f.said(), "remove r1") {
					t.Error("its steps were killed at once")
				}
				f.set(func() { f.local = 0 })
			}
			if s := d.awaitEnd("r1"); s.Why != agentapi.WhyCancel || s.Steps != nil {
				t.Errorf("%+v", s)
			}
			if got, want := f.said(), []string{"add r1", "remove r1"}; !slices.Equal(got, want) {
				t.Errorf("steps were asked %q, not %q", got, want)
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				t.Error("it ran the script")
			}
		})
	}
}

// What a login shell has is there where it was asked for, whatever the profile prints.
func TestLogin(t *testing.T) {
	home := testDir(t)
	os.WriteFile(filepath.Join(home, ".bash_profile"), []byte("echo welcome\nexport FROM_PROFILE='two\nlines'\n"), 0o644)
	u := me()
	u.Home, u.Name = home, "no such user" // su would go to the user's own home
	env := loginEnvironment(u, nil, logger(t))
	if !slices.Contains(env, "FROM_PROFILE=two\nlines") || !slices.Contains(env, "HOME="+home) {
		t.Errorf("%q", env)
	}
	d := newFakeServer(t)
	startAgent(t, d, nil)
	dir := d.launch("r1", `echo "$FROM_PROFILE"`, func(l *agentapi.Launch) {
		l.User = u
		l.Environment = append(l.Environment, "SLURM_GET_USER_ENV=1")
	})
	d.awaitEnd("r1")
	if got := output(t, dir); got != "two\nlines\n" {
		t.Errorf("it wrote %q", got)
	}
}
