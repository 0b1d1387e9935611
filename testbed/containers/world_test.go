package containers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/container/containertest"
	"fsub/testbed/program"
)

func TestMain(m *testing.M) {
	containertest.LeaveHybrid()
	var lock syscall.Rlimit // what daemons and users have is too small for fast networks
	if err := syscall.Getrlimit(unix.RLIMIT_MEMLOCK, &lock); err == nil {
		lock.Cur = 64 << 10
		_ = syscall.Setrlimit(unix.RLIMIT_MEMLOCK, &lock)
	}
	os.Exit(m.Run())
}

// world is a daemon with two pools of this machine: boxes, and plain, which is cheaper and makes no containers.
type world struct {
	dir, bin, image string
	uid             int // who submits
}

func newWorld(t *testing.T, network string) *world {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != "/tmp" && d != "/"; d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	w := &world{dir: dir, bin: filepath.Join(dir, "bin"), image: containertest.Image(t, dir), uid: os.Getuid()}
	if w.uid == 0 {
		w.uid = 65534 // nobody: machines of root run jobs as their users
	}
	if err := program.Put(w.bin, "fsub", "fed", "fed-agent"); err != nil {
		t.Fatal(err)
	}
	if err := program.Link(w.bin); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("federation: all\nsocket: %[1]s/s\nstate_dir: %[1]s/state\nsites:\n"+
		"- {name: boxes, kind: local, containers: podman, local: {nodes: 2, cpus: 4, mem_mib: 2000, price: 2, network: %[2]s}}\n"+
		"- {name: plain, kind: local, containers: none, local: {nodes: 2, cpus: 4, mem_mib: 2000, price: 1}}\n", dir, network)
	if err := os.WriteFile(filepath.Join(dir, "fed.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.serve(t)
	return w
}

func (w *world) serve(t *testing.T) {
	var log bytes.Buffer
	daemon := exec.Command(filepath.Join(w.bin, "fed"), "serve", "--config", w.dir+"/fed.yaml")
	daemon.Stdout, daemon.Stderr = &log, &log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		daemon.Process.Signal(syscall.SIGTERM)
		daemon.Wait()
		if out, err := w.command("fed", "pool", "clear", "--yes", "--config", w.dir+"/fed.yaml").CombinedOutput(); err != nil {
			t.Errorf("fed pool clear: %v: %s", err, out)
		}
		if t.Failed() {
			t.Logf("the daemon says:\n%s", log.String()[max(0, log.Len()-6000):])
		}
	})
	w.until(t, "the sites answer", func() bool {
		out, _ := w.command("fed", "site", "list", "--json").Output()
		return bytes.Count(out, []byte(`"answering": true`)) == 2
	})
}

// until waits for something that is to come soon; a busy machine may take minutes.
func (w *world) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("it never came that %s", what)
}

// command is one of ours, in the environment of an ordinary login.
func (w *world) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(w.bin, name), args...)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + w.bin + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + w.dir, "FSUB_SOCKET=" + w.dir + "/s", "LANG=C.UTF-8", "COLOR=job", "SHOP=here"}
	return cmd
}

// submit runs a script of the user in a directory of their own, and returns what its job wrote so far, and what sbatch says with which exit code. IMAGE and DIR stand for
// the image and the directory.
func (w *world) submit(t *testing.T, script string, options ...string) (out, words string, code int) {
	t.Helper()
	dir := filepath.Join(w.dir, strings.ReplaceAll(t.Name(), "/", "-"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	os.Chown(dir, w.uid, -1)
	script = strings.NewReplacer("IMAGE", w.image, "DIR", dir).Replace("#!/bin/sh\n" + script)
	if err := os.WriteFile(dir+"/job.sh", []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := w.command("sbatch", append(append([]string{"-o", "out", "-t", "10"}, options...), "job.sh", "one")...)
	cmd.Dir = dir
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(w.uid), Gid: 65534}}
	}
	said, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(dir + "/out")
	return string(text), strings.TrimSpace(string(said)), cmd.ProcessState.ExitCode()
}

// lockable is how much memory a job may lock, in KiB: all of it, or as much as this process's hard limit allows where that cannot be raised.
func lockable(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", "ulimit -H -l unlimited 2>/dev/null; ulimit -H -l").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// living counts processes by their whole command line, a pattern.
func living(pattern string) int {
	out, _ := exec.Command("pgrep", "-xf", pattern).Output()
	return bytes.Count(out, []byte("\n"))
}
