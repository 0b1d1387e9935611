package agent

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fsub/cloud/agentapi"
)

// binary is fed-agent as it is shipped. FSUB_FED_AGENT names one that is built already, for users who cannot build.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("FSUB_FED_AGENT"); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "fed-agent-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "fed-agent")
	cmd := exec.Command("go", "build", "-tags", "remote", "-trimpath", "-ldflags", "-s -w", "-o", path, "fsub/cmd/fed-agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return path, os.Chmod(dir, 0o755)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil && os.Getenv("FSUB_FED_AGENT") == "" {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// startBinary starts fed-agent as a process of its own, in a directory of its own.
func startBinary(t testing.TB, d *fakeServer, more func(*agentapi.Boot)) (cmd *exec.Cmd, dir string) {
	t.Helper()
	return startBinaryAfter(t, d, "umask 077", more) // as a boot script may
}

// startBinaryAfter does so out of a shell that runs the command before.
func startBinaryAfter(t testing.TB, d *fakeServer, before string, more func(*agentapi.Boot)) (cmd *exec.Cmd, dir string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir = testDir(t)
	os.Chmod(dir, 0o700) // it opens the way to its users by itself
	b := agentapi.Boot{URL: "unix:" + d.socket(), Token: oneTime, Instance: "i-1", Expires: time.Now().Add(time.Hour)}
	if more != nil {
		more(&b)
	}
	if err := os.WriteFile(filepath.Join(dir, "boot"), b.Lines(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command("/bin/sh", "-c", before+`; exec "$0" -boot boot`, path)
	cmd.Dir = dir
	log := &bytes.Buffer{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if t.Failed() {
			t.Logf("the agent says:\n%s", log)
		}
		for _, secret := range []string{oneTime, session, "keykeykey"} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("%s is in the agent's log", secret)
			}
		}
	})
	return cmd, dir
}

// The binary is small and needs nothing of the machine.
func TestBinary(t *testing.T) {
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() >= 15<<20 {
		t.Errorf("%v: %d bytes", err, info.Size())
	}
	t.Logf("%.1f MB", float64(info.Size())/1e6)
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("it is not static")
		}
	}
	if os.Getenv("FSUB_FED_AGENT") != "" {
		return
	}
	out, err := exec.Command("go", "list", "-deps", "-tags", "remote", "fsub/cmd/fed-agent").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.Lines(string(out)) {
		for _, heavy := range []string{"aws-sdk-go", "sqlite", "cobra", "prometheus", "cloud.google.com/go/compute/apiv1", "cloud.google.com/go/auth", "google.golang.org", "azure", "fsub/federation/store\n", "fsub/federation/controller"} {
			if strings.Contains(dep, heavy) { // each line ends the path of a package
				t.Errorf("it has %s", dep)
			}
		}
	}
}

// The whole agent: a job with steps and commands, by the binary.
func TestProcess(t *testing.T) {
	d := newFakeServer(t)
	cmd, dir := startBinary(t, d, nil)
	work := d.launch("r1", `type -P srun scontrol sbatch squeue sacct scancel sinfo; scontrol show hostnames "n[1-3]" | xargs
		srun -n1 bash -c 'echo "step $SLURM_STEP_ID task $SLURM_PROCID"'; srun -n1 bash -c 'exit 3'; echo "srun ended with $?"`, func(l *agentapi.Launch) {
		l.Key = []byte("keykeykeykeykeykeykeykeykeykeyke")
		l.Groups[0].Nodes[0].Steps = "127.0.0.1:1"
		l.Groups[0].Nodes[0].MemMiB = 1000
		if os.Getuid() == 0 {
			l.User = agentapi.User{Name: "nemo", UID: 54321, GID: 54322}
		}
	})
	s := d.awaitEnd("r1")
	bin := filepath.Join(dir, "bin")
	var want strings.Builder
	for _, name := range []string{"srun", "scontrol", "sbatch", "squeue", "sacct", "scancel", "sinfo"} {
		want.WriteString(filepath.Join(bin, name) + "\n")
	}
	want.WriteString("n1 n2 n3\nstep 0 task 0\nsrun: error: node-1: task 0: Exited with exit code 3\nsrun ended with 3\n")
	if got := output(t, work); got != want.String() {
		t.Errorf("it wrote\n%s, not\n%s", got, &want)
	}
	if len(s.Steps) != 3 || s.Steps[1].ID != "0" || s.Steps[1].State != "COMPLETED" || s.Steps[2].State != "FAILED" {
		t.Errorf("steps %+v", s.Steps)
	}
	if _, err := os.Stat(filepath.Join(dir, "boot")); err == nil {
		t.Error("the boot data are still there")
	}
	for _, name := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/" + name)
		if err != nil || bytes.Contains(text, []byte(oneTime)) || bytes.Contains(text, []byte(session)) {
			t.Errorf("%s: %v %q", name, err, text)
		}
	}
	d.order(func(o *agentapi.Orders) { o.End = "idle" })
	if err := cmd.Wait(); err != nil || d.ending != "idle" {
		t.Errorf("it ended with %v, and said %q", err, d.ending)
	}
}

// What tasks write while they are being ended is in the job's output, although the script has ended before them.
func TestLastWords(t *testing.T) {
	d := newFakeServer(t)
	startBinary(t, d, nil)
	dir := d.launch("r1", `srun -n1 bash -c 'trap "sleep 0.3; echo saved; exit 0" TERM; sleep 0.1; touch began; while :; do sleep 0.01; done'`, nil)
	awaitFile(t, filepath.Join(dir, "began"))
	d.order(func(o *agentapi.Orders) { o.Runs[0].Stop = &agentapi.Stop{Why: agentapi.WhyCancel, Grace: time.Minute} })
	if s := d.awaitEnd("r1"); s.Why != agentapi.WhyCancel || len(s.Steps) != 2 || s.Steps[1].End.IsZero() {
		t.Errorf("%+v", s)
	}
	if got := output(t, dir); !strings.Contains(got, "saved\n") {
		t.Errorf("it wrote %q", got)
	}
}

// An agent that has nothing to do takes less than 20 MB.
func TestSmall(t *testing.T) {
	d := newFakeServer(t)
	cmd, _ := startBinary(t, d, nil)
	d.launch("r1", "true", nil)
	d.awaitEnd("r1")
	text, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.Fields(v)[0])
			if err != nil || kib >= 20_000 {
				t.Errorf("%d KiB, %v", kib, err)
			}
			t.Logf("%d KiB", kib)
		}
	}
}

// An agent that is killed takes its jobs along, whatever they have done to get away.
func TestAgentKilled(t *testing.T) {
	d := newFakeServer(t)
	cmd, _ := startBinary(t, d, nil)
	dir := d.launch("r1", `trap '' TERM HUP; (setsid env -i /bin/bash -c 'trap "" TERM HUP; echo $BASHPID >away; while :; do /bin/sleep 0.01; done' &)
		srun -n1 bash -c 'trap "" TERM; echo $$ >step; while :; do sleep 0.01; done' & echo $$ >self; while :; do sleep 0.01; done`, func(l *agentapi.Launch) {
		l.Key = []byte("keykeykeykeykeykeykeykeykeykeyke")
	})
	var pids []int
	for _, name := range []string{"away", "step", "self"} {
		pid := 0
		for pid == 0 {
			awaitFile(t, filepath.Join(dir, name))
			text, _ := os.ReadFile(filepath.Join(dir, name))
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		pids = append(pids, pid)
	}
	cmd.Process.Kill()
	cmd.Wait()
	for i, pid := range pids {
		gone := false
		for range 12000 {
			if gone = syscall.Kill(pid, 0) != nil; gone {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !gone {
			t.Errorf("process %d of the job (%d) outlives the agent", i, pid)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// An agent that is stopped for longer than its lease is killed, and its jobs with it: by then they may run elsewhere.
func TestAgentStopped(t *testing.T) {
	t.Parallel()
	d := newFakeServer(t)
	d.lease = 8 * time.Second
	cmd, _ := startBinary(t, d, nil)
	dir := d.launch("r1", `trap '' TERM; echo $$ >self; while :; do sleep 0.01; done`, func(l *agentapi.Launch) { l.KillWait = 100 * time.Millisecond })
	awaitFile(t, filepath.Join(dir, "self"))
	cmd.Process.Signal(syscall.SIGSTOP)
	err := cmd.Wait()
	if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "self"))
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for range 12000 {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the job lives on")
}

// BenchmarkJob is a job from the order to its end being told, by the binary.
func BenchmarkJob(b *testing.B) {
	d := newFakeServer(b)
	startBinary(b, d, nil)
	n := 0
	var begin time.Duration
	for b.Loop() {
		n++
		name := "r" + strconv.Itoa(n)
		t0 := time.Now()
		dir := d.launch(name, "date +%s%N >t", nil)
		d.awaitEnd(name)
		text, err := os.ReadFile(filepath.Join(dir, "t"))
		ns, err2 := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil || err2 != nil {
			b.Fatal(err, err2)
		}
		begin += time.Unix(0, ns).Sub(t0)
		d.order(func(o *agentapi.Orders) { o.Runs = nil })
	}
	b.ReportMetric(float64(begin.Microseconds())/float64(b.N)/1000, "ms/first-line")
}
