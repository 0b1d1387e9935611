package hold

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fsub/cloud/container"
	"fsub/cloud/container/containertest"
	"fsub/testbed/program"
)

// holder names the program that is the holder, the batch script's first program, and what a task would be: the agent as it is shipped, since it has to run in
// any image, and a test's own program that was built with the race detector is linked to the machine's libraries.
const holder = "HOLD_TEST_AGENT"

func TestMain(m *testing.M) {
	containertest.LeaveHybrid()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv(holder) != "" { // TestAsUser's
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "hold-test-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = errors.Join(os.Chmod(dir, 0o755), program.PutAs(dir+"/fed-agent", "fed-agent"), os.Setenv(holder, dir+"/fed-agent"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// world is a machine with an image for everybody.
type world struct {
	dir   string
	image string // a squashfs file
	lines []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	for dir := w.dir; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	w.image = containertest.Image(t, w.dir)
	return w
}

// spec is a container of a step; words are pyxis' options.
func (w *world) spec(t *testing.T, id string, words ...string) *Spec {
	t.Helper()
	o := &container.Options{}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if err := o.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	self := os.Getenv(holder)
	s := &Spec{Env: []string{"COLOR=job", "SHOP=here", "LANG=de_DE.UTF-8", "SLURM_PROCID=0", "PATH=/usr/bin:/bin", "HOME=" + w.dir}, Dir: w.dir, Say: func(line string) { w.lines = append(w.lines, line) }}
	s.Want = container.Want{Options: o, Engine: container.Podman, Dirs: container.Dirs{Run: filepath.Join(w.dir, "run"), Images: filepath.Join(w.dir, "images")}, ID: id, User: "tester",
		Home: w.dir, Self: []string{self}, Binds: []container.Bind{{Path: self, ReadOnly: true}}}
	return s
}

// shell runs a shell in the container as a task would be.
func (h *Held) shell(t *testing.T, script string) string {
	t.Helper()
	ns, err := h.Namespaces()
	if err != nil {
		t.Fatal(err)
	}
	defer Close(ns)
	argv := append(h.nsenter(ns), "/bin/sh", "-c", script)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = h.Environ(h.s.Env)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", out, err)
	}
	return string(out)
}

func (w *world) start(t *testing.T, s *Spec) *Held {
	t.Helper()
	h, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.kill() })
	return h
}

// killed are those for whom kill was called: their numbers may be others' by now.
var killed sync.Map

// kill does what the step daemon does at the end: with the holder goes crun, which would tidy up behind it, and nothing of both is left.
func (h *Held) kill() {
	if _, again := killed.LoadOrStore(h, true); again || h.joined {
		return
	}
	var state string
	var crun int
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.PID))
	fmt.Sscanf(string(stat[bytes.LastIndexByte(stat, ')')+1:]), "%s %d", &state, &crun) // the latter is its parent
	if crun > 1 && crun != os.Getpid() {
		syscall.Kill(crun, syscall.SIGKILL)
		syscall.Wait4(crun, nil, 0, nil)
	}
	syscall.Kill(h.PID, syscall.SIGKILL)
	if h.life != nil {
		h.life.Close()
	}
	for began(h.PID) != "" {
		time.Sleep(time.Millisecond)
	}
}

func TestContainer(t *testing.T) {
	w := newWorld(t)
	os.WriteFile(filepath.Join(w.dir, "data"), []byte("of the machine\n"), 0o644)
	h := w.start(t, w.spec(t, "7.0", "container-image="+w.image, "container-mounts="+w.dir+"/data:/data:ro,tmpfs:/scratch:size=1M"))
	for script, want := range map[string]string{
		"grep PRETTY /etc/os-release":           "PRETTY_NAME=\"Tiny\"\n",
		"echo $COLOR $FROM $LANG.$SLURM_PROCID": "image here .0\n",
		"pwd":                                   "/inside\n",
		"cat /data":                             "of the machine\n",
		"touch /data":                           "touch: /data: Read-only file system\nexit status 1",
		"touch /x":                              "touch: /x: Read-only file system\nexit status 1",
		"touch /tmp/x /scratch/x && echo ok":    "ok\n",
		"echo ${ENTRY-none}":                    "none\n",
		"id -u":                                 fmt.Sprintln(os.Getuid()),
		"grep -c tester /etc/passwd":            "1\n",
		"stat -c %u /bin/busybox":               fmt.Sprintln(os.Getuid()),
		"[ -d /proc/self/fd ] && [ -c /dev/null ]": "",
		"[ -e " + w.image + " ]":                   "exit status 1",
	} {
		if os.Getuid() == 0 && strings.HasPrefix(script, "grep -c tester") {
			want = "1\n"
		}
		if got := h.shell(t, script); got != want {
			t.Errorf("%s: %q, not %q", script, got, want)
		}
	}
	root := h.s.rootfs()
	h.kill()
	h.Close(t.Context())
	if _, err := os.Stat(root); err == nil {
		t.Error("its files are left behind")
	}
	if left, _ := filepath.Glob(w.dir + "/run/*/pyxis_*"); left != nil {
		t.Errorf("left behind: %v", left)
	}
	if w.lines != nil {
		t.Errorf("it says %q", w.lines)
	}
}

func TestOptions(t *testing.T) {
	w := newWorld(t)
	image := "container-image=" + w.image
	for _, c := range []struct {
		words        []string
		script, want string
	}{
		{[]string{image, "container-writable"}, "touch /x && echo ok", "ok\n"},
		{[]string{image, "container-remap-root"}, "id -u; echo $HOME $USER", "0\n/root root\n"},
		{[]string{image, "container-mount-home"}, "ls " + w.dir + "/tiny.sqsh", w.dir + "/tiny.sqsh\n"},
		{[]string{image, "container-mount-home", "container-remap-root"}, "ls /root/tiny.sqsh; echo $HOME", "/root/tiny.sqsh\n/root\n"},
		{[]string{image, "container-entrypoint"}, "echo $ENTRY", "yes\n"},
		{[]string{image, "container-env=COLOR,LANG"}, "echo $COLOR $LANG", "job de_DE.UTF-8\n"},
		{[]string{image, "container-workdir=/etc"}, "pwd", "/etc\n"},
		{[]string{image, "container-mounts=./tiny:/mnt"}, "ls /mnt/etc/os-release", "/mnt/etc/os-release\n"},
		{[]string{image, "container-mounts=umount:/tmp", "container-writable"}, "touch /tmp/x; grep -c ' /tmp ' /proc/self/mountinfo", "0\nexit status 1"},
		{[]string{image, "container-unshare=uts,ipc"}, "ls /dev/shm", ""},
		{[]string{"container-image=./tiny.sqsh"}, "echo ok", "ok\n"},
	} {
		h := w.start(t, w.spec(t, "7.1", c.words...))
		if got := h.shell(t, c.script); got != c.want {
			t.Errorf("%v: %q, not %q", c.words, got, c.want)
		}
		h.kill()
		h.Close(t.Context())
	}
}

func TestNamed(t *testing.T) {
	w := newWorld(t)
	first := w.start(t, w.spec(t, "7.0", "container-image="+w.image, "container-name=env", "container-writable"))
	if got := first.shell(t, "echo kept > /kept; echo ok"); got != "ok\n" {
		t.Fatal(got)
	}
	beside := w.start(t, w.spec(t, "7.1", "container-name=env", "container-mounts=/etc"))
	if beside.PID != first.PID || !slices.Equal(w.lines, []string{"pyxis: ignoring --container-mounts when attaching to a running container"}) {
		t.Errorf("another step has holder %d, not %d; %q", beside.PID, first.PID, w.lines)
	}
	if _, err := Start(t.Context(), w.spec(t, "7.2", "container-image="+w.image, "container-name=env:create")); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Error(err)
	}
	first.kill()
	first.Close(t.Context())
	if _, err := Start(t.Context(), w.spec(t, "7.3", "container-name=env:exec")); err == nil || !strings.Contains(err.Error(), "not running") {
		t.Error(err)
	}
	later := w.start(t, w.spec(t, "7.4", "container-name=env"))
	if got := later.shell(t, "cat /kept"); got != "kept\n" || later.PID == first.PID {
		t.Errorf("%q, holder %d", got, later.PID)
	}
	if _, err := Start(t.Context(), w.spec(t, "7.5", "container-name=other")); err == nil || !strings.Contains(err.Error(), "--container-image is not set") {
		t.Error(err)
	}
}

func TestSave(t *testing.T) {
	w := newWorld(t)
	h := w.start(t, w.spec(t, "7.0", "container-image="+w.image, "container-save=saved.sqsh", "container-writable"))
	h.shell(t, "echo more > /more")
	h.kill()
	h.Close(t.Context())
	if !slices.Equal(w.lines, []string{"pyxis: exported container pyxis_7.0 to " + w.dir + "/saved.sqsh"}) {
		t.Errorf("%q", w.lines)
	}
	again := w.start(t, w.spec(t, "7.1", "container-image="+w.dir+"/saved.sqsh"))
	if got := again.shell(t, "cat /more; pwd; echo $COLOR"); got != "more\n/inside\nimage\n" {
		t.Errorf("%q", got)
	}
}

func TestRefused(t *testing.T) {
	w := newWorld(t)
	os.WriteFile(filepath.Join(w.dir, "text"), []byte("no image"), 0o644)
	for want, words := range map[string][]string{
		"no such file on this machine":            {"container-image=/nosuch.sqsh"},
		"printing unsquashfs log file":            {"container-image=" + w.dir + "/text"},
		"source path does not exist: /nosuch":     {"container-image=" + w.image, "container-mounts=/nosuch:/x"},
		"couldn't chdir to /nosuch: No such file": {"container-image=" + w.image, "container-workdir=/nosuch"},
		"invalid image reference: UPPER":          {"container-image=UPPER"},
		"unknown flag \"nosuch\"":                 {"container-image=" + w.image, "container-mounts=/etc:/x:nosuch"},
		"container start failed":                  {"container-image=" + w.image, "container-mounts=/etc:/proc/x"},
	} {
		if _, err := Start(t.Context(), w.spec(t, "7.0", words...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, not %q", words, err, want)
		}
		if left, _ := filepath.Glob(w.dir + "/run/*/pyxis_*"); left != nil {
			t.Errorf("%v: left behind: %v", words, left)
		}
	}
	s := w.spec(t, "7.0", "container-image="+w.image)
	s.Engine = container.None
	if _, err := Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "make no containers") {
		t.Error(err)
	}
}

// TestPodman: an image of podman's own storage, as one of a registry would come.
func TestPodman(t *testing.T) {
	w := newWorld(t)
	containertest.Needs(t, "podman", "tar")
	s := w.spec(t, "7.0", "container-image=podman://localhost/tiny:1", "container-entrypoint")
	if err := errors.Join(os.MkdirAll(s.Dirs.Images, 0o700), ownDir(s.Dirs.RunRoot())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // podman of who is not root leaves a process that keeps its namespace; a step's end would find it
		text, _ := os.ReadFile(s.Dirs.RunRoot() + "/libpod/tmp/pause.pid")
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		Remove(s.Dirs.RunRoot())
		Remove(s.Dirs.Images)
	})
	tarred := exec.Command("tar", "-C", filepath.Join(w.dir, "tiny"), "-c", ".")
	text, err := tarred.Output()
	if err != nil {
		t.Fatal(err)
	}
	load := s.cmd(s.Dirs.Podman("import", "-c", "ENV COLOR=podman", "-c", "WORKDIR /made/here", "-c", `ENTRYPOINT ["/bin/env","ENTRY=it's run"]`, "-", "localhost/tiny:1"))
	load.Stdin = bytes.NewReader(text)
	if out, err := load.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: podman cannot import an image here: %s", out)
	}
	s.Loud = true
	h := w.start(t, s)
	if got := h.shell(t, "echo $COLOR $ENTRY; pwd; cat /etc/os-release"); got != "podman it's run\n/made/here\nPRETTY_NAME=\"Tiny\"\n" {
		t.Errorf("%q", got)
	}
	if want := []string{"pyxis: importing docker image: podman://localhost/tiny:1", "pyxis: imported docker image: podman://localhost/tiny:1"}; !slices.Equal(w.lines, want) {
		t.Errorf("%q", w.lines)
	}
}

// TestAsUser: all of it by somebody who is not root, and has no further numbers in /etc/subuid.
func TestAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: the test is not root: it is that somebody itself")
	}
	dir := t.TempDir()
	for d := dir; d != "/tmp" && d != "/"; d = filepath.Dir(d) {
		os.Chmod(d, 0o755)
	}
	own, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(dir+"/test", own, 0o755), os.Chmod(dir+"/test", 0o755))
	}
	if err == nil {
		err = os.Mkdir(dir+"/own", 0o755)
	}
	if err == nil {
		err = os.Chown(dir+"/own", 65534, 65534)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(dir+"/test", "-test.v", "-test.run=TestContainer|TestNamed|TestOptions|TestSave|TestPodman")
	cmd.Dir, cmd.Env = dir+"/own", append(os.Environ(), "TMPDIR="+dir+"/own", "HOME="+dir+"/own")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("SKIPPED")) {
		t.Errorf("%v\n%s", err, out)
	}
}

const busyDir = "HOLD_TEST_BUSY"

// TestRemoveByRoot: root changes the mode of nothing in a folder that it cannot remove at once, for a user may have put a link there. What holds it up here is a mount, in a
// namespace of its own.
func TestRemoveByRoot(t *testing.T) {
	if dir := os.Getenv(busyDir); dir != "" {
		mount := filepath.Join(dir, "all", "mount")
		if err := errors.Join(os.MkdirAll(mount, 0o755), syscall.Mount("fsub-test", mount, "tmpfs", 0, "mode=755")); err != nil {
			t.Fatal(err)
		}
		if Remove(filepath.Join(dir, "all")) == nil {
			t.Error("nothing has held it up")
		}
		if info, err := os.Stat(mount); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("its mode has been changed: %v, %v", info.Mode(), err)
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: the test is not root")
	}
	child := exec.Command(os.Args[0], "-test.run", "^TestRemoveByRoot$")
	child.Env = append(os.Environ(), busyDir+"="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
