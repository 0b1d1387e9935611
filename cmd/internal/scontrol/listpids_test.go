package scontrol

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestListPIDs: processes are told of by what their environment says, in Slurm's order and words (24.11).
func TestListPIDs(t *testing.T) {
	node := fmt.Sprint("node-of-", os.Getpid())
	start := func(env ...string) int {
		cmd := exec.Command("sleep", "600")
		cmd.Env = append([]string{"SLURMD_NODENAME=" + node}, env...)
		if err := cmd.Start(); err != nil { // it runs by then
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		return cmd.Process.Pid
	}
	second, first, script := start("SLURM_JOB_ID=7", "SLURM_STEP_ID=10"), start("SLURM_JOB_ID=7", "SLURM_STEP_ID=2"), start("SLURM_JOB_ID=7")
	other := start("SLURM_JOB_ID=12")
	start("HOME=/")
	row := func(pid int, job, step string) string {
		return fmt.Sprintf("%-8d %-8s %-8s -       -        \n", pid, job, step)
	}
	const head = "PID      JOBID    STEPID   LOCALID GLOBALID\n"
	env := []string{"SLURMD_NODENAME=" + node, "FSUB_STEPS=/x"}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"listpids", head + row(script, "7", "batch") + row(first, "7", "2") + row(second, "7", "10") + row(other, "12", "batch"), 0},
		{"listpids 7", head + row(script, "7", "batch") + row(first, "7", "2") + row(second, "7", "10"), 0},
		{"listp 7.10", head + row(second, "7", "10"), 0},
		{"listpids 7.10 " + node, head + row(second, "7", "10"), 0},
		{"listpids 7.3", "StepId=7.3 does not exist on node (null).\n", 1},
		{"listpids 8", "There are no steps for job 8 on node (null).\n", 1},
		{"listpids 7 elsewhere", "JobId=7 does not exist on node elsewhere.\n", 1},
		{"listpids foo", "\"foo\" does not look like a jobid\n", 1},
		{"listpids 7.batch", "\"7.batch\" does not look like a stepid\n" + head, 0},
		{"listpids 7 " + node + " x", "too many arguments for keyword:listpids\n", 1},
	} {
		var out bytes.Buffer
		code := Main(strings.Fields(c.args), env, &out, &out, nil)
		if out.String() != c.want || code != c.code {
			t.Errorf("%s: %d\n%s\nwant %d\n%s", c.args, code, &out, c.code, c.want)
		}
	}
	var out bytes.Buffer
	if code := Main([]string{"listpids"}, nil, &out, &out, nil); code != 1 || !strings.Contains(out.String(), "call it within a job") {
		t.Errorf("%d %s", code, &out)
	}
}

// TestTasksOfProcesses: a task is the process that has its own number in its environment.
func TestTasksOfProcesses(t *testing.T) {
	dir := t.TempDir()
	for pid, env := range map[int]string{10: "SLURM_JOB_ID=5", 11: "SLURM_JOB_ID=5 SLURM_TASK_PID=11", 30: "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_TASK_PID=31 SLURM_LOCALID=1 SLURM_PROCID=4",
		31: "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_TASK_PID=31 SLURM_LOCALID=1 SLURM_PROCID=4", 32: "SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_TASK_PID=32 SLURM_LOCALID=0 SLURM_PROCID=3"} {
		os.Mkdir(filepath.Join(dir, strconv.Itoa(pid)), 0o700)
		text := strings.ReplaceAll("SLURMD_NODENAME=n1 "+env, " ", "\x00") + "\x00"
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(pid), "environ"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.Mkdir(filepath.Join(dir, "self"), 0o700)
	want := []process{{11, "5", "batch", "0", "0"}, {10, "5", "batch", "-", "-"}, {32, "5", "0", "0", "3"}, {31, "5", "0", "1", "4"}, {30, "5", "0", "-", "-"}}
	if got := processes(dir, "n1"); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := processes(dir, "n2"); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestListPIDsOfSite: on a node of a site it is the site's own that knows.
func TestListPIDsOfSite(t *testing.T) {
	reachable := func() bool { return true }
	if args := siteArgs([]string{"listpids", "5"}, []string{"SLURM_JOB_ID=5"}, reachable); !slices.Equal(args, []string{"listpids", "5"}) {
		t.Errorf("%q", args)
	}
	if args := siteArgs([]string{"listpids"}, []string{"SLURM_JOB_ID=5", "FSUB_STEPS=/x"}, reachable); args != nil {
		t.Errorf("%q", args)
	}
}
