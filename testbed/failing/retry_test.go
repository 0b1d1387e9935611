package failing

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
)

// retried is a job that is to end badly once, and then well.
type retried struct {
	name   string
	args   []string // of fsub
	script string   // $again is set from its second run on
	first  federation.State
	exit   int32 // of the first run, as a shell has it
	why    string
	grown  string // what squeue says of the second run's limits: memory and time
}

const usesMemory = `perl -e '$a = "x" x 200_000_000; sleep 5'` // until slurmd has looked

// TestRetry: jobs with --retry that end badly at real sites run again by what these say of their ends, with as much more as they ask for, under the same number, and what waits for them
// starts when the last run has ended.
//
// Memory has two ends. Where cgroups limit it a job is OUT_OF_MEMORY, 0:125. Where slurmd measures it (OverMemoryKill), 24.11 and 26.05 say FAILED, 0:9, and nothing else, in sacct too.
func TestRetry(t *testing.T) {
	world.Need(t)
	full := os.Getenv("FSUB_FULL") != ""
	for _, site := range sites {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			jobs := []retried{
				{name: "exit", args: []string{"--fed-retry=2:exit=75"}, script: "[ $again ] || exit 75", first: federation.Failed, exit: 75, why: "retry 1 of 2 after FAILED, exit code 75"},
				{name: "measured", args: []string{"--mem=100M", "--fed-retry=1:oom", "--fed-retry-mem=x8"}, script: "exec " + usesMemory, first: federation.Failed, exit: 137,
					why: "retry 1 of 1 after FAILED, exit code 137, taken for out of memory: memory of a node from 100M to 800M", grown: "800M"},
			}
			if full {
				jobs = append(jobs, retried{name: "timeout", args: []string{"-t1", "--fed-retry=1:timeout", "--fed-retry-time=x1.5"}, script: "[ $again ] || sleep 300", first: federation.Timeout,
					why: "retry 1 of 1 after TIMEOUT: time limit from 1m0s to 2m0s", grown: "2:00"})
			} else {
				t.Log("SKIPPED: timeout and node take minutes, by slurmctld's clock: with FSUB_FULL=1")
			}
			runs := make([]*run, 0, len(jobs))
			back := configure(t, site, "JobAcctGatherParams=OverMemoryKill", "JobAcctGatherFrequency=task=1")
			for _, j := range jobs {
				runs = append(runs, j.submit(t, site))
			}
			if full {
				runs = append(runs, loseNode(t, site))
			}
			for _, r := range runs {
				if r.job.name != "timeout" && r.job.name != "node" {
					r.wait(t, site)
				}
			}
			back()
			if cgroups(t, site) {
				admin(t, site, "cp /etc/slurm/slurm.conf /etc/slurm/slurm.conf.before && sed -i 's/^TaskPlugin=.*/TaskPlugin=task\\/cgroup/' /etc/slurm/slurm.conf")
				restartAll(t, site)
				limited := retried{name: "limited", args: []string{"--mem=100M", "--fed-retry=1:oom", "--fed-retry-mem=x8"}, script: usesMemory, first: federation.OutOfMemory,
					why: "retry 1 of 1 after OUT_OF_MEMORY: memory of a node from 100M to 800M", grown: "800M"}
				limited.submit(t, site).wait(t, site)
				admin(t, site, "mv /etc/slurm/slurm.conf.before /etc/slurm/slurm.conf; mv /etc/slurm/cgroup.conf.before /etc/slurm/cgroup.conf")
				restartAll(t, site)
			}
			for _, r := range runs {
				if r.job.name == "timeout" || r.job.name == "node" {
					r.wait(t, site)
				}
			}
		})
	}
}

// run is a submitted job.
type run struct {
	job       retried
	id, after federation.JobID // and one that waits for its end
	dir       string
}

func (j retried) submit(t *testing.T, site string) *run {
	t.Helper()
	dir, err := os.MkdirTemp(world.Bed.Home("alice"), "retry-"+j.name+"-")
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "job.sh")
	text := fmt.Sprintf("#!/bin/bash\necho $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} $SLURMD_NODENAME >>%[1]s/runs\n[ $(wc -l <%[1]s/runs) = 1 ] || again=1\n"+
		"squeue -h -j $SLURM_JOB_ID -o '%%m %%l' >%[1]s/limits\n%s\n", dir, j.script)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--fed-sites=" + site, "-n1", "-o", dir + "/out"}, j.args...)
	if !slices.ContainsFunc(j.args, func(a string) bool { return strings.HasPrefix(a, "-t") }) {
		args = append(args, "-t10")
	}
	r := &run{job: j, dir: dir, id: submit(t, append(args, script)...)}
	r.after = submit(t, "--fed-sites="+site, "-n1", "-t5", "-o", "/dev/null", "--dependency=afterok:"+r.id.String(), "--wrap", "wc -l <"+dir+"/runs >"+dir+"/before")
	return r
}

// wait waits for the end of a job, and compares what became of it, as the federation shows it, with what the site's accounting has.
func (r *run) wait(t *testing.T, site string) {
	t.Helper()
	c := world.Daemon.Client()
	defer c.Close()
	ended := func(id federation.JobID) *client.JobRecord {
		for deadline := time.Now().Add(patience); ; time.Sleep(300 * time.Millisecond) {
			rec, err := c.Job(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if rec.Job.State.Ended() {
				return rec
			}
			if time.Now().After(deadline) {
				rows, _ := world.Bed.Output(t.Context(), site, "", "bash", "-c", "scontrol show job; sinfo -R")
				t.Fatalf("%s: job %d is %s %s: %v\n%s", r.job.name, id, rec.Job.State, rec.Job.Reason, rec.Events, rows)
			}
		}
	}
	rec, after := ended(r.id), ended(r.after)
	out, _ := os.ReadFile(filepath.Join(r.dir, "out"))
	if len(rec.Attempts) != 2 || rec.Job.State != federation.Completed || rec.Attempts[0].Final != r.job.first || rec.Job.Restarts != 1 || after.Job.State != federation.Completed {
		t.Errorf("%s: job %d is %s after %d attempts, the first of which was %s, and what waits for it %s: %v\n%s", r.job.name, r.id, rec.Job.State, len(rec.Attempts), rec.Attempts[0].Final, after.Job.State,
			rec.Events, out)
		return
	}
	if status := rec.Attempts[0].ExitStatus; r.job.exit != 0 && status>>8 != r.job.exit && 128+status&0x7f != r.job.exit {
		t.Errorf("%s: the exit status of its first attempt is %d", r.job.name, status)
	}
	shown, err := login(t, "fed", "job", "show", r.id.String())
	if err != nil || !strings.Contains(shown, r.job.why) {
		t.Errorf("%s: fed job show does not say %q, %v:\n%s", r.job.name, r.job.why, err, shown)
	}
	read := func(file string) string {
		text, _ := os.ReadFile(filepath.Join(r.dir, file))
		return strings.TrimSpace(string(text))
	}
	lines := strings.Split(read("runs"), "\n")
	if want := r.id.String() + " 1 "; len(lines) != 2 || !strings.HasPrefix(lines[1], want) {
		t.Errorf("%s: its runs saw themselves as %q", r.job.name, lines)
	}
	if before := read("before"); before != "2" {
		t.Errorf("%s: what waits for it ran after %s of its 2 runs", r.job.name, before)
	}
	if limits := read("limits"); !strings.Contains(limits, r.job.grown) {
		t.Errorf("%s: the second run has the limits %q at its site, not %s", r.job.name, limits, r.job.grown)
	}
	var states []string
	for deadline := time.Now().Add(time.Minute); len(states) < 2 || states[1] != string(federation.Completed); time.Sleep(300 * time.Millisecond) {
		rows, err := world.Bed.Output(t.Context(), site, "", "sacct", "-nXDPj", r.id.String(), "-o", "state")
		if states = strings.Fields(rows); err != nil || time.Now().After(deadline) {
			t.Fatalf("%s: sacct has %q, %v", r.job.name, rows, err)
		}
	}
	if states[0] != string(r.job.first) {
		t.Errorf("%s: sacct has it as %v, and we as %s", r.job.name, states, rec.Attempts[0].Final)
	}
	t.Logf("%s: %s; sacct: %v", r.job.name, r.job.why, states)
}

// loseNode has a job that may not be requeued lose its node: slurmd there is killed, which slurmctld finds out by itself.
func loseNode(t *testing.T, site string) *run {
	t.Helper()
	r := retried{name: "node", args: []string{"--no-requeue", "--exclusive", "--fed-retry=1:node"}, script: "[ $again ] || sleep 300", first: federation.NodeFail, why: "retry 1 of 1 after NODE_FAIL"}.submit(t, site)
	node := ""
	for deadline := time.Now().Add(patience); node == ""; time.Sleep(200 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(r.dir, "runs"))
		if words := strings.Fields(string(text)); len(words) == 3 {
			node = words[2]
		}
		if time.Now().After(deadline) {
			t.Fatal("the job that is to lose its node does not run")
		}
	}
	if err := world.Bed.KillService(site, "slurmd:"+node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { restartNode(t, site, node) })
	return r
}

func restartNode(t *testing.T, site, node string) {
	if err := world.Bed.StartService(t.Context(), site, "slurmd:"+node); err != nil && t.Context().Err() == nil {
		t.Error(err)
	}
	admin(t, site, "for i in $(seq 100); do scontrol show node "+node+" | grep -qE 'State=IDLE( |$)' && exit 0; scontrol update nodename="+node+" state=resume 2>/dev/null; sleep .2; done; exit 1")
}

// restartAll restarts the site's slurmd that run: each sees the mounts that there were when it was started. Jobs do not notice.
func restartAll(t *testing.T, site string) {
	t.Helper()
	for i := range 4 {
		name := "slurmd:" + site + strconv.Itoa(i+1)
		if pid, err := world.Bed.ServicePID(site, name); err != nil || pid == 0 {
			continue // the one that is lost
		}
		if err := world.Bed.StopService(site, name); err != nil {
			t.Fatal(err)
		}
		if err := world.Bed.StartService(t.Context(), site, name); err != nil {
			t.Fatal(err)
		}
	}
}

// configure adds lines to a site's slurm.conf, and has its daemons read them. back takes them away.
func configure(t *testing.T, site string, lines ...string) (back func()) {
	t.Helper()
	const read = " && scontrol reconfigure && for i in $(seq 100); do scontrol ping | grep -q 'is UP' && exit 0; sleep .2; done; exit 1"
	admin(t, site, "cp /etc/slurm/slurm.conf /etc/slurm/slurm.conf.before")
	for _, line := range lines {
		name, _, _ := strings.Cut(line, "=")
		admin(t, site, "sed -i '/^"+name+"=/d' /etc/slurm/slurm.conf && echo '"+line+"' >>/etc/slurm/slurm.conf")
	}
	admin(t, site, "true"+read)
	return func() { admin(t, site, "mv /etc/slurm/slurm.conf.before /etc/slurm/slurm.conf"+read) }
}

// cgroups shows a site the machine's first version of cgroups for memory, where that is in use. The bed's sites have none.
func cgroups(t *testing.T, site string) bool {
	t.Helper()
	controllers, _ := os.ReadFile("/proc/cgroups")
	if _, err := os.Stat("/sys/fs/cgroup/memory/memory.limit_in_bytes"); err != nil && !strings.Contains(string(controllers), "memory\t") {
		t.Log("SKIPPED: this machine has no memory cgroups of version 1: OUT_OF_MEMORY is not tried")
		return false
	}
	pid, err := world.Bed.ServicePID(site, "slurmctld")
	if err != nil {
		t.Fatal(err)
	}
	// Output would enter namespaces of its own, which slurmd does not see.
	out, err := exec.Command("nsenter", "-t", strconv.Itoa(pid), "-m", "sh", "-c",
		"cd /sys/fs/cgroup && mount -t tmpfs cgroups . && cd /sys/fs/cgroup && mkdir memory cpuset && mount -t cgroup -o memory cgroups memory && mount -t cgroup -o cpuset cgroups cpuset").CombinedOutput()
	if err != nil {
		t.Logf("SKIPPED: OUT_OF_MEMORY is not tried, as this machine's memory cgroups cannot be shown to the site: %v: %s", err, out)
		return false
	}
	admin(t, site, `cp /etc/slurm/cgroup.conf /etc/slurm/cgroup.conf.before; printf 'CgroupPlugin=cgroup/v1\nConstrainRAMSpace=yes\n' >/etc/slurm/cgroup.conf`)
	return true
}
