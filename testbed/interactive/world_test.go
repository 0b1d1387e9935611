package interactive

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

	"fsub/testbed/program"
	"fsub/testbed/terminal"
)

// world is a daemon with a pool of this machine, and a user.
type world struct {
	dir, bin string
	uid      int
	daemon   *exec.Cmd
	log      *os.File
}

const sites = "- {name: local, kind: local, local: {nodes: 2, cpus: 4, mem_mib: 2000}}\n"

// newWorld starts both. more is of the daemon's configuration.
func newWorld(t *testing.T, more ...string) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "fsubi") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir, 0o755)
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{dir: dir, bin: filepath.Join(dir, "bin"), uid: os.Getuid()}
	if w.uid == 0 {
		w.uid = 65534 // nobody
	}
	if err := program.Put(w.bin, "fsub", "fed", "fed-agent"); err != nil {
		t.Fatal(err)
	}
	if err := program.Link(w.bin); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(work, w.uid, 65534); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf("federation: all\nsocket: %[1]s/s\nstate_dir: %[1]s/state\noperators: [daemon]\n%[3]ssites:\n%[2]s", dir, sites, strings.Join(more, ""))
	if err := os.WriteFile(filepath.Join(dir, "fed.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if w.log, err = os.Create(filepath.Join(dir, "fed.log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.stop(syscall.SIGTERM)
		if out, err := w.as(0, "fed", "pool", "clear", "--yes", "--config", w.dir+"/fed.yaml").CombinedOutput(); err != nil {
			t.Errorf("fed pool clear: %v: %s", err, out)
		}
		if text, _ := os.ReadFile(w.log.Name()); t.Failed() {
			t.Logf("the daemon's log ends:\n%s", text[max(0, len(text)-6000):])
		}
	})
	w.serve(t)
	return w
}

func (w *world) serve(t *testing.T) {
	t.Helper()
	w.daemon = exec.Command(filepath.Join(w.bin, "fed"), "serve", "--config", w.dir+"/fed.yaml")
	w.daemon.Stdout, w.daemon.Stderr = w.log, w.log
	if err := w.daemon.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the site answers", func() bool {
		out, _ := w.as(0, "fed", "site", "list", "--json").Output()
		return bytes.Contains(out, []byte(`"answering": true`))
	})
}

func (w *world) stop(s syscall.Signal) {
	if w.daemon != nil {
		w.daemon.Process.Signal(s)
		w.daemon.Wait()
		w.daemon = nil
	}
}

// until waits for something that is to come soon; a busy machine may take minutes.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("it never came that %s", what)
}

// as is a command of ours by a user, 0 for whoever runs the tests.
func (w *world) as(uid int, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(w.bin, name), args...)
	cmd.Dir = filepath.Join(w.dir, "work")
	cmd.Env = []string{"PATH=" + w.bin + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + cmd.Dir, "FSUB_SOCKET=" + w.dir + "/s", "LANG=C.UTF-8", "TERM=dumb", "SHELL=/bin/bash", "PS1=READY> "}
	if uid != 0 && os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: 65534}}
	}
	return cmd
}

// job submits a job that sleeps, and returns its number once it runs.
func (w *world) job(t *testing.T, options ...string) string {
	t.Helper()
	out, err := w.as(w.uid, "sbatch", append(append([]string{"--parsable", "--mem=100M", "-t", "10", "-o", "/dev/null"}, options...), "--wrap", "export INSIDE=1; sleep 600")...).CombinedOutput()
	id := strings.TrimSpace(string(out))
	if err != nil {
		t.Fatalf("sbatch: %v: %s", err, out)
	}
	until(t, "job "+id+" runs", func() bool {
		out, _ := w.as(w.uid, "squeue", "-h", "-j", id, "-o", "%T").Output()
		return strings.TrimSpace(string(out)) == "RUNNING"
	})
	return id
}

// open runs a command of the user on a terminal.
func (w *world) open(t *testing.T, name string, args ...string) *terminal.Terminal {
	t.Helper()
	return start(t, w.as(w.uid, name, args...))
}

func start(t *testing.T, cmd *exec.Cmd) *terminal.Terminal {
	t.Helper()
	return terminal.Start(t, cmd, 24, 80)
}
