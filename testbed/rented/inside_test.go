package rented

import (
	"encoding/json"
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
	v1 "fsub/federation/api/v1"
	"fsub/testbed/terminal"
)

// TestInside is what a user does in jobs on machines of Amazon's stand-in: commands, a gang's step, a shell at a terminal, a job of salloc's own. A shell whose daemon is
// killed says so within five seconds.
func TestInside(t *testing.T) {
	p := newHome(t, config{pool: "max: 4, idle: 2s"})
	p.inside("s", func() []process { return p.running() })
}

// TestInsideSeveral is the same through a daemon that stands by, beside one that leads. When the leader is killed a shell says so within five seconds, and the next one
// opens by the daemon that leads then.
func TestInsideSeveral(t *testing.T) {
	t.Setenv("FSUB_DAEMONS", "2")
	p := newHome(t, config{pool: "max: 4, idle: 2s"})
	socket, leader := "", 0
	p.eventually("one of two daemons leads", time.Minute, func() string {
		out, said, _ := p.run("fed", "daemon", "list", "--json")
		var all []v1.Daemon
		if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 2 {
			return fmt.Sprintf("%v: %s%s", err, out, said)
		}
		for i := range all {
			n, _ := strconv.Atoi(strings.TrimPrefix(all[i].Name, "d"))
			if all[i].Leads {
				leader = n - 1
			} else if socket = "s"; n > 1 {
				socket += strconv.Itoa(n)
			}
		}
		return ""
	})
	p.inside(socket, func() []process { return p.running()[leader : leader+1] })
}

// inside calls by a socket. leaders are the daemons that the test takes away.
func (p *place) inside(socket string, leaders func() []process) {
	t := p.t
	for _, name := range []string{"srun", "salloc"} {
		if err := os.Symlink("fsub", filepath.Join(scratch, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	as := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(scratch, args[0]), args[1:]...)
		cmd.Dir = p.home
		cmd.Env = []string{"PATH=" + scratch + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + p.home, "USER=" + p.user.Name, "SHELL=/bin/bash", "TERM=dumb",
			"FSUB_SOCKET=" + filepath.Join(p.dir, socket)}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: p.user.UID, Gid: p.user.GID}}
		return cmd
	}
	id := p.submit("#!/bin/bash\n#SBATCH -t 10 -o /dev/null\nsleep 600\n", "-N2", "-J", "long")
	p.eventually("it runs", 2*time.Minute, func() string {
		if rec, err := p.job(id); err != nil || rec.Job.State != federation.Running {
			return fmt.Sprint(rec, err)
		}
		return ""
	})
	says := func(want string, args ...string) {
		t.Helper()
		if out, err := as(args...).Output(); err != nil || string(out) != want {
			t.Errorf("%q: %v, %q, want %q", args, err, out, want)
		}
	}
	says("long\n", "fed", "attach", id.String(), "printenv", "SLURM_JOB_NAME")
	step := as("srun", "--jobid="+id.String(), "--overlap", "-N2", "--label", "sh", "-c", "echo $SLURM_NODEID $SLURM_NNODES")
	if out, err := step.Output(); err != nil || !strings.Contains(string(out), "0: 0 2\n") || !strings.Contains(string(out), "1: 1 2\n") {
		t.Errorf("a step of the gang: %v, %q", err, out)
	}
	says("own\nown\n", "salloc", "-Q", "-N2", "-J", "own", "-t", "5", "srun", "printenv", "SLURM_JOB_NAME")
	shell := func() *terminal.Terminal {
		t.Helper()
		x := terminal.Start(t, as("fed", "attach", id.String(), "env", "PS1=READY> ", "bash", "--norc", "-i"), 24, 80)
		x.Expect("READY> ")
		x.Type("echo job=$SLURM_JOB_ID tty=$(test -t 0 && echo yes)\r")
		x.Expect("job=" + id.String() + " tty=yes")
		return x
	}
	x := shell()
	x.Type("\x03")
	x.Expect("READY> ")
	began := time.Now()
	for _, d := range leaders() {
		d.Process.Kill()
	}
	x.Expect("the connection to job " + id.String() + " is lost")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s until the user knew", took)
	}
	if code := x.Wait(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if several() == 1 {
		p.kill()
		p.start()
	}
	p.eventually("the job is there again", 2*time.Minute, func() string {
		if out, err := as("fed", "attach", id.String(), "printenv", "SLURM_JOB_NAME").CombinedOutput(); err != nil || string(out) != "long\n" {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return ""
	})
	shell().Process().Kill()
	if out, err := as("scancel", id.String()).CombinedOutput(); err != nil {
		t.Errorf("scancel: %v: %s", err, out)
	}
}
