package spine

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/bed"
	"fsub/testbed/terminal"
)

// inside runs a command of alice's, or another user's, on a login node of a site: a machine with the site's own srun, and with the federation's before it.
func inside(site, user string, args ...string) bed.Cmd {
	return bed.Cmd{Site: site, User: user, Args: args, Env: []string{"PATH=" + world.Bin + ":" + filepath.Join(world.Bin, "ssh-"+site) + ":/usr/bin:/bin",
		"FSUB_SOCKET=" + filepath.Join(world.Bed.FedDir(), "fsub.sock"), "LC_ALL=C.UTF-8", "TERM=dumb", "PS1=READY> "}}
}

// onTerminal is inside, on a terminal.
func onTerminal(t *testing.T, c bed.Cmd) *terminal.Terminal {
	t.Helper()
	return terminal.StartBy(t, 24, 80, func(tty *os.File) (*exec.Cmd, error) {
		c.Args = append([]string{"setsid", "--ctty", "--wait"}, c.Args...)
		c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
		return world.Bed.Start(t.Context(), c)
	})
}

// started submits a job that runs until the test is over.
func started(t *testing.T, options ...string) string {
	t.Helper()
	g := newGate(t)
	id := fsub(t, "alice", append(options, "--mem=100M", "-t", "10", "-o", "/dev/null", "--wrap", g.wait())...)
	awaitRunning(t, id)
	return fmt.Sprint(id)
}

// TestInteractive: fed attach and srun --jobid by a site's own srun, at terminals and from scripts, on the site's login node.
func TestInteractive(t *testing.T) {
	world.Need(t)
	id := started(t, "--fed-sites=alpha", "-N2", "--ntasks-per-node=1")
	t.Run("Shell", func(t *testing.T) { siteShell(t, id) })
	t.Run("Gang", func(t *testing.T) {
		out := run(t, inside("alpha", "alice", "srun", "--jobid="+id, "--overlap", "-N2", "hostname"))
		if lines := strings.Fields(out.stdout); out.code != 0 || len(lines) != 2 || lines[0] == lines[1] {
			t.Errorf("%+v", out)
		}
		x := onTerminal(t, inside("alpha", "alice", "srun", "--jobid", id, "--overlap", "--pty", "-N2", "hostname"))
		x.Expect("alpha")
		if code := x.Wait(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("Paste", func(t *testing.T) {
		text := bytes.Repeat([]byte("all work and no play makes jack a dull boy\n"), 100<<20/43)
		c := inside("alpha", "alice", "fed", "attach", id, "sh", "-c", "sleep 1; sha256sum")
		c.Stdin = bytes.NewReader(text)
		if out := run(t, c); out.code != 0 || !strings.HasPrefix(out.stdout, fmt.Sprintf("%x", sha256.Sum256(text))) {
			t.Errorf("%+v", out)
		}
	})
	t.Run("Others", func(t *testing.T) {
		for _, user := range []string{"bob", ""} {
			if out := run(t, inside("alpha", user, "fed", "attach", id, "true")); out.code != 1 || !strings.Contains(out.stderr, "Invalid user id") {
				t.Errorf("%q: %+v", user, out)
			}
		}
	})
	t.Run("KilledClient", func(t *testing.T) {
		x := onTerminal(t, inside("alpha", "alice", "srun", "--jobid="+id, "--overlap", "--pty", "-n1", "-N1", "sh", "-c", "echo begun; exec sleep 54322"))
		x.Expect("begun")
		left := func() bool { return exec.Command("pgrep", "-f", "^sleep 54322$").Run() == nil }
		if !left() {
			t.Fatal("it is not found among the processes")
		}
		x.Process().Kill() // it has become the site's srun
		x.Wait()
		for deadline := time.Now().Add(patience); left(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("what it had started is still there")
			}
		}
	})
}

// siteShell: job control, Ctrl-C, the window's size and the exit code are the site's srun's.
func siteShell(t *testing.T, id string) {
	x := onTerminal(t, inside("alpha", "alice", "fed", "attach", id, "bash", "--norc", "-i"))
	x.Expect("READY> ")
	x.Type("echo job=$SLURM_JOB_ID user=$(id -un) tty=$(test -t 0 && echo yes)\r")
	x.Expect("job=" + id + " user=alice tty=yes")
	x.Type("bash -c 'echo be\"\"gun; while sleep 0.1; do :; done'\r")
	x.Expect("begun")
	x.Type("\x1a") // Ctrl-Z
	x.Expect("Stopped")
	x.Expect("READY> ")
	x.Type("fg\r")
	x.Expect("while")
	x.Type("\x03") // Ctrl-C
	x.Expect("READY> ")
	x.Resize(50, 132)
	x.Type("until [ \"$(stty size)\" = '50 132' ]; do sleep 0.05; done; echo re''sized\r")
	x.Expect("resized")
	x.Type("exit 7\r")
	if code := x.Wait(); code != 7 {
		t.Errorf("exit code %d", code)
	}
}

// TestInteractiveBySSH: what ssh gets is a line for the site's shell; the job's number there is the site's own.
func TestInteractiveBySSH(t *testing.T) {
	world.Need(t)
	dir := filepath.Join(world.Bin, "ssh-gamma")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const ssh = "#!/bin/sh\n[ \"$1\" = -- ] && [ \"$2\" = login.gamma ] && [ $# = 3 ] || { echo \"ssh $*\" >&2; exit 255; }\nPATH=/usr/bin:/bin exec sh -c \"$3\"\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(ssh), 0o755); err != nil {
		t.Fatal(err)
	}
	id := started(t, "--fed-sites=gamma")
	out := run(t, inside("gamma", "alice", "srun", "--jobid="+id, "--overlap", "printf", "%s|", "it's", "a  b", "$HOME"))
	if out.code != 0 || out.stdout != "it's|a  b|$HOME|" {
		t.Errorf("%+v", out)
	}
	if out := run(t, inside("gamma", "alice", "fed", "attach", id, "sh", "-c", "exit 3")); out.code != 3 {
		t.Errorf("%+v", out)
	}
}

// TestNoWayIn: a site without such a command is named, with what to do.
func TestNoWayIn(t *testing.T) {
	world.Need(t)
	id := started(t, "--fed-sites=beta")
	for _, args := range [][]string{{"fed", "attach", id}, {"srun", "--jobid=" + id, "--overlap", "true"}} {
		out := login(t, "alice", args...)
		if out.code != 1 || strings.Count(out.stderr, "\n") != 1 || !strings.Contains(out.stderr, "beta is a Slurm cluster, which fed has no way into: log in there, and call srun --overlap --pty") {
			t.Errorf("%v: %+v", args, out)
		}
	}
}

// TestAllocateAtASite: salloc, and srun without a job, by the srun of a Slurm cluster.
func TestAllocateAtASite(t *testing.T) {
	world.Need(t)
	out := run(t, inside("alpha", "alice", "salloc", "--fed-sites=alpha", "-N2", "--ntasks-per-node=1", "--mem=100M", "-t", "5", "sh", "-c",
		`echo "$SLURM_JOB_ID $SLURM_NNODES $SLURM_JOB_NAME"; srun hostname; exit 3`))
	lines := strings.Split(strings.TrimSpace(out.stdout), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[0], " 2 sh") || lines[1] == lines[2] || out.code != 3 || !strings.Contains(out.stderr, "salloc: Relinquishing job allocation ") {
		t.Fatalf("%+v", out)
	}
	id, _ := strconv.ParseUint(strings.Fields(lines[0])[0], 10, 32)
	if j := awaitEnd(t, federation.JobID(id)); j.State != federation.Failed || j.ExitStatus != 1<<8 {
		t.Errorf("the job is %s, %d", j.State, j.ExitStatus)
	}
	alone := inside("alpha", "alice", "srun", "-N2", "--ntasks-per-node=1", "--mem=100M", "-t", "5", "-l", "sh", "-c", "echo $SLURM_JOB_ID $SLURM_NTASKS; exit 4")
	alone.Env = append(alone.Env, "FSUB_SITES=alpha")
	out = run(t, alone)
	if lines := strings.Split(strings.TrimSpace(out.stdout), "\n"); len(lines) != 2 || out.code != 4 || !strings.HasSuffix(lines[0], " 2") {
		t.Fatalf("%+v", out)
	}
	id, _ = strconv.ParseUint(strings.Fields(out.stdout)[1], 10, 32)
	awaitEnd(t, federation.JobID(id))
	if out := run(t, inside("alpha", "alice", "salloc", "--fed-sites=beta", "true")); out.code != 1 || !strings.Contains(out.stderr, "salloc: error: the federation has no way into jobs at beta: ") {
		t.Errorf("%+v", out)
	}
}

// TestKillCommand: what becomes of salloc's command when its allocation ends, and of its exit code, is what a real salloc makes of it: without -K it goes on, with it there is a
// signal.
func TestKillCommand(t *testing.T) {
	world.Need(t)
	// The shell says the last line if the signal comes before its scancel has ended.
	words := regexp.MustCompile(`(?m)^(salloc: (Granted|Nodes|Pending|job \d+ (queued|has been)|Waiting).*|User defined signal 1)\n`)
	back := regexp.MustCompile(`(salloc: Relinquishing job allocation \d+\n)salloc: Job allocation \d+ has been revoked\.\n`) // slurmctld's word of it may still come
	said := func(out output) string {
		return fmt.Sprintf("%d %q %q", out.code, out.stdout, regexp.MustCompile(`\d{3,}`).ReplaceAllString(back.ReplaceAllString(words.ReplaceAllString(out.stderr, ""), "$1"), "N"))
	}
	for _, c := range []struct{ options, command string }{
		{"", `scancel $SLURM_JOB_ID; sleep 3; echo still; exit 4`},
		{"-K", `scancel $SLURM_JOB_ID; exec sleep 60`},
		{"-KUSR1", `trap "echo told; exit 9" USR1; scancel $SLURM_JOB_ID; while :; do :; done`},
		{"--kill-command=KILL", `scancel $SLURM_JOB_ID; exec sleep 60`},
		{"", "kill -INT $$"}, {"", "kill -HUP $$"}, {"", "kill -QUIT $$"}, {"", "kill -SEGV $$"}, {"", "kill -USR1 $$"},
	} {
		args := append(append([]string{"salloc", "-N1", "--mem=100M", "-t", "5"}, strings.Fields(c.options)...), "sh", "-c", c.command)
		real := said(at(t, "alpha", "alice", args...))
		ours := inside("alpha", "alice", args...)
		ours.Env = append(ours.Env, "FSUB_SITES=alpha")
		if got := said(run(t, ours)); got != real {
			t.Errorf("salloc %s %q: ours %s, real %s", c.options, c.command, got, real)
		} else {
			t.Logf("salloc %s %q: %s", c.options, c.command, got)
		}
	}
}
