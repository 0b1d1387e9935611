package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/sbatch"
)

func TestBatch(t *testing.T) {
	d := newFakeServer(t)
	d.early = 2
	a := startAgent(t, d, nil)
	dir := d.launch("r1", `echo "job $SLURM_JOB_ID args $# $2"; echo "$0"; stat -c '%a %u' "$0" "${0%/*}"; pwd; [ $SLURM_TASK_PID = $$ ] && echo pid; exit 3`,
		func(l *agentapi.Launch) { l.Argv = []string{"a", "b c"} })
	s := d.awaitEnd("r1")
	if exitCode(s) != "3:0" || s.Why != "" || s.Start.IsZero() || s.End.Before(s.Start) {
		t.Errorf("it ended with %+v", s)
	}
	uid := strconv.Itoa(os.Getuid())
	spool := filepath.Join(a.dir, "spool", "job30000001")
	want := "job 30000001 args 2 b c\n" + spool + "/slurm_script\n700 " + uid + "\n750 " + uid + "\n" + dir + "\npid\n"
	if got := output(t, dir); got != want {
		t.Errorf("it wrote %q, not %q", got, want)
	}
	if len(s.Steps) != 1 || s.Steps[0].ID != "batch" || s.Steps[0].State != "FAILED" || s.Steps[0].End.IsZero() {
		t.Errorf("steps %+v", s.Steps)
	}
	if left, _ := filepath.Glob(filepath.Join(a.dir, "spool", "*")); left != nil {
		t.Errorf("the spool still has %v", left)
	}
	if len(d.hellos) != 1 || d.hellos[0].Instance != "i-1" || d.hellos[0].CPUs == 0 || d.hellos[0].MemMiB == 0 {
		t.Errorf("hellos: %+v", d.hellos)
	}
	d.order(func(o *agentapi.Orders) { o.Runs[0].Ended = true })
	d.order(func(o *agentapi.Orders) { o.End = "idle" })
	<-a.done
	if a.err != nil || d.ending != "idle" {
		t.Errorf("the agent ended with %v, and said %q", a.err, d.ending)
	}
}

// What was told twice, or told by an answer that got lost, changes nothing; what was not answered is told again.
func TestLostAnswers(t *testing.T) {
	d := newFakeServer(t)
	d.lost = 3
	startAgent(t, d, nil)
	dir := d.launch("r1", "echo once >>ran", nil)
	d.awaitEnd("r1")
	d.await("all answers are lost", func() bool { return d.lost == 0 })
	if text, _ := os.ReadFile(filepath.Join(dir, "ran")); string(text) != "once\n" {
		t.Errorf("ran: %q", text)
	}
}

// The daemon may go away and come again while a job runs.
func TestDaemonRestarts(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	dir := d.launch("r1", "touch began; while ! [ -e go ]; do sleep 0.01; done; echo done", nil)
	awaitFile(t, filepath.Join(dir, "began"))
	d.set(func() { d.down = true })
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(output(t, dir), "done") {
		time.Sleep(time.Millisecond)
	}
	d.set(func() { d.down = false })
	if s := d.awaitEnd("r1"); s.Exit != 0 || s.Why != "" {
		t.Errorf("%+v", s)
	}
}

// A daemon that leads no longer can end nothing, nor start anything: neither what it orders counts, nor that it has answered.
func TestOlderEpoch(t *testing.T) {
	d := newFakeServer(t)
	a := startAgent(t, d, nil)
	d.order(func(o *agentapi.Orders) { o.Epoch = 5 })
	dir := d.launch("r1", "touch began; while ! [ -e go ]; do sleep 0.01; done", nil)
	awaitFile(t, filepath.Join(dir, "began"))
	var saved []agentapi.Order
	d.order(func(o *agentapi.Orders) { o.Epoch, o.End, saved, o.Runs = 4, "idle", o.Runs, nil })
	polls := 0
	d.set(func() { polls = d.polls })
	d.await("the agent has refused", func() bool { return d.polls > polls+3 })
	a.mu.Lock()
	if a.ending != "" || a.version == d.orders.Version {
		t.Errorf("orders of an older epoch were carried out: %q", a.ending)
	}
	a.mu.Unlock()
	d.set(func() {
		if d.epoch != "5" {
			t.Errorf("the agent has seen epoch 5, and says %q", d.epoch)
		}
	})
	d.order(func(o *agentapi.Orders) { o.Epoch, o.End, o.Runs = 6, "", saved })
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if s := d.awaitEnd("r1"); s.Exit != 0 || s.Why != "" {
		t.Errorf("%+v", s)
	}
	d.order(func(o *agentapi.Orders) { o.Epoch, o.End = 0, "a daemon that is alone says so" })
	<-a.done
}

// A lease that lapses ends the jobs, then the machine.
func TestLeaseLapses(t *testing.T) {
	t.Parallel()
	d := newFakeServer(t)
	d.lease = 10 * time.Second
	a := startAgent(t, d, nil)
	dir := d.launch("r1", "trap 'echo term; exit 1' TERM; touch began; while :; do sleep 0.01; done", nil)
	awaitFile(t, filepath.Join(dir, "began"))
	d.set(func() { d.down = true })
	<-a.done
	if a.err != nil {
		t.Error(a.err)
	}
	if got := output(t, dir); !strings.Contains(got, "DUE TO NODE FAILURE") || !strings.HasSuffix(got, "term\n") {
		t.Errorf("the job wrote %q", got)
	}
}

// A machine that the daemon does not know any more ends at once.
func TestDenied(t *testing.T) {
	d := newFakeServer(t)
	a := startAgent(t, d, nil)
	dir := d.launch("r1", "touch began; sleep 1000", nil)
	awaitFile(t, filepath.Join(dir, "began"))
	d.set(func() { d.denied = true })
	<-a.done
	if a.err != nil {
		t.Error(a.err)
	}
}

func TestNotLetIn(t *testing.T) {
	d := newFakeServer(t)
	a := startAgent(t, d, func(c *Config) { c.Boot.Token = "another" })
	<-a.done
	if a.err == nil || !strings.Contains(a.err.Error(), "401") {
		t.Errorf("err %v", a.err)
	}
}

func TestStops(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	wait := "touch began; while :; do sleep 0.01; done"
	polite := "trap 'echo term; exit 5' TERM; " + wait
	stop := func(why agentapi.Why, grace time.Duration) func(*agentapi.Order) {
		return func(o *agentapi.Order) { o.Stop = &agentapi.Stop{Why: why, Grace: grace} }
	}
	limit := func(o *agentapi.Order) { o.TimeLimit = time.Millisecond }
	for name, c := range map[string]struct {
		script string
		order  func(*agentapi.Order)
		exit   string
		why    agentapi.Why
		says   string
	}{
		"cancel":         {polite, stop(agentapi.WhyCancel, time.Minute), "5:0", agentapi.WhyCancel, " ***\nterm\n"},
		"cancel rudely":  {"trap '' TERM; " + wait, stop(agentapi.WhyCancel, 100*time.Millisecond), "0:9", agentapi.WhyCancel, " ***\n"},
		"default action": {wait, stop(agentapi.WhyCancel, time.Minute), "0:15", agentapi.WhyCancel, " ***\n"},
		"requeue":        {polite, stop(agentapi.WhyRequeue, time.Minute), "5:0", agentapi.WhyRequeue, " DUE TO JOB REQUEUE ***\nterm\n"},
		"time limit":     {polite, limit, "5:0", agentapi.WhyTimeout, " DUE TO TIME LIMIT ***\nterm\n"},
		"stopped":        {"trap 'echo term; exit 5' TERM; touch began; kill -STOP $$; while :; do sleep 0.01; done", stop(agentapi.WhyCancel, time.Minute), "5:0", agentapi.WhyCancel, " ***\nterm\n"},
	} {
		t.Run(name, func(t *testing.T) {
			run := strings.ReplaceAll(name, " ", "-")
			dir := d.launch(run, c.script, nil)
			awaitFile(t, filepath.Join(dir, "began"))
			d.orderRun(run, c.order)
			s := d.awaitEnd(run)
			if exitCode(s) != c.exit || s.Why != c.why {
				t.Errorf("exit %s, why %q", exitCode(s), s.Why)
			}
			got := output(t, dir)
			got = strings.ReplaceAll(got, "Terminated\n", "") // what bash says of its child
			if !strings.HasPrefix(got, "slurmstepd: error: *** JOB 30000001 ON node-1 CANCELLED AT 20") || !strings.HasSuffix(got, c.says) {
				t.Errorf("it wrote %q", got)
			}
		})
	}
}

// A run that orders do not name any more is ended.
func TestNotNamed(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	dir := d.launch("r1", "touch began; sleep 1000", nil)
	awaitFile(t, filepath.Join(dir, "began"))
	d.order(func(o *agentapi.Orders) { o.Runs = nil })
	if s := d.awaitEnd("r1"); s.Why != agentapi.WhyCancel {
		t.Errorf("%+v", s)
	}
}

func TestSignals(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	dir := d.launch("r1", `trap 'echo batch' USR1; trap 'echo end >>ended' USR2
		(trap 'echo child; exit' USR1; touch child; while :; do sleep 0.01; done) & touch began; while ! [ -e ended ]; do sleep 0.01; done; wait`, nil)
	awaitFile(t, filepath.Join(dir, "began"))
	awaitFile(t, filepath.Join(dir, "child"))
	send := func(s agentapi.Signal) {
		s.Run = "r1"
		d.order(func(o *agentapi.Orders) {
			s.Seq = uint64(len(o.Signals) + 1)
			o.Signals = append(o.Signals, s)
		})
	}
	has := func(text string) {
		for !strings.Contains(output(t, dir), text) {
			time.Sleep(time.Millisecond)
		}
	}
	send(agentapi.Signal{Name: "USR1"}) // to steps, of which there are none
	send(agentapi.Signal{Name: "USR1", Batch: true})
	has("batch\n")
	if got := output(t, dir); got != "batch\n" {
		t.Errorf("after the signal to the batch shell: %q", got)
	}
	send(agentapi.Signal{Name: "10", Full: true})
	has("child\n")
	send(agentapi.Signal{Name: "USR2", Batch: true})
	d.awaitEnd("r1")
	if got := output(t, dir); strings.Count(got, "batch\n") != 2 || strings.Count(got, "child\n") != 1 {
		t.Errorf("it wrote %q", got)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "ended")); string(text) != "end\n" {
		t.Errorf("ended: %q", text)
	}
}

// --signal comes before the limit, and only to the batch shell with B.
func TestWarning(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	dir := d.launch("r1", "trap 'echo warned; exit 0' USR1; touch began; while :; do sleep 0.01; done", func(l *agentapi.Launch) {
		l.Groups[0].Spec.Signal = &sbatch.Signal{Name: "USR1", Before: time.Hour, BatchOnly: true}
	})
	awaitFile(t, filepath.Join(dir, "began"))
	d.orderRun("r1", func(o *agentapi.Order) { o.TimeLimit = time.Hour + time.Millisecond })
	if s := d.awaitEnd("r1"); s.Exit != 0 || s.Why != "" || output(t, dir) != "warned\n" {
		t.Errorf("%+v: %q", s, output(t, dir))
	}
}

// A time limit that is changed while the script runs counts from its begin. The warning is sent once.
func TestTimeLimitChanges(t *testing.T) {
	const before = time.Hour
	d := newFakeServer(t)
	startAgent(t, d, nil)
	for name, c := range map[string]struct {
		last   time.Duration // the limit, after one that has warned
		why    agentapi.Why
		output string
	}{
		"raised":  {2 * before, "", "warned\n"},
		"lowered": {time.Millisecond, agentapi.WhyTimeout, "warned\nslurmstepd"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := d.launch(name, "trap 'echo warned; touch warned' USR1; touch began; until [ -e go ]; do sleep 0.01; done", func(l *agentapi.Launch) {
				l.TimeLimit = 3 * before
				l.Groups[0].Spec.Signal = &sbatch.Signal{Name: "USR1", Before: before, BatchOnly: true}
			})
			awaitFile(t, filepath.Join(dir, "began"))
			d.orderRun(name, func(o *agentapi.Order) { o.TimeLimit = before + time.Millisecond })
			awaitFile(t, filepath.Join(dir, "warned"))
			d.orderRun(name, func(o *agentapi.Order) { o.TimeLimit = c.last })
			if c.why == "" {
				d.await("the limit is known", func() bool { return d.polled.Version == d.orders.Version })
				d.orderRun(name, func(o *agentapi.Order) { o.TimeLimit = before + time.Millisecond }) // it was warned, and is not again
				time.Sleep(100 * time.Millisecond)
				os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
			}
			if s := d.awaitEnd(name); s.Why != c.why {
				t.Errorf("%+v", s)
			}
			if got := output(t, dir); !strings.HasPrefix(got, c.output) || c.why == "" && got != c.output {
				t.Errorf("it wrote %q", got)
			}
		})
	}
}

// What cannot begin says why.
func TestLaunchFails(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	for name, c := range map[string]struct {
		more   func(*agentapi.Launch)
		exit   int32
		detail string
	}{
		"output": {func(l *agentapi.Launch) { l.Groups[0].Spec.Output = "/proc/nonexistent/x" }, 53, "open standard output /proc/nonexistent/x: no such file or directory"},
		"input":  {func(l *agentapi.Launch) { l.Groups[0].Spec.Input = "/nonexistent/x" }, 53, "open standard input"},
		"node":   {func(l *agentapi.Launch) { l.Node = 7 }, 0, "which node"},
	} {
		t.Run(name, func(t *testing.T) {
			d.launch(name, "true", c.more)
			s := d.awaitEnd(name)
			if s.Why != agentapi.WhyLaunch || s.Exit != c.exit || !strings.Contains(s.Detail, c.detail) {
				t.Errorf("%+v", s)
			}
		})
	}
}

// An agent that is not root runs nobody else's jobs.
func TestNotRoot(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("SKIPPED: root may run anybody's jobs")
	}
	d := newFakeServer(t)
	startAgent(t, d, nil)
	d.launch("r1", "true", func(l *agentapi.Launch) { l.User.UID++ })
	if s := d.awaitEnd("r1"); s.Why != agentapi.WhyLaunch || !strings.Contains(s.Detail, "not root") {
		t.Errorf("%+v", s)
	}
}

func TestOtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: not root: cannot become somebody else")
	}
	d := newFakeServer(t)
	startAgent(t, d, nil)
	dir := d.launch("r1", "id; umask; echo x >file; cat $0 >/dev/null && echo reads", func(l *agentapi.Launch) {
		l.User = agentapi.User{Name: "nemo", UID: 54321, GID: 54322, Groups: []uint32{54323}}
		l.Environment = append(l.Environment, "SLURM_UMASK=0027")
	})
	if s := d.awaitEnd("r1"); s.Exit != 0 {
		t.Errorf("%+v", s)
	}
	if got := output(t, dir); got != "uid=54321 gid=54322 groups=54322,54323\n0027\nreads\n" {
		t.Errorf("it wrote %q", got)
	}
	info, err := os.Stat(filepath.Join(dir, "slurm-30000001.out"))
	if err != nil || info.Mode().Perm() != 0o640 || info.Sys().(*syscall.Stat_t).Uid != 54321 {
		t.Errorf("output: %v, %v", info, err)
	}
}

// Nothing that the agent knows, and none of its files, are to be found in a job's processes.
func TestSecrets(t *testing.T) {
	d := newFakeServer(t)
	startAgent(t, d, nil)
	dir := d.launch("r1", "cat /proc/$$/environ /proc/$$/cmdline /proc/$PPID/environ /proc/$PPID/cmdline >seen; ls /proc/$$/fd", func(l *agentapi.Launch) {
		l.Key = []byte("keykeykey")
		l.Environment = append(l.Environment, "MINE=1")
	})
	d.awaitEnd("r1")
	text, err := os.ReadFile(filepath.Join(dir, "seen"))
	if err != nil || !strings.Contains(string(text), "MINE=1") {
		t.Fatalf("it saw %q, %v", text, err)
	}
	for _, secret := range []string{oneTime, session, "keykeykey"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s is there", secret)
		}
	}
	if got := output(t, dir); got != "0\n1\n2\n255\n" { // the last one is bash's script
		t.Errorf("it has the files %q", got)
	}
}

// Several runs at once have nothing in common but the machine.
func TestTogether(t *testing.T) {
	d := newFakeServer(t)
	a := startAgent(t, d, nil)
	var names []string
	for i := range 10 {
		name := fmt.Sprint("r", i)
		d.launch(name, fmt.Sprintf("exit %d", i), func(l *agentapi.Launch) { l.Job += uint32(i) })
		names = append(names, name)
	}
	for i, name := range names {
		if s := d.awaitEnd(name); exitCode(s) != fmt.Sprintf("%d:0", i) {
			t.Errorf("%s: %+v", name, s)
		}
		var states []agentapi.RunState
		d.set(func() { states = d.history[name] })
		if !slices.IsSorted(states) && states[len(states)-1] != agentapi.RunEnded {
			t.Errorf("%s went through %v", name, states)
		}
	}
	d.order(func(o *agentapi.Orders) { o.Runs = nil })
	for {
		if p := a.standing(); len(p.Known) == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
}
