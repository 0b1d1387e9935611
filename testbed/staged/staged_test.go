package staged

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/bed"
)

// step is a script that has work to do when %s is over.
const step = `#!/bin/bash
#SBATCH --job-name=step -N1 -n1 -t 20
#FSUB --stage-in="data/*.csv"
#FSUB --stage-out=results
echo "at $SLURMD_NODENAME as $(id -un): ${0##*/} $*"
mkdir results
cat data/*.csv >results/sum
srun -n1 cat data/a.csv
%s
echo done >&2
exit 3
`

func (p *place) data() {
	p.Helper()
	u, _ := bed.FindUser(p.user)
	if err := os.Mkdir(p.dir+"/data", 0o700); err != nil {
		p.Fatal(err)
	}
	os.Chown(p.dir+"/data", u.UID, u.UID)
	p.write("data/a.csv", "1\n")
	p.write("data/b.csv", "2\n")
}

// TestAsIfItWereHere: sbatch --wait returns the script's own status, and everything is there when it does.
func TestAsIfItWereHere(t *testing.T) {
	p := newPlace(t, "alice")
	p.data()
	p.write("job.sh", fmt.Sprintf(step, "sleep 1"))
	out, errOut, code := p.run("sbatch", "--wait", "-o", "out.%j", "job.sh", "one", "t w o")
	if code != 3 || errOut != "" {
		t.Fatalf("status %d: %s%s", code, out, errOut)
	}
	id := strings.TrimSpace(strings.TrimPrefix(out, "Submitted batch job "))
	want := "at alpha1 as alice: slurm_script one t w o\n1\ndone\n"
	if got := p.read("out." + id); strings.ReplaceAll(got, "alpha2", "alpha1") != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if got := p.read("results/sum"); got != "1\n2\n" {
		t.Errorf("results: %q", got)
	}
	st, err := os.Stat(p.dir + "/results/sum")
	if u, _ := bed.FindUser("alice"); err != nil || int(st.Sys().(*syscall.Stat_t).Uid) != u.UID {
		t.Errorf("the results belong to another: %v, %v", st, err)
	}
}

func TestFollow(t *testing.T) {
	p := newPlace(t, "alice")
	p.data()
	wait, open := p.gate()
	id := p.submit(fmt.Sprintf(step, wait))
	if early := p.untilLogs(id, "at alpha"); strings.Contains(early, "done") { // what is there while it runs
		t.Errorf("the first that was seen was all: %q", early)
	}
	open()
	out, errOut, code := p.run("fed", "logs", "-f", id.String())
	if code != 0 || !strings.HasSuffix(out, "1\ndone\n") {
		t.Errorf("status %d: %q %q", code, out, errOut)
	}
	if got := p.read("slurm-" + id.String() + ".out"); got != out {
		t.Errorf("the follower saw %q, the file holds %q", out, got)
	}
	if _, errOut, code := p.runAs("bob", "fed", "logs", id.String()); code != 1 || !strings.Contains(errOut, "Invalid user id") {
		t.Errorf("another user: %d %s", code, errOut)
	}
}

func TestWithoutStagingItCannotRunThere(t *testing.T) {
	p := newPlace(t, "alice")
	p.write("job.sh", "#!/bin/sh\n")
	_, errOut, code := p.run("fsub", "job.sh")
	if code == 0 || !strings.Contains(errOut, p.dir+" is not there") {
		t.Errorf("status %d: %s", code, errOut)
	}
}

func TestTheDaemonDiesMeanwhile(t *testing.T) {
	p := newPlace(t, "carol")
	p.data()
	wait, open := p.gate()
	id := p.submit(fmt.Sprintf(step, wait))
	p.until(id, "running", running)
	world.Daemon.Kill()
	open()
	time.Sleep(6 * time.Second) // the job ends and sends nothing to nobody
	if err := world.Daemon.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	j := p.until(id, "ended", ended)
	if j.State != federation.Failed || j.ExitStatus != 3<<8 || p.read("results/sum") != "1\n2\n" || !strings.Contains(p.read("slurm-"+id.String()+".out"), "done") {
		t.Errorf("%s %d, results %q, output %q", j.State, j.ExitStatus, p.read("results/sum"), p.read("slurm-"+id.String()+".out"))
	}
}

func TestCancelledSendsWhatItHas(t *testing.T) {
	p := newPlace(t, "bob")
	id := p.submit("#!/bin/bash\n#FSUB --stage-out=part\ntrap 'echo got TERM; echo half >part; exit 9' TERM\necho ready\nfor i in {1..6000}; do sleep 0.1; done\n")
	p.until(id, "running", running)
	p.untilLogs(id, "ready")
	if _, errOut, code := p.run("scancel", id.String()); code != 0 {
		t.Fatalf("scancel: %d %s", code, errOut)
	}
	j := p.until(id, "ended", ended)
	out := p.read("slurm-" + id.String() + ".out")
	if j.State != federation.Cancelled || p.read("part") != "half\n" || strings.Count(out, "got TERM") != 1 || !strings.Contains(out, "CANCELLED AT") {
		t.Errorf("%s, part %q, output %q", j.State, p.read("part"), out)
	}
}

// untilLogs waits until a job has written a word, and returns all that it has.
func (p *place) untilLogs(id federation.JobID, word string) string {
	p.Helper()
	out := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if out, _, _ = p.run("fed", "logs", id.String()); strings.Contains(out, word) {
			return out
		}
	}
	p.Fatalf("job %d has not written %q, but %q", id, word, out)
	return ""
}

func TestRequeuedAtItsSite(t *testing.T) {
	p := newPlace(t, "alice")
	id := p.submit("#!/bin/bash\n#SBATCH --requeue\n#FSUB --stage-out=r\necho run ${SLURM_RESTART_COUNT:-0} >>r\ncat r\n[ -n \"$SLURM_RESTART_COUNT\" ] || sleep 590\n")
	p.until(id, "running", running)
	p.untilLogs(id, "run 0")
	if out, err := world.Bed.Output(t.Context(), "alpha", "", "scontrol", "requeue", id.String()); err != nil {
		t.Fatalf("scontrol requeue: %v %s", err, out)
	}
	p.startAgain(id)
	j := p.until(id, "ended", ended)
	if out := p.read("slurm-" + id.String() + ".out"); j.State != federation.Completed || p.read("r") != "run 1\n" || out != "run 1\n" {
		t.Errorf("%s, result %q, output %q", j.State, p.read("r"), out)
	}
}

// startAgain has a requeued job not wait the two minutes that slurmctld lets it wait.
func (p *place) startAgain(id federation.JobID) {
	p.Helper()
	state := ""
	for deadline := time.Now().Add(patience); state != "PENDING"; time.Sleep(200 * time.Millisecond) { // COMPLETING before: then the time is set anew
		out, err := world.Bed.Output(p.Context(), "alpha", "", "squeue", "-h", "-o", "%T", "-j", id.String())
		if state = strings.TrimSpace(out); time.Now().After(deadline) {
			p.Fatalf("the requeued job is %q: %v", state, err)
		}
	}
	time.Sleep(5 * time.Second) // or slurmctld takes the end of the first run for that of the second
	if out, err := world.Bed.Output(p.Context(), "alpha", "", "scontrol", "update", "JobId="+id.String(), "StartTime=now"); err != nil {
		p.Fatalf("scontrol update: %v %s", err, out)
	}
}

func TestAFailedStageInSaysWhy(t *testing.T) {
	p := newPlace(t, "alice")
	id := p.submit("#!/bin/sh\n#FSUB --stage-in=nowhere/*.csv\n")
	j := p.until(id, "ended", ended)
	out := p.read("slurm-" + id.String() + ".out")
	if j.State != federation.Failed || out != "fsub: stage-in: nothing matches nowhere/*.csv\n" {
		t.Errorf("%s, output %q", j.State, out)
	}
}

func TestArray(t *testing.T) {
	p := newPlace(t, "carol")
	id := p.submit("#!/bin/sh\n#FSUB --stage-out=r.*\necho $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT >r.$SLURM_ARRAY_TASK_ID\necho out >&2\n", "-a", "1-60:20", "-e", "err.%a")
	p.until(id, "ended", ended)
	for _, task := range []string{"1", "21", "41"} {
		if p.read("r."+task) != task+" of 3\n" || p.read("err."+task) != "out\n" {
			t.Errorf("task %s: %q %q", task, p.read("r."+task), p.read("err."+task))
		}
		if out, _, code := p.run("fed", "logs", "--err", id.String()+"_"+task); out != "out\n" || code != 0 {
			t.Errorf("logs of task %s: %d %q", task, code, out)
		}
	}
}
