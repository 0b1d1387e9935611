package spine

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
)

// Inside a job our commands come first, know who calls and speak of the federation: squeue, scontrol, sacct, sbatch with a dependency
// on the job itself, scancel of another. At gamma they reach the daemon over the network, with a token of the job, which acts on the job itself and on
// what it has submitted alone.
func TestInsideAJob(t *testing.T) {
	world.Need(t)
	for _, site := range []string{"alpha", "gamma"} {
		t.Run(site, func(t *testing.T) {
			dir := world.Bed.Home("alice")
			victim := fsub(t, "alice", "-H", "--wrap", "true")
			other := fsub(t, "bob", "-H", "--wrap", "true")
			out := filepath.Join(dir, "inside-"+site)
			id := fsub(t, "alice", "-J", "outer", "--gres=gpu:"+gpuOf[site]+":1", "-t5", "-o", out, "--wrap", fmt.Sprintf(`
command -v squeue
squeue -h -j $SLURM_JOB_ID -o "%%i %%j %%T"
scontrol show job $SLURM_JOB_ID | head -1
scontrol show hostnames $SLURM_JOB_NODELIST
FSUB_SOCKET=/nowhere scontrol show hostnames n[1-2]
sacct -n -X -P -j $SLURM_JOB_ID -o jobid,state
next=$(sbatch --parsable -o %[1]s.next --dependency=afterok:$SLURM_JOB_ID --wrap 'echo after')
squeue -h -j $next -o "%%T %%r"
scancel %[2]d && echo cancelled
scancel %[3]d || echo refused
own=$(sbatch --parsable -H --wrap true)
scancel $own && echo own
`, out, victim, other))
			j := awaitEnd(t, id)
			if string(j.Site) != site || j.State != federation.Completed {
				t.Fatalf("ended as %s at %s", j.State, j.Site)
			}
			denied := func(id federation.JobID) string {
				return fmt.Sprintf("scancel: error: Kill job error on job id %d: Access/permission denied\n", id)
			}
			commands, cancelled := world.Bin, "cancelled\n"
			if site == "gamma" {
				commands, cancelled = filepath.Join(world.Bin, "remote"), denied(victim)
				login(t, "alice", "scancel", victim.String())
			}
			want := fmt.Sprintf("%s/squeue\n%d outer RUNNING\nJobId=%d JobName=outer\n%s\nn1\nn2\n%d|RUNNING\nPENDING Dependency\n", commands, id, id, j.Nodes, id) +
				cancelled + denied(other) + "refused\nown\n"
			if got := read(t, out); got != want {
				t.Errorf("the job wrote\n%s\nwant\n%s", got, want)
			}
			if got := read(t, out+".next"); got != "after\n" {
				t.Errorf("the job that it submitted wrote %q", got)
			}
			if end := awaitEnd(t, victim); end.State != federation.Cancelled {
				t.Errorf("the job that was cancelled is %s", end.State)
			}
			login(t, "bob", "scancel", other.String())
		})
	}
}

// A job that requeues itself comes back under its own number, and knows that it does.
func TestRequeueFromWithin(t *testing.T) {
	world.Need(t)
	for _, site := range []string{"alpha", "gamma"} {
		t.Run(site, func(t *testing.T) {
			t.Parallel() // Slurm lets a requeued job wait for half a minute
			out := filepath.Join(world.Bed.Home("alice"), "requeue-"+site)
			id := fsub(t, "alice", "--gres=gpu:"+gpuOf[site]+":1", "-t20", "--open-mode=append", "-o", out, "--wrap",
				`echo "$SLURM_JOB_ID ${SLURM_RESTART_COUNT-none}"; [ "$SLURM_RESTART_COUNT" ] || { scontrol requeue $SLURM_JOB_ID; sleep 1000; }`)
			await(t, id, "requeued", func(j *federation.Job) bool { return j.Restarts == 1 })
			if j := await(t, id, "pending again", func(j *federation.Job) bool { return j.State == federation.Pending || j.Restarts == 1 }); j.State.Ended() {
				t.Fatalf("ended as %s", j.State)
			}
			awaitGone(t, site, id)
			time.Sleep(5 * time.Second) // or slurmctld takes the end of the first run for that of the second
			login(t, "alice", "scontrol", "update", "JobId="+id.String(), "StartTime=now")
			j := awaitEnd(t, id)
			if j.State != federation.Completed || j.Restarts != 1 {
				t.Errorf("ended as %s after %d restarts: %s", j.State, j.Restarts, login(t, "alice", "fed", "job", "show", id.String()).stdout)
			}
			first, second := id.String()+" none\n", id.String()+" 1\n"
			if got := read(t, out); !strings.HasPrefix(got, first) || !strings.HasSuffix(got, second) { // with what slurmd says between
				t.Errorf("the job wrote %q, want %q and %q", got, first, second)
			}
		})
	}
}

// awaitGone waits until nothing of a run is left on its node, and its site has heard that.
func awaitGone(t *testing.T, site string, id federation.JobID) {
	t.Helper()
	steps := "^slurmstepd: \\[" + id.String() + "\\."
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		state := strings.TrimSpace(at(t, site, "root", "squeue", "-h", "-j", id.String(), "-o", "%T").stdout)
		left := at(t, site, "root", "sh", "-c", "grep -sl '"+steps+"' /proc/[0-9]*/cmdline").stdout
		if left == "" && (state == "" || state == "PENDING") {
			return
		}
	}
	t.Fatalf("the first run of job %d is still at %s after %v", id, site, patience)
}

// Dependencies hold over sites.
func TestDependenciesOverSites(t *testing.T) {
	world.Need(t)
	good := fsub(t, "alice", "--gres=gpu:h100:1", "-t5", "--array=0-1", "--wrap", "sleep 2; [ $SLURM_ARRAY_TASK_ID = 0 ]") // alpha; task 1 fails
	at := func(site string, dep string, more ...string) federation.JobID {
		return fsub(t, "alice", append(append([]string{"--gres=gpu:" + gpuOf[site] + ":1", "-t5", "--dependency=" + fmt.Sprintf(dep, good)}, more...), "--wrap", "true")...)
	}
	ok := at("gamma", "afterok:%d", "--kill-on-invalid-dep=yes")
	notok := at("gamma", "afternotok:%d")
	one := at("beta", "afterok:%d_0")
	started := at("beta", "after:%d")
	corr := at("gamma", "aftercorr:%d", "--array=0-1")
	either := fsub(t, "alice", "-t5", fmt.Sprintf("--dependency=afterok:%d?afterany:%d", good, one), "--wrap", "true")
	for id, want := range map[federation.JobID]federation.State{ok: federation.Cancelled, notok: federation.Completed, one: federation.Completed,
		started: federation.Completed, either: federation.Completed} {
		if j := awaitEnd(t, id); j.State != want {
			t.Errorf("%s ended as %s, want %s", j.Spec.Dependency, j.State, want)
		}
	}
	j := await(t, corr, "done as far as it can be", func(j *federation.Job) bool {
		return j.Reason == reasons.DependencyNever && j.Spec.Array == "1"
	})
	rows := login(t, "alice", "squeue", "-h", "-j", corr.String(), "-o", "%i %t %r").stdout
	if want := fmt.Sprintf("%d_[1] PD DependencyNeverSatisfied\n", corr); rows != want {
		t.Errorf("squeue says %q, want %q; the array is %s", rows, want, j.State)
	}
	login(t, "alice", "scancel", corr.String())
	awaitEnd(t, corr)
}
