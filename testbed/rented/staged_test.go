package rented

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/ec2"
)

// place is a directory that only its user and the daemon see: no machine of the site is meant to look there.
type place struct {
	*world
	user federation.SiteUser
	home string
	disk string // where jobs that are staged work, on all machines
}

// newPlace makes a world whose site sees none of the users' files.
func newPlace(t *testing.T, c config) *place {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root: jobs of different users need that")
	}
	blobs := "127.0.0.1:" + freePort(t)
	dir, err := os.MkdirTemp(scratch, "scratch")
	if err := errors.Join(err, os.Chmod(dir, 0o1777)); err != nil {
		t.Fatal(err)
	}
	c.site = "filesystems: none\n  scratch: " + dir
	c.more = strings.ReplaceAll(c.more, "SCRATCH", dir)
	c.daemon = append(c.daemon, fmt.Sprintf(`blobs: {url: "file://%s/blobs", shared: %v, listen: %q, public_url: "http://%s"%s}`, dir, several() > 1, blobs, blobs, more(c.blobs)))
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(dir, "fsub-*")); len(left) > 0 {
			t.Errorf("jobs have left %v", left)
		}
	})
	p := newHome(t, c)
	p.disk = dir
	return p
}

// newHome makes a world with a user who has a directory there, which machines see unless the site is told otherwise.
func newHome(t *testing.T, c config) *place {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root: jobs of different users need that")
	}
	p := &place{world: newWorld(t, c), user: systemUser(t, "daemon")}
	p.home = filepath.Join(p.dir, "home")
	if err := errors.Join(os.Mkdir(p.home, 0o700), os.Chown(p.home, int(p.user.UID), int(p.user.GID)), os.Chmod(p.dir, 0o711)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sbatch", "scancel", "squeue", "scontrol", "sacct", "sinfo"} {
		if err := os.Symlink("fsub", filepath.Join(scratch, name)); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	p.start()
	return p
}

// run runs one of our commands as the user, in their directory.
func (p *place) run(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	return p.runAs(p.user, p.home, args...)
}

func (p *place) runAs(u federation.SiteUser, dir string, args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.Command(filepath.Join(scratch, args[0]), args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errOut
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "USER=" + u.Name, "FSUB_SOCKET=" + filepath.Join(p.dir, "s")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.UID, Gid: u.GID}}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatalf("%v: %v", args, err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// submit submits a script as the user.
func (p *place) submit(script string, args ...string) federation.JobID {
	p.t.Helper()
	p.put("job.sh", script)
	out, errOut, code := p.run(append(append([]string{"fsub", "--parsable"}, args...), "job.sh")...)
	id, err := strconv.ParseUint(strings.TrimSpace(out), 10, 32)
	if code != 0 || err != nil {
		p.t.Fatalf("fsub: %d %s%s", code, out, errOut)
	}
	return federation.JobID(id)
}

// put makes a file of the user's.
func (p *place) put(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.home, name)
	if dir := filepath.Dir(path); dir != p.home {
		if err := os.Mkdir(dir, 0o700); err == nil {
			os.Chown(dir, int(p.user.UID), int(p.user.GID))
		}
	}
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chown(path, int(p.user.UID), int(p.user.GID))); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) get(name string) string {
	text, _ := os.ReadFile(filepath.Join(p.home, name))
	return string(text)
}

// shows waits for a job's output to hold a text.
func (p *place) shows(id federation.JobID, text string) (all string) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("the output of job %d has %q", id, text), time.Minute, func() string {
		all, _, _ = p.run("fed", "logs", id.String())
		if !strings.Contains(all, text) {
			return fmt.Sprintf("%q", all)
		}
		return ""
	})
	return all
}

// TestStaged runs a script unchanged at machines that see nothing of its user's: files go there, output, results and exit status come home.
func TestStaged(t *testing.T) {
	t.Parallel()
	p := newPlace(t, config{pool: "max: 2, idle: 2s"})
	p.put("data/a.csv", "1\n")
	p.put("data/b.csv", "2\n")
	p.put("job.sh", "#!/bin/bash\n#SBATCH -J staged -t 5\n#FSUB --stage-in=\"data/*.csv\"\n#FSUB --stage-out=results\n"+
		"echo \"$(id -un): ${0##*/} $*; $(pwd | grep -c home)\"\nmkdir results; cat data/*.csv > results/sum\nsrun -n1 cat data/a.csv\necho err >&2\nexit 3\n")
	out, errOut, code := p.run("sbatch", "--wait", "job.sh", "one", "t w o")
	if code != 3 || errOut != "" {
		t.Errorf("sbatch --wait: status %d: %s%s", code, out, errOut)
	}
	id := strings.TrimSpace(strings.TrimPrefix(out, "Submitted batch job "))
	if got, want := p.get("slurm-"+id+".out"), "daemon: slurm_script one t w o; 0\n1\nerr\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if got := p.get("results/sum"); got != "1\n2\n" {
		t.Errorf("results: %q", got)
	}
	if out, _, _ := p.run("sacct", "-nPX", "-j", id, "-o", "state,exitcode"); out != "FAILED|3:0\n" {
		t.Errorf("sacct: %q", out)
	}
	p.noMachines(time.Minute)
}

// TestStagedFollow watches a job while it runs and after its end, and lets nobody else.
func TestStagedFollow(t *testing.T) {
	t.Parallel()
	p := newPlace(t, config{pool: "max: 2, idle: 2s"})
	gate := filepath.Join(p.dir, "gate") // the one thing that the test lets the machine see
	id := p.submit("#!/bin/bash\n#SBATCH -t 5\n#FSUB --stage-in=job.sh\necho first\nwhile [ ! -e " + gate + " ]; do sleep 0.05; done\necho last\n")
	p.shows(id, "first")
	follow := make(chan string)
	go func() {
		out, errOut, code := p.run("fed", "logs", "-f", id.String())
		follow <- fmt.Sprintf("%s%s%d", out, errOut, code)
	}()
	nobody := systemUser(t, "nobody")
	if out, errOut, code := p.runAs(nobody, "/", "fed", "logs", id.String()); code != 1 || out != "" || !strings.Contains(errOut, "Invalid user id") {
		t.Errorf("another user: %d %q %q", code, out, errOut)
	}
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := <-follow; got != "first\nlast\n0" {
		t.Errorf("who followed saw %q", got)
	}
	if rec := p.await(id, time.Minute); rec.Job.State != federation.Completed {
		t.Errorf("%s (%s)", rec.Job.State, rec.Job.Reason)
	}
	if out, _, code := p.run("fed", "logs", id.String()); out != "first\nlast\n" || code != 0 || p.get("slurm-"+id.String()+".out") != out {
		t.Errorf("after its end: %d %q, and at home %q", code, out, p.get("slurm-"+id.String()+".out"))
	}
	if _, errOut, code := p.runAs(nobody, "/", "fed", "logs", id.String()); code != 1 || !strings.Contains(errOut, "Invalid user id") {
		t.Errorf("another user after its end: %d %q", code, errOut)
	}
}

// TestStagedPreempted takes the machine back in the middle: the job writes its checkpoint to an address of its own, runs again somewhere else, and what comes home is of the last run.
func TestStagedPreempted(t *testing.T) {
	t.Parallel()
	p := newPlace(t, config{pool: "max: 2, idle: 2s, markets: [spot]", cloud: ec2.Config{Lead: 30 * time.Second}})
	p.put("in", "staged\n")
	id := p.submit("#!/bin/bash\n#SBATCH -t 5 --requeue\n#FSUB --stage-in=in\n#FSUB --stage-out=r\ntrap 'echo saved; echo half > r; exit 143' TERM\n" +
		"echo \"run ${SLURM_RESTART_COUNT:-0} $(cat in)\" | tee -a r\n[ -n \"$SLURM_RESTART_COUNT\" ] && exit\nfor i in {1..600}; do sleep 0.1; done\n")
	p.shows(id, "run 0 staged")
	for _, in := range p.cloud.Instances() {
		if in.State == "running" {
			if err := p.cloud.SpotNotice(in.ID, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	rec := p.await(id, 90*time.Second)
	if rec.Job.State != federation.Completed || rec.Job.Restarts != 1 {
		t.Errorf("%s (%s), restarts %d: %v", rec.Job.State, rec.Job.Reason, rec.Job.Restarts, rec.Events)
	}
	if out := p.get("slurm-" + id.String() + ".out"); out != "run 1 staged\n" || p.get("r") != "run 1 staged\n" {
		t.Errorf("output %q, result %q", out, p.get("r"))
	}
	if out, _, _ := p.run("fed", "logs", id.String()); out != "run 1 staged\n" {
		t.Errorf("logs: %q", out)
	}
	p.noMachines(time.Minute)
}

// TestStagedOnTwoNodes: the staged directory is one of the first node. Steps run on both.
func TestStagedOnTwoNodes(t *testing.T) {
	t.Parallel()
	p := newPlace(t, config{pool: "max: 2, idle: 2s"})
	id := p.submit("#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=1 -t 5\n#FSUB --stage-out=nodes\nsrun -l hostname | sort | tee nodes\n")
	if rec := p.await(id, 90*time.Second); rec.Job.State != federation.Completed {
		t.Errorf("%s (%s): %v", rec.Job.State, rec.Job.Reason, rec.Events)
	}
	out := p.get("slurm-" + id.String() + ".out")
	if strings.Count(out, "\n") != 2 || !strings.HasPrefix(out, "0: aws-") || out != p.get("nodes") {
		t.Errorf("output %q, result %q", out, p.get("nodes"))
	}
}
