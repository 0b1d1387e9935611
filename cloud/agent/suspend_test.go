package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
)

// suspend has the orders say whether a run is suspended.
func (d *fakeServer) suspend(run string, on bool) {
	d.order(func(o *agentapi.Orders) {
		for i := range o.Runs {
			if o.Runs[i].Run == run {
				o.Runs[i].Suspend = on
			}
		}
	})
}

// pids reads the numbers of processes in files that a job has written.
func pids(t *testing.T, dir string, files ...string) (list []int) {
	t.Helper()
	for _, f := range files {
		awaitFile(t, filepath.Join(dir, f))
		text, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pid)
	}
	return list
}

// awaitStopped waits until processes are stopped, or until they are not.
func awaitStopped(t *testing.T, pids []int, want bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		stopped := func(pid int) bool { _, state := keeper.Parent(pid); return state == 'T' }
		if !slices.ContainsFunc(pids, func(pid int) bool { return stopped(pid) != want }) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("processes %v: not all stopped = %v", pids, want)
		}
	}
}

// children writes a file with the number of a process that has left the script's session, and one with the script's own, each whole from its first moment.
const twoProcesses = `whole() { echo $2 >$1.new; mv $1.new $1; }
setsid bash -c 'echo $$ >child.new; mv child.new child; while ! [ -e go ]; do sleep 0.02; done' &
whole script $$
`

// TestSuspend: every process of a suspended run is stopped, and goes on when it is resumed; the steps get the same signals. The time counts neither for the run nor for its steps.
func TestSuspend(t *testing.T) {
	d := newFakeServer(t)
	f := &fakeSteps{}
	f.steps = []agentapi.Step{{ID: "0", State: "RUNNING", Start: time.Now()}}
	startAgent(t, d, func(c *Config) { c.Steps = f })
	dir := d.launch("r1", twoProcesses+"wait; echo done", nil)
	list := pids(t, dir, "child", "script")
	d.suspend("r1", true)
	awaitStopped(t, list, true)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := output(t, dir); got != "" {
		t.Errorf("while it is suspended it wrote %q", got)
	}
	d.suspend("r1", false)
	d.await("the step is told of", func() bool {
		s := d.told["r1"].Steps
		return len(s) == 2 && s[0].Suspended > 0 && s[1].Suspended > 0
	})
	if s := d.awaitEnd("r1"); s.Exit != 0 || s.Why != "" || s.Steps[0].Suspended == 0 {
		t.Errorf("%+v", s)
	}
	if got := output(t, dir); got != "done\n" {
		t.Errorf("it wrote %q", got)
	}
	said := slices.Compact(f.said()) // SIGSTOP is repeated
	if got, want := said, []string{"add r1", "pause r1", "signal r1 stopped", "signal r1 stopped (signal)", "resume r1", "signal r1 continued", "stop r1 ", "remove r1"}; !slices.Equal(got, want) {
		t.Errorf("steps were asked %q, not %q", got, want)
	}
}

// TestSuspendedEnds: a suspended run that is cancelled is killed where it stands; one whose machine is taken goes on and is told.
func TestSuspendedEnds(t *testing.T) {
	for name, c := range map[string]struct {
		stop agentapi.Stop
		exit string
		says string
	}{
		"cancelled": {agentapi.Stop{Why: agentapi.WhyCancel}, "0:9", ""},
		"preempted": {agentapi.Stop{Why: agentapi.WhyPreempt, Grace: 2 * time.Minute}, "5:0", "term\n"},
		"machine":   {agentapi.Stop{Why: agentapi.WhyNode, Grace: 2 * time.Minute}, "5:0", "term\n"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFakeServer(t)
			startAgent(t, d, nil)
			dir := d.launch("r1", "trap 'echo term; exit 5' TERM\n"+twoProcesses+"while :; do sleep 0.02; done", nil)
			list := pids(t, dir, "child", "script")
			d.suspend("r1", true)
			awaitStopped(t, list, true)
			d.order(func(o *agentapi.Orders) { o.Runs[0].Stop = &c.stop })
			if s := d.awaitEnd("r1"); exitCode(s) != c.exit || s.Why != c.stop.Why {
				t.Errorf("%+v", s)
			}
			if got := output(t, dir); !strings.HasSuffix(got, c.says) || c.says == "" && got != "" {
				t.Errorf("it wrote %q", got)
			}
		})
	}
}

// TestSuspendedScriptKilled: where somebody kills the script of a suspended run, the sruns that it leaves behind go on, and can say their last words.
func TestSuspendedScriptKilled(t *testing.T) {
	d := newFakeServer(t)
	f := &fakeSteps{steps: []agentapi.Step{{ID: "0", State: "RUNNING", Start: time.Now()}}}
	startAgent(t, d, func(c *Config) { c.Steps = f })
	dir := d.launch("r1", `whole() { echo $2 >$1.new; mv $1.new $1; }
printf '#!/bin/bash\necho $$ >child.new; mv child.new child; while ! [ -e ended ]; do sleep 0.02; done; echo last words\n' >srun
chmod +x srun
./srun &
whole script $$
while :; do sleep 0.02; done`, nil)
	f.set(func() {
		f.stopped = func() {
			if err := os.WriteFile(filepath.Join(dir, "ended"), nil, 0o644); err != nil {
				t.Error(err)
			}
			f.set(func() { f.steps[0].End = time.Now() })
		}
	})
	list := pids(t, dir, "child", "script")
	d.suspend("r1", true)
	awaitStopped(t, list, true)
	if err := syscall.Kill(list[1], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if s := d.awaitEnd("r1"); exitCode(s) != "0:9" || s.Steps[0].Suspended == 0 {
		t.Errorf("%+v", s)
	}
	if got := output(t, dir); !strings.HasSuffix(got, "last words\n") {
		t.Errorf("it wrote %q", got)
	}
	said := f.said()
	if i := slices.Index(said, "resume r1"); i < 0 || said[i+1] != "signal r1 continued" {
		t.Errorf("steps were asked %q", said)
	}
}

// TestPausing: what a run was suspended for counts within a time, and a time limit is so much later; while it is suspended there is none.
func TestPausing(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1_800_000_000+int64(s), 0) }
	p := pausing{on: true, spans: []span{{at(10), at(20)}, {at(50), at(80)}, {from: at(100)}}}
	for _, c := range []struct{ from, to, want int }{{0, 200, 40}, {15, 60, 15}, {20, 50, 0}, {60, 70, 10}, {90, 110, 0}} {
		if got := p.within(at(c.from), at(c.to)); got != time.Duration(c.want)*time.Second {
			t.Errorf("from %d to %d: %s, not %d s", c.from, c.to, got, c.want)
		}
	}
	now := time.Now()
	a := &Agent{}
	r := a.newRun(&agentapi.Launch{Run: "r1", Start: now.Add(-time.Hour), Groups: []agentapi.Group{{Nodes: []agentapi.Node{{}}}}})
	r.begin = r.l.Start
	r.pause.spans = []span{{now.Add(-50 * time.Minute), now.Add(-10 * time.Minute)}}
	for limit, want := range map[time.Duration]time.Duration{10 * time.Minute: -10 * time.Minute, 30 * time.Minute: 10 * time.Minute} {
		if got := r.left(limit, now); got != want {
			t.Errorf("it has run for 20 minutes, and may for %s: %s are left", limit, got)
		}
	}
	r.pause.on = true
	if limit, warning := r.deadlines(10 * time.Minute); limit != nil || warning != nil {
		t.Error("the limit of a suspended run runs")
	}
}
