package spine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/reasons"
	"fsub/testbed/bed"
)

// Sites are told apart by their GPUs: a job that asks for a type can only go there.
var gpuOf = map[string]string{"alpha": "h100", "beta": "a100", "gamma": "h200"}

// The number that fsub printed is the job's in the site's own squeue, in $SLURM_JOB_ID, in the name of its output file and in the
// site's sacct.
func TestOneIDEverywhere(t *testing.T) {
	world.Need(t)
	for _, site := range []string{"alpha", "gamma"} {
		t.Run(site, func(t *testing.T) {
			seen := newGate(t)
			id := fsub(t, "alice", "--gres=gpu:"+gpuOf[site]+":2", "-t20", "--wrap", `echo "$SLURM_JOB_ID $(id -un) $FOO $(pwd) $CUDA_VISIBLE_DEVICES"; `+seen.wait()+`; exit 3`)
			j := awaitRunning(t, id)
			if string(j.Site) != site {
				t.Fatalf("job %d went to %s", id, j.Site)
			}
			row := at(t, site, "alice", "squeue", "-h", "-j", id.String(), "-o", "%i %u %t").stdout
			if row != id.String()+" alice R\n" {
				t.Errorf("squeue at %s says %q", site, row)
			}
			if row := login(t, "bob", "squeue", "-h", "-j", id.String(), "-o", "%i %u %t").stdout; row != id.String()+" alice R\n" {
				t.Errorf("our squeue says %q", row)
			}
			seen.open()
			end := awaitEnd(t, id)
			if end.State != federation.Failed || end.ExitStatus != 3<<8 {
				t.Errorf("ended as %s %#x, want FAILED with exit code 3", end.State, end.ExitStatus)
			}
			home := world.Bed.Home("alice")
			text := read(t, filepath.Join(home, "slurm-"+id.String()+".out"))
			if want := fmt.Sprintf("%d alice bar %s 0,1\n", id, home); text != want {
				t.Errorf("the job saw %q, want %q", text, want)
			}
			sacctShows(t, site, id.String(), id.String()+"|FAILED|3:0|alice\n")
			if row := login(t, "alice", "sacct", "-n", "-P", "-X", "-j", id.String(), "-o", "jobid,state,exitcode,user").stdout; row != id.String()+"|FAILED|3:0|alice\n" {
				t.Errorf("our sacct says %q", row)
			}
		})
	}
}

func sacctShows(t *testing.T, site, id, want string) {
	t.Helper()
	var row string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); { // accounting follows within a second or two
		row = at(t, site, "alice", "sacct", "-n", "-P", "-X", "-j", id, "-o", "jobid,state,exitcode,user").stdout
		if row == want {
			return
		}
		time.Sleep(250 * time.Millisecond)
	}
	t.Errorf("sacct at %s says %q, want %q", site, row, want)
}

// read reads what a job wrote, or will in a moment.
func read(t *testing.T, path string) string {
	t.Helper()
	var text []byte
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if text, err = os.ReadFile(path); err == nil && len(text) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestArrays(t *testing.T) {
	world.Need(t)
	for _, site := range []string{"alpha", "gamma"} {
		t.Run(site, func(t *testing.T) {
			out := filepath.Join(world.Bed.Home("alice"), "array-"+site)
			id := fsub(t, "alice", "--array=1-3%2", "--gres=gpu:"+gpuOf[site]+":1", "-t5", "-o", out+"-%A_%a.txt", "--wrap",
				`echo "$SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT"; sleep 1; [ $SLURM_ARRAY_TASK_ID != 2 ]`)
			end := awaitEnd(t, id)
			if end.State != federation.Failed {
				t.Errorf("array ended as %s, want FAILED: task 2 fails", end.State)
			}
			for task := 1; task <= 3; task++ {
				if got, want := read(t, fmt.Sprintf("%s-%d_%d.txt", out, id, task)), fmt.Sprintf("%d %d 3\n", id, task); got != want {
					t.Errorf("task %d wrote %q, want %q", task, got, want)
				}
			}
			rows := login(t, "alice", "sacct", "-n", "-P", "-X", "-j", id.String(), "-o", "jobid,state").stdout
			if want := fmt.Sprintf("%[1]d_1|COMPLETED\n%[1]d_2|FAILED\n%[1]d_3|COMPLETED\n", id); rows != want {
				t.Errorf("our sacct says %q, want %q", rows, want)
			}
		})
	}
}

func TestTwoNodesUnderOneSwitch(t *testing.T) {
	world.Need(t)
	out := filepath.Join(world.Bed.Home("alice"), "gang.txt")
	id := fsub(t, "alice", "-N2", "--ntasks-per-node=1", "--gpus-per-node=a100:2", "--switches=1", "-t5", "-o", out, "--wrap", "srun hostname")
	if j := awaitEnd(t, id); j.State != federation.Completed || j.Site != "beta" {
		t.Fatalf("ended as %s at %s", j.State, j.Site)
	}
	if lines := strings.Fields(read(t, out)); len(lines) != 2 || lines[0] == lines[1] {
		t.Errorf("srun wrote %q, want two nodes", lines)
	}
}

// A user can do nothing to another's job; an operator can.
func TestUsers(t *testing.T) {
	world.Need(t)
	id := fsub(t, "alice", "-t20", "--gres=gpu:1", "--wrap", "sleep 1160")
	awaitRunning(t, id)
	out := login(t, "bob", "scancel", id.String())
	if want := fmt.Sprintf("scancel: error: Kill job error on job id %d: Access/permission denied\n", id); out.stderr != want || out.code == 0 {
		t.Errorf("bob's scancel: exit %d, %q", out.code, out.stderr)
	}
	for _, path := range []string{"/fed/v1/jobs/hold", "/fed/v1/jobs/signal", "/fed/v1/jobs/release", "/fed/v1/jobs/cancel"} {
		req := act(id)
		if strings.HasSuffix(path, "signal") {
			req.Signal.Name = "USR1"
		}
		_, body := call(t, "bob", "POST", path, req)
		var r v1.ActResponse
		if err := json.Unmarshal([]byte(body), &r); err != nil || len(r.Results) != 1 || r.Results[0].Error == nil {
			t.Errorf("bob's %s: %s", path, body)
		}
	}
	if status, body := call(t, "bob", "GET", jobPath(id, "/payload"), nil); status < 400 || strings.Contains(body, "sleep 1160") {
		t.Errorf("bob reads alice's script: %d %s", status, body)
	}
	if status, body := call(t, "bob", "GET", jobPath(id, ""), nil); status == 200 && strings.Contains(body, "FOO=bar") {
		t.Errorf("bob reads alice's environment: %s", body)
	}
	if status, body := call(t, "alice", "GET", jobPath(id, "/payload"), nil); status != 200 || !strings.Contains(body, "sleep 1160") {
		t.Errorf("alice cannot read her own script: %d %s", status, body)
	}
	if j := await(t, id, "known", func(*federation.Job) bool { return true }); j.State != federation.Running {
		t.Errorf("after all that the job is %s", j.State)
	}
	if out := login(t, "root", "scancel", id.String()); out.code != 0 || out.stderr != "" {
		t.Errorf("the operator's scancel: %+v", out)
	}
	if j := awaitEnd(t, id); j.State != federation.Cancelled {
		t.Errorf("ended as %s", j.State)
	}
}

// Who submits is who the kernel says, whatever the request says.
func TestNobodySubmitsAsAnother(t *testing.T) {
	world.Need(t)
	bob, err := bed.FindUser("bob")
	if err != nil {
		t.Fatal(err)
	}
	status, body := call(t, "alice", "POST", "/slurm/v0.0.42/job/submit", map[string]any{"script": "#!/bin/sh\nid\n", "job": map[string]any{
		"name": "x", "current_working_directory": "/tmp", "environment": []string{"PATH=/bin"}, "user_id": fmt.Sprint(bob.UID), "group_id": fmt.Sprint(bob.UID)}})
	var r struct {
		JobID federation.JobID `json:"job_id"`
	}
	_ = json.Unmarshal([]byte(body), &r)
	if r.JobID == 0 {
		return // refused
	}
	if j := awaitEnd(t, r.JobID); j.User != "alice" {
		t.Errorf("alice submitted as %s: %d %s", j.User, status, body)
	}
}

// dave is unknown at beta, where his job would have been cheapest.
func TestUserUnknownAtASite(t *testing.T) {
	world.Need(t)
	id := fsub(t, "dave", "-t5", "--gres=gpu:1", "--wrap", "true")
	j := awaitEnd(t, id)
	if j.Site == "beta" || j.State != federation.Completed {
		t.Errorf("ended as %s at %s", j.State, j.Site)
	}
	out := login(t, "dave", "fed", "explain", id.String())
	if !strings.Contains(out.stdout, "beta") || !strings.Contains(out.stdout, "FedUnknownUser") {
		t.Errorf("explain does not say that beta does not know him: %s%s", out.stdout, out.stderr)
	}
	if out := login(t, "dave", "fsub", "--gres=gpu:a100:1", "--wrap", "true"); out.code != 1 || !strings.Contains(out.stderr, "sbatch: error: Batch job submission failed: ") {
		t.Errorf("only beta has an a100: %+v", out)
	}
}

// A site whose token is wrong says so, and the others go on.
func TestWrongToken(t *testing.T) {
	world.Need(t)
	var out output
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) { // it may not have been asked yet
		out = login(t, "alice", "fed", "site", "list")
		for line := range strings.Lines(out.stdout) {
			if strings.HasPrefix(line, "broken") && strings.Contains(line, "TOKEN REFUSED") && strings.Contains(line, "refuses the token") && strings.Contains(line, "wrong.key") {
				return
			}
		}
	}
	t.Errorf("does not say of site broken what is wrong and with which file:\n%s%s", out.stdout, out.stderr)
}

// A site that hangs keeps its jobs and delays nobody: other jobs run elsewhere, and submitting goes on.
func TestHungSite(t *testing.T) {
	world.Need(t)
	hung := newGate(t)
	stays := fsub(t, "alice", "-t20", "--gres=gpu:a100:1", "--wrap", hung.wait())
	awaitRunning(t, stays)
	if err := world.Bed.Link(t.Context(), "beta", bed.LinkCut); err != nil {
		t.Fatal(err)
	}
	healed := false
	heal := func() {
		if !healed {
			healed = true
			if err := world.Bed.Link(t.Context(), "beta", bed.LinkHeal); err != nil {
				t.Error(err)
			}
		}
	}
	defer heal()
	awaitSite(t, "beta", false)
	id := fsub(t, "alice", "-t5", "--gres=gpu:1", "--wrap", "true")
	if j := awaitEnd(t, id); j.Site == "beta" || j.State != federation.Completed {
		t.Errorf("ended as %s at %s", j.State, j.Site)
	}
	if out := login(t, "alice", "fsub", "--gres=gpu:v100:1", "--wrap", "true"); out.code != 1 {
		t.Errorf("no site has a V100, and the hung one had none when it was last seen: %+v", out)
	}
	waits := fsub(t, "alice", "-t5", "--gres=gpu:a100:1", "-N5", "--wrap", "true")
	j := await(t, waits, "waiting for beta", func(j *federation.Job) bool { return j.Reason == reasons.SiteUnavailable })
	if j.State != federation.Pending {
		t.Errorf("%s while its only site hangs", j.State)
	}
	if j := await(t, stays, "known", func(*federation.Job) bool { return true }); j.State != federation.Running || j.Site != "beta" {
		t.Errorf("the job at the hung site is %s at %s", j.State, j.Site)
	}
	hung.open()
	heal()
	awaitSite(t, "beta", true)
	for _, id := range []federation.JobID{stays, waits} {
		if j := awaitEnd(t, id); j.State != federation.Completed || j.Site != "beta" {
			t.Errorf("job %d ended as %s at %s", id, j.State, j.Site)
		}
	}
}

func awaitSite(t *testing.T, name string, answering bool) {
	t.Helper()
	c := world.Daemon.Client()
	defer c.Close()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		sites, err := c.Sites(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sites {
			if string(s.Name) == name && s.Answering == answering {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("site %s: answering is not %v after %v", name, answering, patience)
}
