package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start starts a shell that runs text, with output to the file out in a directory of its own.
func start(t testing.TB, text string, more func(*Config)) (*Process, string) {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "slurm_script")
	if err := errors.Join(os.WriteFile(script, []byte("#!/bin/bash\n"+text+"\n"), 0o755), os.Chmod(script, 0o755)); err != nil { // whatever the umask
		t.Fatal(err)
	}
	c := Config{Argv: []string{script}, Env: []string{"PATH=" + os.Getenv("PATH"), "SLURM_TASK_PID=%PID%"}, Dir: dir, Umask: 0o22, Out: filepath.Join(dir, "out")}
	if more != nil {
		more(&c)
	}
	p, err := Start(c, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Done
		p.Close()
	})
	return p, dir
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestScript(t *testing.T) {
	p, dir := start(t, `echo "pid $SLURM_TASK_PID $$"; echo err >&2; pwd; umask; ls /proc/$$/fd; grep -E "^Sig(Blk|Ign)" /proc/self/status; exit 7`, nil)
	<-p.Done
	if p.Failed != nil || p.Status.ExitStatus() != 7 {
		t.Fatalf("failed %v, status %v", p.Failed, p.Status)
	}
	pid := strconv.Itoa(p.PID)
	want := "pid " + pid + " " + pid + "\nerr\n" + dir + "\n0022\n0\n1\n2\n255\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
	if got := read(t, filepath.Join(dir, "out")); got != want {
		t.Errorf("it wrote %q, not %q", got, want)
	}
	if p.Out == nil || p.Err != nil || p.Stderr == nil {
		t.Errorf("output %v, error %v, to write %v", p.Out, p.Err, p.Stderr)
	}
}

func TestNowhere(t *testing.T) {
	p, dir := start(t, "pwd", func(c *Config) { c.Dir = "/nonexistent" })
	<-p.Done
	line := "slurmstepd: error: couldn't chdir to `/nonexistent': No such file or directory: going to /tmp instead\n"
	want := line + line + "/tmp\n"
	if got := read(t, filepath.Join(dir, "out")); got != want {
		t.Errorf("it wrote %q, not %q", got, want)
	}
}

func TestNoOutput(t *testing.T) {
	for name, more := range map[string]func(*Config){
		"output": func(c *Config) { c.Out = "/proc/nonexistent/out" },
		"error":  func(c *Config) { c.Err = "/proc/nonexistent/out" },
		"input":  func(c *Config) { c.In = "/nonexistent/in" },
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := start(t, "touch ran", more)
			<-p.Done
			if e, ok := p.Failed.(*IOError); !ok || !strings.Contains(e.Text, "nonexistent/") {
				t.Errorf("failed: %v", p.Failed)
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				t.Error("the script ran")
			}
		})
	}
}

// Nothing escapes: not by a session of its own, not by a parent that ended, not by clearing its environment.
func TestKillsAll(t *testing.T) {
	p, dir := start(t, `(setsid env -i /bin/bash -c 'trap "" TERM HUP; echo $BASHPID >a; while :; do /bin/sleep 0.01; done' &) &
		for i in 1 2 3; do (trap "" TERM; echo $BASHPID >b$i; while :; do sleep 0.01; done) & done
		while ! [ -s a -a -s b1 -a -s b2 -a -s b3 ]; do sleep 0.01; done; touch ready`, nil)
	<-p.Exited
	var pids []int
	for _, f := range []string{"a", "b1", "b2", "b3"} {
		pid, err := strconv.Atoi(strings.TrimSpace(read(t, filepath.Join(dir, f))))
		if err != nil || syscall.Kill(pid, 0) != nil {
			t.Fatalf("%s: %v: not alive", f, err)
		}
		pids = append(pids, pid)
	}
	select {
	case <-p.Done:
		t.Fatal("done while processes live")
	default:
	}
	p.Kill()
	<-p.Done
	for _, pid := range pids {
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d lives", pid)
		}
	}
}

// A keeper whose agent is gone kills all.
func TestAgentGone(t *testing.T) {
	p, dir := start(t, "setsid sleep 1000 & echo $! >pid; sync pid; mv pid pid.ready; sleep 1000", nil)
	for {
		if _, err := os.Stat(filepath.Join(dir, "pid.ready")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(read(t, filepath.Join(dir, "pid.ready"))))
	p.conn.Close() // as the kernel does
	<-p.Done
	if syscall.Kill(pid, 0) == nil || syscall.Kill(p.PID, 0) == nil {
		t.Error("processes live")
	}
}

func TestSignals(t *testing.T) {
	p, dir := start(t, `trap 'echo batch' USR1; (trap 'echo child; exit' USR1; touch c; while :; do sleep 0.01; done) & trap 'touch end' USR2
		touch b; while ! [ -e end ]; do sleep 0.01; done`, nil)
	for _, f := range []string{"b", "c"} {
		for {
			if _, err := os.Stat(filepath.Join(dir, f)); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	p.Signal(syscall.SIGUSR1)
	time.Sleep(50 * time.Millisecond)
	p.Signal(syscall.SIGUSR2)
	<-p.Exited
	if got := read(t, filepath.Join(dir, "out")); got != "batch\n" {
		t.Errorf("it wrote %q", got)
	}
}

func TestLimits(t *testing.T) {
	p, dir := start(t, `ulimit -Sn; ulimit -Sc; ulimit -Sn 700 && echo hard stays`, func(c *Config) {
		c.Limits = []Limit{{Name: "NOFILE", Value: 600}, {Name: "CORE", Value: 0}, {Name: "NOFILE", Value: 1 << 60, Asked: true}, {Name: "NOFILE", Value: 1 << 60}}
	})
	<-p.Done
	want := "slurmstepd: error: Can't propagate RLIMIT_NOFILE of 1152921504606846976 from submit host: Invalid argument\n600\n0\nhard stays\n"
	if got := read(t, filepath.Join(dir, "out")); got != want {
		t.Errorf("it wrote %q", got)
	}
}

// What cannot be executed ends with the number of the error, as under slurmstepd.
func TestNoInterpreter(t *testing.T) {
	for first, want := range map[string]struct {
		says string
		exit int
	}{
		"#!/nonexistent/i -x": {"bad interpreter(/nonexistent/i): No such file or directory\n", 2},
		"#!/etc/passwd":       {"SCRIPT: Permission denied\n", 13},
	} {
		p, dir := start(t, "", func(c *Config) {
			if err := os.WriteFile(c.Argv[0], []byte(first+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		})
		<-p.Done
		says := strings.ReplaceAll("slurmstepd: error: execve(): "+want.says, "SCRIPT", filepath.Join(dir, "slurm_script"))
		if got := read(t, filepath.Join(dir, "out")); got != says || p.Status.ExitStatus() != want.exit {
			t.Errorf("%s: exit %d, it wrote %q", first, p.Status.ExitStatus(), got)
		}
	}
}

// Directories of output files are made; those of input are not.
func TestMakesDirectories(t *testing.T) {
	p, dir := start(t, "echo out; echo err >&2", func(c *Config) {
		c.Out, c.Err = filepath.Join(c.Dir, "a/b/out"), filepath.Join(c.Dir, "c/err")
	})
	<-p.Done
	if p.Failed != nil || read(t, filepath.Join(dir, "a/b/out")) != "out\n" || read(t, filepath.Join(dir, "c/err")) != "err\n" {
		t.Errorf("failed: %v", p.Failed)
	}
}

// A script that somebody still writes to begins when it is closed.
func TestBusy(t *testing.T) {
	var f *os.File
	p, dir := start(t, "echo ran", func(c *Config) {
		var err error
		if f, err = os.OpenFile(c.Argv[0], os.O_WRONLY|os.O_APPEND, 0); err != nil {
			t.Fatal(err)
		}
	})
	<-p.Begun
	f.Close()
	<-p.Done
	if got := read(t, filepath.Join(dir, "out")); got != "ran\n" || p.Status != 0 {
		t.Errorf("status %v; it wrote %q", p.Status, got)
	}
}

// Output is appended to whatever the open mode says; the mode says whether it begins empty.
func TestOpenMode(t *testing.T) {
	for appends, want := range map[bool]string{true: "before\nafter\n", false: "after\n"} {
		p, dir := start(t, "echo after", func(c *Config) {
			c.Append = appends
			if err := os.WriteFile(c.Out, []byte("before\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		})
		<-p.Done
		if got := read(t, filepath.Join(dir, "out")); got != want || p.Out.Start != int64(len(want)-len("after\n")) {
			t.Errorf("append %v: it wrote %q, ours from %d", appends, got, p.Out.Start)
		}
	}
}

func TestBecome(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: not root: cannot become somebody else")
	}
	p, dir := start(t, "id; stat -c %u:%g:%a .", func(c *Config) {
		c.Become, c.UID, c.GID, c.Groups = true, 12345, 12346, []uint32{12346, 12347}
		if err := os.Chmod(filepath.Dir(c.Dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(c.Dir, 12345, 12346); err != nil {
			t.Fatal(err)
		}
	})
	<-p.Done
	if got := read(t, filepath.Join(dir, "out")); p.Failed != nil || !strings.HasPrefix(got, "uid=12345 gid=12346 groups=12346,12347\n12345:12346:") {
		t.Errorf("failed %v; it wrote %q", p.Failed, got)
	}
}

// BenchmarkStart is the time from the order to the script's first line, and on to nothing being left.
func BenchmarkStart(b *testing.B) {
	script := filepath.Join(b.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		b.Fatal(err)
	}
	var begun time.Duration
	for b.Loop() {
		t0 := time.Now()
		p, err := Start(Config{Argv: []string{script}, Dir: "/", Out: "/dev/null"}, os.Stderr)
		if err != nil {
			b.Fatal(err)
		}
		<-p.Begun
		begun += time.Since(t0)
		<-p.Done
		p.Close()
	}
	b.ReportMetric(float64(begun.Microseconds())/float64(b.N)/1000, "ms/begun")
}
