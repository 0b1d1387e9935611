package rented

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/testbed/ec2"
)

// sacct is what sacct says of a job, in these fields.
func (p *place) sacct(id federation.JobID, fields string) string {
	p.t.Helper()
	out, errOut, code := p.run("sacct", "-nPX", "-j", id.String(), "-o", fields)
	if code != 0 {
		p.t.Errorf("sacct: %d %s", code, errOut)
	}
	return strings.TrimSpace(out)
}

// says runs a command that must end so, and whose words must hold a text.
func (p *place) says(code int, text string, args ...string) {
	p.t.Helper()
	out, errOut, got := p.run(args...)
	if got != code || !strings.Contains(out+errOut, text) {
		p.t.Errorf("%s: status %d, want %d; %q does not hold %q", strings.Join(args, " "), got, code, out+errOut, text)
	}
}

// holds waits for a file of the user's to hold a text.
func (p *place) holds(name, text string) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("%s has %q", name, text), time.Minute, func() string {
		if got := p.get(name); !strings.Contains(got, text) {
			return fmt.Sprintf("%q", got)
		}
		return ""
	})
}

const restless = "#!/bin/bash\n#SBATCH -t 5 --open-mode=append -o out-%j\ntrap 'echo got USR1' USR1\ntrap 'echo got TERM; exit 9' TERM\necho \"run ${SLURM_RESTART_COUNT:-0}\"\n" +
	"for i in {1..1200}; do sleep 0.1; done\n"

// TestUserChangesARunningJob does to a job on a rented machine what users do to running jobs, in Slurm's words and with Slurm's answers.
func TestUserChangesARunningJob(t *testing.T) {
	t.Parallel()
	p := newHome(t, config{pool: "max: 2, idle: 2s"})
	id := p.submit(restless)
	out, job := "out-"+id.String(), "JobId="+id.String()
	p.holds(out, "run 0")
	p.eventually("it is seen to run", time.Minute, func() string {
		rec, err := p.job(id)
		if err != nil || rec.Job.State != federation.Running {
			return fmt.Sprint(rec, err)
		}
		return ""
	})
	p.says(0, "", "scontrol", "update", job, "TimeLimit=3")
	p.says(0, "TimeLimit=00:03:00", "scontrol", "show", "job", id.String())
	p.says(1, "Access/permission denied for job "+id.String(), "scontrol", "update", job, "TimeLimit=10")
	p.says(1, "Job is no longer pending execution for job "+id.String(), "scontrol", "update", job, "NumNodes=2")
	p.says(0, "", "scontrol", "update", job, "JobName=renamed")
	p.says(0, "", "scancel", "--signal=USR1", "--batch", id.String())
	p.holds(out, "got USR1")
	p.says(0, "", "scontrol", "requeue", id.String())
	p.holds(out, "run 1")
	p.says(0, "", "scancel", id.String())
	if rec := p.await(id, time.Minute); rec.Job.State != federation.Cancelled || rec.Job.Restarts != 1 {
		t.Errorf("%s after %d restarts: %v", rec.Job.State, rec.Job.Restarts, rec.Events)
	}
	if got := p.sacct(id, "jobname,state,timelimit"); got != "renamed|CANCELLED by 1|00:03:00" {
		t.Errorf("sacct: %q", got)
	}
	text := p.get(out)
	for _, want := range []string{"DUE TO JOB REQUEUE ***", "got TERM"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}

// TestCancelledWhileItBoots: the job's machines are given back though it never began.
func TestCancelledWhileItBoots(t *testing.T) {
	t.Parallel()
	p := newHome(t, config{pool: "max: 2, idle: 2s"})
	p.cloud.SetBoot(ec2.Pool{}, ec2.Boot{Delay: 90 * time.Second})
	id := p.submit(restless, "-N2")
	p.eventually("its machines boot", 30*time.Second, func() string {
		rec, err := p.job(id)
		if err != nil || rec.Job.Reason != reasons.Boot || p.cloud.Live() != 2 {
			return fmt.Sprintf("%v %v, %d machines", rec, err, p.cloud.Live())
		}
		return ""
	})
	p.says(0, "(Resources)", "squeue", "-j", id.String())
	p.says(0, "", "scancel", id.String())
	if rec := p.await(id, time.Minute); rec.Job.State != federation.Cancelled || !rec.Job.Start.IsZero() {
		t.Errorf("%s, began %s", rec.Job.State, rec.Job.Start)
	}
	p.noMachines(time.Minute)
	if text := p.get("out-" + id.String()); text != "" {
		t.Errorf("it wrote %q", text)
	}
}

// TestNodesByName: virtual nodes can be named before they are there, and left out; a range takes as many as there can be.
func TestNodesByName(t *testing.T) {
	t.Parallel()
	p := newHome(t, config{pool: "max: 3, idle: 2s"})
	nodes := func(args ...string) string {
		id := p.submit("#!/bin/sh\necho $SLURM_JOB_NODELIST > nodes-$SLURM_JOB_ID\n", args...)
		if rec := p.await(id, 90*time.Second); rec.Job.State != federation.Completed {
			t.Errorf("%v: %s (%s) %v", args, rec.Job.State, rec.Job.Reason, rec.Events)
		}
		return strings.TrimSpace(p.get("nodes-" + id.String()))
	}
	var names []string
	p.eventually("sinfo shows the nodes that there could be", 20*time.Second, func() string {
		out, errOut, _ := p.run("sinfo", "-hN", "-o", "%N")
		if names = strings.Fields(out); len(names) < 3 {
			return fmt.Sprintf("%q", out+errOut)
		}
		return ""
	})
	if got := nodes("-N1-8"); !strings.HasSuffix(got, "-[1-3]") { // no machine is there yet: idle ones that suffice would be taken alone
		t.Errorf("-N1-8 ran on %s, three may be", got)
	}
	if got := nodes("-w", names[1]); got != names[1] {
		t.Errorf("-w %s ran on %s", names[1], got)
	}
	if got := nodes("-x", names[1]); got == names[1] || got == "" {
		t.Errorf("-x %s ran on %s", names[1], got)
	}
	p.put("job.sh", "#!/bin/sh\n")
	p.says(1, "Invalid node name specified", "sbatch", "-w", "nosuchnode", "job.sh")
	p.says(1, "Requested node configuration is not available", "sbatch", "-N4", "job.sh")
}

// TestEnds: how jobs end that go wrong in ways of their own.
func TestEnds(t *testing.T) {
	t.Parallel()
	p := newHome(t, config{pool: "max: 3, idle: 2s"})
	for name, c := range map[string]struct {
		script string
		args   []string
		sacct  string // of state and exit code
		file   string // that it leaves
	}{
		"memory":       {"python3 -c 'x = bytearray(300 << 20)'\ntrue", []string{"--mem=50M"}, "OUT_OF_MEMORY|0:125", ""},
		"no directory": {"echo hi", []string{"-o", "new/dir/out"}, "COMPLETED|0:0", "new/dir/out"},
		"not writable": {"echo hi", []string{"-o", "/proc/out"}, "FAILED|0:53", ""},
		"signal":       {"kill -9 $$", nil, "FAILED|0:9", ""},
		"status":       {"exit 7", nil, "FAILED|7:0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "memory" && !memoryLimited() {
				t.Skip("SKIPPED: no cgroup of this machine limits memory")
			}
			id := p.submit("#!/bin/bash\n#SBATCH -t 5 -o /dev/null\n"+c.script+"\n", c.args...)
			p.await(id, 90*time.Second)
			if got := p.sacct(id, "state,exitcode"); got != c.sacct {
				t.Errorf("%q, want %q", got, c.sacct)
			}
			if c.file != "" && p.get(c.file) == "" {
				t.Errorf("no %s", c.file)
			}
		})
	}
}

func memoryLimited() bool {
	v2, _ := os.ReadFile("/sys/fs/cgroup/cgroup.controllers")
	_, err := os.Stat("/sys/fs/cgroup/memory")
	return err == nil || strings.Contains(string(v2), "memory")
}

// TestArrayOnRentedMachines: %limit holds, and aftercorr joins task with task.
func TestArrayOnRentedMachines(t *testing.T) {
	t.Parallel()
	p := newHome(t, config{pool: "max: 4, idle: 2s"})
	id := p.submit("#!/bin/sh\necho b $(date +%s%N) > began-$SLURM_ARRAY_TASK_ID\nsleep 0.7\necho e $(date +%s%N) >> began-$SLURM_ARRAY_TASK_ID\n", "-a", "0-7%2", "-o", "/dev/null")
	after := p.submit("#!/bin/sh\ncat began-$SLURM_ARRAY_TASK_ID > after-$SLURM_ARRAY_TASK_ID\n", "-a", "0-7", "-d", "aftercorr:"+id.String(), "-o", "/dev/null")
	p.await(after, 2*time.Minute)
	var spans [][2]int64
	for task := range 8 {
		text := p.get(fmt.Sprint("after-", task))
		f := strings.Fields(text)
		if len(f) != 4 {
			t.Fatalf("task %d left %q", task, text)
		}
		from, _ := strconv.ParseInt(f[1], 10, 64)
		to, _ := strconv.ParseInt(f[3], 10, 64)
		spans = append(spans, [2]int64{from, to})
	}
	for _, s := range spans {
		at := 0
		for _, o := range spans {
			if o[0] <= s[0] && s[0] < o[1] {
				at++
			}
		}
		if at > 2 {
			t.Errorf("%d tasks ran at one time, 2 may", at)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(p.home, "slurm-*")); len(left) > 0 {
		t.Errorf("output beside /dev/null: %v", left)
	}
}
