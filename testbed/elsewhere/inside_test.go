package elsewhere

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"fsub/testbed/terminal"
)

// insideJob gets into a job from the second machine: by srun for a command and at a terminal, and through a port. The uid in the job is the daemon's machine's.
func (w *world) insideJob() {
	w.t.Helper()
	const serves = "python3 -m http.server --bind 127.0.0.1 --directory /etc %s; sleep 300"
	port := freePort(w)
	out, err := w.run(al, nil, "sbatch", "--parsable", "--time=5", "--chdir=/tmp", "--output=/dev/null", "--wrap", fmt.Sprintf(serves, port))
	if err != nil {
		w.t.Fatalf("sbatch: %v: %s", err, out)
	}
	id := strings.TrimSpace(out)
	w.await("RUNNING\n", "squeue", "-h", "-j", id, "-o", "%T")
	w.user(al, "a command in a job", fmt.Sprintf(`^%s %d\n$`, id, alice), "srun", "--jobid="+id, "--overlap", "sh", "-c", "echo $SLURM_JOB_ID $(id -u)")
	shell := w.command(w.t.Context(), al, []string{"TERM=dumb", "PS1=READY> "}, "srun", "--jobid="+id, "--overlap", "--pty", "bash", "--norc", "-i")
	x := terminal.Start(w.t, shell, 24, 80)
	x.Expect("READY> ")
	x.Type("echo uid=$(id -u) job=$SLURM_JOB_ID tty=$(test -t 0 && echo yes)\r")
	x.Expect(fmt.Sprintf("uid=%d job=%s tty=yes", alice, id))
	x.Type("exit 5\r")
	if code := x.Wait(); code != 5 {
		w.t.Errorf("the shell's exit code: %d", code)
	}
	w.forward(id, port)
	w.user(al, "ends it", `^$`, "scancel", id)
	w.user(al, "a job for a command", fmt.Sprintf(`^%d\n$`, alice), "srun", "--time=1", "--mem=50M", "id", "-u")
}

// forward reaches the server of a job through a port of the second machine.
func (w *world) forward(id, port string) {
	w.t.Helper()
	f := w.command(w.t.Context(), al, nil, "fed", "forward", id, "0:"+port)
	said := new(strings.Builder)
	f.Stderr = said
	printed, err := f.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := f.Start(); err != nil {
		w.t.Fatal(err)
	}
	line, err := bufio.NewReader(printed).ReadString('\n')
	m := regexp.MustCompile(`^(http://127\.0\.0\.1:\d+) is port \d+ of job ` + id).FindStringSubmatch(line)
	if m == nil {
		f.Process.Kill()
		f.Wait()
		w.t.Fatalf("fed forward printed %q, %v: %s", line, err, said)
	}
	defer func() { f.Process.Kill(); f.Wait() }()
	get := func(uid int) (string, error) {
		out, err := w.command(w.t.Context(), uid, nil, "curl", "-sS", "-m", "20", m[1]+"/hostname").Output()
		return string(out), err
	}
	want, _ := exec.Command("cat", "/etc/hostname").Output()
	var got string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if got, err = get(al); err == nil {
			break
		}
	}
	if got != string(want) {
		w.t.Errorf("through the port: %v, %q, want %q", err, got, want)
	}
	if got, err := get(47999); err == nil {
		w.t.Errorf("another user of the second machine reads %q", got)
	}
}

func freePort(w *world) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
