package interactive

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAttach: what a user does in a running job at a terminal, and from a script.
func TestAttach(t *testing.T) {
	w := newWorld(t)
	id := w.job(t, "-N2", "--ntasks-per-node=1")
	for _, c := range []struct {
		name string
		do   func(*testing.T, *world, string)
	}{
		{"Shell", shell}, {"Window", window}, {"Editor", editor}, {"Python", python}, {"Paste", paste}, {"Gang", gang}, {"Script", script},
		{"Others", others}, {"KilledClient", killedClient}, {"DaemonEnds", daemonEnds},
	} {
		t.Run(c.name, func(t *testing.T) { c.do(t, w, id) })
	}
}

// shell: the job's environment, job control, Ctrl-C, and the exit code.
func shell(t *testing.T, w *world, id string) {
	x := w.open(t, "fed", "attach", id, "bash", "--norc", "-i")
	x.Expect("READY> ")
	x.Type("echo job=$SLURM_JOB_ID dir=$PWD user=$(id -u) tty=$(test -t 0 && echo yes)\r")
	x.Expect(fmt.Sprintf("job=%s dir=%s user=%d tty=yes", id, filepath.Join(w.dir, "work"), w.uid))
	x.Type("echo be''gun; cat\r")
	x.Expect("begun") // the terminal is the program's, and not the shell's line editor's
	x.Type("hello\r")
	x.Expect("hello\r\nhello")
	x.Type("\x04") // Ctrl-D
	x.Expect("READY> ")
	x.Type("bash -c 'trap \"echo continued\" CONT; echo be\"\"gun; while sleep 0.1; do :; done'\r")
	x.Expect("begun")
	x.Type("\x1a") // Ctrl-Z
	x.Expect("Stopped")
	x.Expect("READY> ")
	x.Type("jobs\r")
	x.Expect("Stopped")
	x.Type("fg\r")
	x.Expect("\r\ncontinued")
	x.Type("\x03") // Ctrl-C
	x.Expect("READY> ")
	x.Type("exit 7\r")
	x.Expect("task 0: Exited with exit code 7")
	if code := x.Wait(); code != 7 {
		t.Errorf("exit code %d", code)
	}
}

// window: a new size of the terminal is one of the machine's.
func window(t *testing.T, w *world, id string) {
	x := w.open(t, "srun", "--jobid="+id, "--overlap", "-N1", "-n1", "--pty", "bash", "--norc", "-i")
	x.Expect("READY> ")
	x.Type("stty size\r")
	x.Expect("24 80")
	x.Resize(50, 132)
	x.Type("until [ \"$(stty size)\" = '50 132' ]; do sleep 0.05; done; echo re''sized\r")
	x.Expect("resized")
	x.Type("exit\r")
	x.Wait()
}

// editor: a program that draws on the whole screen.
func editor(t *testing.T, w *world, id string) {
	program := "vi"
	if _, err := exec.LookPath(program); err != nil {
		program = "less"
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Skip("SKIPPED: neither vi nor less is here")
	}
	file := filepath.Join(w.dir, "work", "text")
	if err := os.WriteFile(file, []byte("first line\nlast line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := w.as(w.uid, "fed", "attach", id, program, file)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	x := start(t, cmd)
	x.Expect("last line")
	if program == "vi" {
		x.Type(":q!\r")
	} else {
		x.Type("q")
	}
	if code := x.Wait(); code != 0 {
		t.Errorf("%s: exit code %d", program, code)
	}
}

func python(t *testing.T, w *world, id string) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: there is no python3")
	}
	x := w.open(t, "fed", "attach", id, "python3", "-q")
	x.Expect(">>> ")
	x.Type("6*7\r")
	x.Expect("42")
	x.Type("print('be' + 'gun', flush=True); exec('while True: pass')\r")
	x.Expect("begun")
	x.Type("\x03")
	x.Expect("KeyboardInterrupt")
	x.Type("exit(0)\r")
	if code := x.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// paste: 100 MB go to a program that reads slowly at first. Neither the daemon nor the agent keeps them.
func paste(t *testing.T, w *world, id string) {
	text := bytes.Repeat([]byte("all work and no play makes jack a dull boy\n"), 100<<20/43)
	cmd := w.as(w.uid, "fed", "attach", id, "sh", "-c", "sleep 2; sha256sum")
	cmd.Stdin = bytes.NewReader(text)
	before := resident(t, w.daemon.Process.Pid)
	var most int
	done := make(chan struct{})
	go func() {
		defer close(done)
		for cmd.ProcessState == nil {
			most = max(most, resident(t, w.daemon.Process.Pid))
			time.Sleep(100 * time.Millisecond)
			if cmd.Process != nil && cmd.Process.Signal(syscall.Signal(0)) != nil {
				return
			}
		}
	}()
	out, err := cmd.Output()
	<-done
	if want := fmt.Sprintf("%x", sha256.Sum256(text)); err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%v: %.80q, want %s", err, out, want)
	}
	if most-before > 32<<10 {
		t.Errorf("the daemon grew by %d KiB", most-before)
	}
	t.Logf("the daemon grew by %d KiB at most", most-before)
}

// resident is the memory of a process in KiB.
func resident(t *testing.T, pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// gang: a step over all machines of the job, with a terminal for its first task.
func gang(t *testing.T, w *world, id string) {
	x := w.open(t, "srun", "--jobid="+id, "--overlap", "--pty", "-N2", "hostname")
	seen := x.Expect("local-main-") + x.Expect("local-main-")
	if code := x.Wait(); code != 0 {
		t.Errorf("exit code %d after %q", code, seen)
	}
}

// script: without a terminal the streams are apart, input is passed on, and what the words ask for is srun's.
func script(t *testing.T, w *world, id string) {
	cmd := w.as(w.uid, "srun", "--jobid="+id, "--overlap", "-N2", "--label", "sh", "-c", "cat; echo to stderr >&2")
	cmd.Stdin = strings.NewReader("in\n")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if got := string(out); err != nil || got != "0: in\n1: in\n" && got != "1: in\n0: in\n" || strings.Count(errs.String(), "to stderr") != 2 {
		t.Errorf("%v: %q, %q", err, out, &errs)
	}
	for _, c := range []struct{ args, want string }{
		{"--jobid=99 true", "srun: error: Unable to confirm allocation for job 99: Invalid job id specified"},
		{"--jobid=a true", `srun: error: Unable to confirm allocation for job a: invalid job ID "a": want the job's own number`},
		{"--jobid=" + id, "srun: fatal: No command given to execute."},
		{"--jobid=" + id + " --overlap -N3 -n3 true", "srun: error: Only allocated 2 nodes asked for 3"},
	} {
		out, err := w.as(w.uid, "srun", strings.Fields(c.args)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("srun %s: %v: %q, want %q", c.args, err, out, c.want)
		}
	}
}

// others: nobody but the job's owner has a shell there, neither operators nor root.
func others(t *testing.T, w *world, id string) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can be others")
	}
	for _, uid := range []int{0, 1, 2} { // 1 is daemon, an operator
		out, err := w.as(uid, "fed", "attach", id, "true").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "Invalid user id") {
			t.Errorf("user %d: %v: %s", uid, err, out)
		}
	}
}

// killedClient: what it had started ends with it.
func killedClient(t *testing.T, w *world, id string) {
	x := w.open(t, "fed", "attach", id, "sh", "-c", "echo $SLURM_JOB_ID started; exec sleep 54321")
	x.Expect("started")
	x.Process().Kill()
	x.Wait()
	until(t, "nothing is left of it", func() bool {
		return exec.Command("pgrep", "-f", "^sleep 54321$").Run() != nil
	})
}

// daemonEnds: a shell whose daemon is killed says so at once, and the job goes on; a daemon that comes back lets one in again.
func daemonEnds(t *testing.T, w *world, id string) {
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		x := w.open(t, "fed", "attach", id, "bash", "--norc", "-i")
		x.Expect("READY> ")
		began := time.Now()
		go w.daemon.Process.Signal(s)
		x.Expect("the connection to job " + id + " is lost")
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%v: it took %v until the user knew", s, took)
		}
		if code := x.Wait(); code != 1 {
			t.Errorf("exit code %d", code)
		}
		w.stop(s)
		w.serve(t)
		var out []byte
		until(t, "the job is there again", func() (ok bool) {
			out, _ = w.as(w.uid, "fed", "attach", id, "printenv", "SLURM_JOB_ID").Output()
			return strings.TrimSpace(string(out)) == id
		})
	}
}
