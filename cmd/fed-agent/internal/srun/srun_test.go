package srun

import (
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

func slicesSort(s []string) { slices.Sort(s) }

// moments are what differs from run to run.
var moments = regexp.MustCompile(`AT 20[0-9T:-]+|StepId=[0-9]+\.[0-9]+|STEP [0-9]+\.[0-9]+`)

func settle(text string) string {
	return sorted(moments.ReplaceAllStringFunc(text, func(m string) string {
		word, _, _ := strings.Cut(strings.Replace(m, "=", " ", 1), " ")
		return word + " X"
	}))
}

// TestWords: what srun says and returns, on a job of two nodes with three CPUs and one. The words are srun 24.11's, whose lines come in any order.
func TestWords(t *testing.T) {
	cannot := "srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1"
	for _, c := range []struct {
		name, script, out, errs string
		code                    int
	}{
		{"exit codes", `srun -n3 bash -c 'exit $SLURM_PROCID'`, "", "srun: error: n1: task 1: Exited with exit code 1\nsrun: error: n2: task 2: Exited with exit code 2", 2},
		{"tasks together", `srun -n4 false`, "", "srun: error: n1: tasks 0-2: Exited with exit code 1\nsrun: error: n2: task 3: Exited with exit code 1", 1},
		{"killed", `srun -n2 bash -c 'kill -9 $$'`, "", "srun: Force Terminated StepId X\nsrun: error: n1: task 0: Killed\nsrun: error: n2: task 1: Killed", 137},
		{"terminated", `srun -n2 bash -c '[ $SLURM_PROCID = 0 ] && kill -15 $$; exit 0'`, "", "srun: Force Terminated StepId X\nsrun: error: n1: task 0: Terminated", 143},
		{"fault", `ulimit -c 0; srun -N1 -n1 bash -c 'kill -SEGV $$'`, "", "srun: error: n1: task 0: Segmentation fault", 139},
		{"a signal counts more", `srun -N1 -n3 bash -c '[ $SLURM_PROCID = 1 ] && kill -9 $$; [ $SLURM_PROCID = 2 ] && exit 200; exit 0'`, "",
			"srun: Force Terminated StepId X\nsrun: error: n1: task 1: Killed\nsrun: error: n1: task 2: Exited with exit code 200", 137},
		{"no such file", `srun -n1 /nosuch`, "", "slurmstepd: error: execve(): /nosuch: No such file or directory\nsrun: error: n1: task 0: Exited with exit code 2\n" + cannot, 2},
		{"no such command", `srun -N1 -n1 nosuchcmd`, "", "slurmstepd: error: execve(): nosuchcmd: No such file or directory\nsrun: error: n1: task 0: Exited with exit code 2", 2},
		{"not executable", `srun -N1 -n1 /etc/passwd`, "", "slurmstepd: error: execve(): /etc/passwd: Permission denied\nsrun: error: n1: task 0: Exited with exit code 13", 13},
		{"no such directory", `srun -N1 -n1 -D /nosuchdir pwd`, "/tmp", "slurmstepd: error: couldn't chdir to `/nosuchdir': No such file or directory: going to /tmp instead", 0},
		{"kill on bad exit", `srun -K -n4 bash -c '[ $SLURM_PROCID = 1 ] && exit 5; sleep 20'`, "", "slurmstepd: error: *** STEP X ON n1 CANCELLED AT X ***\n" +
			"srun: Force Terminated StepId X\nsrun: Terminating StepId X\nsrun: error: n1: task 1: Exited with exit code 5\nsrun: error: n1: tasks 0,2: Terminated\n" +
			"srun: error: n2: task 3: Terminated", 143},
		{"no kill on bad exit", `SLURM_KILL_BAD_EXIT=1 srun -K0 -n2 bash -c '[ $SLURM_PROCID = 1 ] && exit 5; sleep 0.2'`, "", "srun: error: n2: task 1: Exited with exit code 5", 5},
		{"wait", `srun -W1 -n4 bash -c '[ $SLURM_PROCID = 1 ] && exit 0; sleep 20'`, "", "slurmstepd: error: *** STEP X ON n1 CANCELLED AT X ***\nsrun: First task exited 1s ago\n" +
			"srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\nsrun: StepId X task 1: exited\nsrun: StepId X tasks 0,2-3: running\nsrun: Terminating StepId X\n" +
			"srun: error: n1: tasks 0,2: Killed\nsrun: error: n2: task 3: Killed", 137},
		{"no command", `srun -n2`, "", "srun: fatal: No command given to execute.", 1},
		{"no such option", `srun --nosuch x`, "", "Try \"srun --help\" for more information\nsrun: unrecognized option '--nosuch'", 255},
		{"pattern", `srun -N1 -n1 -o out.%j.%s.%t.%n.%N.%x.%%.%3t.%J echo x; ls out.*`, "out.4711.0.0.0.n1.test.%.000.4711.0", "", 0},
		{"labels in a file", `srun -n2 -l -o f bash -c 'echo x; echo e >&2'; sort f`, "0: e\n0: x\n1: e\n1: x", "", 0},
		{"output none", `srun -n2 -o none bash -c 'echo x; echo y >&2'`, "", "", 0},
		{"output of one task", `srun -n3 -o 1 bash -c 'echo x $SLURM_PROCID'`, "x 1", "", 0},
		{"error file", `srun -n2 -e /nosuch/dir true`, "", "srun: error: Could not open stderr file: No such file or directory", 1},
		{"append", `echo a >f; srun -N1 -n1 -o f --open-mode=append echo b; cat f`, "a\nb", "", 0},
		{"input of one task", `srun -n3 -i 1 bash -c 'echo $SLURM_PROCID $(cat)' <<< hello`, "0\n1 hello\n2", "", 0},
		{"input of all", `srun -n3 bash -c 'echo $SLURM_PROCID $(cat)' <<< hello`, "0 hello\n1 hello\n2 hello", "", 0},
		{"input none", `srun -n2 -i none bash -c 'echo $SLURM_PROCID $(cat)' <<< hello`, "0\n1", "", 0},
		{"input file", `echo hi > in; srun -n2 -i in bash -c 'echo $SLURM_PROCID $(cat)' <<< hello`, "0 hi\n1 hi", "", 0},
		{"input per task", `echo a > in.0; echo b > in.1; srun -n2 -i in.%t bash -c 'echo $SLURM_PROCID $(cat)'`, "0 a\n1 b", "", 0},
		{"no input file", `srun -n2 -i /nosuch cat`, "", "srun: error: Could not open stdin file: No such file or directory", 1},
		{"label of half a line", `srun -l -n2 printf 'a\nb'`, "0: a\n0: b\n1: a\n1: b", "", 0},
		{"wide labels", `srun -l -n11 -O bash -c 'echo $SLURM_PROCID' | grep -e '^ 9: 9' -e '^10: 10'`, " 9: 9\n10: 10", "", 0},
		{"export none", `srun -N1 -n1 --export=NONE env`, "", "slurmstepd: error: execve(): env: No such file or directory\nsrun: error: n1: task 0: Exited with exit code 2", 2},
		{"export some", `B=2 C=3 srun -N1 -n1 --export=A=1,B /bin/bash -c 'echo $A $B $C.$SLURM_JOB_ID'`, "1 2 .4711", "", 0},
		{"export more", `srun -N1 -n1 --export=ALL,A=1 bash -c 'echo $A ${HOME##*/}'`, "1 001", "", 0},
		{"programs", "printf '0 echo zero %%t %%o\\n1-2 echo \"a b\" %%t %%o\\n* echo rest %%t %%o\\n' > mp; srun -n4 -l --multi-prog mp", "0: zero 0 0\n1: a b 1 0\n2: a b 2 1\n3: rest 3 3", "", 0},
		{"missing program", `printf '0 echo zero\n' > mp; srun -n4 -l --multi-prog mp`, "", "srun: error: Configuration file mp invalid, no record for task id 1", 1},
		{"another job", `srun -N1 -n1 --jobid=99999 true`, "", "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 99999\n" +
			"srun: error: Unable to confirm allocation for job 99999: Invalid job id specified", 1},
		{"mpi", `srun --mpi=pmix true`, "", "srun: error: --mpi=pmix: rented nodes have no PMI server; start MPI programs with mpirun or mpiexec, which reaches all nodes of the job through srun by itself", 1},
		{"mpi none", `srun --mpi=none -N1 -n1 echo x`, "x", "", 0},
		{"container", `srun --container=/x hostname`, "", "srun: error: --container is not carried out on rented nodes: start the container with the command itself", 1},
		{"no terminal", `srun --pty -N1 -n1 bash -c 'tty; echo hi' </dev/null`, "hi\nnot a tty", "srun: error: Not using a pseudo-terminal, disregarding --pty option\n" +
			"srun: error: ioctl(TIOCGWINSZ): Inappropriate ioctl for device", 0},
		{"umask and limits", `umask 027; ulimit -n 1234; srun -N1 -n1 bash -c 'umask; ulimit -n'`, "0027\n1234", "", 0},
		{"own files only", `srun -N1 -n1 bash -c 'ls /proc/self/fd | wc -l'`, "4", "", 0},
		{"what is left behind", `srun -n2 bash -c 'setsid sleep 54321 & disown; echo left'; pgrep -f 'sleep 5432[1]'`, "left\nleft", "", 1},
		{"het group", `srun --het-group=1 true`, "", "srun: error: Requested het-group offset exceeds highest hetjob index (1 > 0)", 1},
		{"components", `srun -l --exact -N1 -n1 bash -c 'echo $SLURM_PROCID $SLURM_NTASKS' : --exact -N1 -n2 bash -c 'echo $SLURM_PROCID $SLURM_NTASKS' : -N1 -w n2 -n1 true`, "0: 0 4\n1: 1 4\n2: 2 4", "", 0},
		{"components too large", `srun -N1 -n2 true : -N1 -n2 true`, "", "srun: error: Unable to create step for job 4711: More processors requested than permitted", 1},
		{"name", `srun -N1 -n1 -J myname bash -c 'echo $SLURM_JOB_NAME'`, "myname", "", 0},
		{"unbuffered", `srun -N1 -n1 -u bash -c 'printf abc; sleep 0.1; echo def'`, "abcdef", "", 0},
		{"signal to tasks", `srun -n2 bash -c 'trap "echo got usr1; exit 7" USR1; sleep 20 & wait' & p=$!; sleep 0.6; kill -USR1 $p; wait $p`, "got usr1\ngot usr1",
			"srun: error: n1: task 0: Exited with exit code 7\nsrun: error: n2: task 1: Exited with exit code 7", 7},
		{"term", `srun -n2 sleep 20 & p=$!; sleep 0.6; kill -TERM $p; wait $p`, "", "slurmstepd: error: *** STEP X ON n1 CANCELLED AT X ***\nsrun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n" +
			"srun: error: n1: task 0: Killed\nsrun: error: n2: task 1: Killed\nsrun: forcing job termination", 137},
		{"quit", `srun -n2 sleep 20 & p=$!; sleep 0.6; kill -QUIT $p; wait $p`, "", "slurmstepd: error: *** STEP X ON n1 CANCELLED AT X ***\n" +
			"srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\nsrun: Quit\nsrun: error: n1: task 0: Killed\nsrun: error: n2: task 1: Killed\nsrun: forcing job termination", 137},
		{"ctrl-c twice", `srun -n2 sleep 20 & p=$!; sleep 0.6; kill -INT $p; sleep 0.2; kill -INT $p; wait $p`, "", "srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n" +
			"srun: StepId X tasks 0-1: running\nsrun: forcing job termination\nsrun: interrupt (one more within 1 sec to abort)\nsrun: sending Ctrl-C to StepId X", 130},
		{"sbcast", `echo hi >src; chmod 640 src; sbcast src $PWD/%x.dst; sbcast -f -p src dst; stat -c '%a %s' dst; cmp src dst; sbcast src dst`, "640 3",
			"sbcast: error: REQUEST_FILE_BCAST(n1): File exists\nsbcast: error: REQUEST_FILE_BCAST(n2): File exists\nsbcast: error: REQUEST_FILE_BCAST(n2): File exists", 17},
		{"sbcast of nothing", `sbcast nosuch /tmp/x`, "", "sbcast: error: Can't open `nosuch`: No such file or directory", 255},
		{"test only", `srun --test-only -n1 hostname; srun -N1 -n1 bash -c 'echo $SLURM_STEP_ID'`, "0", "srun: Job 4711 to start AT X using 3 processors on nodes n1 in partition \n" + cannot, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newGang(t, 3, 1)
			out, errs, code := g.shell(t, c.script)
			errs = strings.ReplaceAll(errs, "start at 20", "start AT 20")
			if c.name == "sbcast" { // whose node is first to find the file of the other is chance, in a folder that they share
				errs = strings.Replace(errs, "(n1): File exists", "(n2): File exists", 1)
				errs = strings.Replace(errs, "(n2): File exists", "(n1): File exists", 1)
			}
			if sorted(out) != c.out || settle(errs) != c.errs || code != c.code {
				t.Errorf("%s\n got %d, %q, %q\nwant %d, %q, %q", c.script, code, sorted(out), settle(errs), c.code, c.out, c.errs)
			}
		})
	}
}

// TestWaits: steps that share nothing wait for each other, in the background too; --overlap does not.
func TestWaits(t *testing.T) {
	g := newGang(t, 2)
	out, errs, code := g.shell(t, `
		one() { srun -n1 "$@" bash -c 'echo in $SLURM_STEP_ID; sleep 0.5; echo out $SLURM_STEP_ID'; }
		one --exact & one --exact & sleep 0.2; one --exact; wait; echo --
		one & sleep 0.2; one --overlap; wait; echo --
		one & sleep 0.2; one -I; wait`)
	parts := strings.Split(out, "--\n")
	first := strings.Split(parts[0], "\n")
	if len(parts) != 3 || !strings.HasPrefix(first[0], "in") || !strings.HasPrefix(first[1], "in") || !strings.HasPrefix(first[2], "out") || strings.Index(parts[1], "in 4") > strings.Index(parts[1], "out 3") {
		t.Errorf("%s", out)
	}
	if errs != "srun: Step created for StepId=4711.2\nsrun: error: Unable to create step for job 4711: Requested nodes are busy\n" || code != 0 {
		t.Errorf("%d %s", code, errs)
	}
}

// TestStatus: what the books of the job are told.
func TestStatus(t *testing.T) {
	g := newGang(t, 2, 2)
	g.shell(t, `srun -n4 -J a true; srun -n2 bash -c 'exit 3'; srun -n1 sleep 60 </dev/null >/dev/null 2>&1 & sleep 0.5`)
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
		for len(g.services[0].Status("run1")) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond)
		g.services[0].Stop("run1", steps.Stop{Why: agentapi.WhyTimeout, Grace: 300 * time.Millisecond})
	}()
	_, errs, code := g.shell(t, `srun -n4 bash -c 'trap "" TERM; sleep 60; sleep 60'; srun true`)
	want := "slurmstepd: error: *** STEP X ON n1 CANCELLED AT X DUE TO TIME LIMIT ***\nsrun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n" +
		"srun: error: Unable to create step for job 4711: Job/step already completing or completed\nsrun: error: n1: tasks 0-1: Killed\nsrun: error: n2: tasks 2-3: Killed"
	if settle(errs) != want || code != 1 {
		t.Errorf("%d %s", code, errs)
	}
	if s := g.services[0].Status("run1"); len(s) != 1 || s[0].State != "TIMEOUT" {
		t.Errorf("%+v", s)
	}
}

// TestNodeLost: a node that goes away takes its step along.
func TestNodeLost(t *testing.T) {
	g := newGang(t, 1, 1)
	go func() {
		for len(g.services[0].Status("run1")) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond)
		g.services[1].Close()
	}()
	_, errs, code := g.shell(t, `srun sleep 60`)
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
	script := `srun -l --het-group=1 -n2 bash -c 'echo $SLURMD_NODENAME $SLURM_NTASKS'; srun -l -n1 bash -c 'echo a $SLURMD_NODENAME $SLURM_NTASKS' : -n2 bash -c 'echo b $SLURMD_NODENAME $SLURM_NTASKS'`
	out, errs, code := g.shell(t, script)
	if sorted(out) != "0: a n1 3\n0: n2 2\n1: b n2 3\n1: n3 2\n2: b n3 3" || code != 0 {
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
	if !strings.HasPrefix(out, "/dev/pts/") || !strings.HasSuffix(out, "0\r\n") || code != 0 {
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
