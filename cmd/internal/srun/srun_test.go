package srun

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/steps"
)

// moments are what differs from run to run.
var moments = regexp.MustCompile(`(AT|at) 20[0-9T:-]+|StepId=[0-9]+\.[0-9]+|STEP [0-9]+\.[0-9]+`)

func settle(text string) string {
	return sorted(moments.ReplaceAllStringFunc(text, func(m string) string {
		word, _, _ := strings.Cut(strings.Replace(m, "=", " ", 1), " ")
		return word + " X"
	}))
}

// TestWaits: steps that share nothing wait for each other, in the background too; --overlap does not.
func TestWaits(t *testing.T) {
	g := newGang(t, 2)
	g.tellWaiting(t)
	out, errs, code := g.shell(t, `
		one() { srun -n1 "$@" bash -c 'echo in $SLURM_STEP_ID; touch in$SLURM_STEP_ID; until [ -e go$SLURM_STEP_ID ]; do sleep 0.01; done; echo out $SLURM_STEP_ID'; }
		for_file() { until [ -e $1 ]; do sleep 0.01; done; }
		one --exact & one --exact & for_file in0; for_file in1; one --exact & for_file waiting1; [ -e in2 ] && echo early; touch go0 go1 go2; wait
		one & for_file in3; one --overlap & for_file in4; touch go3 go4; wait
		one & for_file in5; one -I; touch go5; wait
		one & for_file in6; one --exact & for_file waiting1; one --exact & for_file waiting2; one -Q & for_file waiting3; [ -e in7 ] && echo early; touch go6; for_file in7; for_file in8; for_file waiting1; [ -e in9 ] && echo early; touch go7 go8 go9; wait`)
	if n := strings.Count(out, "in "); n != 10 || strings.Count(out, "out ") != n || strings.Contains(out, "early") {
		t.Errorf("%s", out)
	}
	want := "srun: Step created for StepId X\nsrun: Step created for StepId X\nsrun: Step created for StepId X\nsrun: error: Unable to create step for job 4711: Requested nodes are busy"
	if settle(errs) != want || code != 0 {
		t.Errorf("%d %s", code, errs)
	}
}

// tellWaiting makes the file waitingN as long as N steps wait for others.
func (g *gang) tellWaiting(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for last := 0; t.Context().Err() == nil; time.Sleep(5 * time.Millisecond) {
			if n := g.services[0].Waiting("run1"); n != last {
				os.Remove(filepath.Join(g.dir, fmt.Sprint("waiting", last)))
				os.WriteFile(filepath.Join(g.dir, fmt.Sprint("waiting", n)), nil, 0o600)
				last = n
			}
		}
	}()
	t.Cleanup(func() { <-done }) // before the folder is removed
}

// TestPending: a signal takes back a step that waits, whichever it is.
func TestPending(t *testing.T) {
	g := newGang(t, 2)
	g.tellWaiting(t)
	_, errs, code := g.shell(t, `for_file() { until [ -e $1 ]; do sleep 0.01; done; }
		srun -n2 bash -c 'touch in$SLURM_PROCID; until [ -e go ]; do sleep 0.01; done' & for_file in0; for_file in1
		for sig in INT USR1 ALRM; do srun -n1 true & p=$!; for_file waiting1; kill -$sig $p; wait $p; echo $? >&2; for_file waiting0; done
		srun -Q -n1 true & p=$!; for_file waiting1; kill -TERM $p; wait $p; touch go; wait`)
	refused := "srun: error: Unable to create step for job 4711: Job/step already completing or completed\n"
	want := ""
	for _, sig := range []string{"2", "10", "14"} {
		want += "srun: Cancelled pending job step with signal " + sig + "\n" + refused + "1\n"
	}
	if errs != want+refused || code != 0 {
		t.Errorf("%d %s", code, errs)
	}
}

// awaitFiles waits for files that steps make.
func (g *gang) awaitFiles(names ...string) {
	for _, name := range names {
		for range 30000 {
			if _, err := os.Stat(filepath.Join(g.dir, name)); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// TestStatus: what the books of the job are told.
func TestStatus(t *testing.T) {
	g := newGang(t, 2, 2)
	g.shell(t, `srun -n4 -J a true; srun -n2 bash -c 'exit 3'; srun -n1 sleep 1000 </dev/null >/dev/null 2>&1 &`)
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end) && len(g.services[0].Status("run1")) < 3; time.Sleep(10 * time.Millisecond) {
	}
	t.Cleanup(func() { g.services[0].Stop("run1", steps.Stop{}) })
	var got []string
	for _, s := range g.services[0].Status("run1") {
		got = append(got, strings.Join([]string{s.ID, s.Name, s.State, s.Nodes}, " "))
	}
	want := []string{"0 a COMPLETED n[1-2]", "1 bash FAILED n[1-2]", "2 sleep RUNNING n1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestStop: the agent ends all steps, and none begins after that.
func TestStop(t *testing.T) {
	g := newGang(t, 2, 2)
	go func() {
		g.awaitFiles("ready0", "ready1", "ready2", "ready3")
		g.services[0].Stop("run1", steps.Stop{Why: agentapi.WhyTimeout, Grace: 300 * time.Millisecond})
	}()
	_, errs, code := g.shell(t, `srun -n4 bash -c 'trap "" TERM; touch ready$SLURM_PROCID; sleep 1000; sleep 1000'; srun true`)
	want := "slurmstepd: error: *** STEP X ON n1 CANCELLED AT X DUE TO TIME LIMIT ***\nsrun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n" +
		"srun: error: Unable to create step for job 4711: Job/step already completing or completed\nsrun: error: n1: tasks 0-1: Killed\nsrun: error: n2: tasks 2-3: Killed"
	if settle(errs) != want || code != 1 {
		t.Errorf("%d %s", code, errs)
	}
	if s := g.services[0].Status("run1"); len(s) != 1 || s[0].State != "CANCELLED" { // the limit was the job's
		t.Errorf("%+v", s)
	}
}

// TestNodeLost: a node that goes away takes its step along.
func TestNodeLost(t *testing.T) {
	g := newGang(t, 1, 1)
	go func() {
		g.awaitFiles("ready0", "ready1")
		g.services[1].Close()
	}()
	_, errs, code := g.shell(t, `srun bash -c 'touch ready$SLURM_PROCID; exec sleep 1000'`)
	if !strings.Contains(errs, "srun: error: Node failure on n2\n") || !strings.Contains(errs, "n1: task 0: Terminated") || code != 143 && code != 137 {
		t.Errorf("%d %s", code, errs)
	}
	_, errs, code = g.shell(t, `srun true`)
	if !strings.Contains(errs, "srun: error: Node failure on n2\n") || code == 0 {
		t.Errorf("%d %s", code, errs)
	}
}

// TestInput: a task that does not read its input holds up neither signals nor the others.
func TestInput(t *testing.T) {
	g := newGang(t, 1, 1)
	out, errs, code := g.shell(t, `head -c 30000000 /dev/zero | srun bash -c 'if [ $SLURM_PROCID = 0 ]; then sleep 0.5; else head -c 100000 | wc -c; fi'`)
	if out != "100000\n" || code != 0 {
		t.Errorf("%d %q %s", code, out, errs)
	}
	out, errs, code = g.shell(t, `head -c 30000000 /dev/urandom > big; srun -n2 sha256sum < big | sort -u | wc -l; sha256sum < big | cmp - <(srun -N1 -n1 sha256sum < big) && echo same`)
	if out != "1\nsame\n" || code != 0 {
		t.Errorf("%d %q %s", code, out, errs)
	}
}

// TestOutput: no byte is lost or mixed up between many tasks that write much.
func TestOutput(t *testing.T) {
	g := newGang(t, 4, 4)
	out, errs, code := g.shell(t, `srun -n8 bash -c 'for i in {1..3000}; do echo $SLURM_PROCID $i some words to fill the line; done' | sort | uniq -c | awk '{print $1}' | sort | uniq -c`)
	if strings.TrimSpace(out) != "24000 1" || code != 0 {
		t.Errorf("%d %q %s", code, out, errs)
	}
}

// TestHet: components of a heterogeneous job, alone and together.
func TestHet(t *testing.T) {
	g := newGangOf(t, func(*agentapi.Launch) {}, []int{1}, []int{2, 2})
	script := `srun -l --het-group=1 -n2 bash -c 'echo $SLURMD_NODENAME $SLURM_NTASKS'; srun -l -n1 bash -c 'echo a $SLURMD_NODENAME $SLURM_NTASKS $SLURM_DISTRIBUTION' : -n2 bash -c 'echo b $SLURMD_NODENAME $SLURM_NTASKS $SLURM_DISTRIBUTION'`
	out, errs, code := g.shell(t, script)
	if sorted(out) != "0: a n1 3 cyclic\n0: n2 2\n1: b n2 3 cyclic\n1: n3 2\n2: b n3 3 cyclic" || code != 0 {
		t.Errorf("%d %q %s", code, sorted(out), errs)
	}
}

// TestElsewhere: srun works on every node of the job, and nowhere else.
func TestElsewhere(t *testing.T) {
	g := newGang(t, 2, 2)
	out, errs, code := g.shell(t, `srun -N1 -n1 -w n2 --overlap bash -c 'echo $FSUB_STEPS | grep -c node1; srun -l --overlap -n2 bash -c "echo \$SLURM_STEP_ID"'`)
	if sorted(out) != "0: 1\n1\n1: 1" || code != 0 {
		t.Errorf("%d %q %s", code, out, errs)
	}
	_, errs, code = g.shell(t, `unset FSUB_STEPS SLURM_JOB_ID SLURM_JOBID; srun true`)
	if code != 1 || !strings.HasPrefix(errs, "srun: error: the federation runs batch jobs") {
		t.Errorf("%d %s", code, errs)
	}
}

// TestTerminal: --pty under a terminal that script(1) makes.
func TestTerminal(t *testing.T) {
	g := newGang(t, 1)
	out, errs, code := g.shell(t, `command -v script >/dev/null || { echo none; exit; }; script -qec "srun --pty -n1 bash -c 'tty; stty size; echo \$SLURM_PROCID'" /dev/null < /dev/null`)
	if out == "none\n" {
		t.Skip("there is no script(1)")
	}
	if !strings.Contains(out, "/dev/pts/") || !strings.HasSuffix(out, "0\r\n") || code != 0 {
		t.Errorf("%d %q %s", code, out, errs)
	}
}

// TestDeepFolder: sockets have short names, whatever the run's folder.
func TestDeepFolder(t *testing.T) {
	g := newGangOf(t, func(l *agentapi.Launch) {}, []int{1})
	dir := filepath.Join(g.dir, strings.Repeat("deep/", 40))
	os.MkdirAll(dir, 0o755)
	l := g.launch
	l.Run = "deep"
	env, err := g.services[0].AddRun(steps.Run{Launch: &l, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	g.env[0] = append(g.env[0], env...)
	if out, errs, code := g.shell(t, "srun echo x"); out != "x\n" || code != 0 {
		t.Errorf("%d %q %s", code, out, errs)
	}
}
