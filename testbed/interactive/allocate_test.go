package interactive

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAllocate: salloc, and srun without a job, from a login node.
func TestAllocate(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name string
		do   func(*testing.T, *world)
	}{
		{"Salloc", allocate}, {"Shell", allocatedShell}, {"NoShell", noShell}, {"Revoked", revoked}, {"Srun", srunAlone}, {"SrunAtTerminal", srunAtTerminal},
		{"KilledSrun", killedSrun}, {"KilledSalloc", killedSalloc}, {"Waits", waits}, {"Refused", refused},
	} {
		t.Run(c.name, func(t *testing.T) { c.do(t, w) })
	}
}

type output struct {
	stdout, stderr string
	code           int
}

func (w *world) run(t *testing.T, name string, args ...string) output {
	t.Helper()
	cmd := w.as(w.uid, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// fate waits until a job has ended, and returns what sacct says of it.
func (w *world) fate(t *testing.T, id string) (fate string) {
	t.Helper()
	until(t, "job "+id+" has ended", func() bool {
		out := w.run(t, "sacct", "-X", "-n", "-P", "-j", id, "-o", "State,ExitCode")
		fate = strings.TrimSpace(out.stdout)
		return fate != "" && !strings.HasPrefix(fate, "RUNNING") && !strings.HasPrefix(fate, "PENDING")
	})
	return fate
}

// granted is the job of an allocation, by what was said of it.
func granted(t *testing.T, stderr string) string {
	t.Helper()
	_, rest, ok := strings.Cut(stderr, "Granted job allocation ")
	if !ok {
		t.Fatalf("nothing was granted: %s", stderr)
	}
	id, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(id)
}

// allocate: the command runs here, with the job's environment, and its steps on all of the nodes.
func allocate(t *testing.T, w *world) {
	out := w.run(t, "salloc", "-N2", "--ntasks-per-node=1", "--mem=100M", "-t", "5", "-J", "mine", "sh", "-c",
		`echo "$SLURM_JOB_ID $SLURM_NNODES $SLURM_JOB_NUM_NODES $SLURM_JOB_NAME $SLURM_TASKS_PER_NODE ${SLURM_PROCID-none} $PWD"; srun hostname; srun -N1 -n1 printenv SLURM_STEP_ID FSUB_ALLOCATION; exit 3`)
	id := granted(t, out.stderr)
	lines := strings.Split(strings.TrimSpace(out.stdout), "\n")
	if len(lines) != 4 || lines[0] != id+" 2 2 mine 1(x2) none "+w.dir+"/work" || lines[1] == lines[2] || lines[3] != "1" || out.code != 3 {
		t.Errorf("%+v", out)
	}
	for _, want := range []string{"salloc: Nodes ", "salloc: Relinquishing job allocation " + id} {
		if !strings.Contains(out.stderr, want) {
			t.Errorf("%q is not said: %s", want, out.stderr)
		}
	}
	if fate := w.fate(t, id); fate != "FAILED|1:0" {
		t.Errorf("the job is %s", fate)
	}
	if out := w.run(t, "salloc", "-Q", "--mem=100M", "-t", "5", "true"); out.code != 0 || out.stderr != "" {
		t.Errorf("-Q: %+v", out)
	}
}

// allocatedShell: without a command it is the user's shell.
func allocatedShell(t *testing.T, w *world) {
	shell := filepath.Join(w.dir, "work", "shell")
	if err := os.WriteFile(shell, []byte("#!/bin/sh\nexec bash --norc -i\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := w.as(w.uid, "salloc", "--mem=100M", "-t", "5")
	cmd.Env = append(cmd.Env, "SHELL="+shell)
	x := start(t, cmd)
	x.Expect("Granted job allocation ")
	x.Expect("READY> ")
	x.Type("echo be''gun; cat\r")
	x.Expect("begun")
	x.Type("hello\r")
	x.Expect("hello\r\nhello") // the terminal is cat's
	x.Type("\x03")             // ends it, and not the allocation
	x.Expect("READY> ")
	x.Type("srun echo in''side\r")
	x.Expect("inside")
	x.Expect("READY> ")
	x.Type("squeue -h -j $SLURM_JOB_ID -o 'name=%j state=%T'\r")
	x.Expect("name=interactive state=RUNNING")
	x.Type("exit 0\r")
	x.Expect("Relinquishing job allocation ")
	if code := x.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	until(t, "the allocation is given back", func() bool {
		out, err := w.as(w.uid, "squeue", "-h", "-n", "interactive").Output()
		return err == nil && len(out) == 0
	})
}

// noShell: the allocation stays until it is cancelled.
func noShell(t *testing.T, w *world) {
	out := w.run(t, "salloc", "--no-shell", "--mem=100M", "-t", "5")
	id := granted(t, out.stderr)
	if out := w.run(t, "srun", "--jobid="+id, "printenv", "SLURM_JOB_NAME"); out.stdout != "no-shell\n" || out.code != 0 {
		t.Errorf("%+v", out)
	}
	w.run(t, "scancel", id)
	if fate := w.fate(t, id); !strings.HasPrefix(fate, "CANCELLED") {
		t.Errorf("the job is %s", fate)
	}
}

// revoked: a command outlives its allocation, unless -K says that it does not.
func revoked(t *testing.T, w *world) {
	said := filepath.Join(w.dir, "work", "said")
	file, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	os.Chmod(said, 0o644)
	cmd := w.as(w.uid, "salloc", "--mem=100M", "-t", "5", "sh", "-c", `scancel $SLURM_JOB_ID; until grep -q revoked said; do sleep 0.1; done; echo still`)
	cmd.Stderr = file
	text, err := cmd.Output()
	if words, _ := os.ReadFile(said); err != nil || string(text) != "still\n" || !strings.Contains(string(words), "has been revoked.") || strings.Contains(string(words), "Relinquishing") {
		t.Errorf("%v: %q, %q", err, text, words)
	}
	out := w.run(t, "salloc", "-K", "--mem=100M", "-t", "5", "sh", "-c", `scancel $SLURM_JOB_ID; while :; do sleep 0.1; done`)
	if out.code != 1 || !strings.Contains(out.stderr, "has been revoked.") {
		t.Errorf("-K: %+v", out)
	}
}

// srunAlone: a job for one command.
func srunAlone(t *testing.T, w *world) {
	out := w.run(t, "srun", "-N2", "--ntasks-per-node=1", "--mem=100M", "-t", "5", "-l", "sh", "-c", "echo $SLURM_JOB_ID $SLURM_JOB_NAME $SLURM_NTASKS; exit 4")
	lines := strings.Split(strings.TrimSpace(out.stdout), "\n")
	if len(lines) != 2 || out.code != 4 || !strings.HasSuffix(lines[0], " sh 2") {
		t.Fatalf("%+v", out)
	}
	if fate := w.fate(t, strings.Fields(lines[0])[1]); fate != "FAILED|1:0" {
		t.Errorf("the job is %s", fate)
	}
}

func srunAtTerminal(t *testing.T, w *world) {
	x := w.open(t, "srun", "--mem=100M", "-t", "5", "--pty", "bash", "--norc", "-i")
	x.Expect("READY> ")
	x.Type("echo job=$SLURM_JOB_ID. tty=$(test -t 0 && echo yes)\r")
	x.Expect("tty=yes")
	x.Type("exit 5\r")
	if code := x.Wait(); code != 5 {
		t.Errorf("exit code %d", code)
	}
}

// killedSrun: its job ends with it, as at slurmctld.
func killedSrun(t *testing.T, w *world) {
	cmd := w.as(w.uid, "srun", "--mem=100M", "-t", "5", "sh", "-c", "echo $SLURM_JOB_ID; exec sleep 54323")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	n, _ := out.Read(line)
	id := strings.TrimSpace(string(line[:n]))
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	if fate := w.fate(t, id); !strings.HasPrefix(fate, "CANCELLED") {
		t.Errorf("the job is %s", fate)
	}
	until(t, "nothing is left of it", func() bool { return exec.Command("pgrep", "-f", "^sleep 54323$").Run() != nil })
}

// killedSalloc: its job stays, as at slurmctld.
func killedSalloc(t *testing.T, w *world) {
	cmd := w.as(w.uid, "salloc", "--mem=100M", "-t", "5", "sh", "-c", "echo $SLURM_JOB_ID; exec sleep 3")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	n, _ := out.Read(line)
	id := strings.TrimSpace(string(line[:n]))
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	if out := w.run(t, "srun", "--jobid="+id, "echo", "there"); out.stdout != "there\n" {
		t.Errorf("%+v", out)
	}
	w.run(t, "scancel", id)
	w.fate(t, id)
}

// waits: a call that waits says so, and gives up at Ctrl-C.
func waits(t *testing.T, w *world) {
	full := w.job(t, "-N2", "--exclusive")
	defer func() { w.run(t, "scancel", full) }()
	for _, name := range []string{"salloc", "srun"} {
		x := w.open(t, name, "--mem=100M", "-t", "5", "true")
		before := x.Expect(" queued and waiting for resources")
		id := before[strings.LastIndex(before, " ")+1:]
		x.Expect("job " + id + " is expected to start at site local at ")
		x.Type("\x03")
		x.Expect("Job allocation " + id + " has been revoked.")
		if code := x.Wait(); code != 1 {
			t.Errorf("%s: exit code %d", name, code)
		}
		if fate := w.fate(t, id); !strings.HasPrefix(fate, "CANCELLED") {
			t.Errorf("%s: the job is %s", name, fate)
		}
	}
}

// refused: in Slurm's words, with Slurm's exit codes.
func refused(t *testing.T, w *world) {
	for _, c := range []struct {
		call string
		code int
		want string
	}{
		{"salloc --nosuch", 255, "salloc: unrecognized option '--nosuch'\nTry \"salloc --help\" for more information\n"},
		{"salloc --output=x true", 255, "salloc: unrecognized option '--output=x'"},
		{"salloc -N99 true", 1, "salloc: error: Job submit/allocate failed: "},
		{"srun -N99 true", 1, "srun: error: Unable to allocate resources: "},
		{"salloc -p nosuch true", 1, "salloc: error: Job submit/allocate failed: Invalid partition name specified"},
		{"srun --nosuch true", 255, "srun: unrecognized option '--nosuch'"},
		{"srun -n2", 1, "srun: fatal: No command given to execute."},
		{"salloc --mem=100M -t 5 nosuchcommand", 1, "salloc: error: Unable to exec command: "},
		{"salloc --kill-command=NOSUCH true", 255, "salloc: error: Invalid --kill-command specification: "},
	} {
		args := strings.Fields(c.call)
		if out := w.run(t, args[0], args[1:]...); out.code != c.code || !strings.Contains(out.stderr, c.want) {
			t.Errorf("%s: %+v, want %d, %q", c.call, out, c.code, c.want)
		}
	}
}
