package spine

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fsub/federation"
)

// A heterogeneous job runs at one site, its components under numbers in a row, the script with the first of them; squeue, sacct and
// scancel call them N+0 and N+1.
func TestComponents(t *testing.T) {
	world.Need(t)
	for _, site := range []string{"alpha", "gamma"} {
		t.Run(site, func(t *testing.T) {
			seen := newGate(t)
			out := filepath.Join(world.Bed.Home("alice"), "het-"+site+"-%j.txt")
			gpu := "--gres=gpu:" + gpuOf[site] + ":1"
			id := fsub(t, "alice", "-J", "first", "-n1", gpu, "-t20", "-o", out, ":", "-J", "second", "-n2", gpu, "-t20", "--wrap",
				`echo "$SLURM_HET_SIZE $SLURM_JOB_ID $SLURM_JOB_ID_HET_GROUP_1 $SLURM_JOB_NAME_HET_GROUP_1"; srun --het-group=0,1 printenv SLURM_PROCID | sort; `+seen.wait()+`; sleep 2`) // a job that ends in the second in which it started costs nothing
			j := awaitRunning(t, id)
			if string(j.Site) != site {
				t.Fatalf("job %d went to %s", id, j.Site)
			}
			second := await(t, id+1, "running", func(j *federation.Job) bool { return j.State == federation.Running })
			if second.Nodes == "" || string(second.Site) != site {
				t.Errorf("second component: %+v", second)
			}
			rows := login(t, "bob", "squeue", "-h", "-j", id.String(), "-o", "%i %j %t").stdout
			if want := fmt.Sprintf("%[1]d+0 first R\n%[1]d+1 second R\n", id); rows != want {
				t.Errorf("our squeue says %q, want %q", rows, want)
			}
			if theirs := at(t, site, "alice", "squeue", "-h", "-j", id.String(), "-o", "%i %j %t", "-S", "i").stdout; theirs != rows {
				t.Errorf("squeue at %s says %q", site, theirs)
			}
			seen.open()
			if end := awaitEnd(t, id); end.State != federation.Completed {
				t.Errorf("ended as %s", end.State)
			}
			if end := awaitEnd(t, id+1); end.State != federation.Completed || end.Cost == 0 {
				t.Errorf("second component ended as %s at $%v", end.State, end.Cost)
			}
			got := read(t, strings.ReplaceAll(out, "%j", id.String()))
			if want := fmt.Sprintf("2 %d %d second\n0\n1\n2\n", id, id+1); got != want {
				t.Errorf("the script saw %q, want %q", got, want)
			}
			rows = login(t, "alice", "sacct", "-n", "-P", "-X", "-j", id.String(), "-o", "jobid,jobidraw,jobname,state").stdout
			if want := fmt.Sprintf("%[1]d+0|%[1]d|first|COMPLETED\n%[1]d+1|%[2]d|second|COMPLETED\n", id, id+1); rows != want {
				t.Errorf("our sacct says %q, want %q", rows, want)
			}
		})
	}
	id := fsub(t, "alice", "-H", "-n1", ":", "-n2", "--wrap", "true")
	if out := login(t, "alice", "scancel", (id + 1).String()); out.code != 0 || out.stderr != "" {
		t.Errorf("scancel %d+1: %+v", id, out)
	}
	for k := range federation.JobID(2) {
		if end := awaitEnd(t, id+k); end.State != federation.Cancelled {
			t.Errorf("component %d ended as %s", k, end.State)
		}
	}
}
